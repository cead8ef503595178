//! HTTP with [hyper](https://docs.rs/hyper), over Myriad's tasks, timers and sockets: no other
//! runtime runs. On Linux, with the feature `hyper` of `myriad-rt` (and `http2`).
//!
//! | | |
//! |---|---|
//! | [`Server`] | accepts connections, and answers requests until its listener is closed |
//! | [`handler`] | a closure that may block as a service: a task for each request |
//! | [`BodyReader`] | a body for [`std::io::Read`] |
//! | [`downcast`] | the stream of a connection that was upgraded |
//! | [`client`], [`Connector`] | hyper's client with a pool of connections |
//! | [`Io`], [`Executor`], [`Timer`] | the pieces: what hyper asks of a runtime |
//!
//! A program that uses hyper over another runtime changes those three, and keeps the rest.
//!
//! Examples: [`Server`], [`handler`](handler()).
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]
#![cfg(target_os = "linux")]

mod body;
mod client;
mod connection;
mod handler;
mod io;
mod rt;
mod server;
mod upgrade;

pub use body::BodyReader;
pub use client::{Connector, client};
pub use handler::{Answering, Handler, handler};
pub use io::Io;
pub use rt::{Executor, Timer};
pub use server::{Listener, Server};
pub use upgrade::downcast;
