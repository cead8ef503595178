//! The timing wheel: where sleeping tasks and timeouts wait for their time.
//!
//! ```text
//!  level 0    1 ns a slot    | | | | |c| | | | ..      c: the slot of the cursor, up to which time has been
//!  level 1   64 ns a slot    | |c| |o| | | |o| ..      o: occupied; nodes in the order in which they came
//!  level 2    4 us a slot    | | |c|X| | | | | ..      X: crowded: moved down early, some nodes at each `advance`
//!   ..                                                     (here into the 64 slots after those of c)
//!  level 10  37 years a slot |c|o| | ..
//! ```
//! A hierarchical wheel after Varghese and Lauck (1987), with intrusive nodes: setting and removing
//! a timer touches the node, its slot and its neighbours, and allocates nothing (a level, 4 KiB, is
//! allocated when it is first used, or all by [`Wheel::supply`]). A slot of one level is as wide as
//! 64 of the level below. Level 0 is as fine as the clock, so timers fire exactly, in order.
//!
//! **Words.** *Unit*: a time divided by the width of a slot. *Lower*: into a finer level. *Spread*:
//! to lower the nodes of a crowd, in portions, before the cursor comes to them.
//!
//! **Invariants.** (checked by `Wheel::check` in the tests)
//! 1. *Linked*: a node in the wheel is alive, is not moved, and its links are written by nobody but
//!    the wheel, which the caller keeps under one lock. Upheld by the contract of
//!    [`Wheel::insert`].
//! 2. A node in slot `i` of level `l` has `i == unit % 128` for the unit of its deadline (of the
//!    cursor at its insertion if that was later), and this unit is less than 128 after the
//!    cursor's. So slots stand for one unit each, in order.
//! 3. `next` is not later than the `min` of any slot, nor than the time at which a crowd is to be
//!    spread.
//!
//! **When a node is lowered** is a matter of speed alone, for invariant 2 does not say "the lowest
//! level".
//! - A slot is left as it is until its `min` is due. A lone sleeper is never moved: it fires from
//!   where it was put, and the worker that sleeps until `next_event` is woken once, exactly then.
//! - What is not due in such a slot is lowered at once. That is at most `CROWD` nodes, some 10 us.
//! - A larger crowd is spread over the stretch of time before its own, for which there is room: 128
//!   slots cover two of the level above. `PORTION` nodes at once, every `PACE` nanoseconds. Only a
//!   crowd that has gathered too late for that (more than 4 timers for each microsecond, all due
//!   within one slot of now) is lowered at one go.
//!
//! **Order.** A crowd goes down in portions while others are inserted below it, so lists alone do
//! not keep equal deadlines in the order of their insertion: each node has a number, and `due`
//! sorts what is taken out.
//!
//! **Rejected.** *Lowering a whole slot when the cursor enters it*, as wheels do: a million timers
//! within 1 s made the longest `advance` 3 ms, within one slot 168 ms; here 0.06 ms. *A coarse
//! tick* (65 us): either timers fire late by a tick, or the list of the tick is searched again at
//! each `advance`; and a virtual clock must stop exactly at deadlines. *A sorted tree* (std's
//! B-tree): 400 to 500 ns to insert or to remove one of a million, and it allocates.
//!
//! Tests: `wheel/test.rs`, figures: `wheel/figures.rs`.

mod due;
mod level;
mod node;

#[cfg(test)]
mod figures;
#[cfg(test)]
mod test;

pub use node::TimerNode;

use due::Due;
use level::{Level, SLOTS, Slot, index};
use node::NOWHERE;
use std::ptr::null_mut;

/// A slot is as wide as `2^BITS` slots of the level below.
const BITS: u32 = 6;
/// Enough for all of `u64`: 128 slots of `2^60` ns.
pub const LEVELS: usize = 11;
/// A crowd is spread in portions of so many nodes (some 10 us) ..
const PORTION: u64 = 64;
/// .. one for each so many nanoseconds: 4 million nodes a second ..
const PACE: u64 = 1 << 14;
/// .. and so many portions at once if `advance` is called less often.
const ARREARS: u64 = 4;

/// `slot` of a node that was due and put back.
const PUT_BACK: u16 = (LEVELS * SLOTS) as u16;

/// The time `t` counted in slots of a level.
#[inline(always)]
const fn unit(level: usize, t: u64) -> u64 {
    t >> (BITS * level as u32)
}

/// The pending timers of one worker. Not synchronised: the caller has a lock around it.
///
/// Times are nanoseconds of one clock, real or virtual. `u64::MAX` means never: such a timer can
/// only be removed.
#[derive(Debug)]
pub struct Wheel {
    /// The latest time that `advance` was told.
    cursor: u64,
    /// What `next_event` says; `u64::MAX` for nothing.
    next: u64,
    /// When the next portion of a crowd may be spread.
    spread_at: u64,
    len: usize,
    /// Number of the next insertion.
    seq: u32,
    /// Bit `l`: level `l` has nodes.
    occupied: u16,
    /// What was due, and could not be fired yet.
    put_back: Slot,
    /// Each is made when it is needed first, unless all were supplied.
    levels: [Option<Box<Level>>; LEVELS],
}

/// What a wheel allocates, for [`Wheel::supply`].
#[derive(Debug)]
pub struct Supply([Option<Box<Level>>; LEVELS]);

impl Default for Supply {
    /// Memory for all levels of one wheel.
    fn default() -> Supply {
        Supply(std::array::from_fn(|_| Some(Level::new())))
    }
}

// SAFETY: the only thing that is not Send are pointers to nodes, and the contract of `insert` lets
// whoever holds the wheel, on any thread, use them.
unsafe impl Send for Wheel {}

impl Wheel {
    /// An empty wheel whose clock stands at `now`. Allocates nothing.
    pub const fn new(now: u64) -> Wheel {
        let levels = [const { None }; LEVELS];
        let put_back = Slot::EMPTY;
        Wheel { cursor: now, next: u64::MAX, spread_at: 0, len: 0, seq: 0, occupied: 0, put_back, levels }
    }

    /// Begins anew; no timer is pending. Keeps its levels.
    pub fn restart(&mut self, now: u64) {
        debug_assert!(self.len == 0, "timers are pending");
        let levels = std::mem::take(&mut self.levels);
        *self = Wheel { levels, ..Wheel::new(now) };
    }

    /// Takes what it lacks: from now on it allocates nothing. The rest is the caller's to drop.
    pub fn supply(&mut self, supply: &mut Supply) {
        for (mine, new) in self.levels.iter_mut().zip(&mut supply.0) {
            if mine.is_none() {
                std::mem::swap(mine, new);
            }
        }
    }

    /// How many timers are pending.
    #[allow(dead_code, reason = "only the tests ask so far")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Is none pending?
    #[allow(dead_code, reason = "only the tests ask so far")]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When `advance` is to be called next: never later than the earliest deadline, and mostly
    /// that. It may be earlier after the earliest timer was removed, and where a crowd is to be
    /// spread. `None`: nothing will ever fire.
    #[inline(always)]
    pub const fn next_event(&self) -> Option<u64> {
        if self.next == u64::MAX { None } else { Some(self.next) }
    }

    /// Sets a timer. One whose deadline has passed is taken out by the next `advance`.
    ///
    /// # Safety
    /// - `node` points to a node that is in no wheel and in no chain.
    /// - Until [`remove`](Self::remove) has returned true for it, or [`advance`](Self::advance) has
    ///   returned it and the caller has fired it, it is alive and not moved, no reference to it
    ///   exists but `&` to `data` and `fire`, and only the holder of the wheel's lock reads or
    ///   writes any other part. If the wheel is dropped, it forgets the node.
    #[inline]
    pub unsafe fn insert(&mut self, node: *mut TimerNode, deadline: u64) {
        // SAFETY: `node` is alive, in no wheel and in no chain (this function's contract), so
        // nobody else touches it.
        unsafe {
            debug_assert!((*node).slot == NOWHERE, "a timer is inserted twice");
            (*node).deadline = deadline;
            (*node).seq = self.seq;
        }
        self.seq = self.seq.wrapping_add(1);
        self.len += 1;
        self.next = self.next.min(deadline);
        // SAFETY: `node` is in no slot, and linked from now on: alive and in its place until it was
        // removed, or returned and fired (this function's contract).
        unsafe { self.put(node) };
    }

    /// Takes a timer out. False if it is in no wheel: never inserted, or taken by `advance`, and
    /// then it is in the chain of whoever called that until they have fired it.
    ///
    /// # Safety
    /// - `node` is alive, and if it is in a wheel, it is in this one.
    #[inline]
    pub unsafe fn remove(&mut self, node: *mut TimerNode) -> bool {
        // SAFETY: alive; `slot` is read under the wheel's lock.
        let slot = unsafe { (*node).slot };
        if slot == NOWHERE {
            return false;
        }
        self.len -= 1;
        if slot == PUT_BACK {
            // SAFETY: its slot says that it is linked there.
            unsafe { self.unlink_put_back(node) };
            return true;
        }
        let (l, i) = (usize::from(slot) / SLOTS, usize::from(slot) % SLOTS);
        let level = self.level(l);
        let min = level.min(i);
        // SAFETY: its slot says that it is linked there.
        let emptied = unsafe { level.unlink(i, node) };
        if emptied {
            self.note_if_empty(l);
            // Was it what the caller waits for?
            if min == self.next || self.len == 0 {
                self.next = self.earliest();
            }
        }
        true
    }

    /// Takes out all timers whose deadline is not after `now`: as a chain through
    /// [`TimerNode::next`], in the order of their deadlines, equal ones in the order of their
    /// insertion. Null: none.
    ///
    /// Costs a few nanoseconds before `next_event`; otherwise time for each timer that is due, and
    /// for a bounded number of others. Who wants fewer at once (after a long gap) can come with an
    /// earlier `now`, between `next_event` and the clock. A `now` before that of an earlier call is
    /// allowed.
    ///
    /// # Safety
    /// - The caller fires each node of the chain once, and reads its `next` before that.
    pub unsafe fn advance(&mut self, now: u64) -> *mut TimerNode {
        let now = now.min(u64::MAX - 1);
        let from = self.cursor;
        // No slot is left behind, for a slot wholly before `now` is due (invariant 2).
        self.cursor = from.max(now);
        if now < self.next {
            return null_mut();
        }
        let mut due = Due::new();
        // From the finest level up: what is lowered goes to levels that have been dealt with.
        for l in bits(self.occupied) {
            let (first, last) = (unit(l, from), unit(l, self.cursor));
            let mut passed = self.level(l).passed(first, last);
            while passed != 0 {
                let i = index(first + u64::from(passed.trailing_zeros()));
                passed &= passed - 1;
                self.take_due(l, i, now, &mut due);
            }
        }
        self.spread();
        self.next = self.earliest();
        due.finish().first
    }

    /// Takes back what [`advance`](Self::advance) has returned from this node on, for
    /// [`pop_put_back`](Self::pop_put_back): the caller cannot fire more now. Until then these
    /// timers can be removed, and `next_event` says that they are due.
    ///
    /// # Safety
    /// - The chain is one that `advance` or `take_all` of this wheel has returned, or the rest of
    ///   it; none of it was fired, and the lock was held since.
    pub unsafe fn put_back(&mut self, mut chain: *mut TimerNode) {
        while !chain.is_null() {
            let node = chain;
            // SAFETY: not fired, so alive; in no slot, and linked from now on.
            unsafe {
                chain = (*node).next;
                self.put_back.push(node, PUT_BACK);
            }
            self.len += 1;
        }
        self.next = self.next.min(self.put_back.min());
    }

    /// Takes out the first timer that was put back; null if there is none.
    ///
    /// # Safety
    /// - The caller fires it once.
    pub unsafe fn pop_put_back(&mut self) -> *mut TimerNode {
        let node = self.put_back.head();
        if !node.is_null() {
            self.len -= 1;
            // SAFETY: the head is linked.
            unsafe { self.unlink_put_back(node) };
        }
        node
    }

    /// # Safety
    /// `node` is linked in `put_back`.
    unsafe fn unlink_put_back(&mut self, node: *mut TimerNode) {
        // SAFETY: `node` is linked in `put_back` (this function's contract).
        unsafe { self.put_back.unlink(node) };
        if self.put_back.head().is_null() {
            self.next = self.earliest();
        }
    }

    /// Takes out all timers, due or not, also those that never fire: as a chain through
    /// [`TimerNode::next`].
    ///
    /// # Safety
    /// - The caller fires each node of the chain once, and reads its `next` before that.
    pub unsafe fn take_all(&mut self) -> *mut TimerNode {
        let mut first = null_mut();
        let mut take = |mut node: *mut TimerNode| {
            while !node.is_null() {
                // SAFETY: linked: it was in a slot a moment ago.
                unsafe {
                    let next = std::mem::replace(&mut (*node).next, first);
                    (*node).prev = null_mut();
                    (*node).slot = NOWHERE;
                    (first, node) = (node, next);
                }
            }
        };
        take(self.put_back.head());
        for l in bits(self.occupied) {
            for i in 0..SLOTS {
                take(self.level(l).take(i));
            }
        }
        self.len = 0;
        self.restart(self.cursor);
        first
    }

    /// Takes what is due out of a slot and lowers the rest; leaves the slot alone if nothing is.
    fn take_due(&mut self, l: usize, i: usize, now: u64, due: &mut Due) {
        let level = self.level(l);
        if level.min(i) > now {
            return;
        }
        let mut node = level.take(i);
        self.note_if_empty(l);
        let mut slot = Due::new();
        while !node.is_null() {
            let this = node;
            // SAFETY: linked: it was in a slot a moment ago.
            let deadline = unsafe {
                node = (*this).next;
                (*this).deadline
            };
            if deadline <= now {
                self.len -= 1;
                // SAFETY: taken out of its slot; not fired before `advance` has returned it.
                unsafe { slot.push(this) };
            } else {
                // SAFETY: linked, and taken out of its slot.
                unsafe { self.put(this) };
            }
        }
        // SAFETY: each of its nodes was taken out of its slot, and is not fired before `advance`
        // has returned it.
        unsafe { due.push_chain(slot.finish()) };
    }

    /// Lowers what is crowded and may be lowered, the finest first, as far as the pace allows.
    fn spread(&mut self) {
        let Some(since) = self.cursor.checked_sub(self.spread_at) else { return };
        let mut portion = PORTION * (1 + since / PACE).min(ARREARS);
        for l in bits(self.occupied) {
            while let Some(u) = self.overfull(l).filter(|&u| may_lower(l, u) <= self.cursor) {
                let node = self.level(l).pop_from_crowd(index(u));
                // SAFETY: it was linked in a crowded slot, and was taken out of it.
                unsafe { self.put(node) };
                portion -= 1;
                if portion == 0 {
                    self.spread_at = self.cursor.saturating_add(PACE);
                    return;
                }
            }
        }
    }

    /// The unit of the first crowd of a level. Level 0 has none: there is nowhere to lower it to.
    #[inline]
    fn overfull(&self, l: usize) -> Option<u64> {
        self.levels[l].as_ref()?.first_crowded(unit(l, self.cursor)).filter(|_| l > 0)
    }

    /// A level that has nodes.
    #[inline(always)]
    fn level(&mut self, l: usize) -> &mut Level {
        self.levels[l].as_mut().expect("a level with nodes is there")
    }

    /// Puts a node into the slot for its deadline, on the lowest level on which it is less than 128
    /// units away.
    ///
    /// # Safety
    /// - `node` is linked, but for being in no slot.
    #[inline]
    unsafe fn put(&mut self, node: *mut TimerNode) {
        // SAFETY: `node` is linked.
        let key = unsafe { (*node).deadline }.max(self.cursor);
        // At most 2^(6l + 7) away: 128 units, of which the cursor's may be a part. Then it is one
        // level up.
        let mut l = (((key - self.cursor) | 2).ilog2() as usize - 1) / BITS as usize;
        if unit(l, key) - unit(l, self.cursor) >= SLOTS as u64 {
            l += 1;
        }
        let i = index(unit(l, key));
        self.occupied |= 1 << l;
        let level = self.levels[l].get_or_insert_with(Level::new);
        // SAFETY: `node` is linked, and in no slot.
        let overfull = unsafe { level.push(i, node, (l * SLOTS + i) as u16) };
        if overfull && l > 0 {
            self.next = self.next.min(may_lower(l, unit(l, key)).max(self.spread_at));
        }
    }

    /// Clears the bit of a level that has lost its last node.
    #[inline]
    fn note_if_empty(&mut self, l: usize) {
        if self.level(l).is_empty() {
            self.occupied &= !(1 << l);
        }
    }

    /// The time for `next`: the earliest `min`, or the time to spread the first crowd.
    fn earliest(&self) -> u64 {
        let mut earliest = self.put_back.min();
        for l in bits(self.occupied) {
            if let Some(level) = &self.levels[l]
                && let Some(u) = level.first_occupied(unit(l, self.cursor))
            {
                earliest = earliest.min(level.min(index(u)));
            }
            if let Some(u) = self.overfull(l) {
                earliest = earliest.min(may_lower(l, u).max(self.spread_at));
            }
        }
        earliest
    }
}

/// The bits that are set, from the lowest.
fn bits(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// From this time on every node of unit `u` of level `l` can be placed on a lower one.
#[inline]
fn may_lower(l: usize, u: u64) -> u64 {
    let last = u << (BITS * l as u32) | ((1 << (BITS * l as u32)) - 1);
    let reach = (SLOTS as u64 - 1) << (BITS * (l as u32 - 1));
    last.saturating_sub(reach)
}
