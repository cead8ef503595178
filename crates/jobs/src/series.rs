//! Jobs that come again and again: by a pattern of cron, in a time zone.

use crate::local::{Job, JobHandle, Queue};
use crate::machine::{JobId, Refused, State};
use croner::parser::{CronParser, Seconds};
use jiff::Zoned;
use jiff::tz::TimeZone;
use myriad_base::sys::mutex::Mutex;
use myriad_core::{JoinHandle, spawn_async};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What happens to a run whose time comes while the one before has not ended. Example:
/// [`Schedule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It does not come.
    #[default]
    Skip,
    /// It waits for the one before.
    Queue,
    /// Both run.
    Parallel,
}

/// What happens to runs whose time passed while the process, or the machine, stood still. Example:
/// [`Schedule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// They are left out.
    #[default]
    None,
    /// One comes for all of them.
    One,
    /// Each comes.
    All,
}

/// When a series has its runs: a pattern of cron, and rules.
///
/// The pattern has five fields (minute, hour, day of the month, month, day of the week), or six
/// with seconds before them, and what croner understands: `@daily`, `L`, `W`, `#`, names. If both
/// the day of the month and the day of the week are given, one of them is enough.
///
/// **Time zones.** The pattern speaks of the time of day there. When the clock is put forward, a
/// time that there is not that day comes at the first moment after the gap, once. When the clock is
/// put back, a time that there is twice comes once, the first time.
///
/// **Failures.** The series goes on after a run that failed, unless
/// [`until_failure`](Self::until_failure) says otherwise.
///
/// # Examples
/// ```
/// use myriad::jobs::{Overlap, Schedule};
/// let nightly = Schedule::new("0 3 * * *", "Europe/Berlin")?.overlap(Overlap::Queue);
/// let from = "2026-03-28T12:00[Europe/Berlin]".parse().unwrap();
/// let times: Vec<_> = nightly.times(&from).take(2).map(|at| at.to_string()).collect();
/// assert_eq!(times, ["2026-03-29T03:00:00+02:00[Europe/Berlin]", "2026-03-30T03:00:00+02:00[Europe/Berlin]"]);
///
/// use myriad::jobs::Missed;
/// let until = "2026-04-01T00:00[Europe/Berlin]".parse().unwrap();
/// let few = nightly.missed(Missed::One).until(until).runs(2).until_failure();
/// assert_eq!(few.times(&from).count(), 2);
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    cron: croner::Cron,
    zone: TimeZone,
    overlap: Overlap,
    missed: Missed,
    until: Option<Zoned>,
    runs: Option<u64>,
    until_failure: bool,
}

impl Schedule {
    /// The pattern, in this time zone: a name as `Europe/Berlin`, or `""` for the system's.
    ///
    /// # Errors
    /// The pattern or the zone is none, or there is no time that the pattern speaks of.
    pub fn new(pattern: &str, zone: &str) -> Result<Schedule, Refused> {
        let wrong = |why: String| Refused::Time(why.into());
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let cron = parser.parse(pattern).map_err(|error| wrong(format!("\"{pattern}\": {error}")))?;
        let zone = match zone {
            "" => TimeZone::system(),
            name => TimeZone::get(name).map_err(|error| wrong(error.to_string()))?,
        };
        let schedule = Schedule {
            cron,
            zone,
            overlap: Overlap::Skip,
            missed: Missed::None,
            until: None,
            runs: None,
            until_failure: false,
        };
        let now = Zoned::now().with_time_zone(schedule.zone.clone());
        match schedule.next(&now) {
            Some(_) => Ok(schedule),
            None => Err(wrong(format!("\"{pattern}\" never comes"))),
        }
    }
    /// What happens while the run before has not ended.
    pub fn overlap(mut self, overlap: Overlap) -> Schedule {
        self.overlap = overlap;
        self
    }
    /// What happens to runs that were missed.
    pub fn missed(mut self, missed: Missed) -> Schedule {
        self.missed = missed;
        self
    }
    /// No run after this time; one at this time still comes.
    pub fn until(mut self, time: Zoned) -> Schedule {
        self.until = Some(time);
        self
    }
    /// So many runs at most.
    pub fn runs(mut self, most: u64) -> Schedule {
        self.runs = Some(most);
        self
    }
    /// The first run that does not end well is the last one.
    pub fn until_failure(mut self) -> Schedule {
        self.until_failure = true;
        self
    }

    /// The first time after this one.
    fn next(&self, after: &Zoned) -> Option<Zoned> {
        let next = self.cron.find_next_occurrence(after, false).ok()?;
        self.until.as_ref().is_none_or(|until| next <= *until).then_some(next)
    }
    /// The times after this one.
    pub fn times(&self, after: &Zoned) -> impl Iterator<Item = Zoned> {
        let first = self.next(&after.with_time_zone(self.zone.clone()));
        std::iter::successors(first, |last| self.next(last)).take(self.runs.map_or(usize::MAX, |runs| runs as usize))
    }

    /// The times for which runs come now, when the last one was `last`: those that were missed, as
    /// the rule says. And the time from which the next ones count.
    fn due(&self, last: &Zoned, now: &Zoned) -> (Vec<Zoned>, Zoned) {
        // (Put back, the clock brings nothing that has come before: times count from the last one.)
        let mut times: VecDeque<Zoned> = VecDeque::new();
        let mut counted = last.clone();
        let keep = if self.missed == Missed::All { usize::MAX } else { 1 };
        while let Some(next) = self.next(&counted).filter(|next| next <= now) {
            times.push_back(next.clone());
            if times.len() > keep {
                times.pop_front();
            }
            counted = next;
        }
        // One that comes late by less than a look is not missed.
        let is_late =
            |time: &Zoned| now.timestamp().as_second() - time.timestamp().as_second() > LOOK.as_secs() as i64 + 1;
        if self.missed == Missed::None {
            times.retain(|time| !is_late(time));
        }
        (times.into(), counted)
    }
}

/// How often the clock is looked at, at least: it may be put forward or back meanwhile.
const LOOK: Duration = Duration::from_secs(20);

/// A series of runs: what [`Queue::every`] returns. Dropping it changes nothing.
pub struct Series {
    shared: Arc<Runs>,
    task: JoinHandle<()>,
}

struct Runs {
    state: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    runs: u64,
    skipped: u64,
    failures: u64,
    last: Option<JobId>,
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
    /// No more runs come. The last one goes on.
    pub fn stop(&self) {
        self.task.cancel();
    }
    /// Will there be no more runs?
    pub fn is_over(&self) -> bool {
        self.task.is_finished()
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
    /// A panic of `make`, and a job that is refused, end the series.
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
        Series { shared, task: spawn_async(runner.run()) }
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
        let mut last = Zoned::now().with_time_zone(self.schedule.zone.clone());
        while let Some(next) = self.schedule.next(&last) {
            let left = Zoned::now().duration_until(&next);
            let left = Duration::try_from(left).unwrap_or_default();
            if !left.is_zero() {
                myriad_core::time::sleep_async(left.min(LOOK)).await;
                continue;
            }
            let (times, counted) = self.schedule.due(&last, &Zoned::now());
            last = counted;
            for _ in times {
                if !self.come() {
                    return;
                }
            }
        }
    }

    /// One run. False: it was the last one.
    fn come(&mut self) -> bool {
        let ended: Vec<_> = self.open.extract_if(.., |run| run.is_finished()).collect();
        let failures = ended.iter().filter(|run| run.state() != State::Done).count() as u64;
        self.shared.state.lock().failures += failures;
        if failures > 0 && self.schedule.until_failure {
            return false;
        }
        let before = self.open.last();
        if before.is_some() && self.schedule.overlap == Overlap::Skip {
            self.shared.state.lock().skipped += 1;
            return true;
        }
        let mut job = (self.make)();
        if let Some(before) = before.filter(|_| self.schedule.overlap == Overlap::Queue) {
            job = job.after_any(before);
        }
        let Ok(handle) = self.queue.submit(job) else { return false };
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
    use super::{Missed, Overlap, Runner, Runs, Schedule};
    use crate::{Job, Local, Refused, State};
    use jiff::Zoned;
    use myriad_base::sys::mutex::Mutex;
    use std::sync::Arc;

    fn at(text: &str) -> Zoned {
        format!("{text}[Europe/Berlin]").parse().unwrap()
    }
    fn times(pattern: &str, from: &str, n: usize) -> Vec<String> {
        let schedule = Schedule::new(pattern, "Europe/Berlin").unwrap();
        schedule.times(&at(from)).take(n).map(|time| time.strftime("%m-%d %H:%M %:z").to_string()).collect()
    }

    /// 11: the clocks go forward at 02:00 on 2026-03-29, and back at 03:00 on 2026-10-25.
    #[test]
    fn r11_a_time_in_the_gap_and_one_that_is_there_twice() {
        let spring = times("30 2 * * *", "2026-03-28T12:00", 2);
        assert_eq!(spring, ["03-29 03:00 +02:00", "03-30 02:30 +02:00"], "once, after the gap");
        let autumn = times("30 2 * * *", "2026-10-24T12:00", 2);
        assert_eq!(autumn, ["10-25 02:30 +02:00", "10-26 02:30 +01:00"], "once, the first time");
    }

    /// 11: a year of runs, in order, none twice.
    #[test]
    fn r11_a_year() {
        let schedule = Schedule::new("*/10 * * * *", "Europe/Berlin").unwrap();
        let all: Vec<_> = schedule.times(&at("2026-01-01T00:00")).take(6 * 24 * 365).collect();
        assert!(all.windows(2).all(|two| two[0] < two[1]));
        let months = times("0 0 1 * *", "2026-01-01T00:00", 12);
        assert_eq!((months.len(), months[0].as_str()), (12, "02-01 00:00 +01:00"));
    }

    #[test]
    fn r11_what_never_comes_is_refused() {
        for pattern in ["0 0 30 2 *", "61 * * * *", "much"] {
            assert!(matches!(Schedule::new(pattern, "UTC"), Err(Refused::Time(_))), "{pattern}");
        }
        assert!(matches!(Schedule::new("* * * * *", "Nowhere/No"), Err(Refused::Time(_))));
    }

    /// 11: missed runs, and a clock that is put back; `until` is inclusive.
    #[test]
    fn r11_missed_runs_and_steps_of_the_clock() {
        let hourly = |missed| Schedule::new("0 * * * *", "Europe/Berlin").unwrap().missed(missed);
        let (last, now) = (at("2026-05-01T10:00"), at("2026-05-01T15:30"));
        let due = |missed| hourly(missed).due(&last, &now);
        assert_eq!(due(Missed::None).0, []);
        assert_eq!(due(Missed::One).0, [at("2026-05-01T15:00")]);
        assert_eq!(due(Missed::All).0.len(), 5);
        assert_eq!(due(Missed::None).1, at("2026-05-01T15:00"), "what was missed does not come later");
        let in_time = hourly(Missed::None).due(&last, &at("2026-05-01T11:00:03"));
        assert_eq!(in_time.0, [at("2026-05-01T11:00")]);
        let back = hourly(Missed::All).due(&at("2026-05-01T11:00"), &at("2026-05-01T10:00"));
        assert_eq!(back, (vec![], at("2026-05-01T11:00")));
        let until = hourly(Missed::All).until(at("2026-05-01T12:00")).due(&last, &now);
        assert_eq!(until.0, [at("2026-05-01T11:00"), at("2026-05-01T12:00")]);
    }

    /// 11: what comes while the run before has not ended: nothing, one that waits, or both.
    #[test]
    fn r11_overlap() {
        for (overlap, runs) in [(Overlap::Skip, 1), (Overlap::Queue, 2), (Overlap::Parallel, 2)] {
            let queue = Local::new().cpus(4).start();
            let schedule = Schedule::new("* * * * * *", "UTC").unwrap().overlap(overlap);
            let shared = Arc::new(Runs { state: Mutex::default() });
            let mut runner = Runner::new(queue.clone(), schedule, || Job::new(|| ()).held(), shared.clone());
            assert!(runner.come() && runner.come());
            let all = queue.jobs();
            assert_eq!((all.len() as u64, shared.state.lock().skipped), (runs, 2 - runs), "{overlap:?}");
            let second = &all[all.len() - 1];
            let waits = second.after.len();
            assert_eq!(waits, usize::from(overlap == Overlap::Queue), "{overlap:?}");
            queue.cancel_all();
            queue.wait_all();
            assert!(runner.come(), "the series goes on after a run that was cancelled");
            assert_eq!(shared.state.lock().runs, runs + 1);
            queue.cancel_all();
        }
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
        assert!(fails.come());
        queue.wait_all();
        assert!(!fails.come());
        assert_eq!(fails.shared.state.lock().runs, 1);
        let mut two = series(often().runs(2));
        assert!(two.come());
        queue.wait_all();
        assert!(!two.come(), "it was the last");
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
        assert!(runner.come() && runner.come());
        queue.jobs().iter().for_each(|run| assert_eq!(queue.release(run.id), Ok(true)));
        queue.wait_all();
        assert!(queue.jobs().iter().all(|run| run.state == State::Failed));
        assert!(runner.come() && runner.come());
        let counts = shared.state.lock();
        assert_eq!((counts.runs, counts.failures), (4, 2));
        queue.cancel_all();
    }
}
