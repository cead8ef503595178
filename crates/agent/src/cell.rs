//! What an agent is to those who have it: its value, and the queue of its actions.
//!
//! **Who consumes.** The agent is *idle*, or has one consumer: a turn (`turn.rs`), which alone
//! takes actions out, publishes values, and fails the agent. A failed agent is neither: its queue
//! stands still, and whoever restarts it makes the next consumer. (So an agent that is idle is no
//! task and has no reference to itself: it ends with its last handle.)
//!
//! **Invariants**, whenever the lock is free. Idle: the queue is empty, and there is no error. With
//! an error nobody consumes, and no mark is in the queue: who waits is told at the failure, and
//! afterwards at once.
//!
//! Under the lock stands no user code: values, rules and actions are moved out of it, and dropped
//! or called afterwards.
//!
//! **Rejected.** An [inbox](myriad_sync::inbox) beside the lock: a failure has to tell the marks in
//! the queue and refuse sends in one step, or a restart comes between.

use crate::action::{Action, Told, What};
use crate::error::AgentError;
use crate::rules::Rules;
use crate::turn::Turn;
use myriad_base::sys::mutex::Mutex;
use myriad_core::Handle;
use myriad_core::engine::running::call_nested;
use myriad_core::engine::unwind::drop_quietly;
use myriad_core::engine::user_code;
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;

/// See the module's header.
pub(crate) struct Cell<T: 'static> {
    /// Where its actions run.
    pub(crate) home: Handle,
    shared: ManuallyDrop<Mutex<Shared<T>>>,
}

struct Shared<T: 'static> {
    value: Arc<T>,
    rules: Option<Arc<Rules<T>>>,
    error: Option<Box<AgentError>>,
    queue: VecDeque<Action<T>>,
    is_idle: bool,
}

// Without the counts of its `Arc`, and without its value, which has an `Arc` of its own.
const _: () = assert!(size_of::<Cell<u64>>() <= 88);

/// What an action finds: the value, and the rules.
pub(crate) type Found<T> = (Arc<T>, Option<Arc<Rules<T>>>);

impl<T: Send + Sync + 'static> Cell<T> {
    pub(crate) fn new(value: T, home: Handle) -> Cell<T> {
        let value = Arc::new(value);
        let shared = Shared { value, rules: None, error: None, queue: VecDeque::new(), is_idle: true };
        Cell { home, shared: ManuallyDrop::new(Mutex::new(shared)) }
    }

    #[inline]
    pub(crate) fn snapshot(&self) -> Arc<T> {
        self.shared.lock().value.clone()
    }

    pub(crate) fn rules(&self) -> Option<Arc<Rules<T>>> {
        self.shared.lock().rules.clone()
    }

    #[inline]
    pub(crate) fn found(&self) -> Found<T> {
        let shared = self.shared.lock();
        (shared.value.clone(), shared.rules.clone())
    }

    pub(crate) fn error(&self) -> Option<AgentError> {
        self.shared.lock().error.as_deref().cloned()
    }

    pub(crate) fn queued(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Puts an action into the queue, behind all others; also of an agent that has failed.
    #[inline]
    pub(crate) fn push(self: &Arc<Self>, action: Action<T>) {
        let mut shared = self.shared.lock();
        if mem::take(&mut shared.is_idle) {
            drop(shared);
            return Turn::begin(self.clone(), action);
        }
        shared.queue.push_back(action);
    }

    /// The same, of an agent that has not failed.
    #[inline]
    pub(crate) fn push_or_refuse(self: &Arc<Self>, action: Action<T>) -> Result<(), AgentError> {
        let mut shared = self.shared.lock();
        if let Some(error) = shared.error.as_deref() {
            let error = error.clone();
            drop(shared);
            // (Here, without the lock.)
            drop(action);
            return Err(error);
        }
        if mem::take(&mut shared.is_idle) {
            drop(shared);
            Turn::begin(self.clone(), action);
        } else {
            shared.queue.push_back(action);
        }
        Ok(())
    }

    /// Takes the oldest action out, for the consumer. `None`: the agent is idle from now on.
    #[inline]
    pub(crate) fn pop_or_idle(&self) -> Option<Action<T>> {
        let mut shared = self.shared.lock();
        let next = shared.queue.pop_front();
        shared.is_idle = next.is_none();
        next
    }

    /// This is the value from now on. Back: the old one, for whoever drops it.
    #[inline]
    pub(crate) fn publish(&self, value: Arc<T>) -> Arc<T> {
        mem::replace(&mut self.shared.lock().value, value)
    }

    /// The same in the memory of the old value, where nobody reads that. The old one is dropped
    /// here. The oldest action is taken out in the same moment, into `next`, which is empty. (Never
    /// idle: first the caller has to send what is held.)
    #[inline]
    pub(crate) fn publish_and_pop(&self, value: T, next: &mut Option<Action<T>>) {
        let mut shared = self.shared.lock();
        let old = match Arc::get_mut(&mut shared.value) {
            Some(place) => Ok(mem::replace(place, value)),
            None => Err(mem::replace(&mut shared.value, Arc::new(value))),
        };
        *next = shared.queue.pop_front();
        drop(shared);
        match old {
            Ok(old) => drop_value(old),
            Err(read) => drop_value(read),
        }
    }

    /// Replaces the rules; `change` may be called several times.
    pub(crate) fn change_rules(&self, mut change: impl FnMut(&mut Rules<T>)) {
        loop {
            let old = self.rules();
            let mut rules = old.as_deref().cloned().unwrap_or_default();
            change(&mut rules);
            let mut rules = Some(Arc::new(rules));
            let mut shared = self.shared.lock();
            let is_same = shared.rules.as_ref().map(Arc::as_ptr) == old.as_ref().map(Arc::as_ptr);
            if is_same {
                mem::swap(&mut shared.rules, &mut rules);
            }
            drop(shared);
            // (Dropped here, without the lock: the old ones, or those that came too late.)
            [rules, old].into_iter().flatten().for_each(Rules::end);
            if is_same {
                return;
            }
        }
    }

    /// Fails the agent, for its consumer, who consumes no longer: the queue stands still. In it
    /// `unstarted` comes before what is there.
    pub(crate) fn fail(&self, error: AgentError, unstarted: Option<Action<T>>) {
        let mut told: Vec<Told> = Vec::new();
        let boxed = Some(Box::new(error.clone()));
        let mut shared = self.shared.lock();
        shared.error = boxed;
        if let Some(action) = unstarted {
            shared.queue.push_front(action);
        }
        // Once round: what is no mark stays, in order.
        for _ in 0..shared.queue.len() {
            match shared.queue.pop_front() {
                Some(Action { what: What::Mark(mark), .. }) => told.push(mark),
                action => shared.queue.extend(action),
            }
        }
        drop(shared);
        for mark in told {
            _ = mark.send(Err(error.clone()));
        }
    }

    /// Ends a failure: this is the value. `None`: the agent has not failed. Else what was in the
    /// queue, if that is to be dropped; the agent goes on.
    pub(crate) fn revive(self: &Arc<Self>, value: T, drops_queue: bool) -> Option<VecDeque<Action<T>>> {
        let mut value = Arc::new(value);
        let mut dropped = VecDeque::new();
        let mut shared = self.shared.lock();
        let error = shared.error.take();
        if error.is_some() {
            mem::swap(&mut shared.value, &mut value);
            if drops_queue {
                mem::swap(&mut shared.queue, &mut dropped);
            }
        }
        let next = if error.is_some() { shared.queue.pop_front() } else { None };
        if error.is_some() {
            shared.is_idle = next.is_none();
        }
        drop(shared);
        // (First: the destructor of the old value may wait for this agent.)
        if let Some(next) = next {
            Turn::begin(self.clone(), next);
        }
        drop_value(value);
        error?;
        Some(dropped)
    }
}

/// Drops a value that the agent had. A panic of its destructor is told, and changes nothing.
fn drop_value<V>(value: V) {
    if mem::needs_drop::<V>() {
        user_code::run("the destructor of an agent's value", || drop(value));
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here: the cell is not used afterwards.
        let shared = unsafe { ManuallyDrop::take(&mut self.shared) };
        // (The value may hold the last handle of the next agent, and so on.)
        call_nested(move || {
            let Shared { value, rules, queue, .. } = shared.into_inner();
            rules.into_iter().for_each(Rules::end);
            queue.into_iter().for_each(drop_quietly);
            drop_quietly(value);
        });
    }
}
