//! Explores the scripts of `loom/monitor.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn monitor() {
    models::check(models::monitor::SCRIPTS);
}
