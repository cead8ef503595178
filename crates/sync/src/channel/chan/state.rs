//! Operations on a channel's state, under its lock: sending, receiving, waiting. The invariants are
//! those of [`super`].

use super::lend::{LENT, Lent};
use super::{ChanState, List, Look, Looks, Received, Seldom, Sent, Side, WhenFull};
use crate::channel::entry::{CLOSED, ClaimWith, DONE, Entry, LINKED, PEEKS};
use crate::channel::ring::{Messages, Ring};
use crate::select::Link;
use crate::wake_list::WakeList;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{MultiWait, Waiter};
use std::mem::ManuallyDrop;

impl<T> ChanState<T> {
    pub(super) fn nobody_waits(&self) -> bool {
        self.waiting_receivers.is_empty()
            && self.waiting_senders.is_empty()
            && self.seldom.as_ref().is_none_or(|seldom| seldom.close_waiters.is_empty())
    }

    /// What few channels need; this one from now on.
    pub(super) fn seldom(&mut self) -> &mut Seldom<T> {
        self.seldom.get_or_insert_with(|| {
            Box::new(Seldom { lent: Lent::new(), close_waiters: List::new(), looks: Looks::new() })
        })
    }

    /// Begins to wait for the close, or waits on with another waiter; true: it is closed. The
    /// waiter that is not needed is left in its place.
    ///
    /// # Safety
    /// `entry` is the caller's own, live, stays where it is while linked, and is in no list but
    /// `close_waiters`; the channel is locked.
    pub(in crate::channel) unsafe fn wait_closed(&mut self, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) -> bool {
        if self.is_closed() {
            return true;
        }
        // SAFETY: the channel is open and locked, so a linked `entry` is in `close_waiters`; one
        // that is not linked is live, in no list, and stays where it is (this function's contract).
        unsafe {
            match Waiter::take(waiter) {
                Some(new) if (*entry).state() == LINKED => *waiter = Some((*entry).replace_waiter(new)),
                Some(new) => self.seldom().close_waiters.push(entry, new),
                None => {}
            }
        }
        false
    }

    /// Waits for the close no longer.
    ///
    /// # Safety
    /// `entry` is the caller's own, live, and in no list but `close_waiters`; the channel is
    /// locked.
    pub(in crate::channel) unsafe fn leave_closed(&mut self, entry: *mut Entry<T>) -> Option<Waiter> {
        // SAFETY: `entry` is live, and in no list but `close_waiters` (this function's contract):
        // linked, it is in that, and stays so under the lock.
        unsafe { ((*entry).state() == LINKED).then(|| self.seldom().close_waiters.remove(entry)) }
    }

    /// Sends, and if the buffer is full takes its oldest message out for that.
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`. (A rendezvous has nothing
    /// to take out: there this is [`try_send`](Self::try_send).)
    pub(in crate::channel) unsafe fn force_send(&mut self, slot: *mut T) -> Sent {
        let usual = self.when_full;
        if self.limit > 0 {
            self.when_full = WhenFull::DropOldest;
        }
        // SAFETY: `slot` holds a message (this function's contract). `DropOldest` is set here only
        // with a limit above 0, so a full buffer has an oldest message.
        let sent = unsafe { self.try_send(slot) };
        self.when_full = usual;
        sent
    }

    /// As [`Chan::give_up`].
    ///
    /// # Safety
    /// `entry` is live, its wait is the caller's to end, and it is in no list but that of side
    /// `of`; the channel is locked.
    pub(super) unsafe fn leave_line(&mut self, entry: *mut Entry<T>, of: Side) -> Option<Waiter> {
        // SAFETY: `entry` is live (this function's contract). Linked, it is in the list of this
        // side, and stays there under the lock.
        unsafe {
            if !matches!((*entry).state(), LINKED | PEEKS) && !on("give-up-unchecked") {
                return None;
            }
            let list = match of {
                Side::Send => &mut self.waiting_senders,
                Side::Receive => &mut self.waiting_receivers,
            };
            let waiter = list.remove(entry);
            (*entry).reset();
            Some(waiter)
        }
    }

    /// The channel is closed: takes out some that still wait, to be woken.
    pub(super) fn end_some(&mut self, woken: &mut WakeList) {
        while woken.has_room() {
            // SAFETY: the lock is held; what is claimed is ours until `end`.
            unsafe {
                // What is lent may come back to a receiver.
                let first = if self.is_lent() { None } else { self.waiting_receivers.claim_first() };
                let next = first.or_else(|| self.waiting_senders.claim_first());
                let next = next.or_else(|| {
                    let seldom = self.seldom.as_mut().filter(|_| !on("close-untold"));
                    seldom.and_then(|seldom| seldom.close_waiters.claim_first())
                });
                let Some((entry, waiter)) = next else { return };
                Entry::end(entry, CLOSED);
                woken.push(waiter);
            }
        }
    }

    /// Takes out what is buffered: nobody will receive it. The channel is closed, and the last
    /// receiver gone: a message that is still lent is so to a future that was forgotten, and does
    /// not come back.
    pub(in crate::channel) fn drain(&mut self) -> Messages<T> {
        let buffered = std::mem::replace(self.buffered(), Ring::new());
        self.forget_loan();
        Messages(buffered)
    }

    /// Sends now, if that takes nothing but room in the buffer. (Small, to stand in the caller's
    /// code; by value, so that a message stays in registers.)
    #[inline]
    pub(in crate::channel) fn fast_send(&mut self, value: ManuallyDrop<T>) -> Result<(), ManuallyDrop<T>> {
        if self.buffer.len() < self.fast_room && self.waiting_receivers.is_empty() {
            // SAFETY: `fast_room` is at most the ring's memory.
            unsafe { self.buffer.push_value(value) };
            return Ok(());
        }
        Err(value)
    }

    /// The same for a message that stands in its slot, and is moved out of it if this is true.
    ///
    /// # Safety
    /// `slot` holds a message, which is the caller's to move.
    #[inline(always)]
    pub(in crate::channel) unsafe fn fast_send_from(&mut self, slot: *const T) -> bool {
        let sends = self.buffer.len() < self.fast_room && self.waiting_receivers.is_empty();
        if sends {
            // SAFETY: `fast_room` is at most the ring's memory; and this function's contract.
            unsafe { self.buffer.push_into_room(slot) };
        }
        sends
    }

    /// Is a message buffered, and does no sender wait for its room?
    #[inline(always)]
    pub(in crate::channel) fn can_fast_recv(&self) -> bool {
        self.buffer.len() > 0 && self.waiting_senders.is_empty()
    }

    /// # Safety
    /// It [receives on the fast path](Self::can_fast_recv).
    #[inline]
    pub(in crate::channel) unsafe fn fast_recv(&mut self) -> T {
        debug_assert!(self.can_fast_recv());
        // SAFETY: the channel receives on the fast path (this function's contract), so the buffer
        // is not empty.
        unsafe { self.buffer.pop_value() }
    }

    /// Must a receive wait? (False: perhaps.)
    #[inline(always)]
    pub(in crate::channel) fn has_nothing(&self) -> bool {
        self.buffer.len() == 0 && self.waiting_senders.is_empty() && self.slow_flags == 0
    }

    /// Must a send wait? (False: perhaps.)
    #[inline(always)]
    pub(in crate::channel) fn has_no_room(&self) -> bool {
        self.buffer.len() >= self.limit
            && self.waiting_receivers.is_empty()
            && self.slow_flags == 0
            && self.when_full == WhenFull::Wait
    }

    /// What was found to be impossible: is it to be tried once more, after a pause, before the
    /// caller waits? (Not at a rendezvous, where one has to stand in line for the other.)
    pub(in crate::channel) fn looks_again(&mut self, look: &mut Look, of: Side) -> bool {
        // (The notes are made for threads that look only.)
        self.limit > 0 && !look.is_over() && look.goes_on(&mut self.seldom().looks, of)
    }

    /// Before another try: takes note of what has become possible in the pause.
    pub(in crate::channel) fn has_looked(&mut self, look: &mut Look, of: Side) {
        if !look.is_on() {
            return;
        }
        let buffered = self.buffer.len();
        let room = self.limit.saturating_sub(buffered);
        let (begin, possible) = match of {
            Side::Send => (buffered, room),
            Side::Receive => (0, buffered),
        };
        look.found(&mut self.seldom().looks, of, possible);
        self.buffer.prefetch(begin, possible);
    }

    /// Sends now, if that is possible.
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`.
    #[inline(always)]
    pub(in crate::channel) unsafe fn try_send(&mut self, slot: *mut T) -> Sent {
        // SAFETY: `slot` holds a message, which is moved once (this function's contract).
        unsafe {
            match self.give_to_waiting(slot) {
                Some(waiter) => Sent::Done(Some(waiter)),
                None => self.try_send_to_nobody(slot),
            }
        }
    }

    /// Gives it to the receiver that waits longest, where nothing is out of the ordinary. `None`:
    /// nobody waits, or [`try_send_to_nobody`](Self::try_send_to_nobody) looks closer. (Apart, so
    /// that the waiter comes to whoever wakes it in registers: by way of memory it comes some ns
    /// later.)
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if there is a waiter.
    #[inline(always)]
    pub(in crate::channel) unsafe fn give_to_waiting(&mut self, slot: *mut T) -> Option<Waiter> {
        if self.slow_flags != 0 || self.waiting_receivers.is_empty() {
            return None;
        }
        // SAFETY: `slot` holds a message, which is moved once (this function's contract). The
        // channel is locked, so a claimed receiver's entry is ours until `end`, and its slot is
        // empty.
        unsafe {
            let (entry, waiter) = self.waiting_receivers.claim_first()?;
            self.handed_over = true;
            (*entry).put(slot);
            Entry::end(entry, DONE);
            Some(waiter)
        }
    }

    /// The rest of [`try_send`](Self::try_send).
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`. It was not handed over just
    /// now, under this lock.
    #[inline(always)]
    pub(in crate::channel) unsafe fn try_send_to_nobody(&mut self, slot: *mut T) -> Sent {
        // SAFETY: `slot` holds a message, which is moved once (this function's contract).
        unsafe { if self.slow_flags != 0 { self.try_send_slow(slot) } else { self.buffer_or_refuse(slot) } }
    }

    /// The same where nobody waits for it. (Apart, so that the hand-over above stands in its
    /// callers' code.)
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`.
    pub(super) unsafe fn buffer_or_refuse(&mut self, slot: *mut T) -> Sent {
        // SAFETY: `slot` holds a message, which is moved once (this function's contract). With
        // `DropOldest` the limit is above 0, so a full buffer has an oldest message.
        unsafe {
            if self.buffer.len() >= self.limit {
                match self.when_full {
                    WhenFull::Wait => return Sent::Full,
                    WhenFull::DropNewest => {}
                    WhenFull::DropOldest => self.buffer.replace_first(slot),
                }
                return Sent::Dropped;
            }
            self.buffer.push(slot);
        }
        self.fast_room = self.limit.min(self.buffer.capacity());
        Sent::Done(None)
    }

    /// Receives now, if that is possible.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if the answer is `Done`.
    pub(in crate::channel) unsafe fn try_recv(&mut self, slot: *mut T) -> Received {
        // SAFETY: `slot` is valid and empty (this function's contract), and filled once. The
        // channel is locked, so a claimed sender's entry is ours until `end`, and its slot is full.
        unsafe {
            if self.buffer.len() > 0 {
                self.buffer.pop(slot);
                // Senders that still wait at a closed channel are about to be told: others have
                // heard of it, so theirs fail too.
                if self.waiting_senders.is_empty()
                    || self.buffer.len() >= self.limit
                    || self.is_closed() && !on("served-though-closed")
                {
                    return Received::Done(None);
                }
                let waiter = self.waiting_senders.claim_first().map(|(entry, waiter)| {
                    self.buffer.push((*entry).slot());
                    Entry::end(entry, DONE);
                    waiter
                });
                return Received::Done(waiter);
            }
            if self.slow_flags != 0 {
                return self.try_recv_slow(slot);
            }
            self.meet(slot)
        }
    }

    /// Receives from a sender that waits at a rendezvous.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if the answer is `Done`. Nothing is
    /// buffered.
    #[inline(always)]
    pub(super) unsafe fn meet(&mut self, slot: *mut T) -> Received {
        // SAFETY: `slot` is valid and empty (this function's contract). The channel is locked, so
        // a claimed sender's entry is ours until `end`, and its slot is full.
        unsafe {
            if !self.waiting_senders.is_empty()
                && let Some((entry, waiter)) = self.waiting_senders.claim_first()
            {
                self.handed_over = true;
                slot.copy_from_nonoverlapping((*entry).slot(), 1);
                Entry::end(entry, DONE);
                return Received::Done(Some(waiter));
            }
        }
        Received::Empty
    }

    /// Begins to wait.
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; its slot is full if it
    /// sends, empty if it receives. The channel is locked, and the operation was just found to be
    /// impossible, under the same lock.
    #[inline(always)]
    pub(in crate::channel) unsafe fn wait(&mut self, of: Side, entry: *mut Entry<T>, waiter: Waiter) {
        // SAFETY: `entry` is live, in no list, and stays where it is, and the channel is locked
        // (this function's contract): what `push` demands.
        unsafe {
            match of {
                Side::Send => self.waiting_senders.push(entry, waiter),
                Side::Receive => self.waiting_receivers.push(entry, waiter),
            }
        }
        self.changes = self.changes.wrapping_add(u32::from(!on("waits-not-counted")));
    }

    /// A number that only grows (and wraps), for a select that looks twice: an arm that was not
    /// ready at two looks with the same number was not ready in between either.
    ///
    /// To be ready for a while takes one of these, and each is counted: a message is taken out (by
    /// the ring, so sends and receives that do not wait count nothing); somebody begins to wait, at
    /// a rendezvous; a message comes back; a loan ends. (Once closed an arm is ready for good.)
    pub(in crate::channel) fn version(&self) -> u64 {
        let taken = if on("taken-not-counted") { 0 } else { self.buffer.taken() };
        taken.wrapping_add(self.changes as usize) as u64
    }

    /// A message is in front of all others again: the ring counts that down by one.
    pub(super) fn has_come_back(&mut self) {
        self.changes = self.changes.wrapping_add(if on("back-not-counted") { 0 } else { 2 });
    }

    /// Sends for one that waits in other lists meanwhile; if that is not possible now, begins to
    /// wait here too. The waiter of a receiver is to be woken afterwards.
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; the channel is locked.
    /// The entry's slot holds a message; it is moved out if the entry is `DONE` afterwards. `me` is
    /// the caller's own wait, and alive.
    pub(in crate::channel) unsafe fn send_or_wait(
        &mut self,
        entry: *mut Entry<T>,
        me: MultiWait,
    ) -> (Link, Option<Waiter>) {
        // Of another kind a send never waits, so it was done by an attempt.
        debug_assert_eq!(self.when_full, WhenFull::Wait);
        // SAFETY: `entry` is ours until it is linked, its slot full, and `me` is alive (this
        // function's contract). The channel is locked, so a claimed receiver's entry is ours until
        // `end`, and its slot is empty.
        unsafe {
            if self.slow_flags != 0 {
                return self.send_or_wait_slow(entry, me);
            }
            match self.waiting_receivers.claim_first_with(me) {
                ClaimWith::Partner(receiver, waiter) => {
                    self.handed_over = true;
                    (*receiver).put((*entry).slot());
                    Entry::end(receiver, DONE);
                    Entry::end(entry, DONE);
                    return (Link::Done, Some(waiter));
                }
                ClaimWith::SelfOver => return (Link::Over, None),
                ClaimWith::Nobody => {}
            }
            if self.buffer.len() < self.limit {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done {
                    self.buffer.push((*entry).slot());
                    self.fast_room = self.limit.min(self.buffer.capacity());
                }
                return (link, None);
            }
            self.wait(Side::Send, entry, me.waiter());
        }
        (Link::Linked, None)
    }

    /// Receives for one that waits in other lists meanwhile, as
    /// [`send_or_wait`](Self::send_or_wait).
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; the channel is locked.
    /// The entry's slot is empty, and is filled if the entry is `DONE` afterwards. `me` is the
    /// caller's own wait, and alive.
    pub(in crate::channel) unsafe fn receive_or_wait(
        &mut self,
        entry: *mut Entry<T>,
        me: MultiWait,
    ) -> (Link, Option<Waiter>) {
        // SAFETY: `entry` is ours until it is linked, its slot empty, and `me` is alive (this
        // function's contract). The channel is locked, so a claimed sender's entry is ours until
        // `end`, and its slot is full.
        unsafe {
            if self.slow_flags & LENT != 0 {
                return self.receive_or_wait_lent(entry, me);
            }
            if self.buffer.len() > 0 {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done
                    && let Received::Done(waiter) = self.try_recv((*entry).slot())
                {
                    return (link, waiter);
                }
                return (link, None);
            }
            // First: senders that still wait there are about to be told.
            if self.is_closed() {
                return (Self::end_alone(entry, CLOSED, me), None);
            }
            match self.waiting_senders.claim_first_with(me) {
                ClaimWith::Partner(sender, waiter) => {
                    self.handed_over = true;
                    (*entry).put((*sender).slot());
                    Entry::end(sender, DONE);
                    Entry::end(entry, DONE);
                    return (Link::Done, Some(waiter));
                }
                ClaimWith::SelfOver => return (Link::Over, None),
                ClaimWith::Nobody => {}
            }
            self.wait(Side::Receive, entry, me.waiter());
        }
        (Link::Linked, None)
    }

    /// Ends the caller's own wait, in this way, without a partner.
    ///
    /// # Safety
    /// `entry` and the wait `me` are the caller's own, and alive; `entry` is in no list.
    pub(super) unsafe fn end_alone(entry: *mut Entry<T>, state: u8, me: MultiWait) -> Link {
        // SAFETY: `me` is alive, and `entry` is the caller's own, live, and in no list (this
        // function's contract).
        unsafe {
            if !me.claim() && !on("ended-not-asked") {
                return Link::Over;
            }
            Entry::end(entry, state);
        }
        Link::Done
    }
}
