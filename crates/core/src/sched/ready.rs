//! A worker's ring of blocked tasks that are ready to go on: first in, first out, owner only.

use super::node::Node;
use std::ptr::null_mut;

/// Grows by doubling; never shrinks.
#[derive(Debug)]
pub struct Ready {
    slots: Box<[*mut Node]>,
    first: usize,
    end: usize,
}

impl Default for Ready {
    fn default() -> Self {
        Ready { slots: vec![null_mut(); 64].into(), first: 0, end: 0 }
    }
}

impl Ready {
    /// The slot of a position.
    #[inline(always)]
    fn slot(&mut self, position: usize) -> &mut *mut Node {
        let mask = self.slots.len() - 1;
        // SAFETY: the length is a power of two (64, then doubled), so a masked position is within it.
        unsafe { self.slots.get_unchecked_mut(position & mask) }
    }

    /// Adds a node behind all others.
    #[inline(always)]
    pub fn push(&mut self, node: *mut Node) {
        if self.end - self.first == self.slots.len() {
            self.grow();
        }
        *self.slot(self.end) = node;
        self.end += 1;
    }

    /// Takes the first node; null if there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> *mut Node {
        if self.first == self.end {
            return null_mut();
        }
        let node = *self.slot(self.first);
        self.first += 1;
        if self.end - self.first > 3 {
            prefetch(*self.slot(self.first + 3));
        }
        node
    }

    /// Is there none?
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.slots.len();
        let mut slots = vec![null_mut(); old * 2];
        for (to, slot) in slots.iter_mut().enumerate().take(old) {
            *slot = self.slots[(self.first + to) & (old - 1)];
        }
        (self.slots, self.first, self.end) = (slots.into(), 0, old);
    }
}

/// The stack of a task that will soon go on: its line and the next below, where the saved registers are. With ten
/// thousand cold stacks a hop is 25 instead of some 60 ns.
#[inline(always)]
fn prefetch(node: *mut Node) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on the caches, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(node.cast());
        _mm_prefetch::<_MM_HINT_T0>(node.cast::<i8>().wrapping_sub(64));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = node;
}
