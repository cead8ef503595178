//! Scripts of a cancellation that comes while its task blocks, is woken, and goes on.
//!
//! A task of one home waits twice, on nodes that are gone afterwards. A waker hands it one message;
//! a canceller marks it and asks its home. So it must get the message or be cancelled in the first
//! wait, and be cancelled in the second at the latest.

use super::tasks::Task;
use super::{SCRIPT, Script};
use crate::queue::inbox::Inbox;
use crate::queue::parked::{Parked, Resumable};
use crate::sched::cancel::model;
use loom::thread;
use myriad_base::lock::biased::BiasedLock;
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::on;
use std::sync::Arc;

const MESSAGE: u32 = 7;

/// What the channel's lock protects.
#[derive(Default)]
struct State {
    /// The wait in the list.
    linked: Option<usize>,
    /// What was handed over to each wait.
    slots: [u32; 2],
    /// Nobody waited.
    buffered: u32,
}

struct World {
    task: Task,
    nodes: [Box<Parked>; 2],
    /// Not a wait's node: a request.
    request: Box<Parked>,
    inbox: Inbox,
    lock: BiasedLock,
    state: UnsafeCell<State>,
}
// SAFETY: the cells are watched by loom.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            task: Task::new(),
            nodes: [Box::new(Parked::new(None)), Box::new(Parked::new(None))],
            request: Box::new(Parked::new(None)),
            inbox: Inbox::default(),
            lock: BiasedLock::new(),
            state: UnsafeCell::new(State::default()),
        })
    }
    fn locked<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: nothing else is done inside.
        let _guard = unsafe { self.lock.lock(None) };
        // SAFETY: locked.
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }
    /// Another worker sends a message.
    fn wake(&self) {
        let woken = self.locked(|state| match state.linked.take() {
            Some(wait) => {
                state.slots[wait] = MESSAGE;
                Some(wait)
            }
            None => {
                state.buffered = MESSAGE;
                None
            }
        });
        if let Some(wait) = woken {
            // SAFETY: taken off the list; its only waker.
            self.inbox.push(unsafe { Resumable::from_raw(std::ptr::from_ref(&*self.nodes[wait]).cast_mut()) });
        }
    }
    fn cancel(&self) {
        if on("ask-before-flag") {
            self.ask();
            return model::mark(&self.task.header);
        }
        model::mark(&self.task.header);
        self.ask();
    }
    fn ask(&self) {
        // SAFETY: a node of its own, sent once.
        self.inbox.push(unsafe { Resumable::from_raw(std::ptr::from_ref(&*self.request).cast_mut()) });
    }
    /// As a primitive's `CancelFn`.
    fn end(&self, wait: usize) -> bool {
        self.locked(|state| {
            let linked = state.linked == Some(wait);
            if linked {
                state.linked = None;
            }
            linked || on("end-unchecked")
        })
    }
    fn wait_of(&self, node: *const Parked) -> usize {
        self.nodes.iter().position(|n| std::ptr::eq(&**n, node)).expect("a node of a wait")
    }
    /// The home looks into its inbox. Says which waits are over, and that by a cancellation.
    fn turn(&self, running: Option<usize>, over: &mut [u32; 2], cancelled: &mut bool) {
        self.inbox.take(|node| {
            let node = node.into_raw();
            if !std::ptr::eq(node, &*self.request) {
                over[self.wait_of(node)] += 1;
                return;
            }
            if let Some(at) = model::waits_at(&self.task.header)
                && model::is_flagged(&self.task.header)
            {
                let wait = self.wait_of(at);
                assert_eq!(running, Some(wait), "a wait is looked at that is gone");
                if self.end(wait) {
                    over[wait] += 1;
                    *cancelled = true;
                }
            }
        });
    }
    /// The task, and its home's loop. `serves`: its home also looks into the inbox while it runs (a
    /// yield).
    fn home(&self, serves: bool) {
        let mut got = 0;
        let (mut over, mut cancelled) = ([0, 0], false);
        for wait in 0..2 {
            let found = self.locked(|state| {
                let found = std::mem::take(&mut state.buffered);
                if found == 0 {
                    state.linked = Some(wait);
                }
                found
            });
            got += found;
            if found != 0 {
                continue;
            }
            if serves {
                self.turn(None, &mut over, &mut cancelled);
            }
            if model::begin_wait(&self.task.header, &*self.nodes[wait]) && self.end(wait) {
                cancelled = true;
                break;
            }
            while over[wait] == 0 {
                if self.inbox.peek_is_empty() {
                    thread::yield_now();
                } else {
                    self.turn(Some(wait), &mut over, &mut cancelled);
                }
            }
            assert_eq!(over[wait], 1, "woken twice");
            model::leave(&self.task.header);
            got += self.locked(|state| std::mem::take(&mut state.slots[wait]));
            if cancelled {
                break;
            }
            if serves {
                self.turn(None, &mut over, &mut cancelled);
            }
        }
        assert!(cancelled || got == MESSAGE, "went on without a reason");
        self.locked(|state| assert!(state.linked.is_none(), "left in the list"));
    }
}

fn with(world: &Arc<World>, part: fn(&World)) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || part(&world))
}

fn run(serves: bool) {
    let world = World::new();
    let (waker, canceller) = (with(&world, World::wake), with(&world, World::cancel));
    world.home(serves);
    waker.join().unwrap();
    canceller.join().unwrap();
    // The message was received once, or is still there.
    world.locked(|state| assert!(state.slots == [0, 0], "a message was lost"));
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "cancel.or_wake",
        run: || run(false),
        threads: 3,
        bound: (Some(3), None),
        mutants: &["ask-before-flag", "end-unchecked", "inbox-acquire"],
        ..SCRIPT
    },
    Script {
        name: "cancel.while_it_runs",
        run: || run(true),
        threads: 3,
        bound: (Some(2), Some(4)),
        mutants: &["flag-not-seen", "position-not-cleared", "end-unchecked"],
        ..SCRIPT
    },
];
