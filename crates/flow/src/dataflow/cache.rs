//! Values of nodes in memory, by key.
//!
//! The lock is for a table of counted references: values are cloned and dropped outside of it.

use super::recall::Recall;
use crate::graph::Cause;
use crate::one_by_one::OneByOne;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::unwind;
use myriad_sync::lock::SingleFlight;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Values of nodes by key, so many at most: nodes with the same key share one run.
///
/// A node in a [cache](super::Options::cached) whose value is there gets a clone of that, and does
/// not call its body. While a node with the same key runs, the others wait for its value. A node
/// that has failed leaves nothing, and the next one runs. Where the cache is full, the value goes
/// that was not asked for the longest.
///
/// **The key** says all that the value depends on, as that of a
/// [checkpoint](super::Checkpoints). A `V` that is large is an `Arc`. A clone of the cache is the
/// same cache.
///
/// # Blocking
/// While a node with the same key runs, the task of the other node is set aside.
///
/// # Panics
/// A panic of `V`'s `clone` fails the node that gets the clone.
///
/// # Cancellation
/// A node that is cancelled while it runs lets the next one with its key run.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Cache};
/// use std::sync::Arc;
/// let pages: Cache<Arc<String>> = Cache::new(100);
/// let fetch = |name: &'static str| {
///     flow::named("fetch").cached(&pages, name).spawn(move || Arc::new(format!("the page {name}")), ())
/// };
/// let (one, other) = (fetch("index").join()?, fetch("index").join()?);
/// assert!(Arc::ptr_eq(&one, &other));
/// assert_eq!((pages.len(), &**pages.get("index").unwrap()), (1, "the page index"));
/// assert!(pages.remove("index"));
/// pages.clear();
/// assert!(pages.is_empty());
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "memoize")]
pub struct Cache<V>(Arc<Entries<V>>);

struct Entries<V> {
    table: Mutex<Table<V>>,
    most: usize,
    /// `None`: the body has failed.
    running: SingleFlight<String, Option<Arc<V>>>,
}

struct Table<V> {
    by_key: BTreeMap<String, (u64, Arc<V>)>,
    by_age: BTreeMap<u64, String>,
    /// Counts what was asked.
    age: u64,
}

impl<V> Table<V> {
    fn get(&mut self, key: &str) -> Option<Arc<V>> {
        let (age, value) = self.by_key.get_mut(key)?;
        self.age += 1;
        let key = self.by_age.remove(age)?;
        *age = self.age;
        self.by_age.insert(self.age, key);
        Some(value.clone())
    }

    fn remove(&mut self, key: &str) -> Option<Arc<V>> {
        let (age, value) = self.by_key.remove(key)?;
        self.by_age.remove(&age);
        Some(value)
    }

    /// Puts a value in. Returns what has to go.
    fn insert(&mut self, key: &str, value: Arc<V>, most: usize) -> [Option<Arc<V>>; 2] {
        let before = self.remove(key);
        self.age += 1;
        self.by_age.insert(self.age, key.to_owned());
        self.by_key.insert(key.to_owned(), (self.age, value));
        let oldest = (self.by_key.len() > most).then(|| self.by_age.pop_first()).flatten();
        [before, oldest.and_then(|(_, key)| self.by_key.remove(&key)).map(|(_, value)| value)]
    }
}

impl<V: Clone> Cache<V> {
    /// With nothing in it, and room for so many values. With no room, nodes that run at the same
    /// time share a run, and nothing is kept.
    pub fn new(most: usize) -> Self {
        let table = Table { by_key: BTreeMap::new(), by_age: BTreeMap::new(), age: 0 };
        Cache(Arc::new(Entries { table: Mutex::new(table), most, running: SingleFlight::new() }))
    }

    /// A clone of the value of this key, if it is there.
    pub fn get(&self, key: &str) -> Option<V> {
        let value = self.0.table.lock().get(key);
        value.map(|value| V::clone(&value))
    }

    pub(super) fn at(&self, key: String) -> AtCache<V> {
        AtCache { cache: self.clone(), key }
    }
}

impl<V> Cache<V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.table.lock().by_key.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the value of this key. (A node that runs meanwhile puts its value there.) False: there
    /// was none.
    pub fn remove(&self, key: &str) -> bool {
        let value = self.0.table.lock().remove(key);
        value.is_some()
    }

    /// Drops all values.
    pub fn clear(&self) {
        drop(self.0.take_all());
    }
}

impl<V> Entries<V> {
    fn keep(&self, key: &str, value: V) -> Arc<V> {
        let value = Arc::new(value);
        let gone = self.table.lock().insert(key, value.clone(), self.most);
        gone.into_iter().for_each(unwind::drop_quietly);
        value
    }

    fn take_all(&self) -> OneByOne<(u64, Arc<V>)> {
        let mut table = self.table.lock();
        table.by_age.clear();
        let all = std::mem::take(&mut table.by_key);
        drop(table);
        OneByOne::from(all.into_values().collect::<Vec<_>>())
    }
}

/// One value in a cache: see [`Options::cached`](super::Options::cached).
pub struct AtCache<V> {
    cache: Cache<V>,
    key: String,
}

impl<V: Clone + Send + Sync + 'static> Recall<V> for AtCache<V> {
    fn call(self, body: impl FnOnce() -> Result<V, Cause>) -> Result<V, Cause> {
        let (shared, mut body) = (&*self.cache.0, Some(body));
        loop {
            let known = shared.table.lock().get(&self.key);
            if let Some(value) = known {
                return Ok(V::clone(&value));
            }
            let mut mine = None;
            let (value, _) = shared.running.run(self.key.clone(), || {
                let known = shared.table.lock().get(&self.key);
                if known.is_some() {
                    return known;
                }
                match body.take()?() {
                    Ok(value) => Some(shared.keep(&self.key, value)),
                    Err(cause) => {
                        mine = Some(cause);
                        None
                    }
                }
            });
            match (value, mine) {
                (Some(value), _) => return Ok(V::clone(&value)),
                (None, Some(cause)) => return Err(cause),
                // Of another one, which has failed.
                (None, None) => {}
            }
        }
    }
}

impl<V> Clone for Cache<V> {
    fn clone(&self) -> Self {
        Cache(self.0.clone())
    }
}

impl<V> Drop for Entries<V> {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}

impl<V> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("len", &self.len()).field("most", &self.0.most).finish_non_exhaustive()
    }
}

impl<V> fmt::Debug for AtCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtCache").field("key", &self.key).finish_non_exhaustive()
    }
}
