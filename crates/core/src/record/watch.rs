//! Who hears of it if a closure is blocked when its runtime ends.
//!
//! While a closure runs, its record holds no payload: the closure was taken out, and the result is
//! not there yet. So who hears of it stands there, and the state word says so, for which a closure
//! has no other use. That is four plain stores for a task; a handle with a waker would be a wake at
//! each end.

use super::header::Header;
use super::{payload, state};
use std::marker::PhantomData;

/// Hears that the task is left whose frame has it.
pub trait Watcher {
    /// The task that has this in a frame was blocked when its runtime ended, and never goes on.
    ///
    /// # Safety
    /// That is so, the task's last step happened before, and this is called once. The calling
    /// thread may be any.
    unsafe fn left(&self);
}

/// What stands in the payload.
#[derive(Debug, Clone, Copy)]
struct Hears {
    who: *const (),
    left: unsafe fn(*const ()),
}

/// The record says who hears of it, as long as this is there.
#[derive(Debug)]
pub(crate) struct Watched<'a>(*mut Header, PhantomData<&'a ()>);

impl<'a> Watched<'a> {
    /// # Safety
    /// The record is of the heap, and that of a closure of no scope, which runs, and ends after
    /// this. Nothing else calls this for it meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn new<W: Watcher>(record: *mut Header, watcher: &'a W) -> Watched<'a> {
        unsafe fn left<W: Watcher>(who: *const ()) {
            // SAFETY: `who` is a `W` (see below). The rest is the contract of `tell`.
            unsafe { (*who.cast::<W>()).left() }
        }
        // SAFETY: the closure runs (this function's contract), so it was taken out of the payload,
        // which has room for two words, as for the payload of a panic. The record lives.
        unsafe {
            payload::put(record, Hears { who: std::ptr::from_ref(watcher).cast(), left: left::<W> });
            state::set_watched((*record).state(), true);
        }
        Watched(record, PhantomData)
    }
}

impl Drop for Watched<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the closure ends after this (contract of `new`), so the record lives.
        unsafe { state::set_watched((*self.0).state(), false) };
    }
}

/// Tells who hears of it that a task is left, if anybody does.
///
/// # Safety
/// The record is that of a task which was blocked when its runtime ended, never goes on, and whose
/// last step happened before. This is called once.
pub(crate) unsafe fn tell(record: *mut Header) {
    // SAFETY: the record of a task that is left stays (`Outcome::Left`). If the task is watched,
    // that was written with its payload, and the watcher stands in a frame of the task, which does
    // not go on (this function's contract). The other promises are those of `left`.
    unsafe {
        if state::is_watched((*record).state()) {
            let Hears { who, left } = *payload::get::<Hears>(record);
            left(who);
        }
    }
}
