//! Explores the scripts of `loom/relief.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn relief() {
    models::check(models::relief::SCRIPTS);
}
