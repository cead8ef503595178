//! Cancellation on foreign threads: they have cancel scopes, and wait on a parker.
//!
//! Nobody carries anything out for a foreign thread: whoever cancels one of its cancel scopes
//! [pokes](foreign::poke) it, and it ends its own wait.

use super::{cancel_scope, checkpoint};
use crate::queue::parked::Parked;
use crate::record::header::RunnerByte;
use crate::sched::wait::foreign;
use myriad_base::sys::atomic::AtomicU8;
use myriad_base::sys::clock::{Instant, system_now};
use myriad_base::sys::futex::Parker;
use myriad_base::sys::mutex::Mutex;
use std::cell::Cell;
use std::ptr::null;

/// What others know of a foreign thread.
#[derive(Debug)]
pub(super) struct Thread {
    flags: AtomicU8,
    runner: RunnerByte,
    /// How many cancel scopes it is in.
    pub(super) regions: Cell<u32>,
    /// What it sleeps on; its address.
    parker: Mutex<usize>,
}

thread_local! {
    #[allow(clippy::missing_const_for_thread_local, reason = "in a model atomics have no const constructor")]
    static THREAD: Thread =
        Thread { flags: AtomicU8::new(0), runner: RunnerByte::new(), regions: Cell::new(0), parker: Mutex::new(0) };
}

/// The calling thread's. It lives as long as any cancel scope of the thread.
pub(super) fn current() -> *const Thread {
    THREAD.with(std::ptr::from_ref)
}

/// What says whether it is cancelled.
pub(super) fn flags() -> (*const AtomicU8, *const RunnerByte) {
    // A thread whose thread-locals are gone is never cancelled, nor kept from that.
    THREAD.try_with(|thread| (&raw const thread.flags, &raw const thread.runner)).unwrap_or_else(|_| (gone(), null()))
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

/// Is the calling foreign thread in a cancelled cancel scope?
pub(super) fn is_cancelled() -> bool {
    if THREAD.try_with(|thread| thread.regions.get()).unwrap_or(0) == 0 {
        return false;
    }
    cancel_scope::expire(system_now());
    cancel_scope::is_cancelled(cancel_scope::Key::current())
}

/// Is the calling foreign thread to be unwound?
pub(super) fn must_end() -> bool {
    is_cancelled()
        && !checkpoint::nothing_unwinds()
        && cancel_scope::cancelled(cancel_scope::Key::current())
            .is_some_and(|extent| !extent.leaves_panic(std::thread::panicking()))
}

impl Thread {
    /// It is to look whether it is cancelled.
    pub(super) fn poke(&self) {
        let parker = self.parker.lock();
        let parker = std::ptr::with_exposed_provenance::<Parker>(*parker);
        // SAFETY: the address is there only while the thread sleeps on it, and it takes the lock to
        // take it back.
        if let Some(parker) = unsafe { parker.as_ref() } {
            foreign::poke(parker);
        }
    }
}

/// Blocks the calling foreign thread, if it is in a cancel scope, until it is woken (true), until
/// `deadline` (false), or until it is cancelled. `None`: it is in no cancel scope.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`CancelFn`](crate::queue::parked::CancelFn) looks at.
pub(crate) unsafe fn block(node: *const Parked, deadline: Instant) -> Option<bool> {
    if cfg!(loom) || THREAD.try_with(|thread| thread.regions.get()).unwrap_or(0) == 0 {
        return None;
    }
    let set = |parker: *const Parker| {
        THREAD.with(|thread| *thread.parker.lock() = parker.expose_provenance());
    };
    // SAFETY: the wait stands.
    set(unsafe { &raw const (*node).parker });
    // SAFETY: what `sleep` asks for is this function's contract.
    let woken = unsafe { sleep(node, deadline) };
    set(null());
    Some(woken)
}

/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`CancelFn`](crate::queue::parked::CancelFn) looks at.
unsafe fn sleep(node: *const Parked, deadline: Instant) -> bool {
    // SAFETY: the wait stands.
    let parker = unsafe { &(*node).parker };
    let mut asks = true;
    while !foreign::is_open(parker) {
        // (Asked once: a cancellation between two questions would count as one that could not end
        // the wait.)
        if asks && is_cancelled() {
            // SAFETY: our own wait.
            if must_end() && unsafe { checkpoint::end(cancel_scope::Key::current(), node) } {
                return false;
            }
            // Its wake is on the way, what it waits for was asked, or it is spared because the
            // thread panics.
            asks = false;
        }
        let now = system_now();
        if now >= deadline {
            return false;
        }
        let until = if asks { deadline.min(cancel_scope::next_deadline()) } else { deadline };
        foreign::looked(parker);
        // Once more: who poked before that said so before.
        if asks && is_cancelled() {
            continue;
        }
        // SAFETY: the wait stands (this function's contract).
        unsafe { foreign::wait_at(node, (until != Instant::NEVER).then(|| until - now)) };
    }
    true
}
