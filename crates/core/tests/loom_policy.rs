//! Explores the seam of the policies; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn policies() {
    models::check(models::policy::SCRIPTS);
}
