//! What a runtime says of itself in numbers.

use crate::common::{assert_ok, case, compute_until, each, each_with, in_child, wait_until};
use myriad::channel::{bounded, unbounded};
use myriad::task::{Builder, Priority, dedicated};
use myriad::{Handle, Metrics, Policy, Runtime, WorkerActivity, WorkerCounts, time};
use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

/// Each of its tasks waits for the end of a channel.
fn block(rt: &Runtime, tasks: usize) -> (myriad::channel::Sender<()>, Vec<myriad::JoinHandle<()>>) {
    let (tx, rx) = bounded::<()>(1);
    let tasks = rt.run(|| {
        let wait = || {
            let rx = rx.clone();
            move || _ = rx.recv()
        };
        (0..tasks).map(|_| myriad::spawn(wait())).collect()
    });
    (tx, tasks)
}

fn all_parked(metrics: &Metrics) -> bool {
    metrics.workers_in(WorkerActivity::Parked) == metrics.workers().count()
}

/// (A spare worker, which may begin where the machine holds up the others, has a stack too.)
#[test]
fn blocked_closures_are_counted() {
    const TASKS: usize = 30;
    let body = |_, rt: &Runtime| {
        let before = rt.metrics().sum();
        let (tx, tasks) = block(rt, TASKS);
        wait_until(|| rt.metrics().sum().blocked == TASKS && all_parked(&rt.metrics()));
        // (A worker says that it sleeps before it counts that.)
        wait_until(|| rt.metrics().sum().sleeps > before.sleeps);
        let waits = rt.metrics();
        let sum = waits.sum();
        assert_eq!((sum.queued, sum.ready), (0, 0), "{waits}");
        assert_eq!(sum.stacks, TASKS + waits.workers().count() + sum.idle_stacks, "{waits}");
        assert_eq!(sum.spawned - before.spawned, TASKS as u64, "{waits}");
        assert!(sum.begun - before.begun >= TASKS as u64, "{waits}");
        // (It is a sum over the process, in which other tests run.)
        wait_until(|| rt.metrics().records >= TASKS);
        drop(tx);
        tasks.into_iter().for_each(|task| task.join().unwrap());
        wait_until(|| rt.metrics().sum().blocked == 0);
        let after = rt.metrics().sum();
        assert!(after.resumed - sum.resumed >= TASKS as u64, "{}", rt.metrics());
    };
    each_with(&[1, 2, 4], |b| b.spare_workers(0), body);
}

/// One worker, which is in a task until `seen` holds of what a thread beside reads.
fn while_computing(rt: &Runtime, first: impl FnOnce() + Send, seen: impl Fn(&Metrics) -> bool) {
    let stop = AtomicBool::new(false);
    let begun = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            rt.run(|| {
                first();
                begun.store(true, Release);
                compute_until(|| stop.load(Relaxed));
            });
        });
        wait_until(|| begun.load(Acquire));
        wait_until(|| seen(&rt.metrics()));
        stop.store(true, Relaxed);
    });
}

#[test]
fn what_waits_for_a_worker_is_counted() {
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let (tx, tasks) = block(rt, 10);
            wait_until(|| rt.metrics().sum().blocked == 10);
            // Woken, and spawned, by the task that keeps the worker.
            let first = || {
                drop(tx);
                (0..50).for_each(|_| drop(myriad::spawn(|| ())));
            };
            let seen = |metrics: &Metrics| {
                let sum = metrics.sum();
                (sum.ready, sum.blocked, sum.queued) == (10, 0, 50)
                    && metrics.workers_in(WorkerActivity::Stuck) == 1
                    && metrics.pools[0].workers[0].counts == sum
            };
            while_computing(rt, first, seen);
            tasks.into_iter().for_each(|task| task.join().unwrap());
        },
    );
}

/// The slot of the one that goes on next counts as well.
#[test]
fn who_was_handed_a_message_is_ready() {
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let (tx, rx) = unbounded::<()>();
            let task = rt.spawn(move || rx.recv().unwrap());
            wait_until(|| rt.metrics().sum().blocked == 1);
            let seen = |metrics: &Metrics| (metrics.sum().ready, metrics.sum().blocked) == (1, 0);
            while_computing(rt, move || tx.send(()).unwrap(), seen);
            task.join().unwrap();
        },
    );
}

#[test]
fn what_is_injected_is_counted() {
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let gate = Arc::new(AtomicBool::new(false));
            let held = gate.clone();
            let begun = Arc::new(AtomicBool::new(false));
            let begins = begun.clone();
            let keeps = rt.spawn(move || {
                begins.store(true, Relaxed);
                compute_until(|| held.load(Relaxed));
            });
            wait_until(|| begun.load(Relaxed));
            let normal: Vec<_> = (0..7).map(|_| rt.spawn(|| ())).collect();
            let of = |priority, n| -> Vec<_> {
                (0..n).map(|_| Builder::new().priority(priority).on(rt.handle()).spawn(|| ())).collect()
            };
            let (interactive, background) = (of(Priority::Interactive, 3), of(Priority::Background, 2));
            let pool = &rt.metrics().pools[0];
            assert_eq!((pool.injected, pool.interactive, pool.background), (7, 3, 2), "{}", rt.metrics());
            assert_eq!(pool.workers[0].counts.queued, 0);
            gate.store(true, Relaxed);
            keeps.join().unwrap();
            normal.into_iter().chain(interactive).chain(background).for_each(|task| task.join().unwrap());
            wait_until(|| all_parked(&rt.metrics()));
            let pool = &rt.metrics().pools[0];
            assert_eq!((pool.injected, pool.interactive, pool.background), (0, 0, 0), "{}", rt.metrics());
        },
    );
}

/// Whatever queues a policy has.
#[test]
fn each_policy_counts_its_queue() {
    for policy in Policy::ALL {
        each_with(
            &[1],
            |b| b.spare_workers(0).policy(policy),
            |_, rt| {
                let spawned = Arc::new(AtomicUsize::new(0));
                let runs = spawned.clone();
                let first = move || {
                    (0..40).for_each(|_| {
                        let runs = runs.clone();
                        drop(myriad::spawn(move || _ = runs.fetch_add(1, Relaxed)));
                    });
                };
                let waiting = |metrics: &Metrics| metrics.sum().queued + metrics.pools[0].injected;
                while_computing(rt, first, |metrics| waiting(metrics) == 40);
                wait_until(|| spawned.load(Relaxed) == 40 && waiting(&rt.metrics()) == 0);
            },
        );
    }
}

#[test]
fn timers_are_counted() {
    each_with(
        &[1, 2],
        |b| b.manual_clock(),
        |_, rt| {
            // (A task's sleep: that of a thread outside would be in real time.)
            let asleep: Vec<_> = rt.run(|| {
                let minute = Duration::from_secs(60);
                let sleeps = (0..5).map(|_| myriad::spawn(move || time::sleep(minute)));
                sleeps.chain((0..5).map(|_| myriad::spawn_async(time::sleep_async(minute)))).collect()
            });
            wait_until(|| rt.metrics().sum().timers == 10);
            rt.advance(Duration::from_secs(60));
            asleep.into_iter().for_each(|task| task.join().unwrap());
            assert_eq!(rt.metrics().sum().timers, 0);
        },
    );
}

#[test]
fn stolen_tasks_are_counted() {
    each(&[2], |rt| {
        let before = rt.metrics().sum();
        rt.run(|| {
            let begun = Arc::new(AtomicBool::new(false));
            let other = begun.clone();
            let task = myriad::spawn(move || other.store(true, Relaxed));
            // Its own worker does not come to it.
            compute_until(|| begun.load(Relaxed));
            task.join().unwrap();
        });
        assert!(rt.metrics().sum().stolen > before.stolen, "{}", rt.metrics());
    });
}

#[test]
fn threads_beside_the_workers_are_counted() {
    each(&[1], |rt| {
        let (tx, rx) = std::sync::mpsc::channel::<()>();
        let (ends, end) = std::sync::mpsc::channel::<()>();
        let call = rt.spawn(|| myriad::blocking(move || rx.recv()));
        let own = rt.run(|| dedicated(move || end.recv()));
        // (Others make calls in this process, too.)
        wait_until(|| rt.metrics().blocking.running >= 1);
        assert_eq!(rt.metrics().pools[0].dedicated, 1);
        tx.send(()).unwrap();
        ends.send(()).unwrap();
        call.join().unwrap().unwrap();
        own.join().unwrap().unwrap();
        wait_until(|| rt.metrics().pools[0].dedicated == 0);
    });
}

/// A spare begins what waits behind a worker that is stuck in the system.
#[test]
fn spares_are_counted() {
    case(
        crate::common::Mode::Threads,
        1,
        |b| b,
        |rt| {
            let (tx, rx) = std::sync::mpsc::channel::<()>();
            let stuck = rt.spawn(move || rx.recv());
            let ends = Arc::new(AtomicBool::new(false));
            let end = ends.clone();
            let other = rt.spawn(move || compute_until(|| end.load(Relaxed)));
            wait_until(|| rt.metrics().spares() >= 1);
            let metrics = rt.metrics();
            assert!(metrics.workers().any(|w| w.is_spare && w.index >= 1), "{metrics}");
            ends.store(true, Relaxed);
            tx.send(()).unwrap();
            stuck.join().unwrap().unwrap();
            other.join().unwrap();
            wait_until(|| rt.metrics().spares() == 0);
        },
    );
}

/// Records are those of the process.
#[test]
fn records_are_counted() {
    const TASKS: usize = 10_000;
    let output = in_child(&[], || {
        for mode in crate::common::MODES {
            let rt = mode.runtime(2);
            let before = rt.metrics().records;
            let tasks: Vec<_> = (0..TASKS).map(|_| rt.spawn_async(pending::<()>())).collect();
            let waiting = rt.metrics().records;
            // (Workers and the process hold some records for the next tasks; those are free.)
            assert!((TASKS..TASKS + 10).contains(&(waiting - before)), "{before} {waiting}");
            tasks.iter().for_each(|task| task.cancel());
            tasks.into_iter().for_each(|task| assert!(task.join().is_err()));
            wait_until(|| rt.metrics().records <= before + 10);
        }
    });
    assert_ok(&output);
}

/// To ask starts nothing; the runtime that is meant is that of the caller.
#[test]
fn the_global_runtime_is_not_started() {
    let output = in_child(&[], || {
        assert!(myriad::metrics().pools.is_empty());
        assert_eq!(myriad::metrics().sum(), WorkerCounts::default());
        myriad::run(|| ());
        let workers = myriad::metrics().workers().count();
        assert!(workers > 0);
        let rt = myriad::Builder::new().workers(workers + 1).spare_workers(0).build().unwrap();
        assert_eq!(rt.run(|| myriad::metrics().workers().count()), workers + 1);
        // (The global runtime may have a spare meanwhile.)
        assert!(myriad::metrics().workers().count() >= workers);
    });
    assert_ok(&output);
}

#[test]
fn a_handle_reads_its_pool() {
    let tweak = |b: myriad::Builder| b.pool("other", 3);
    crate::common::each_owned_with(tweak, |_, rt| {
        let names = |metrics: &Metrics| metrics.pools.iter().map(|pool| pool.name.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&rt.metrics()), ["default", "other"]);
        let other: Handle = rt.handle().pool("other").unwrap();
        assert_eq!((names(&other.metrics()), other.metrics().workers().count()), (vec!["other".to_owned()], 3));
        let handle = rt.handle();
        drop(rt);
        assert!(handle.metrics().pools.is_empty() && other.metrics().pools.is_empty());
    });
}

/// Readers hold up nobody, whatever the tasks do, and runtimes come and go.
#[test]
fn reading_while_all_changes() {
    reading(false);
}

/// The same where it is measured how long tasks wait, for which the engine takes other paths.
#[test]
fn measuring_while_all_changes() {
    reading(true);
}

fn reading(measured: bool) {
    let tweak = |b: myriad::Builder| b.measure_latency(measured);
    crate::common::each_owned_with(tweak, |mode, rt| {
        let stop = AtomicBool::new(false);
        let handle = rt.handle();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let mut reads = 0_u64;
                let mut last = 0;
                while !stop.load(Relaxed) || reads < 100 {
                    let metrics = handle.metrics();
                    let sum = metrics.sum();
                    if !metrics.pools.is_empty() {
                        assert!(sum.spawned >= last, "{metrics}");
                        last = sum.spawned;
                    }
                    assert!(metrics.to_string().len() < 100_000 && metrics.to_prometheus().len() < 1_000_000);
                    reads += 1;
                }
            });
            for _ in 0..30 {
                rt.run(|| {
                    let (tx, rx) = bounded::<u64>(1);
                    let receives = myriad::spawn(move || rx.iter().sum::<u64>());
                    let all: Vec<_> = (0..100)
                        .map(|n| {
                            let tx = tx.clone();
                            myriad::spawn(move || tx.send(n).unwrap())
                        })
                        .collect();
                    drop(tx);
                    all.into_iter().for_each(|task| task.join().unwrap());
                    assert_eq!(receives.join().unwrap(), 4950);
                });
                rt.run(|| myriad::block_on(async { (0..50).for_each(|_| drop(myriad::spawn_async(yields()))) }));
                drop(mode.builder().workers(1).measure_latency(measured).build().unwrap());
            }
            let latency = rt.metrics().pools[0].latency.clone();
            assert_eq!(latency.is_some(), measured);
            assert!(latency.is_none_or(|latency| latency.count > 1000), "{}", rt.metrics());
            drop(rt);
            stop.store(true, Relaxed);
        });
    });
}

async fn yields() {
    let mut rounds = 3;
    std::future::poll_fn(|cx| {
        rounds -= 1;
        cx.waker().wake_by_ref();
        if rounds == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// How many were measured that waited longer than this.
fn waited_longer(metrics: &Metrics, than: Duration) -> u64 {
    let latency = metrics.pools[0].latency.as_ref().unwrap();
    latency.count - latency.buckets.iter().filter(|bucket| bucket.0 <= than).map(|bucket| bucket.1).sum::<u64>()
}

/// What is spawned, woken or injected while the worker computes has waited that long.
#[test]
fn waits_are_measured() {
    const EACH: usize = 50;
    const LONG: Duration = Duration::from_millis(20);
    each_with(
        &[1],
        |b| b.spare_workers(0).measure_latency(true),
        |_, rt| {
            let (tx, blocked) = block(rt, EACH);
            let (handed, receives) = unbounded::<()>();
            let handed_over = rt.spawn(move || receives.recv().unwrap());
            wait_until(|| rt.metrics().sum().blocked == EACH + 1);
            // (In threads mode each has waited for the thread of the next one to start.)
            let before = waited_longer(&rt.metrics(), LONG);
            let (begun, begins) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (has_begun, injected) = (begun.clone(), begins.clone());
            let computes = rt.spawn(move || {
                drop(tx);
                handed.send(()).unwrap();
                let spawned: Vec<_> = (0..EACH).map(|_| myriad::spawn(|| ())).collect();
                let futures: Vec<_> = (0..EACH).map(|_| myriad::spawn_async(async {})).collect();
                has_begun.store(true, Relaxed);
                compute_until(|| injected.load(Relaxed));
                let until = std::time::Instant::now() + 2 * LONG;
                compute_until(|| std::time::Instant::now() >= until);
                (spawned, futures)
            });
            wait_until(|| begun.load(Relaxed));
            let injected: Vec<_> = (0..EACH).map(|_| rt.spawn(|| ())).collect();
            begins.store(true, Relaxed);
            // (Joined from outside: a joiner of the same worker would call some of them.)
            let (spawned, futures) = computes.join().unwrap();
            let all = spawned.into_iter().chain(futures).chain(injected).chain(blocked).chain([handed_over]);
            all.for_each(|task| task.join().unwrap());
            let metrics = rt.metrics();
            let longer = waited_longer(&metrics, LONG) - before;
            // (Of two that have one place in the table only the first is measured.)
            let all = 4 * EACH as u64 + 1;
            // (And the task that computes may have waited itself.)
            assert!((all - 20..=all + 1).contains(&longer), "{longer} of {all}: {metrics}");
            let latency = metrics.pools[0].latency.as_ref().unwrap();
            assert!(latency.quantile(1.0).unwrap() >= LONG && latency.sum >= LONG * longer as u32, "{latency:?}");
            let samples = parse(&metrics.to_prometheus());
            let of = |name: &str| &samples[&format!("myriad_scheduling_latency_seconds_{name}")];
            let mut before = (0.0, 0.0);
            for (labels, count) in of("bucket") {
                let bound = labels["le"].parse::<f64>().unwrap();
                assert!(bound > before.0 && *count >= before.1, "{labels:?}");
                before = (bound, *count);
            }
            assert_eq!((before, of("count")[0].1), ((f64::INFINITY, latency.count as f64), latency.count as f64));
        },
    );
}

/// A worker that sleeps has to be woken: that counts.
#[test]
fn the_wake_of_a_worker_is_measured() {
    each_with(
        &[1, 2],
        |b| b.measure_latency(true),
        |_, rt| {
            let (tx, rx) = bounded::<u32>(1);
            let task = rt.spawn(move || rx.iter().sum::<u32>());
            wait_until(|| rt.metrics().sum().blocked == 1 && all_parked(&rt.metrics()));
            let count = || rt.metrics().pools[0].latency.as_ref().unwrap().count;
            let before = count();
            (0..10).for_each(|n| {
                tx.send(n).unwrap();
                wait_until(|| rt.metrics().sum().blocked == 1 && all_parked(&rt.metrics()));
            });
            assert!(count() >= before + 10, "{}", rt.metrics());
            drop(tx);
            assert_eq!(task.join().unwrap(), 45);
        },
    );
}

/// Under other policies the tasks pass through other queues.
#[test]
fn each_policy_is_measured() {
    for policy in Policy::ALL {
        each_with(
            &[2],
            |b| b.policy(policy).measure_latency(true),
            |_, rt| {
                let n = Arc::new(AtomicUsize::new(0));
                rt.run(|| {
                    for _ in 0..100 {
                        let n = n.clone();
                        drop(myriad::spawn(move || _ = n.fetch_add(1, Relaxed)));
                    }
                });
                wait_until(|| n.load(Relaxed) == 100);
                let latency = rt.metrics().pools[0].latency.clone().unwrap();
                assert!(latency.count >= 80, "{policy:?}: {latency:?}");
            },
        );
    }
}

/// The samples of a metric: labels and a value.
type Samples = Vec<(HashMap<String, String>, f64)>;

/// Reads the text as Prometheus does, with its rules for names: the samples of each family.
fn parse(text: &str) -> HashMap<String, Samples> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (mut samples, mut helped, mut typed) = (HashMap::new(), HashSet::new(), HashMap::new());
    let mut seen = HashSet::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(is_name(name) && help.ends_with('.') && helped.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["gauge", "counter", "histogram"].contains(&kind) && helped.contains(name), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(typed.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(seen.insert(series.to_owned()), "twice: {line}");
            let (name, labels) =
                series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.strip_suffix('}').unwrap()));
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end).filter(|name| typed.contains_key(*name)));
            let kind = typed.get(family.unwrap_or(name)).unwrap_or_else(|| panic!("no type: {line}"));
            assert_eq!(family.is_some(), kind == "histogram", "{line}");
            samples
                .entry(name.to_owned())
                .or_insert_with(Vec::new)
                .push((parse_labels(labels), value.parse().unwrap()));
        }
    }
    assert_eq!(typed.len(), helped.len());
    samples
}

/// The labels of a sample, unescaped.
fn parse_labels(mut rest: &str) -> HashMap<String, String> {
    let mut labels = HashMap::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap();
        let (mut text, mut chars) = (String::new(), value.char_indices());
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => text.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c}"),
                }),
                (_, c) => text.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), text).is_none());
        rest = value[end + 1..].strip_prefix(',').unwrap_or(&value[end + 1..]);
    }
    labels
}

#[test]
fn prometheus_reads_it() {
    let name = "a \"quoted\" \\ name";
    each_with(
        &[2],
        |b| b.name(name).pool("back\\slash\n", 1).spare_workers(0),
        |_, rt| {
            let (tx, tasks) = block(rt, 5);
            wait_until(|| rt.metrics().sum().blocked == 5 && all_parked(&rt.metrics()));
            let metrics = rt.metrics();
            let samples = parse(&metrics.to_prometheus());
            let total = |name: &str| samples[name].iter().map(|(_, value)| value).sum::<f64>();
            assert_eq!(total("myriad_tasks_blocked"), 5.0);
            assert_eq!(total("myriad_workers"), 3.0);
            assert_eq!(total("myriad_tasks_spawned_total"), metrics.sum().spawned as f64);
            assert_eq!(total("myriad_threads"), metrics.pools.iter().map(|pool| pool.threads).sum::<usize>() as f64);
            let pools: HashSet<_> =
                samples["myriad_workers"].iter().map(|(labels, _)| labels["pool"].clone()).collect();
            assert_eq!(pools, ["default".to_owned(), "back\\slash\n".to_owned()].into());
            assert!(
                samples["myriad_stacks"].iter().any(|(labels, _)| labels["runtime"] == name && labels["worker"] == "1")
            );
            drop(tx);
            tasks.into_iter().for_each(|task| task.join().unwrap());
        },
    );
}
