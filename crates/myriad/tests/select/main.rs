//! Select.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;

mod select_basics;
mod select_default;
mod select_fair;
mod select_model;
mod select_semantics;
mod select_stress;
mod select_waiting;
