//! Priority classes: who begins first, who last, and that nobody is forgotten. Counted in turns,
//! never in time.

use crate::common::{MODES, Mode, PATIENCE, case, in_both_modes, locked, wait_until};
use myriad::sync::Event;
use myriad::task::{Builder, Priority};
use myriad::{Handle, JoinHandle, Runtime, State, spawn, spawn_async, yield_now};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What began, in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

fn class(priority: Priority) -> Builder {
    Builder::new().priority(priority)
}

fn entry(log: &Log, what: &'static str) -> impl FnOnce() + Send + 'static {
    let log = log.clone();
    move || locked(&log).push(what)
}

/// One worker, and nobody who would help it: so turns can be counted.
fn one_worker(body: impl Fn(&Runtime)) {
    for mode in MODES {
        case(mode, 1, |b| b.spare_workers(0), &body);
    }
}

#[test]
fn interactive_tasks_begin_first() {
    one_worker(|rt| {
        let log = Log::default();
        let all = rt.run(|| {
            let first = class(Priority::Interactive).spawn(entry(&log, "interactive"));
            let mut all: Vec<_> = (0..200).map(|_| spawn(entry(&log, "default"))).collect();
            all.push(first);
            all
        });
        all.into_iter().for_each(|h| h.join().unwrap());
        assert_eq!(locked(&log)[0], "interactive");
    });
}

#[test]
fn from_outside_too() {
    one_worker(|rt| {
        let log = Log::default();
        let go = Arc::new(AtomicBool::new(false));
        let begun = Arc::new(AtomicBool::new(false));
        let (go_in, begun_in) = (go.clone(), begun.clone());
        let busy = rt.spawn(move || {
            begun_in.store(true, SeqCst);
            while !go_in.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        wait_until(|| begun.load(SeqCst));
        let mut all: Vec<_> = (0..50).map(|_| rt.spawn(entry(&log, "default"))).collect();
        all.push(class(Priority::Interactive).on(rt.handle()).spawn(entry(&log, "interactive")));
        go.store(true, SeqCst);
        all.into_iter().for_each(|h| h.join().unwrap());
        busy.join().unwrap();
        assert_eq!(locked(&log)[0], "interactive");
    });
}

#[test]
fn a_woken_future_keeps_its_class() {
    one_worker(|rt| {
        let (log, event) = (Log::default(), Arc::new(Event::new()));
        let waits = |what| {
            let (log, event) = (log.clone(), event.clone());
            async move {
                event.wait_async().await;
                locked(&log).push(what);
                // Woken by itself.
                let mut again = true;
                std::future::poll_fn(|cx| {
                    if std::mem::take(&mut again) {
                        cx.waker().wake_by_ref();
                        return std::task::Poll::Pending;
                    }
                    std::task::Poll::Ready(())
                })
                .await;
                locked(&log).push(what);
            }
        };
        let mut all: Vec<JoinHandle<()>> = (0..100).map(|_| rt.spawn_async(waits("default"))).collect();
        all.push(class(Priority::Interactive).on(rt.handle()).spawn_async(waits("interactive")));
        // Whoever does not wait yet has not begun either.
        rt.run(|| event.set());
        all.into_iter().for_each(|h| h.join().unwrap());
        assert_eq!(locked(&log)[..2], ["interactive", "interactive"]);
    });
}

/// A task that spawns itself again until it is told to stop: as the newest task each time.
fn endless(priority: Priority, stop: Arc<AtomicBool>, turns: Arc<AtomicUsize>) {
    turns.fetch_add(1, SeqCst);
    if !stop.load(SeqCst) {
        class(priority).spawn(move || endless(priority, stop, turns));
    }
}

#[test]
fn default_tasks_have_their_turns() {
    one_worker(|rt| {
        for _ in 0..20 {
            let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let oldest = {
                let (stop, turns) = (stop.clone(), turns.clone());
                rt.run(move || {
                    let (stopping, counted) = (stop.clone(), turns.clone());
                    let oldest = spawn(move || {
                        stopping.store(true, SeqCst);
                        counted.load(SeqCst)
                    });
                    // Newer ones never run out, nor interactive ones.
                    for priority in [Priority::Default, Priority::Interactive, Priority::Interactive] {
                        let (stop, turns) = (stop.clone(), turns.clone());
                        class(priority).spawn(move || endless(priority, stop, turns));
                    }
                    oldest
                })
            };
            let waited = oldest.join().unwrap();
            assert!(waited <= 36, "the oldest default task has waited for {waited} turns");
            // Else the next round's oldest task might wait behind an older one: the last of these.
            wait_until(|| Arc::strong_count(&turns) == 1);
        }
    });
}

#[test]
fn what_was_woken_has_its_turns() {
    one_worker(|rt| {
        let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        rt.run(|| {
            for _ in 0..2 {
                let (stop, turns) = (stop.clone(), turns.clone());
                class(Priority::Interactive).spawn(move || endless(Priority::Interactive, stop, turns));
            }
            // A yield is a wake.
            let yields: Vec<usize> = (0..20)
                .map(|_| {
                    yield_now();
                    turns.load(SeqCst)
                })
                .collect();
            stop.store(true, SeqCst);
            let most = yields.windows(2).map(|w| w[1] - w[0]).max().unwrap();
            assert!(most <= 36, "{yields:?}");
        });
    });
}

#[test]
fn background_tasks_give_way_and_have_their_turns() {
    one_worker(|rt| {
        const TASKS: usize = 20;
        let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let began = Arc::new(Mutex::new(Vec::new()));
        let all: Vec<_> = rt.run(|| {
            let background = |i| {
                let (began, turns, stop) = (began.clone(), turns.clone(), stop.clone());
                class(Priority::Background).spawn(move || {
                    locked(&began).push(turns.load(SeqCst));
                    // While there is other work.
                    if i + 1 == TASKS {
                        stop.store(true, SeqCst);
                    }
                })
            };
            let all = (0..TASKS).map(background).collect();
            let (stop, turns) = (stop.clone(), turns.clone());
            spawn(move || endless(Priority::Default, stop, turns));
            all
        });
        all.into_iter().for_each(|h| h.join().unwrap());
        let began = locked(&began);
        for pair in began.windows(2) {
            let between = pair[1] - pair[0];
            // Of four counted turns one. There are 61 turns between two of these, or fewer, if the
            // monitor asks for one.
            assert!((3..4 * 62).contains(&between), "{began:?}");
        }
    });
}

#[test]
fn a_background_future_gives_way() {
    one_worker(|rt| {
        let polls = Arc::new(AtomicUsize::new(0));
        let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let future = {
            let (polls, turns) = (polls.clone(), turns.clone());
            let mut before = 0;
            std::future::poll_fn(move |cx| {
                let now = turns.load(SeqCst);
                let n = polls.fetch_add(1, SeqCst);
                assert!(n == 0 || (3..4 * 62).contains(&(now - before)), "{n}: {before} -> {now}");
                before = now;
                if n == 20 {
                    return std::task::Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                std::task::Poll::Pending
            })
        };
        let h = rt.run(|| {
            let h = class(Priority::Background).spawn_async(future);
            let (stop, turns) = (stop.clone(), turns.clone());
            spawn(move || endless(Priority::Default, stop, turns));
            h
        });
        let result = h.join();
        stop.store(true, SeqCst);
        result.unwrap();
    });
}

/// Nobody sleeps over a task of whatever class.
#[test]
fn every_class_wakes_a_sleeper() {
    in_both_modes(|rt| {
        for priority in [Priority::Interactive, Priority::Default, Priority::Background] {
            let spawner = || class(priority).on(rt.handle());
            for i in 0..200 {
                assert_eq!(spawner().spawn(move || i).join().unwrap(), i);
                assert_eq!(spawner().spawn_async(async move { i }).join().unwrap(), i);
                if i % 10 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
            // From a task, too, and one of another pool or runtime is woken for nobody else's.
            rt.run(|| {
                let all: Vec<_> = (0..500).map(|i| class(priority).spawn(move || i)).collect();
                assert_eq!(all.into_iter().map(|h| h.join().unwrap()).sum::<usize>(), 500 * 499 / 2);
            });
        }
    });
}

#[test]
fn all_classes_at_once() {
    in_both_modes(|rt| {
        let sum = Arc::new(AtomicUsize::new(0));
        let classes = [Priority::Interactive, Priority::Default, Priority::Background];
        let spawners: Vec<_> = classes
            .into_iter()
            .map(|priority| {
                let sum = sum.clone();
                rt.spawn(move || {
                    let (tx, rx) = myriad::channel::bounded::<usize>(3);
                    let all: Vec<_> = (0..500)
                        .map(|i| {
                            let (tx, sum, rx) = (tx.clone(), sum.clone(), rx.clone());
                            class(classes[i % 3]).spawn(move || tx.send(i).unwrap());
                            class(priority)
                                .spawn_async(async move { sum.fetch_add(rx.recv_async().await.unwrap(), SeqCst) })
                        })
                        .collect();
                    all.into_iter().for_each(|h| _ = h.join().unwrap());
                })
            })
            .collect();
        spawners.into_iter().for_each(|h| h.join().unwrap());
        assert_eq!(sum.load(SeqCst), 3 * 500 * 499 / 2);
    });
}

#[test]
fn with_a_name_in_a_pool_and_inherited_values() {
    static V: myriad::task::ScopedValue<u32> = myriad::task::ScopedValue::new(0);
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.pool("a", 1),
            |rt| {
                rt.run(|| {
                    V.with_value(7, || {
                        for priority in [Priority::Interactive, Priority::Background] {
                            let builder = || class(priority).name("n").pool("a");
                            let what = || (V.get(), myriad::task::current().unwrap().name().map(String::from), pool());
                            let expected = (7, Some("n".into()), "a".into());
                            assert_eq!(builder().spawn(what).join().unwrap(), expected);
                            assert_eq!(builder().spawn_async(async move { what() }).join().unwrap(), expected);
                        }
                    });
                });
            },
        );
    }
    fn pool() -> String {
        Handle::current().unwrap().pool_name().to_string()
    }
}

#[test]
fn a_shutdown_waits_for_all_classes_or_drops_them() {
    for mode in MODES {
        if mode == Mode::Fibers && !crate::common::fibers_supported() {
            continue;
        }
        let _watch = crate::common::watch(&mode.to_string());
        // With patience.
        let rt = mode.builder().workers(1).build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for i in 0..300 {
            let ran = ran.clone();
            let priority = [Priority::Interactive, Priority::Default, Priority::Background][i % 3];
            class(priority).on(rt.handle()).spawn(move || ran.fetch_add(1, SeqCst));
        }
        assert!(rt.shutdown(PATIENCE).is_clean());
        assert_eq!(ran.load(SeqCst), 300);
        // Without: its only worker is in a task.
        let rt = mode.builder().workers(1).spare_workers(0).build().unwrap();
        let (begun, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (begins, goes) = (begun.clone(), go.clone());
        let busy = rt.spawn(move || {
            begins.store(true, SeqCst);
            while !goes.load(SeqCst) {
                std::thread::yield_now();
            }
        });
        wait_until(|| begun.load(SeqCst));
        let drops = crate::common::Drops::new();
        let left: Vec<_> = [Priority::Interactive, Priority::Background]
            .into_iter()
            .map(|priority| {
                let one = drops.one();
                class(priority).on(rt.handle()).spawn(move || drop(one))
            })
            .collect();
        let report = rt.shutdown(Duration::ZERO);
        let states: Vec<State> = report.dropped().iter().map(|t| t.state()).collect();
        assert_eq!(states, [State::Unstarted, State::Unstarted], "{report}");
        drops.assert_all(2);
        assert!(left.into_iter().all(|h| h.join().unwrap_err().is_shutdown()));
        go.store(true, SeqCst);
        busy.join().unwrap();
    }
}

/// Only what stands in queues is ordered: interactive haste is not inherited.
#[test]
fn children_are_of_the_default_class() {
    one_worker(|rt| {
        let log = Log::default();
        let all = rt.run(|| {
            let older = class(Priority::Interactive).spawn(entry(&log, "second interactive"));
            let inner = log.clone();
            let parent = class(Priority::Interactive).spawn(move || {
                locked(&inner).push("parent");
                vec![
                    spawn(entry(&inner, "child")),
                    spawn_async({
                        let entry = entry(&inner, "child");
                        async move { entry() }
                    }),
                ]
            });
            let younger = class(Priority::Interactive).spawn(entry(&log, "third interactive"));
            (older, parent, younger)
        });
        all.0.join().unwrap();
        all.1.join().unwrap().into_iter().for_each(|h| h.join().unwrap());
        all.2.join().unwrap();
        assert_eq!(*locked(&log), ["second interactive", "parent", "third interactive", "child", "child"]);
    });
}
