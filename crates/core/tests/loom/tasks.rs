//! Tasks of a script: real headers, each with a watched cell that says what became of the task.

use crate::record::header::{Ended, Header, Kind, Mode};
use crate::record::task::{Runnable, TaskRef, Unstarted};
use myriad_base::sys::cell::UnsafeCell;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Life {
    /// Not pushed yet.
    Unused,
    /// The closure is in the record.
    Ready,
    /// It has run; the result is in the record.
    Ran,
    /// The record was given back.
    Freed,
}

/// A record. The header comes first, so that a pointer to the one is a pointer to the other.
#[repr(C)]
pub struct Task {
    pub header: Header,
    life: UnsafeCell<Life>,
}

// SAFETY: `life` is watched by loom; the rest is atomic, or written before the task is shared: no
// script changes the header's cells.
unsafe impl Sync for Task {}
// SAFETY: nothing in a record belongs to the thread that made it.
unsafe impl Send for Task {}

unsafe fn run(task: *mut Header, _: Mode) -> Ended {
    // SAFETY: the caller: a header of ours.
    unsafe { Task::of(task) }.change(Life::Ready, Life::Ran);
    Ended::Returned
}

impl Task {
    pub fn new() -> Task {
        Task { header: Header::of_test(run), life: UnsafeCell::new(Life::Unused) }
    }
    /// The task to a header.
    ///
    /// # Safety
    /// The header is that of a `Task` which lives to the end of the script.
    pub unsafe fn of(header: *const Header) -> &'static Task {
        // SAFETY: the caller, and `repr(C)`.
        unsafe { &*header.cast() }
    }
    pub fn pointer(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }
    pub fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: the record is borrowed.
        unsafe { TaskRef::from_raw(self.pointer()) }
    }
    /// The task, which is in no queue.
    pub fn unstarted(&self) -> Unstarted {
        // SAFETY: a script has a task in one queue at most, and tasks live to its end.
        unsafe { Unstarted::from_raw(self.pointer()) }
    }
    /// A future, which is in no queue.
    pub fn future(&self) -> Runnable {
        // SAFETY: as in `unstarted`.
        unsafe { Runnable::from_raw(self.pointer()) }
    }
    /// A step in the record's life; loom reports one that is not ordered with the others.
    pub fn change(&self, from: Life, to: Life) {
        self.life.with_mut(|life| {
            // SAFETY: loom has checked that nobody else is in the cell.
            let life = unsafe { &mut *life };
            assert_eq!(*life, from, "a task is run twice, or before it was written");
            *life = to;
        });
    }
    /// A look at the record.
    pub fn life(&self) -> Life {
        // SAFETY: loom has checked that nobody writes the cell.
        self.life.with(|life| unsafe { *life })
    }
    /// What the spawner writes.
    pub fn write(&self) {
        self.change(Life::Unused, Life::Ready);
    }
}

/// Runs a task that was taken out of a queue.
pub fn start(task: impl Into<Runnable>) {
    let task = task.into().into_raw();
    // SAFETY: headers in the scripts' queues are those of tasks that live to the end.
    unsafe { Header::call(task, Mode::Run) };
}

/// Tasks 1 to n.
pub struct Tasks(Box<[Task]>);

impl Tasks {
    pub fn new(n: usize) -> Tasks {
        Tasks((0..n).map(|_| Task::new()).collect())
    }
    /// The same, of futures that were woken.
    pub fn woken(n: usize) -> Tasks {
        let mut tasks = Tasks::new(n);
        tasks.0.iter_mut().for_each(|task| task.header.set_kind_of_test(Kind::FUTURE));
        tasks
    }
    pub fn get(&self, number: usize) -> &Task {
        &self.0[number - 1]
    }
    /// With all threads joined: every task has run.
    pub fn assert_all_ran(&self) {
        for (i, task) in self.0.iter().enumerate() {
            assert_eq!(task.life(), Life::Ran, "task {} is lost", i + 1);
        }
    }
}
