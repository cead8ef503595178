//! A timer as the wheel sees it: a node that lives in its waiter, on a blocked stack or in a pinned
//! future.
//!
//! ```text
//!  0      8      16         24     32    36      38     40
//!  next   prev   deadline   data   seq   slot    fire
//! ```

use std::marker::PhantomPinned;
use std::ptr::null_mut;

/// In `slot`: in no slot.
pub(super) const NOWHERE: u16 = u16::MAX;

/// One timer. `data` and `fire` are the caller's words, which the wheel never looks at; the rest is
/// the wheel's.
#[repr(C)]
#[derive(Debug)]
pub struct TimerNode {
    /// The next node of the slot, or of the chain that `advance` has returned.
    pub(super) next: *mut TimerNode,
    /// The node before it in the slot.
    pub(super) prev: *mut TimerNode,
    /// In nanoseconds of the wheel's clock.
    pub(super) deadline: u64,
    /// What to wake; the caller's.
    pub data: *mut (),
    /// Number of the insertion: the order of equal deadlines.
    pub(super) seq: u32,
    /// Level and slot, or [`NOWHERE`].
    pub(super) slot: u16,
    /// How to wake it; the caller's.
    pub fire: u16,
    /// Others point to a node, so what contains it must not be moved.
    _pinned: PhantomPinned,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TimerNode>() == 40);

impl TimerNode {
    /// A node in no wheel.
    pub const fn new(data: *mut (), fire: u16) -> TimerNode {
        let (next, prev) = (null_mut(), null_mut());
        TimerNode { next, prev, deadline: 0, data, seq: 0, slot: NOWHERE, fire, _pinned: PhantomPinned }
    }

    /// Is it in no wheel? Under the lock of the wheel that it was put into.
    pub const fn is_nowhere(&self) -> bool {
        self.slot == NOWHERE
    }

    /// The node after `this` in the chain that [`Wheel::advance`](super::Wheel::advance) has
    /// returned; null at its end. Ask *before* `this` is fired: from then on it may be gone.
    ///
    /// # Safety
    /// - `this` is in such a chain and has not been fired.
    #[inline(always)]
    pub unsafe fn next(this: *const TimerNode) -> *mut TimerNode {
        // SAFETY: a node in the chain is alive until it is fired (the contract of `insert`), and it
        // has not been.
        unsafe { (*this).next }
    }

    /// Is `a` to fire before `b`? Deadline first, then insertion; the number wraps, so two equal
    /// deadlines with 2^31 insertions between them come in any order.
    ///
    /// # Safety
    /// - Both are alive and nobody else writes to them.
    #[inline(always)]
    pub(super) unsafe fn before(a: *const TimerNode, b: *const TimerNode) -> bool {
        // SAFETY: `a` and `b` are alive, and nobody writes to them meanwhile (this function's
        // contract).
        let (a, b) = unsafe { (&*a, &*b) };
        a.deadline < b.deadline || (a.deadline == b.deadline && (a.seq.wrapping_sub(b.seq) as i32) < 0)
    }
}
