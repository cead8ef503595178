//! One part of a [map](super::Map): entries by the hashes of their keys, which is all that it
//! compares by itself.
//!
//! std's hash map from whole hashes to entries; those of the same hash (seldom two, if the hashes
//! are any good) stand in a chain. So neither hashing nor growing calls anything foreign, and a
//! comparison that panics does so before anything has changed.

use myriad_base::hash::Numbers;
use std::collections::hash_map;
use std::sync::Arc;

pub(super) struct Table<K, V> {
    chains: Numbers<u64, TableEntry<K, V>>,
    len: usize,
}

pub(super) struct TableEntry<K, V> {
    pub(super) key: Arc<K>,
    pub(super) value: Arc<V>,
    next: Option<Box<TableEntry<K, V>>>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { chains: Numbers::default(), len: 0 }
    }
}

impl<K, V> Table<K, V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = &TableEntry<K, V>> {
        self.chains.values().flat_map(|first| std::iter::successors(Some(first), |entry| entry.next.as_deref()))
    }

    /// The entry with this hash of which it is said that it is the one.
    pub(super) fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&TableEntry<K, V>> {
        let first = self.chains.get(&hash);
        std::iter::successors(first, |entry| entry.next.as_deref()).find(|entry| is(&entry.key))
    }

    /// The same, to change its value.
    pub(super) fn find_mut(&mut self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&mut TableEntry<K, V>> {
        let mut entry = self.chains.get_mut(&hash)?;
        while !is(&entry.key) {
            entry = entry.next.as_deref_mut()?;
        }
        Some(entry)
    }

    /// A new entry; there is none of its key.
    pub(super) fn add(&mut self, hash: u64, key: Arc<K>, value: Arc<V>) {
        self.len += 1;
        match self.chains.entry(hash) {
            hash_map::Entry::Vacant(entry) => _ = entry.insert(TableEntry { key, value, next: None }),
            hash_map::Entry::Occupied(mut first) => {
                let first = first.get_mut();
                let next = first.next.take();
                first.next = Some(Box::new(TableEntry { key, value, next }));
            }
        }
    }

    /// Takes out this entry, which is here.
    pub(super) fn remove(&mut self, hash: u64, key: &Arc<K>) -> Option<TableEntry<K, V>> {
        let hash_map::Entry::Occupied(mut first) = self.chains.entry(hash) else { return None };
        self.len -= 1;
        if Arc::ptr_eq(&first.get().key, key) {
            return Some(match first.get_mut().next.take() {
                None => first.remove(),
                Some(next) => first.insert(*next),
            });
        }
        let mut link = &mut first.into_mut().next;
        while link.as_ref().is_some_and(|entry| !Arc::ptr_eq(&entry.key, key)) {
            link = &mut link.as_mut()?.next;
        }
        let mut entry = *link.take()?;
        *link = entry.next.take();
        Some(entry)
    }
}

impl<K, V> Drop for Table<K, V> {
    /// One by one: if a destructor panics, std's iterator drops the rest, where its map would
    /// forget it.
    fn drop(&mut self) {
        std::mem::take(&mut self.chains).into_values().for_each(drop);
    }
}

impl<K, V> Drop for TableEntry<K, V> {
    /// One after the other: a long chain of bad hashes must not fill the stack.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut entry) = next {
            next = entry.next.take();
        }
    }
}
