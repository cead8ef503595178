//! A task or thread that is blocked at a channel: its wait and its entry, side by side, so that a
//! cancellation finds both.

use super::chan::{Chan, Side};
use super::entry::Entry;
use myriad_core::engine::wait::{BEHIND_WAIT, Caller, Parked, Wait, WaitReason};

/// Stands on the stack of who waits. The wait comes first: see [`Wait::on_cancel`].
#[repr(C)]
pub(super) struct BlockedEnd<T> {
    pub(super) wait: Wait,
    /// Behind the wait, where a dump looks for it.
    chan: *const Chan<T>,
    pub(super) entry: Entry<T>,
}

/// What who waits on this side waits for.
fn reason(side: &Side) -> WaitReason {
    match side {
        Side::Send => WaitReason::Send,
        Side::Receive => WaitReason::Recv,
    }
}

impl<T> BlockedEnd<T> {
    /// Without a time limit.
    #[inline(always)]
    pub(super) fn new(caller: Caller, chan: &Chan<T>, side: Side) -> BlockedEnd<T> {
        const { assert!(std::mem::offset_of!(BlockedEnd<T>, chan) == BEHIND_WAIT || cfg!(loom)) };
        let blocked = BlockedEnd { wait: caller.wait(reason(&side)), chan, entry: Entry::new() };
        let ends = match side {
            Side::Send => end::<T, true>,
            Side::Receive => end::<T, false>,
        };
        // SAFETY: the wait is the first field of a `BlockedEnd` for good (checked in `end`), at
        // this side of its channel, which its owner keeps while it waits.
        unsafe { blocked.wait.on_cancel(ends) };
        blocked
    }

    /// With one.
    pub(super) fn timed(caller: Caller, chan: &Chan<T>, side: Side) -> BlockedEnd<T> {
        BlockedEnd { wait: caller.timed_wait(reason(&side)).cancellable(), chan, entry: Entry::new() }
    }

    /// With a deadline, if there is one.
    pub(super) fn until(deadline: bool, caller: Caller, chan: &Chan<T>, side: Side) -> BlockedEnd<T> {
        if deadline { BlockedEnd::timed(caller, chan, side) } else { BlockedEnd::new(caller, chan, side) }
    }

    /// What is blocked on: the wait, by a pointer to all that stands here, which `end` looks at.
    #[inline(always)]
    pub(super) fn whole(&self) -> *const Wait {
        std::ptr::from_ref(self).cast()
    }

    /// Where it stands in the channel's list.
    #[inline(always)]
    pub(super) fn at(&self) -> *mut Entry<T> {
        (&raw const self.entry).cast_mut()
    }
}

/// The waiting task is cancelled: takes it off the channel's list. False: somebody has ended its
/// wait already.
///
/// # Safety
/// The waiting task is blocked, and does not go on before this returns; no lock is held. `node` is
/// that of a `BlockedEnd`, which waits at this side of its channel.
unsafe fn end<T, const SEND: bool>(node: *const Parked) -> bool {
    const { assert!(std::mem::offset_of!(BlockedEnd<T>, wait) == 0) };
    let blocked = node.cast::<BlockedEnd<T>>();
    let side = if SEND { Side::Send } else { Side::Receive };
    // SAFETY: the task does not go on before this returns (this function's contract): so the
    // `BlockedEnd` in its frame stands, and its channel, which the task keeps. The entry is in no
    // list but that of this side.
    unsafe { (*(*blocked).chan).give_up(Caller::get(), (*blocked).at(), side).is_some() }
}
