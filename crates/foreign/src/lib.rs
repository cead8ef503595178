//! Foreign parallel libraries on the workers of Myriad. Examples: [`fftw`], [`openblas`].
//!
//! | library | what it asks for | what it gets |
//! |---|---|---|
//! | [`fftw`], since 3.3.9 | independent jobs | a parallel loop of tasks, nested as deep as you like |
//! | [`openblas`], since 0.3.28 | jobs that spin on each other | a [gang], one call at a time |
//!
//! [gang]: myriad_core::task::gang
//!
//! A library with threads of its own, used from tasks, has as many threads as it likes for each
//! task that calls it, and all of them want the same processors. Here it has none.
//!
//! The libraries are looked up when the program runs, in the process itself and then by their
//! names, so nothing of them is needed to build. What is missing is an error that says what to
//! install.
//!
//! **One crate for both,** because they share the look-up and nothing in either is more than some
//! hundred lines; a user of one pays nothing for the other.
// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod fftw;
mod jobs;
mod library;
pub mod openblas;

pub use library::LoadError;
