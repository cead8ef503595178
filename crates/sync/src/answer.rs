//! The place of one answer, for the crates of the house. Not for programs: it may change at any
//! time.
//!
//! ```text
//!  receiver:  EMPTY -> WAITS, under the lock, with its entry in the list      then:  -> TOOK | LEFT
//!  sender:    value; EMPTY -> SENT                 or, where it is WAITS:
//!             value; lock: is_sent, the entry is ended; unlock;  WAITS -> SENT; wakes
//! ```
//! The sender exchanges the word; the receiver does unless it finds `SENT`, and is second then.
//! Whoever comes second frees the place. So an
//! answer that is there before anybody waits, as that of a call in place, costs one exchange, and
//! no lock. The lock is for waiting, and the wait that of all other primitives (`lock/op.rs`).
//! Where the receiver stays on a thread, a sender on that thread needs no exchange, either: what
//! both do comes one after the other.
//!
//! **Invariants.** `value` is the sender's until it has left `EMPTY`, or set `is_sent` under the
//! lock; then it is the receiver's, if that still is there when the sender exchanges the word.
//! Whoever has gone first does not touch the place any more, unless the other one had done
//! so before. `waiting` has one entry at most.
//!
//! **Ordering.** The sender's Release with the receiver's Acquire: the value. At the exchange of
//! who goes first, Release, with the Acquire of who goes second: all that the first one has done
//! with the place.
//!
//! **Why not a channel.** A channel for one message has its message in a second allocation, counts
//! its ends, and locks for each step: a call in place took 1,417 instructions with one, now 781.
//!
//! Tests: `crates/sync/tests/loom/answer.rs`; `crates/myriad/tests/actors`.

use crate::entry::{DONE, Entry, LINKED, List};
use crate::guarded::Guarded;
use crate::lock::op::{self, Op, Waiting};
use myriad_base::blocks;
use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use myriad_base::sys::thread;
use myriad_core::engine::unwind;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::ptr::NonNull;

/// Both are there.
const EMPTY: u8 = 0;
/// Both are there, and the receiver waits, or has waited.
const WAITS: u8 = 1;
/// The sender has gone. What it has left is the receiver's.
const SENT: u8 = 2;
/// The receiver has gone, with what the sender has left.
const TOOK: u8 = 3;
/// The receiver has gone. What the sender leaves is the sender's.
const LEFT: u8 = 4;

struct Place<T> {
    waits: Guarded<Waits, AtomicU8>,
    /// The thread that the receiver never leaves; 0 if it may.
    thread: usize,
    /// `None`: none yet, or the sender has gone without one.
    value: UnsafeCell<Option<T>>,
}

struct Waits {
    waiting: List<()>,
    /// The sender has come while the word was `WAITS`.
    is_sent: bool,
}

impl<T> Place<T> {
    #[inline(always)]
    fn word(&self) -> &AtomicU8 {
        &self.waits.beside
    }
}

/// Gives the answer. Dropped without one, it says that there is none.
pub struct AnswerSender<T>(NonNull<Place<T>>);

/// Waits for the answer, on the thread where it was made.
#[derive(Debug)]
pub struct ReceiverHere<T>(AnswerReceiver<T>, PhantomData<*mut ()>);

/// Waits for the answer.
pub struct AnswerReceiver<T>(NonNull<Place<T>>);

// SAFETY: what is in it is reached as the header says, and goes from thread to thread.
unsafe impl<T: Send> Sync for Place<T> {}
// SAFETY: the place goes with it, as above.
unsafe impl<T: Send> Send for AnswerSender<T> {}
// SAFETY: as above; nothing but the word is reached through a shared reference.
unsafe impl<T: Send> Sync for AnswerSender<T> {}
// SAFETY: the place goes with it, and what is in it is `Send`.
unsafe impl<T: Send> Send for AnswerReceiver<T> {}
// SAFETY: nothing can be done with a shared reference.
unsafe impl<T: Send> Sync for AnswerReceiver<T> {}

// As the ends of a channel: a panic leaves the place whole.
impl<T> UnwindSafe for AnswerSender<T> {}
impl<T> RefUnwindSafe for AnswerSender<T> {}
impl<T> UnwindSafe for AnswerReceiver<T> {}
impl<T> RefUnwindSafe for AnswerReceiver<T> {}

/// A place for an answer.
#[inline]
pub fn answer<T>() -> (AnswerSender<T>, AnswerReceiver<T>) {
    let (sender, receiver) = answer_from(0);
    (sender, receiver.0)
}

/// A place for an answer that is received on this thread.
#[inline]
pub fn answer_here<T>() -> (AnswerSender<T>, ReceiverHere<T>) {
    answer_from(thread::here())
}

#[inline(always)]
fn answer_from<T>(thread: usize) -> (AnswerSender<T>, ReceiverHere<T>) {
    let waits = Waits { waiting: List::new(), is_sent: false };
    let place = Place { waits: Guarded::with(waits, AtomicU8::new(EMPTY)), value: UnsafeCell::new(None), thread };
    let at = blocks::alloc(Layout::new::<Place<T>>()).cast::<Place<T>>();
    // SAFETY: memory of this layout, which nobody else uses.
    unsafe { at.write(place) };
    (AnswerSender(at), ReceiverHere(AnswerReceiver(at), PhantomData))
}

impl<T> AnswerSender<T> {
    #[inline(always)]
    fn place(&self) -> &Place<T> {
        // SAFETY: it stands until the second of both has gone; `self` has not.
        unsafe { self.0.as_ref() }
    }

    /// Gives the answer.
    ///
    /// # Errors
    /// Nobody waits for it any more: it comes back.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        Caller::get().spend();
        self.send_unspent(value)
    }

    /// The same without an operation of the budget, so that it never unwinds.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn send_unspent(self, value: T) -> Result<(), T> {
        ManuallyDrop::new(self).leave(Some(value)).map_or(Ok(()), Err)
    }

    /// Does nobody wait for it any more?
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Relaxed: nothing is done with the place because of it.
        self.place().word().load(Relaxed) == LEFT
    }

    /// Leaves this in the place, and gives that up. Called once. Back: what nobody takes.
    #[inline]
    fn leave(&self, value: Option<T>) -> Option<T> {
        let place = self.place();
        // SAFETY: the value is the sender's, who has come here once, and has sent nothing yet.
        place.value.with_mut(|to| unsafe { to.write(value) });
        if place.thread == thread::here() || (on("answer-here") && place.thread != 0) {
            return self.leave_here();
        }
        // Release: the value. Acquire: of one who has left, all that it has done here.
        match place.word().compare_exchange(EMPTY, SENT, ord(AcqRel, "answer-send"), Acquire) {
            Ok(_) => None,
            Err(WAITS) => self.leave_to_who_waits(),
            // SAFETY: the receiver has left, and the sender touches it no more.
            Err(_) => unsafe { Place::free(self.0) },
        }
    }

    /// The same on the receiver's thread. Relaxed, no exchange, and no lock: the receiver does
    /// nothing meanwhile, nor elsewhere. (An exchange takes 5 ns, and the usual way has four.)
    #[inline(always)]
    fn leave_here(&self) -> Option<T> {
        let place = self.place();
        match place.word().load(Relaxed) {
            EMPTY => place.word().store(SENT, Relaxed),
            WAITS => self.leave_to_who_waits_here(),
            // SAFETY: the receiver has left, and the sender touches it no more.
            _ => return unsafe { Place::free(self.0) },
        }
        None
    }

    #[inline(never)]
    fn leave_to_who_waits_here(&self) {
        let place = self.place();
        // SAFETY: the receiver's thread is this one (`leave_here`), so nobody else is there. The
        // entry that is claimed is live until it is ended.
        let waiter = unsafe {
            place.waits.unlocked(|waits| {
                waits.is_sent = true;
                waits.waiting.claim_first().map(|(entry, waiter)| {
                    Entry::end(entry, DONE);
                    waiter
                })
            })
        };
        place.word().store(SENT, Relaxed);
        if let Some(waiter) = waiter {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { Caller::get().wake_next(waiter) };
        }
    }

    #[inline(never)]
    fn leave_to_who_waits(&self) -> Option<T> {
        let (place, caller) = (self.place(), Caller::get());
        let waiter = place.waits.locked(caller, |waits| {
            waits.is_sent = true;
            // SAFETY: the lock is held; the entry that is claimed is live until it is ended.
            unsafe {
                waits.waiting.claim_first().map(|(entry, waiter)| {
                    Entry::end(entry, DONE);
                    waiter
                })
            }
        });
        // Release, Acquire: as in `leave`. The lock is not touched after this.
        let before = place.word().swap(SENT, ord(AcqRel, "answer-sent"));
        // SAFETY: the receiver has left, and the sender touches it no more. (What was taken is
        // `None`.)
        let left = if before == WAITS { None } else { unsafe { Place::free(self.0) } };
        if let Some(waiter) = waiter {
            // SAFETY: the waiter was claimed under the lock, and is woken once.
            unsafe { caller.wake_next(waiter) };
        }
        left
    }
}

impl<T> Place<T> {
    /// What is left in it.
    ///
    /// # Safety
    /// Both have gone, and nobody touches the place any more.
    #[inline]
    unsafe fn free(this: NonNull<Place<T>>) -> Option<T> {
        // SAFETY: the place is memory of this layout (`answer`), and the caller's alone (this
        // function's contract). Nothing in it has a destructor but the value, which is taken out.
        unsafe {
            let place = this.read();
            blocks::free(this.cast(), Layout::new::<Place<T>>());
            place.value.with_mut(|value| (*value).take())
        }
    }
}

impl<T> Drop for AnswerSender<T> {
    fn drop(&mut self) {
        self.leave(None);
    }
}

/// Why a wait for an answer has brought none.
#[derive(Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// There is none, and will be none.
    Gone,
    /// The deadline is over.
    Timeout,
}

impl<T> AnswerReceiver<T> {
    #[inline(always)]
    fn place(&self) -> &Place<T> {
        // SAFETY: it stands until the second of both has gone; `self` has not.
        unsafe { self.0.as_ref() }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// There is none, or the deadline is over.
    ///
    /// # Cancellation
    /// The caller unwinds, and the answer goes nowhere.
    #[track_caller]
    #[inline]
    pub fn recv(self, deadline: Option<Instant>) -> Result<T, NoAnswer> {
        if self.is_sent() {
            Caller::get().spend();
        } else if !self.wait(deadline) {
            return Err(NoAnswer::Timeout);
        }
        self.take()
    }

    /// (A function of its own, so that who finds the answer saves no registers for this.)
    #[track_caller]
    #[inline(never)]
    fn wait(&self, deadline: Option<Instant>) -> bool {
        op::wait(&mut AwaitAnswer(self.place()), deadline)
    }

    /// The same as a future.
    ///
    /// # Errors
    /// There is none.
    pub async fn recv_async(self) -> Result<T, NoAnswer> {
        if !self.is_sent() {
            pin!(Waiting::new(AwaitAnswer(self.place()))).await;
        }
        self.take()
    }

    #[inline(always)]
    fn is_sent(&self) -> bool {
        // Acquire: pairs with the sender's exchange: the value.
        self.place().word().load(ord(Acquire, "answer-is-sent")) == SENT
    }

    /// The sender has left what it has: the word says so, or `is_sent`, or the entry.
    #[inline(always)]
    fn take(self) -> Result<T, NoAnswer> {
        let this = ManuallyDrop::new(self);
        let place = this.place();
        // SAFETY: the sender has left what it has (whoever calls this has seen that), and takes it
        // back only from a receiver that has left it.
        let value = place.value.with_mut(|value| unsafe { (*value).take() });
        // Release: what was done above. Acquire: what the sender has done.
        if this.is_sent() || place.word().swap(TOOK, ord(AcqRel, "answer-take")) == SENT {
            // SAFETY: the sender was first, so this is the second who goes.
            unsafe { Place::free(this.0) };
        }
        value.ok_or(NoAnswer::Gone)
    }
}

impl<T> ReceiverHere<T> {
    /// As [`AnswerReceiver::recv`], without a deadline. `None`: there is none.
    #[track_caller]
    #[inline(always)]
    pub fn recv(self) -> Option<T> {
        if self.0.is_sent() {
            Caller::get().spend();
        } else {
            self.0.wait(None);
        }
        self.0.take().ok()
    }

    /// As [`AnswerReceiver::recv`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn recv_deadline(self, deadline: Instant) -> Result<T, NoAnswer> {
        self.0.recv(Some(deadline))
    }
}

impl<T> Drop for AnswerReceiver<T> {
    fn drop(&mut self) {
        // Release, Acquire: as in `take`.
        if self.place().word().swap(LEFT, ord(AcqRel, "answer-left")) != SENT {
            return;
        }
        // SAFETY: the sender was first, and this is the receiver's exchange.
        let value = unsafe { Place::free(self.0) };
        if std::thread::panicking() {
            unwind::drop_quietly(value);
        }
    }
}

/// A wait for the answer.
struct AwaitAnswer<'a, T>(&'a Place<T>);

// SAFETY: the entry is linked and taken out under the lock, in one list; the place stays the same.
// Nothing that `start` does once it has linked the entry runs user code or unwinds.
unsafe impl<T> Op for AwaitAnswer<'_, T> {
    type Slot = ();
    const REASON: WaitReason = WaitReason::Recv;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.0).cast()
    }

    #[inline(always)]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) -> bool {
        let place = self.0;
        if place.word().load(Relaxed) == EMPTY
            && let Some(taken) = Waiter::take(waiter)
        {
            // SAFETY: `entry` is idle, and stays where it is until it is ended or given up (this
            // method's contract). The sender looks at the list once it has seen `WAITS`: until the
            // exchange, or if that fails, the list is the receiver's.
            return unsafe {
                place.waits.unlocked(|waits| waits.waiting.push(entry, taken));
                // Release: the entry. Acquire: the value.
                let waits = place.word().compare_exchange(EMPTY, WAITS, ord(Release, "answer-waits"), Acquire).is_ok();
                if !waits {
                    *waiter = Some(place.waits.unlocked(|waits| waits.waiting.remove(entry)));
                    (*entry).reset();
                }
                !waits
            };
        }
        place.waits.locked(caller, |waits| {
            // Relaxed: the sender that sees it takes the lock. Acquire: the value.
            let exchanged = place.word().compare_exchange(EMPTY, WAITS, Relaxed, Acquire);
            if waits.is_sent || exchanged == Err(SENT) {
                return true;
            }
            if let Some(waiter) = Waiter::take(waiter) {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { waits.waiting.push(entry, waiter) };
            }
            false
        })
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in the list of this
        // place, whose lock is held.
        self.0.waits.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<()>) -> u8 {
        let (outcome, waiter) = self.0.waits.locked(caller, |waits| {
            // SAFETY: `entry` was linked by `start` (this method's contract), in this list; the
            // lock is held.
            unsafe {
                let outcome = (*entry).state();
                let waiter = (outcome == LINKED).then(|| waits.waiting.remove(entry));
                (*entry).reset();
                (outcome, waiter)
            }
        });
        drop(InHand::new(waiter));
        outcome
    }
}

impl<T> fmt::Debug for AnswerSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerSender").field("is_closed", &self.is_closed()).finish()
    }
}

impl<T> fmt::Debug for AnswerReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerReceiver").finish_non_exhaustive()
    }
}
