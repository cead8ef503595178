//! Whom a socket is connected to: for errors, when the system does not know any more.

use std::net::{Ipv4Addr, SocketAddrV4};
// Std's: written before the socket has a second handle.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An address of IPv4, with [`KNOWN`] above; 0: another one, or none.
#[derive(Debug, Default)]
pub(crate) struct ShortPeer(AtomicU64);

const KNOWN: u64 = 1 << 48;

impl ShortPeer {
    pub(crate) fn set(&self, peer: Option<SocketAddrV4>) {
        let word = peer.map_or(0, |peer| KNOWN | u64::from(peer.ip().to_bits()) << 16 | u64::from(peer.port()));
        self.0.store(word, Relaxed);
    }

    pub(crate) fn get(&self) -> Option<SocketAddrV4> {
        let word = self.0.load(Relaxed);
        (word != 0).then(|| SocketAddrV4::new(Ipv4Addr::from_bits((word >> 16) as u32), word as u16))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn an_address_in_a_word() {
        let peer = ShortPeer::default();
        for address in ["127.0.0.1:0", "0.0.0.0:0", "255.255.255.255:65535"].map(|text| text.parse().unwrap()) {
            assert_eq!(peer.get(), None);
            peer.set(Some(address));
            assert_eq!(peer.get(), Some(address));
            peer.set(None);
        }
    }
}
