//! Scripts of a cancellation in threads mode, where whoever cancels looks at the blocked task
//! itself, from any thread, while it may be woken and go on.
//!
//! A task waits once or twice, on nodes that are gone when it has left them. A waker hands it one
//! message; a canceller marks it and looks. So it gets the message or is cancelled in the first
//! wait, and is cancelled in the second at the latest.

use super::tasks::Task;
use super::{SCRIPT, Script};
use crate::queue::parked::{Parked, Resumable};
use crate::sched::cancel::model;
use crate::sched::wait::foreign;
use crate::sched::worker;
use loom::thread;
use myriad_base::lock::biased::BiasedLock;
use myriad_base::sys::cell::UnsafeCell;
use std::sync::Arc;

/// What the primitive's lock protects.
#[derive(Default)]
struct State {
    /// The wait in the list.
    linked: Option<usize>,
    /// The message was handed over to each wait.
    handed: [bool; 2],
    /// Nobody waited.
    buffered: bool,
}

/// A wait. The node comes first, so that a pointer to the one is a pointer to the other.
#[repr(C)]
struct Wait {
    node: Parked,
    world: *const World,
    number: usize,
    /// Written when it begins and when it is left, read by whoever ends it: watched.
    stands: UnsafeCell<bool>,
}

struct World {
    task: Task,
    waits: Vec<Box<Wait>>,
    lock: BiasedLock,
    state: UnsafeCell<State>,
}
// SAFETY: the cells are watched by loom.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for World {}

/// As a primitive's.
unsafe fn end(node: *const Parked) -> bool {
    // SAFETY: the caller: the node of a wait that stands.
    let wait = unsafe { &*node.cast::<Wait>() };
    // SAFETY: watched; the world lives to the end of the script.
    wait.stands.with(|stands| assert!(unsafe { *stands }, "a wait is looked at that is gone"));
    // SAFETY: a wait names the world that it is in, which lives to the end of the script.
    let world = unsafe { &*wait.world };
    world.locked(|state| {
        let linked = state.linked == Some(wait.number);
        if linked {
            state.linked = None;
        }
        linked
    })
}

impl World {
    fn new(waits: usize) -> Arc<World> {
        let mut world = Arc::new(World {
            task: Task::new(),
            waits: Vec::new(),
            lock: BiasedLock::new(),
            state: UnsafeCell::new(State::default()),
        });
        let at = Arc::as_ptr(&world);
        let wait = |number| {
            let node = Parked::new(None);
            node.cancel_fn.set(Some(end));
            Box::new(Wait { node, world: at, number, stands: UnsafeCell::new(false) })
        };
        Arc::get_mut(&mut world).expect("nobody else has it").waits = (0..waits).map(wait).collect();
        world
    }
    fn locked<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: nothing else is done inside.
        let _guard = unsafe { self.lock.lock(None) };
        // SAFETY: locked.
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }
    /// Sends a message.
    fn wake(&self) {
        let woken = self.locked(|state| match state.linked.take() {
            Some(wait) => {
                state.handed[wait] = true;
                Some(wait)
            }
            None => {
                state.buffered = true;
                None
            }
        });
        if let Some(wait) = woken {
            // SAFETY: taken off the list; its only waker.
            worker::wake_node(None, unsafe { Resumable::from_raw((&raw const self.waits[wait].node).cast_mut()) });
        }
    }
    fn cancel(&self) {
        model::mark(&self.task.header);
        // SAFETY: the waits stand until the task has left them.
        unsafe { model::deliver_anywhere(&self.task.header) };
    }
    fn run(&self) {
        let (mut got, mut cancelled) = (0, false);
        for (number, wait) in self.waits.iter().enumerate() {
            // SAFETY: watched.
            wait.stands.with_mut(|stands| unsafe { *stands = true });
            let found = self.locked(|state| {
                let found = std::mem::take(&mut state.buffered);
                if !found {
                    state.linked = Some(number);
                }
                found
            });
            if found {
                got += 1;
                continue;
            }
            // SAFETY: the wait stands until it is left.
            if unsafe { model::begin_wait_held(&self.task.header, &wait.node) } {
                cancelled = true;
            } else {
                while !foreign::is_open(&wait.node.parker) {
                    foreign::wait(&wait.node.parker, None);
                }
                model::leave_held(&self.task.header);
                cancelled = wait.node.was_cancelled();
            }
            // SAFETY: watched.
            wait.stands.with_mut(|stands| unsafe { *stands = false });
            let handed = self.locked(|state| std::mem::take(&mut state.handed[number]));
            assert!(handed != cancelled, "it went on without a reason, or with two");
            got += usize::from(handed);
            if cancelled {
                break;
            }
        }
        assert!(cancelled || got == 1, "no message and no cancellation");
        self.locked(|state| assert!(state.linked.is_none(), "left in the list"));
    }
}

fn with(world: &Arc<World>, part: fn(&World)) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || part(&world))
}

/// Both at any time.
fn or_wake() {
    let world = World::new(1);
    let (waker, canceller) = (with(&world, World::wake), with(&world, World::cancel));
    world.run();
    waker.join().unwrap();
    canceller.join().unwrap();
    world.locked(|state| assert!(state.handed == [false; 2], "a message was lost"));
}

/// The message is there already: it is the second wait that the cancellation has to meet.
fn while_it_blocks() {
    let world = World::new(2);
    world.wake();
    let canceller = with(&world, World::cancel);
    world.run();
    canceller.join().unwrap();
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "held.while_it_blocks",
        run: while_it_blocks,
        bound: (Some(3), None),
        mutants: &["position-fence", "deliver-fence", "position-release", "hold-acquire"],
        ..SCRIPT
    },
    Script {
        name: "held.or_wake",
        run: or_wake,
        threads: 3,
        bound: (Some(2), Some(3)),
        mutants: &["leave-while-held", "held-release", "leave-acquire"],
        ..SCRIPT
    },
];
