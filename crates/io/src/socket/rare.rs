//! What most sockets do not have.

use super::{Limits, Wakeup};
use myriad_base::sys::mutex::Mutex;
use std::net::SocketAddrV6;
use std::ptr::null_mut;
// Std's: no model has it.
use std::sync::atomic::{AtomicPtr, Ordering::*};

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

/// In memory of its own, made when it is needed, and kept. (Not a `OnceLock`, in which a child of a
/// fork may find a thread of its parent.)
#[derive(Debug, Default)]
pub(crate) struct RareBox(AtomicPtr<Rare>);

impl RareBox {
    #[inline]
    pub(crate) fn get(&self) -> Option<&'static Rare> {
        // Acquire: pairs with the Release below.
        // SAFETY: null, or what was leaked below.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    pub(crate) fn make(&self) -> &'static Rare {
        self.get().unwrap_or_else(|| {
            let new = Box::into_raw(Box::<Rare>::default());
            // Release: with the Acquire above.
            match self.0.compare_exchange(null_mut(), new, AcqRel, Acquire) {
                // SAFETY: made just now, and leaked: nobody frees what stands here.
                Ok(_) => unsafe { &*new },
                Err(first) => {
                    // SAFETY: made just now, and nobody has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    // SAFETY: that of another one, which was leaked.
                    unsafe { &*first }
                }
            }
        })
    }
}
