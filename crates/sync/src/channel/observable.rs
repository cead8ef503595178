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

use super::entry::{Entry, LINKED, List};
use super::error::{RecvError, TryRecvError};
use crate::guarded::Guarded;
use crate::lock::op::{self, Op, RETRY, Waiting};
use crate::select::{Arm, Link};
use crate::wake_list::WakeList;
use myriad_base::sys::mutant::on;
use myriad_core::engine::made;
use myriad_core::engine::wait::{Caller, InHand, MultiWait, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::fmt;
use std::marker::PhantomPinned;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

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
        if made::is_on() {
            made::forget(std::ptr::from_ref(self).cast());
        }
    }
}

impl<S: Content> Observable<S> {
    #[track_caller]
    pub(super) fn new(content: S) -> Arc<Observable<S>> {
        let state = ObservableState { content, closed: false, waiting: List::new(), waking: List::new() };
        let this = Arc::new(Observable { state: Guarded::new(state) });
        if made::is_on() {
            // SAFETY: nothing is called with the address.
            unsafe { made::note(Arc::as_ptr(&this).cast(), Location::caller(), None) };
        }
        this
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
            self.wake_all();
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
        self.wake_all();
        was_open
    }

    /// Each looks again.
    fn wake_all(&self) {
        WakeList::wake_all(|woken| {
            self.locked(Caller::get(), |state| {
                while woken.has_room()
                    // SAFETY: the lock is held.
                    && let Some((entry, waiter)) = unsafe { state.waking.claim_first() }
                {
                    // SAFETY: the lock is held; what was claimed is ours until `end`.
                    unsafe { Entry::end(entry, RETRY) };
                    woken.push(waiter);
                    if on("observable-wakes-one") {
                        state.waking = List::new();
                    }
                }
            });
        });
    }

    /// Takes what is new, or hears that nothing will be; else `wait` has those who wait, under the
    /// lock.
    fn take_or<R: Cursor<Content = S>>(
        &self,
        caller: Caller,
        cursor: &mut R,
        wait: impl FnOnce(&mut List<()>),
    ) -> Option<Result<R::Item, RecvError>> {
        self.locked(caller, |state| {
            if let Some(item) = cursor.take(&state.content) {
                return Some(Ok(item));
            }
            if state.closed {
                return Some(Err(RecvError));
            }
            wait(&mut state.waiting);
            None
        })
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
        match self.take_or(Caller::get(), cursor, |_| ()) {
            Some(Ok(item)) => Ok(item),
            Some(Err(RecvError)) => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    /// `None`: the time has passed.
    pub(super) fn receive<R: Cursor<Content = S>>(
        &self,
        cursor: &mut R,
        deadline: Option<Instant>,
    ) -> Option<Result<R::Item, RecvError>> {
        Caller::get().spend();
        let mut got = None;
        op::wait(&mut ReadNews { observable: self, cursor, got: &mut got }, deadline);
        got
    }

    pub(super) async fn receive_async<R: Cursor<Content = S>>(&self, cursor: &mut R) -> Result<R::Item, RecvError> {
        let mut got = None;
        Waiting::new(ReadNews { observable: self, cursor, got: &mut got }).await;
        got.expect("a wait that was over has got what it was for")
    }
}

/// A wait for what is new to a cursor.
struct ReadNews<'a, R: Cursor> {
    observable: &'a Observable<R::Content>,
    cursor: &'a mut R,
    got: &'a mut Option<Result<R::Item, RecvError>>,
}

// SAFETY: entries are linked and taken out under the lock.
unsafe impl<R: Cursor> Op for ReadNews<'_, R> {
    type Slot = ();
    const REASON: WaitReason = WaitReason::News;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.observable).cast()
    }

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) -> bool {
        *self.got = self.observable.take_or(caller, self.cursor, |waiting| {
            if let Some(waiter) = Waiter::take(waiter) {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { waiting.push(entry, waiter) };
            }
        });
        self.got.is_some()
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in a list of this
        // observable, which is locked.
        self.observable.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    /// Always `RETRY`: the content says whether there is something.
    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<()>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract), in a list of this
        // observable; out of it, it is its owner's, who calls.
        unsafe {
            drop(self.observable.give_up(caller, entry));
            (*entry).reset();
        }
        RETRY
    }
}

/// A wait of a cursor as an arm of a select.
#[must_use = "it does nothing unless it is an arm of a select"]
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

// SAFETY: unlinked when `unlink` or the destructor returns.
unsafe impl<R: Cursor> Arm for Changed<'_, R> {
    type Output = Result<R::Item, RecvError>;

    unsafe fn attempt(&mut self, caller: Caller, _: Option<&Waker>) -> Option<Self::Output> {
        self.observable.take_or(caller, self.cursor, |_| ())
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
        if was == RETRY { self.observable.take_or(caller, self.cursor, |_| ()) } else { None }
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
                self.observable.receive(&mut self.cursor, None).expect("there is no time limit")
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
                match self.observable.receive(&mut self.cursor, Some(deadline)) {
                    Some(received) => received.map_err(|RecvError| RecvTimeoutError::Closed),
                    None => Err(RecvTimeoutError::Timeout),
                }
            }
            /// A future of [`recv`](Self::recv).
            ///
            /// # Cancellation
            /// Dropped before it is ready, it has taken nothing.
            pub fn recv_async(&mut self) -> impl Future<Output = Result<$item, RecvError>> {
                self.observable.receive_async(&mut self.cursor)
            }
            /// [`recv`](Self::recv) as an arm of a [select](mod@crate::select); `select!` writes it
            /// as `rx.recv()`.
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
