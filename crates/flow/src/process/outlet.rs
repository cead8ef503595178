//! An output of a process that runs: what a step has given, on its way.
//!
//! Messages are given one after the other, each to each input that the output is connected with;
//! the next step waits for that. A message that is being given stands in slots, so a pause in the
//! middle, or an unwinding, finds it where it was.

use super::ping::OutputState;
use myriad_sync::channel::{Receiver, Sender, TrySendError};
use myriad_sync::select;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// With messages of any type.
pub(super) trait Outlet: Send {
    /// Gives what there is.
    ///
    /// # Blocking
    /// While an input is full. `false`: there is a signal, which goes first, and more to give.
    fn give(&mut self, signal: &Receiver<()>) -> bool;

    fn is_empty(&self) -> bool;

    /// The message that is being given goes to nobody else.
    fn skip(&mut self);

    /// Lets go of one of those that are not given yet. `false`: there was none.
    fn drop_one(&mut self) -> bool;

    /// Somebody reads.
    fn is_open(&self) -> bool;

    /// Somebody has read, and nobody does any more.
    fn is_closed(&self) -> bool;

    fn state(&self, name: &Arc<str>) -> OutputState;

    /// How many messages were given, and how many there was nobody for.
    fn counts(&self) -> (u64, u64);

    fn as_any(&mut self) -> &mut dyn Any;
}

pub(super) struct TypedOutlet<T> {
    /// Of the last step.
    messages: VecDeque<T>,
    /// The first one, while it is given.
    slot: Option<T>,
    /// What goes to the next target: a copy, or the message itself.
    copy: Option<T>,
    at: usize,
    has_reader: bool,
    targets: Vec<Sender<T>>,
    /// There, if there may be several targets.
    clone: Option<fn(&T) -> T>,
    was_connected: bool,
    given: u64,
    undelivered: u64,
}

/// What has come of giving to one.
enum Given {
    Yes,
    Closed,
    Signal,
}

impl<T> TypedOutlet<T> {
    pub(super) fn new(targets: Vec<Sender<T>>, clone: Option<fn(&T) -> T>) -> Self {
        let was_connected = !targets.is_empty();
        let (slot, copy) = (None, None);
        let (messages, given, undelivered) = (VecDeque::new(), 0, 0);
        TypedOutlet {
            messages,
            slot,
            copy,
            at: 0,
            has_reader: false,
            targets,
            clone,
            was_connected,
            given,
            undelivered,
        }
    }

    pub(super) fn push(&mut self, message: T) {
        if self.targets.is_empty() {
            self.undelivered += 1;
        } else {
            self.messages.push_back(message);
        }
    }
}

impl<T: Send + 'static> Outlet for TypedOutlet<T> {
    fn give(&mut self, signal: &Receiver<()>) -> bool {
        loop {
            if self.slot.is_none() && self.copy.is_none() {
                let Some(message) = self.messages.pop_front() else { return true };
                (self.slot, self.at, self.has_reader) = (Some(message), 0, false);
            }
            while let Some(last) = self.targets.len().checked_sub(1)
                && self.at <= last
            {
                if self.copy.is_none() {
                    // (The last one gets the message itself.)
                    self.copy = match (self.clone, &self.slot) {
                        (Some(clone), Some(message)) if self.at < last => Some(clone(message)),
                        _ => self.slot.take(),
                    };
                }
                match give_or_signal(&self.targets[self.at], &mut self.copy, signal) {
                    Given::Yes => (self.at, self.has_reader) = (self.at + 1, true),
                    Given::Signal => return false,
                    Given::Closed => {
                        drop(self.targets.remove(self.at));
                        // (The message itself goes to the last only.)
                        if self.at < self.targets.len() {
                            self.copy = None;
                        }
                    }
                }
            }
            self.skip();
        }
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.slot.is_none() && self.copy.is_none()
    }

    fn skip(&mut self) {
        if self.slot.is_some() || self.copy.is_some() || self.has_reader {
            let counter = if self.has_reader { &mut self.given } else { &mut self.undelivered };
            *counter += 1;
            self.has_reader = false;
            // (There is one of the two. Counted first, as its destructor may panic.)
            drop(self.slot.take().or_else(|| self.copy.take()));
        }
    }

    fn drop_one(&mut self) -> bool {
        let one = self.copy.take().or_else(|| self.slot.take()).or_else(|| self.messages.pop_front());
        one.is_some()
    }

    fn is_open(&self) -> bool {
        !self.targets.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.was_connected && self.targets.is_empty()
    }

    fn state(&self, name: &Arc<str>) -> OutputState {
        let in_hand = self.messages.len() + usize::from(self.slot.is_some() || self.copy.is_some());
        OutputState { name: name.clone(), given: self.given, in_hand, readers: self.targets.len() }
    }

    fn counts(&self) -> (u64, u64) {
        let left = self.messages.len() + usize::from(self.slot.is_some() || self.copy.is_some());
        (self.given, self.undelivered + left as u64)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[inline]
fn give_or_signal<T>(to: &Sender<T>, slot: &mut Option<T>, signal: &Receiver<()>) -> Given {
    let Some(message) = slot.take() else { return Given::Yes };
    match to.try_send(message) {
        Ok(()) => Given::Yes,
        Err(TrySendError::Closed(message)) => {
            *slot = Some(message);
            Given::Closed
        }
        Err(TrySendError::Full(message)) => {
            *slot = Some(message);
            wait(to, slot, signal)
        }
    }
}

#[inline(never)]
fn wait<T>(to: &Sender<T>, slot: &mut Option<T>, signal: &Receiver<()>) -> Given {
    select! {
        biased;
        _ = signal.recv() => Given::Signal,
        sent = to.send_from(slot) => match sent {
            Ok(()) => Given::Yes,
            Err(closed) => {
                *slot = Some(closed.into_inner());
                Given::Closed
            }
        }
    }
}
