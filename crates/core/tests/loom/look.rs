//! Scripts of a look at what a task waits for, from outside, while the task waits, goes on, ends,
//! and its record and its frame are used again.
//!
//! A task waits twice, at the same address, as the next task in the same record and on the same
//! stack may. Its node says twice which wait it is; between the waits there is garbage. A looker
//! that believes what it has read has read the two halves of one wait; and if it has found the bit
//! of its first look, it is that look's wait.

use super::tasks::Task;
use super::{SCRIPT, Script};
use crate::queue::look::{Look, Lookers, look};
use crate::queue::parked::Parked;
use crate::sched::cancel::model;
use loom::thread;
use myriad_base::sys::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

/// What stands in a frame that has no wait.
const GARBAGE: usize = 7;

/// A node, with what lookers read behind it. In the product those are plain words, so here they are
/// relaxed. The node comes first.
#[repr(C)]
struct Node {
    node: Parked,
    words: [AtomicUsize; 2],
}

struct World {
    task: Task,
    node: Node,
    /// Threads mode?
    held: bool,
}
// SAFETY: what is no atomic in the node is written before the world is shared.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it.
unsafe impl Send for World {}

impl World {
    fn new(held: bool) -> Arc<World> {
        let words = [AtomicUsize::new(GARBAGE), AtomicUsize::new(GARBAGE)];
        Arc::new(World { task: Task::new(), node: Node { node: Parked::new(None), words }, held })
    }

    fn write(&self, word: usize) {
        self.node.words.iter().for_each(|w| w.store(word, Relaxed));
    }

    /// As the task.
    fn waits(&self, times: usize) {
        let (task, node) = (&self.task.header, (&raw const self.node).cast::<Parked>());
        for wait in 1..=times {
            self.write(wait);
            let flagged = if self.held {
                // SAFETY: the node stands to the end of the script.
                unsafe { model::begin_wait_held(task, node) }
            } else {
                model::begin_wait(task, node)
            };
            assert!(!flagged);
            if self.held {
                model::leave_held(task)
            } else {
                model::leave(task)
            }
            self.write(GARBAGE);
        }
    }

    /// As a looker: which wait it has seen, and whether the look before has seen it, too.
    fn look(&self) -> Option<(usize, bool)> {
        let read = |node: *const Parked| {
            // SAFETY: the only node that the record ever names, which stands to the end.
            let node = unsafe { &*node.cast::<Node>() };
            let [one, other] = &node.words;
            [one.load(Relaxed), other.load(Relaxed)]
        };
        match look(&Lookers::enter(), &self.task.header, || true, read) {
            Look::Waits([one, other], before) => {
                assert!(one == other && one != GARBAGE, "two halves of different times: {one}, {other}");
                Some((one, before))
            }
            Look::No | Look::Moves => None,
            Look::Under(_) | Look::Elsewhere => unreachable!("nothing runs on top, and all is one runtime's"),
        }
    }

    fn looks(&self) {
        let first = self.look();
        assert!(!first.is_some_and(|first| first.1), "the first look takes its own bit for an earlier look's");
        let second = self.look();
        // (One that gave up may have left its bit, in this same wait.)
        if let (Some((first, _)), Some((wait, true))) = (first, second) {
            assert_eq!(first, wait, "another wait passes for the first one");
        }
    }
}

fn beside(held: bool, waits: usize) {
    let world = World::new(held);
    let task = {
        let world = world.clone();
        thread::spawn(move || world.waits(waits))
    };
    world.looks();
    task.join().unwrap();
}

/// A canceller holds the position for some instructions, and gives it back with the looker's bit.
fn beside_a_canceller() {
    let world = World::new(true);
    let task = {
        let world = world.clone();
        thread::spawn(move || world.waits(1))
    };
    let canceller = {
        let world = world.clone();
        thread::spawn(move || {
            model::mark(&world.task.header);
            // SAFETY: the node stands to the end of the script.
            unsafe { model::deliver_anywhere(&world.task.header) };
        })
    };
    world.looks();
    task.join().unwrap();
    canceller.join().unwrap();
}

/// A wait of another runtime's task comes before ours, in the same record: nothing is read in the
/// other one's node, whose stack may have gone.
fn another_runtimes() {
    const OURS: usize = 0;
    let (world, theirs) = (World::new(false), World::new(false));
    let owner = Arc::new(AtomicUsize::new(OURS));
    let task = {
        let (world, theirs, owner) = (world.clone(), theirs.clone(), owner.clone());
        thread::spawn(move || {
            for (number, of) in [(1, &theirs), (OURS, &world)] {
                owner.store(number, Relaxed);
                assert!(!model::begin_wait(&world.task.header, (&raw const of.node).cast()));
                model::leave(&world.task.header);
            }
        })
    };
    let read = |node: *const Parked| {
        let is_ours = std::ptr::eq(node, (&raw const world.node).cast());
        assert!(is_ours, "something is read on a stack that may have gone");
    };
    look(&Lookers::enter(), &world.task.header, || owner.load(Relaxed) == OURS, read);
    task.join().unwrap();
}

fn fiber() {
    beside(false, 2);
}

fn in_threads_mode() {
    beside(true, 2);
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "look.fiber",
        run: fiber,
        bound: (Some(4), None),
        mutants: &["wait-published", "wait-left", "look-fence", "bit-not-set", "look-once"],
        ..SCRIPT
    },
    Script {
        name: "look.owner",
        run: another_runtimes,
        bound: (Some(4), None),
        mutants: &["look-acquire", "look-owner-fence", "look-owner-once"],
        ..SCRIPT
    },
    Script { name: "look.threads", run: in_threads_mode, bound: (Some(3), Some(4)), ..SCRIPT },
    Script {
        name: "look.held",
        run: beside_a_canceller,
        threads: 3,
        bound: (Some(3), Some(4)),
        mutants: &["look-own-bit"],
        ..SCRIPT
    },
];
