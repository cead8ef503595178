//! Brings the nodes that `advance` takes out into the order of their deadlines.
//!
//! A run is cut where a node comes before the one in front of it, and runs are merged pairwise,
//! like the digits of a binary counter being added up (a list sort without recursion and without
//! memory). One run costs one comparison a node; n runs cost `log2(n)` for each.
//!
//! Each slot is sorted by itself, while its nodes are in the cache, and the slots of a level, which
//! follow each other in time, are put together as chains: so the second sort has about one run for
//! each level. (Sorting all at once took 2.7 us for each of a million timers within 1 s; this takes
//! 0.3 us.)
//!
//! **Who may touch what.** A node in here has been taken out of its slot and has not been fired: by
//! the contract of [`Wheel::insert`](super::Wheel::insert) it is alive and only the wheel writes to
//! its links. Called *taken* below.

use super::node::{NOWHERE, TimerNode};
use std::ptr::null_mut;

/// Runs are added up in this many bins; what does not fit any more is merged into the last.
const BINS: usize = 24;

/// Nodes in order, linked through `next`; both null if there are none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    pub(super) first: *mut TimerNode,
    last: *mut TimerNode,
}

impl Chain {
    const EMPTY: Chain = Chain { first: null_mut(), last: null_mut() };
}

/// See the module's header.
#[derive(Debug)]
pub(super) struct Due {
    /// The run that is growing.
    run: Chain,
    /// Bin `i` holds `2^i` runs merged into one, or null.
    merged: [*mut TimerNode; BINS],
    /// Places in use: from here on all are null.
    bins: usize,
    /// The last of all nodes in `merged`.
    last: *mut TimerNode,
}

impl Due {
    pub(super) const fn new() -> Due {
        Due { run: Chain::EMPTY, merged: [null_mut(); BINS], bins: 0, last: null_mut() }
    }

    /// Adds a node.
    ///
    /// # Safety
    /// - `node` is taken (see the module's header), and in no chain that is still looked at.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: *mut TimerNode) {
        // SAFETY: `node` is taken.
        unsafe {
            (*node).next = null_mut();
            (*node).prev = null_mut();
            (*node).slot = NOWHERE;
        }
        // SAFETY: `node` is taken, and a chain by itself.
        unsafe { self.push_chain(Chain { first: node, last: node }) };
    }

    /// Adds nodes that are in order.
    ///
    /// # Safety
    /// - All nodes of the chain are taken, and in no other that is still looked at.
    #[inline]
    pub(super) unsafe fn push_chain(&mut self, chain: Chain) {
        if chain.first.is_null() {
            return;
        }
        if self.run.first.is_null() {
            self.run = chain;
            return;
        }
        // SAFETY: both nodes are taken.
        if unsafe { TimerNode::before(chain.first, self.run.last) } {
            self.end_run();
            self.run = chain;
            return;
        }
        // SAFETY: the last node of the run is taken.
        unsafe { (*self.run.last).next = chain.first };
        self.run.last = chain.last;
    }

    /// Adds the growing run to the merged ones.
    fn end_run(&mut self) {
        // SAFETY: all nodes in here are taken.
        if self.last.is_null() || unsafe { TimerNode::before(self.last, self.run.last) } {
            self.last = self.run.last;
        }
        let mut run = self.run.first;
        let mut bin = 0;
        while bin < self.bins && !self.merged[bin].is_null() {
            // SAFETY: all nodes in here are taken; each is in one run.
            run = unsafe { merge(std::mem::replace(&mut self.merged[bin], null_mut()), run) };
            bin += 1;
        }
        let bin = bin.min(BINS - 1);
        self.merged[bin] = run;
        self.bins = self.bins.max(bin + 1);
    }

    /// All nodes that were pushed, in order.
    #[inline]
    pub(super) fn finish(mut self) -> Chain {
        if self.bins == 0 {
            return self.run;
        }
        self.end_run();
        let mut first = null_mut();
        for &run in &self.merged[..self.bins] {
            // SAFETY: all nodes in here are taken; each is in one run.
            first = unsafe { merge(run, first) };
        }
        Chain { first, last: self.last }
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
        // SAFETY: both nodes are taken.
        let b_first = unsafe { TimerNode::before(b, a) };
        let from = if b_first { &mut b } else { &mut a };
        let node = *from;
        // SAFETY: `end` is `head` or the `next` of a node passed before, which is taken; so is
        // `node`.
        unsafe {
            *end = node;
            *from = (*node).next;
            end = &raw mut (*node).next;
        }
    }
    // SAFETY: `end` is `head` or the `next` of a node that was passed, which is taken.
    unsafe { *end = if a.is_null() { b } else { a } };
    head
}
