//! A plain thread waits in the system: `poll(2)` on the descriptor itself.

use super::{Socket, Source, closed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// A thread that nobody can wake looks so often whether the socket was closed.
const GLANCE: Duration = Duration::from_millis(20);

impl<S: Socket> Source<S> {
    /// As [`block`](Source::block), for a thread that is no worker, or must not go on as another.
    pub(super) fn block_thread<const OUTPUT: bool, R>(
        &self,
        call: &mut impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        let began = self.begin(OUTPUT);
        loop {
            if self.is_closed() {
                return Err(closed());
            }
            match call(&self.socket()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => return result.map(|(result, _)| result),
            }
            let left = self.deadline(OUTPUT, began).map(|deadline| deadline - myriad_core::time::now());
            if left.is_some_and(|left| left.is_zero()) {
                return Err(ErrorKind::TimedOut.into());
            }
            let flags = if OUTPUT { PollFlags::OUT } else { PollFlags::IN };
            let socket = PollFd::new(self, flags);
            let done = match self.handle.make_rare().wakeup.get() {
                Ok(wakeup) => poll(&mut [socket, PollFd::new(&wakeup, PollFlags::IN)], timespec(left).as_ref()),
                // (No descriptor is left for it.)
                Err(_) => poll(&mut [socket], timespec(Some(left.map_or(GLANCE, |left| left.min(GLANCE)))).as_ref()),
            };
            match done {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn timespec(time: Option<Duration>) -> Option<Timespec> {
    time.map(|time| Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 }))
}
