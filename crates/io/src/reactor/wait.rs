//! The wait for events in the system, to the nanosecond: the time-out may be that of a timer.
//!
//! `epoll_wait` counts milliseconds, `epoll_pwait2` (Linux 5.11) nanoseconds. Whoever refuses the
//! second, as sandboxes may, is not asked again. (rustix's call uses the first for all that fits
//! into it, and its events cannot be kept by a reactor, for they may hold pointers.)

use super::Found;
use rustix::event::Timespec;
use rustix::event::epoll::EventFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
// Std's: a hint.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Events of one look, at most.
pub(super) const MOST: usize = 128;

/// The system has no `epoll_pwait2`, or lets nobody call it.
static COARSE: AtomicBool = AtomicBool::new(false);

/// What a look has found, and the room for it. (Not on the stack: that is a fiber's, whose task
/// comes later, and would keep a page more.)
pub(super) struct Events(Vec<libc::epoll_event>);

impl Events {
    pub(super) fn new() -> Events {
        Events(Vec::with_capacity(MOST))
    }

    /// No room, and nothing found: in the place of those that somebody fills.
    pub(super) const fn none() -> Events {
        Events(Vec::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Found> + '_ {
        self.0.iter().map(found)
    }

    /// Takes all out. The room stays.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Found> + '_ {
        self.0.drain(..).map(|event| found(&event))
    }

    /// Waits for events, for so long at most.
    pub(super) fn wait(&mut self, set: &OwnedFd, timeout: Option<Duration>) -> io::Result<()> {
        let fine = timeout.filter(|timeout| !timeout.is_zero() && !COARSE.load(Relaxed));
        if let Some(timeout) = fine {
            match self.wait_fine(set, timeout) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    COARSE.store(true, Relaxed);
                }
                result => return result,
            }
        }
        self.wait_coarse(set, timeout)
    }

    fn wait_fine(&mut self, set: &OwnedFd, timeout: Duration) -> io::Result<()> {
        // (The kernel's, which has 64 bits everywhere.)
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        self.0.reserve(MOST);
        let room = self.0.spare_capacity_mut();
        // SAFETY: the set is open; there is room for so many events; the time-out stands there; no
        // mask of signals.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                set.as_raw_fd(),
                room.as_mut_ptr(),
                MOST as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                size_of::<libc::c_ulong>(),
            )
        };
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the system has written the first `n` behind those that were there.
        unsafe { self.0.set_len(self.0.len() + n) };
        Ok(())
    }

    /// In milliseconds, of which one more is not too early.
    fn wait_coarse(&mut self, set: &OwnedFd, timeout: Option<Duration>) -> io::Result<()> {
        let millis = |timeout: Duration| timeout.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as libc::c_int;
        self.0.reserve(MOST);
        let room = self.0.spare_capacity_mut().as_mut_ptr().cast();
        // SAFETY: the set is open, and there is room for so many events.
        let n = unsafe { libc::epoll_wait(set.as_raw_fd(), room, MOST as libc::c_int, timeout.map_or(-1, millis)) };
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the system has written the first `n` behind those that were there.
        unsafe { self.0.set_len(self.0.len() + n) };
        Ok(())
    }
}

fn found(event: &libc::epoll_event) -> Found {
    (event.u64, EventFlags::from_bits_retain(event.events))
}

#[cfg(test)]
mod test {
    use super::*;
    use rustix::event::epoll::{self, CreateFlags};
    use std::time::Instant;

    #[test]
    fn neither_waits_for_too_short() {
        let set = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let timeout = Duration::from_micros(300);
        for round in 0..20 {
            let (began, mut found) = (Instant::now(), Events::new());
            match round % 2 {
                0 => found.wait(&set, Some(timeout)).unwrap(),
                _ => found.wait_coarse(&set, Some(timeout)).unwrap(),
            }
            assert!(began.elapsed() >= timeout && found.is_empty());
        }
        Events::none().wait(&set, Some(Duration::ZERO)).unwrap();
    }
}
