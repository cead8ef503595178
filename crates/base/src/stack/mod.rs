//! Stacks: the switch between them, the memory they live in, and what happens when one is too
//! small.
//!
//! [`switch`] changes from one stack to another; [`pool`] gives out stacks with guard pages;
//! [`registry`] lets a signal handler find the stack to an address; [`overflow`] is that handler;
//! [`threads`] is the other blocking mode, in which a stack is an OS thread.

mod no_stack;
pub mod overflow;
pub mod pool;
pub mod registry;
pub mod switch;
pub mod threads;

pub use switch::FIBERS_SUPPORTED;
