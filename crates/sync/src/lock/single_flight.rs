//! Doing something once for all who want it at the same time.

use super::OnceLock;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

/// Work that is done once for all callers that ask for the same key at the same time: the first one does it, the others wait for its
/// result. Who asks when it is done has it done again: this is no cache.
///
/// For a cache that misses: a hundred tasks that want the same page load it once.
///
/// # Examples
/// ```
/// use myriad_sync::lock::SingleFlight;
/// use std::sync::atomic::{AtomicUsize, Ordering::*};
///
/// let (pages, loads) = (SingleFlight::new(), AtomicUsize::new(0));
/// myriad_core::scope(|s| {
///     for _ in 0..100 {
///         s.spawn(|| {
///             let (page, _shared) = pages.run("index", || {
///                 loads.fetch_add(1, Relaxed);
///                 myriad_core::yield_now();                // a long time
///                 "<html>".to_string()
///             });
///             assert_eq!(page, "<html>");
///         });
///     }
/// });
/// assert!(loads.into_inner() <= 100);
/// ```
pub struct SingleFlight<K, V> {
    flights: Mutex<HashMap<K, Arc<OnceLock<V>>>>,
}

impl<K: Hash + Eq + Clone, V: Clone> SingleFlight<K, V> {
    /// With nothing under way.
    pub fn new() -> Self {
        SingleFlight { flights: Mutex::new(HashMap::new()) }
    }

    /// The result of the work for this key that is under way; if none is, `f` is that work. With it: is it that of another caller?
    ///
    /// # Blocking
    /// While another caller does the work: the task is set aside, a foreign thread sleeps. `f` runs on the caller.
    ///
    /// # Panics
    /// If `f` does. Then one of those who wait does the work with its own `f`, as for a [`OnceLock`]. If `f` asks for the same key.
    ///
    /// # Cancellation
    /// Who waits and is cancelled leaves. If the one that works is cancelled, one of those who wait begins anew.
    pub fn run(&self, key: K, f: impl FnOnce() -> V) -> (V, bool) {
        let flight = self.flight(key);
        let mut shared = true;
        let value = flight.result.get_or_init(|| {
            shared = false;
            f()
        });
        (value.clone(), shared)
    }

    /// The same, where the work is a future.
    ///
    /// # Cancellation
    /// Dropped meanwhile, one of those who wait begins anew.
    pub async fn run_async<F: Future<Output = V>>(&self, key: K, f: impl FnOnce() -> F) -> (V, bool) {
        let flight = self.flight(key);
        let mut shared = true;
        let value = flight
            .result
            .get_or_init_async(|| {
                shared = false;
                f()
            })
            .await;
        (value.clone(), shared)
    }

    /// The next caller does the work anew, also if it is under way. Who waits for that gets its result all the same.
    pub fn forget<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.locked().remove(key);
    }

    fn flight(&self, key: K) -> Flight<'_, K, V> {
        let result = self.locked().entry(key.clone()).or_default().clone();
        Flight { of: self, key, result }
    }
}

/// A caller's part in some work.
struct Flight<'a, K: Hash + Eq, V> {
    of: &'a SingleFlight<K, V>,
    key: K,
    result: Arc<OnceLock<V>>,
}

impl<K: Hash + Eq, V> Drop for Flight<'_, K, V> {
    /// No longer under way, if it is done, or if the last one gives it up.
    fn drop(&mut self) {
        let mut flights = self.of.locked();
        // Two: the map's, and ours. More cannot come, for they come from the map.
        let over = self.result.get().is_some() || Arc::strong_count(&self.result) == 2;
        if over && flights.get(&self.key).is_some_and(|now| Arc::ptr_eq(now, &self.result)) {
            flights.remove(&self.key);
        }
    }
}

impl<K, V> SingleFlight<K, V> {
    fn locked(&self) -> MutexGuard<'_, HashMap<K, Arc<OnceLock<V>>>> {
        // A key's own code may panic under it, and leaves the map as it was.
        self.flights.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        SingleFlight::new()
    }
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").field("under_way", &self.locked().len()).finish()
    }
}
