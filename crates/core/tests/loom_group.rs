//! Explores the scripts of `loom/group.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn group() {
    models::check(models::group::SCRIPTS);
}
