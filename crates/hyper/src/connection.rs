//! One connection of a server.
//!
//! Where there is HTTP/2 the first bytes say which protocol the client speaks, through a layer more
//! at each step: so a build without it does without that layer.

#[cfg(not(feature = "http2"))]
mod http1;
#[cfg(feature = "http2")]
mod http2;

#[cfg(not(feature = "http2"))]
pub(crate) use http1::{builder, downcast, serve, with_error};
#[cfg(feature = "http2")]
pub(crate) use http2::{builder, downcast, serve, with_error};
