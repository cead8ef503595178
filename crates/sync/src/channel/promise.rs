//! A value that is set once, and that every receiver gets.

use super::error::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use super::observable::{Changed, Closer, Content, Cursor, Observable, receiving};
use crate::select::Arm;
use myriad_core::engine::user_code::UserValue;
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A promise: the first value that is set stays, and all receivers get it, also those that come
/// later, and as often as they ask.
///
/// When all senders are gone and none has set a value, receivers fail. (As core.async's
/// `promise-chan`.)
///
/// # Examples
/// ```
/// let (set, mut get) = myriad::channel::promise();
/// let mut other = get.clone();
/// let waiting = myriad::spawn(move || *other.recv().unwrap());
/// set.send(42).unwrap();
/// assert!(set.send(43).is_err(), "it is set");
/// assert_eq!((waiting.join().unwrap(), *get.recv().unwrap(), *get.recv().unwrap()), (42, 42, 42));
/// ```
#[doc(alias = "Deferred")]
#[doc(alias = "CompletableFuture")]
#[doc(alias = "future")]
#[must_use]
#[track_caller]
pub fn promise<T>() -> (PromiseSender<T>, PromiseReceiver<T>) {
    let observable = Observable::new(None);
    (
        PromiseSender { closer: Arc::new(Closer(observable.clone())) },
        PromiseReceiver { observable, cursor: PromiseCursor(PhantomData) },
    )
}

/// Once it is set.
type Value<T> = Option<UserValue<Arc<T>>>;

const _: () = crate::values::no_drop_glue::<Value<String>>();

impl<T> Content for Value<T> {
    unsafe fn drop_values(&mut self) {
        drop(self.take().map(UserValue::give));
    }
}

/// Sets the value of a [`promise`].
pub struct PromiseSender<T> {
    closer: Arc<Closer<Value<T>>>,
}

/// Gets the value of a [`promise`].
pub struct PromiseReceiver<T> {
    observable: Arc<Observable<Value<T>>>,
    cursor: PromiseCursor<T>,
}

/// Takes the value, as often as it is asked.
struct PromiseCursor<T>(PhantomData<fn() -> T>);

impl<T> Cursor for PromiseCursor<T> {
    type Content = Value<T>;
    type Item = Arc<T>;
    fn take(&mut self, content: &Value<T>) -> Option<Arc<T>> {
        content.as_ref().map(|value| value.peek().clone())
    }
    fn has_news(&self, content: &Value<T>) -> bool {
        content.is_some()
    }
}

impl<T> PromiseSender<T> {
    /// Sets the value. Never waits.
    ///
    /// # Errors
    /// A value is set already: this one comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let value = UserValue::new(Arc::new(value));
        let set = self.closer.0.change(value, |content, value| match content {
            None => {
                *content = Some(value);
                None
            }
            Some(_) => Some(value),
        });
        match set {
            Ok(None) => Ok(()),
            // Nobody else has seen it.
            Ok(Some(value)) | Err(value) => Err(SendError(Arc::into_inner(value.give()).expect("it is ours alone"))),
        }
    }
}

impl<T> PromiseReceiver<T> {
    /// Is the value set?
    pub fn is_set(&self) -> bool {
        self.observable.read(Option::is_some)
    }
}
receiving!(PromiseReceiver<T>, Arc<T>);

impl<T> Clone for PromiseSender<T> {
    fn clone(&self) -> Self {
        PromiseSender { closer: self.closer.clone() }
    }
}
impl<T> Clone for PromiseReceiver<T> {
    fn clone(&self) -> Self {
        PromiseReceiver { observable: self.observable.clone(), cursor: PromiseCursor(PhantomData) }
    }
}
impl<T> fmt::Debug for PromiseSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PromiseSender(..)")
    }
}
impl<T> fmt::Debug for PromiseReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromiseReceiver").field("set", &self.is_set()).finish_non_exhaustive()
    }
}
