//! Explores the scripts of `loom/completion.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn completion() {
    models::check(models::completion::SCRIPTS);
}
