//! Cancellation on foreign threads: they have regions, and wait on a gate.
//!
//! Nobody carries anything out for a foreign thread: whoever cancels one of its regions
//! [pokes](foreign::poke) it, and it ends its own wait.

use super::{point, region};
use crate::queue::node::Node;
use crate::sched::wait::foreign;
use myriad_base::sys::atomic::AtomicU8;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::futex::Gate;
use std::cell::Cell;
use std::ptr::null;
use std::sync::Mutex;

/// What others know of a foreign thread.
#[derive(Debug)]
pub(super) struct Thread {
    marks: AtomicU8,
    /// How many regions it is in.
    pub(super) regions: Cell<u32>,
    /// What it sleeps on; its address.
    gate: Mutex<usize>,
}

thread_local! {
    #[allow(clippy::missing_const_for_thread_local, reason = "in a model atomics have no const constructor")]
    static THREAD: Thread = Thread { marks: AtomicU8::new(0), regions: Cell::new(0), gate: Mutex::new(0) };
}

/// The calling thread's. It lives as long as any region of the thread.
pub(super) fn current() -> *const Thread {
    THREAD.with(std::ptr::from_ref)
}

pub(super) fn marks() -> *const AtomicU8 {
    // A thread whose thread-locals are gone is never cancelled.
    THREAD.try_with(|thread| &raw const thread.marks).unwrap_or_else(|_| gone())
}

#[cfg(not(loom))]
fn gone() -> *const AtomicU8 {
    static GONE: AtomicU8 = AtomicU8::new(0);
    &raw const GONE
}

#[cfg(loom)]
fn gone() -> *const AtomicU8 {
    Box::leak(Box::new(AtomicU8::new(0)))
}

/// Is the calling foreign thread in a cancelled region?
pub(super) fn is_cancelled() -> bool {
    if THREAD.try_with(|thread| thread.regions.get()).unwrap_or(0) == 0 {
        return false;
    }
    region::expire(Instant::real_now());
    region::is_cancelled(region::Key::current())
}

/// Is the calling foreign thread to be unwound?
pub(super) fn must_end() -> bool {
    is_cancelled()
        && !point::nothing_unwinds()
        && region::cancelled(region::Key::current())
            .is_some_and(|extent| !extent.leaves_panic(std::thread::panicking()))
}

impl Thread {
    /// It is to look whether it is cancelled.
    pub(super) fn poke(&self) {
        let gate = self.gate.lock().unwrap_or_else(|e| e.into_inner());
        let gate = std::ptr::with_exposed_provenance::<Gate>(*gate);
        // SAFETY: the address is there only while the thread sleeps on it, and it takes the lock to
        // take it back.
        if let Some(gate) = unsafe { gate.as_ref() } {
            foreign::poke(gate);
        }
    }
}

/// Blocks the calling foreign thread, if it is in a region, until it is woken (true), until
/// `deadline` (false), or until it is cancelled. `None`: it is in no region.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`End`](crate::sched::node::End) looks at.
pub(crate) unsafe fn block(node: *const Node, deadline: Instant) -> Option<bool> {
    if cfg!(loom) || THREAD.try_with(|thread| thread.regions.get()).unwrap_or(0) == 0 {
        return None;
    }
    let set = |gate: *const Gate| {
        THREAD.with(|thread| *thread.gate.lock().unwrap_or_else(|e| e.into_inner()) = gate.expose_provenance());
    };
    // SAFETY: the wait stands.
    set(unsafe { &raw const (*node).gate });
    // SAFETY: what `sleep` asks for is this function's contract.
    let woken = unsafe { sleep(node, deadline) };
    set(null());
    Some(woken)
}

/// # Safety
/// As for `block`.
unsafe fn sleep(node: *const Node, deadline: Instant) -> bool {
    // SAFETY: the wait stands.
    let gate = unsafe { &(*node).gate };
    let mut asks = true;
    while !foreign::is_open(gate) {
        // (Asked once: a cancellation between two questions would count as one that could not end
        // the wait.)
        if asks && is_cancelled() {
            // SAFETY: our own wait.
            if must_end() && unsafe { point::end(node) } {
                return false;
            }
            // Its wake is on the way, what it waits for was asked, or it is spared because the
            // thread panics.
            asks = false;
        }
        let now = Instant::real_now();
        if now >= deadline {
            return false;
        }
        let until = if asks { deadline.min(region::next_deadline()) } else { deadline };
        foreign::looked(gate);
        // Once more: who poked before that said so before.
        if asks && is_cancelled() {
            continue;
        }
        foreign::wait(gate, (until != Instant::NEVER).then(|| until - now));
    }
    true
}
