//! Explores channels, boards and select; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn channels() {
    models::check(models::channel::SCRIPTS);
    models::check(models::look::SCRIPTS);
    models::check(models::select::SCRIPTS);
    models::check(models::board::SCRIPTS);
}
