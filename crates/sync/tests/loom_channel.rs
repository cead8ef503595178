//! Explores channels; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn channels() {
    models::check();
}
