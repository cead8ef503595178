//! Explores the scripts of `loom/biased.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn biased() {
    models::check(models::biased::SCRIPTS);
}
