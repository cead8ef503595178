//! Where messages for an actor go.

use crate::cell::{Gate, OnFull, OpenPlace, Target, force, put, put_from, put_in_place};
use crate::pid::{AsPid, Pid, this};
use crate::shared::{Shared, WeakShared};
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use myriad_sync::channel::{SendError, SendTimeoutError, TrySendError};
use std::fmt;
use std::time::Duration;

/// Where messages for an actor go: an actor that is a function, or a [`Server`](crate::Server).
///
/// Of one incarnation: an actor that its supervisor has started anew has another one. Cloning
/// copies a reference. Dropping the last one does not end the actor; it lives on until its function
/// returns, or it is told to end.
///
/// Messages of one sender arrive in the order in which they were sent, among them the message that
/// the sender has ended.
pub struct Address<M>(pub(crate) Shared<dyn Target<M>>);

impl<M: Send + 'static> Address<M> {
    /// Sends a message.
    ///
    /// # Blocking
    /// Only where the mailbox is bounded with [`OnFull::Wait`] and full: until there is room, or
    /// the actor has ended.
    ///
    /// # Errors
    /// The actor has ended, or its mailbox is full with [`OnFull::Refuse`]: the message comes back.
    ///
    /// # Cancellation
    /// A caller that waits unwinds, and the message is dropped.
    #[inline]
    #[track_caller]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        if self.has_no_limit() {
            return self.put(message).map_err(SendError);
        }
        match self.enter(message) {
            Place::Free(message) => self.put_in_place(message).map_err(SendError),
            Place::Done => Ok(()),
            Place::Full(message, OnFull::Wait) => {
                Gate::keep(self.gate().room.acquire());
                self.put_in_place(message).map_err(SendError)
            }
            Place::Full(message, _) => Err(SendError(message)),
        }
    }

    /// Sends a message if that needs no wait.
    ///
    /// # Errors
    /// The actor has ended, or its mailbox is full: the message comes back.
    // (In its callers' code: so a message is not moved before it is moved in.)
    #[inline(always)]
    pub fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        if self.has_no_limit() {
            return self.put(message).map_err(TrySendError::Closed);
        }
        self.try_send_bounded(message)
    }

    #[inline(never)]
    fn try_send_bounded(&self, message: M) -> Result<(), TrySendError<M>> {
        match self.enter(message) {
            Place::Free(message) => self.put_in_place(message).map_err(TrySendError::Closed),
            Place::Done => Ok(()),
            Place::Full(message, _) => Err(TrySendError::Full(message)),
        }
    }

    /// Sends a message and never waits; where the actor has ended, or has no room, the message is
    /// dropped.
    ///
    /// # Panics
    /// If the destructor of a message that is dropped does.
    #[inline(always)]
    pub fn cast(&self, message: M) {
        let cell = self.0.cell();
        if cell.gate.is_none() {
            // (By its address, here: a message that another call takes is copied on the way.)
            // SAFETY: the message is there, and is forgotten if it was moved.
            if unsafe { put_from(&*self.0, cell, &raw const message) } {
                std::mem::forget(message);
            }
        } else {
            drop(self.try_send_bounded(message));
        }
    }

    /// As [`send`](Self::send), for so long.
    ///
    /// # Errors
    /// As there; or the time was over.
    #[track_caller]
    pub fn send_timeout(&self, message: M, limit: Duration) -> Result<(), SendTimeoutError<M>> {
        self.send_deadline(message, time::now() + limit)
    }

    /// As [`send`](Self::send), until then.
    ///
    /// # Errors
    /// As there; or the time was over.
    #[track_caller]
    pub fn send_deadline(&self, message: M, deadline: Instant) -> Result<(), SendTimeoutError<M>> {
        if self.has_no_limit() {
            return self.put(message).map_err(SendTimeoutError::Closed);
        }
        match self.enter(message) {
            Place::Free(message) => self.put_in_place(message).map_err(SendTimeoutError::Closed),
            Place::Done => Ok(()),
            Place::Full(message, OnFull::Wait) => match self.gate().room.acquire_deadline(deadline) {
                Ok(permit) => {
                    Gate::keep(permit);
                    self.put_in_place(message).map_err(SendTimeoutError::Closed)
                }
                Err(_) => Err(SendTimeoutError::Timeout(message)),
            },
            Place::Full(message, _) => Err(SendTimeoutError::Closed(message)),
        }
    }

    /// As [`send`](Self::send), as a future.
    ///
    /// # Errors
    /// As there.
    pub async fn send_async(&self, message: M) -> Result<(), SendError<M>> {
        if self.has_no_limit() {
            return self.put(message).map_err(SendError);
        }
        match self.enter(message) {
            Place::Free(message) => self.put_in_place(message).map_err(SendError),
            Place::Done => Ok(()),
            Place::Full(message, OnFull::Wait) => {
                Gate::keep(self.gate().room.acquire_async().await);
                self.put_in_place(message).map_err(SendError)
            }
            Place::Full(message, _) => Err(SendError(message)),
        }
    }

    /// Then a message goes in as it is. (Asked before [`enter`](Self::enter), whose answer has the
    /// message in it: each move of a message that was written just now takes some ns.)
    #[inline(always)]
    fn has_no_limit(&self) -> bool {
        self.0.cell().gate.is_none()
    }

    fn gate(&self) -> &Gate {
        self.0.cell().gate.as_ref().expect("what is full has a limit")
    }

    /// A place in the mailbox, as the limit and its policy have it; as one operation of the budget,
    /// before there is a place that a cancellation could take along.
    #[inline(never)]
    fn enter(&self, message: M) -> Place<M> {
        Caller::get().spend();
        let gate = self.gate();
        if gate.try_enter() || self.0.cell().inbox.is_closed() {
            return Place::Free(message);
        }
        match gate.on_full {
            policy @ (OnFull::Wait | OnFull::Refuse) => Place::Full(message, policy),
            OnFull::DropNewest => {
                drop(message);
                Place::Done
            }
            OnFull::DropOldest => match self.0.cell().inbox.pop() {
                // Its place is this message's. (If its destructor panics, nobody's.)
                Some(oldest) => {
                    let place = OpenPlace(gate);
                    drop(oldest);
                    std::mem::forget(place);
                    Place::Free(message)
                }
                // All that count were put off by the receiver, or are in the hands of a turn, or
                // were taken just now. The newest is not the oldest: it comes in beside them.
                None => {
                    gate.force();
                    Place::Free(message)
                }
            },
        }
    }

    #[inline(always)]
    fn put(&self, message: M) -> Result<(), M> {
        put(&*self.0, message)
    }

    fn put_in_place(&self, message: M) -> Result<(), M> {
        put_in_place(&*self.0, message)
    }

    /// As the runtime of actors sends: past the limit.
    pub(crate) fn force(&self, message: M) {
        drop(force(&*self.0, message));
    }

    /// A message of it is only sent while somebody else keeps the actor's memory.
    pub fn downgrade(&self) -> WeakAddress<M> {
        WeakAddress(self.0.downgrade())
    }

    /// Has the actor not ended, and not begun to end?
    pub fn is_alive(&self) -> bool {
        self.0.life().stage() == crate::life::Stage::Alive
    }
}

enum Place<M> {
    /// The message has its place.
    Free(M),
    /// Nothing is left to do.
    Done,
    Full(M, OnFull),
}

impl<M> Clone for Address<M> {
    #[inline]
    fn clone(&self) -> Self {
        Address(self.0.clone())
    }
}

impl<M> AsPid for Address<M> {
    fn pid(&self) -> Pid {
        let process: &dyn crate::pid::Process = &*self.0;
        this(process)
    }
}

impl<M> PartialEq for Address<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0.life().id() == other.0.life().id()
    }
}

impl<M> Eq for Address<M> {}

impl<M> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.0.life().id())
    }
}

/// An [`Address`] that keeps nothing: two actors that know each other by it leave no memory behind.
pub struct WeakAddress<M>(WeakShared<dyn Target<M>>);

impl<M: Send + 'static> WeakAddress<M> {
    /// Has the actor ended, and is its memory gone?
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// The address; `None` if the actor has ended, and its memory is gone.
    pub fn upgrade(&self) -> Option<Address<M>> {
        self.0.upgrade().map(Address)
    }
}

impl<M> Clone for WeakAddress<M> {
    fn clone(&self) -> Self {
        WeakAddress(self.0.clone())
    }
}

impl<M> fmt::Debug for WeakAddress<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakAddress").finish_non_exhaustive()
    }
}
