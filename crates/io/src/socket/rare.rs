//! What most sockets do not have.

use super::{Limits, Wakeup};
use myriad_base::sys::mutex::Mutex;
use std::net::SocketAddrV6;

#[derive(Debug, Default)]
pub(crate) struct Rare {
    pub(crate) limits: Limits,
    /// Of plain threads that wait.
    pub(crate) wakeup: Wakeup,
    pub(crate) long_peer: Mutex<Option<SocketAddrV6>>,
}

impl Rare {
    /// As new, for the next socket.
    pub(crate) fn renew(&self) {
        self.limits.renew();
        self.wakeup.renew();
        *self.long_peer.lock() = None;
    }
}
