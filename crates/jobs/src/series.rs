//! Jobs that come again and again.

use crate::local::{Job, JobHandle, Queue};
use crate::machine::{JobId, Refused, State};
use crate::schedule::{Due, LOOK, Overlap, Schedule};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::unwind;
use myriad_core::{JoinHandle, spawn_async};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

/// A series of runs: what [`Queue::every`] returns. Dropping it changes nothing.
pub struct Series {
    shared: Arc<Runs>,
    queue: Queue,
    task: JoinHandle<()>,
}

struct Runs {
    state: Mutex<Counts>,
}

impl Runs {
    fn note(&self, error: String) {
        self.state.lock().error = Some(error.into());
    }
}

#[derive(Debug, Default)]
struct Counts {
    runs: u64,
    skipped: u64,
    failures: u64,
    last: Option<JobId>,
    error: Option<Arc<str>>,
}

impl Series {
    /// How many runs were submitted.
    pub fn runs(&self) -> u64 {
        self.shared.state.lock().runs
    }
    /// How many runs did not come, because the one before had not ended.
    pub fn skipped(&self) -> u64 {
        self.shared.state.lock().skipped
    }
    /// How many runs have not ended well, of those that had ended when the last one came.
    pub fn failures(&self) -> u64 {
        self.shared.state.lock().failures
    }
    /// The last run.
    pub fn last(&self) -> Option<JobId> {
        self.shared.state.lock().last
    }
    /// What was wrong, if the series is over because its job was refused, because `make` panicked,
    /// or because the queue was closed. (A series finds the latter out within 20 seconds.)
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, Schedule};
    /// let q = Local::new().cpus(1).start();
    /// let series = q.every(Schedule::new("* * * * * *", "")?, || Job::new(|| ()).cpus(2));
    /// while !series.is_over() {
    ///     myriad::time::sleep(std::time::Duration::from_millis(10));
    /// }
    /// assert!(series.error().unwrap().starts_with("refused: the job asks for 2 cpus"));
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn error(&self) -> Option<Arc<str>> {
        self.shared.state.lock().error.clone()
    }
    /// No more runs come. The last one goes on.
    pub fn stop(&self) {
        self.task.cancel();
    }
    /// Will there be no more runs?
    pub fn is_over(&self) -> bool {
        self.task.is_finished() || self.queue.is_closed()
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("counts", &*self.shared.state.lock()).finish_non_exhaustive()
    }
}

impl Queue {
    /// Submits the job that `make` makes at each time of the schedule, until the series is over or
    /// stopped. Each run is a job of its own.
    ///
    /// Times are those of the machine's clock, also where the runtime has another one. A clock that
    /// is put forward makes runs come at once, or be missed; one that is put back brings no run
    /// twice.
    ///
    /// # Panics
    /// A panic of `make`, and a job that is refused, end the series: see [`Series::error`].
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, Schedule};
    /// let q = Local::new().start();
    /// let series = q.every(Schedule::new("* * * * * *", "")?.runs(1), || Job::new(|| "each second"));
    /// while !series.is_over() {
    ///     myriad::time::sleep(std::time::Duration::from_millis(10));
    /// }
    /// assert_eq!(series.runs(), 1);
    /// series.stop(); // (it was over)
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn every<T: Send + 'static>(
        &self,
        schedule: Schedule,
        make: impl FnMut() -> Job<T> + Send + 'static,
    ) -> Series {
        let shared = Arc::new(Runs { state: Mutex::new(Counts::default()) });
        let runner = Runner::new(self.clone(), schedule, make, shared.clone());
        Series { shared, queue: self.clone(), task: spawn_async(runner.run()) }
    }
}

struct Runner<F, T> {
    queue: Queue,
    schedule: Schedule,
    make: F,
    shared: Arc<Runs>,
    /// The runs that are not known to have ended.
    open: Vec<JobHandle<T>>,
}

impl<F: FnMut() -> Job<T>, T: Send + 'static> Runner<F, T> {
    fn new(queue: Queue, schedule: Schedule, make: F, shared: Arc<Runs>) -> Runner<F, T> {
        Runner { queue, schedule, make, shared, open: Vec::new() }
    }

    async fn run(mut self) {
        if self.schedule.runs == Some(0) {
            return;
        }
        let mut last = self.schedule.now();
        while let Some(next) = self.schedule.next(&last) {
            if self.queue.is_closed() {
                return self.shared.note(format!("refused: {}", Refused::Closed));
            }
            let left = self.schedule.now().duration_until(&next);
            let left = Duration::try_from(left).unwrap_or_default();
            if !left.is_zero() {
                myriad_core::time::sleep_async(left.min(LOOK)).await;
                continue;
            }
            let due = self.schedule.due(&last, &self.schedule.now());
            if !self.come_all(&due) {
                return;
            }
            last = due.counted;
        }
    }

    /// False: the series is over.
    fn come_all(&mut self, due: &Due) -> bool {
        let waits = |nth| due.are_missed && (nth > 0 || self.schedule.overlap != Overlap::Parallel);
        let waits: Vec<bool> = (0..due.times.len()).map(waits).collect();
        waits.into_iter().all(|waits| self.come(waits))
    }

    /// One run; it may have to wait for the one before, whatever the rule of overlaps is. False: it
    /// was the last one.
    fn come(&mut self, waits: bool) -> bool {
        let ended: Vec<_> = self.open.extract_if(.., |run| run.is_finished()).collect();
        let failures = ended.iter().filter(|run| run.state() != State::Done).count() as u64;
        self.shared.state.lock().failures += failures;
        if failures > 0 && self.schedule.until_failure {
            return false;
        }
        // (Of runs side by side, an older one may be the last that is open.)
        let last = self.shared.state.lock().last;
        let is_parallel = self.schedule.overlap == Overlap::Parallel;
        let before = self.open.last().filter(|before| !is_parallel || Some(before.id()) == last);
        if before.is_some() && !waits && self.schedule.overlap == Overlap::Skip {
            self.shared.state.lock().skipped += 1;
            return true;
        }
        let mut job = match unwind::catch(&mut self.make) {
            Ok(job) => job,
            Err(payload) => {
                if !unwind::is_cancellation(&payload) {
                    self.shared.note(format!("panicked: {}", myriad_base::unwind::message(&*payload)));
                }
                resume_unwind(payload)
            }
        };
        if let Some(before) = before.filter(|_| waits || self.schedule.overlap == Overlap::Queue) {
            // (Those that wait already when one fails are to come no more.)
            job = if self.schedule.until_failure { job.after(before) } else { job.after_any(before) };
        }
        let handle = match self.queue.submit(job) {
            Ok(handle) => handle,
            Err(refused) => {
                self.shared.note(format!("refused: {refused}"));
                return false;
            }
        };
        let mut counts = self.shared.state.lock();
        counts.runs += 1;
        counts.last = Some(handle.id());
        let is_last = self.schedule.runs.is_some_and(|most| counts.runs >= most);
        drop(counts);
        self.open.push(handle);
        !is_last
    }
}

#[cfg(test)]
mod test {
    use super::{Runner, Runs};
    use crate::{Job, Local, Missed, Overlap, Schedule, State};
    use jiff::Zoned;
    use myriad_base::sys::mutex::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    /// 11: what comes while the run before has not ended: nothing, one that waits, or both.
    #[test]
    fn r11_overlap() {
        for (overlap, runs) in [(Overlap::Skip, 1), (Overlap::Queue, 2), (Overlap::Parallel, 2)] {
            let queue = Local::new().cpus(4).start();
            let schedule = Schedule::new("* * * * * *", "UTC").unwrap().overlap(overlap);
            let shared = Arc::new(Runs { state: Mutex::default() });
            let mut runner = Runner::new(queue.clone(), schedule, || Job::new(|| ()).held(), shared.clone());
            assert!(runner.come(false) && runner.come(false));
            let all = queue.jobs();
            assert_eq!((all.len() as u64, shared.state.lock().skipped), (runs, 2 - runs), "{overlap:?}");
            let second = &all[all.len() - 1];
            let waits = second.after.len();
            assert_eq!(waits, usize::from(overlap == Overlap::Queue), "{overlap:?}");
            queue.cancel_all();
            queue.wait_all();
            assert!(runner.come(false), "the series goes on after a run that was cancelled");
            assert_eq!(shared.state.lock().runs, runs + 1);
            queue.cancel_all();
        }
    }

    /// 11: runs that were missed come one after the other, and are not skipped.
    #[test]
    fn r11_missed_runs_come_whatever_the_overlap() {
        for overlap in [Overlap::Skip, Overlap::Queue, Overlap::Parallel] {
            let queue = Local::new().cpus(9).start();
            let schedule = Schedule::new("* * * * * *", "UTC").unwrap().overlap(overlap).missed(Missed::All);
            let shared = Arc::new(Runs { state: Mutex::default() });
            let mut runner = Runner::new(queue.clone(), schedule, || Job::new(|| ()).held(), shared.clone());
            assert!(runner.come(false));
            let last: Zoned = "2026-05-01T10:00:00[UTC]".parse().unwrap();
            let due = runner.schedule.due(&last, &(&last + Duration::from_secs(5)));
            assert!(due.are_missed && runner.come_all(&due));
            let counts = || {
                let counts = shared.state.lock();
                (counts.runs, counts.skipped)
            };
            assert_eq!(counts(), (6, 0), "{overlap:?}");
            let waits: Vec<_> = queue.jobs().iter().map(|run| run.after.len()).collect();
            let second = usize::from(overlap != Overlap::Parallel);
            assert_eq!(waits, [0, second, 1, 1, 1, 1], "{overlap:?}");
            // One that is in time is no missed one.
            let in_time = runner.schedule.due(&last, &(&last + Duration::from_secs(1)));
            assert!(!in_time.are_missed && runner.come_all(&in_time));
            assert_eq!(counts().1, u64::from(overlap == Overlap::Skip), "{overlap:?}");
            queue.cancel_all();
        }
    }

    /// 11: after the first run that does not end well, those that wait for it do not come.
    #[test]
    fn r11_until_failure_ends_those_that_wait() {
        let queue = Local::new().start();
        let schedule = Schedule::new("* * * * * *", "UTC").unwrap().overlap(Overlap::Queue).until_failure();
        let make = || Job::fallible(|| Err::<(), _>("no")).held();
        let mut runner = Runner::new(queue.clone(), schedule, make, Arc::new(Runs { state: Mutex::default() }));
        assert!(runner.come(false) && runner.come(false));
        let first = queue.jobs()[0].id;
        assert_eq!(queue.release(first), Ok(true));
        queue.wait_all();
        assert_eq!(queue.jobs()[1].state, State::Skipped(first));
    }

    /// 11: the first run that does not end well is the last, if that is asked for; so is the last
    /// of a number of runs.
    #[test]
    fn r11_ends_of_a_series() {
        let queue = Local::new().start();
        let series = |schedule: Schedule| {
            let shared = Arc::new(Runs { state: Mutex::default() });
            Runner::new(queue.clone(), schedule, || Job::fallible(|| Err::<(), _>("no")), shared)
        };
        let often = || Schedule::new("* * * * * *", "UTC").unwrap();
        let mut fails = series(often().until_failure());
        assert!(fails.come(false));
        queue.wait_all();
        assert!(!fails.come(false));
        assert_eq!(fails.shared.state.lock().runs, 1);
        let mut two = series(often().runs(2));
        assert!(two.come(false));
        queue.wait_all();
        assert!(!two.come(false), "it was the last");
        assert_eq!(two.shared.state.lock().runs, 2);
    }

    /// 11: of runs that are under way together each failure counts, once.
    #[test]
    fn r11_failures_of_runs_side_by_side() {
        let queue = Local::new().start();
        let schedule = Schedule::new("* * * * * *", "UTC").unwrap().overlap(Overlap::Parallel);
        let shared = Arc::new(Runs { state: Mutex::default() });
        let make = || Job::fallible(|| Err::<(), _>("no")).held();
        let mut runner = Runner::new(queue.clone(), schedule, make, shared.clone());
        assert!(runner.come(false) && runner.come(false));
        queue.jobs().iter().for_each(|run| assert_eq!(queue.release(run.id), Ok(true)));
        queue.wait_all();
        assert!(queue.jobs().iter().all(|run| run.state == State::Failed));
        assert!(runner.come(false) && runner.come(false));
        let counts = shared.state.lock();
        assert_eq!((counts.runs, counts.failures), (4, 2));
        queue.cancel_all();
    }
}
