//! Dataflow: cancellation, limits, retries, pools, and user code that panics where it should not.

use crate::common::{PLANNED, each};
use crate::each_runtime;
use myriad::channel::rendezvous;
use myriad::flow::graph::Cause;
use myriad::flow::{self, Bulk, Handle};
use myriad::sync::Event;
use myriad::{WaitReason, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(5);

/// 9: a node that has not begun.
#[test]
fn cancel_before_the_begin() {
    each_runtime(|| {
        let bulk = Bulk::new();
        let input = bulk.spawn(|| 1, ());
        let left = flow::named("left").spawn(|n: &i32| n + 1, (&input,));
        let right = flow::named("right").spawn(|n: &i32| n + 2, (&input,));
        let both = flow::named("both").spawn(|a: &i32, b: &i32| a + b, (&left, &right));
        left.cancel();
        // At once, though the node's own parents have not ended.
        assert_eq!(left.get().unwrap_err().to_string(), "the node 'left' was cancelled");
        left.cancel();
        assert!(matches!(left.join().unwrap_err().cause(), Cause::Cancelled));
        bulk.submit();
        let error = both.join().unwrap_err();
        assert_eq!(error.to_string(), "the node 'left' was cancelled; so 'both' did not run");
        // What others need runs on.
        assert_eq!(right.join().unwrap(), 3);
        assert_eq!(input.join().unwrap(), 1);
    });
}

/// 9: a body that runs is cancelled as a task is; others of its task are not.
#[test]
fn cancel_while_it_runs() {
    each_runtime(|| {
        let (began, has_began) = rendezvous();
        let (_never, waits) = rendezvous::<()>();
        let runs = flow::named("runs").spawn(
            move || {
                began.send(()).unwrap();
                waits.recv().unwrap();
            },
            (),
        );
        let after = runs.map(|()| ());
        has_began.recv().unwrap();
        runs.cancel();
        let error = after.join().unwrap_err();
        assert_eq!((error.root(), error.cause().to_string()), ("runs".to_owned(), "was cancelled".to_owned()));
        // A body that does not wait any more ends well; what follows in its task is not cancelled.
        let (began, has_began) = rendezvous();
        let asked = Arc::new(Event::new());
        let hears = asked.clone();
        let ends_well = flow::spawn(
            move || {
                began.send(()).unwrap();
                myriad::cancel::shield(|| hears.wait());
                7
            },
            (),
        );
        let next = ends_well.map(|n| {
            myriad::yield_now();
            n + 1
        });
        has_began.recv().unwrap();
        ends_well.cancel();
        asked.set();
        assert_eq!(next.join().unwrap(), 8);
    });
}

/// 9, at random: each node ends once, and what it has says so.
#[test]
fn cancel_at_any_moment() {
    each_runtime(|| {
        for k in 0..300 {
            let nodes: Vec<Handle<u32>> = (0..4)
                .map(|n| {
                    flow::spawn(
                        move || {
                            myriad::yield_now();
                            n
                        },
                        (),
                    )
                })
                .collect();
            let sum = flow::spawn(|all: flow::All<u32>| all.iter().sum::<u32>(), (&nodes,));
            (0..k % 7).for_each(|_| myriad::yield_now());
            nodes[k % 4].cancel();
            if k % 5 == 0 {
                sum.cancel();
            }
            match sum.join() {
                Ok(sum) => assert_eq!(sum, 6),
                Err(error) => assert!(matches!(error.cause(), Cause::Cancelled), "{error}"),
            }
        }
    });
}

/// 19: attempts, and what they are for.
#[test]
fn retries() {
    each_runtime(|| {
        let x = flow::spawn(|| 5, ());
        let calls = Arc::new(AtomicUsize::new(0));
        let counts = calls.clone();
        let third = flow::Options::new().retries(2).spawn(
            move |n: &i32| {
                let call = counts.fetch_add(1, Relaxed);
                assert!(call == 2, "{PLANNED}attempt {call}");
                n + 1
            },
            (&x,),
        );
        assert_eq!((third.join().unwrap(), calls.load(Relaxed)), (6, 3));
        let counts = calls.clone();
        let never = flow::named("never").retries(4).try_spawn(
            move |text: String| {
                counts.fetch_add(1, Relaxed);
                text.parse::<i32>()
            },
            ("x".to_owned(),),
        );
        assert_eq!(never.join().unwrap_err().to_string(), "the node 'never' failed: invalid digit found in string");
        assert_eq!(calls.load(Relaxed), 8);
        // A cancelled node is not tried again.
        let counts = calls.clone();
        let (began, has_began) = rendezvous();
        let cancelled = flow::Options::new().retries(100).spawn(
            move || {
                counts.fetch_add(1, Relaxed);
                began.send(()).unwrap();
                time::sleep(LONG);
            },
            (),
        );
        has_began.recv().unwrap();
        cancelled.cancel();
        assert!(matches!(cancelled.join().unwrap_err().cause(), Cause::Cancelled));
        assert_eq!(calls.load(Relaxed), 9);
    });
}

/// 19: a limit counts from the begin of the body, or from the spawn.
#[test]
fn limits_in_time() {
    each_runtime(|| {
        let timed_out = |error: flow::NodeError| assert!(matches!(error.cause(), Cause::TimedOut(SHORT)), "{error}");
        timed_out(flow::Options::new().time_limit(SHORT).spawn(|| time::sleep(LONG), ()).join().unwrap_err());
        timed_out(flow::Options::new().time_limit_in_all(SHORT).spawn(|| time::sleep(LONG), ()).join().unwrap_err());
        // Its parent takes longer: that counts for the limit in all only.
        let go_on = Arc::new(Event::new());
        let waits = go_on.clone();
        let slow = flow::spawn(move || waits.wait(), ());
        let from_begin = flow::Options::new().time_limit(Duration::from_secs(60)).spawn(|(): &()| 1, (&slow,));
        let in_all = flow::Options::new().time_limit_in_all(SHORT).spawn(|(): &()| 1, (&slow,));
        let after = in_all.map(|n| *n);
        timed_out(after.join().unwrap_err());
        assert!(!slow.is_done());
        go_on.set();
        assert_eq!(from_begin.join().unwrap(), 1);
        // With retries: each attempt.
        let calls = Arc::new(AtomicUsize::new(0));
        let counts = calls.clone();
        let second = flow::Options::new().time_limit(SHORT).retries(1).spawn(
            move || {
                if counts.fetch_add(1, Relaxed) == 0 {
                    time::sleep(LONG);
                }
                3
            },
            (),
        );
        assert_eq!(second.join().unwrap(), 3);
        let enough = flow::Options::new().time_limit(LONG).time_limit_in_all(LONG).spawn(|| 4, ());
        assert_eq!(enough.join().unwrap(), 4);
    });
}

/// Nodes of several pools in one graph.
#[test]
fn pools() {
    each(&[1, 2], |_| ());
    for mode in crate::common::MODES {
        let rt = mode.builder().workers(1).pool("disk", 1).build().unwrap();
        let disk = rt.handle().pool("disk").unwrap();
        rt.run(|| {
            let here = || std::thread::current().name().unwrap_or_default().to_owned();
            let reads = flow::Options::new().pool(disk).spawn(here, ());
            let computes = flow::spawn(move |place: &String| (place.clone(), here()), (&reads,));
            let writes =
                flow::Options::new().pool(disk).spawn(move |both: (String, String)| (both, here()), (computes,));
            let ((first, second), third) = writes.join().unwrap();
            assert_eq!(first, third);
            assert_ne!(first, second);
        });
    }
}

/// Destructors of values, closures and payloads that panic: their panics end where they are.
#[test]
fn destructors_that_panic() {
    #[derive(Clone)]
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("{PLANNED}a destructor");
        }
    }
    each_runtime(|| {
        let bomb = flow::spawn(|| Bomb, ());
        let after = bomb.map(|_| 1);
        drop(bomb);
        assert_eq!(after.join().unwrap(), 1);
        drop(flow::spawn(|| Bomb, ()));
        let payload = flow::spawn(|| std::panic::panic_any(Bomb), ());
        let skipped = {
            let bomb = Bomb;
            payload.map(move |(): &()| drop(bomb))
        };
        assert!(skipped.get().is_err());
        drop(skipped);
        drop(payload);
        // A plain value, of which the body has a clone.
        flow::spawn(|bomb: Bomb| std::mem::forget(bomb), (flow::Value(Bomb),)).join().unwrap();
        // One that is cancelled with a bomb in its closure, and one that loses a race.
        let bulk = Bulk::new();
        let bomb = Bomb;
        let cancelled = bulk.spawn(move || drop(bomb), ());
        cancelled.cancel();
        assert!(cancelled.join().is_err());
        let first = flow::any(vec![flow::spawn(|| Bomb, ()), flow::spawn(|| Bomb, ())]).join().unwrap();
        std::mem::forget(first);
    });
}

/// A future that waits for a handle is dropped.
#[test]
fn a_future_gives_up() {
    each_runtime(|| {
        let bulk = Bulk::new();
        let node = bulk.spawn(|| 1, ());
        for _ in 0..100 {
            let waits = time::timeout_async(Duration::ZERO, node.get_async());
            assert!(myriad::block_on(waits).is_err());
        }
        bulk.submit();
        assert_eq!(node.join().unwrap(), 1);
    });
}

/// Who waits for a node says so in a dump, as a closure and as a future.
#[test]
fn a_dump_says_that_a_task_waits_for_a_node() {
    each_runtime(|| {
        let (go, has_gone) = rendezvous::<()>();
        let [one, two] = [has_gone.clone(), has_gone].map(|has_gone| {
            // A node of each.
            flow::spawn(move || has_gone.recv().is_ok(), ())
        });
        let place = (file!(), line!() - 2);
        let tasks = [
            myriad::spawn(move || *one.get().unwrap()),
            myriad::spawn_async(async move { two.join_async().await.unwrap() }),
        ];
        for task in &tasks {
            let is_there = |why: &myriad::dump::WhyWaiting| why.chain()[0].waits_for() == Some(WaitReason::Node);
            crate::common::wait_until(|| task.why_waiting().is_some_and(|why| is_there(&why)));
            let why = task.why_waiting().unwrap();
            let at = why.chain()[0].made_at().map(|at| (at.file(), at.line()));
            assert_eq!(at, cfg!(debug_assertions).then_some(place));
            let says =
                if cfg!(debug_assertions) { "node of a dataflow spawned at …" } else { "a node of a dataflow" };
            assert!(why.to_string().contains(says), "{why}");
        }
        (0..2).for_each(|_| go.send(()).unwrap());
        for task in tasks {
            assert!(task.join().unwrap());
        }
    });
}
