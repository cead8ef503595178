//! Scripts of a future's state word: a wake is never lost, and one for an earlier future does
//! nothing.

use super::{SCRIPT, Script};
use crate::record::state::{self, CancelFound, IDLE, SCHEDULED};
use loom::thread;
use myriad_base::sys::atomic::{AtomicU8, AtomicU32, Ordering::*, Peek};
use myriad_base::sys::cell::UnsafeCell;
use std::sync::Arc;

struct World {
    state: AtomicU32,
    /// What the poll looks for: relaxed, so that only the state word orders it.
    data: AtomicU32,
    /// The run queue, down to one flag.
    queued: AtomicU32,
    /// The future itself, which each poll changes: is it ready?
    future: UnsafeCell<bool>,
}

// SAFETY: the cell is watched by loom.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for World {}

impl World {
    fn new(state: u32) -> Arc<World> {
        Arc::new(World {
            state: AtomicU32::new(state),
            data: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            future: UnsafeCell::new(false),
        })
    }

    /// One poll. True: ready.
    fn poll(&self) -> bool {
        let ready = self.data.load(Relaxed) == 1;
        // SAFETY: loom has checked that nobody else is in the cell.
        self.future.with_mut(|future| unsafe { *future = ready });
        ready
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

/// Polled on one worker, woken and then polled on another: what the first poll did is seen by the
/// second.
fn moves() {
    let w = World::new(SCHEDULED);
    let other = thread::spawn({
        let w = w.clone();
        move || {
            w.data.store(1, Relaxed);
            if state::wake(&w.state, 0) {
                // Idle: this worker queues it, and takes it.
                state::start_poll(&w.state);
                assert!(w.poll(), "the poll after the wake does not see what the waker did");
            }
        }
    });
    loop {
        state::start_poll(&w.state);
        if w.poll() || !state::end_poll(&w.state) {
            break;
        }
    }
    other.join().unwrap();
    // SAFETY: the other thread is joined.
    assert!(w.future.with(|ready| unsafe { *ready }), "the wake is lost");
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

/// A cancellation meets the first poll, which is pending: the flag is seen by a poll.
fn cancelled_at_first() {
    let w = World::new(0);
    let flags = Arc::new(AtomicU8::new(0));
    state::begin(&w.state);
    let canceller = thread::spawn({
        let (w, flags) = (w.clone(), flags.clone());
        move || {
            flags.fetch_or(1, SeqCst);
            if state::for_cancellation(&w.state) == CancelFound::Idle {
                w.queued.store(1, Relaxed);
            }
        }
    });
    assert!(state::start_poll(&w.state));
    if flags.load(Relaxed) == 0 {
        if !state::end_first_poll(&w.state, &flags, 1) {
            // A cancellation that is lost leaves us here for ever.
            while w.queued.peek(Relaxed) == 0 {
                thread::yield_now();
            }
        }
        assert!(!state::start_poll(&w.state));
        assert_eq!(flags.load(Relaxed), 1, "the poll after the wake does not see the flag");
    }
    canceller.join().unwrap();
}

/// A cancellation meets a queued future, whose poll begins, and blocks if it does not see the flag:
/// then the canceller asks the home to look.
fn cancelled_when_polled() {
    let w = World::new(SCHEDULED);
    let flags = Arc::new(AtomicU8::new(0));
    let requested = Arc::new(AtomicU8::new(0));
    let canceller = thread::spawn({
        let (w, flags, requested) = (w.clone(), flags.clone(), requested.clone());
        move || {
            flags.fetch_or(1, SeqCst);
            match state::for_cancellation(&w.state) {
                CancelFound::Idle => panic!("it waits for nobody"),
                CancelFound::Queued => {}
                CancelFound::Runs => requested.store(1, Relaxed),
            }
        }
    });
    assert!(!state::start_poll(&w.state));
    if flags.load(Relaxed) == 0 {
        // A request that nobody sends leaves us here for ever.
        while requested.peek(Relaxed) == 0 {
            thread::yield_now();
        }
    }
    canceller.join().unwrap();
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
        mutants: &["wake-only-loads", "poll-stores", "wake-release", "poll-acquire"],
        ..SCRIPT
    },
    Script { name: "async.moves", run: moves, mutants: &["pending-release", "wake-only-loads"], ..SCRIPT },
    Script { name: "async.first_poll", run: first_poll, ..SCRIPT },
    Script {
        name: "async.cancelled_at_first",
        run: cancelled_at_first,
        bound: (Some(4), Some(5)),
        mutants: &["first-poll-checks-once"],
        ..SCRIPT
    },
    Script {
        name: "async.cancelled_when_polled",
        run: cancelled_when_polled,
        mutants: &["polled-is-queued", "wake-release", "poll-acquire"],
        ..SCRIPT
    },
    Script { name: "async.stale_wake", run: stale_wake, mutants: &["wake-any-generation"], ..SCRIPT },
];
