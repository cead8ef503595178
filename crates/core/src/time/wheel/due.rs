//! Brings the nodes that `advance` takes out into the order of their deadlines.
//!
//! They come slot by slot, so mostly in long ascending runs: a run is cut where a node comes before the one in front of
//! it, and runs are merged pairwise, like the digits of a binary counter being added up (a list sort without recursion
//! and without memory). One run costs one comparison a node; n runs cost `log2(n)` for each.
//!
//! **Who may touch what.** A node in here has been taken out of its slot and has not been fired: by the contract of
//! [`Wheel::insert`](super::Wheel::insert) it is alive and only the wheel writes to its links. Called *taken* below.

use super::node::{NOWHERE, TimerNode};
use std::ptr::null_mut;

/// Runs are added up in this many places; what does not fit any more is merged into the last.
const PLACES: usize = 24;

/// See the module's header.
#[derive(Debug)]
pub(super) struct Due {
    /// First and last node of the run that is growing; null if there is none.
    head: *mut TimerNode,
    tail: *mut TimerNode,
    /// Place `i` holds `2^i` runs merged into one, or null.
    merged: [*mut TimerNode; PLACES],
    /// Places in use: from here on all are null.
    places: usize,
}

impl Due {
    pub(super) const fn new() -> Due {
        Due { head: null_mut(), tail: null_mut(), merged: [null_mut(); PLACES], places: 0 }
    }

    /// Adds a node.
    ///
    /// # Safety
    /// - `node` is taken (see the module's header), and in no chain that is still looked at.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: *mut TimerNode) {
        // SAFETY: taken.
        unsafe {
            (*node).next = null_mut();
            (*node).prev = null_mut();
            (*node).place = NOWHERE;
        }
        if !self.tail.is_null() {
            // SAFETY: both are taken.
            let cut = unsafe { TimerNode::before(node, self.tail) };
            if !cut {
                // SAFETY: the tail is taken.
                unsafe { (*self.tail).next = node };
                self.tail = node;
                return;
            }
            self.end_run();
        }
        (self.head, self.tail) = (node, node);
    }

    /// Adds the growing run to the merged ones.
    fn end_run(&mut self) {
        let mut run = self.head;
        let mut place = 0;
        while place < self.places && !self.merged[place].is_null() {
            // SAFETY: all nodes in here are taken; each is in one run.
            run = unsafe { merge(std::mem::replace(&mut self.merged[place], null_mut()), run) };
            place += 1;
        }
        let place = place.min(PLACES - 1);
        self.merged[place] = run;
        self.places = self.places.max(place + 1);
    }

    /// All nodes that were pushed, in order, as a chain through `next`.
    #[inline]
    pub(super) fn finish(mut self) -> *mut TimerNode {
        if self.places == 0 {
            return self.head;
        }
        self.end_run();
        let mut all = null_mut();
        for &run in &self.merged[..self.places] {
            // SAFETY: all nodes in here are taken; each is in one run.
            all = unsafe { merge(run, all) };
        }
        all
    }
}

/// One ordered chain out of two.
///
/// # Safety
/// - All nodes of both are taken, and no node is in both.
unsafe fn merge(mut a: *mut TimerNode, mut b: *mut TimerNode) -> *mut TimerNode {
    let mut head: *mut TimerNode = null_mut();
    let mut end: *mut *mut TimerNode = &raw mut head;
    while !a.is_null() && !b.is_null() {
        // SAFETY: both are taken.
        let b_first = unsafe { TimerNode::before(b, a) };
        let from = if b_first { &mut b } else { &mut a };
        let node = *from;
        // SAFETY: `end` is `head` or the `next` of a node passed before, which is taken; so is `node`.
        unsafe {
            *end = node;
            *from = (*node).next;
            end = &raw mut (*node).next;
        }
    }
    // SAFETY: as above.
    unsafe { *end = if a.is_null() { b } else { a } };
    head
}
