//! The runs that are under way.
//!
//! A run has a *seat* from the decision on that it starts until its end, which the run itself says
//! before its task ends. So a task that has ended, and whose run has its seat still, was left by
//! its runtime.
//!
//! A task in which several runs follow each other keeps its place, with another call in it.

use super::cell::Call;
use crate::machine::JobId;
use myriad_core::JoinHandle;
use myriad_core::engine::running::{ToTell, UnderWay};

/// See the module's header. Under the queue's lock.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: Vec<Option<Seated>>,
    free: Vec<Seat>,
    /// The last number that a task got.
    last: u64,
}

/// The number of a seat, which is used again.
pub(super) type Seat = u32;

/// The seat of a task, with the task's number, which no other task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub seat: Seat,
    number: u64,
}

impl Place {
    /// Of a run that has none yet.
    pub(super) const NONE: Place = Place { seat: 0, number: 0 };
}

#[derive(Debug)]
pub(super) struct Seated {
    number: u64,
    call: Call,
    run: Run,
    task: Task,
}

/// The run of a job.
#[derive(Debug, Default)]
struct Run {
    /// What runs it: from its first step until it leaves its seat, so the task has not ended.
    task: Option<UnderWay>,
    /// It has to stop.
    stop: bool,
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

impl Seated {
    /// The handle of its task, to be dropped without the lock.
    pub(super) fn into_task(self) -> Option<JoinHandle<()>> {
        match self.task {
            Task::There(of) => Some(of.task),
            Task::Elsewhere | Task::Left => None,
        }
    }
}

impl Seats {
    /// A place for a task that is to be spawned.
    pub(super) fn take(&mut self, call: Call) -> Place {
        let seat = self.free.pop().unwrap_or_else(|| {
            self.seats.push(None);
            self.seats.len() as Seat - 1
        });
        self.last += 1;
        let number = self.last;
        self.seats[seat as usize] = Some(Seated { number, call, run: Run::default(), task: Task::Elsewhere });
        Place { seat, number }
    }
    fn at(&mut self, place: Place) -> Option<&mut Seated> {
        self.seats[place.seat as usize].as_mut().filter(|seated| seated.number == place.number)
    }
    /// The calling task is the run in this place from now on. False: that was stopped before.
    pub(super) fn enter(&mut self, place: Place) -> bool {
        let Some(seated) = self.at(place) else { return false };
        seated.run.task = Some(UnderWay::here());
        !seated.run.stop
    }
    /// The run has ended. `None`: it was left, and has lost its seat by that.
    pub(super) fn leave(&mut self, place: Place) -> Option<Seated> {
        let seated = self.seats[place.seat as usize].take_if(|seated| seated.number == place.number)?;
        self.free.push(place.seat);
        Some(seated)
    }
    /// Was the run in this place stopped? `None`: it was left, and has lost its place.
    pub(super) fn is_stopped_at(&self, place: Place) -> Option<bool> {
        let seated = self.seats[place.seat as usize].as_ref().filter(|seated| seated.number == place.number)?;
        Some(seated.run.stop)
    }
    /// The task in this place, whose run has ended and was not stopped, has this one next.
    pub(super) fn call_again(&mut self, place: Place, call: Call) {
        self.at(place).into_iter().for_each(|seated| seated.call = call);
    }
    /// The run of this job has to stop, also if it is only about to begin. To be told without the
    /// lock.
    #[must_use]
    pub(super) fn stop(&mut self, seat: Seat, id: JobId) -> Option<ToTell> {
        let seated = self.seats.get_mut(seat as usize)?.as_mut().filter(|seated| seated.call.id == id)?;
        seated.run.stop = true;
        // SAFETY: the task was spawned by the queue, and has its place until it leaves, which it
        // does before its end, under the lock around this: so it does not end before this returns.
        seated.run.task.and_then(|task| unsafe { task.mark() })
    }
    /// Is there a run of this job that has to stop?
    pub(super) fn is_stopped(&self, seat: Seat, id: JobId) -> bool {
        let seated = self.seats.get(seat as usize).and_then(Option::as_ref);
        seated.is_some_and(|seated| seated.call.id == id && seated.run.stop)
    }
    /// The job that this task runs.
    pub(super) fn run_by(&self, task: UnderWay) -> Option<JobId> {
        let mut all = self.seats.iter().rev().flatten();
        all.find(|seated| seated.run.task == Some(task)).map(|seated| seated.call.id)
    }
    /// The handle of the task in this place; `None`: that has ended. Back: was it left? `Err`: it
    /// has left its place, too.
    pub(super) fn keep(&mut self, place: Place, task: Option<RunTask>) -> Result<bool, Option<RunTask>> {
        let Some(seated) = self.at(place) else { return Err(task) };
        seated.task = task.map_or(Task::Left, Task::There);
        Ok(seated.task.is_left())
    }
    /// Takes the handles that nobody watches.
    pub(super) fn take_unwatched(&mut self) -> Vec<(Place, RunTask)> {
        let taken = self.seats.iter_mut().zip(0..).filter_map(|(seated, seat)| {
            let seated = seated.as_mut()?;
            let Task::There(RunTask { is_watched: false, .. }) = seated.task else { return None };
            let Task::There(of) = std::mem::replace(&mut seated.task, Task::Elsewhere) else { return None };
            Some((Place { seat, number: seated.number }, of))
        });
        taken.collect()
    }
    /// The runs that were left.
    pub(super) fn left(&self) -> Vec<(Call, Place)> {
        let seated = self.seats.iter().zip(0..).filter_map(|(seated, seat)| Some((seated.as_ref()?, seat)));
        let left = seated.filter(|(seated, _)| seated.task.is_left());
        left.map(|(seated, seat)| (seated.call, Place { seat, number: seated.number })).collect()
    }
}
