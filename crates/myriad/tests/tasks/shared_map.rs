//! The map: against a model, by many at a time, and with keys and values that are foreign code.

use crate::common::each;
use myriad::sync::{Arc, Event, Map};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Few hashes: most keys collide.
#[derive(Default)]
struct Weak(u64);
impl Hasher for Weak {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 += u64::from(*b));
    }
    fn finish(&self) -> u64 {
        self.0 % 3
    }
}

/// Every operation, as `HashMap` says; with good hashes, and with bad ones.
#[test]
fn as_a_model_says() {
    fn run<S: std::hash::BuildHasher + Default>(seed: u64) {
        let (map, mut model) = (Map::<u64, u64, S>::default(), HashMap::<u64, u64>::new());
        let mut state = seed | 1;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for step in 0..2000 {
            let (key, value) = (random(40), random(1000));
            match random(9) {
                0 | 1 => assert_eq!(map.insert(key, value).as_deref().copied(), model.insert(key, value)),
                2 => assert_eq!(map.get(&key).as_deref(), model.get(&key)),
                3 => assert_eq!(map.remove(&key).as_deref().copied(), model.remove(&key)),
                4 => {
                    let was_there = model.contains_key(&key);
                    let (got, found) = map.get_or_insert(key, value);
                    assert_eq!((*got, found), (*model.entry(key).or_insert(value), was_there));
                }
                5 => assert_eq!(*map.get_or_insert_with(key, || value), *model.entry(key).or_insert(value)),
                6 => {
                    let old = map.get(&key).unwrap_or_default();
                    match map.replace_if(&key, &old, value) {
                        Ok(()) => assert_eq!(model.insert(key, value), Some(*old)),
                        Err(now) => assert!(now.is_none() && !model.contains_key(&key)),
                    }
                }
                7 => {
                    // An equal value, but not the very same.
                    let equal = Arc::new(map.get(&key).map_or(7, |value| *value));
                    assert_eq!(map.remove_if(&key, &equal).unwrap_err().as_deref(), model.get(&key));
                    if let Some(value) = map.get(&key)
                        && random(2) == 0
                    {
                        assert_eq!(map.remove_if(&key, &value), Ok(()));
                        model.remove(&key);
                    }
                }
                _ if step % 100 == 0 => {
                    map.clear();
                    model.clear();
                }
                _ => assert_eq!(map.contains_key(&key), model.contains_key(&key)),
            }
            assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
        }
        let all: BTreeMap<u64, u64> = map.iter().map(|(key, value)| (*key, *value)).collect();
        assert_eq!(all, model.into_iter().collect());
    }
    for seed in 0..20 {
        run::<std::hash::RandomState>(seed);
        run::<BuildHasherDefault<Weak>>(seed);
    }
}

/// Many tasks count up the same keys: nothing is lost; each value is dropped once.
#[test]
fn many_at_a_time() {
    each(&[1, 2, 4], |rt| {
        let (map, n) = (Arc::new(Map::new()), 200);
        let tasks: Vec<_> = (0..20)
            .map(|i| {
                let map = map.clone();
                rt.spawn(move || {
                    let mut inserted = 0;
                    for k in 0..n {
                        let (mut old, found) = map.get_or_insert(k % 10, 1_usize);
                        inserted += usize::from(!found);
                        while found && let Err(now) = map.replace_if(&(k % 10), &old, *old + 1) {
                            old = now.unwrap();
                        }
                        if k % 7 == i % 7 {
                            myriad::yield_now();
                        }
                    }
                    inserted
                })
            })
            .collect();
        let inserted: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        let sum: usize = map.iter().map(|(_, count)| *count).sum();
        assert_eq!((inserted, map.len(), sum), (10, 10, 20 * n));
    });
}

/// One of many puts the value in, one of many takes it out.
#[test]
fn one_of_many() {
    each(&[2], |rt| {
        for round in 0..50 {
            let (map, begin) = (Arc::new(Map::new()), Arc::new(Event::new()));
            let tasks: Vec<_> = (0..8)
                .map(|i| {
                    let (map, begin) = (map.clone(), begin.clone());
                    rt.spawn(move || {
                        begin.wait();
                        let (value, found) = map.get_or_insert(round, i);
                        (!found, *value, map.remove(&round).is_some())
                    })
                })
                .collect();
            begin.set();
            let all: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
            let (put, taken) = (all.iter().filter(|t| t.0).count(), all.iter().filter(|t| t.2).count());
            assert!(put >= 1 && put == taken && map.is_empty(), "{all:?}");
        }
    });
}

/// Values are kept over waits, and while an iteration stands between two entries others change the
/// map, the same part too.
#[test]
fn nothing_is_held_by_who_waits() {
    each(&[1, 2], |rt| {
        let map: Arc<Map<u32, u32>> = Arc::new((0..200).map(|n| (n, n)).collect());
        let (stands, go_on) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (m, s, g) = (map.clone(), stands.clone(), go_on.clone());
        let iterating = rt.spawn(move || {
            let value = m.get(&7).unwrap();
            let mut seen = Vec::new();
            for (key, _) in &*m {
                if seen.is_empty() {
                    s.set();
                    g.wait();
                }
                seen.push(*key);
            }
            seen.sort_unstable();
            let len = seen.len();
            seen.dedup();
            (*value, len == seen.len(), seen.into_iter().filter(|n| *n >= 100).count())
        });
        stands.wait();
        (0..100).for_each(|n| drop(map.remove(&n)));
        (100..300).for_each(|n| drop(map.insert(n, 0)));
        go_on.set();
        let (value, once, seen) = iterating.join().unwrap();
        assert!(value == 7 && once && (100..=200).contains(&seen), "{seen}: what stays is seen");
    });
}

/// Keys whose comparison waits, or panics: others of the same part wait, and then all is as before.
#[test]
fn foreign_keys() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    #[derive(Debug)]
    struct Key(u32);
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            if self.0 == 99 {
                panic!("on purpose: a hash");
            }
            state.write_u32(0);
        }
    }
    impl PartialEq for Key {
        fn eq(&self, other: &Key) -> bool {
            myriad::yield_now();
            if PANICS.swap(0, SeqCst) == 1 {
                panic!("on purpose: a comparison");
            }
            self.0 == other.0
        }
    }
    impl Eq for Key {}
    each(&[1, 2], |rt| {
        let map = Arc::new(Map::new());
        let tasks: Vec<_> = (0..10)
            .map(|n| {
                let map = map.clone();
                rt.spawn(move || {
                    map.insert(Key(n % 5), n);
                    map.get(&Key(n % 5)).unwrap();
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        rt.run(|| {
            PANICS.store(1, SeqCst);
            assert!(catch_unwind(AssertUnwindSafe(|| map.insert(Key(3), 77))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| map.get(&Key(99)))).is_err());
            assert_eq!((map.len(), *map.get(&Key(3)).unwrap() % 5), (5, 3));
            assert_eq!(map.insert(Key(3), 8).map(|old| *old % 5), Some(3));
        });
    });
}

/// Destructors of keys and values may use the map: they run without a lock.
#[test]
fn destructors_use_the_map() {
    struct Uses(u32, std::sync::Weak<Map<u32, Uses>>, Arc<AtomicUsize>);
    impl Drop for Uses {
        fn drop(&mut self) {
            if let Some(map) = self.1.upgrade() {
                self.2.fetch_add(1, SeqCst);
                assert!(map.get(&(self.0 + 1000)).is_none());
                map.remove(&self.0);
            }
        }
    }
    let (map, drops) = (Arc::new(Map::new()), Arc::new(AtomicUsize::new(0)));
    let uses = |n| Uses(n, Arc::downgrade(&map), drops.clone());
    (0..10).for_each(|n| drop(map.insert(n, uses(n))));
    drop(map.insert(3, uses(3)));
    assert!(map.get(&3).is_none(), "the old one has taken the new one out");
    drop(map.remove(&4));
    let old = map.get(&5).unwrap();
    assert!(map.replace_if(&5, &old, uses(5)).is_ok());
    drop(old);
    map.clear();
    assert!(map.is_empty());
    assert_eq!(drops.load(SeqCst), 12);
}

/// Also when a comparison panics under the lock: what was to be put in is dropped after it.
#[test]
fn destructors_after_a_comparison_that_panics() {
    struct Odd(u32);
    impl Hash for Odd {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u32(self.0);
        }
    }
    impl PartialEq for Odd {
        fn eq(&self, _: &Odd) -> bool {
            panic!("on purpose");
        }
    }
    impl Eq for Odd {}
    struct Uses(Option<std::sync::Weak<Map<Odd, Uses>>>);
    impl Drop for Uses {
        fn drop(&mut self) {
            if let Some(map) = self.0.take().and_then(|map| map.upgrade()) {
                // Every part: the one that is locked, if one is, too.
                assert_eq!(map.len(), 1);
            }
        }
    }
    let map = Arc::new(Map::new());
    map.insert(Odd(1), Uses(None));
    let uses = || Uses(Some(Arc::downgrade(&map)));
    let panics = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    let value = map.iter().next().unwrap().1;
    panics(&|| drop(map.insert(Odd(1), uses())));
    panics(&|| drop(map.get_or_insert(Odd(1), uses())));
    panics(&|| drop(map.replace_if(&Odd(1), &value, uses())));
    panics(&|| drop(map.remove(&Odd(1))));
    assert_eq!(map.len(), 1);
}
