//! Starting each system's workers: `w` of them, as that system's manual says.

#[cfg(feature = "peers")]
pub(crate) mod actix;
#[cfg(feature = "peers")]
pub(crate) mod chili;
#[cfg(feature = "peers")]
pub(crate) mod may;
pub(crate) mod meeting;
#[cfg(feature = "ours")]
pub(crate) mod myriad;
#[cfg(feature = "peers")]
pub(crate) mod rayon;
#[cfg(feature = "peers")]
pub(crate) mod smol;
#[cfg(feature = "peers")]
pub(crate) mod tokio;

pub(crate) mod spot;
