//! Explores locks; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn locks() {
    models::check(models::locks::SCRIPTS);
}
