//! Network I/O for Myriad.
//!
//! Programs use it through `myriad::net` and `myriad::io`. There are sockets on Linux only:
//! elsewhere the crate is empty.
//!
//! ```text
//!  io         what copies between them, and pipes
//!  net        sockets as users see them
//!  source     a descriptor that is waited for: by a task, a future, a plain thread
//!  reactor    one epoll set for each pool, in which an idle worker sleeps; what it knows of a socket
//!  socket     what is known of one without it: limits in time, the peer
//! ```
#![cfg_attr(target_os = "linux", doc = "\nExamples: [`net::TcpStream`], [`io::copy_both`].")]
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(target_os = "linux")]
pub mod io;
#[cfg(target_os = "linux")]
pub mod net;
#[cfg(target_os = "linux")]
mod reactor;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod source;
