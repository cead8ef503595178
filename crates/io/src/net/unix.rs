//! Unix sockets: between processes of one machine, by a path, an abstract name, or as a pair.
//!
//! With the names and shapes of `std::os::unix::net`. See the [module above](super) for what all
//! sockets have in common. Beyond bytes, a message may carry descriptors
//! ([`UnixStream::send_with_fds`]), and one end knows who made the other
//! ([`UnixStream::peer_cred`]).
//!
//! **Names.** A path takes 107 bytes at most, is made by `bind`, and stays until somebody removes
//! it. An abstract name ([`SocketAddrExt`]) is no file: it goes with its last socket.
//!
//! # Examples
//! ```
//! use myriad::net::unix::{SocketAddr, SocketAddrExt, UnixListener, UnixStream};
//! use std::io::{Read, Write};
//! let name = SocketAddr::from_abstract_name(format!("myriad-example-{}", std::process::id()))?;
//! let listener = UnixListener::bind_addr(&name)?;
//! let server = myriad::spawn(move || {
//!     let (mut stream, _) = listener.accept()?;
//!     stream.write_all(b"hello")
//! });
//! let mut text = String::new();
//! UnixStream::connect_addr(&name)?.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! server.join().unwrap()?;
//! # std::io::Result::Ok(())
//! ```

mod address;
mod datagram;
mod fds;
mod listener;
mod stream;

pub use datagram::UnixDatagram;
pub use fds::Received;
pub use listener::UnixListener;
pub use std::os::linux::net::SocketAddrExt;
pub use std::os::unix::net::SocketAddr;
pub use stream::{UCred, UnixStream};
