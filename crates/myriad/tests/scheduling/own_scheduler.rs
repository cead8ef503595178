//! Schedulers that the program writes: which tasks come to them, in which order what they pick is
//! run, what properties and distances they see. What they may do wrong: `own_scheduler_faults.rs`.

use crate::common::{MODES, case, each_with, full_length, wait_until};
use myriad::channel::bounded;
use myriad::scheduler::{Cause, Distance, PoolInfo, ReadyTask, Scheduler, Topology, Turn, set_property};
use myriad::task::{self, Priority};
use myriad::{Builder, Policy, Runtime, join, scope, spawn, spawn_async, yield_now};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};

/// What is enqueued goes into a list, and a function says which of it is picked.
pub(crate) struct Listed<P> {
    tasks: Mutex<VecDeque<ReadyTask>>,
    pick: P,
}

impl<P> Listed<P> {
    pub(crate) fn new(pick: P) -> Listed<P> {
        Listed { tasks: Mutex::default(), pick }
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<ReadyTask>> {
        self.tasks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<P> Scheduler for Listed<P>
where
    P: Fn(&mut VecDeque<ReadyTask>, &Turn<'_>) -> Option<ReadyTask> + Send + Sync + 'static,
{
    fn enqueue(&self, task: ReadyTask, _: Cause) {
        self.tasks().push_back(task);
    }
    fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
        (self.pick)(&mut self.tasks(), turn)
    }
}

type Pick = fn(&mut VecDeque<ReadyTask>, &Turn<'_>) -> Option<ReadyTask>;
/// One that picks the oldest.
pub(crate) type OldestFirst = Listed<Pick>;

pub(crate) fn oldest_first() -> OldestFirst {
    Listed::new(|tasks, _| tasks.pop_front())
}

/// The lowest property first; of equals the oldest.
fn by_number(tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>) -> Option<ReadyTask> {
    let number = |task: &ReadyTask| task.property::<u32>().copied().unwrap_or(u32::MAX);
    let first = (0..tasks.len()).min_by_key(|&i| number(&tasks[i]))?;
    tasks.remove(first)
}

/// One worker with this scheduler and no spares, in both modes.
fn alone<S: Scheduler>(make: impl Fn(&PoolInfo) -> S + Send + Sync + Clone + 'static, body: impl Fn(&Runtime)) {
    for mode in MODES {
        case(mode, 1, |b| b.spare_workers(0).scheduler(make.clone()), &body);
    }
}

/// A list that tasks write to.
#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<u32>>>);

impl Order {
    fn add(&self, number: u32) {
        self.0.lock().unwrap().push(number);
    }
    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Programs of all kinds give the right answers, whatever the order: joined, scoped and detached
/// tasks, futures that are woken, channels.
#[test]
fn programs_are_right_in_any_order() {
    let newest = |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| tasks.pop_back();
    let oldest = |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| tasks.pop_front();
    let by_chance = |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| {
        let n = tasks.len();
        if n == 0 { None } else { tasks.remove(myriad::rng().range(0..n)) }
    };
    let rounds = if full_length() { 4 } else { 1 };
    let run = |rt: &Runtime| {
        for _ in 0..rounds {
            assert_eq!(rt.run(|| fib(15)), 610);
            let scoped = rt.run(|| {
                let sum = AtomicUsize::new(0);
                scope(|s| {
                    (1..=100).for_each(|i| {
                        _ = s.spawn({
                            let sum = &sum;
                            move || sum.fetch_add(i, Relaxed)
                        })
                    })
                });
                sum.into_inner()
            });
            assert_eq!(scoped, 5050);
            let (tx, rx) = bounded(3);
            let senders: Vec<_> = (0..10u64)
                .map(|i| {
                    let tx = tx.clone();
                    rt.spawn(move || (0..20).for_each(|j| tx.send(i * 20 + j).unwrap()))
                })
                .collect();
            drop(tx);
            let receivers: Vec<_> = (0..4)
                .map(|_| {
                    let rx = rx.clone();
                    rt.spawn_async(async move {
                        let mut sum = 0;
                        while let Ok(number) = rx.recv_async().await {
                            sum += number;
                        }
                        sum
                    })
                })
                .collect();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert_eq!(receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum::<u64>(), 199 * 100);
            let ended = Arc::new(AtomicUsize::new(0));
            for _ in 0..200 {
                let ended = ended.clone();
                drop(rt.spawn(move || spawn(move || _ = ended.fetch_add(1, Relaxed))));
            }
            wait_until(|| ended.load(Relaxed) == 200);
        }
    };
    each_with(&[1, 2, 4], |b| b.scheduler(move |_| Listed::new(newest)), |_, rt| run(rt));
    each_with(&[1, 2, 4], |b| b.scheduler(move |_| Listed::new(oldest)), |_, rt| run(rt));
    each_with(&[1, 2, 4], |b| b.scheduler(move |_| Listed::new(by_chance)), |_, rt| run(rt));
}

/// Tasks run in the order of their properties, and a queued closure whose property is changed is
/// filed anew.
#[test]
fn properties_order_and_are_changed() {
    alone(
        |_| Listed::new(by_number),
        |rt| {
            let order = Order::default();
            rt.run(|| {
                let handles: Vec<_> = (0..10u32)
                    .map(|i| {
                        let order = order.clone();
                        task::Builder::new().property(100 + 9 - i).spawn(move || order.add(i))
                    })
                    .collect();
                // A type that the scheduler does not look for counts as none: last.
                let order = order.clone();
                drop(task::Builder::new().property("first").spawn(move || order.add(77)));
                assert!(handles[3].set_property(1u32) && handles[4].set_property(500u32));
            });
            wait_until(|| order.0.lock().unwrap().len() == 11);
            assert_eq!(order.take(), [3, 9, 8, 7, 6, 5, 2, 1, 0, 4, 77]);
        },
    );
}

/// The same once the scheduler has the tasks, and for futures that were woken; a task that runs
/// changes its own.
#[test]
fn what_the_scheduler_has_is_filed_anew() {
    let causes: Arc<Mutex<Vec<Cause>>> = Arc::default();
    struct Held {
        list: Listed<Pick>,
        open: Arc<AtomicBool>,
        causes: Arc<Mutex<Vec<Cause>>>,
    }
    impl Scheduler for Held {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            self.causes.lock().unwrap().push(cause);
            self.list.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            if self.open.load(SeqCst) { self.list.pick_next(turn) } else { None }
        }
    }
    let open = Arc::new(AtomicBool::new(false));
    let made = (open.clone(), causes.clone());
    alone(
        move |_| Held { list: Listed::new(by_number), open: made.0.clone(), causes: made.1.clone() },
        |rt| {
            open.store(false, SeqCst);
            causes.lock().unwrap().clear();
            let order = Order::default();
            let closures: Vec<_> = (0..3u32)
                .map(|i| {
                    let order = order.clone();
                    task::Builder::new().on(rt.handle()).property(10 + i).spawn(move || order.add(i))
                })
                .collect();
            let futures: Vec<_> = (3..6u32)
                .map(|i| {
                    let order = order.clone();
                    task::Builder::new().on(rt.handle()).property(10 + i).spawn_async(async move {
                        order.add(i);
                        set_property(30 - i);
                        myriad::time::sleep_async(std::time::Duration::from_millis(1)).await;
                        order.add(10 + i);
                    })
                })
                .collect();
            wait_until(|| causes.lock().unwrap().len() == 6);
            assert_eq!(*causes.lock().unwrap(), [Cause::Spawned; 6]);
            assert!(closures[2].set_property(1u32) && futures[2].set_property(2u32));
            wait_until(|| causes.lock().unwrap().len() == 8);
            assert_eq!(causes.lock().unwrap()[6..], [Cause::Changed; 2]);
            open.store(true, SeqCst);
            rt.handle().notify_scheduler();
            closures.into_iter().for_each(|h| h.join().unwrap());
            futures.into_iter().for_each(|h| h.join().unwrap());
            let order = order.take();
            assert_eq!(order[..6], [2, 5, 0, 1, 3, 4], "{order:?}");
            assert_eq!(order[6..].iter().sum::<u32>(), 13 + 14 + 15);
            assert!(causes.lock().unwrap()[8..].iter().all(|cause| *cause == Cause::Woken));
        },
    );
}

/// A future that wakes itself says so; one that another task wakes, too.
#[test]
fn causes() {
    let causes: Arc<Mutex<Vec<Cause>>> = Arc::default();
    struct Told(Listed<Pick>, Arc<Mutex<Vec<Cause>>>);
    impl Scheduler for Told {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            assert!(task.is_future() && !task.is_stale());
            self.1.lock().unwrap().push(cause);
            self.0.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            self.0.pick_next(turn)
        }
    }
    let made = causes.clone();
    alone(
        move |_| Told(oldest_first(), made.clone()),
        |rt| {
            causes.lock().unwrap().clear();
            let (tx, rx) = bounded(1);
            let waits_now = Arc::new(AtomicBool::new(false));
            let waiting = waits_now.clone();
            let waits = rt.spawn_async(async move {
                let mut woke_itself = false;
                std::future::poll_fn(|cx| {
                    if std::mem::replace(&mut woke_itself, true) {
                        return std::task::Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
                let mut receives = std::pin::pin!(rx.recv_async());
                std::future::poll_fn(|cx| {
                    let polled = receives.as_mut().poll(cx);
                    waiting.store(polled.is_pending(), SeqCst);
                    polled
                })
                .await
                .unwrap()
            });
            wait_until(|| waits_now.load(SeqCst));
            tx.send(7).unwrap();
            assert_eq!(waits.join().unwrap(), 7);
            assert_eq!(*causes.lock().unwrap(), [Cause::Spawned, Cause::Yielded, Cause::Woken]);
        },
    );
}

/// A scheduler that keeps all tasks back holds up no joiner, and no scope: what they wait for is
/// taken out of the middle. What was claimed is stale in the scheduler's hands.
#[test]
fn joiners_take_what_a_scheduler_keeps() {
    let list: Arc<Mutex<Vec<ReadyTask>>> = Arc::default();
    struct Keeps(Arc<Mutex<Vec<ReadyTask>>>);
    impl Scheduler for Keeps {
        fn enqueue(&self, task: ReadyTask, _: Cause) {
            self.0.lock().unwrap().push(task);
        }
        fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
            let mut tasks = self.0.lock().unwrap();
            // Only what comes from outside.
            let entry = tasks.iter().position(|task| task.property::<&str>() == Some(&"entry"))?;
            Some(tasks.remove(entry))
        }
    }
    let made = list.clone();
    for mode in MODES {
        for workers in [1, 2, 4] {
            let made = made.clone();
            case(
                mode,
                workers,
                |b| b.spare_workers(0).scheduler(move |_| Keeps(made.clone())),
                |rt| {
                    let entry = || task::Builder::new().on(rt.handle()).property("entry");
                    assert_eq!(entry().spawn(|| fib(12)).join().unwrap(), 144);
                    let sum = entry().spawn(|| {
                        let handles: Vec<_> = (0..50u64).map(|i| spawn(move || i)).collect();
                        // The workers that have nothing to do have the scheduler told of them.
                        handles.into_iter().map(|h| h.join().unwrap()).sum::<u64>()
                    });
                    assert_eq!(sum.join().unwrap(), 49 * 25);
                    let kept = rt.spawn(|| 6 * 7);
                    wait_until(|| list.lock().unwrap().iter().any(|task| !task.is_stale()));
                    assert_eq!(entry().spawn(move || kept.join().unwrap()).join().unwrap(), 42);
                },
            );
            assert!(std::mem::take(&mut *list.lock().unwrap()).iter().all(ReadyTask::is_stale));
        }
    }
}

/// Tasks that a scheduler has for one worker only are run by that worker, also if others are woken
/// for them.
#[test]
fn tasks_for_one_worker() {
    for mode in MODES {
        let make = |_: &PoolInfo| {
            Listed::new(|tasks: &mut VecDeque<ReadyTask>, turn: &Turn<'_>| {
                assert_eq!((turn.pool().workers(), turn.pool().name()), (4, "default"));
                let mine =
                    tasks.iter().position(|task| task.property::<usize>().is_none_or(|w| *w == turn.worker()))?;
                tasks.remove(mine)
            })
        };
        case(
            mode,
            4,
            |b| b.spare_workers(0).name_threads(|i| format!("worker {i}")).scheduler(make),
            |rt| {
                for round in 0..20 {
                    let handles: Vec<_> = (0..40usize)
                        .map(|i| {
                            let to = (i + round) % 4;
                            let name = move || (to, std::thread::current().name().unwrap().to_owned());
                            task::Builder::new().on(rt.handle()).property(to).spawn_async(async move { name() })
                        })
                        .collect();
                    for handle in handles {
                        let (to, name) = handle.join().unwrap();
                        assert_eq!(name, format!("worker {to}"));
                    }
                }
            },
        );
    }
}

/// What is kept back is given out after a notification, also if all workers sleep.
#[test]
fn notifications() {
    let open = Arc::new(AtomicBool::new(false));
    for mode in MODES {
        for workers in [1, 2] {
            let (made, rounds) = (open.clone(), if full_length() { 200 } else { 20 });
            let make = move |_: &PoolInfo| {
                let open = made.clone();
                Listed::new(
                    move |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| {
                        if open.load(SeqCst) { tasks.pop_front() } else { None }
                    },
                )
            };
            case(
                mode,
                workers,
                |b| b.scheduler(make),
                |rt| {
                    for _ in 0..rounds {
                        open.store(false, SeqCst);
                        let task = rt.spawn(|| 1);
                        std::thread::yield_now();
                        open.store(true, SeqCst);
                        rt.handle().notify_scheduler();
                        assert_eq!(task.join().unwrap(), 1);
                    }
                },
            );
        }
    }
}

/// Interactive tasks, which are in no scheduler's hands, come before what a scheduler has.
#[test]
fn interactive_tasks_come_first() {
    alone(
        |_| oldest_first(),
        |rt| {
            let order = Order::default();
            rt.run(|| {
                for i in 0..3 {
                    let order = order.clone();
                    drop(spawn(move || order.add(i)));
                }
                let order = order.clone();
                drop(task::Builder::new().priority(Priority::Interactive).spawn(move || order.add(7)));
            });
            wait_until(|| order.0.lock().unwrap().len() == 4);
            assert_eq!(order.take(), [7, 0, 1, 2]);
        },
    );
}

/// Each pool has a scheduler of its own, which knows the pool, and is dropped with the runtime; so
/// are the properties of tasks.
#[test]
fn one_for_each_pool() {
    struct Counted(Arc<AtomicUsize>, Listed<Pick>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    impl Scheduler for Counted {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            self.1.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            self.1.pick_next(turn)
        }
    }
    struct Tag(Arc<AtomicUsize>);
    impl Drop for Tag {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for mode in MODES {
        let (alive, tags): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let pools: Arc<Mutex<Vec<(String, usize)>>> = Arc::default();
        let (counted, names) = (alive.clone(), pools.clone());
        let make = move |pool: &PoolInfo| {
            counted.fetch_add(1, SeqCst);
            names.lock().unwrap().push((pool.name().into(), pool.workers()));
            Counted(counted.clone(), oldest_first())
        };
        case(
            mode,
            2,
            |b| b.pool("other", 1).scheduler(make),
            |rt| {
                assert_eq!((rt.policy(), alive.load(SeqCst)), (Policy::Custom, 2));
                for i in 0..100 {
                    let builder = task::Builder::new().on(rt.handle()).property(Tag(tags.clone()));
                    let builder = if i % 2 == 0 { builder.pool("other") } else { builder };
                    let task = builder.spawn(move || i);
                    if i % 3 == 0 {
                        task.set_property(Tag(tags.clone()));
                    }
                    if i % 5 != 0 {
                        assert_eq!(task.join().unwrap(), i);
                    }
                }
                wait_until(|| tags.load(SeqCst) == 134);
            },
        );
        assert_eq!(*pools.lock().unwrap(), [("default".into(), 2), ("other".into(), 1)]);
        wait_until(|| alive.load(SeqCst) == 0);
    }
}

/// Where there is no such scheduler properties are dropped, and change nothing.
#[test]
fn properties_without_a_scheduler() {
    each_with(
        &[1, 2],
        |b| b,
        |_, rt| {
            let tag = Arc::new(());
            let task = task::Builder::new().on(rt.handle()).property(tag.clone()).spawn(|| set_property(1u32));
            assert!(!task.set_property(tag.clone()) && Arc::strong_count(&tag) == 1);
            assert!(!task.join().unwrap());
            rt.handle().notify_scheduler();
        },
    );
}

/// A scheduler sees how far its workers are from each other; and what has nothing to do takes from
/// others in that order (`idle/test.rs` has the order).
#[test]
fn distances() {
    for mode in MODES {
        let make = |pool: &PoolInfo| {
            use Distance::*;
            let from_0: Vec<_> = (0..8).map(|other| pool.distance(0, other).unwrap()).collect();
            assert_eq!(from_0, [SameCore, SameCore, SameCache, SameCache, Remote, Remote, Remote, Remote]);
            assert_eq!(pool.distance(0, 8), None);
            oldest_first()
        };
        let machine = Topology::regular(2, 1, 2, 2);
        case(mode, 8, |b| b.topology(machine.clone()).scheduler(make), |rt| assert_eq!(rt.run(|| fib(10)), 55));
        case(mode, 8, |b| b.topology(machine), |rt| assert_eq!(rt.run(|| fib(18)), 2584));
        // More workers than processors.
        case(mode, 8, |b| b.topology(Topology::regular(2, 1, 1, 1)), |rt| assert_eq!(rt.run(|| fib(18)), 2584));
    }
}

#[test]
fn wrong_settings() {
    let error = Builder::new().workers(1).policy(Policy::Custom).build().unwrap_err();
    assert!(error.to_string().contains("needs a scheduler"), "{error}");
    let error = Builder::new().workers(1).topology(Topology::regular(0, 1, 1, 1)).build().unwrap_err();
    assert!(error.to_string().contains("at least 1 processor"), "{error}");
    assert_eq!(
        "custom".parse::<Policy>().unwrap_err().to_string().split(';').next(),
        Some("there is no policy `custom`")
    );
    // What was set last counts.
    let builder = Builder::new().workers(1).scheduler(|_| Listed::new(by_number));
    assert_eq!(builder.policy(Policy::SharedQueue).build().unwrap().policy(), Policy::SharedQueue);
}

/// Woken futures and yields keep coming while closures are spawned: none waits for ever.
#[test]
fn nobody_starves() {
    each_with(
        &[1, 2],
        |b| b.spare_workers(0).scheduler(|_| oldest_first()),
        |_, rt| {
            let stop = Arc::new(AtomicBool::new(false));
            let busy: Vec<_> = (0..4)
                .map(|i| {
                    let stop = stop.clone();
                    rt.spawn(move || {
                        while !stop.load(Relaxed) {
                            yield_now();
                        }
                        i
                    })
                })
                .collect();
            let last = rt.run(|| spawn_async(async { 9 })).join().unwrap();
            stop.store(true, Relaxed);
            assert_eq!(busy.into_iter().map(|h| h.join().unwrap()).sum::<i32>() + last, 15);
        },
    );
}
