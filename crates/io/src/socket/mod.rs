//! What is known of a socket without its reactor: limits in time, threads that wait in the system,
//! the peer.

mod limits;
mod name;
mod peer;
mod rare;
mod wakeup;

pub(crate) use limits::{Began, Limits};
pub(crate) use name::name;
pub(crate) use peer::ShortPeer;
pub(crate) use rare::Rare;
pub(crate) use wakeup::Wakeup;
