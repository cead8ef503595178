//! Foreign code (destructors, wakers, hooks, closures of users) at places where the engine holds something, and runtimes that
//! end while others still hold on to what belongs to them.

#[path = "../common/mod.rs"]
mod common;

mod keys;
mod values;
mod wakers;
