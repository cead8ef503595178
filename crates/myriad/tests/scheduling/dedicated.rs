//! Tasks with a thread of their own: as any task from outside, a plain thread from inside.

use crate::common::{
    Drops, MODES, Mode, PATIENCE, case, each_with, in_both_modes, in_child, locked, plan, quiet, stderr, wait_until,
    watch,
};
use myriad::channel::{bounded, rendezvous};
use myriad::task::{Builder, ScopedValue, current, dedicated};
use myriad::{Handle, JoinHandle, Runtime, State, Unhandled, block_on, blocking, join, scope, spawn, spawn_async};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn on(rt: &Runtime) -> Builder {
    Builder::new().on(rt.handle())
}

fn pool() -> String {
    Handle::current().unwrap().pool_name().to_string()
}

#[test]
fn results_names_and_places() {
    in_both_modes(|rt| {
        let h = on(rt)
            .name("device")
            .dedicated(|| (std::thread::current().name().map(String::from), current().unwrap()))
            .unwrap();
        assert_eq!(h.name().as_deref(), Some("device"));
        let place = h.spawned_at();
        assert!(place.file().ends_with("dedicated.rs"));
        let id = h.id();
        let (thread, me) = h.join().unwrap();
        assert_eq!(thread.as_deref(), Some("device"));
        assert_eq!((me.id(), me.name(), me.spawned_at()), (id, Some("device"), place));
        // Large results, and none.
        let large = on(rt).dedicated(|| [7_u64; 500]).unwrap();
        assert_eq!(large.join().unwrap(), [7; 500]);
        rt.run(|| dedicated(|| ()).join().unwrap());
        assert!(current().is_none());
    });
}

#[test]
fn panics_reach_the_joiner_or_the_hook() {
    quiet();
    for mode in MODES {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hook = heard.clone();
        let hook = Unhandled::Hook(Arc::new(move |text: &str| locked(&hook).push(text.to_owned())));
        case(
            mode,
            1,
            |b| b.on_unhandled_panic(hook),
            |rt| {
                let h: JoinHandle<()> = on(rt).name("d").dedicated(|| plan("own thread")).unwrap();
                let error = h.join().unwrap_err();
                assert!(error.is_panic() && error.to_string().contains("'d'"), "{error}");
                let h: JoinHandle<()> = on(rt).name("lonely").dedicated(|| plan("nobody joins")).unwrap();
                drop(h);
                wait_until(|| !locked(&heard).is_empty());
                assert!(locked(&heard)[0].contains("'lonely'"), "{heard:?}");
            },
        );
    }
}

#[test]
fn joined_from_everywhere() {
    in_both_modes(|rt| {
        let h = on(rt).dedicated(|| 1).unwrap();
        assert_eq!(h.join().unwrap(), 1);
        let h = on(rt).dedicated(|| 2).unwrap();
        assert_eq!(rt.run(|| h.join().unwrap()), 2);
        let h = on(rt).dedicated(|| 3).unwrap();
        assert_eq!(rt.spawn_async(async { h.await.unwrap() }).join().unwrap(), 3);
        let h = on(rt).dedicated(|| 4).unwrap();
        assert_eq!(on(rt).dedicated(move || h.join().unwrap()).unwrap().join().unwrap(), 4);
        // Detached: what it leaves is dropped.
        let drops = Drops::new();
        let one = drops.one();
        drop(on(rt).dedicated(move || one).unwrap());
        drops.wait_all(1);
    });
}

#[test]
fn joining_itself_is_an_error() {
    in_both_modes(|rt| {
        let (tx, rx) = bounded::<JoinHandle<bool>>(1);
        let done = Arc::new(AtomicBool::new(false));
        let says = done.clone();
        let h = on(rt).dedicated(move || {
            let error = rx.recv().unwrap().join().unwrap_err();
            says.store(error.to_string().contains("itself"), SeqCst);
            true
        });
        tx.send(h.unwrap()).unwrap();
        wait_until(|| done.load(SeqCst));
    });
}

#[test]
fn everything_that_waits_works_in_it() {
    in_both_modes(|rt| {
        let (to, from_here) = rendezvous::<u64>();
        let (back, answers) = bounded::<u64>(1);
        let lock = Arc::new(myriad::sync::Mutex::new(0_u64));
        let event = Arc::new(myriad::sync::Event::new());
        let (inner_lock, inner_event) = (lock.clone(), event.clone());
        let h = on(rt).dedicated(move || {
            for n in &from_here {
                let mut sum = inner_lock.lock().unwrap();
                *sum += n;
                drop(sum);
                back.send(n + 1).unwrap();
            }
            inner_event.wait();
            myriad::time::sleep(Duration::from_micros(100));
            myriad::yield_now();
            let part = AtomicUsize::new(0);
            scope(|s| {
                (0..10).for_each(|i| {
                    _ = s.spawn({
                        let part = &part;
                        move || part.fetch_add(i, SeqCst)
                    })
                })
            });
            let (a, b) = join(|| spawn(|| 1).join().unwrap(), || block_on(spawn_async(async { 2 })).unwrap());
            let slept = block_on(async {
                myriad::time::sleep_async(Duration::from_micros(100)).await;
                3
            });
            part.into_inner() + a + b + slept + blocking(|| 4)
        });
        rt.run(move || {
            for n in 0..200 {
                *lock.lock().unwrap() += 1;
                to.send(n).unwrap();
                assert_eq!(answers.recv().unwrap(), n + 1);
            }
            drop(to);
            event.set();
            assert_eq!(*lock.lock().unwrap(), 200 + 199 * 100);
        });
        assert_eq!(h.unwrap().join().unwrap(), 45 + 10);
    });
}

#[test]
fn what_it_spawns_goes_where_it_comes_from() {
    each_with(
        &[1],
        |b| b.pool("a", 1),
        |_, rt| {
            let from_a = on(rt).pool("a").dedicated(|| {
                assert_eq!(pool(), "a");
                let here = myriad::run(|| std::thread::current().id());
                assert_eq!(here, std::thread::current().id(), "it is a task: `run` calls");
                (
                    spawn(pool).join().unwrap(),
                    spawn_async(async { pool() }).join().unwrap(),
                    myriad::spawn_on("default", pool).join().unwrap(),
                )
            });
            assert_eq!(from_a.unwrap().join().unwrap(), ("a".into(), "a".into(), "default".into()));
            assert_eq!(rt.run(|| dedicated(|| spawn(pool).join().unwrap()).join().unwrap()), "default");
            assert_eq!(rt.handle().pool("a").unwrap().run(|| dedicated(pool).join().unwrap()), "a");
        },
    );
}

#[test]
fn what_belongs_to_a_task() {
    static V: ScopedValue<u32> = ScopedValue::new(0);
    myriad::task_local! { static LOCAL: (Cell<u32>, Option<crate::common::Counted>) = (Cell::new(5), Some(drops().one())); }
    fn drops() -> Drops {
        static DROPS: std::sync::OnceLock<Drops> = std::sync::OnceLock::new();
        DROPS.get_or_init(Drops::new).clone()
    }
    in_both_modes(|rt| {
        rt.run(|| {
            LOCAL.with(|l| l.0.set(6));
            let before = drops().dropped();
            let h = V.with_value(7, || {
                dedicated(|| {
                    let first = LOCAL.with(|l| l.0.replace(9));
                    (V.get(), first, LOCAL.with(|l| l.0.get()), spawn(|| V.get()).join().unwrap())
                })
            });
            assert_eq!(h.join().unwrap(), (7, 5, 9, 7));
            // Its locals are gone when its end can be seen; ours are as they were.
            assert_eq!(drops().dropped(), before + 1);
            LOCAL.with(|l| assert_eq!(l.0.get(), 6));
        });
        let numbers =
            |seed| on(rt).rng_seed(seed).dedicated(|| (0..5).map(|_| myriad::rng().next_u64()).collect::<Vec<_>>());
        let of = |seed| numbers(seed).unwrap().join().unwrap();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    });
}

#[test]
fn nobody_waits_behind_it() {
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let go = Arc::new(AtomicBool::new(false));
            let until = go.clone();
            // It never comes back by itself, and the only worker is free.
            let h = rt.run(|| {
                dedicated(move || {
                    while !until.load(SeqCst) {
                        std::hint::spin_loop()
                    }
                })
            });
            rt.run(move || spawn(move || go.store(true, SeqCst)).join().unwrap());
            h.join().unwrap();
        },
    );
}

#[test]
fn many_at_a_time_and_all_threads_end() {
    in_both_modes(|rt| {
        let barrier = Arc::new(myriad::sync::Barrier::new(100));
        let all: Vec<_> = (0..100)
            .map(|i| {
                let barrier = barrier.clone();
                rt.run(|| {
                    dedicated(move || {
                        barrier.wait();
                        i
                    })
                })
            })
            .collect();
        assert_eq!(all.into_iter().map(|h| h.join().unwrap()).sum::<usize>(), 4950);
    });
}

#[test]
fn it_may_use_all_cores() {
    let cores = myriad::platform().cpus.len();
    // As many workers as cores: each is pinned to one.
    each_with(
        &[cores],
        |b| b,
        |_, rt| {
            assert_eq!(rt.run(|| dedicated(|| myriad::platform().cpus.len()).join().unwrap()), cores);
        },
    );
}

#[test]
fn a_shutdown_waits_for_it_and_joins_its_thread() {
    thread_local! { static LAST: Cell<Option<crate::common::Counted>> = const { Cell::new(None) } }
    for mode in MODES {
        if mode == Mode::Fibers && !crate::common::fibers_supported() {
            continue;
        }
        let _watch = watch(&mode.to_string());
        let rt = mode.builder().workers(1).build().unwrap();
        let (drops, ran) = (Drops::new(), Arc::new(AtomicUsize::new(0)));
        for _ in 0..10 {
            let (one, ran) = (drops.one(), ran.clone());
            _ = on(&rt).dedicated(move || {
                LAST.set(Some(one));
                std::thread::sleep(Duration::from_millis(2));
                // During the shutdown, most likely: its tasks may still spawn.
                spawn(move || spawn(move || ran.fetch_add(1, SeqCst))).join().unwrap().join().unwrap();
            });
        }
        let report = rt.shutdown(PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(ran.load(SeqCst), 10);
        // Thread-locals too are gone.
        drops.assert_all(10);
    }
}

#[test]
fn a_shutdown_names_what_does_not_end() {
    for mode in MODES {
        if mode == Mode::Fibers && !crate::common::fibers_supported() {
            continue;
        }
        let _watch = watch(&mode.to_string());
        let rt = mode.builder().workers(1).build().unwrap();
        let (tx, rx) = bounded::<()>(1);
        let h = on(&rt).name("for ever").dedicated(move || {
            rx.recv().unwrap();
            spawn(|| ()).join().map_err(|e| e.is_shutdown())
        });
        let report = rt.shutdown(Duration::ZERO);
        assert_eq!(report.unfinished().len(), 1, "{report}");
        assert_eq!(
            (report.unfinished()[0].name(), report.unfinished()[0].state()),
            (Some("for ever"), State::Dedicated)
        );
        assert!(report.to_string().contains("on a thread of its own"));
        // It goes on, and its runtime is gone.
        tx.send(()).unwrap();
        assert_eq!(h.unwrap().join().unwrap(), Err(true));
    }
}

#[test]
fn after_the_end() {
    for mode in MODES {
        if mode == Mode::Fibers && !crate::common::fibers_supported() {
            continue;
        }
        let rt = mode.builder().workers(1).build().unwrap();
        let handle = rt.handle();
        assert!(rt.shutdown(PATIENCE).is_clean());
        let drops = Drops::new();
        let one = drops.one();
        let h = Builder::new().on(handle).dedicated(move || drop(one)).unwrap();
        assert!(h.join().unwrap_err().is_shutdown());
        drops.assert_all(1);
    }
}

#[test]
fn it_cannot_shut_its_runtime_down() {
    quiet();
    in_both_modes(|_| {
        let rt = Arc::new(Mutex::new(Some(myriad::Builder::new().workers(1).build().unwrap())));
        let handle = locked(&rt).as_ref().unwrap().handle();
        let inside = rt.clone();
        let h = Builder::new().on(handle).dedicated(move || {
            let rt = locked(&inside).take().unwrap();
            let error = crate::common::catch(|| drop(rt.shutdown(Duration::ZERO)));
            error.downcast_ref::<&str>().copied().unwrap_or("").to_owned()
        });
        assert!(h.unwrap().join().unwrap().contains("by one of its own tasks"));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_overflow_names_it() {
    #[allow(unconditional_recursion)]
    fn deep(n: u64) -> u64 {
        let page = std::hint::black_box([n; 64]);
        deep(n + 1) + page[n as usize % 64]
    }
    let output = in_child(&[], || {
        let h = Builder::new().name("deep").dedicated(|| deep(0)).unwrap();
        drop(h.join());
    });
    crate::common::assert_aborted(&output);
    assert!(stderr(&output).contains("task 'deep' spawned at"), "{}", stderr(&output));
}

/// By a token, which the task is built with; by its handle only before it begins.
#[test]
fn a_token_ends_its_waits() {
    in_both_modes(|rt| {
        let token = myriad::cancel::Token::new();
        let (never, waits) = bounded::<()>(1);
        let (begun, has_begun) = bounded::<()>(1);
        let h = on(rt).token(&token).dedicated(move || {
            begun.send(()).unwrap();
            waits.recv().is_ok()
        });
        has_begun.recv().unwrap();
        token.cancel();
        assert!(h.unwrap().join().unwrap_err().is_cancelled());
        drop(never);
        // Futures and groups take one too.
        let future = on(rt).token(&token).spawn_async(std::future::pending::<()>());
        assert!(future.join().unwrap_err().is_cancelled());
        let group = myriad::task::Group::on(rt.handle(), ());
        let member = group.spawn_with(Builder::new().token(&token), |_| myriad::yield_now());
        assert!(member.join().unwrap_err().is_cancelled());
    });
}
