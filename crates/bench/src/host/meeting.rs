//! Making sure that two tasks are on two workers when they begin.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::record::Failure;

/// How long two tasks wait for each other to be running at the same moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// A place where two tasks meet: both are running when [`both`](Meeting::both) returns, so they are
/// on two workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meeting {
    here: Arc<AtomicUsize>,
    /// With one worker they cannot be on two, and nobody waits.
    off: bool,
}

impl Meeting {
    /// A meeting for a pool of this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Meeting { here: Arc::default(), off: workers == 1 }
    }

    /// Keeps its worker busy until the other task does the same on another.
    pub(crate) fn both(&self) -> Result<(), Failure> {
        // Relaxed: the count alone is the message; the channels of the workload order everything
        // else.
        self.here.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        while !self.off && self.here.load(Ordering::Relaxed) < 2 {
            if begin.elapsed() > PATIENCE {
                return Err(Failure::Wrong(format!("the two tasks were not on two workers within {PATIENCE:?}")));
            }
            spin_loop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::Meeting;

    #[test]
    fn two_threads_meet_and_one_worker_need_not() {
        let meeting = Meeting::new(2);
        let other = meeting.clone();
        let there = std::thread::spawn(move || other.both());
        assert!(meeting.both().is_ok() && there.join().expect("it cannot panic").is_ok());
        assert!(Meeting::new(1).both().is_ok());
    }
}
