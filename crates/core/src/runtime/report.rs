//! What a shutdown has found.

use crate::queue::reason::WaitReason;
use std::fmt;
use std::panic::Location;

/// What [`Runtime::shutdown`](super::Runtime::shutdown) could not end, and what it dropped.
#[derive(Debug, Clone, Default)]
#[must_use = "the report says whether all tasks have ended"]
pub struct Report {
    pub(super) unfinished: Vec<Unfinished>,
    pub(super) dropped: Vec<Unfinished>,
}

/// A task in a [`Report`].
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let rt = myriad::Builder::new().workers(1).build()?;
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let (begun, has_begun) = std::sync::mpsc::channel();
/// drop(rt.spawn(move || {
///     begun.send(()).unwrap();
///     rx.recv() // nobody sends
/// }));
/// has_begun.recv().unwrap();
/// let report = rt.shutdown(Duration::from_millis(100));
/// let left = &report.unfinished()[0];
/// assert_eq!(left.state(), myriad::State::Blocked);
/// assert_eq!(left.waits_for(), Some(myriad::WaitReason::Recv));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Unfinished {
    pub(super) name: Option<String>,
    pub(super) location: &'static Location<'static>,
    pub(super) state: State,
    pub(super) reason: Option<WaitReason>,
}

/// Where a shutdown found a task.
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(1).build()?;
/// drop(rt.spawn_async(std::future::pending::<()>()));
/// let report = rt.shutdown(std::time::Duration::from_millis(100));
/// assert_eq!(report.dropped()[0].state(), myriad::State::Waiting);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// A closure, or a future in a poll, that is blocked: its stack stays as it is.
    Blocked,
    /// It is on a worker that did not come back in time.
    Running,
    /// It has a thread of its own, which runs or waits.
    Dedicated,
    /// No task: a waker, a hook or a destructor that the runtime called where no task ran. It
    /// waits, or has not come back.
    UserCode,
    /// It had not been started: dropped.
    Unstarted,
    /// A future that waited: dropped.
    Waiting,
}

impl Report {
    /// Have all tasks ended?
    pub fn is_clean(&self) -> bool {
        self.unfinished.is_empty() && self.dropped.is_empty()
    }
    /// Tasks that are still there, and always will be.
    pub fn unfinished(&self) -> &[Unfinished] {
        &self.unfinished
    }
    /// Tasks that were dropped.
    pub fn dropped(&self) -> &[Unfinished] {
        &self.dropped
    }
}

/// Tasks that are named where there is one line.
const IN_A_LINE: usize = 3;

impl Report {
    /// One line, about a runtime with this name that was dropped.
    pub(super) fn of_dropped(&self, runtime: &str) -> impl fmt::Display {
        let all = self.unfinished.len() + self.dropped.len();
        let first: Vec<_> =
            self.unfinished.iter().chain(&self.dropped).take(IN_A_LINE).map(Unfinished::to_string).collect();
        let tasks =
            if all == 1 { "a task that had not ended".into() } else { format!("{all} tasks that had not ended") };
        let more = if all > IN_A_LINE { format!("; and {} more", all - IN_A_LINE) } else { String::new() };
        let first = first.join("; ");
        format!(
            "the runtime '{runtime}' was dropped with {tasks}: {first}{more}. (`Runtime::shutdown` waits for tasks, and returns a \
             report in place of this line.)"
        )
    }
}

impl Unfinished {
    /// The task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// Where it was spawned. (Of user code that is no task: a place in this library.)
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.location
    }
    /// Where the shutdown found it.
    pub fn state(&self) -> State {
        self.state
    }
    /// What a [blocked](State::Blocked) task waits for; `None` where another task stands on top of
    /// it, and for all others.
    pub fn waits_for(&self) -> Option<WaitReason> {
        self.reason
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            _ if self.state == State::UserCode => {
                f.write_str("a waker, a hook or a destructor, called where no task ran: ")?
            }
            Some(name) => write!(f, "task '{name}' spawned at {}: ", self.location)?,
            None => write!(f, "task spawned at {}: ", self.location)?,
        }
        f.write_str(match self.state {
            State::Blocked => "blocked",
            State::Running => "still running",
            State::UserCode => "it waits, or has not come back",
            State::Dedicated => "not ended, on a thread of its own",
            State::Unstarted => "not started, dropped",
            State::Waiting => "a waiting future, dropped",
        })?;
        self.reason.map_or(Ok(()), |reason| write!(f, ", {reason}"))
    }
}

/// Tasks named one by one; of more, only the number.
const NAMED: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("all tasks have ended");
        }
        let tasks = |n: usize, one, more| if n == 1 { format!("1 {one}") } else { format!("{n} {more}") };
        match (self.unfinished.len(), self.dropped.len()) {
            (0, dropped) => write!(f, "{} dropped", tasks(dropped, "task was", "tasks were"))?,
            (left, 0) => write!(f, "{} not ended", tasks(left, "task has", "tasks have"))?,
            (left, dropped) => {
                let left = tasks(left, "task has", "tasks have");
                write!(f, "{left} not ended, {} dropped", tasks(dropped, "was", "were"))?;
            }
        }
        let all = self.unfinished.len() + self.dropped.len();
        for task in self.unfinished.iter().chain(&self.dropped).take(NAMED) {
            write!(f, "\n  {task}")?;
        }
        if all > NAMED {
            write!(f, "\n  and {} more", all - NAMED)?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    fn what_a_report_says() {
        let location = Location::caller();
        let text = |unfinished, dropped| {
            let task = |state| Unfinished { name: Some("t".into()), location, state, reason: None };
            let report = Report {
                unfinished: vec![task(State::Blocked); unfinished],
                dropped: vec![task(State::Waiting); dropped],
            };
            assert_eq!(report.is_clean(), unfinished + dropped == 0);
            report.to_string()
        };
        assert_eq!(text(0, 0), "all tasks have ended");
        assert_eq!(text(1, 0), format!("1 task has not ended\n  task 't' spawned at {location}: blocked"));
        assert_eq!(
            text(0, 1),
            format!("1 task was dropped\n  task 't' spawned at {location}: a waiting future, dropped")
        );
        let first_line = |unfinished, dropped| text(unfinished, dropped).lines().next().unwrap().to_owned();
        assert_eq!(first_line(2, 0), "2 tasks have not ended");
        assert_eq!(first_line(0, 2), "2 tasks were dropped");
        assert_eq!(first_line(1, 1), "1 task has not ended, 1 was dropped");
        assert_eq!(first_line(2, 3), "2 tasks have not ended, 3 were dropped");
        let many = text(15, 10);
        assert_eq!((many.lines().count(), many.lines().last()), (1 + NAMED + 1, Some("  and 5 more")));
    }
}
