//! Scripts of a blocked task's way back to its worker, in both blocking modes.

use super::{SCRIPT, Script};
use crate::queue::inbox::Inbox;
use crate::queue::parked::{Parked, Resumable};
use loom::thread;
use myriad_base::stack::threads::{Baton, Order};
use myriad_base::sys::atomic::{AtomicPtr, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::on;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

const SAVED: *mut u8 = without_provenance_mut(64);

/// A worker: its inbox, its own state, and two threads that can have its role.
struct Home {
    /// The node of the task that blocks.
    node: Box<Parked>,
    /// The wait list, down to one place.
    list: AtomicPtr<Parked>,
    inbox: Inbox,
    /// What only the one who has the role may touch.
    worker: UnsafeCell<u32>,
    /// The blocked task's thread, and the one that goes on with the loop.
    turns: [Baton; 2],
}
const BLOCKED: usize = 0;
const LOOP: usize = 1;

// SAFETY: the cells are watched by loom.
unsafe impl Sync for Home {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for Home {}

impl Home {
    fn new() -> Arc<Home> {
        Arc::new(Home {
            node: Box::new(Parked::new(None)),
            list: AtomicPtr::new(null_mut()),
            inbox: Inbox::default(),
            worker: UnsafeCell::new(0),
            turns: Default::default(),
        })
    }
    fn touch_worker(&self) {
        // SAFETY: loom has checked that nobody else is in the cell.
        self.worker.with_mut(|worker| unsafe { *worker += 1 });
    }
    fn publish(&self) {
        self.list.store(std::ptr::from_ref(&*self.node).cast_mut(), Release);
    }
    fn save(&self) {
        // SAFETY: the node lives as long as the script; loom has checked that nobody else is in
        // the cell.
        self.node.saved.with_mut(|saved| unsafe { *saved = SAVED });
    }
    fn saved(&self) -> *mut u8 {
        // SAFETY: the node lives as long as the script; loom has checked that nobody writes to the
        // cell.
        self.node.saved.with(|saved| unsafe { *saved })
    }
    /// On another worker: takes the node off the list and sends it home, perhaps before its stack
    /// is saved.
    fn wake(&self) {
        let node = self.list.swap(null_mut(), Acquire);
        if on("waker-resumes") {
            // As a scheduler would that lets the waker go on with the task.
            assert_eq!(self.saved(), SAVED);
        }
        // SAFETY: the node blocks, and this is its only waker.
        self.inbox.push(unsafe { Resumable::from_raw(node) });
    }
    /// The home's loop, until the node is there.
    fn wait_for_node(&self) {
        self.touch_worker();
        let mut woken = 0;
        while woken == 0 {
            if self.inbox.is_empty() {
                thread::yield_now();
            } else {
                self.inbox.take(|node| {
                    assert!(std::ptr::eq(node.address(), &*self.node));
                    woken += 1;
                });
            }
        }
        assert_eq!(woken, 1);
        assert_eq!(self.saved(), SAVED, "gone on with before it was saved");
        self.touch_worker();
    }
    fn give(&self, to: usize) {
        // SAFETY: the turns live to the end of the script.
        unsafe { Baton::give(&raw const self.turns[to], Order::Go) };
    }
    fn wait_for_turn(&self, me: usize) {
        assert_eq!(self.turns[me].wait(), Order::Go);
    }
}

fn with(home: &Arc<Home>, part: fn(&Home)) -> thread::JoinHandle<()> {
    let home = home.clone();
    thread::spawn(move || part(&home))
}

/// Fibers: both stacks are one thread.
fn fibers() {
    let home = Home::new();
    home.publish();
    let waker = with(&home, Home::wake);
    home.touch_worker();
    home.save(); // inside the switch
    home.wait_for_node(); // on the other stack
    home.touch_worker(); // on the first again
    waker.join().unwrap();
}

/// Threads: the role goes from the blocked task's thread to the loop's, and back.
fn role() {
    let home = Home::new();
    let other = with(&home, |home| {
        home.wait_for_turn(LOOP);
        home.touch_worker();
        assert_eq!(home.saved(), SAVED);
        home.give(BLOCKED);
    });
    home.touch_worker();
    if on("save-after-hand-over") {
        home.give(LOOP);
        home.save();
    } else {
        home.save();
        home.give(LOOP);
    }
    if on("touch-after-hand-over") {
        home.touch_worker();
    }
    home.wait_for_turn(BLOCKED);
    home.touch_worker();
    other.join().unwrap();
}

/// Threads: the same with a waker on another worker, which the loop's thread waits for.
fn threads() {
    let home = Home::new();
    home.publish();
    let waker = with(&home, Home::wake);
    let other = with(&home, |home| {
        home.wait_for_turn(LOOP);
        home.wait_for_node();
    });
    home.touch_worker();
    home.save();
    home.give(LOOP);
    other.join().unwrap();
    waker.join().unwrap();
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "handoff.fibers",
        run: fibers,
        mutants: &["inbox-release", "inbox-acquire", "waker-resumes"],
        ..SCRIPT
    },
    Script {
        name: "handoff.role",
        run: role,
        spins: true,
        mutants: &[
            "hand-over-release",
            "turn-acquire",
            "sleeper-not-woken",
            "save-after-hand-over",
            "touch-after-hand-over",
        ],
        ..SCRIPT
    },
    Script {
        name: "handoff.threads",
        run: threads,
        threads: 3,
        spins: true,
        bound: (Some(4), None),
        mutants: &["inbox-release", "inbox-acquire"],
        ..SCRIPT
    },
];
