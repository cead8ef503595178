//! The end of a local task, and the handle that waits for it.

use super::{Inner, LocalScope};
use myriad_core::JoinError;
use myriad_core::engine::join_error;
use myriad_core::engine::unwind::{self, Payload, cancellation, end_cancellation, is_cancellation};
use myriad_core::engine::user_code::{StoredWaker, UserValue};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

pub(super) struct State<T> {
    pub(super) outcome: RefCell<Outcome<T>>,
    /// It is being polled, somewhere below on this stack.
    pub(super) polled: Cell<bool>,
    pub(super) location: &'static Location<'static>,
}

/// Ends a local task: with its result, or as cancelled where its future is dropped.
pub(super) struct AtEnd<'env, T> {
    /// `None` once it has ended.
    pub(super) inner: Option<Rc<Inner<'env>>>,
    pub(super) state: Rc<State<T>>,
}

impl<T> AtEnd<'_, T> {
    pub(super) fn end(&mut self, mut result: Result<T, Payload>) {
        if let Err(payload) = &mut result {
            // It goes to whoever has the handle; the owner of the scope unwinds no more.
            end_cancellation(payload);
        }
        if let Some(inner) = self.inner.take() {
            self.state.end(&inner, result);
        }
    }
}

impl<T> Drop for AtEnd<'_, T> {
    fn drop(&mut self) {
        self.end(Err(cancellation()));
    }
}

pub(super) enum Outcome<T> {
    Running(Option<StoredWaker>),
    Ended(UserValue<Result<T, Payload>>),
    /// Taken, or nobody wants it.
    Gone,
}

impl<T> State<T> {
    /// The task has ended.
    fn end(self: &Rc<Self>, scope: &Inner<'_>, result: Result<T, Payload>) {
        let before = self.outcome.replace(Outcome::Gone);
        match before {
            Outcome::Running(waker) => {
                *self.outcome.borrow_mut() = Outcome::Ended(UserValue::new(result));
                waker.into_iter().for_each(StoredWaker::wake);
            }
            // The handle was dropped.
            _ => give_up(scope, result),
        }
        scope.live.set(scope.live.get() - 1);
        if scope.live.get() == 0 {
            let waker = scope.signals.0.lock().at_end.take();
            waker.into_iter().for_each(StoredWaker::wake);
        }
    }
}

/// Nobody wants this result.
fn give_up<T>(scope: &Inner<'_>, result: Result<T, Payload>) {
    let payload = match result {
        Err(payload) => payload,
        Ok(value) => match UserValue::new(value).drop_value() {
            Ok(()) => return,
            Err(payload) => payload,
        },
    };
    let mut first = scope.panic.borrow_mut();
    if first.is_none() && !is_cancellation(&payload) {
        *first = Some(UserValue::new(payload));
    } else {
        drop(first);
        unwind::discard(payload);
    }
}

/// The right to the result of a local task. Dropping it leaves the task to the scope's end. Also a
/// future, for other local tasks.
///
/// # Examples
/// ```
/// let text = std::rc::Rc::new(String::from("local"));
/// let len = myriad::task::local_scope(|s| s.spawn(|| text.len()).join().unwrap());
/// assert_eq!(len, 5);
/// ```
pub struct LocalJoinHandle<'env, T> {
    pub(super) state: Rc<State<T>>,
    pub(super) scope: LocalScope<'env>,
}

impl<T> fmt::Debug for LocalJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalJoinHandle")
            .field("spawned_at", &self.state.location.to_string())
            .field("finished", &self.is_finished())
            .finish()
    }
}

impl<T> LocalJoinHandle<'_, T> {
    /// Waits until the task has ended, running local tasks meanwhile, and returns its result.
    ///
    /// # Blocking
    /// As [`LocalScope::wait`].
    ///
    /// # Errors
    /// It panicked; or it waits for itself: it is in the middle of its run, below the caller on
    /// this stack.
    pub fn join(self) -> Result<T, JoinError> {
        if self.state.polled.get() {
            return Err(join_error::itself(self.state.location));
        }
        let scope = self.scope.clone();
        scope.wait(self)
    }

    /// Has the task ended?
    pub fn is_finished(&self) -> bool {
        !matches!(*self.state.outcome.borrow(), Outcome::Running(_))
    }
}

impl<T> Future for LocalJoinHandle<'_, T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Wakers are cloned and dropped without the borrow: they are user code.
        let new = if self.is_finished() { None } else { Some(StoredWaker::clone_of(cx.waker())) };
        let mut outcome = self.state.outcome.borrow_mut();
        match &mut *outcome {
            Outcome::Running(waker) => {
                let old = std::mem::replace(waker, new);
                drop(outcome);
                old.into_iter().for_each(StoredWaker::discard);
                Poll::Pending
            }
            Outcome::Gone => {
                drop(outcome);
                panic!("polled again after it was ready")
            }
            Outcome::Ended(_) => {
                let Outcome::Ended(result) = std::mem::replace(&mut *outcome, Outcome::Gone) else { unreachable!() };
                Poll::Ready(result.give().map_err(|payload| join_error::panicked(payload, self.state.location)))
            }
        }
    }
}

impl<T> Drop for LocalJoinHandle<'_, T> {
    fn drop(&mut self) {
        let before = self.state.outcome.replace(Outcome::Gone);
        match before {
            Outcome::Ended(result) => give_up(&self.scope.0, result.give()),
            Outcome::Running(waker) => waker.into_iter().for_each(StoredWaker::discard),
            Outcome::Gone => {}
        }
    }
}
