//! Explores the scripts of `loom/handoff.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn handoff() {
    models::check(models::handoff::SCRIPTS);
}
