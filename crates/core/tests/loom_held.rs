//! Explores the scripts of `loom/held.rs`; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn held() {
    models::check(models::held::SCRIPTS);
}
