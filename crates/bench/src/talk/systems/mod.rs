//! What spawn, send and receive are in each system.

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
#[cfg(feature = "peers")]
mod tokio;
#[cfg(feature = "peers")]
mod tokio_kanal;

#[cfg(feature = "ours")]
pub(super) use self::myriad::Myriad;
#[cfg(feature = "peers")]
pub(super) use self::{may::May, smol::Smol, tokio::Tokio, tokio_kanal::TokioKanal};
