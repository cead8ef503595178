//! The latest value of something, and the news that it has changed.

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

/// A value that senders replace and receivers look at: each receiver hears that it has changed, and
/// gets the latest value; those in between are lost to it.
///
/// # Examples
/// ```
/// let (set, mut seen) = myriad::channel::watch(1);
/// assert_eq!(*seen.get(), 1);
/// assert!(seen.try_recv().is_err(), "nothing new");
/// set.send(2).unwrap();
/// set.send(3).unwrap();
/// assert_eq!(*seen.recv().unwrap(), 3);
/// drop(set);
/// assert!(seen.recv().is_err());
/// assert_eq!(*seen.get(), 3);
/// ```
#[doc(alias = "StateFlow")]
#[must_use]
#[track_caller]
pub fn watch<T>(value: T) -> (WatchSender<T>, WatchReceiver<T>) {
    let observable = Observable::new(Latest { value: UserValue::new(Arc::new(value)), version: 0 });
    let closer = Arc::new(Closer(observable.clone()));
    (WatchSender { closer }, WatchReceiver { observable, cursor: WatchCursor { version: 0, of: PhantomData } })
}

struct Latest<T> {
    value: UserValue<Arc<T>>,
    version: u64,
}

const _: () = crate::values::no_drop_glue::<Latest<String>>();

impl<T> Content for Latest<T> {
    unsafe fn drop_values(&mut self) {
        // SAFETY: the content goes with its observable, and is not used afterwards: so the value is
        // taken once.
        drop(unsafe { self.value.take() });
    }
}

/// Replaces the value of a [`watch`].
pub struct WatchSender<T> {
    closer: Arc<Closer<Latest<T>>>,
}

/// Looks at the value of a [`watch`]. A clone has seen what this one has.
pub struct WatchReceiver<T> {
    observable: Arc<Observable<Latest<T>>>,
    cursor: WatchCursor<T>,
}

/// Has seen this version.
struct WatchCursor<T> {
    version: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Cursor for WatchCursor<T> {
    type Content = Latest<T>;
    type Item = Arc<T>;
    fn take(&mut self, content: &Latest<T>) -> Option<Arc<T>> {
        self.has_news(content).then(|| {
            self.version = content.version;
            content.value.peek().clone()
        })
    }
    fn has_news(&self, content: &Latest<T>) -> bool {
        content.version > self.version
    }
}

impl<T> WatchSender<T> {
    /// Replaces the value. Never waits; it does not matter whether somebody looks.
    ///
    /// # Errors
    /// The watch is closed: the value comes back.
    ///
    /// # Panics
    /// If the destructor of the old value does; the new one is set.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let changed = self.closer.0.change(UserValue::new(Arc::new(value)), |latest, value| {
            latest.version += 1;
            std::mem::replace(&mut latest.value, value)
        });
        match changed {
            Ok(old) => {
                drop(old.give());
                Ok(())
            }
            Err(value) => Err(SendError(Arc::into_inner(value.give()).expect("it is ours alone"))),
        }
    }
    /// The value.
    pub fn get(&self) -> Arc<T> {
        self.closer.0.read(|latest| latest.value.peek().clone())
    }
    /// A receiver that has seen the present value.
    pub fn subscribe(&self) -> WatchReceiver<T> {
        let version = self.closer.0.read(|latest| latest.version);
        WatchReceiver { observable: self.closer.0.clone(), cursor: WatchCursor { version, of: PhantomData } }
    }
    /// Ends the watch for all: nothing changes any more. True: it was open.
    pub fn close(&self) -> bool {
        self.closer.0.close()
    }
}

impl<T> WatchReceiver<T> {
    /// The value, seen or not; also when the watch is closed.
    #[doc(alias = "borrow")]
    pub fn get(&self) -> Arc<T> {
        self.observable.read(|latest| latest.value.peek().clone())
    }
    /// Is the value another than the last one that was received?
    pub fn has_changed(&self) -> bool {
        self.observable.read(|latest| self.cursor.has_news(latest))
    }
}
receiving!(WatchReceiver<T>, Arc<T>);

impl<T> Clone for WatchSender<T> {
    fn clone(&self) -> Self {
        WatchSender { closer: self.closer.clone() }
    }
}
impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> Self {
        let cursor = WatchCursor { version: self.cursor.version, of: PhantomData };
        WatchReceiver { observable: self.observable.clone(), cursor }
    }
}
impl<T> fmt::Debug for WatchSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchSender(..)")
    }
}
impl<T> fmt::Debug for WatchReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchReceiver").field("changed", &self.has_changed()).finish_non_exhaustive()
    }
}
