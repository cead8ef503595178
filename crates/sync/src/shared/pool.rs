//! Objects that are used again.
//!
//! ```text
//!  thread -> its shard: Mutex | up to `limit` objects       the others' shards when it is empty
//! ```
//! A shard is locked to take one object or to put one back, never waited for: who finds a shard
//! locked goes to the next, and at last makes an object, or drops it. No user code runs under the
//! lock: objects are moved in and out.

use super::{Apart, parts};
use crate::impls::impls;
use crate::lock::Mutex;
use crate::values::drop_all;
use myriad_core::engine::user_code::{self, UserValue};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Keeps objects that are dear to make, buffers for one, to be used again by any task or thread.
///
/// [`get`](Self::get) takes one that was put back, of this thread if possible (its memory is warm),
/// or makes a new one. The guard puts it back when it is dropped, also by a panic, and may be held
/// over any wait. There are as many objects in use as are asked for; of those that are not, each
/// shard (one for each processor) keeps up to a [limit](Self::limit), and the rest is dropped.
///
/// Nothing blocks, and there is no poisoning: what a panic may have left behind is the business of
/// [`on_return`](Self::on_return).
///
/// *Source.* Go's `sync.Pool`, but for its garbage collector, which empties pools now and then:
/// here a limit does, and [`clear`](Self::clear).
///
/// # Examples
/// ```
/// use myriad::sync::Pool;
/// static BUFFERS: std::sync::LazyLock<Pool<Vec<u8>>> = std::sync::LazyLock::new(|| {
///     Pool::new(Vec::new).limit(16).on_return(|buffer| {
///         buffer.clear();
///         buffer.capacity() <= 1 << 20                     // too large a one is not kept
///     })
/// });
/// myriad::scope(|s| {
///     for i in 0..100_u32 {
///         s.spawn(move || {
///             let mut buffer = BUFFERS.get();
///             assert!(buffer.is_empty());
///             buffer.extend(i.to_be_bytes());
///         });
///     }
/// });
/// ```
#[doc(alias = "sync.Pool")]
#[doc(alias = "ObjectPool")]
pub struct Pool<T> {
    shards: Box<[Apart<Shard<T>>]>,
    limit: usize,
    make: Box<dyn Fn() -> T + Send + Sync>,
    on_return: Option<OnReturn<T>>,
}

type OnReturn<T> = Box<dyn Fn(&mut T) -> bool + Send + Sync>;

/// An object in a shard.
type Object<T> = UserValue<T>;

const _: () = crate::values::no_drop_glue::<Object<String>>();

struct Shard<T> {
    objects: Mutex<Vec<Object<T>>>,
    /// How many; a hint for who looks from outside.
    len: AtomicUsize,
}

impl<T> Drop for Shard<T> {
    fn drop(&mut self) {
        drop_all(std::mem::take(self.objects.get_mut().unwrap_or_else(PoisonError::into_inner)));
    }
}

/// How many objects a shard keeps if nothing else is said.
const LIMIT: usize = 64;

impl<T> Pool<T> {
    /// An empty pool, whose objects are made so.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Pool<T> {
        let shard = |_| Apart(Shard { objects: Mutex::new(Vec::new()), len: AtomicUsize::new(0) });
        Pool { shards: (0..parts(1)).map(shard).collect(), limit: LIMIT, make: Box::new(make), on_return: None }
    }

    /// Each processor's shard keeps up to so many objects that are not in use (64 if nothing is
    /// said).
    #[must_use]
    pub fn limit(mut self, objects: usize) -> Self {
        self.limit = objects;
        self
    }

    /// What is done with an object that comes back, by who brings it. False: it is dropped, and not
    /// kept. If it panics, too.
    #[must_use]
    pub fn on_return(mut self, f: impl Fn(&mut T) -> bool + Send + Sync + 'static) -> Self {
        self.on_return = Some(Box::new(f));
        self
    }

    /// An object: one that was put back, or a new one.
    ///
    /// # Panics
    /// If making one does.
    pub fn get(&self) -> Pooled<'_, T> {
        Pooled { object: Some(self.try_take().unwrap_or_else(|| (self.make)())), pool: self }
    }

    /// An object that was put back, if there is one.
    pub fn try_get(&self) -> Option<Pooled<'_, T>> {
        Some(Pooled { object: Some(self.try_take()?), pool: self })
    }

    /// Puts an object in: one that was [detached](Pooled::detach), or made elsewhere.
    ///
    /// # Panics
    /// If what is done with an object that comes back does, or its destructor.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Pool, Pooled};
    /// let buffers = Pool::new(Vec::<u8>::new);
    /// let mine = Pooled::detach(buffers.get());
    /// buffers.put(mine);
    /// assert_eq!(buffers.len(), 1);
    /// ```
    pub fn put(&self, mut object: T) {
        if self.on_return.as_ref().is_none_or(|keep| keep(&mut object)) {
            // What is not kept is dropped here, without a lock.
            drop(self.keep(object));
        }
    }

    /// How many objects are kept, now or a moment ago. O(processors).
    pub fn len(&self) -> usize {
        // Relaxed: a hint.
        self.shards.iter().map(|shard| shard.0.len.load(Relaxed)).sum()
    }

    /// Is none kept?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all that are kept.
    ///
    /// # Blocking
    /// As long as others take or put back.
    ///
    /// # Panics
    /// If a destructor does; the other objects are dropped all the same.
    pub fn clear(&self) {
        let take = |Apart(shard): &Apart<Shard<T>>| {
            let mut objects = shard.objects.lock().unwrap_or_else(PoisonError::into_inner);
            shard.len.store(0, Relaxed);
            std::mem::take(&mut *objects)
        };
        // First all are taken out: if a destructor panics, none is left in the pool.
        let objects: Vec<_> = self.shards.iter().map(take).collect();
        drop_all(objects.into_iter().flatten());
    }

    fn try_take(&self) -> Option<T> {
        let at = caller();
        let n = self.shards.len();
        (at..at + n).find_map(|i| self.shards[i & (n - 1)].0.take())
    }

    /// What is not kept comes back.
    fn keep(&self, object: T) -> Option<T> {
        self.shards[caller() & (self.shards.len() - 1)].0.keep(object, self.limit)
    }
}

impl<T> Shard<T> {
    /// Runs `f` with the objects, if nobody else does at this moment. (None of the two panics.)
    fn locked<R>(&self, f: impl FnOnce(&mut Vec<Object<T>>) -> R) -> Option<R> {
        let mut objects = match self.objects.try_lock() {
            Ok(objects) => objects,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let result = f(&mut objects);
        self.len.store(objects.len(), Relaxed);
        Some(result)
    }

    fn take(&self) -> Option<T> {
        // Relaxed: a hint; who comes too early for it makes an object.
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        self.locked(Vec::pop)?.map(UserValue::give)
    }

    fn keep(&self, object: T, limit: usize) -> Option<T> {
        let mut object = Some(object);
        self.locked(|objects| {
            if objects.len() < limit {
                objects.extend(object.take().map(UserValue::new));
            }
        });
        object
    }
}

/// A number of the calling thread: those of a runtime's workers are most often in a row.
fn caller() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static HERE: usize = NEXT.fetch_add(1, Relaxed);
    }
    // While a thread ends its thread-locals may be gone.
    HERE.try_with(|caller| *caller).unwrap_or(0)
}

/// An object of a [`Pool`], which it goes back to when this is dropped.
///
/// # Examples
/// ```
/// let buffers = myriad::sync::Pool::new(Vec::<u8>::new);
/// let mut buffer = buffers.get();
/// buffer.extend(b"text");
/// assert_eq!(&**buffer, b"text");
/// drop(buffer); // it goes back
/// assert_eq!(buffers.len(), 1);
/// ```
pub struct Pooled<'a, T> {
    /// Until it is dropped.
    object: Option<T>,
    pool: &'a Pool<T>,
}

impl<T> Pooled<'_, T> {
    /// The object, which does not go back by itself: [`Pool::put`] puts it back.
    pub fn detach(mut this: Self) -> T {
        this.object.take().expect(THERE)
    }
}

const THERE: &str = "the object is there until the guard is dropped";

impl<T> Deref for Pooled<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.object.as_ref().expect(THERE)
    }
}
impl<T> DerefMut for Pooled<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.object.as_mut().expect(THERE)
    }
}

impl<T> Drop for Pooled<'_, T> {
    fn drop(&mut self) {
        let Some(object) = self.object.take() else { return };
        if std::thread::panicking() {
            // Its own panic would end the process.
            user_code::run("what a Pool does with an object that comes back", || self.pool.put(object));
        } else {
            self.pool.put(object);
        }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("len", &self.len()).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impls! {
    Debug for Pooled<'_, T> [T]: as T;
}
