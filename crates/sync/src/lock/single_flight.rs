//! Doing something once for all who want it at the same time.
//!
//! ```text
//!  key --hash--> under the lock: the works with this hash --their keys compared--> under the lock:
//!      join one, or begin one
//! ```
//! **No user code under the lock.** Hashing comes before it, destructors after it. Keys are
//! compared between two looks: the second one finds whether the work that was chosen is still
//! there, or, if none was, whether nothing has come that was not compared; else all begins anew. So
//! a key's `Hash`, `Eq` and destructor may wait, panic, or use the same `SingleFlight`.
//!
//! **Rejected.** A map by keys: it compares them under its lock, and drops them there.

use super::OnceLock;
use crate::impls::impls;
use crate::values::drop_all;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code::UserValue;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Work that is done once for all callers that ask for the same key at the same time: the first one
/// does it, the others wait for its result. Who asks when it is done has it done again: this is no
/// cache.
///
/// For a cache that misses: a hundred tasks that want the same page load it once.
///
/// # Examples
/// ```
/// use myriad::sync::SingleFlight;
/// use std::sync::atomic::{AtomicUsize, Ordering::*};
///
/// let (pages, loads) = (SingleFlight::new(), AtomicUsize::new(0));
/// myriad::scope(|s| {
///     for _ in 0..100 {
///         s.spawn(|| {
///             let (page, _shared) = pages.run("index", || {
///                 loads.fetch_add(1, Relaxed);
///                 myriad::yield_now();                // a long time
///                 "<html>".to_string()
///             });
///             assert_eq!(page, "<html>");
///         });
///     }
/// });
/// assert!(loads.into_inner() <= 100);
/// ```
#[doc(alias = "singleflight")]
#[doc(alias = "memoize")]
pub struct SingleFlight<K, V> {
    /// Under the lock no user code runs, and nothing panics.
    works: Mutex<Works<K, V>>,
    hasher: RandomState,
}

/// The map's part in some work.
struct UnderWay<K, V> {
    work: UserValue<Arc<Work<K, V>>>,
    /// How many do it or wait for it.
    callers: usize,
}

const _: () = crate::values::no_drop_glue::<UnderWay<String, String>>();

struct Work<K, V> {
    key: K,
    result: OnceLock<V>,
}

impl<K: Hash + Eq, V: Clone> SingleFlight<K, V> {
    /// With nothing under way.
    pub fn new() -> Self {
        SingleFlight { works: Mutex::new(BTreeMap::new()), hasher: RandomState::new() }
    }

    /// The result of the work for this key that is under way; if none is, `f` is that work. With
    /// it: is it that of another caller?
    ///
    /// # Blocking
    /// While another caller does the work: the task is set aside, a foreign thread sleeps. `f` runs
    /// on the caller.
    ///
    /// # Panics
    /// If `f` does. Then one of those who wait does the work with its own `f`, as for a
    /// [`OnceLock`]. If `f` asks for the same key. If hashing or comparing keys does; then nothing
    /// has changed.
    ///
    /// # Cancellation
    /// Who waits and is cancelled leaves. If the one that works is cancelled, one of those who wait
    /// begins anew.
    #[track_caller]
    pub fn run(&self, key: K, f: impl FnOnce() -> V) -> (V, bool) {
        let flight = self.flight(key);
        let mut shared = true;
        let value = flight.work.result.get_or_init(|| {
            shared = false;
            f()
        });
        (value.clone(), shared)
    }

    /// As [`run`](Self::run); the work is a future.
    ///
    /// # Cancellation
    /// Dropped meanwhile, one of those who wait begins anew.
    pub async fn run_async<F: Future<Output = V>>(&self, key: K, f: impl FnOnce() -> F) -> (V, bool) {
        let flight = self.flight(key);
        let mut shared = true;
        let value = flight
            .work
            .result
            .get_or_init_async(|| {
                shared = false;
                f()
            })
            .await;
        (value.clone(), shared)
    }

    /// The next caller does the work anew, also if it is under way. Who waits for that gets its
    /// result all the same.
    ///
    /// # Examples
    /// ```
    /// let pages = myriad::sync::SingleFlight::new();
    /// let (old, _) = pages.run("index", || {
    ///     pages.forget("index"); // it has changed meanwhile
    ///     let (new, shared) = pages.run("index", || 2);
    ///     assert_eq!((new, shared), (2, false));
    ///     1
    /// });
    /// assert_eq!(old, 1);
    /// ```
    pub fn forget<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let known = self.known(hash);
        // (If it is not there any more, it was gone when it was looked for.)
        if let Some(work) = known.iter().find(|work| work.key.borrow() == key) {
            let forgotten = take(&mut self.works.lock(), hash, work, |_| true);
            drop(forgotten.map(UserValue::give));
        }
    }

    fn flight(&self, key: K) -> Flight<'_, K, V> {
        let hash = self.hasher.hash_one(&key);
        let mine = Arc::new(Work { key, result: OnceLock::new() });
        // Most often there is none.
        let mut known = Vec::new();
        loop {
            let same = known.iter().find(|work: &&Arc<Work<K, V>>| work.key == mine.key);
            let joined = match same {
                Some(work) => join(&mut self.works.lock(), hash, work),
                None => begin(&mut self.works.lock(), hash, &mine, &known),
            };
            if let Some(work) = joined {
                return Flight { of: self, hash, work };
            }
            known = self.known(hash);
        }
    }
}

/// The works under way, by the hashes of their keys and their own addresses.
type Works<K, V> = BTreeMap<(u64, usize), UnderWay<K, V>>;

fn key<K, V>(hash: u64, work: &Arc<Work<K, V>>) -> (u64, usize) {
    (hash, Arc::as_ptr(work).addr())
}

/// One more caller of some work, if that is still there.
fn join<K, V>(works: &mut Works<K, V>, hash: u64, work: &Arc<Work<K, V>>) -> Option<Arc<Work<K, V>>> {
    works.get_mut(&key(hash, work))?.callers += 1;
    Some(work.clone())
}

/// The first caller of this work, if nothing has come that is not known.
fn begin<K, V>(
    works: &mut Works<K, V>,
    hash: u64,
    work: &Arc<Work<K, V>>,
    known: &[Arc<Work<K, V>>],
) -> Option<Arc<Work<K, V>>> {
    let is_known = |there: &(u64, usize)| known.iter().any(|work| key(hash, work) == *there);
    if !works.range(of(hash)).all(|(there, _)| is_known(there)) {
        return None;
    }
    works.insert(key(hash, work), UnderWay { work: UserValue::new(work.clone()), callers: 1 });
    Some(work.clone())
}

/// Takes some work out, if it is there and is to go.
fn take<K, V>(
    works: &mut Works<K, V>,
    hash: u64,
    work: &Arc<Work<K, V>>,
    goes: impl FnOnce(&mut UnderWay<K, V>) -> bool,
) -> Option<UserValue<Arc<Work<K, V>>>> {
    let Entry::Occupied(mut there) = works.entry(key(hash, work)) else { return None };
    goes(there.get_mut()).then(|| there.remove().work)
}

/// All places of this hash.
fn of(hash: u64) -> RangeInclusive<(u64, usize)> {
    (hash, 0)..=(hash, usize::MAX)
}

/// A caller's part in some work.
struct Flight<'a, K, V> {
    of: &'a SingleFlight<K, V>,
    hash: u64,
    work: Arc<Work<K, V>>,
}

impl<K, V> Drop for Flight<'_, K, V> {
    /// No longer under way, if it is done, or if the last one gives it up.
    fn drop(&mut self) {
        let over = take(&mut self.of.works.lock(), self.hash, &self.work, |there| {
            there.callers -= 1;
            there.callers == 0 || self.work.result.get().is_some()
        });
        drop(over.map(UserValue::give));
    }
}

impl<K, V> SingleFlight<K, V> {
    /// What is under way for keys with this hash, to be compared without the lock.
    fn known(&self, hash: u64) -> Vec<Arc<Work<K, V>>> {
        let works = self.works.lock();
        works.range(of(hash)).map(|(_, there)| there.work.peek().clone()).collect()
    }
}

impl<K, V> Drop for SingleFlight<K, V> {
    /// What is left belongs to futures that were forgotten.
    fn drop(&mut self) {
        let left = std::mem::take(self.works.get_mut());
        drop_all(left.into_values().map(|there| there.work));
    }
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under_way = self.works.lock().len();
        f.debug_struct("SingleFlight").field("under_way", &under_way).finish()
    }
}

impls! {
    Default for SingleFlight<K, V> [K: Hash + Eq, V: Clone]: SingleFlight::new();
}
