//! Scripts of a future's state word: a wake is never lost, and one for an earlier future does nothing.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_core::sys::atomic::{AtomicU32, Ordering::*, Peek};
use myriad_core::task::state::{self, IDLE, SCHEDULED};
use std::sync::Arc;

struct World {
    state: AtomicU32,
    /// What the poll looks for: relaxed, so that only the state word orders it.
    data: AtomicU32,
    /// The run queue, down to one flag.
    queued: AtomicU32,
}

impl World {
    fn new(state: u32) -> Arc<World> {
        Arc::new(World { state: AtomicU32::new(state), data: AtomicU32::new(0), queued: AtomicU32::new(0) })
    }

    fn provide_and_wake(&self) {
        self.data.store(1, Relaxed);
        if state::wake(&self.state, 0) {
            self.queued.store(1, Relaxed);
        }
    }

    /// What the polls see after the first has begun: to the end.
    fn poll_to_the_end(&self) {
        while self.data.load(Relaxed) == 0 {
            if !state::end_poll(&self.state) {
                // A wake that is lost leaves us here for ever.
                while self.queued.peek(Relaxed) == 0 {
                    thread::yield_now();
                }
            }
            state::start_poll(&self.state);
        }
    }
}

/// A wake meets a queued future, a poll, the end of a poll, or an idle future.
fn wake_or_poll() {
    let w = World::new(SCHEDULED);
    let waker = thread::spawn({
        let w = w.clone();
        move || w.provide_and_wake()
    });
    state::start_poll(&w.state);
    w.poll_to_the_end();
    waker.join().unwrap();
}

/// The first poll begins with a store; its waker exists only afterwards.
fn first_poll() {
    let w = World::new(0);
    state::begin(&w.state);
    state::start_poll(&w.state);
    let waker = thread::spawn({
        let w = w.clone();
        move || w.provide_and_wake()
    });
    w.poll_to_the_end();
    waker.join().unwrap();
}

/// A future ends, and another begins in its memory, while a waker of the first is used.
fn stale_wake() {
    let w = World::new(0);
    state::begin(&w.state);
    state::start_poll(&w.state);
    let waker = thread::spawn({
        let w = w.clone();
        move || assert!(!state::wake(&w.state, 0), "a future that is running, or gone, is queued")
    });
    state::end(&w.state);
    state::begin(&w.state);
    state::start_poll(&w.state);
    assert!(!state::end_poll(&w.state), "the second future is woken by the first one's waker");
    waker.join().unwrap();
    let now = w.state.load(Relaxed);
    assert_eq!((state::generation(now), now & 7), (1, IDLE));
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "async.wake_or_poll",
        run: wake_or_poll,
        bound: (Some(4), None),
        mutants: &["wake-only-loads", "poll-stores", "wake-release", "poll-acquire"],
        ..SCRIPT
    },
    Script { name: "async.first_poll", run: first_poll, bound: (Some(4), None), ..SCRIPT },
    Script { name: "async.stale_wake", run: stale_wake, mutants: &["wake-any-generation"], ..SCRIPT },
];
