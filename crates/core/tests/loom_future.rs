//! Explores the scripts of `loom/future.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn future() {
    models::check(models::future::SCRIPTS);
}
