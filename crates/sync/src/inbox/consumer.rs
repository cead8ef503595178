//! Who waits at an inbox.

use crate::entry::{Entry, List};
use myriad_core::engine::wait::{Caller, Waiter, WakerWord};
use std::ptr::null_mut;
use std::task::Waker;

/// Who waits: nobody, one who blocks, or a future. In one word, for it is part of each actor.
///
/// **Invariant.** The word is null; or the address of the first entry of a [`List`], whose length
/// is 1 if there is one consumer; or the word of a waker, which is no address of an entry.
pub(super) struct Consumer<T>(*mut Entry<T>);

// SAFETY: reached under the inbox's lock, as are the entries, whose slots go from thread to thread;
// a waker may be woken on any thread.
unsafe impl<T: Send> Send for Consumer<T> {}

const _: () = crate::values::no_drop_glue::<Consumer<String>>();

/// Who has waited, and is in no list any more.
pub(super) enum Claimed<T> {
    /// The entry is live until it is ended.
    Blocked(*mut Entry<T>, Waiter),
    Future(WakerWord),
}

impl<T> Claimed<T> {
    /// With `end`, which fills and ends the entry of one who blocks.
    pub(super) fn ended(self, end: impl FnOnce(*mut Entry<T>)) -> ToWake {
        match self {
            Claimed::Blocked(entry, waiter) => {
                end(entry);
                ToWake::Blocked(waiter)
            }
            Claimed::Future(waker) => ToWake::Future(waker),
        }
    }
}

/// Who has waited, and is to be woken.
pub(super) enum ToWake {
    Blocked(Waiter),
    Future(WakerWord),
}

impl ToWake {
    /// Wakes it. Not under a lock.
    ///
    /// # Safety
    /// It was claimed, and was not woken yet.
    pub(super) unsafe fn wake(self, caller: Caller) {
        match self {
            // SAFETY: this function's contract.
            ToWake::Blocked(waiter) => unsafe { caller.wake(waiter) },
            ToWake::Future(waker) => waker.wake(),
        }
    }
}

impl<T> Consumer<T> {
    pub(super) const fn new() -> Consumer<T> {
        Consumer(null_mut())
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    #[inline(always)]
    fn is_future(&self) -> bool {
        WakerWord::is_raw(self.0.cast())
    }

    /// Is it the future with this waker?
    pub(super) fn is_with(&self, waker: &Waker) -> bool {
        // SAFETY: the word is that of a waker. The one made here is neither woken nor discarded.
        self.is_future() && unsafe { WakerWord::from_raw(self.0.cast()) }.will_wake(waker)
    }

    /// The future waits no longer, if one does.
    #[inline(always)]
    pub(super) fn take_future(&mut self) -> Option<WakerWord> {
        self.is_future().then(|| {
            let word = std::mem::replace(&mut self.0, null_mut());
            // SAFETY: the word is that of a waker, and is in its place no longer.
            unsafe { WakerWord::from_raw(word.cast()) }
        })
    }

    /// A future waits, where nobody does.
    #[inline(always)]
    pub(super) fn set_future(&mut self, waker: WakerWord) {
        debug_assert!(self.is_empty(), "a consumer takes the place of another");
        self.0 = waker.into_raw().cast();
    }

    /// The list of those who block.
    #[inline(always)]
    fn with_list<R>(&mut self, f: impl FnOnce(&mut List<T>) -> R) -> R {
        debug_assert!(!self.is_future(), "a waker is taken for an entry");
        let mut list = List::of_first(self.0);
        let result = f(&mut list);
        self.0 = list.first();
        result
    }

    /// This one blocks.
    ///
    /// # Safety
    /// The entry is live and in no list, stays where it is while linked, and the inbox is locked.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, entry: *mut Entry<T>, waiter: Waiter) {
        // (A future of the one consumer that has waited was forgotten: its waker leaks with it.)
        _ = self.take_future();
        // SAFETY: this function's contract.
        self.with_list(|list| unsafe { list.push(entry, waiter) });
    }

    /// This one blocks no longer.
    ///
    /// # Safety
    /// It is linked here, and the inbox is locked.
    pub(super) unsafe fn remove(&mut self, entry: *mut Entry<T>) -> Waiter {
        // SAFETY: this function's contract. (No future has taken a linked entry's place.)
        self.with_list(|list| unsafe { list.remove(entry) })
    }

    /// Takes out who waits, and decides that the caller ends the wait.
    ///
    /// # Safety
    /// The inbox is locked.
    #[inline(always)]
    pub(super) unsafe fn claim(&mut self) -> Option<Claimed<T>> {
        if self.is_empty() {
            return None;
        }
        if let Some(waker) = self.take_future() {
            return Some(Claimed::Future(waker));
        }
        // SAFETY: this function's contract.
        let claimed = self.with_list(|list| unsafe { list.claim_first() });
        claimed.map(|(entry, waiter)| Claimed::Blocked(entry, waiter))
    }
}
