//! Thread-local *scopes* and stacks that take turns: the programs behind the contract of
//! `Builder::fibers`.
//!
//! None of them has an `unsafe` of its own but the one that switches fiber mode on. In threads mode
//! all is well, because each task that blocks has a thread, and so its thread-locals, for itself.
//! In fiber mode tasks take turns on one thread: each program shows what the contract forbids, as
//! far as that can be shown without undefined behaviour, or in a process of its own.
//!
//! ```text
//!  moved      a value of a thread-local before and after a wait      the same thread: well in both modes
//!  scoped     a scope of a thread-local that ends out of turn        fiber mode: points to what is gone
//!  lazy       an initialiser that waits                              fiber mode: runs twice
//!  panicking  a destructor that waits while a panic is under way     fiber mode: others seem to panic
//! ```

mod lazy;
mod moved;
mod panicking;
mod scoped;
