//! An inbox: a queue with many senders and one consumer, for the crates of the house. Not for
//! programs: it may change at any time.
//!
//! Who consumes is one of two. A *waiting* consumer calls [`receive`](Inbox::receive), or one of
//! its endings, and is handed the message where it waits, or, a future, finds it in the queue. A
//! *started* consumer is no task while there is nothing to do: the inbox is *idle* then, and the
//! sender of the next message gets the message back as [`Pushed::Start`], with the duty to start a
//! consumer, who takes what comes meanwhile until [`pop_or_idle`](Inbox::pop_or_idle) finds
//! nothing.
//!
//! A consumer that is *paused* is given nothing: messages are queued, whoever waits goes on
//! waiting, and a started one that would take a message leaves the inbox *parked*. The [`resume`]
//! hands over what there is, or starts it.
//!
//! **Invariants**, whenever the lock is free. If somebody waits, the queue is empty, or the inbox
//! paused. If the inbox is idle, the queue is empty and nobody consumes; parked, it is paused, and
//! nobody consumes. Closed: nothing is queued, and nothing waits.
//! The lock is biased, as that of a channel: no user code runs under it.
//!
//! **Why not a channel.** A channel has no idle consumer whom a send starts under the lock of the
//! send, cannot take a message of the runtime's beyond its limit, and has 64 bytes more, for
//! selects, peeking and ends that are counted.
//!
//! [`resume`]: Inbox::resume
//!
//! Tests: `crates/sync/tests/loom/inbox.rs`; `crates/myriad/tests/actors`.

mod consumer;
mod receive;
#[cfg(all(test, not(loom)))]
mod test;

pub use receive::{ReceiveFuture, ReceiveNote};

use crate::channel::ring::{Messages, Ring};
use crate::entry::{CLOSED, DONE, Entry};
use crate::guarded::Guarded;
use crate::limit::Limited;
use crate::lock::op;
use consumer::{Claimed, Consumer};
use myriad_base::blocks;
use myriad_base::sys::mutant::on;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::wait::{Caller, Waiter, WakerWord};
use myriad_core::time::Instant;
use receive::Receive;
use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit};

/// For how many messages of this size the first memory is. (A ring of a channel begins with 128
/// bytes or more. Most actors have one message at a time.)
const fn first(size: usize) -> usize {
    if 2 * size <= blocks::LARGEST { 2 } else { 1 }
}

/// See the module's header.
pub struct Inbox<T>(Guarded<State<T>>);

struct State<T> {
    waiting: Consumer<T>,
    /// The task that consumes now, if it has said so (`NAMED`).
    consumer: MaybeUninit<UnderWay>,
    /// `CLOSED` and so on: one look tells most operations that nothing is special.
    flags: u8,
    is_idle: bool,
    is_parked: bool,
    queue: Ring<T>,
}

const CLOSED_FOR_ALL: u8 = 1;
/// The consumer is to end.
const INTERRUPTED: u8 = 2;
/// The consumer is given nothing.
const PAUSED: u8 = 4;
/// The consumer is known.
const NAMED: u8 = 8;

const _: () = crate::values::no_drop_glue::<State<String>>();

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Pushed<T> {
    /// The consumer has it, or will find it.
    Done,
    /// Nobody consumed. From now on the caller's consumer does, with this message first.
    Start(T),
    /// Closed.
    Closed(T),
}

/// What a consumer finds.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Popped<T> {
    /// The oldest message.
    Message(T),
    /// Nothing: the inbox is idle, and not the caller's any more.
    Idle,
    /// No message, but something else to do: the inbox is the caller's still.
    Stays,
    /// The consumer is to end.
    Interrupted,
}

/// What became of a message that was put in: see [`Pushed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Put {
    /// It was moved: the consumer has it, or will find it.
    Done,
    /// Nobody consumed. From now on the caller's consumer does, with this message first.
    Start,
    /// Closed.
    Closed,
}

enum Under {
    Handed(Waiter),
    /// Queued, for a future that has waited.
    Found(WakerWord),
    Queued,
    Start,
    Closed,
}

impl<T> Inbox<T> {
    /// An open inbox without messages; idle if its consumer is one that is started.
    pub fn new(is_idle: bool) -> Inbox<T> {
        Inbox(Guarded::new(State {
            waiting: Consumer::new(),
            consumer: MaybeUninit::uninit(),
            flags: 0,
            is_idle,
            is_parked: false,
            queue: Ring::new(),
        }))
    }

    /// Puts a message in, behind all others. Never waits (but for its turn, as one operation).
    #[inline(always)]
    pub fn push(&self, message: T) -> Pushed<T> {
        let put = {
            // SAFETY: the message is there, and is forgotten if it was moved.
            unsafe { self.push_from(&raw const message) }
        };
        match put {
            Put::Done => {
                mem::forget(message);
                Pushed::Done
            }
            Put::Start => Pushed::Start(message),
            Put::Closed => Pushed::Closed(message),
        }
    }

    /// The same for a message that stays where its maker has written it until it is moved in. (A
    /// copy on the way takes 5 ns: see `values::move_fresh`.) If this unwinds, because a
    /// cancellation has arrived, the message is still there.
    ///
    /// # Safety
    /// `message` holds one; it is moved out if the answer is [`Put::Done`].
    #[inline(always)]
    pub unsafe fn push_from(&self, message: *const T) -> Put {
        let caller = Caller::get();
        caller.spend();
        // SAFETY: this function's contract.
        unsafe { self.put(caller, message, false) }
    }

    /// The same without an operation of the budget, so that it never unwinds: for who has spent
    /// one before, and holds something since.
    ///
    /// # Safety
    /// As for [`push_from`](Self::push_from).
    #[inline]
    pub unsafe fn push_unspent(&self, message: *const T) -> Put {
        // SAFETY: this function's contract.
        unsafe { self.put(Caller::get(), message, false) }
    }

    /// Does not unwind.
    ///
    /// # Safety
    /// `message` holds one; it is moved out if the answer is `Done`.
    #[inline]
    unsafe fn put(&self, caller: Caller, message: *const T, in_front: bool) -> Put {
        let under = self.0.locked(caller, |state| {
            // SAFETY: the lock is held. The entry that is claimed is live until it is ended, its
            // slot is empty, and the message is moved once: into it, or into the queue.
            unsafe {
                if state.has(CLOSED_FOR_ALL | PAUSED) {
                    if state.has(CLOSED_FOR_ALL) {
                        return Under::Closed;
                    }
                    state.is_parked |= mem::take(&mut state.is_idle);
                } else {
                    match state.waiting.claim() {
                        Some(Claimed::Blocked(entry, waiter)) => {
                            (*entry).put(message);
                            Entry::end(entry, DONE);
                            return Under::Handed(waiter);
                        }
                        Some(Claimed::Future(waker)) => {
                            state.push(message, in_front);
                            return Under::Found(waker);
                        }
                        None => {}
                    }
                    if mem::take(&mut state.is_idle) {
                        return Under::Start;
                    }
                }
                state.push(message, in_front);
            }
            Under::Queued
        });
        match under {
            Under::Queued => Put::Done,
            Under::Handed(waiter) => {
                // SAFETY: the waiter was claimed under the lock, and is woken once.
                unsafe { caller.wake_next(waiter) };
                Put::Done
            }
            Under::Found(waker) => {
                if !on("inbox-future-not-woken") {
                    waker.wake();
                }
                Put::Done
            }
            Under::Start => Put::Start,
            Under::Closed => Put::Closed,
        }
    }

    /// Puts a message back before all others. `Err`: the inbox is closed.
    ///
    /// # Errors
    /// The message comes back.
    pub fn put_back(&self, message: T) -> Result<(), T> {
        let message = ManuallyDrop::new(message);
        // SAFETY: the message is there, and is moved once: by `put`, or below.
        match unsafe { self.put(Caller::get(), &raw const *message, true) } {
            Put::Closed => Err(ManuallyDrop::into_inner(message)),
            Put::Done => Ok(()),
            Put::Start => unreachable!("whoever puts a message back consumes: the inbox is not idle"),
        }
    }

    /// Takes the oldest message out, whether the inbox is paused or not.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.0.locked(Caller::get(), State::pop)
    }

    /// Takes the oldest message out, if the inbox is not paused.
    #[inline]
    pub fn try_receive(&self) -> Option<T> {
        self.0.locked(Caller::get(), State::pop_for_consumer)
    }

    /// Takes the oldest message out. If there is none the inbox is idle from now on, or, paused,
    /// perhaps parked, and the caller consumes no longer.
    #[inline]
    pub fn pop_or_idle(&self) -> Popped<T> {
        self.pop_or_stay(|| false)
    }

    /// As [`pop_or_idle`](Self::pop_or_idle), but that the caller goes on consuming where there is
    /// no message and `stays` says so. Who sets what that looks at asks
    /// [`begin_paused`](Self::begin_paused) afterwards: one of both sees the other. `stays` runs
    /// under the lock, and only looks.
    #[inline(always)]
    pub fn pop_or_stay(&self, stays: impl FnOnce() -> bool) -> Popped<T> {
        self.0.locked(Caller::get(), |state| {
            if state.has(INTERRUPTED | PAUSED) {
                if state.has(INTERRUPTED) && !on("inbox-interrupt-unseen") {
                    return Popped::Interrupted;
                }
                if state.has(PAUSED) && state.queue.len() > 0 {
                    if stays() {
                        return Popped::Stays;
                    }
                    state.name(None);
                    state.is_parked = true;
                    return Popped::Idle;
                }
            }
            match state.pop() {
                Some(message) => Popped::Message(message),
                None if stays() && !on("inbox-stays-unseen") => Popped::Stays,
                None => {
                    state.name(None);
                    state.is_idle = !state.has(CLOSED_FOR_ALL) && !on("inbox-idle-late");
                    Popped::Idle
                }
            }
        })
    }

    /// As [`pop_or_stay`](Self::pop_or_stay), where the inbox becomes idle, and the consumer was
    /// not named: true. Else nothing is done.
    #[inline(always)]
    pub fn idle(&self, stays: impl FnOnce() -> bool) -> bool {
        self.0.locked(Caller::get(), |state| {
            let is_empty = !state.has(INTERRUPTED | PAUSED) && state.queue.len() == 0 && !stays();
            if is_empty {
                debug_assert!(!state.has(NAMED), "a consumer in place is named");
                state.is_idle = !state.has(CLOSED_FOR_ALL);
            }
            is_empty
        })
    }

    /// If the inbox is idle, and not paused, the caller consumes from now on.
    #[inline]
    pub fn begin(&self) -> bool {
        self.0.locked(Caller::get(), |state| !state.has(INTERRUPTED | PAUSED) && mem::take(&mut state.is_idle))
    }

    /// If the inbox is idle or parked the caller consumes from now on, for something else than a
    /// message.
    pub fn begin_paused(&self) -> bool {
        self.0.locked(Caller::get(), |state| !state.has(INTERRUPTED) && state.take_rest())
    }

    /// The consumer gets no message from now on. False: the inbox is closed.
    pub fn pause(&self) -> bool {
        self.0.locked(Caller::get(), |state| {
            if !state.has(CLOSED_FOR_ALL) {
                state.flags |= PAUSED;
            }
            state.has(PAUSED)
        })
    }

    /// The consumer gets messages again. True: the inbox was parked, and the caller consumes from
    /// now on.
    #[must_use]
    pub fn resume(&self) -> bool {
        let caller = Caller::get();
        let (begins, waiter) = self.0.locked(caller, |state| {
            state.flags &= !PAUSED;
            let begins = !state.has(INTERRUPTED) && state.is_parked && !on("inbox-resume-not-started");
            state.is_parked &= state.has(INTERRUPTED) || on("inbox-resume-still-parked");
            if state.queue.len() == 0 || on("inbox-resume-not-handed") {
                return (begins, None);
            }
            // SAFETY: the lock is held. The entry that is claimed is live until it is ended, its
            // slot is empty, and the ring holds a message, which is moved into it.
            let waiter = unsafe {
                state.waiting.claim().map(|claimed| {
                    claimed.ended(|entry| {
                        state.queue.pop((*entry).slot());
                        Entry::end(entry, DONE);
                    })
                })
            };
            (begins, waiter)
        });
        if let Some(waiter) = waiter {
            // SAFETY: the waiter was claimed under the lock, and is woken once.
            unsafe { waiter.wake(caller) };
        }
        begins
    }

    /// Is the consumer given nothing?
    pub fn is_paused(&self) -> bool {
        self.0.locked(Caller::get(), |state| state.has(PAUSED))
    }

    /// The calling task consumes, and may be cancelled by an [interrupt](Self::interrupt) from now
    /// on, until the inbox is idle or closed. False: it was interrupted already.
    ///
    /// # Safety
    /// It was spawned, and does not end before the inbox is idle, closed, or has another consumer.
    #[inline]
    pub unsafe fn consume(&self, task: Option<UnderWay>) -> bool {
        self.0.locked(Caller::get(), |state| {
            state.name(task);
            !state.has(INTERRUPTED)
        })
    }

    /// The consumer is to end: it finds that out when it is done with its message; a task that has
    /// said who it is, is cancelled. True: the inbox was idle or parked, and the caller consumes
    /// from now on, to end it.
    pub fn interrupt(&self) -> bool {
        let (was_idle, marked) = self.0.locked(Caller::get(), |state| {
            state.flags |= INTERRUPTED;
            // SAFETY: a task that consumes has not ended (the promise of `consume`), and does not
            // before it is out of this state, which takes the lock.
            // `NAMED` says that there is one.
            let marked = if state.has(NAMED) { unsafe { state.consumer.assume_init().mark() } } else { None };
            (state.take_rest(), marked)
        });
        if let Some(marked) = marked {
            marked.tell();
        }
        was_idle
    }

    /// The address that dumps know it by.
    #[inline(always)]
    fn object(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.0.locked(Caller::get(), |state| state.queue.len())
    }

    /// How many messages were put into the queue so far, less those that came back; wraps. One that
    /// a consumer was handed, or started with, is none of them.
    pub fn position(&self) -> usize {
        self.0.locked(Caller::get(), |state| state.queue.taken().wrapping_add(state.queue.len()))
    }

    /// How many of them were taken out of it: see [`position`](Self::position).
    pub fn taken(&self) -> usize {
        self.0.locked(Caller::get(), |state| state.queue.taken())
    }

    /// Does the consumer wait for a message, or is the inbox idle or parked?
    pub fn is_at_rest(&self) -> bool {
        self.0.locked(Caller::get(), |state| state.is_idle || state.is_parked || !state.waiting.is_empty())
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Was it closed?
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.0.locked(Caller::get(), |state| state.has(CLOSED_FOR_ALL))
    }

    /// Closes it: nothing is put in any more. What is left comes back, to be dropped where that may
    /// be.
    pub fn close(&self) -> Left<T> {
        let caller = Caller::get();
        let (queue, waiter) = self.0.locked(caller, |state| {
            state.flags = (state.flags | CLOSED_FOR_ALL) & !(PAUSED | NAMED);
            (state.is_idle, state.is_parked) = (false, false);
            // SAFETY: the lock is held; the entry that is claimed is live until it is ended.
            let waiter =
                unsafe { state.waiting.claim().map(|claimed| claimed.ended(|entry| Entry::end(entry, CLOSED))) };
            (mem::replace(&mut state.queue, Ring::new()), waiter)
        });
        if let Some(waiter) = waiter {
            // SAFETY: the waiter was claimed under the lock, and is woken once.
            unsafe { waiter.wake(caller) };
        }
        Left(Messages(queue))
    }

    /// Waits for a message. `None`: the inbox is closed, or the deadline is over.
    ///
    /// # Cancellation
    /// The caller unwinds, and no message is lost.
    #[track_caller]
    #[inline]
    pub fn receive(&self, deadline: Option<Instant>) -> Option<T> {
        Caller::get().spend();
        let found = self.0.locked(Caller::get(), State::pop_for_consumer);
        if found.is_some() {
            return found;
        }
        let mut receive = Receive { inbox: self, got: None };
        op::wait(&mut receive, deadline);
        receive.got.take()
    }

    /// As [`receive`](Self::receive), as a future.
    pub fn receive_async(&self) -> ReceiveFuture<'_, T> {
        ReceiveFuture::new(self)
    }

    /// As [`receive_async`](Self::receive_async), with a deadline.
    pub async fn receive_until(&self, deadline: Instant) -> Option<T> {
        Limited::new(self.receive_async(), deadline).await
    }
}

impl<T> State<T> {
    const FIRST: usize = first(size_of::<T>());

    /// A future waits, with this waker, where nobody does. The queue has no memory meanwhile: what
    /// comes next finds some in a free list. (What is too large for such lists is kept.)
    #[inline(always)]
    fn wait(&mut self, waker: WakerWord) {
        self.waiting.set_future(waker);
        if Self::FIRST * size_of::<T>() <= blocks::LARGEST {
            self.queue.shrink(Self::FIRST);
        }
    }

    /// # Safety
    /// `message` holds one, which is moved.
    #[inline(always)]
    unsafe fn push(&mut self, message: *const T, in_front: bool) {
        self.queue.make_room(Self::FIRST);
        // SAFETY: this function's contract; there is room now.
        unsafe { if in_front { self.queue.push_front(message) } else { self.queue.push_into_room(message) } }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<T> {
        // SAFETY: the ring holds a message.
        (self.queue.len() > 0).then(|| unsafe { self.queue.pop_value() })
    }

    #[inline(always)]
    fn pop_for_consumer(&mut self) -> Option<T> {
        if self.queue.len() > 0 && !self.has(PAUSED) { self.pop() } else { None }
    }

    /// This task consumes from now on; or one that is not named, or none.
    #[inline(always)]
    fn name(&mut self, task: Option<UnderWay>) {
        match task {
            Some(task) => {
                self.consumer = MaybeUninit::new(task);
                self.flags |= NAMED;
            }
            None => self.flags &= !NAMED,
        }
    }

    #[inline(always)]
    fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Nobody consumes: from now on the caller does.
    fn take_rest(&mut self) -> bool {
        mem::take(&mut self.is_idle) | mem::take(&mut self.is_parked)
    }
}

impl<T> Drop for Inbox<T> {
    #[inline]
    fn drop(&mut self) {
        // (Of one that was closed nothing is left.)
        if self.0.with_own(|state| state.queue.capacity()) > 0 {
            drop(Messages(self.0.with_own(|state| mem::replace(&mut state.queue, Ring::new()))));
        }
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What was in an inbox when that was closed. All of it is dropped with this, in order; the first
/// panic of a destructor goes on to whoever drops this.
#[derive(Debug)]
#[must_use]
pub struct Left<T>(Messages<T>);

impl<T> Left<T> {
    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
