//! What several receivers see, each for itself: the common part of [`promise`](super::promise),
//! [`watch`](super::watch) and [`broadcast`](super::broadcast).
//!
//! An *observable* is a state under a biased lock, and a list of those who wait for a change. Who
//! changes it wakes all of them, and each looks again; what it finds is its own, so nobody comes in
//! vain but for changes that do not concern it. A *cursor* knows what it has seen, and what it
//! would take.
//!
//! **Invariants.** Under the lock no user code runs: values stand in `Arc`s, which are cloned and
//! moved there, but dropped (what a change throws out) without it. By accident neither: the content
//! has them as [`UserValue`](myriad_core::engine::user_code::UserValue)s.

use super::entry::{CLOSED, DONE, Entry, LINKED, List};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::guarded::Guarded;
use crate::select::{Arm, Link};
use crate::wake_list::WakeList;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, MultiWait, Wait, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub(super) struct Observable<S: Content> {
    state: Guarded<ObservableState<S>>,
}

/// What an observable holds.
pub(super) trait Content {
    /// Drops the values.
    ///
    /// # Safety
    /// The content is not used afterwards.
    unsafe fn drop_values(&mut self);
}

struct ObservableState<S> {
    content: S,
    closed: bool,
    waiting: List<()>,
    /// Those who waited at the last change, and are not woken yet. Who comes later (perhaps one of
    /// them again) is not among them, so waking comes to an end.
    waking: List<()>,
}

const _: () = crate::values::no_drop_glue::<ObservableState<()>>();

impl<S> ObservableState<S> {
    /// All that wait have something to look at. False: nobody does.
    fn call_all(&mut self) -> bool {
        // SAFETY: locked: there is no other way to the state.
        unsafe { self.waking.append(&mut self.waiting) };
        !self.waking.is_empty()
    }
}

/// What a cursor has seen, and how it takes what it has not.
pub(super) trait Cursor {
    type Content: Content;
    type Item;
    /// Takes what is new to it. Under the lock: no user code.
    fn take(&mut self, content: &Self::Content) -> Option<Self::Item>;
    /// Is something new to it?
    fn has_news(&self, content: &Self::Content) -> bool;
}

impl<S: Content> Drop for Observable<S> {
    fn drop(&mut self) {
        // SAFETY: the content goes, and is not used afterwards.
        self.state.with_own(|state| unsafe { state.content.drop_values() });
    }
}

impl<S: Content> Observable<S> {
    pub(super) fn new(content: S) -> Observable<S> {
        let state = ObservableState { content, closed: false, waiting: List::new(), waking: List::new() };
        Observable { state: Guarded::new(state) }
    }

    fn locked<R>(&self, caller: Caller, f: impl FnOnce(&mut ObservableState<S>) -> R) -> R {
        self.state.locked(caller, f)
    }

    pub(super) fn read<R>(&self, f: impl FnOnce(&S) -> R) -> R {
        self.locked(Caller::get(), |state| f(&state.content))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.locked(Caller::get(), |state| state.closed)
    }

    /// Changes the content unless the observable is closed, and wakes all that wait. What `f`
    /// returns is dropped by the caller.
    pub(super) fn change<A, R>(&self, argument: A, f: impl FnOnce(&mut S, A) -> R) -> Result<R, A> {
        let caller = Caller::get();
        let changed = self.locked(caller, |state| {
            if state.closed { Err(argument) } else { Ok((f(&mut state.content, argument), state.call_all())) }
        });
        let (result, somebody) = changed?;
        if somebody {
            self.wake_all(DONE);
        }
        Ok(result)
    }

    /// Nothing changes any more. True: it was open.
    pub(super) fn close(&self) -> bool {
        let caller = Caller::get();
        let was_open = self.locked(caller, |state| {
            if !on("close-calls-nobody") {
                state.call_all();
            }
            !std::mem::replace(&mut state.closed, true)
        });
        self.wake_all(CLOSED);
        was_open
    }

    fn wake_all(&self, end: u8) {
        WakeList::wake_all(|woken| {
            self.locked(Caller::get(), |state| {
                while woken.has_room()
                    // SAFETY: the lock is held.
                    && let Some((entry, waiter)) = unsafe { state.waking.claim_first() }
                {
                    // SAFETY: the lock is held; what was claimed is ours until `end`.
                    unsafe { Entry::end(entry, end) };
                    woken.push(waiter);
                    if on("observable-wakes-one") {
                        state.waking = List::new();
                    }
                }
            });
        });
    }

    /// Takes what is new; if nothing is, and nothing will be, says so; else links the entry, if
    /// there is one. Its waiter comes back if it was not needed.
    ///
    /// # Safety
    /// The entry, if there is one, is live and in no list, and stays where it is while it is
    /// linked.
    unsafe fn take_or_wait<R: Cursor<Content = S>>(
        &self,
        caller: Caller,
        cursor: &mut R,
        wait: Option<(*mut Entry<()>, Waiter)>,
    ) -> (Option<Result<R::Item, RecvError>>, InHand) {
        let (taken, unused) = self.locked(caller, |state| {
            if let Some(item) = cursor.take(&state.content) {
                return (Some(Ok(item)), wait.map(|(_, waiter)| waiter));
            }
            if state.closed {
                return (Some(Err(RecvError)), wait.map(|(_, waiter)| waiter));
            }
            if let Some((entry, waiter)) = wait {
                // SAFETY: `entry` is live, in no list, and stays where it is (this function's
                // contract); the lock is held.
                unsafe { state.waiting.push(entry, waiter) };
            }
            (None, None)
        });
        (taken, InHand::new(unused))
    }

    /// Takes an entry out, if it is still in the list.
    ///
    /// # Safety
    /// `entry` is the caller's own, live, and in no list but those of this observable.
    unsafe fn give_up(&self, caller: Caller, entry: *mut Entry<()>) -> InHand {
        InHand::new(self.locked(caller, |state| {
            // One of the two lists; it matters only if it is the first there.
            let list = if state.waking.begins_with(entry) && !on("waking-forgotten") {
                &mut state.waking
            } else {
                &mut state.waiting
            };
            // SAFETY: `entry` is live, and in no list but these two (this function's contract); the
            // lock is held. Linked in `waking`, and not the first there, it is taken out of that
            // list all the same: a list itself knows only its first.
            unsafe { ((*entry).state() == LINKED || on("observable-give-up-unchecked")).then(|| list.remove(entry)) }
        }))
    }

    pub(super) fn try_receive<R: Cursor<Content = S>>(&self, cursor: &mut R) -> Result<R::Item, TryRecvError> {
        // SAFETY: there is no entry.
        match unsafe { self.take_or_wait(Caller::get(), cursor, None) }.0 {
            Some(Ok(item)) => Ok(item),
            Some(Err(RecvError)) => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    pub(super) fn receive<R: Cursor<Content = S>>(
        &self,
        cursor: &mut R,
        deadline: Instant,
    ) -> Result<R::Item, RecvTimeoutError> {
        Caller::get().spend();
        loop {
            let caller = Caller::get();
            let wait = caller.timed_wait(WaitReason::News).cancellable();
            let prepared = wait.prepare();
            let entry = Entry::new();
            let at = (&raw const entry).cast_mut();
            let ready = prepared.is_ok().then(|| (at, wait.waiter()));
            // SAFETY: the entry stands in this frame until the wait is over.
            match unsafe { self.take_or_wait(caller, cursor, ready) }.0 {
                Some(Ok(item)) => return Ok(item),
                Some(Err(RecvError)) => return Err(RecvTimeoutError::Closed),
                None => {}
            }
            if let Err(error) = prepared {
                panic!("{error}");
            }
            // SAFETY: the wait is prepared, and its waiter published; the entry stands in this
            // frame.
            if !unsafe { Wait::block_until(&raw const wait, deadline) } {
                // SAFETY: the entry is our own, and in no list but those of this observable.
                drop(unsafe { self.give_up(Caller::get(), at) });
                wait.arrive();
                // Once more: what came before the time was over may not have been told to us yet.
                return self.try_receive(cursor).map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Closed => RecvTimeoutError::Closed,
                });
            }
        }
    }
}

/// A wait of a cursor, as a future and as an arm of a select.
#[must_use = "it does nothing unless it is awaited, or an arm of a select"]
pub(super) struct Changed<'a, R: Cursor> {
    observable: Arc<Observable<R::Content>>,
    cursor: &'a mut R,
    entry: Entry<()>,
    won: Option<Result<R::Item, RecvError>>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the observable's lock, or by the holder.
unsafe impl<R: Cursor + Send> Send for Changed<'_, R>
where
    R::Content: Send,
    R::Item: Send,
{
}

impl<'a, R: Cursor> Changed<'a, R> {
    pub(super) fn new(observable: &Arc<Observable<R::Content>>, cursor: &'a mut R) -> Self {
        Changed { observable: observable.clone(), cursor, entry: Entry::new(), won: None, _pinned: PhantomPinned }
    }

    fn take_out(&mut self, caller: Caller) {
        if self.entry.state() == LINKED {
            // SAFETY: the entry is our own, and in no list but those of this observable.
            let _target = unsafe { self.observable.give_up(caller, &raw mut self.entry) };
        }
        self.entry.reset();
    }
}

impl<R: Cursor> Future for Changed<'_, R> {
    type Output = Result<R::Item, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let caller = Caller::get();
        // Its waker may be another one by now: it enters anew.
        this.take_out(caller);
        if !caller.poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        let waiter = Waiter::future(cx.waker());
        let at = &raw mut this.entry;
        // SAFETY: in no list, and pinned. A waiter that was not needed is discarded at the end.
        let (taken, _unused) = unsafe { this.observable.take_or_wait(caller, this.cursor, Some((at, waiter))) };
        taken.map_or(Poll::Pending, Poll::Ready)
    }
}

// SAFETY: unlinked when `unlink` or the destructor returns.
unsafe impl<R: Cursor> Arm for Changed<'_, R> {
    type Output = Result<R::Item, RecvError>;

    unsafe fn attempt(&mut self, caller: Caller, _: Option<&Waker>) -> Option<Self::Output> {
        // SAFETY: there is no entry.
        unsafe { self.observable.take_or_wait(caller, self.cursor, None) }.0
    }

    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        let Changed { observable, cursor, entry, .. } = self;
        let at: *mut Entry<()> = entry;
        let (link, won) = observable.locked(caller, |state| {
            if on("link-unread") || !state.closed && !cursor.has_news(&state.content) {
                // SAFETY: the lock is held, and the arm is in no list; its entry stays where it is
                // until it is unlinked (this method's contract).
                unsafe { state.waiting.push(at, me.waiter()) };
                return (Link::Linked, None);
            }
            // SAFETY: `me` is alive until the arm is unlinked (this method's contract).
            if unsafe { !me.claim() } {
                return (Link::Over, None);
            }
            (Link::Done, Some(cursor.take(&state.content).ok_or(RecvError)))
        });
        self.won = won;
        link
    }

    fn unlink(&mut self, caller: Caller) -> Option<Self::Output> {
        let was = self.entry.state();
        self.take_out(caller);
        if let Some(won) = self.won.take() {
            return Some(won);
        }
        // We were woken, by a change: what is new is ours. (Else the select attempts all again.)
        // SAFETY: there is no entry.
        matches!(was, DONE | CLOSED)
            .then(|| unsafe { self.observable.take_or_wait(caller, self.cursor, None) }.0)
            .flatten()
    }

    fn abandon(&mut self, caller: Caller) {
        self.take_out(caller);
    }
}

impl<R: Cursor> Drop for Changed<'_, R> {
    fn drop(&mut self) {
        self.take_out(Caller::get());
    }
}

impl<R: Cursor> fmt::Debug for Changed<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changed(..)")
    }
}

/// Closes its observable when the last sender goes.
pub(super) struct Closer<S: Content>(pub(super) Arc<Observable<S>>);

impl<S: Content> Drop for Closer<S> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A receive that only tries has failed.
pub(super) fn tried_in_vain() {
    Caller::get().spend_in_vain();
}

/// The receiving methods, in all endings.
macro_rules! receiving {
    ($receiver:ident<$t:ident>, $item:ty) => {
        impl<$t> $receiver<$t> {
            /// Waits for what is new to this receiver.
            ///
            /// # Blocking
            /// Until there is something, or the last sender is gone. The calling task is set aside
            /// meanwhile, a foreign thread sleeps.
            ///
            /// # Errors
            /// The channel is closed, and nothing is left in it for this receiver.
            ///
            /// # Panics
            /// If it must wait and there is no memory for a stack.
            pub fn recv(&mut self) -> Result<$item, RecvError> {
                self.observable.receive(&mut self.cursor, Instant::NEVER).map_err(|_| RecvError)
            }
            /// What is new, if something is there now.
            ///
            /// # Blocking
            /// It waits for nothing; in a closure each 256th attempt in a row that fails lets
            /// others go first, as that of a [`Receiver`](crate::channel::Receiver::try_recv).
            ///
            /// # Errors
            /// Nothing is new, or the channel is closed.
            pub fn try_recv(&mut self) -> Result<$item, TryRecvError> {
                self.observable
                    .try_receive(&mut self.cursor)
                    .inspect_err(|_| $crate::channel::observable::tried_in_vain())
            }
            /// As [`recv`](Self::recv), for at most `timeout`.
            ///
            /// # Errors
            /// The time has passed, or the channel is closed.
            pub fn recv_timeout(&mut self, timeout: Duration) -> Result<$item, RecvTimeoutError> {
                self.recv_deadline(time::now() + timeout)
            }
            /// As [`recv`](Self::recv), until `deadline` at the latest.
            ///
            /// # Errors
            /// The time has passed, or the channel is closed.
            pub fn recv_deadline(&mut self, deadline: Instant) -> Result<$item, RecvTimeoutError> {
                self.observable.receive(&mut self.cursor, deadline)
            }
            /// A future of [`recv`](Self::recv).
            ///
            /// # Cancellation
            /// Dropped before it is ready, it has taken nothing.
            pub fn recv_async(&mut self) -> impl Future<Output = Result<$item, RecvError>> {
                Changed::new(&self.observable, &mut self.cursor)
            }
            /// An arm of a [select](mod@crate::select); `select!` writes it as `rx.recv()`.
            pub fn recv_arm(&mut self) -> impl Arm<Output = Result<$item, RecvError>> {
                Changed::new(&self.observable, &mut self.cursor)
            }
            /// Are all senders gone?
            pub fn is_closed(&self) -> bool {
                self.observable.is_closed()
            }
        }
    };
}
pub(super) use receiving;
