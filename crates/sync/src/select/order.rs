//! In which order arms are attempted, and stand in lists.
//!
//! Fair: a new permutation each time, drawn as far as it is needed (Fisher and Yates), so the first
//! that is ready is one of the ready ones with equal chances; and of several arms that wait in one
//! list each is as often the first of them. One multiplication gives a number and leaves the rest
//! of the randomness for the next.

use super::{Arms, Link};
use myriad_base::sys::choice::random;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, MultiWait};
use std::task::Waker;

/// Who wins if several arms are ready.
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, wait};
/// let (tx, rx) = myriad::channel::unbounded();
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// // Both are ready: the first one wins.
/// assert!(matches!(wait(Order::Biased, (rx.recv_arm(), rx.recv_arm())), Won::A0(Ok(1))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Each with equal chances.
    #[default]
    Fair,
    /// The first.
    Biased,
}

/// Up to so many arms are permuted without memory from the heap.
const FEW: usize = 32;

/// # Safety
/// The arms are not linked. With a waker: they do not move any more until they are dropped.
#[inline(always)]
pub(super) unsafe fn attempt_all<A: Arms + ?Sized>(
    arms: &mut A,
    order: Order,
    caller: Caller,
    waker: Option<&Waker>,
) -> Option<A::Output> {
    let n = arms.count();
    // SAFETY: the arms are not linked, and with a waker they do not move any more (this function's
    // contract).
    in_order(n, order, |i| unsafe { arms.attempt(i, caller, waker) })
}

/// Attempts all arms, and adds up in `seen` what they [note](super::Arm::reattempt): the first pass
/// of [`reattempt_all`].
///
/// # Safety
/// The arms are not linked. With a waker: they do not move any more until they are dropped.
#[inline(always)]
pub(super) unsafe fn attempt_and_note<A: Arms + ?Sized>(
    arms: &mut A,
    order: Order,
    caller: Caller,
    waker: Option<&Waker>,
    seen: &mut u64,
) -> Option<A::Output> {
    let n = arms.count();
    // SAFETY: the arms are not linked, and with a waker they do not move any more (this function's
    // contract).
    in_order(n, order, |i| unsafe { arms.reattempt(i, caller, waker, seen) })
}

/// Attempts all arms again, after a pass that has found none ready, and has noted `before`, if it
/// has noted anything. `None`: none was ready at one and the same moment.
///
/// One pass cannot say that: it looks at an arm, that arm becomes ready, the next one ceases to be,
/// and the pass looks at that. So each pass adds up what its arms
/// [note](super::Arm::reattempt): numbers that only grow. Two passes in a row with the same sum
/// have found each arm not ready twice, and none has been ready in between: so none was when the
/// first of the two ended.
///
/// More than two passes are made only because somebody has sent, received or begun to wait
/// meanwhile.
///
/// # Safety
/// The arms are not linked. With a waker: they do not move any more until they are dropped.
#[inline(never)]
pub(super) unsafe fn reattempt_all<A: Arms + ?Sized>(
    arms: &mut A,
    order: Order,
    caller: Caller,
    waker: Option<&Waker>,
    mut before: Option<u64>,
) -> Option<A::Output> {
    while !on("default-at-once") {
        let mut seen = 0;
        // SAFETY: the arms are not linked, and with a waker they do not move any more (this
        // function's contract).
        let output = unsafe { attempt_and_note(arms, order, caller, waker, &mut seen) };
        if output.is_some() {
            return output;
        }
        if before.replace(seen) == Some(seen) {
            break;
        }
    }
    None
}

/// # Safety
/// The arms are not linked, and do not move until `unlink`, `abandon` or the destructor has
/// returned. `me` is alive until then, or over.
#[inline(always)]
pub(super) unsafe fn link_all<A: Arms + ?Sized>(arms: &mut A, order: Order, caller: Caller, me: MultiWait) -> Link {
    let n = arms.count();
    // SAFETY: the arms do not move, and `me` is alive, until they are unlinked, and none was linked
    // before (this function's contract); each is linked once.
    let link = |i| match unsafe { arms.link(i, caller, me) } {
        Link::Linked => None,
        over => Some(over),
    };
    in_order(n, order, link).unwrap_or(Link::Linked)
}

/// Calls `try_arm` with numbers below `n`, each once, until it returns something.
#[inline(always)]
fn in_order<R>(n: usize, order: Order, mut try_arm: impl FnMut(usize) -> Option<R>) -> Option<R> {
    // In a model every run with the same schedule has to do the same.
    if order == Order::Biased || n < 2 || cfg!(loom) {
        return (0..n).find_map(try_arm);
    }
    if n == 2 {
        let mut number = (random() >> 63) as usize;
        for _ in 0..2 {
            if let Some(output) = try_arm(number) {
                return Some(output);
            }
            number = 1 - number;
        }
        return None;
    }
    if n > FEW {
        return among_many(n, try_arm);
    }
    let mut numbers: [u8; FEW] = std::array::from_fn(|i| i as u8);
    let mut chance = random();
    for left in (1..=n).rev() {
        let pick;
        (pick, chance) = draw(chance, left);
        if let Some(output) = try_arm(usize::from(numbers[pick])) {
            return Some(output);
        }
        numbers[pick] = numbers[left - 1];
    }
    None
}

#[cold]
fn among_many<R>(n: usize, mut try_arm: impl FnMut(usize) -> Option<R>) -> Option<R> {
    let mut numbers: Vec<usize> = (0..n).collect();
    while !numbers.is_empty() {
        let (pick, _) = draw(random(), numbers.len());
        if let Some(output) = try_arm(numbers.swap_remove(pick)) {
            return Some(output);
        }
    }
    None
}

/// A number below `n`, and what randomness is left.
#[inline(always)]
fn draw(chance: u64, n: usize) -> (usize, u64) {
    let product = u128::from(chance) * n as u128;
    ((product >> 64) as usize, product as u64)
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    fn a_drawn_permutation_is_uniform() {
        // Of three, with one number for the whole permutation.
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            let (a, rest) = draw(random(), 3);
            let (b, _) = draw(rest, 2);
            counts[a * 2 + b] += 1;
        }
        // Six standard deviations: 6 * sqrt(60_000 * 1/6 * 5/6) = 548.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 548), "{counts:?}");
    }
}
