//! One level of the wheel: 128 slots of one width, each a list of nodes in the order in which they
//! came.
//!
//! **Invariants.** Bit `i` of `occupied` is set exactly if slot `i` has a node, and of `crowded`
//! exactly if it has more than [`CROWD`]. A slot's `min` is never later than the deadlines in it,
//! and `u64::MAX` if it is empty. It may be too early, since `unlink` and `pop` do not look for the
//! next one.
//!
//! **Who may touch what.** A node in a slot belongs to the level: it is alive, is not moved, and
//! its links are written by nobody else. That is the contract of
//! [`Wheel::insert`](super::Wheel::insert), called *linked* in the comments here.

use super::node::{NOWHERE, TimerNode};
use std::ptr::null_mut;

/// Slots of a level: twice the base of the wheel, so that the next round of a level can be filled
/// during this one.
pub(super) const SLOTS: usize = 128;
/// More nodes than this in one slot are moved down before it is their time, in portions.
pub(super) const CROWD: u32 = 64;

/// The nodes of one stretch of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    head: *mut TimerNode,
    tail: *mut TimerNode,
    min: u64,
    count: u32,
}

impl Slot {
    pub(super) const EMPTY: Slot = Slot { head: null_mut(), tail: null_mut(), min: u64::MAX, count: 0 };

    /// Its first node; null if there is none.
    #[inline(always)]
    pub(super) const fn head(&self) -> *mut TimerNode {
        self.head
    }

    /// A time not after any deadline in it; `u64::MAX` if there is none.
    #[inline(always)]
    pub(super) const fn min(&self) -> u64 {
        self.min
    }

    /// Puts `node` at the end.
    ///
    /// # Safety
    /// - `node` is alive and in no slot, and from now on linked (see the module's header).
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, node: *mut TimerNode, number: u16) {
        // SAFETY: `node` is alive and in no slot (this function's contract): from here on it is
        // this level's.
        let deadline = unsafe {
            (*node).next = null_mut();
            (*node).prev = self.tail;
            (*node).slot = number;
            (*node).deadline
        };
        if self.tail.is_null() {
            self.head = node;
        } else {
            // SAFETY: the tail is linked.
            unsafe { (*self.tail).next = node };
        }
        self.tail = node;
        self.min = self.min.min(deadline);
        self.count += 1;
    }

    /// Takes `node` out.
    ///
    /// # Safety
    /// - `node` is linked in this slot.
    #[inline(always)]
    pub(super) unsafe fn unlink(&mut self, node: *mut TimerNode) {
        // SAFETY: `node` is linked.
        let (next, prev) = unsafe {
            (*node).slot = NOWHERE;
            ((*node).next, (*node).prev)
        };
        if prev.is_null() {
            self.head = next;
        } else {
            // SAFETY: the neighbour of a linked node is linked.
            unsafe { (*prev).next = next };
        }
        if next.is_null() {
            self.tail = prev;
        } else {
            // SAFETY: the neighbour of a linked node is linked.
            unsafe { (*next).prev = prev };
        }
        self.count -= 1;
        if self.count == 0 {
            self.min = u64::MAX;
        }
    }

    /// Checks the list; returns its nodes.
    #[cfg(test)]
    pub(super) fn check(&self) -> Vec<*mut TimerNode> {
        let (mut nodes, mut prev, mut node) = (Vec::new(), null_mut(), self.head);
        while !node.is_null() {
            // SAFETY: linked; a test has one thread.
            let (its_prev, next) = unsafe { ((*node).prev, (*node).next) };
            assert_eq!(its_prev, prev);
            nodes.push(node);
            (prev, node) = (node, next);
        }
        assert_eq!(self.tail, prev);
        assert_eq!(self.count as usize, nodes.len());
        assert!(!nodes.is_empty() || self.min == u64::MAX);
        nodes
    }
}

/// See the module's header.
#[derive(Debug)]
pub(super) struct Level {
    occupied: u128,
    crowded: u128,
    slots: [Slot; SLOTS],
}

/// The first unit not before `from` whose slot has its bit set, where all set bits are of units in
/// `from .. from + 128`.
#[inline]
fn first(bits: u128, from: u64) -> Option<u64> {
    (bits != 0).then(|| from + u64::from(bits.rotate_right(index(from) as u32).trailing_zeros()))
}

/// The slot of a unit.
#[inline(always)]
pub(super) fn index(unit: u64) -> usize {
    unit as usize % SLOTS
}

impl Level {
    pub(super) fn new() -> Box<Level> {
        Box::new(Level { occupied: 0, crowded: 0, slots: [Slot::EMPTY; SLOTS] })
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// A time not after any deadline in slot `i`; `u64::MAX` if there is none.
    #[inline(always)]
    pub(super) fn min(&self, i: usize) -> u64 {
        self.slots[i].min
    }

    /// The first unit not before `from`, the wheel's own, that has nodes.
    #[inline]
    pub(super) fn first_occupied(&self, from: u64) -> Option<u64> {
        first(self.occupied, from)
    }

    /// The same for a crowd.
    #[inline]
    pub(super) fn first_crowded(&self, from: u64) -> Option<u64> {
        first(self.crowded, from)
    }

    /// The slots with nodes from unit `from` to unit `to`, both included; bit 0 is that of `from`.
    #[inline]
    pub(super) fn passed(&self, from: u64, to: u64) -> u128 {
        let bits = self.occupied.rotate_right(index(from) as u32);
        match to - from {
            span @ 0..=126 => bits & ((1 << (span + 1)) - 1),
            _ => bits,
        }
    }

    /// Puts `node` at the end of slot `i`. True: this has made it a crowd.
    ///
    /// # Safety
    /// - `node` is alive and in no slot, and from now on linked (see the module's header).
    #[inline]
    pub(super) unsafe fn push(&mut self, i: usize, node: *mut TimerNode, number: u16) -> bool {
        let slot = &mut self.slots[i];
        // SAFETY: `node` is alive and in no slot, and from now on linked (this function's
        // contract).
        unsafe { slot.push(node, number) };
        self.occupied |= 1 << i;
        let overfull = slot.count == CROWD + 1;
        if overfull {
            self.crowded |= 1 << i;
        }
        overfull
    }

    /// Takes `node` out of slot `i`. True: the slot is empty now.
    ///
    /// # Safety
    /// - `node` is linked in slot `i` of this level.
    #[inline]
    pub(super) unsafe fn unlink(&mut self, i: usize, node: *mut TimerNode) -> bool {
        let slot = &mut self.slots[i];
        // SAFETY: `node` is linked in slot `i` of this level (this function's contract).
        unsafe { slot.unlink(node) };
        if slot.count == CROWD {
            self.crowded &= !(1 << i);
        }
        if slot.count == 0 {
            self.occupied &= !(1 << i);
        }
        slot.count == 0
    }

    /// Takes the first node out of slot `i` while it is a crowd; null if it is none.
    #[inline]
    pub(super) fn pop_from_crowd(&mut self, i: usize) -> *mut TimerNode {
        if self.crowded & (1 << i) == 0 {
            return null_mut();
        }
        let node = self.slots[i].head;
        // SAFETY: the slot is crowded, so it has a head, and what is in it is linked.
        unsafe { self.unlink(i, node) };
        node
    }

    /// Takes all nodes out of slot `i`, as a chain through `next`. Their `slot` is left as it was.
    #[inline]
    pub(super) fn take(&mut self, i: usize) -> *mut TimerNode {
        self.occupied &= !(1 << i);
        self.crowded &= !(1 << i);
        std::mem::replace(&mut self.slots[i], Slot::EMPTY).head
    }

    /// Checks slot `i`: its nodes, and its `min`.
    #[cfg(test)]
    pub(super) fn check(&self, i: usize) -> (Vec<*mut TimerNode>, u64) {
        let slot = &self.slots[i];
        let nodes = slot.check();
        assert_eq!(self.occupied >> i & 1 == 1, !nodes.is_empty());
        assert_eq!(self.crowded >> i & 1 == 1, nodes.len() > CROWD as usize);
        (nodes, slot.min)
    }
}
