//! The C interface of Myriad. `docs/C.md` is its guide, `include/myriad.h` what C sees: written
//! from the comments here by `tests/header.rs`, which fails when the two differ.
//!
//! **At the boundary.** No panic crosses it: each function catches, and returns a status with a
//! text ([`error`]). The functions of the program are `extern "C-unwind"`: so a C++ exception that
//! leaves one is not undefined, but ends the process (std says "Rust cannot catch foreign
//! exceptions").
//!
//! **Handles** of tasks, channels and locks are looked up in tables: one that is used too late is
//! an error (`handle.rs`).

// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]
#![allow(non_camel_case_types, reason = "the names are C's")]

pub mod cancel;
pub mod channel;
pub mod error;
pub mod foreign;
mod fork;
pub mod gang;
mod handle;
pub mod mutex;
pub mod parallel;
pub mod runtime;
pub mod select;
pub mod task;

use std::ffi::c_void;

/// A pointer that is the program's business.
#[derive(Clone, Copy)]
pub(crate) struct Pointer(pub(crate) *mut c_void);
// SAFETY: an address; what is behind it is the program's to share, as the interface says.
unsafe impl Send for Pointer {}
// SAFETY: nothing is done through a shared one but to copy the address.
unsafe impl Sync for Pointer {}
