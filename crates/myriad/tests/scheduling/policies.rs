//! Under every policy the same programs do the same; and each policy keeps its own promise about
//! the order.
//!
//! (All other tests of behaviour can be run under a policy:
//! `MYRIAD_POLICY=depth-first cargo test -p myriad-rt`.)

use crate::common::{Mode, PLANNED, case, full_length, wait_until};
use myriad::channel::{bounded, rendezvous};
use myriad::{Builder, Policy, Runtime, State, join, scope, spawn, spawn_async, yield_now};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs `body` under every policy, in both modes, with these numbers of workers.
fn under_each(workers: &[usize], body: impl Fn(&Runtime)) {
    for policy in Policy::ALL {
        for mode in crate::common::MODES {
            for &workers in workers {
                case(
                    mode,
                    workers,
                    |b| b.policy(policy),
                    |rt| {
                        assert_eq!(rt.policy(), policy);
                        body(rt);
                    },
                );
            }
        }
    }
}

/// One worker of this policy and no spares: who starts what is all its own doing.
fn alone(policy: Policy, body: impl Fn(&Runtime)) {
    for mode in crate::common::MODES {
        case(mode, 1, |b| b.policy(policy).spare_workers(0), &body);
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fib_spawned(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = (spawn(move || fib_spawned(n - 1)), spawn(move || fib_spawned(n - 2)));
    b.join().unwrap() + a.join().unwrap()
}

fn fib_scoped(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (mut a, mut b) = (0, 0);
    scope(|s| {
        s.spawn(|| a = fib_scoped(n - 1));
        s.spawn(|| b = fib_scoped(n - 2));
    });
    a + b
}

fn fib_async(n: u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let (a, b) = (spawn_async(fib_async(n - 1)), spawn_async(fib_async(n - 2)));
        a.await.unwrap() + b.await.unwrap()
    })
}

#[test]
fn trees_of_all_kinds() {
    under_each(&[1, 2], |rt| {
        rt.run(|| {
            assert_eq!(fib(18), 2584);
            assert_eq!(fib_spawned(14), 377);
            assert_eq!(fib_scoped(14), 377);
            assert_eq!(spawn_async(fib_async(13)).join().unwrap(), 233);
        });
        // From outside.
        let handles: Vec<_> = (0..100).map(|i| rt.spawn(move || fib(i % 10))).collect();
        let sum: u64 = handles.into_iter().map(|h| h.join().unwrap()).sum();
        assert_eq!(sum, 10 * 88);
    });
}

/// Recursion that is too deep for one stack goes on on others.
#[test]
fn deep_recursion() {
    fn down(n: u64) -> u64 {
        if n == 0 { 0 } else { join(|| 1, || down(n - 1)).1 + 1 }
    }
    under_each(&[1, 2], |rt| assert_eq!(rt.run(|| down(3_000)), 3_000));
}

#[test]
fn channels_and_blocked_tasks() {
    under_each(&[1, 2], |rt| {
        rt.run(|| {
            let (first, mut last) = rendezvous();
            for i in 0..50 {
                let (tx, rx) = bounded(i % 3);
                // Half of them closures, half futures.
                if i % 2 == 0 {
                    drop(spawn(move || last.iter().for_each(|x: u64| tx.send(x + 1).unwrap())));
                } else {
                    drop(spawn_async(async move {
                        while let Ok(x) = last.recv_async().await {
                            tx.send_async(x + 1).await.unwrap();
                        }
                    }));
                }
                last = rx;
            }
            let feeder = spawn(move || (0..100).for_each(|x| first.send(x).unwrap()));
            assert!(last.iter().eq(50..150));
            feeder.join().unwrap();
        });
    });
}

#[test]
fn panics_reach_their_joiners() {
    under_each(&[1, 2], |rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..50).map(|i| spawn(move || assert!(i % 2 == 0, "{PLANNED}"))).collect();
            yield_now();
            let failed = handles.into_iter().map(|h| h.join()).filter(Result::is_err).count();
            assert_eq!(failed, 25);
            let both = std::panic::catch_unwind(|| join(|| panic!("{PLANNED} a"), || panic!("{PLANNED} b")));
            assert!(both.is_err());
            let scoped = std::panic::catch_unwind(|| scope(|s| _ = s.spawn(|| panic!("{PLANNED}"))));
            assert!(scoped.is_err());
        });
    });
}

/// Unoptimized code takes a minute for a million in all of these.
fn many() -> usize {
    if full_length() { 1_000_000 } else { 60_000 }
}

#[test]
fn very_many_tasks() {
    for policy in Policy::ALL {
        for (mode, workers) in [(Mode::Fibers, 1), (Mode::Threads, 2)] {
            let ended = Arc::new(AtomicUsize::new(0));
            let body = |rt: &Runtime| {
                let counts = ended.clone();
                rt.run(move || {
                    for _ in 0..many() {
                        let counts = counts.clone();
                        drop(spawn(move || _ = counts.fetch_add(1, Relaxed)));
                    }
                });
                wait_until(|| ended.load(Relaxed) == many());
            };
            case(mode, workers, |b| b.policy(policy), body);
        }
    }
}

/// A task that is behind all others begins, whatever the others do: closures that are always ready,
/// futures that wake each other or themselves, tasks that spawn their successors.
#[test]
fn nothing_starves() {
    under_each(&[1, 2], |rt| {
        let stop = Arc::new(AtomicBool::new(false));
        fn successor(stop: Arc<AtomicBool>) {
            if !stop.load(SeqCst) {
                drop(spawn(move || successor(stop)));
            }
        }
        rt.run(|| {
            let (a, b, c, d) = (stop.clone(), stop.clone(), stop.clone(), stop.clone());
            drop(spawn(move || {
                while !a.load(SeqCst) {
                    yield_now();
                }
            }));
            drop(spawn(move || successor(b)));
            drop(spawn_async(std::future::poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                if c.load(SeqCst) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })));
            let (ping, pings) = bounded::<()>(1);
            let (pong, pongs) = bounded::<()>(1);
            drop(spawn_async(async move {
                while !d.load(SeqCst) && ping.send_async(()).await.is_ok() && pongs.recv_async().await.is_ok() {}
            }));
            drop(spawn_async(
                async move { while pings.recv_async().await.is_ok() && pong.send_async(()).await.is_ok() {} },
            ));
        });
        let begun = Arc::new(AtomicUsize::new(0));
        for _ in 0..5 {
            let (one, two) = (begun.clone(), begun.clone());
            drop(rt.spawn(move || one.fetch_add(1, SeqCst)));
            drop(rt.spawn_async(async move { two.fetch_add(1, SeqCst) }));
        }
        wait_until(|| begun.load(SeqCst) == 10);
        stop.store(true, SeqCst);
    });
}

/// A worker that computes, or waits in the system, holds up nothing that could run elsewhere.
#[test]
fn a_stuck_worker_holds_up_nothing() {
    for policy in Policy::ALL {
        for mode in crate::common::MODES {
            for spares in [0, 256] {
                let workers = if spares == 0 { 2 } else { 1 };
                case(
                    mode,
                    workers,
                    |b| b.policy(policy).spare_workers(spares),
                    |rt| {
                        let done = Arc::new(AtomicUsize::new(0));
                        rt.run(|| {
                            for _ in 0..20 {
                                let (one, two) = (done.clone(), done.clone());
                                drop(spawn(move || one.fetch_add(1, SeqCst)));
                                drop(spawn_async(async move { two.fetch_add(1, SeqCst) }));
                            }
                            // Without a look at the queues.
                            while done.load(SeqCst) < 40 {
                                std::thread::sleep(Duration::from_millis(1));
                            }
                        });
                    },
                );
            }
        }
    }
}

/// What has not begun when the runtime is shut down is dropped and named, and its joiners are told,
/// though a task is still running; what that one has forked stays for it.
#[test]
fn a_shutdown_beside_a_running_task() {
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for policy in Policy::ALL {
        for mode in crate::common::MODES {
            if mode == Mode::Fibers && !crate::common::fibers_supported() {
                continue;
            }
            let _watch = crate::common::watch(&format!("{mode}, {policy}"));
            let rt = mode.builder().workers(1).spare_workers(0).policy(policy).build().unwrap();
            let (begun, go, gone) = [(); 3].map(|()| Arc::new(AtomicUsize::new(0))).into();
            let (begins, waits) = (begun.clone(), go.clone());
            let first = rt.spawn(move || {
                let compute = || {
                    begins.store(1, SeqCst);
                    while waits.load(SeqCst) == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    1
                };
                let forked = || 2;
                let (a, b) = join(compute, forked);
                a + b
            });
            wait_until(|| begun.load(SeqCst) == 1);
            let handles: Vec<_> = (0..10)
                .map(|_| {
                    let count = Count(gone.clone());
                    rt.spawn(move || drop(count))
                })
                .collect();
            let report = rt.shutdown(Duration::ZERO);
            // At once: nobody has to wait for the one that runs.
            for handle in handles {
                assert!(handle.join().unwrap_err().is_shutdown(), "{policy}");
            }
            assert_eq!(gone.load(SeqCst), 10, "{policy}");
            let states: Vec<_> = report.dropped().iter().map(|task| task.state()).collect();
            assert_eq!(states, [State::Unstarted; 10], "{policy}: {report}");
            assert_eq!(report.unfinished().len(), 1, "{policy}: {report}");
            go.store(1, SeqCst);
            assert_eq!(first.join().unwrap(), 3, "{policy}");
        }
    }
}

// ------------------------------------------------------------------------------------------------------
// promises

/// How many of its tasks exist at a time.
#[derive(Default)]
struct Live {
    now: AtomicIsize,
    most: AtomicIsize,
}

fn tree(live: &Arc<Live>, depth: usize, fan_out: usize) {
    if depth == 0 {
        return;
    }
    for _ in 0..fan_out {
        live.most.fetch_max(live.now.fetch_add(1, SeqCst) + 1, SeqCst);
        let below = live.clone();
        drop(spawn(move || {
            tree(&below, depth - 1, fan_out);
            below.now.fetch_sub(1, SeqCst);
        }));
    }
}

/// The same of futures.
fn tree_async(live: &Arc<Live>, depth: usize, fan_out: usize) {
    if depth == 0 {
        return;
    }
    for _ in 0..fan_out {
        live.most.fetch_max(live.now.fetch_add(1, SeqCst) + 1, SeqCst);
        let below = live.clone();
        drop(spawn_async(async move {
            tree_async(&below, depth - 1, fan_out);
            below.now.fetch_sub(1, SeqCst);
        }));
    }
}

/// How many tasks of a detached tree exist at a time, at most.
fn most_alive(rt: &Runtime, futures: bool, depth: usize, fan_out: usize) -> isize {
    let live = Arc::new(Live::default());
    rt.run(|| if futures { tree_async(&live, depth, fan_out) } else { tree(&live, depth, fan_out) });
    wait_until(|| live.now.load(SeqCst) == 0);
    live.most.load(SeqCst)
}

#[test]
fn depth_first_keeps_few_tasks_alive() {
    alone(Policy::DepthFirst, |rt| {
        for futures in [false, true] {
            for (depth, fan_out) in [(4, 10), (12, 2), (2, 100), (300, 1)] {
                let most = most_alive(rt, futures, depth, fan_out);
                assert!(most <= (depth * fan_out) as isize, "{most} at a time: {depth} deep, {fan_out} wide");
            }
        }
    });
    // By contrast: the whole last level.
    alone(Policy::SharedQueue, |rt| assert!(most_alive(rt, false, 4, 10) >= 9_000));
}

/// On one worker the tasks of a tree begin in the order of the serial program.
#[test]
fn depth_first_begins_in_serial_order() {
    type Order = Arc<Mutex<Vec<Vec<u8>>>>;
    fn node(order: &Order, path: Vec<u8>) {
        for child in 0..if path.len() < 5 { 4 - path.len() as u8 % 3 } else { 0 } {
            let (order, mut path) = (order.clone(), path.clone());
            path.push(child);
            drop(spawn(move || {
                order.lock().unwrap().push(path.clone());
                node(&order, path);
            }));
        }
    }
    alone(Policy::DepthFirst, |rt| {
        let order = Order::default();
        rt.run(|| node(&order, Vec::new()));
        let tasks = 4 + 4 * 3 + 4 * 3 * 2 + 4 * 3 * 2 * 4 + 4 * 3 * 2 * 4 * 3;
        wait_until(|| order.lock().unwrap().len() == tasks);
        assert!(order.lock().unwrap().is_sorted());
    });
}

/// On one worker tasks begin in the order in which they were spawned; also futures, and what comes
/// from outside.
#[test]
fn queues_are_first_in_first_out() {
    for policy in [Policy::SharedQueue, Policy::RoundRobin] {
        alone(policy, |rt| {
            let order = Arc::new(Mutex::new(Vec::new()));
            rt.run(|| {
                for i in 0..1_000 {
                    let order = order.clone();
                    match i % 3 {
                        0 => drop(spawn(move || order.lock().unwrap().push(i))),
                        1 => drop(spawn_async(async move { order.lock().unwrap().push(i) })),
                        _ => drop(rt.handle().spawn(move || order.lock().unwrap().push(i))),
                    }
                }
            });
            wait_until(|| order.lock().unwrap().len() == 1_000);
            assert!(order.lock().unwrap().iter().copied().eq(0..1_000), "{policy}");
        });
    }
}

/// A joiner takes its task out of whatever queue it is in: it does not wait behind a thousand
/// others.
#[test]
fn a_task_that_is_joined_is_run_by_its_joiner() {
    for policy in Policy::ALL {
        alone(policy, |rt| {
            rt.run(|| {
                let others = Arc::new(AtomicUsize::new(0));
                let spawn_others = || {
                    for _ in 0..1_000 {
                        let others = others.clone();
                        drop(spawn(move || others.fetch_add(1, SeqCst)));
                    }
                };
                spawn_others();
                let mine = spawn(|| 42);
                spawn_others();
                assert_eq!(mine.join().unwrap(), 42);
                assert_eq!(others.load(SeqCst), 0, "{policy}");
            });
        });
    }
}

#[test]
fn a_policy_from_the_environment() {
    if std::env::var_os("MYRIAD_POLICY").is_none() {
        assert_eq!(Builder::new().workers(1).build().unwrap().policy(), Policy::WorkStealing);
    }
    let child = |policy: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "policies::in_a_child", "--nocapture", "--ignored"])
            .env("MYRIAD_POLICY", policy)
            .output()
            .unwrap()
    };
    let said = |policy| String::from_utf8(child(policy).stdout).unwrap();
    assert!(said("round-robin").contains("it is RoundRobin"));
    assert!(said("").contains("it is WorkStealing"));
    let wrong = said("fifo");
    assert!(
        wrong.contains("MYRIAD_POLICY: there is no policy `fifo`; there are: work-stealing, depth-first"),
        "{wrong}"
    );
}

/// For the test above.
#[test]
#[ignore = "a part of a_policy_from_the_environment"]
fn in_a_child() {
    match Builder::new().workers(1).build() {
        Ok(rt) => println!("it is {:?}", rt.policy()),
        Err(error) => println!("{error}"),
    }
}
