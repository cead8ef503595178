//! Keys whose `Hash`, `Eq` and destructors are no plain computations.

use crate::common::{catch_planned, in_both_modes, plan, wait_until};
use myriad::sync::SingleFlight;
use myriad::{scope, spawn, yield_now};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Where a key does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Hash,
    Eq,
    Drop,
}

/// A key that does something. All of one kind have the same hash.
#[derive(Clone)]
struct Key {
    name: u32,
    does: Option<(At, Arc<dyn Fn() + Send + Sync>)>,
}

impl Key {
    fn new(name: u32) -> Key {
        Key { name, does: None }
    }
    fn that(name: u32, at: At, f: impl Fn() + Send + Sync + 'static) -> Key {
        Key { name, does: Some((at, Arc::new(f))) }
    }
    fn is_at(&self, place: At) {
        if let Some((at, f)) = &self.does
            && *at == place
        {
            f();
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, _: &mut H) {
        self.is_at(At::Hash);
    }
}
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.is_at(At::Eq);
        other.is_at(At::Eq);
        self.name == other.name
    }
}
impl Eq for Key {}
impl Drop for Key {
    fn drop(&mut self) {
        self.is_at(At::Drop);
    }
}

type Flights = Arc<SingleFlight<Key, u32>>;

fn flights() -> Flights {
    Arc::new(SingleFlight::new())
}

/// Runs `f` while somebody does some work for another key (0) of the same hash.
fn beside_another(flights: &Flights, f: impl FnOnce()) {
    let (started, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    scope(|s| {
        s.spawn(|| {
            flights.run(Key::new(0), || {
                started.store(1, SeqCst);
                wait_until(|| done.load(SeqCst) == 1);
                0
            })
        });
        wait_until(|| started.load(SeqCst) == 1);
        f();
        done.store(1, SeqCst);
    });
    assert_eq!(format!("{flights:?}"), "SingleFlight { under_way: 0 }");
}

#[test]
fn a_key_uses_its_flights() {
    for at in [At::Hash, At::Eq, At::Drop] {
        in_both_modes(|rt| {
            rt.run(|| {
                let flights = flights();
                let (inner, times) = (flights.clone(), Arc::new(AtomicUsize::new(0)));
                let count = times.clone();
                let key = Key::that(1, at, move || {
                    if count.fetch_add(1, SeqCst) == 0 {
                        inner.forget(&Key::new(1));
                        assert_eq!(inner.run(Key::new(2), || 7), (7, false));
                        yield_now();
                    }
                });
                beside_another(&flights, || assert_eq!(flights.run(key, || 1), (1, false)));
                assert!(times.load(SeqCst) > 0, "{at:?}");
            });
        });
    }
}

#[test]
fn a_key_panics() {
    for at in [At::Hash, At::Eq, At::Drop] {
        in_both_modes(|rt| {
            rt.run(|| {
                let flights = flights();
                let times = Arc::new(AtomicUsize::new(0));
                let count = times.clone();
                let key = Key::that(1, at, move || {
                    if count.fetch_add(1, SeqCst) == 0 {
                        plan("a key");
                    }
                });
                beside_another(&flights, || {
                    catch_planned("a key", || flights.run(key, || 1));
                    assert_eq!(flights.run(Key::new(1), || 2), (2, false));
                });
                assert!(times.load(SeqCst) > 0, "{at:?}");
            });
        });
    }
}

/// A comparison that takes long finds the work gone, or another one in its place.
#[test]
fn what_was_compared_is_gone_afterwards() {
    in_both_modes(|rt| {
        rt.run(|| {
            let flights = flights();
            let (compared, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (mark, gate) = (compared.clone(), go.clone());
            let slow = Key::that(0, At::Eq, move || {
                mark.fetch_add(1, SeqCst);
                wait_until(|| gate.load(SeqCst) == 1);
            });
            let theirs = flights.clone();
            let second = flights.clone();
            let mut late = None;
            let began = Arc::new(AtomicUsize::new(0));
            beside_another(&flights, || {
                let began = began.clone();
                late = Some(spawn(move || {
                    second.run(slow, || {
                        began.fetch_add(1, SeqCst);
                        5
                    })
                }));
                wait_until(|| compared.load(SeqCst) > 0);
                theirs.forget(&Key::new(0));
                go.store(1, SeqCst);
                // The work that it was compared with is not under way any more: it does its own.
                assert_eq!(late.take().unwrap().join().unwrap(), (5, false));
            });
            assert_eq!(began.load(SeqCst), 1);
        });
    });
}

/// As many as ask at the same time, with keys that have one hash.
#[test]
fn one_hash_for_all() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (flights, works) = (flights(), AtomicUsize::new(0));
            scope(|s| {
                for i in 0..60 {
                    let (flights, works) = (&flights, &works);
                    s.spawn(move || {
                        let (value, _) = flights.run(Key::new(i % 6), || {
                            works.fetch_add(1, SeqCst);
                            yield_now();
                            i % 6
                        });
                        assert_eq!(value, i % 6);
                    });
                }
            });
            assert!((6..=60).contains(&works.load(SeqCst)));
            assert_eq!(format!("{flights:?}"), "SingleFlight { under_way: 0 }");
        });
    });
}
