//! The select of a closure, or a thread, that blocks.

use super::arm::{Arms, InPlace, Link, earlier};
use super::future::Polled;
use super::order::{self, Order};
use myriad_core::engine::wait::{Caller, MultiWait, Wait, WaitReason};
use myriad_core::time::{self, Instant};
use std::task::Waker;
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
/// use myriad::{channel::bounded, select::{self, Order, Won}};
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
    let caller = Caller::get();
    caller.spend();
    // SAFETY: not linked; they stand in this frame.
    match unsafe { attempt_first(&mut arms, order, caller) } {
        Some(output) => output,
        // SAFETY: the arms are not linked, as the attempt has left them; they stand in this frame.
        None => unsafe { block(&mut arms, order, None) }.expect("there is no time limit"),
    }
}

/// Does one of the arms if that is possible now: the select with a default.
///
/// `None` says that at one moment during the call none of the arms was ready. So it does not come
/// as long as at every moment one of them is, however they take turns. To find nothing takes as
/// long as two looks at each arm, or one at a single arm.
///
/// # Blocking
/// It waits for nothing. But in a closure each 256th call in a row that does nothing lets others go
/// first, as [`Receiver::try_recv`](crate::channel::Receiver::try_recv).
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, try_wait};
/// let (tx, rx) = myriad::channel::unbounded();
/// assert!(try_wait(Order::Fair, (rx.recv_arm(),)).is_none());
/// tx.send(1).unwrap();
/// assert!(matches!(try_wait(Order::Fair, (rx.recv_arm(),)), Some(Won::A0(Ok(1)))));
/// ```
#[inline(always)]
pub fn try_wait<A: Arms>(order: Order, mut arms: A) -> Option<A::Output> {
    let caller = Caller::get();
    let waker = arms.needs_polling().then_some(Waker::noop());
    let mut seen = 0;
    // SAFETY: not linked; they stand in this frame.
    unsafe {
        match order::attempt_and_note(&mut arms, order, caller, waker, &mut seen) {
            None => missed(&mut arms, order, caller, waker, seen),
            done => done,
        }
    }
}

/// A first pass has found nothing, and noted `seen`. (One arm was looked at at one moment.)
///
/// # Safety
/// The arms are not linked. With a waker: they do not move any more until they are dropped.
#[inline(always)]
unsafe fn missed<A: Arms>(
    arms: &mut A,
    order: Order,
    caller: Caller,
    waker: Option<&Waker>,
    seen: u64,
) -> Option<A::Output> {
    if arms.count() > 1 {
        // SAFETY: the arms are not linked, and with a waker they do not move any more (this
        // function's contract).
        let done = unsafe { order::reattempt_all(arms, order, caller, waker, Some(seen)) };
        if done.is_some() {
            return done;
        }
    }
    caller.spend_in_vain();
    None
}

/// As [`wait`], for at most `timeout`. `None`: the time has passed, and nothing was done.
///
/// # Examples
/// ```
/// use myriad::select::{Order, wait_timeout};
/// use std::time::Duration;
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// assert!(wait_timeout(Order::Fair, Duration::from_millis(1), (rx.recv_arm(),)).is_none());
/// ```
pub fn wait_timeout<A: Arms>(order: Order, timeout: Duration, arms: A) -> Option<A::Output> {
    wait_deadline(order, time::now() + timeout, arms)
}

/// As [`wait`], until `deadline` at the latest. `None`: the time has passed, and nothing was done.
///
/// # Examples
/// ```
/// use myriad::select::{Order, wait_deadline};
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let soon = myriad::time::now() + std::time::Duration::from_millis(1);
/// assert!(wait_deadline(Order::Fair, soon, (rx.recv_arm(),)).is_none());
/// ```
pub fn wait_deadline<A: Arms>(order: Order, deadline: Instant, mut arms: A) -> Option<A::Output> {
    // SAFETY: not linked; they stand in this frame.
    unsafe { until(&mut arms, order, Some(deadline)) }
}

/// # Safety
/// The arms are not linked, and do not move any more until they are dropped.
pub(super) unsafe fn until<A: Arms>(arms: &mut A, order: Order, limit: Option<Instant>) -> Option<A::Output> {
    let caller = Caller::get();
    caller.spend();
    // SAFETY: the arms are not linked, and do not move any more (this function's contract); an
    // attempt leaves them so.
    unsafe { attempt_first(arms, order, caller).or_else(|| block(arms, order, limit)) }
}

/// Before anything is made ready for a wait. With arms that need a waker there is none yet; all
/// have the same chance, so then none is attempted.
///
/// # Safety
/// The arms are not linked.
#[inline(always)]
unsafe fn attempt_first<A: Arms>(arms: &mut A, order: Order, caller: Caller) -> Option<A::Output> {
    // SAFETY: the arms are not linked (this function's contract); there is no waker.
    if arms.needs_polling() { None } else { unsafe { arms.attempt_all(order, caller, None) } }
}

/// Nothing was possible: waits.
///
/// # Safety
/// The arms are not linked, and do not move any more until they are dropped.
#[inline(never)]
unsafe fn block<A: Arms>(arms: &mut A, order: Order, limit: Option<Instant>) -> Option<A::Output> {
    if arms.needs_polling() {
        // SAFETY: the arms do not move any more until they are dropped (this function's contract).
        return myriad_core::block_on(Polled::new(unsafe { InPlace::new(arms) }, order, limit));
    }
    loop {
        let caller = Caller::get();
        let deadline = earlier(arms.deadline(), limit);
        let wait = caller.timed_wait(WaitReason::Select).cancellable();
        if let Err(error) = wait.prepare() {
            panic!("{error}");
        }
        // SAFETY: `arms` stays behind its reference, and `wait` in this frame, until the arms are
        // unlinked; the wait is prepared. If it was ended by another it is woken once, so we block
        // even if we know that already; if by ourselves, it is not.
        let woken = unsafe {
            match arms.link_all(order, caller, MultiWait::of(&wait)) {
                Link::Linked => Wait::block_until(&raw const wait, deadline.unwrap_or(Instant::NEVER)),
                Link::Over => Wait::block_until(&raw const wait, Instant::NEVER),
                Link::Done => true,
            }
        };
        // Again: over a wait a task may have changed its worker.
        let caller = Caller::get();
        if let Some(output) = arms.unlink(caller) {
            return Some(output);
        }
        // Unlinked, and nothing was done.
        wait.unwind_if_cancelled();
        // A time has come; perhaps not ours. What is ready now is better than none. (And a channel
        // that was closed before may not have told us yet.) SAFETY: unlinked; no waker.
        if let Some(output) = unsafe { arms.attempt_all(order, caller, None) } {
            return Some(output);
        }
        // When our own limit ended the wait we stood in all lists: at that moment nothing was
        // possible.
        if !woken && limit.is_some() && limit == deadline {
            return None;
        }
    }
}
