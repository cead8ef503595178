//! Explores the scripts of `loom/cancel.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn cancel() {
    models::check(models::cancel::SCRIPTS);
}
