//! An input of a process that runs.
//!
//! A message that was taken stands in a slot until its step begins, so a pause, a stop or a
//! cancellation finds it there.

use super::outputs::Outputs;
use myriad_sync::channel::{Receiver, RecvError, TryRecvError};
use myriad_sync::select;
use myriad_sync::select::Select;
use std::sync::Arc;

/// What a step does with a message.
pub(super) type Step<S, T> = dyn Fn(&mut S, T, &mut Outputs) + Send + Sync;

/// How a message is kept while its step runs, and shown if that panics.
pub(super) struct Keep<T> {
    pub(super) clone: fn(&T) -> T,
    pub(super) show: fn(&T) -> String,
}

/// What has come of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is a message in the slot of this input.
    Message(usize),
    /// This input brings nothing more.
    End(usize),
    /// There is something from the handle.
    Signal,
}

/// With messages of any type.
pub(super) trait Inlet<S>: Send {
    /// Takes a message into the slot, if there is one. `None`: not now.
    fn try_take(&mut self, at: usize) -> Option<Taken>;

    /// As `try_take`.
    ///
    /// # Blocking
    /// Until there is one, or a signal, which goes first.
    fn take(&mut self, at: usize, signal: &Receiver<()>) -> Taken;

    /// Adds the taking to a select over several inputs.
    fn arm<'a>(&'a mut self, at: usize, select: &mut Select<'a, Taken>);

    /// The message goes through its step.
    fn step(&mut self, state: &mut S, outputs: &mut Outputs);

    /// Which message of this input is the last that has gone into a step, from 1.
    fn number(&self) -> u64;

    /// That message, if it was kept.
    fn shown(&self) -> Option<String>;

    /// Lets go of the copy that was kept, or of the message in the slot. `false`: there is none.
    fn drop_one(&mut self) -> bool;

    /// Takes no more messages: how many are left?
    fn close(&self) -> usize;
}

pub(super) struct TypedInlet<S, T> {
    pub(super) from: Receiver<T>,
    pub(super) slot: Option<T>,
    pub(super) step: Arc<Step<S, T>>,
    pub(super) keep: Option<Arc<Keep<T>>>,
    pub(super) kept: Option<T>,
    pub(super) number: u64,
}

impl<S, T: Send> TypedInlet<S, T> {
    fn put(slot: &mut Option<T>, at: usize, message: Result<T, RecvError>) -> Taken {
        match message {
            Ok(message) => {
                *slot = Some(message);
                Taken::Message(at)
            }
            Err(_) => Taken::End(at),
        }
    }
}

impl<S, T: Send> Inlet<S> for TypedInlet<S, T> {
    fn try_take(&mut self, at: usize) -> Option<Taken> {
        if self.slot.is_some() {
            return Some(Taken::Message(at));
        }
        match self.from.try_recv() {
            Ok(message) => {
                self.slot = Some(message);
                Some(Taken::Message(at))
            }
            Err(TryRecvError::Closed) => Some(Taken::End(at)),
            Err(TryRecvError::Empty) => None,
        }
    }

    fn take(&mut self, at: usize, signal: &Receiver<()>) -> Taken {
        select! {
            biased;
            _ = signal.recv() => Taken::Signal,
            message = self.from.recv() => Self::put(&mut self.slot, at, message)
        }
    }

    fn arm<'a>(&'a mut self, at: usize, select: &mut Select<'a, Taken>) {
        let slot = &mut self.slot;
        select.recv(&self.from, move |message| Self::put(slot, at, message));
    }

    fn step(&mut self, state: &mut S, outputs: &mut Outputs) {
        let Some(message) = self.slot.take() else { return };
        self.number += 1;
        if let Some(keep) = &self.keep {
            self.kept = Some((keep.clone)(&message));
        }
        (self.step)(state, message, outputs);
        self.kept = None;
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn shown(&self) -> Option<String> {
        Some((self.keep.as_ref()?.show)(self.kept.as_ref()?))
    }

    fn drop_one(&mut self) -> bool {
        let one = self.kept.take().or_else(|| self.slot.take());
        one.is_some()
    }

    fn close(&self) -> usize {
        // (First, so that none comes behind the count.)
        self.from.close();
        self.from.len() + usize::from(self.slot.is_some())
    }
}
