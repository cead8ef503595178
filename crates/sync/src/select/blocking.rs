//! The select of a closure, or a thread, that blocks.

use super::arm::{Arms, InPlace, Link, earlier};
use super::future::Polled;
use super::order::Order;
use myriad_core::time::{self, Instant};
use myriad_core::wait::{Group, Here};
use std::time::Duration;

/// Waits until one of the arms is done, and does no other. What `select!` calls.
///
/// # Blocking
/// Until an arm is ready: see [the module](mod@super).
///
/// # Cancellation
/// A task that is cancelled while it waits unwinds, and no arm was done.
///
/// # Panics
/// If it must wait and there is no memory for a stack. If a future among the arms panics.
///
/// # Examples
/// ```
/// use myriad_sync::{channel::bounded, select::{self, Order, Won}};
/// let (tx, rx) = bounded(1);
/// let (tx2, _rx2) = bounded(0);
/// tx.send(5).unwrap();
/// match select::wait(Order::Fair, (rx.recv_arm(), tx2.send_arm("nobody takes it"))) {
///     Won::A0(message) => assert_eq!(message, Ok(5)),
///     Won::A1(sent) => unreachable!("{sent:?}"),
/// }
/// ```
#[inline(always)]
pub fn wait<A: Arms>(order: Order, mut arms: A) -> A::Output {
    let here = Here::get();
    here.spend();
    // SAFETY: not linked; they stand in this frame.
    match unsafe { attempt_first(&mut arms, order, here) } {
        Some(output) => output,
        // SAFETY: as above.
        None => unsafe { block(&mut arms, order, None) }.expect("there is no time limit"),
    }
}

/// Does one of the arms if that is possible now: the select with a default.
#[inline(always)]
pub fn try_wait<A: Arms>(order: Order, mut arms: A) -> Option<A::Output> {
    let here = Here::get();
    let waker = arms.needs_polling().then_some(std::task::Waker::noop());
    // SAFETY: not linked; they stand in this frame.
    unsafe { arms.attempt_all(order, here, waker) }
}

/// As [`wait`], for at most `timeout`. `None`: the time has passed, and nothing was done.
pub fn wait_timeout<A: Arms>(order: Order, timeout: Duration, arms: A) -> Option<A::Output> {
    wait_deadline(order, time::now() + timeout, arms)
}

/// As [`wait`], until `deadline` at the latest. `None`: the time has passed, and nothing was done.
pub fn wait_deadline<A: Arms>(order: Order, deadline: Instant, mut arms: A) -> Option<A::Output> {
    // SAFETY: not linked; they stand in this frame.
    unsafe { until(&mut arms, order, Some(deadline)) }
}

/// # Safety
/// The arms are not linked, and do not move any more until they are dropped.
pub(super) unsafe fn until<A: Arms>(arms: &mut A, order: Order, limit: Option<Instant>) -> Option<A::Output> {
    let here = Here::get();
    here.spend();
    // SAFETY: the caller.
    unsafe { attempt_first(arms, order, here).or_else(|| block(arms, order, limit)) }
}

/// Before anything is made ready for a wait. With arms that need a waker there is none yet; all have the same chance, so then
/// none is attempted.
///
/// # Safety
/// As [`until`].
#[inline(always)]
unsafe fn attempt_first<A: Arms>(arms: &mut A, order: Order, here: Here) -> Option<A::Output> {
    // SAFETY: the caller.
    if arms.needs_polling() { None } else { unsafe { arms.attempt_all(order, here, None) } }
}

/// Nothing was possible: waits.
///
/// # Safety
/// As [`until`].
#[inline(never)]
unsafe fn block<A: Arms>(arms: &mut A, order: Order, limit: Option<Instant>) -> Option<A::Output> {
    if arms.needs_polling() {
        // SAFETY: the caller.
        return myriad_core::block_on(Polled::new(unsafe { InPlace::new(arms) }, order, limit));
    }
    loop {
        let here = Here::get();
        let deadline = earlier(arms.deadline(), limit);
        let wait = here.timed_wait().cancellable();
        if let Err(error) = wait.prepare() {
            panic!("{error}");
        }
        // SAFETY: `arms` stays behind its reference, and `wait` in this frame, until the arms are unlinked; the wait is prepared. If
        // it was ended by another it is woken once, so we block even if we know that already; if by ourselves, it is not.
        let woken = unsafe {
            match arms.link_all(order, here, Group::of(&wait)) {
                Link::Linked => wait.block_until(deadline.unwrap_or(Instant::NEVER)),
                Link::Over => wait.block_until(Instant::NEVER),
                Link::Done => true,
            }
        };
        // Again: over a wait a task may have changed its worker.
        let here = Here::get();
        if let Some(output) = arms.unlink(here) {
            return Some(output);
        }
        // Unlinked, and nothing was done.
        wait.arrive();
        // A time has come; perhaps not ours. What is ready now is better than none.
        // SAFETY: unlinked; the caller.
        if let Some(output) = unsafe { arms.attempt_all(order, here, None) } {
            return Some(output);
        }
        if !woken && limit.is_some_and(|limit| time::now() >= limit) {
            return None;
        }
    }
}
