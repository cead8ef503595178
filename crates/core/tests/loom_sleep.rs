//! Explores idling; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn sleep_and_wake() {
    models::check(models::sleep::SCRIPTS);
}
