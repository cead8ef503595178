//! Dataflow: values lent and moved from node to node, order, errors and their paths.

use crate::each_runtime;
use myriad::flow::graph::Cause;
use myriad::flow::{self, All, Bulk, Handle, Sequence, Value};
use myriad::sync::{Barrier, Event};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::thread;

/// Counts those that are there, and the most that ever were.
#[derive(Default)]
struct Census {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct Counted(Arc<Census>);

impl Counted {
    fn new(census: &Arc<Census>) -> Counted {
        let now = census.now.fetch_add(1, Relaxed) + 1;
        census.most.fetch_max(now, Relaxed);
        Counted(census.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Relaxed);
    }
}

#[test]
fn arguments_of_every_kind() {
    each_runtime(|| {
        let words = flow::spawn(|| vec!["a".to_owned(), "b".to_owned()], ());
        let number = flow::spawn(
            |n: u32, text: String, c: char| n + text.len() as u32 + u32::from(c == 'x'),
            (1_u32, "ab".to_owned(), 'x'),
        );
        let lent = flow::spawn(|words: &Vec<String>, n: &u32| words.len() + *n as usize, (&words, &number));
        let given = flow::spawn(
            |pair: (u8, u8), words: &Vec<String>| usize::from(pair.0) + words.len(),
            (Value((5_u8, 6_u8)), &words),
        );
        let all: Vec<Handle<usize>> = vec![lent, given];
        let sum = flow::spawn(
            |all: All<usize>, some: All<usize>| all.iter().sum::<usize>() * 100 + some[0] * 10 + some.len(),
            (&all, vec![&all[1]]),
        );
        let moved = flow::spawn(
            |mut words: Vec<String>, n: u32| {
                words.push(n.to_string());
                words
            },
            (words, number),
        );
        assert_eq!(sum.join().unwrap(), (6 + 7) * 100 + 70 + 1);
        assert_eq!(moved.join().unwrap(), ["a", "b", "4"]);
        assert_eq!(flow::spawn(|values: Vec<usize>| values, (all,)).join().unwrap(), [6, 7]);
        let eight = flow::spawn(
            |a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8| [a, b, c, d, e, f, g, h],
            (1_u8, 2_u8, 3_u8, 4_u8, 5_u8, 6_u8, 7_u8, 8_u8),
        );
        assert_eq!(eight.join().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    });
}

/// A handle that is moved: its value comes when all have read it that it was lent to.
#[test]
fn a_value_is_moved_after_it_was_lent() {
    each_runtime(|| {
        let (go_on, has_read) = (Arc::new(Event::new()), Arc::new(AtomicBool::new(false)));
        let x = flow::spawn(|| vec![1], ());
        let reader = {
            let (go_on, has_read) = (go_on.clone(), has_read.clone());
            flow::spawn(
                move |x: &Vec<i32>| {
                    go_on.wait();
                    has_read.store(true, Relaxed);
                    x.len()
                },
                (&x,),
            )
        };
        let mover = {
            let has_read = has_read.clone();
            flow::spawn(move |x: Vec<i32>| (x, has_read.load(Relaxed)), (x,))
        };
        myriad::yield_now();
        assert!(!mover.is_done());
        go_on.set();
        assert_eq!(mover.join().unwrap(), (vec![1], true));
        assert_eq!(reader.join().unwrap(), 1);
        // `join` moves as well.
        let y = flow::spawn(|| vec![2], ());
        let readers: Vec<_> = (0..10).map(|_| y.map(Vec::len)).collect();
        assert_eq!(y.join().unwrap(), [2]);
        assert!(readers.iter().all(Handle::is_done));
    });
}

/// 2: what needs the value of a node that has failed is skipped, and nothing else is. The error
/// names the root cause once, and the path to it.
#[test]
fn a_failed_node_skips_what_needs_it() {
    each_runtime(|| {
        let healthy = flow::named("healthy").spawn(|| 1, ());
        let fails = flow::named("fails").try_spawn(|| Err::<i32, _>("no paper"), ());
        let panics = flow::named("panics").spawn(|| -> i32 { panic!("planned: out of ink") }, ());
        let sibling = healthy.map(|n| n + 1);
        let ran = Arc::new(AtomicBool::new(false));
        let runs = ran.clone();
        let both = flow::named("both").spawn(
            move |a: &i32, b: &i32| {
                runs.store(true, Relaxed);
                a + b
            },
            (&healthy, &fails),
        );
        let after = flow::named("after").spawn(|n: i32| n, (both,));
        let error = after.join().unwrap_err();
        assert_eq!(error.to_string(), "the node 'fails' failed: no paper; so 'after' did not run");
        assert_eq!((error.root(), error.node()), ("fails".to_owned(), "after".to_owned()));
        assert_eq!(error.path(), ["fails", "both", "after"]);
        assert!(matches!(error.cause(), Cause::Error(error) if error.to_string() == "no paper"));
        assert!(!ran.load(Relaxed));
        assert_eq!(sibling.join().unwrap(), 2);
        let error = panics.map(|n| n + 1).map(|n| n + 1).join().unwrap_err();
        assert!(matches!(error.cause(), Cause::Panicked(panic) if panic.message() == "planned: out of ink"));
        assert_eq!(error.path().len(), 3);
        assert!(error.path()[2].contains("dataflow.rs:"), "a node without a name is called by its place: {error}");
        // A handle that was read keeps its error for others.
        assert_eq!(fails.get().unwrap_err().path(), ["fails"]);
    });
}

/// 3: of two failed parents the first in the order of arguments is the root, whichever has failed
/// first; the others are listed.
#[test]
fn two_failed_parents() {
    each_runtime(|| {
        for late in 0..2 {
            let go_on = Arc::new(Event::new());
            let fail = |name: &str, waits: bool| {
                let go_on = go_on.clone();
                flow::named(name).try_spawn(
                    move || {
                        if waits {
                            go_on.wait();
                        }
                        Err::<i32, _>("failed")
                    },
                    (),
                )
            };
            let (a, b) = (fail("a", late == 0), fail("b", late == 1));
            let both = flow::named("both").spawn(|a: &i32, b: &i32| a + b, (&a, &b));
            _ = if late == 0 { b.get() } else { a.get() };
            go_on.set();
            let error = both.join().unwrap_err();
            assert_eq!((error.root(), error.others().len()), ("a".to_owned(), 1));
            assert_eq!(error.others()[0].root(), "b");
            assert_eq!(
                error.to_string(),
                "the node 'a' failed: failed; so 'both' did not run (and another one that it needs has failed)"
            );
        }
    });
}

/// 4: a node whose handle was dropped runs; one that is lazy does only if somebody needs it.
#[test]
fn dropped_handles() {
    each_runtime(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let body = |n: usize| {
            let ran = ran.clone();
            move || _ = ran.fetch_add(n, Relaxed)
        };
        let bulk = Bulk::new();
        drop(bulk.spawn(body(1), ()));
        drop(flow::Options::new().lazy().in_bulk(&bulk).spawn(body(10), ()));
        let needed = flow::Options::new().lazy().in_bulk(&bulk).spawn(body(100), ());
        let needs = needed.map(|()| ());
        drop(needed);
        // Needed by somebody who will have it.
        let moved = flow::Options::new().lazy().in_bulk(&bulk).spawn(|| 5, ());
        let has = flow::all(vec![moved]);
        let last = bulk.spawn(|| (), ());
        bulk.submit();
        needs.join().unwrap();
        last.join().unwrap();
        assert_eq!(has.join().unwrap(), [5]);
        while ran.load(Relaxed) % 10 != 1 {
            myriad::yield_now();
        }
        assert_eq!(ran.load(Relaxed), 101);
    });
}

/// 5: a value is dropped when its last reader has run, and its handle is gone.
#[test]
fn values_are_freed_at_the_last_reader() {
    each_runtime(|| {
        let census = Arc::new(Census::default());
        let first = census.clone();
        let mut last = flow::spawn(move || Counted::new(&first), ());
        for _ in 0..2_000 {
            let census = census.clone();
            last = flow::spawn(move |_: &Counted| Counted::new(&census), (&last,));
        }
        last.join().unwrap();
        assert!(census.most.load(Relaxed) <= 3, "{}", census.most.load(Relaxed));
        while census.now.load(Relaxed) > 0 {
            myriad::yield_now();
        }
        // Also where nobody has read it.
        let value = census.clone();
        let unread = flow::spawn(move || Counted::new(&value), ());
        unread.get().unwrap();
        assert_eq!(census.now.load(Relaxed), 1);
        drop(unread);
        while census.now.load(Relaxed) > 0 {
            myriad::yield_now();
        }
    });
}

/// 6: a long chain is dropped unrun, skipped after a failure, and its error is dropped, all without
/// recursion.
#[test]
fn long_chains_on_small_stacks() {
    const LONG: usize = 100_000;
    each_runtime(|| {
        let bulk = Bulk::new();
        let mut last = bulk.spawn(|| 0_u32, ());
        let first = last.map(|n| *n);
        for _ in 0..LONG {
            last = last.map(|n| n + 1);
        }
        first.cancel();
        drop(first);
        bulk.submit();
        assert_eq!(last.join().unwrap(), LONG as u32);
        // Skipped.
        let bulk = Bulk::new();
        let first = bulk.spawn(|| 0_u32, ());
        let mut last = first.map(|n| *n);
        for _ in 0..LONG {
            last = last.map(|n| n + 1);
        }
        first.cancel();
        let error = last.join().unwrap_err();
        assert_eq!(error.path().len(), LONG + 2);
        // One that is the cause of another, and so on.
        let mut nested = flow::try_spawn(|| Err::<(), _>("no"), ()).join().unwrap_err();
        for _ in 0..5_000 {
            nested = flow::try_spawn(move || Err::<(), _>(nested), ()).join().unwrap_err();
        }
        drop(nested);
        thread::Builder::new().stack_size(64 << 10).spawn(move || drop(error)).unwrap().join().unwrap();
    });
}

/// 6: a value that goes through many nodes, and values that hold each other, stand on the stack a
/// few at a time.
#[test]
fn values_pass_along_chains_of_any_length() {
    const LONG: u64 = 20_000;
    fn last(n: u64) -> Handle<u64> {
        if n == 0 { flow::spawn(|| 7, ()) } else { flow::spawn(last, (n - 1,)).flatten() }
    }
    struct Link(#[allow(dead_code)] Option<Handle<Link>>);
    each_runtime(|| {
        assert_eq!(last(LONG).join().unwrap(), 7);
        let mut moved = flow::spawn(|| 0_u64, ());
        for _ in 0..LONG {
            moved = flow::spawn(|n: u64| n + 1, (moved,));
        }
        assert_eq!(moved.join().unwrap(), LONG);
        let mut head = flow::spawn(|| Link(None), ());
        for _ in 0..LONG {
            head.get().unwrap();
            head = flow::spawn(move || Link(Some(head)), ());
        }
        head.get().unwrap();
        drop(head);
        let fail = |_| flow::try_spawn(|| Err::<u8, _>("no"), ());
        let error = flow::any((0..LONG).map(fail).collect()).join().unwrap_err();
        assert_eq!(error.others().len() as u64, LONG - 1);
    });
}

/// 6: nodes that wait when the runtime ends are dropped unrun.
#[test]
fn a_runtime_ends_before_its_nodes_begin() {
    for mode in crate::common::MODES {
        let (handles, bulk) = {
            let rt = mode.runtime(1);
            let (handles, bulk) = rt.run(|| {
                let bulk = Bulk::new();
                let first = bulk.spawn(|| 0, ());
                let mut last = first.map(|n| *n);
                for _ in 0..50_000 {
                    last = last.map(|n| n + 1);
                }
                let in_order = Sequence::new();
                let mut ordered = Vec::new();
                for _ in 0..10_000 {
                    ordered.push(flow::Options::new().in_bulk(&bulk).in_sequence(&in_order).spawn(|| 0, ()));
                }
                ordered.extend([first, last]);
                (ordered, bulk)
            });
            drop(rt);
            (handles, bulk)
        };
        bulk.submit();
        for handle in handles {
            let error = handle.join().unwrap_err();
            assert!(matches!(error.cause(), Cause::Cancelled), "{error}");
        }
    }
}

/// 7: parents end before, during and after the spawn of what needs them: it starts once.
#[test]
fn parents_end_during_the_spawn() {
    each_runtime(|| {
        for k in 0..2_000 {
            let (a, b, c) =
                (flow::spawn(move || k, ()), flow::spawn(move || k + 1, ()), flow::spawn(move || k + 2, ()));
            if k % 3 == 0 {
                a.get().unwrap();
            }
            let starts = Arc::new(AtomicUsize::new(0));
            let started = starts.clone();
            let sum = flow::spawn(
                move |a: &u32, b: &u32, c: &u32| {
                    started.fetch_add(1, Relaxed);
                    a + b + c
                },
                (&a, &b, &c),
            );
            assert_eq!(sum.join().unwrap(), 3 * k + 3);
            assert_eq!(starts.load(Relaxed), 1);
        }
    });
}

/// 8: the same handle twice.
#[test]
fn one_handle_for_two_arguments() {
    each_runtime(|| {
        let x = flow::spawn(|| 3, ());
        assert_eq!(flow::spawn(|a: &i32, b: &i32| a * b, (&x, &x)).join().unwrap(), 9);
        let done = flow::spawn(|a: &i32, all: All<i32>| a + all.iter().sum::<i32>(), (&x, vec![&x; 5]));
        assert_eq!(done.join().unwrap(), 18);
    });
}

/// 10: a node that waits for another one, with one worker as well.
#[test]
fn a_node_joins_a_node() {
    each_runtime(|| {
        let x = Arc::new(flow::spawn(|| 3, ()));
        let readers: Vec<_> = (0..100)
            .map(|_| {
                let x = x.clone();
                flow::spawn(move || *x.get().unwrap() + flow::spawn(|| 4, ()).join().unwrap(), ())
            })
            .collect();
        assert_eq!(flow::all(readers).join().unwrap(), [7; 100]);
    });
}

/// 11: nodes that spawn nodes.
#[test]
fn a_node_spawns_nodes() {
    fn sum(from: u64, to: u64) -> Handle<u64> {
        if to - from <= 8 {
            return flow::spawn(move || (from..to).sum(), ());
        }
        let middle = from.midpoint(to);
        let (low, high) = (flow::spawn(sum, (from, middle)), flow::spawn(sum, (middle, to)));
        flow::spawn(|low: u64, high: u64| low + high, (low.flatten(), high.flatten()))
    }
    each_runtime(|| {
        assert_eq!(flow::spawn(sum, (0_u64, 10_000_u64)).flatten().join().unwrap(), 49_995_000);
        // An error of the outer or of the inner one.
        let outer = flow::named("outer").try_spawn(|| Err::<Handle<u8>, _>("outside"), ());
        assert_eq!(outer.flatten().join().unwrap_err().root(), "outer");
        let inner = flow::spawn(|| flow::named("inner").try_spawn(|| Err::<u8, _>("inside"), ()), ());
        assert_eq!(inner.flatten().join().unwrap_err().root(), "inner");
    });
}

/// 18: many successors of one node.
#[test]
fn many_successors() {
    each_runtime(|| {
        let bulk = Bulk::new();
        let root = bulk.spawn(|| 1_u64, ());
        let leaves: Vec<_> = (0..20_000).map(|k| root.map(move |n| n + k)).collect();
        let sum = flow::spawn(|all: All<u64>| all.iter().sum::<u64>(), (&leaves,));
        bulk.submit();
        assert_eq!(sum.join().unwrap(), 20_000 + 19_999 * 10_000);
    });
}

/// What is independent runs at the same time, and blocks no worker.
#[test]
fn nodes_wait_for_each_other() {
    each_runtime(|| {
        let all_are_there = Arc::new(Barrier::new(20));
        let nodes = (0..20)
            .map(|_| {
                let all_are_there = all_are_there.clone();
                flow::spawn(move || _ = all_are_there.wait(), ())
            })
            .collect();
        flow::all(nodes).join().unwrap();
    });
}

#[test]
fn sequences_and_bulks() {
    each_runtime(|| {
        let (sequence, seen) = (Sequence::new(), Arc::new(Mutex::new(Vec::new())));
        let go_on = Arc::new(Event::new());
        let nodes: Vec<_> = (0..50)
            .map(|k| {
                let (seen, go_on) = (seen.clone(), go_on.clone());
                sequence.spawn(
                    move || {
                        if k == 0 {
                            go_on.wait();
                        }
                        assert!(k != 20, "planned: one in a sequence");
                        seen.lock().unwrap().push(k);
                    },
                    (),
                )
            })
            .collect();
        // One that is cancelled while it waits opens nothing before its turn.
        nodes[1].cancel();
        nodes[30].cancel();
        myriad::yield_now();
        assert!(seen.lock().unwrap().is_empty());
        go_on.set();
        for (k, node) in nodes.into_iter().enumerate() {
            assert_eq!(node.join().is_ok(), ![1, 20, 30].contains(&k));
        }
        let expected: Vec<_> = (0..50).filter(|k| ![1, 20, 30].contains(k)).collect();
        assert_eq!(*seen.lock().unwrap(), expected);
    });
}

/// A node in two sequences, of which one is idle: the next of each waits for it.
#[test]
fn a_node_in_two_sequences() {
    each_runtime(|| {
        let (a, b, go_on) = (Sequence::new(), Sequence::new(), Arc::new(Event::new()));
        let waits = go_on.clone();
        let both = flow::Options::new().in_sequence(&a).in_sequence(&b).spawn(move || waits.wait(), ());
        let next = [a.spawn(|| (), ()), b.spawn(|| (), ())];
        (0..20).for_each(|_| myriad::yield_now());
        assert!(next.iter().all(|node| !node.is_done()));
        go_on.set();
        next.into_iter().chain([both]).for_each(|node| node.join().unwrap());
    });
}

#[test]
fn any_of_several() {
    each_runtime(|| {
        let never = Arc::new(Event::new());
        let waits = || {
            let never = never.clone();
            flow::spawn(move || never.wait(), ())
        };
        let fails = || flow::named("fails").try_spawn(|| Err::<(), _>("no"), ());
        assert_eq!(flow::any(vec![waits(), fails(), flow::spawn(|| (), ()), waits()]).join().unwrap(), (2, ()));
        let error = flow::any(vec![fails(), fails()]).join().unwrap_err();
        assert_eq!((error.root(), error.others().len()), ("fails".to_owned(), 1));
        never.set();
        let none = std::panic::catch_unwind(|| flow::any(Vec::<Handle<u8>>::new()));
        assert!(none.unwrap_err().downcast_ref::<&str>().is_some_and(|text| text.contains("at least one")));
    });
}

#[test]
fn from_futures_and_from_foreign_threads() {
    each_runtime(|| {
        let answer = myriad::block_on(async {
            let x = flow::spawn(|| 40, ());
            let y = x.map(|n| n + 1);
            assert_eq!(*x.get_async().await.unwrap(), 40);
            y.await.unwrap() + x.await.unwrap()
        });
        assert_eq!(answer, 81);
    });
    thread::scope(|s| {
        s.spawn(|| {
            let mut last = flow::spawn(|| 0, ());
            for _ in 0..10_000 {
                last = last.map(|n| n + 1);
            }
            assert_eq!(*last.get().unwrap(), 10_000);
            assert_eq!(last.join().unwrap(), 10_000);
        });
    });
}
