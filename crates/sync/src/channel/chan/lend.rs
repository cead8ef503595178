//! The first message is lent to a receiver that peeks: without the lock, because the peeker's
//! closure is user code.
//!
//! ```text
//!   buffer [1 2 3]  --peek-->  1 with the peeker;  buffer [],  behind [2 3]
//!                   --back, or taken-->  buffer [1 2 3] or [2 3]
//! ```
//! **Invariants** while a message is lent (`LENT`). `buffer` is empty and `fast_room` is 0, so none
//! of the shortest paths does anything and all come here; what is sent goes into `behind`.
//! Receivers may wait although something is there; so may senders, at a full channel (the lent
//! message counts). Nobody receives what was sent after it, before it is back or taken; then all
//! that waited meanwhile are served, under one lock, in their order. It is lent to one at a time.
//!
//! A peeker that finds nothing stands in the receivers' line ([`PEEKS`]), and is lent the message
//! that it would have received. As long as one may stand there (`PEEKER_WAITING`) sends come here
//! too.
//!
//! **Rejected.** Peeking under the lock: a `Clone` or a closure may panic, use the same channel, or
//! let another task of the worker run, which has the lock's bias. Handing the message over as to a
//! receiver, and giving it back: others would have received later ones meanwhile. A list of those
//! who only peek, told when something is there: it may be gone when they come, again and again.

use super::*;
use myriad_core::engine::user_code::UserValue;

/// `ChanState::slow_flags`: no sends any more.
const SHUT: u8 = 1;
/// The first message is lent.
pub(super) const LENT: u8 = 2;
/// Perhaps a receiver waits that peeks. (Taken back when nobody waits.)
const PEEKER_WAITING: u8 = 4;

/// What there is beside a message that is lent.
pub(super) struct Lent<T> {
    /// What was sent after it; and, first, what came [back](Chan::give_back) that was sent before
    /// it.
    behind: Ring<T>,
    returned: usize,
    /// It was the oldest when a newer one pushed it out: it is dropped when it comes back.
    drop_on_return: bool,
}

const _: () = crate::values::no_drop_glue::<Lent<String>>();

impl<T> Lent<T> {
    pub(super) fn new() -> Lent<T> {
        Lent { behind: Ring::new(), returned: 0, drop_on_return: false }
    }

    /// How many messages the channel holds.
    fn len(&self) -> usize {
        self.behind.len() + usize::from(!self.drop_on_return)
    }
}

/// What is to be done after a message came back, without the lock.
pub(in super::super) struct Back<T> {
    /// To be dropped.
    dropped: Option<UserValue<T>>,
    /// Receivers wait at a closed channel in which nothing is left.
    ends: bool,
}

impl<T> Chan<T> {
    /// The peeker has taken the lent message, or it is moved back out of its slot. Wakes
    /// whoever is served by that.
    ///
    /// # Safety
    /// It was lent to the caller, who has it in `slot` (unless it is taken), and does not use it
    /// any more.
    pub(in super::super) unsafe fn end_peek(&self, caller: Caller, slot: *const T, taken: bool) {
        let mut served = WakeList::new();
        // SAFETY: the message was lent to the caller, who has it in `slot` unless it is taken
        // (this function's contract); the channel is locked.
        let back = self.locked(caller, |state| unsafe { state.end_peek(slot, taken, &mut served) });
        served.wake();
        if back.ends {
            self.end_all();
        }
        // Last, since its destructor may panic. The caller's panic goes on if there is one.
        match back.dropped {
            Some(message) if std::thread::panicking() => message.discard("the destructor of a message"),
            message => drop(message.map(UserValue::give)),
        }
    }
}

impl<T> ChanState<T> {
    pub(super) fn is_closed(&self) -> bool {
        self.slow_flags & SHUT != 0
    }
    pub(super) fn is_lent(&self) -> bool {
        self.slow_flags & LENT != 0
    }

    /// The loan, if the first message is lent.
    fn loan(&self) -> Option<&Lent<T>> {
        self.seldom.as_deref().filter(|_| self.is_lent()).map(|seldom| &seldom.lent)
    }
    fn loan_mut(&mut self) -> Option<&mut Lent<T>> {
        if self.is_lent() { Some(&mut self.seldom().lent) } else { None }
    }

    /// No sends any more. True: it was open.
    pub(super) fn close(&mut self) -> bool {
        let was_open = !self.is_closed();
        self.slow_flags |= SHUT;
        was_open
    }

    /// Where the messages are, but for one that is lent.
    pub(super) fn buffered(&mut self) -> &mut Ring<T> {
        match &mut self.seldom {
            Some(seldom) if self.slow_flags & LENT != 0 => &mut seldom.lent.behind,
            _ => &mut self.buffer,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.loan().map_or(self.buffer.len(), Lent::len)
    }

    /// Would a receive go on at once?
    pub(in super::super) fn receives_now(&self) -> bool {
        match self.loan() {
            Some(loan) => loan.returned > 0 && self.waiting_receivers.is_empty(),
            None => self.buffer.len() > 0 || !self.waiting_senders.is_empty() || self.is_closed(),
        }
    }

    /// Would a send go on at once?
    pub(in super::super) fn sends_now(&self) -> bool {
        self.len() < self.limit
            || self.is_closed()
            || self.when_full != WhenFull::Wait
            || !self.is_lent() && !self.waiting_receivers.is_empty()
    }

    /// Lends the first message to the caller.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if the answer is `Done`.
    pub(in super::super) unsafe fn try_lend(&mut self, slot: *mut T) -> Received {
        if self.is_lent() {
            return Received::Empty;
        }
        // SAFETY: `slot` is valid and empty (this function's contract), and filled once: from the
        // buffer, which holds a message, or by `meet`, when nothing is buffered.
        unsafe {
            let received = if self.buffer.len() > 0 {
                // Its room is not free: senders wait on.
                self.buffer.pop(slot);
                Received::Done(None)
            } else if self.is_closed() {
                Received::Closed
            } else {
                self.meet(slot)
            };
            if let Received::Done(_) = received {
                self.lend();
            }
            received
        }
    }

    /// The first message is not here any more, and comes back.
    fn lend(&mut self) {
        debug_assert!(!self.is_lent());
        let buffer = std::mem::replace(&mut self.buffer, Ring::new());
        self.buffer.count_on_from(&buffer);
        self.seldom().lent.behind = buffer;
        self.slow_flags |= LENT;
        self.fast_room = 0;
    }

    /// What is lent does not come back. (So those who stand in line, forgotten too, are ended as
    /// ever by the close.)
    pub(super) fn forget_loan(&mut self) {
        self.slow_flags &= !LENT;
    }

    /// Begins to wait for a message to peek at.
    ///
    /// # Safety
    /// `entry` is live and in no list, stays where it is while linked, and its slot is empty. The
    /// channel is locked, and there was no message to be lent, under the same lock.
    pub(in super::super) unsafe fn wait_to_peek(&mut self, entry: *mut Entry<T>, waiter: Waiter) {
        // SAFETY: `entry` is live, in no list, stays where it is, and its slot is empty (this
        // function's contract): what `wait` demands. Under the lock it stays linked, and live.
        unsafe {
            self.wait(Side::Receive, entry, waiter);
            (*entry).set_peeks();
        }
        if !on("peeker-unseen") {
            self.slow_flags |= PEEKER_WAITING;
        }
    }

    /// Ends the wait of a receiver, or of a peeker: it is lent the message.
    ///
    /// # Safety
    /// `entry` was claimed, under this lock; `slot` holds a message, which is moved out. Nothing
    /// is lent if the entry is a peeker's.
    unsafe fn hand_over(&mut self, entry: *mut Entry<T>, slot: *const T) {
        // SAFETY: `entry` was claimed (this function's contract), so it is ours until `end`, and
        // its slot is empty; the message of `slot` is moved once.
        unsafe {
            let peeks = (*entry).state() == PEEKS;
            self.handed_over = true;
            (*entry).put(slot);
            Entry::end(entry, DONE);
            if peeks {
                self.lend();
            }
        }
    }

    /// Sends, to a closed channel, to one whose first message is lent, or perhaps to a peeker.
    ///
    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`.
    #[cold]
    pub(super) unsafe fn try_send_slow(&mut self, slot: *mut T) -> Sent {
        if self.is_closed() {
            return Sent::Closed;
        }
        // SAFETY: `slot` holds a message, which is moved once (this function's contract). A
        // claimed receiver is handed it only if nothing is lent.
        unsafe {
            if self.is_lent() {
                return self.send_behind(slot);
            }
            let Some((entry, waiter)) = self.waiting_receivers.claim_first() else {
                self.slow_flags &= !PEEKER_WAITING;
                return self.buffer_or_refuse(slot);
            };
            self.hand_over(entry, slot);
            Sent::Done(Some(waiter))
        }
    }

    /// # Safety
    /// `slot` holds a message; it is moved out if the answer is `Done`. The channel is open.
    unsafe fn send_behind(&mut self, slot: *mut T) -> Sent {
        let (limit, when_full) = (self.limit, self.when_full);
        let Some(loan) = self.loan_mut() else { return Sent::Full };
        if loan.len() >= limit {
            match when_full {
                WhenFull::Wait => return Sent::Full,
                WhenFull::DropNewest => return Sent::Dropped,
                WhenFull::DropOldest if loan.drop_on_return || loan.returned > 0 => {
                    // SAFETY: `slot` holds a message (this function's contract), and so does
                    // `behind`: as many as the limit, which is above 0, or what came back.
                    unsafe { loan.behind.replace_first(slot) };
                    loan.returned = loan.returned.saturating_sub(1);
                    return Sent::Dropped;
                }
                // The oldest is the lent one.
                WhenFull::DropOldest => loan.drop_on_return = true,
            }
        }
        // SAFETY: `slot` holds a message, which is moved once (this function's contract).
        unsafe { loan.behind.push(slot) };
        Sent::Done(None)
    }

    /// Receives, where nothing is buffered, from a channel that is closed, or whose first message
    /// is lent.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if the answer is `Done`. Nothing is
    /// buffered.
    #[cold]
    pub(super) unsafe fn try_recv_slow(&mut self, slot: *mut T) -> Received {
        // SAFETY: `slot` is valid and empty, and nothing is buffered (this function's contract):
        // what `take_returned` and `meet` demand.
        unsafe {
            if self.is_lent() {
                return if self.take_returned(slot) { Received::Done(None) } else { Received::Empty };
            }
            if self.is_closed() {
                return Received::Closed;
            }
            if self.waiting_receivers.is_empty() {
                self.slow_flags &= !PEEKER_WAITING;
            }
            self.meet(slot)
        }
    }

    /// Receives what came back that was sent before the lent one.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if the answer is true.
    unsafe fn take_returned(&mut self, slot: *mut T) -> bool {
        if !self.receives_now() {
            return false;
        }
        let Some(loan) = self.loan_mut() else { return false };
        loan.returned -= 1;
        // SAFETY: `slot` is valid and empty (this function's contract). `returned` was above 0: so
        // many stand first in `behind`.
        unsafe { loan.behind.pop(slot) };
        // (The ring that counts is the other one, which stands aside.)
        self.changes = self.changes.wrapping_add(1);
        true
    }

    /// As [`Chan::give_back`], where perhaps somebody peeks.
    ///
    /// # Safety
    /// `slot` holds a message, which is moved out.
    #[cold]
    pub(super) unsafe fn give_back_slow(&mut self, slot: *const T) -> Option<Waiter> {
        // SAFETY: `slot` holds a message, which is moved once (this function's contract). The
        // channel is locked, so the first entry is live, and ours until `end` once it is claimed;
        // a peeker is claimed only if nothing is lent.
        unsafe {
            while !self.waiting_receivers.is_empty() {
                let entry = self.waiting_receivers.first();
                if self.is_lent() && (*entry).state() == PEEKS {
                    break;
                }
                if let Some(waiter) = self.waiting_receivers.claim(entry) {
                    self.hand_over(entry, slot);
                    return Some(waiter);
                }
            }
            match self.loan_mut() {
                Some(loan) => {
                    loan.behind.push_front(slot);
                    loan.returned += 1;
                }
                None => self.buffer.push_front(slot),
            }
        }
        self.has_come_back();
        None
    }

    /// As [`send_or_wait`](Self::send_or_wait).
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; the channel is locked.
    /// The entry's slot holds a message; it is moved out if the entry is `DONE` afterwards. `me` is
    /// the caller's own wait, and alive.
    #[cold]
    pub(super) unsafe fn send_or_wait_slow(&mut self, entry: *mut Entry<T>, me: MultiWait) -> (Link, Option<Waiter>) {
        // SAFETY: `entry` is ours until it is linked, its slot full, and `me` is alive (this
        // function's contract). The channel is locked, so a claimed receiver's entry is ours until
        // `end`; nothing is lent when it gets the message.
        unsafe {
            if self.is_closed() {
                return (Self::end_alone(entry, CLOSED, me), None);
            }
            if !self.is_lent() {
                match self.waiting_receivers.claim_first_with(me) {
                    ClaimWith::Partner(receiver, waiter) => {
                        self.hand_over(receiver, (*entry).slot());
                        Entry::end(entry, DONE);
                        return (Link::Done, Some(waiter));
                    }
                    ClaimWith::SelfOver => return (Link::Over, None),
                    ClaimWith::Nobody => {}
                }
            }
            if self.len() < self.limit {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done {
                    self.buffered().push((*entry).slot());
                }
                return (link, None);
            }
            self.wait(Side::Send, entry, me.waiter());
        }
        (Link::Linked, None)
    }

    /// As [`receive_or_wait`](Self::receive_or_wait).
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; the channel is locked.
    /// The entry's slot is empty, and is filled if the entry is `DONE` afterwards. `me` is the
    /// caller's own wait, and alive.
    #[cold]
    pub(super) unsafe fn receive_or_wait_lent(
        &mut self,
        entry: *mut Entry<T>,
        me: MultiWait,
    ) -> (Link, Option<Waiter>) {
        // SAFETY: `entry` is ours until it is linked, its slot empty, and `me` is alive (this
        // function's contract); `take_returned` fills the slot, since a receive goes on at once.
        unsafe {
            if self.receives_now() {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done {
                    self.take_returned((*entry).slot());
                }
                return (link, None);
            }
            self.wait(Side::Receive, entry, me.waiter());
        }
        (Link::Linked, None)
    }

    /// # Safety
    /// The first message was lent to the caller, who has it in `slot` (unless it is `taken`), and
    /// does not use it any more. The channel is locked.
    unsafe fn end_peek(&mut self, slot: *const T, taken: bool, served: &mut WakeList) -> Back<T> {
        let mut dropped = None;
        if let Some(loan) = self.loan_mut() {
            let older = std::mem::take(&mut loan.returned);
            match (taken, std::mem::take(&mut loan.drop_on_return)) {
                (true, _) => {}
                // SAFETY: the message is in `slot`, and the caller does not use it any more (this
                // function's contract).
                (false, true) => dropped = Some(UserValue::new(unsafe { slot.read() })),
                // SAFETY: the message is in `slot`, and the caller does not use it any more (this
                // function's contract); the `older` ones that came back are in `behind`.
                (false, false) => unsafe { loan.behind.insert(older, slot) },
            }
            let behind = std::mem::replace(&mut loan.behind, Ring::new());
            let unused = std::mem::replace(&mut self.buffer, behind);
            debug_assert_eq!(unused.capacity(), 0, "what is sent meanwhile goes behind");
        }
        // The message may be in front again, and more than at the loan's begin may be possible.
        self.has_come_back();
        self.changes = self.changes.wrapping_add(1);
        self.slow_flags &= !LENT;
        self.fast_room = if self.is_closed() { 0 } else { self.limit.min(self.buffer.capacity()) };
        self.serve(served);
        let ends = self.is_closed() && !self.is_lent() && !self.waiting_receivers.is_empty();
        Back { dropped, ends }
    }

    /// Serves those that have waited while a message was lent, until the usual invariants hold, or
    /// another one is lent.
    fn serve(&mut self, served: &mut WakeList) {
        // SAFETY: the state is reached under the lock only, so claimed entries are ours until
        // `end`; what is moved out of one slot is moved into another.
        unsafe {
            loop {
                // Into the buffer, as long as there is room.
                if self.buffer.len() < self.limit
                    && !self.is_closed()
                    && let Some((sender, waiter)) = self.waiting_senders.claim_first()
                {
                    self.buffer.push((*sender).slot());
                    Entry::end(sender, DONE);
                    served.push(waiter);
                    continue;
                }
                if on("not-served") || self.buffer.len() == 0 && self.is_closed() {
                    return;
                }
                // At a rendezvous one meets another, or neither goes on.
                if self.buffer.len() == 0 {
                    let Some([(sender, sent), (receiver, received)]) =
                        self.waiting_senders.claim_pair(&mut self.waiting_receivers)
                    else {
                        return;
                    };
                    self.hand_over(receiver, (*sender).slot());
                    Entry::end(sender, DONE);
                    served.push(sent);
                    served.push(received);
                    if self.is_lent() {
                        return;
                    }
                    continue;
                }
                let Some((receiver, waiter)) = self.waiting_receivers.claim_first() else { return };
                let peeks = (*receiver).state() == PEEKS;
                self.buffer.pop((*receiver).slot());
                Entry::end(receiver, DONE);
                served.push(waiter);
                if peeks {
                    return self.lend();
                }
            }
        }
    }
}
