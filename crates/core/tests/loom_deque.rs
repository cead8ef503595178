//! Explores the split deque; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn split_deque() {
    models::check(models::deque::SCRIPTS);
}
