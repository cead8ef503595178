//! Values of nodes in memory, by key: one run for all, and so many at most.

use crate::checkpoints::Folder;
use crate::common::PLANNED;
use crate::each_runtime;
use myriad::channel::rendezvous;
use myriad::flow::graph::Cause;
use myriad::flow::{self, Cache, Checkpoints, Handle};
use myriad::sync::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// A value that is counted, each clone of it too.
struct Counted(u32, Arc<AtomicUsize>);

impl Counted {
    fn new(n: u32, there: &Arc<AtomicUsize>) -> Counted {
        there.fetch_add(1, SeqCst);
        Counted(n, there.clone())
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(self.0, &self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

fn counting(cache: &Cache<u32>, key: &str, n: u32, ran: &Arc<AtomicUsize>) -> Handle<u32> {
    let ran = ran.clone();
    let body = move || {
        ran.fetch_add(1, SeqCst);
        n
    };
    flow::Options::new().cached(cache, key).spawn(body, ())
}

#[test]
fn nodes_at_the_same_time_share_a_run() {
    each_runtime(|| {
        for most in [0, 1] {
            let (cache, ran, go_on) = (Cache::new(most), Arc::new(AtomicUsize::new(0)), Arc::new(Event::new()));
            let (began, has_began) = rendezvous();
            let (counts, waits) = (ran.clone(), go_on.clone());
            let first = flow::Options::new().cached(&cache, "key").spawn(
                move || {
                    counts.fetch_add(1, SeqCst);
                    began.send(()).unwrap();
                    waits.wait();
                    7
                },
                (),
            );
            has_began.recv().unwrap();
            let others: Vec<_> = (0..20).map(|n| counting(&cache, "key", n, &ran)).collect();
            // None of them runs: all have come to wait, or have not begun.
            (0..50).for_each(|_| myriad::yield_now());
            assert!(others.iter().all(|node| !node.is_done()));
            // Other keys do not wait.
            assert_eq!(counting(&cache, "other", 1, &Arc::default()).join().unwrap(), 1);
            if most == 0 {
                // Only those that wait by now share it; with a place for it, all do.
                go_on.set();
                others.into_iter().for_each(|node| _ = node.join().unwrap());
                assert!(cache.is_empty());
                continue;
            }
            go_on.set();
            assert!(others.into_iter().all(|node| node.join().unwrap() == 7));
            assert_eq!((first.join().unwrap(), ran.load(SeqCst), cache.get("key")), (7, 1, Some(7)));
        }
    });
}

#[test]
fn the_least_recently_asked_goes() {
    each_runtime(|| {
        let (cache, ran) = (Cache::new(3), Arc::default());
        for (n, key) in ["a", "b", "c"].into_iter().enumerate() {
            assert_eq!(counting(&cache, key, n as u32, &ran).join().unwrap(), n as u32);
        }
        // By a node, and by hand.
        assert_eq!(counting(&cache, "a", 9, &ran).join().unwrap(), 0);
        assert_eq!(cache.get("b"), Some(1));
        assert_eq!(counting(&cache, "d", 3, &ran).join().unwrap(), 3);
        assert_eq!([cache.get("c"), cache.get("a"), cache.get("b"), cache.get("d")], [None, Some(0), Some(1), Some(3)]);
        assert_eq!((ran.load(SeqCst), cache.len()), (4, 3));
        assert!(cache.remove("a") && !cache.remove("a") && !cache.remove("x"));
        assert_eq!(counting(&cache, "a", 5, &ran).join().unwrap(), 5);
        cache.clear();
        assert_eq!((cache.get("b"), ran.load(SeqCst)), (None, 5));
    });
}

#[test]
fn each_value_is_dropped_once() {
    each_runtime(|| {
        let there = Arc::new(AtomicUsize::new(0));
        let cache = Cache::new(5);
        for round in 0..3 {
            let nodes: Vec<_> = (0..60)
                .map(|n| {
                    let there = there.clone();
                    let node = flow::Options::new().cached(&cache, format!("{}", n % 20));
                    (n % 20, node.spawn(move || Counted::new(n % 20, &there), ()))
                })
                .collect();
            nodes.into_iter().for_each(|(n, node)| assert_eq!(node.join().unwrap().0, n));
            assert_eq!((cache.len(), there.load(SeqCst)), (5, 5), "{round}");
        }
        cache.clear();
        assert_eq!(there.load(SeqCst), 0);
        let value = Counted::new(1, &there);
        flow::Options::new().cached(&cache, "last").spawn(move || value, ()).join().unwrap();
        assert_eq!(there.load(SeqCst), 1);
        drop(cache);
        assert_eq!(there.load(SeqCst), 0);
    });
}

/// A node that fails, panics, is cancelled or too late leaves nothing, and one that waits for it
/// runs.
#[test]
fn failures_are_not_kept() {
    each_runtime(|| {
        for how in 0..4 {
            let (cache, ran) = (Cache::new(5), Arc::new(AtomicUsize::new(0)));
            let (go_on, (began, has_began)) = (Arc::new(Event::new()), rendezvous());
            let waits = go_on.clone();
            let limit = Duration::from_millis(if how == 3 { 20 } else { 3_600_000 });
            let first = flow::Options::new().cached(&cache, "key").time_limit(limit).try_spawn(
                move || {
                    began.send(()).unwrap();
                    waits.wait();
                    if how == 0 { Err("planned") } else { panic!("{PLANNED}a body") }
                },
                (),
            );
            // (It may be too late for that already.)
            _ = has_began.recv();
            let others: Vec<_> = (0..5).map(|_| counting(&cache, "key", 5, &ran)).collect();
            match how {
                2 => first.cancel(),
                3 => {}
                _ => go_on.set(),
            }
            let error = first.join().unwrap_err();
            match error.cause() {
                Cause::Error(_) => assert_eq!(how, 0),
                Cause::Panicked(_) => assert_eq!(how, 1),
                Cause::Cancelled => assert_eq!(how, 2),
                _ => assert_eq!(how, 3),
            }
            assert!(others.into_iter().all(|node| node.join().unwrap() == 5));
            assert_eq!((ran.load(SeqCst), cache.get("key")), (1, Some(5)));
        }
    });
}

/// A clone that panics fails the node that gets it; a node that waits can be cancelled.
#[test]
fn clones_that_panic_and_waiters_that_leave() {
    struct Once(Arc<AtomicUsize>);
    impl Clone for Once {
        fn clone(&self) -> Self {
            assert!(self.0.fetch_add(1, SeqCst) != 1, "{PLANNED}a clone");
            Once(self.0.clone())
        }
    }
    each_runtime(|| {
        let (cache, clones) = (Cache::new(5), Arc::new(AtomicUsize::new(0)));
        let node = |value: Once| flow::named("n").cached(&cache, "key").spawn(move || value, ()).join().map(drop);
        node(Once(clones.clone())).unwrap();
        assert!(matches!(node(Once(clones.clone())).unwrap_err().cause(), Cause::Panicked(_)));
        node(Once(clones.clone())).unwrap();
        let (cache, go_on, (began, has_began)) = (Cache::new(5), Arc::new(Event::new()), rendezvous());
        let waits = go_on.clone();
        let body = move || {
            began.send(()).unwrap();
            waits.wait();
            1
        };
        let first = flow::Options::new().cached(&cache, "key").spawn(body, ());
        has_began.recv().unwrap();
        let second = counting(&cache, "key", 2, &Arc::default());
        (0..20).for_each(|_| myriad::yield_now());
        second.cancel();
        assert!(matches!(second.join().unwrap_err().cause(), Cause::Cancelled));
        go_on.set();
        assert_eq!(first.join().unwrap(), 1);
    });
}

/// Memory first, then the file, then the body.
#[test]
fn with_a_checkpoint() {
    each_runtime(|| {
        let (folder, ran) = (Folder::new(), Arc::new(AtomicUsize::new(0)));
        let (saved, cache) = (Checkpoints::new(&folder.0), Cache::new(5));
        let node = || {
            let ran = ran.clone();
            let body = move || {
                ran.fetch_add(1, SeqCst);
                7_u32
            };
            flow::Options::new().cached(&cache, "key").checkpoint(&saved, "key").spawn(body, ()).join().unwrap()
        };
        assert_eq!((node(), ran.load(SeqCst)), (7, 1));
        std::fs::write(saved.path_of("key"), "it is not read").unwrap();
        assert_eq!((node(), ran.load(SeqCst)), (7, 1));
        std::fs::remove_file(saved.path_of("key")).unwrap();
        cache.clear();
        assert_eq!((node(), ran.load(SeqCst)), (7, 2));
        cache.clear();
        assert_eq!((node(), ran.load(SeqCst)), (7, 2));
    });
}
