//! What is in an agent's queue.

use crate::cell::Cell;
use crate::error::AgentError;
use crate::frame::Held;
use myriad_core::Handle;
use myriad_core::engine::scoped::Captured;
use myriad_sync::channel::OnceSender;
use std::sync::Arc;

/// Makes a new value of the old one.
pub(crate) trait Change<T>: Send {
    fn make(self: Box<Self>, old: &T) -> T;
}

/// Whose queue a held change goes into, and what holds for the change.
type Goal<T> = (Arc<Cell<T>>, Option<Box<About>>);

/// A change that was sent. A change that is held is the same piece of memory as the change in the
/// queue afterwards.
struct Sent<T: 'static, F> {
    /// Where a held change goes. `None`: the change is not held.
    to: Option<Goal<T>>,
    change: F,
}

impl<T: Send + Sync + 'static, F: FnOnce(&T) -> T + Send> Change<T> for Sent<T, F> {
    fn make(self: Box<Self>, old: &T) -> T {
        (self.change)(old)
    }
}

impl<T: Send + Sync + 'static, F: FnOnce(&T) -> T + Send + 'static> Held for Sent<T, F> {
    fn send(mut self: Box<Self>) {
        if let Some((cell, about)) = self.to.take() {
            cell.push(Action { what: What::Change(self), about });
        }
    }
}

/// An entry of the queue: something to do, with what holds for it beside.
pub(crate) struct Action<T> {
    pub(crate) what: What<T>,
    /// `None`, most often: where nothing is bound, and in the agent's own pool.
    about: Option<Box<About>>,
}

pub(crate) enum What<T> {
    Change(Box<dyn Change<T>>),
    /// All before it is done: tells the one who waits for that.
    Mark(Told),
}

/// Tells one who waits for the actions before its mark.
pub(crate) type Told = OnceSender<Result<(), AgentError>>;

/// Where an action runs.
#[derive(Clone, Copy, Default)]
pub(crate) enum Place {
    #[default]
    Home,
    Blocking,
    Pool(Handle),
}

struct About {
    /// The scoped values of the sender.
    bound: Captured,
    place: Place,
}

impl About {
    /// What holds for a change that the caller sends.
    #[inline]
    fn here(place: Place) -> Option<Box<About>> {
        let bound = Captured::here();
        let is_plain = bound.is_empty() && matches!(place, Place::Home);
        (!is_plain).then(|| Box::new(About { bound, place }))
    }
}

impl<T: Send + Sync + 'static> Action<T> {
    /// A change that sees the scoped values of the caller.
    #[inline]
    pub(crate) fn change(change: impl FnOnce(&T) -> T + Send + 'static, place: Place) -> Action<T> {
        Action { what: What::Change(Box::new(Sent { to: None, change })), about: About::here(place) }
    }

    /// The same for the agent with this cell, not in its queue yet.
    #[inline]
    pub(crate) fn held(
        cell: &Arc<Cell<T>>,
        change: impl FnOnce(&T) -> T + Send + 'static,
        place: Place,
    ) -> Box<dyn Held> {
        Box::new(Sent { to: Some((cell.clone(), About::here(place))), change })
    }
}

impl<T> Action<T> {
    pub(crate) fn mark(told: Told) -> Action<T> {
        Action { what: What::Mark(told), about: None }
    }

    pub(crate) fn place(&self) -> Place {
        self.about.as_ref().map_or(Place::Home, |about| about.place)
    }

    /// What is to be done, and under which scoped values.
    pub(crate) fn into_parts(self) -> (What<T>, Captured) {
        (self.what, self.about.map_or_else(Captured::none, |about| about.bound))
    }
}
