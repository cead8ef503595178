//! What an arm is, and several of them: the tuples that `select!` makes.

use super::order;
use myriad_core::engine::wait::{Caller, MultiWait};
use myriad_core::time::Instant;
use std::convert::Infallible;
use std::task::Waker;

/// One of the things that a [select](mod@super) waits for.
///
/// This library's types implement it: [`RecvArm`](crate::channel::RecvArm),
/// [`SendArm`](crate::channel::SendArm), what [`after`](super::after), [`join`](super::join) and
/// [`future`](super::future) return; and an `Option` of an arm, which is never ready if it is
/// `None`. Its methods are the select's.
///
/// # Safety
/// For implementors: an arm that was linked may move, and be freed, after `unlink`, and after it
/// was dropped.
pub unsafe trait Arm {
    /// What it brings when it wins.
    type Output;

    /// Does it now, if that is possible. A future is polled only if there is a waker for it.
    ///
    /// # Safety
    /// It is not linked. With a waker: it does not move any more until it is dropped.
    #[doc(hidden)]
    unsafe fn attempt(&mut self, caller: Caller, waker: Option<&Waker>) -> Option<Self::Output>;

    /// As [`attempt`](Self::attempt), in one of several passes; adds a number to `seen`, which is
    /// read before or with the attempt. The number has grown if the arm may have been ready for a
    /// while since the pass before. Arms that stay ready once they are need none.
    ///
    /// # Safety
    /// It is not linked. With a waker: it does not move any more until it is dropped.
    #[doc(hidden)]
    unsafe fn reattempt(&mut self, caller: Caller, waker: Option<&Waker>, seen: &mut u64) -> Option<Self::Output> {
        _ = seen;
        // SAFETY: it is not linked, and with a waker it does not move any more (this method's
        // contract).
        unsafe { self.attempt(caller, waker) }
    }

    /// Does it now, if that is possible and the wait is not over, which it then ends; or begins to
    /// wait for it.
    ///
    /// # Safety
    /// It is not linked, and does not move until `unlink` or the destructor has returned. `me` is
    /// alive until then, or over.
    #[doc(hidden)]
    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        _ = (caller, me);
        Link::Linked
    }

    /// Waits no more, and says what it brings if it has won.
    #[doc(hidden)]
    fn unlink(&mut self, caller: Caller) -> Option<Self::Output> {
        _ = caller;
        None
    }

    /// Waits no more: if it was done meanwhile, and can be undone, undoes it.
    #[doc(hidden)]
    fn abandon(&mut self, caller: Caller) {
        _ = caller;
    }

    /// When it should be attempted again, at the latest.
    #[doc(hidden)]
    fn deadline(&mut self) -> Option<Instant> {
        None
    }

    /// Has it to be polled?
    #[doc(hidden)]
    fn needs_polling(&self) -> bool {
        false
    }
}

/// What became of entering a list.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It waits.
    Linked,
    /// It is done, and the wait is over.
    Done,
    /// The wait was ended by somebody else.
    Over,
}

// SAFETY: the content is unlinked when its own `unlink` or destructor has returned; this adds
// nothing that is linked.
unsafe impl<A: Arm> Arm for Option<A> {
    type Output = A::Output;
    #[inline(always)]
    unsafe fn attempt(&mut self, caller: Caller, waker: Option<&Waker>) -> Option<A::Output> {
        // SAFETY: the content is not linked, and with a waker it does not move, as this does not
        // (this method's contract).
        unsafe { self.as_mut()?.attempt(caller, waker) }
    }
    unsafe fn reattempt(&mut self, caller: Caller, waker: Option<&Waker>, seen: &mut u64) -> Option<A::Output> {
        // SAFETY: the content is not linked, and with a waker it does not move, as this does not
        // (this method's contract).
        unsafe { self.as_mut()?.reattempt(caller, waker, seen) }
    }
    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        // SAFETY: the content is not linked, and does not move, as this does not, and `me` is
        // alive, until it is unlinked (this method's contract).
        self.as_mut().map_or(Link::Linked, |arm| unsafe { arm.link(caller, me) })
    }
    fn unlink(&mut self, caller: Caller) -> Option<A::Output> {
        self.as_mut()?.unlink(caller)
    }
    fn abandon(&mut self, caller: Caller) {
        if let Some(arm) = self {
            arm.abandon(caller);
        }
    }
    fn deadline(&mut self) -> Option<Instant> {
        self.as_mut()?.deadline()
    }
    fn needs_polling(&self) -> bool {
        self.as_ref().is_some_and(A::needs_polling)
    }
}

/// Several arms: a tuple of one to 32. [`select!`](crate::select!) makes it.
///
/// # Safety
/// For implementors: arms that were linked may move, and be freed, after `unlink` or `abandon`, and
/// after they were dropped.
#[allow(clippy::len_without_is_empty, reason = "there is at least one")]
pub unsafe trait Arms {
    /// What the winner brings.
    type Output;
    #[doc(hidden)]
    fn count(&self) -> usize;
    /// Attempts the arm with this number.
    ///
    /// # Safety
    /// This arm is not linked. With a waker: the arms do not move any more until they are dropped.
    #[doc(hidden)]
    unsafe fn attempt(&mut self, number: usize, caller: Caller, waker: Option<&Waker>) -> Option<Self::Output>;
    /// Attempts the arm with this number once more.
    ///
    /// # Safety
    /// This arm is not linked. With a waker: the arms do not move any more until they are dropped.
    #[doc(hidden)]
    unsafe fn reattempt(
        &mut self,
        number: usize,
        caller: Caller,
        waker: Option<&Waker>,
        seen: &mut u64,
    ) -> Option<Self::Output>;
    /// Links the arm with this number.
    ///
    /// # Safety
    /// This arm is not linked, and the arms do not move until `unlink`, `abandon` or the destructor
    /// has returned. `me` is alive until then, or over.
    #[doc(hidden)]
    unsafe fn link(&mut self, number: usize, caller: Caller, me: MultiWait) -> Link;
    /// Unlinks all.
    #[doc(hidden)]
    fn unlink(&mut self, caller: Caller) -> Option<Self::Output>;
    /// Abandons all.
    #[doc(hidden)]
    fn abandon(&mut self, caller: Caller);
    /// The earliest.
    #[doc(hidden)]
    fn deadline(&mut self) -> Option<Instant>;
    #[doc(hidden)]
    fn needs_polling(&self) -> bool;

    /// Attempts all, until one is done.
    ///
    /// # Safety
    /// The arms are not linked. With a waker: they do not move any more until they are dropped.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn attempt_all(
        &mut self,
        order: super::Order,
        caller: Caller,
        waker: Option<&Waker>,
    ) -> Option<Self::Output> {
        // SAFETY: the arms are not linked, and with a waker they do not move any more (this
        // method's contract).
        unsafe { order::attempt_all(self, order, caller, waker) }
    }

    /// Links one after the other, until the wait is over.
    ///
    /// # Safety
    /// The arms are not linked, and do not move until `unlink`, `abandon` or the destructor has
    /// returned. `me` is alive until then, or over.
    #[doc(hidden)]
    unsafe fn link_all(&mut self, order: super::Order, caller: Caller, me: MultiWait) -> Link {
        // SAFETY: the arms are not linked, and do not move, and `me` is alive, until they are
        // unlinked (this method's contract).
        unsafe { order::link_all(self, order, caller, me) }
    }
}

/// The earlier of two deadlines.
pub(super) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

macro_rules! tuples {
    ($($arm:ident $number:tt),*) => {
        /// Which arm of a tuple has won, and what it brings: for [`select!`](crate::select!).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Won<$($arm = Infallible),*> {
            $($arm($arm)),*
        }
        tuples!(@one [] [$($arm $number),*]);
    };
    (@one [$($a:ident $i:tt),*] []) => {};
    (@one [$($a:ident $i:tt),*] [$next:ident $j:tt $(, $($rest:tt)*)?]) => {
        tuples!(@implement $($a $i,)* $next $j);
        tuples!(@one [$($a $i,)* $next $j] [$($($rest)*)?]);
    };
    (@implement $($a:ident $i:tt),*) => {
        // SAFETY: each arm of the tuple is unlinked when its own `unlink`, `abandon` or destructor
        // has returned.
        unsafe impl<$($a: Arm),*> Arms for ($($a,)*) {
            type Output = Won<$($a::Output),*>;
            #[inline(always)]
            fn count(&self) -> usize {
                [$($i),*].len()
            }
            #[inline(always)]
            unsafe fn attempt(&mut self, number: usize, caller: Caller, waker: Option<&Waker>) -> Option<Self::Output> {
                match number {
                    // SAFETY: this arm is not linked, and with a waker it does not move, as the
                    // tuple does not (this method's contract).
                    $($i => unsafe { self.$i.attempt(caller, waker) }.map(Won::$a),)*
                    _ => None,
                }
            }
            #[inline(always)]
            unsafe fn reattempt(
                &mut self,
                number: usize,
                caller: Caller,
                waker: Option<&Waker>,
                seen: &mut u64,
            ) -> Option<Self::Output> {
                match number {
                    // SAFETY: this arm is not linked, and with a waker it does not move, as the
                    // tuple does not (this method's contract).
                    $($i => unsafe { self.$i.reattempt(caller, waker, seen) }.map(Won::$a),)*
                    _ => None,
                }
            }
            unsafe fn link(&mut self, number: usize, caller: Caller, me: MultiWait) -> Link {
                match number {
                    // SAFETY: this arm is not linked, and does not move, as the tuple does not, and
                    // `me` is alive, until it is unlinked (this method's contract).
                    $($i => unsafe { self.$i.link(caller, me) },)*
                    _ => Link::Linked,
                }
            }
            fn unlink(&mut self, caller: Caller) -> Option<Self::Output> {
                let mut won = None;
                $(if let Some(output) = self.$i.unlink(caller) {
                    won = Some(Won::$a(output));
                })*
                won
            }
            fn abandon(&mut self, caller: Caller) {
                $(self.$i.abandon(caller);)*
            }
            fn deadline(&mut self) -> Option<Instant> {
                let mut first = None;
                $(first = earlier(first, self.$i.deadline());)*
                first
            }
            fn needs_polling(&self) -> bool {
                false $(|| self.$i.needs_polling())*
            }
        }
    };
}
tuples!(
    A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7,
    A8 8, A9 9, A10 10, A11 11, A12 12, A13 13, A14 14, A15 15,
    A16 16, A17 17, A18 18, A19 19, A20 20, A21 21, A22 22, A23 23,
    A24 24, A25 25, A26 26, A27 27, A28 28, A29 29, A30 30, A31 31
);

/// No arms: never ready.
// SAFETY: there is nothing that could be linked.
unsafe impl Arms for () {
    type Output = Infallible;
    fn count(&self) -> usize {
        0
    }
    unsafe fn attempt(&mut self, _: usize, _: Caller, _: Option<&Waker>) -> Option<Infallible> {
        None
    }
    unsafe fn reattempt(&mut self, _: usize, _: Caller, _: Option<&Waker>, _: &mut u64) -> Option<Infallible> {
        None
    }
    unsafe fn link(&mut self, _: usize, _: Caller, _: MultiWait) -> Link {
        Link::Linked
    }
    fn unlink(&mut self, _: Caller) -> Option<Infallible> {
        None
    }
    fn abandon(&mut self, _: Caller) {}
    fn deadline(&mut self) -> Option<Instant> {
        None
    }
    fn needs_polling(&self) -> bool {
        false
    }
}

/// Arms that stand elsewhere and stay there until they are dropped. (Not `&mut A` itself: a future
/// of that could be forgotten while they are linked, and the arms moved.)
pub(super) struct InPlace<'a, A>(&'a mut A);

impl<'a, A: Arms> InPlace<'a, A> {
    /// # Safety
    /// The arms do not move any more until they are dropped.
    pub(super) unsafe fn new(arms: &'a mut A) -> Self {
        InPlace(arms)
    }
}

// SAFETY: the arms unlink themselves; what moves or goes here is a reference, and the arms stay
// where they are until they are dropped, as the caller of `new` has said.
unsafe impl<A: Arms> Arms for InPlace<'_, A> {
    type Output = A::Output;
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.count()
    }
    #[inline(always)]
    unsafe fn attempt(&mut self, number: usize, caller: Caller, waker: Option<&Waker>) -> Option<A::Output> {
        // SAFETY: this arm is not linked (this method's contract), and does not move until it is
        // dropped (that of `new`).
        unsafe { self.0.attempt(number, caller, waker) }
    }
    unsafe fn reattempt(
        &mut self,
        number: usize,
        caller: Caller,
        waker: Option<&Waker>,
        seen: &mut u64,
    ) -> Option<A::Output> {
        // SAFETY: this arm is not linked (this method's contract), and does not move until it is
        // dropped (that of `new`).
        unsafe { self.0.reattempt(number, caller, waker, seen) }
    }
    unsafe fn link(&mut self, number: usize, caller: Caller, me: MultiWait) -> Link {
        // SAFETY: this arm is not linked, and `me` is alive until it is (this method's contract);
        // it does not move until it is dropped (that of `new`).
        unsafe { self.0.link(number, caller, me) }
    }
    fn unlink(&mut self, caller: Caller) -> Option<A::Output> {
        self.0.unlink(caller)
    }
    fn abandon(&mut self, caller: Caller) {
        self.0.abandon(caller);
    }
    fn deadline(&mut self) -> Option<Instant> {
        self.0.deadline()
    }
    fn needs_polling(&self) -> bool {
        self.0.needs_polling()
    }
}
