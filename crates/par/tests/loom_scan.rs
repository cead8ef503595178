//! Explores scans; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn scans() {
    models::check(models::scan::SCRIPTS);
}
