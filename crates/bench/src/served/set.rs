//! An epoll set.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Events of one look, at most.
const MOST: usize = 256;

/// An epoll set.
pub(crate) struct Set(OwnedFd);

impl Set {
    pub(crate) fn new() -> io::Result<Set> {
        // SAFETY: takes no pointers.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: a fresh descriptor, which nobody else has.
            set => Ok(Set(unsafe { OwnedFd::from_raw_fd(set) })),
        }
    }

    /// Tells of input on this descriptor, by this number.
    pub(crate) fn add(&self, fd: RawFd, number: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        // SAFETY: both descriptors are open, and `event` is read in the call.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// The calling thread is woken when its time is up, and not up to 50 µs later, as the system
    /// likes it.
    pub(crate) fn wakes_on_time(&self) {
        // SAFETY: takes no pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }

    /// Waits for input, for so long to the nanosecond; the numbers go into `ready`.
    pub(crate) fn wait_exactly(&self, ready: &mut Vec<u64>, patience: Duration) -> io::Result<()> {
        if !patience.is_zero() {
            let time = libc::timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
            let mut set = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: `set` is one of them, `time` is read in the call, and null is no mask.
            unsafe { libc::ppoll(&raw mut set, 1, &raw const time, std::ptr::null()) };
        }
        self.wait(ready, Duration::ZERO)
    }

    /// Waits for input, for so long; the numbers go into `ready`.
    pub(crate) fn wait(&self, ready: &mut Vec<u64>, patience: Duration) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        let millis = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: `events` is room for so many.
        match unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), MOST as i32, millis) } {
            -1 => Err(io::Error::last_os_error()),
            n => {
                ready.extend(events[..n as usize].iter().map(|event| event.u64));
                Ok(())
            }
        }
    }
}
