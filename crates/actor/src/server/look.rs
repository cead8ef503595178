//! What a server looks at before a message: whether a panic was caught, orders, a suspension. See
//! `control.rs`.

use super::Server;
use super::cell::ServerCell;
use super::turn::First;
use crate::frame;
use crate::life::ORDERS;
use myriad_sync::inbox::Popped;

impl<S: Server> ServerCell<S> {
    /// Takes the oldest message. An order that has come before the inbox is idle keeps the caller
    /// consuming.
    #[inline(always)]
    pub(super) fn pop(&self) -> Popped<S::Message> {
        self.cell().inbox.pop_or_stay(|| self.has_order())
    }

    /// Is there an order? (Asked under the inbox's lock, which who gives an order takes after that:
    /// see `obey`.)
    #[inline(always)]
    pub(super) fn has_order(&self) -> bool {
        self.cell().life.has_mark(ORDERS)
    }

    /// Looks at what there is beside messages, before `first` is handled. Back: with what to go on.
    ///
    /// # Safety
    /// The caller consumes, and the server has not ended.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn look_around(&self, first: First<S::Message>) -> First<S::Message> {
        let (life, inbox) = (&self.cell().life, &self.cell().inbox);
        frame::goes_on(life);
        let mut first = first;
        loop {
            // A message that has started this consumer is in no queue: what counts is that it is
            // before all that is.
            let in_hand = usize::from(matches!(first, First::Message(_)));
            let next = life.next_order(inbox.taken().wrapping_sub(in_hand), inbox.is_paused());
            let Some(order) = next else { break };
            // An order may panic, and is then no place for the destructor of a message.
            if let First::Message(message) = first {
                drop(inbox.put_back(message));
                first = First::Look;
            }
            // SAFETY: the caller consumes (this function's contract), and lends the state for this
            // call alone.
            if let Some(server) = unsafe { self.state() }.server.as_mut() {
                (order.run)(server);
            }
        }
        if !inbox.is_paused() {
            return first;
        }
        match first {
            First::Message(message) => drop(inbox.put_back(message)),
            First::Idle(number) => {
                life.set_late(number);
                // Where it is paused still, the resume finds the number.
                if !inbox.is_paused()
                    && let Some(number) = life.take_late()
                {
                    return First::Idle(number);
                }
            }
            first => return first,
        }
        // (It finds no message, or, if it was resumed meanwhile, that one.)
        First::Look
    }
}
