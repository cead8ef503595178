//! Scripts of a task's end: the result is seen, the waiter woken once, the record given back once,
//! after its last use.

use super::tasks::{Life, Task, Tasks, start};
use super::{SCRIPT, Script};
use crate::queue::deque::{Deque, OwnDeque};
use crate::queue::parked::{Parked, Resumable};
use crate::record::header::{DETACHED, Header};
use crate::record::task::Runnable;
use crate::sched::worker::{block_thread, wake_node};
use loom::thread;
use myriad_base::sys::atomic::{AtomicU32, Ordering::*, Peek};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutant::on;
use std::sync::Arc;

/// One task in a deque, and what the joiner waits with.
struct World {
    deque: Deque,
    tasks: Tasks,
    /// Parts of the record that running does not change: the holder of the handle may look at them
    /// until it gives it up.
    place: UnsafeCell<()>,
    /// The node on the joiner's stack: written before it is left in the record, read by who wakes
    /// it.
    node: UnsafeCell<u32>,
    /// The joiner's inbox, down to one flag.
    woken: AtomicU32,
}

// SAFETY: the cell is watched by loom.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            deque: Deque::new(Fence::new(0), 4),
            tasks: Tasks::new(1),
            place: UnsafeCell::new(()),
            node: UnsafeCell::new(0),
            woken: AtomicU32::new(0),
        })
    }
    fn owner(&self) -> OwnDeque<'_> {
        // SAFETY: only the owner's part of a script calls what calls this.
        unsafe { self.deque.owner() }
    }
    fn task(&self) -> &Task {
        self.tasks.get(1)
    }
    fn free(&self) {
        self.place.with_mut(|_| ());
        self.task().change(Life::Ran, Life::Freed);
    }

    /// What a worker's loop does with a task that it has taken.
    fn run_from_loop(&self, task: Runnable) {
        let record = task.address();
        start(task);
        // SAFETY: the task has run.
        let waiter = unsafe { Header::complete(record) };
        if waiter == DETACHED {
            self.free();
        } else if !waiter.is_null() {
            // SAFETY: loom has checked that nobody writes the cell.
            assert_eq!(self.node.with(|node| unsafe { *node }), 77);
            self.woken.store(1, Release);
        }
        if on("touch-after-done") {
            self.task().life();
        }
    }

    fn join(&self) {
        match self.owner().claim(self.task().task_ref()) {
            Some(task) => start(task),
            None => self.wait_done(),
        }
        self.free();
    }

    fn wait_done(&self) {
        let header = &self.task().header;
        if header.is_done() {
            return;
        }
        // SAFETY: loom has checked that nobody else is in the cell.
        self.node.with_mut(|node| unsafe { *node = 77 });
        if header.wait(std::ptr::from_ref(&self.node).cast_mut().cast()) {
            while self.woken.peek(Acquire) == 0 {
                thread::yield_now();
            }
        }
    }
}

/// A forced steal against what the holder of the handle does; then the owner's loop runs what is
/// left.
fn play(holder: fn(&World)) {
    let w = World::new();
    w.task().write();
    w.owner().push(w.task().unstarted());
    let thief = thread::spawn({
        let w = w.clone();
        move || {
            if let Some(task) = w.deque.steal_forced() {
                w.run_from_loop(task);
            }
        }
    });
    holder(&w);
    if let Some(left) = w.owner().pop() {
        w.run_from_loop(left);
    }
    thief.join().unwrap();
    assert_eq!(w.task().life(), Life::Freed, "the record leaks");
}

/// Joined, here or by waiting, while the task is forced away.
fn join_or_steal() {
    play(World::join);
}

/// The handle is dropped while the task is forced away.
fn detach_or_steal() {
    play(|w| {
        w.place.with(|_| ());
        if !w.task().header.detach() {
            w.free();
        }
    });
}

/// A foreign thread joins a task that a worker runs, and sleeps on its node's parker.
fn foreign_join() {
    let w = World::new();
    w.task().write();
    let worker = thread::spawn({
        let w = w.clone();
        move || {
            start(w.task().unstarted());
            // SAFETY: the task has run; a waiter is the node below, which blocks until we wake it.
            unsafe {
                let waiter = Header::complete(&w.task().header);
                if !waiter.is_null() {
                    wake_node(None, Resumable::from_raw(waiter.cast()));
                }
            }
        }
    });
    let header = &w.task().header;
    if !header.is_done() {
        let node = Parked::new(None);
        if header.wait((&raw const node).cast_mut().cast()) {
            // SAFETY: the node stands in this frame, and has no `CancelFn`.
            unsafe { block_thread(&raw const node) };
        }
    }
    w.free();
    worker.join().unwrap();
}

/// A record whose outcome has a destructor that takes its time; what the sides share of it.
struct Dropped {
    task: Tasks,
    /// The outcome, in the record: the destructor is in it, or the record's next user.
    outcome: UnsafeCell<()>,
    /// The free list, down to one flag.
    free: AtomicU32,
    /// For steps in the middle of user code.
    step: AtomicU32,
}

// SAFETY: the cells are watched by loom.
unsafe impl Sync for Dropped {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for Dropped {}

impl Dropped {
    fn header(&self) -> &Header {
        &self.task.get(1).header
    }

    /// What the side does that frees the record.
    fn drop_outcome(&self) {
        let drops = || self.outcome.with_mut(|_| _ = self.step.fetch_add(1, Relaxed));
        let frees = || self.free.store(1, Release);
        if on("freed-while-dropped") {
            frees();
            drops();
        } else {
            drops();
            frees();
        }
    }

    /// Another task is made, in that memory if it is free.
    fn reuse(&self) {
        if self.free.swap(0, Acquire) == 1 {
            self.outcome.with_mut(|_| ());
        }
    }
}

/// A handle is dropped while its task ends: one side runs the outcome's destructor in the record,
/// and the other makes a task in the same memory when that is free.
fn dropped_in_record() {
    let w = Arc::new(Dropped {
        task: Tasks::new(1),
        outcome: UnsafeCell::new(()),
        free: AtomicU32::new(0),
        step: AtomicU32::new(0),
    });
    w.task.get(1).write();
    let runner = thread::spawn({
        let w = w.clone();
        move || {
            start(w.task.get(1).unstarted());
            w.outcome.with_mut(|_| ());
            // SAFETY: the task has run.
            if unsafe { Header::complete(w.header()) } == DETACHED {
                w.header().drops_yet();
                w.drop_outcome();
            }
            w.reuse();
        }
    });
    if !w.header().detach() {
        w.drop_outcome();
    }
    w.reuse();
    runner.join().unwrap();
    assert_eq!(w.step.load(Relaxed), 1, "the outcome is dropped once");
}

/// The destructor of an outcome that nobody wants is set aside, so its worker sleeps, while a
/// shutdown looks for what is left.
fn dropped_at_shutdown() {
    struct Ending {
        task: Tasks,
        asleep: AtomicU32,
        live: AtomicU32,
        stops: AtomicU32,
    }
    let w = Arc::new(Ending {
        task: Tasks::new(1),
        asleep: AtomicU32::new(0),
        live: AtomicU32::new(1),
        stops: AtomicU32::new(0),
    });
    w.task.get(1).write();
    assert!(w.task.get(1).header.detach());
    let shutdown = thread::spawn({
        let w = w.clone();
        move || {
            // As `any_left` of `runtime::shutdown` does: workers, records, workers.
            let idle = || w.asleep.load(Acquire) == 1;
            let left = || w.live.load(Relaxed) == 1 && !w.task.get(1).header.is_over();
            if idle() && !left() && idle() {
                w.stops.store(1, Relaxed);
            }
        }
    });
    start(w.task.get(1).unstarted());
    // SAFETY: the task has run.
    assert_eq!(unsafe { Header::complete(&w.task.get(1).header) }, DETACHED);
    w.task.get(1).header.drops_yet();
    // The first half of the destructor; it is set aside; the second half.
    w.asleep.store(1, Release);
    w.asleep.store(0, Relaxed);
    assert_eq!(w.stops.load(Relaxed), 0, "the runtime ends in the middle of a destructor");
    w.live.store(0, Relaxed);
    w.asleep.store(1, Release);
    shutdown.join().unwrap();
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "completion.join_or_steal",
        run: join_or_steal,
        bound: (Some(4), None),
        mutants: &[
            "done-not-release",
            "done-not-acquire",
            "done-load-acquire",
            "wait-release",
            "wait-failure-acquire",
            "touch-after-done",
            "newest-light",
            "forced-no-heavy",
        ],
        ..SCRIPT
    },
    Script {
        name: "completion.detach_or_steal",
        run: detach_or_steal,
        bound: (Some(4), None),
        mutants: &["detach-release", "detach-failure-acquire", "done-not-release", "done-not-acquire"],
        ..SCRIPT
    },
    Script {
        name: "completion.foreign_join",
        run: foreign_join,
        spins: true,
        mutants: &[
            "gate-release",
            "gate-acquire",
            "parker-not-woken",
            "done-not-release",
            "done-load-acquire",
            "wait-failure-acquire",
        ],
        ..SCRIPT
    },
    Script {
        name: "completion.dropped_in_record",
        run: dropped_in_record,
        mutants: &["freed-while-dropped", "detach-failure-acquire", "done-not-release"],
        ..SCRIPT
    },
    Script {
        name: "completion.dropped_at_shutdown",
        run: dropped_at_shutdown,
        mutants: &["dropping-is-ended"],
        ..SCRIPT
    },
];
