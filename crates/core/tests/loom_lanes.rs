//! Explores the scripts of `loom/lanes.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn lanes() {
    models::check(models::lanes::SCRIPTS);
}
