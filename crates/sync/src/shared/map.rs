//! A hash map for many tasks.
//!
//! ```text
//!  hash of the key --> a part: RwLock | table: hash --> Arc<K>, Arc<V>
//! ```
//! A part is locked for one step alone: to find, to put in, to take out. User code runs without a
//! lock: hashing before it, destructors after it, and whatever is done with a value, because it
//! leaves the map as an `Arc`. But for the keys' `Eq`, which runs under the lock of the part: one
//! of ours, so that a comparison that waits sets its task aside, and one that panics has changed
//! nothing.
//!
//! **Rejected.** References into the map under a guard (dashmap): a task that waits while it holds
//! one keeps a spinning lock, and another task of the same worker then spins for ever. Guards of an
//! epoch (papaya): they are tied to their thread, and what is dropped meanwhile stays as long as a
//! task waits with one; a lookup is some 10 ns faster. Values that are cloned under the lock:
//! `Clone` is user code. Comparing without the lock, as a `SingleFlight` does: another count of a
//! key's `Arc` for each lookup.

use super::table::Table;
use super::{Apart, parts};
use crate::impls::impls;
use crate::lock::RwLock;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, PoisonError};

/// A hash map that many tasks read and change at the same time. Values are `Arc`s: what one has got
/// stays, whatever becomes of the map, and may be kept over any wait.
///
/// Each operation on a key is one step, and happens at one moment between its call and its return.
/// What concerns the whole map, as [`len`](Map::len), [`is_empty`](Map::is_empty),
/// [`clear`](Map::clear) and an [`iteration`](Map::iter), is one step for each part: what others
/// change meanwhile may be seen or not. Tasks whose keys fall into different parts (four for each
/// processor) do not meet; those that read the same part do not wait for each other.
///
/// # Blocking
/// While another task changes the same part, which takes as long as a lookup. The calling task is
/// set aside meanwhile, a foreign thread sleeps.
///
/// # Cancellation
/// A task that is cancelled while it waits unwinds, and has changed nothing (by
/// [`clear`](Map::clear): has cleared some of the parts).
///
/// # Panics
/// If hashing or comparing keys does; then nothing has changed. A comparison must not use the same
/// map: it would wait for itself.
///
/// *Source.* Go's `sync.Map`: `Load` is [`get`](Self::get), `Store` and `Swap` are
/// [`insert`](Self::insert), `LoadOrStore` is [`get_or_insert`](Self::get_or_insert), `Delete` and
/// `LoadAndDelete` are [`remove`](Self::remove), `CompareAndSwap` is
/// [`replace_if`](Self::replace_if), `CompareAndDelete` is [`remove_if`](Self::remove_if), `Range`
/// is [`iter`](Self::iter).
///
/// # Examples
/// ```
/// use myriad::sync::Map;
/// let hits = Map::new();
/// myriad::scope(|s| {
///     for i in 0..100 {
///         let hits = &hits;
///         s.spawn(move || {
///             let (_page, found) = hits.get_or_insert(i % 10, "a page".to_string());
///             found
///         });
///     }
/// });
/// assert_eq!(hits.len(), 10);
/// assert_eq!(hits.get(&3).unwrap().as_str(), "a page");
/// assert!(hits.remove(&3).is_some() && hits.get(&3).is_none());
/// ```
#[doc(alias = "DashMap")]
#[doc(alias = "ConcurrentHashMap")]
#[doc(alias = "sync.Map")]
pub struct Map<K, V, S = RandomState> {
    parts: Box<[Apart<Part<K, V>>]>,
    hasher: S,
}

type Part<K, V> = RwLock<Table<K, V>>;

impl<K, V> Map<K, V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }
}

impl<K, V, S> Map<K, V, S> {
    /// An empty map that hashes keys so.
    ///
    /// # Examples
    /// ```
    /// use std::hash::{BuildHasherDefault, DefaultHasher};
    /// let map = myriad::sync::Map::with_hasher(BuildHasherDefault::<DefaultHasher>::default());
    /// map.insert("one", 1);
    /// assert!(map.contains_key("one") && !map.contains_key("two"));
    /// map.clear();
    /// assert!(map.is_empty());
    /// ```
    #[must_use]
    pub fn with_hasher(hasher: S) -> Self {
        Map { parts: (0..parts(4)).map(|_| Apart(RwLock::new(Table::default()))).collect(), hasher }
    }

    /// How many entries there are, if nobody changes them meanwhile. O(parts).
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| read(part, Table::len)).sum()
    }

    /// Is there none, in one part after the other? O(parts).
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| read(part, Table::len) == 0)
    }

    /// Takes all out, one part after the other.
    ///
    /// # Panics
    /// If a destructor does; all other entries are dropped all the same.
    pub fn clear(&self) {
        // Dropped without a lock, when all are out: if a destructor panics, nothing is left in the
        // map.
        drop(self.parts.iter().map(|part| write(part, std::mem::take)).collect::<Vec<_>>());
    }

    /// All entries, in no order. Those of one part are as they were at one moment, when the
    /// iteration came to it. None comes twice; what is put in or taken out meanwhile may come or
    /// not. No lock is held between two of them. O(entries).
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { parts: self.parts.iter(), entries: Vec::new().into_iter() }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Map<K, V, S> {
    /// The value of this key.
    pub fn get<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (hash, part) = self.locate(key);
        read(part, |table| Some(table.find(hash, is(key))?.value.clone()))
    }

    /// Is there a value of this key?
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (hash, part) = self.locate(key);
        read(part, |table| table.find(hash, is(key)).is_some())
    }

    /// Sets the value of this key, and returns the one before. (The key that was there stays.)
    pub fn insert(&self, key: K, value: V) -> Option<Arc<V>> {
        let (hash, part) = self.locate(&key);
        let (key, mut value) = (Arc::new(key), Arc::new(value));
        // Both are borrowed inside: what is not needed is dropped after the lock, also if a
        // comparison panics.
        let replaced = write(part, |table| match table.find_mut(hash, is(&*key)) {
            Some(entry) => {
                std::mem::swap(&mut entry.value, &mut value);
                true
            }
            None => {
                table.add(hash, key.clone(), value.clone());
                false
            }
        });
        replaced.then_some(value)
    }

    /// The value of this key; if there is none, sets this one. True: it was there.
    pub fn get_or_insert(&self, key: K, value: V) -> (Arc<V>, bool) {
        let (hash, part) = self.locate(&key);
        let (key, value) = (Arc::new(key), Arc::new(value));
        let there = write(part, |table| match table.find(hash, is(&*key)) {
            Some(entry) => Some(entry.value.clone()),
            None => {
                table.add(hash, key.clone(), value.clone());
                None
            }
        });
        let Some(there) = there else { return (value, false) };
        // Before the answer is made: the destructors of what was refused are user code, and if one
        // panicked, an answer that is complete already would leak.
        drop((key, value));
        (there, true)
    }

    /// The value of this key; if there is none, one that `make` makes, without a lock. If several
    /// make one at a time, the first is taken by all. (Where making is dear:
    /// [`SingleFlight`](crate::lock::SingleFlight), or a map of
    /// [`OnceLock`](crate::lock::OnceLock)s.)
    ///
    /// # Examples
    /// ```
    /// let map = myriad::sync::Map::new();
    /// assert_eq!(*map.get_or_insert_with("key", || "made".to_string()), "made");
    /// assert_eq!(*map.get_or_insert_with("key", || unreachable!()), "made");
    /// ```
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        match self.get(&key) {
            Some(value) => value,
            None => self.get_or_insert(key, make()).0,
        }
    }

    /// Takes out the value of this key.
    pub fn remove<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (hash, part) = self.locate(key);
        // The key is dropped after the lock.
        let entry = write(part, |table| {
            let key = table.find(hash, is(key))?.key.clone();
            table.remove(hash, &key)
        });
        entry.map(|entry| entry.value.clone())
    }

    /// Sets the value of this key if the one that is there is `old`, the very same `Arc`: so nobody
    /// has changed it since it was got.
    ///
    /// # Errors
    /// What is there is another one, or nothing: it is in the error.
    ///
    /// # Examples
    /// ```
    /// let counts = myriad::sync::Map::new();
    /// counts.insert("a", 1);
    /// let add = |key| {
    ///     let mut old = counts.get(key).unwrap();
    ///     while let Err(now) = counts.replace_if(key, &old, *old + 1) {
    ///         old = now.expect("nobody removes it");
    ///     }
    /// };
    /// myriad::join(|| add("a"), || add("a"));
    /// assert_eq!(*counts.get("a").unwrap(), 3);
    /// ```
    pub fn replace_if<Q>(&self, key: &Q, old: &Arc<V>, new: V) -> Result<(), Option<Arc<V>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (hash, part) = self.locate(key);
        let mut new = Arc::new(new);
        // What is not in the map afterwards is dropped after the lock. (The old one is the
        // caller's, too.)
        write(part, |table| match table.find_mut(hash, is(key)) {
            Some(entry) if Arc::ptr_eq(&entry.value, old) => {
                std::mem::swap(&mut entry.value, &mut new);
                Ok(())
            }
            entry => Err(entry.map(|entry| entry.value.clone())),
        })
    }

    /// Takes out the value of this key if it is `old`, the very same `Arc`.
    ///
    /// # Errors
    /// What is there is another one, or nothing: it is in the error.
    ///
    /// # Examples
    /// ```
    /// let map = myriad::sync::Map::new();
    /// let first = map.get_or_insert("key", 1).0;
    /// map.insert("key", 2);
    /// assert_eq!(map.remove_if("key", &first), Err(map.get("key")), "another value");
    /// ```
    pub fn remove_if<Q>(&self, key: &Q, old: &Arc<V>) -> Result<(), Option<Arc<V>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (hash, part) = self.locate(key);
        let removed = write(part, |table| match table.find(hash, is(key)) {
            Some(entry) if Arc::ptr_eq(&entry.value, old) => {
                let key = entry.key.clone();
                Ok(table.remove(hash, &key))
            }
            entry => Err(entry.map(|entry| entry.value.clone())),
        });
        removed.map(drop)
    }

    fn locate<Q: Hash + ?Sized>(&self, key: &Q) -> (u64, &Apart<Part<K, V>>) {
        let hash = self.hasher.hash_one(key);
        // By a product's upper bits, which depend on all: the tables use the lower ones and the
        // uppermost seven.
        let at = (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.parts.len() - 1);
        (hash, &self.parts[at])
    }
}

/// Is it this key?
fn is<'a, K: Borrow<Q>, Q: Eq + ?Sized>(key: &'a Q) -> impl Fn(&K) -> bool + 'a {
    move |other| other.borrow() == key
}

// Poisoning means nothing here: a comparison that panics has changed nothing.

fn read<K, V, R>(part: &Apart<Part<K, V>>, f: impl FnOnce(&Table<K, V>) -> R) -> R {
    f(&part.0.read().unwrap_or_else(PoisonError::into_inner))
}

fn write<K, V, R>(part: &Apart<Part<K, V>>, f: impl FnOnce(&mut Table<K, V>) -> R) -> R {
    f(&mut part.0.write().unwrap_or_else(PoisonError::into_inner))
}

/// See [`Map::iter`].
pub struct Iter<'a, K, V> {
    parts: std::slice::Iter<'a, Apart<Part<K, V>>>,
    /// Of one part.
    entries: std::vec::IntoIter<(Arc<K>, Arc<V>)>,
}

impl<K, V> Iterator for Iter<'_, K, V> {
    type Item = (Arc<K>, Arc<V>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(entry);
            }
            let all = |table: &Table<K, V>| {
                table.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect::<Vec<_>>()
            };
            self.entries = read(self.parts.next()?, all).into_iter();
        }
    }
}

impl<'a, K, V, S> IntoIterator for &'a Map<K, V, S> {
    type Item = (Arc<K>, Arc<V>);
    type IntoIter = Iter<'a, K, V>;
    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<K: Hash + Eq, V, S: BuildHasher + Default> FromIterator<(K, V)> for Map<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let map = Map::default();
        entries.into_iter().for_each(|(key, value)| drop(map.insert(key, value)));
        map
    }
}

impl<K, V, S: Default> Default for Map<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for Map<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impls! {
    Debug for Iter<'_, K, V> [K, V]: opaque;
}
