//! `Select::ready` and its kin: Myriad has no wait for "an operation would not wait" over several
//! channels, so these ask again and again. (The operations on which the tests of `ready.rs` then
//! rely are Myriad's.)

use crate::channel::{Flavor, Receiver};
use crate::err::{ReadyTimeoutError, TryReadyError};
use crate::select::Select;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

impl<T> Receiver<T> {
    pub(crate) fn receives_now(&self) -> bool {
        match &self.on {
            Flavor::Channel(rx) => rx.is_ready(),
            Flavor::Times(times) => times.0.is_ready(),
            Flavor::Never => false,
        }
    }
}

impl Select<'_> {
    /// An operation that is ready now.
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        static TURN: AtomicUsize = AtomicUsize::new(0);
        let from = if self.biased { 0 } else { TURN.fetch_add(1, Relaxed) % self.ends.len().max(1) };
        let (first, second) = self.ends.split_at(from);
        let ready = second.iter().chain(first).find(|(_, end)| end.is_ready());
        ready.map(|(index, _)| *index).ok_or(TryReadyError)
    }
    /// Waits until an operation is ready.
    pub fn ready(&mut self) -> usize {
        assert!(!self.ends.is_empty(), "no operations have been added to `Select`");
        self.poll(None).expect("there is no limit")
    }
    /// Waits so long.
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        self.poll(Instant::now().checked_add(timeout)).ok_or(ReadyTimeoutError)
    }
    /// Waits until then.
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        self.poll(Some(deadline)).ok_or(ReadyTimeoutError)
    }

    fn poll(&mut self, deadline: Option<Instant>) -> Option<usize> {
        for turn in 0_u32.. {
            if let Ok(index) = self.try_ready() {
                return Some(index);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return None;
            }
            if turn < 100 {
                myriad::yield_now();
            } else {
                myriad::time::sleep(Duration::from_micros(100));
            }
        }
        None
    }
}
