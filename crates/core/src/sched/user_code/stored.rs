//! Users' values and wakers in the engine's hands: without drop glue.

use crate::sched::unwind::Payload;
use crate::sched::waker;
use crate::sched::worker::Role;
use std::fmt;
use std::mem::ManuallyDrop;
use std::task::Waker;

/// A value of the user's that the engine keeps. It is handed out by [`give`](Self::give), or
/// dropped through the door; dropping the `UserValue` itself does nothing.
#[repr(transparent)]
#[must_use = "a value that is neither given nor dropped through the door leaks"]
pub struct UserValue<T: ?Sized>(ManuallyDrop<T>);

impl<T> UserValue<T> {
    /// Keeps the value.
    #[inline(always)]
    pub const fn new(value: T) -> UserValue<T> {
        UserValue(ManuallyDrop::new(value))
    }

    /// The value, for the user's code.
    #[inline(always)]
    pub fn give(self) -> T {
        ManuallyDrop::into_inner(self.0)
    }

    /// The value, out of a place that is not used any more.
    ///
    /// # Safety
    /// Nobody gives, drops or looks at the value in this place afterwards.
    #[inline(always)]
    pub unsafe fn take(&mut self) -> T {
        // SAFETY: the value is in its place, and is taken out of it once: nobody uses the place
        // afterwards.
        unsafe { ManuallyDrop::take(&mut self.0) }
    }

    /// Drops the value through the door; in a model as it is, for a model has no marks of threads.
    ///
    /// # Errors
    /// The destructor panicked, with this payload.
    #[inline]
    pub fn drop_value(self) -> Result<(), Payload> {
        let drops = move || drop(self.give());
        match std::mem::needs_drop::<T>() {
            true if cfg!(loom) => drops(),
            true => return super::call(drops),
            false => {}
        }
        Ok(())
    }

    /// Drops the value through the door, where nobody can receive the destructor's panic: it is
    /// reported. `what` names the value.
    #[inline]
    pub fn discard(self, what: &str) {
        if std::mem::needs_drop::<T>() {
            run(what, move || drop(self.give()));
        }
    }
}

impl<T: ?Sized> UserValue<T> {
    /// Looks at the value. What the user's code does with the reference it does under the caller's
    /// locks, so nothing of it may be called there.
    #[inline(always)]
    pub fn peek(&self) -> &T {
        &self.0
    }

    /// The value in place.
    #[inline(always)]
    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Drops the value where it is, through the door.
    ///
    /// # Errors
    /// The destructor panicked, with this payload.
    ///
    /// # Safety
    /// Nobody gives, drops or looks at the value in this place afterwards.
    #[inline]
    pub unsafe fn drop_in_place(&mut self) -> Result<(), Payload> {
        // SAFETY: the value is in its place, and nobody uses the place afterwards (this function's
        // contract).
        unsafe { super::drop_in_place(&raw mut *self.0) }
    }
}

impl<T: ?Sized> fmt::Debug for UserValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserValue")
    }
}

/// A waker that the engine keeps. It is woken or discarded through the door; dropping the
/// `StoredWaker` itself does nothing.
#[repr(transparent)]
#[must_use = "a waker that is neither woken nor discarded leaks"]
pub struct StoredWaker(ManuallyDrop<Waker>);

impl StoredWaker {
    /// Keeps this waker.
    #[inline(always)]
    pub const fn new(waker: Waker) -> StoredWaker {
        StoredWaker(ManuallyDrop::new(waker))
    }

    /// Keeps a clone. The clone is user code, whose panic is the caller's: so it is made before
    /// anything is locked or changed.
    #[inline(always)]
    pub fn clone_of(waker: &Waker) -> StoredWaker {
        StoredWaker::new(waker.clone())
    }

    /// Is it one of the engine's own wakers, which neither wait nor panic?
    #[inline(always)]
    pub fn is_ours(&self) -> bool {
        waker::is_ours(&self.0)
    }

    /// Would it wake the same task as this one?
    #[inline(always)]
    pub fn will_wake(&self, waker: &Waker) -> bool {
        self.0.will_wake(waker)
    }

    /// The waker itself, for the user's code.
    #[inline(always)]
    pub fn give(self) -> Waker {
        ManuallyDrop::into_inner(self.0)
    }

    /// Wakes. A panic of a foreign waker is reported.
    #[inline(always)]
    pub fn wake(self) {
        if self.is_ours() { self.give().wake() } else { self.wake_foreign() }
    }

    /// Wakes, for a caller that has a role.
    #[inline(always)]
    pub(crate) fn wake_as(self, w: Role) -> Role {
        if !self.is_ours() {
            return self.wake_foreign_as(w);
        }
        self.give().wake();
        w
    }

    /// Drops the waker.
    #[inline(always)]
    pub fn discard(self) {
        if self.is_ours() { drop(self.give()) } else { self.discard_foreign() }
    }

    // Apart, so that our own wakers cost one comparison, and no registers of the function around
    // it.

    #[cold]
    #[inline(never)]
    fn wake_foreign(self) {
        run(WAKER, || self.give().wake());
    }

    #[cold]
    #[inline(never)]
    fn wake_foreign_as(self, w: Role) -> Role {
        super::run_as(Some(w), WAKER, || self.give().wake()).expect("a worker stays one")
    }

    #[cold]
    #[inline(never)]
    fn discard_foreign(self) {
        run(WAKER, || drop(self.give()));
    }
}

const WAKER: &str = "a waker";

/// Through the door. In a model the code is called as it is: what it finds wrong is the model's to
/// hear, and threads have no marks of their own there.
fn run(what: &str, f: impl FnOnce()) {
    if cfg!(loom) { f() } else { super::run(what, f) }
}

impl fmt::Debug for StoredWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredWaker")
    }
}
