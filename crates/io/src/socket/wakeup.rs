//! What makes plain threads look up that wait for a socket in the system.

use myriad_base::sys::fork;
use myriad_base::sys::mutex::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A descriptor that becomes readable when the socket is closed. Most sockets never have one: it is
/// made by the first thread that waits.
///
/// A child of a fork has its parent's, where it would wake the parent's threads, which find that
/// their socket is open, for ever: so a process uses its own only.
#[derive(Debug, Default)]
pub(crate) struct Wakeup(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    set: bool,
    /// And the era in which it was made.
    descriptor: Option<(Arc<OwnedFd>, u32)>,
}

impl State {
    fn own(&self) -> Option<&Arc<OwnedFd>> {
        self.descriptor.as_ref().filter(|(_, era)| *era == fork::era()).map(|(descriptor, _)| descriptor)
    }
}

impl Wakeup {
    /// The descriptor.
    pub(crate) fn get(&self) -> io::Result<Arc<OwnedFd>> {
        // (There may be no runtime, which would do so.)
        fork::watch();
        let mut state = self.0.lock();
        if let Some(descriptor) = state.own() {
            return Ok(descriptor.clone());
        }
        let count = u32::from(state.set);
        let descriptor = Arc::new(eventfd(count, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        state.descriptor = Some((descriptor.clone(), fork::era()));
        Ok(descriptor)
    }

    /// From now on it is readable.
    pub(crate) fn set(&self) {
        let mut state = self.0.lock();
        state.set = true;
        if let Some(descriptor) = state.own() {
            // (It fails when the count is full: then it is readable.)
            _ = rustix::io::write(descriptor, &1_u64.to_ne_bytes());
        }
    }

    /// As new, for the next socket.
    pub(super) fn renew(&self) {
        *self.0.lock() = State::default();
    }
}
