//! What the consumer of an agent does with the cell, and nobody else.

use super::{Cell, Shared};
use crate::action::{Action, Actions, Call, Told};
use crate::error::AgentError;
use crate::kept::Kept;
use myriad_core::Handle;
use myriad_core::engine::guest::is_same;
use std::mem;
use std::sync::Arc;

/// What a consumer finds in the queue.
pub(crate) enum Next<T: 'static> {
    /// This was taken out.
    Action(Action<T>),
    /// An action that runs in this pool. It was not taken out.
    In(Handle),
    Nothing,
}

impl<T: Send + Sync + 'static> Cell<T> {
    /// The value, which stands until the consumer, who alone replaces it, does so.
    pub(crate) fn value(&self) -> *const T {
        self.locked(|shared| Arc::as_ptr(&shared.value))
    }

    /// Takes out the oldest action, for a consumer in this pool; or says where it runs.
    #[inline(always)]
    pub(crate) fn pop(&self, here: Option<Handle>) -> Next<T> {
        self.locked(|shared| shared.pop(self.home, here))
    }

    /// The same. If there is nothing the agent is idle from now on, and the consumer leaves: was
    /// its reference the last?
    #[inline]
    pub(crate) fn pop_or_leave(&self, here: Option<Handle>) -> (Next<T>, bool) {
        let (next, was_last, _memory) = self.locked(|shared| match shared.pop(self.home, here) {
            Next::Nothing => {
                shared.is_idle = true;
                (Next::Nothing, shared.let_go(), mem::take(&mut shared.queue))
            }
            next => (next, false, Actions::new()),
        });
        (next, was_last)
    }

    /// This is the value from now on. Back: the old one, for whoever drops it, and whether somebody
    /// may have that.
    #[inline(always)]
    pub(crate) fn publish(&self, value: Arc<T>) -> (Arc<T>, bool) {
        self.locked(|shared| shared.publish(value))
    }

    /// The same. In the same moment the oldest action is taken out, into `next`. (Never idle: first
    /// the consumer has to send what is held.)
    #[inline(always)]
    pub(crate) fn publish_and_pop(&self, value: Arc<T>, here: Option<Handle>, next: &mut Next<T>) -> (Arc<T>, bool) {
        self.locked(|shared| {
            *next = shared.pop(self.home, here);
            shared.publish(value)
        })
    }
}

impl<T: Send + Sync + 'static> Kept<T> {
    /// Fails the agent, for its consumer, who consumes no longer: the queue stands still.
    #[cold]
    pub(crate) fn fail(self, error: AgentError) {
        let mut told: Vec<Told> = Vec::new();
        let boxed = Some(Box::new(error.clone()));
        let (was_last, empty) = self.locked(|shared| {
            shared.error = boxed;
            // What is no mark stays, in order.
            let mut queue = mem::take(&mut shared.queue);
            while let Some(action) = queue.pop() {
                // SAFETY: the payload is of its kind, was taken out last, and is moved once.
                unsafe {
                    match action.kind.call {
                        Call::Mark => told.push(action.payload.cast::<Told>().read()),
                        _ => shared.queue.put(action),
                    }
                }
            }
            (shared.let_go(), queue)
        });
        drop(empty);
        for mark in told {
            _ = mark.send(Err(error.clone()));
        }
        self.end(was_last);
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    #[inline(always)]
    pub(super) fn publish(&mut self, value: Arc<T>) -> (Arc<T>, bool) {
        if self.readers > 0 {
            self.give_to_readers();
        }
        (mem::replace(&mut self.value, value), mem::take(&mut self.was_read))
    }

    /// Each of those who read the value now gets a reference: see `Reading`.
    #[cold]
    fn give_to_readers(&mut self) {
        for _ in 0..mem::take(&mut self.readers) {
            mem::forget(self.value.clone());
        }
        self.was_read = true;
    }

    /// Takes out the oldest action, for a consumer in this pool; or says where it runs.
    #[inline(always)]
    pub(super) fn pop(&mut self, home: Handle, here: Option<Handle>) -> Next<T> {
        let Some(first) = self.queue.first() else { return Next::Nothing };
        let pool = first.about().map_or(home, |about| about.pool(home));
        if here.is_some_and(|here| is_same(pool, here)) {
            self.queue.pop().map_or(Next::Nothing, Next::Action)
        } else {
            Next::In(pool)
        }
    }
}
