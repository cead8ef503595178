//! The runs that are under way.
//!
//! A run has a *seat* from the decision on that it starts until its end, which the run itself says
//! before its task ends. So a task that has ended, and whose run has its seat still, was left by
//! its runtime.

use super::cell::Call;
use crate::machine::JobId;
use myriad_core::JoinHandle;

/// See the module's header. Under the queue's lock.
#[derive(Debug, Default)]
pub(super) struct Seats {
    runs: Vec<Option<Seated>>,
    free: Vec<Seat>,
}

/// The number of a seat, which is used again.
pub(super) type Seat = u32;

#[derive(Debug)]
struct Seated {
    call: Call,
    task: Task,
}

/// The task of a run.
#[derive(Debug)]
enum Task {
    /// It is just spawned, or looked at.
    Elsewhere,
    There(RunTask),
    /// It has ended, and so was left.
    Left,
}

impl Task {
    fn is_left(&self) -> bool {
        match self {
            Task::Elsewhere => false,
            Task::There(of) => of.task.is_finished(),
            Task::Left => true,
        }
    }
}

/// The handle of a run's task.
#[derive(Debug)]
pub(super) struct RunTask {
    pub task: JoinHandle<()>,
    /// The queue hears if it is left.
    pub is_watched: bool,
}

impl Seats {
    pub(super) fn take(&mut self, call: Call) -> Seat {
        let seat = self.free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            self.runs.len() as Seat - 1
        });
        self.runs[seat as usize] = Some(Seated { call, task: Task::Elsewhere });
        seat
    }
    /// The run has ended; its handle is dropped without the lock. `None`: it was left, and has lost
    /// its seat by that.
    pub(super) fn leave(&mut self, call: Call, seat: Seat) -> Option<Option<JoinHandle<()>>> {
        let seated = self.runs[seat as usize].take_if(|seated| seated.call == call)?;
        self.free.push(seat);
        match seated.task {
            Task::There(of) => Some(Some(of.task)),
            Task::Elsewhere | Task::Left => Some(None),
        }
    }
    /// The handle of a run's task; `None`: that has ended. Back: was it left? `Err`: the run has
    /// ended, too.
    pub(super) fn keep(&mut self, call: Call, seat: Seat, task: Option<RunTask>) -> Result<bool, Option<RunTask>> {
        let Some(seated) = self.runs[seat as usize].as_mut().filter(|seated| seated.call == call) else {
            return Err(task);
        };
        seated.task = task.map_or(Task::Left, Task::There);
        Ok(seated.task.is_left())
    }
    /// Takes the handles that nobody watches.
    pub(super) fn take_unwatched(&mut self) -> Vec<(Call, Seat, RunTask)> {
        let taken = self.runs.iter_mut().zip(0..).filter_map(|(run, seat)| {
            let seated = run.as_mut()?;
            let Task::There(RunTask { is_watched: false, .. }) = seated.task else { return None };
            let Task::There(of) = std::mem::replace(&mut seated.task, Task::Elsewhere) else { return None };
            Some((seated.call, seat, of))
        });
        taken.collect()
    }
    /// The runs that were left.
    pub(super) fn left(&self) -> Vec<(Call, Seat)> {
        let seated = self.runs.iter().zip(0..).filter_map(|(run, seat)| Some((run.as_ref()?, seat)));
        seated.filter(|(seated, _)| seated.task.is_left()).map(|(seated, seat)| (seated.call, seat)).collect()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = JobId> {
        self.runs.iter().flatten().map(|seated| seated.call.id)
    }
}
