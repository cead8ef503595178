//! Settings that cannot be, and questions that have no answer: a clear error, never a hang or a
//! crash.

use crate::common::{MODES, Mode, case, in_both_modes};
use myriad::channel::{bounded, rendezvous};
use myriad::{Builder, spawn};
use std::io::ErrorKind;
use std::time::Duration;

#[track_caller]
fn refused(builder: Builder, parts: &[&str]) {
    let error = builder.build().expect_err("must be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn no_workers_and_too_many() {
    for mode in MODES {
        refused(mode.builder().workers(0), &["at least 1 worker", "one on each core"]);
        refused(mode.builder().workers(100_000), &["100000 workers are too many", "16384"]);
        refused(mode.builder().workers(usize::MAX), &["too many"]);
    }
}

#[test]
fn stacks_too_small_and_too_large() {
    for size in [0, 1, (32 << 10) - 1] {
        refused(Mode::Fibers.builder().stack_size(size), &["too small", "the least is 32768"]);
    }
    refused(Mode::Threads.builder().stack_size((128 << 10) - 1), &["too small", "the least is 131072"]);
    for mode in MODES {
        for size in [(1 << 30) + 1, usize::MAX] {
            refused(mode.builder().stack_size(size), &["too large", "the most is 1073741824"]);
        }
    }
}

#[test]
fn too_few_stacks() {
    for mode in MODES {
        for n in [0, 1] {
            refused(mode.builder().max_stacks(n), &["`max_stacks` must be at least 2"]);
        }
    }
}

/// The smallest stacks do for small things, a size that is no power of two is rounded up, and the
/// largest costs address space only.
#[test]
fn the_limits_themselves_work() {
    for (mode, sizes) in [(Mode::Fibers, [32 << 10, 100_000, 1 << 30]), (Mode::Threads, [128 << 10, 200_000, 1 << 30])]
    {
        for size in sizes {
            case(
                mode,
                1,
                |b| b.stack_size(size),
                |rt| {
                    let n = rt.run(|| {
                        let (tx, rx) = rendezvous();
                        let h = spawn(move || rx.recv().unwrap());
                        tx.send(7).unwrap();
                        h.join().unwrap()
                    });
                    assert_eq!(n, 7, "{size}");
                },
            );
        }
    }
}

/// Far more workers than processors: each is an OS thread, no more.
#[test]
fn many_workers() {
    for mode in MODES {
        case(
            mode,
            100,
            |b| b,
            |rt| {
                assert_eq!(rt.workers(), 100);
                let n = rt.run(|| {
                    let handles: Vec<_> = (0..1000)
                        .map(|i| {
                            spawn(move || {
                                myriad::yield_now();
                                i
                            })
                        })
                        .collect();
                    handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
                });
                assert_eq!(n, 499_500);
            },
        );
    }
}

/// A task that joins itself would wait for ever: it is told so. Its result is dropped, as of any
/// task whose handle is gone.
#[test]
fn a_task_that_joins_itself() {
    in_both_modes(|rt| {
        let drops = crate::common::Drops::new();
        let (error_tx, error_rx) = bounded(1);
        let (tx, rx) = bounded::<myriad::JoinHandle<crate::common::Counted>>(1);
        let counted = drops.one();
        let h = rt.spawn(move || {
            let me = rx.recv().unwrap();
            error_tx.send(me.join().unwrap_err()).unwrap();
            counted
        });
        let place = h.spawned_at().line();
        tx.send(h).unwrap();
        let error = error_rx.recv().unwrap();
        assert!(error.is_self_join() && !error.is_panic() && !error.is_shutdown());
        assert_eq!(error.spawned_at().line(), place);
        assert!(error.to_string().ends_with("cannot join itself: it would wait for ever"), "{error}");
        drops.wait_all(1);
    });
}

/// The same with a time limit, of which it would use up all.
#[test]
fn a_task_that_joins_itself_for_a_time() {
    in_both_modes(|rt| {
        let (tx, rx) = bounded::<myriad::JoinHandle<bool>>(1);
        let (said_tx, said_rx) = bounded(1);
        let h = rt.spawn(move || {
            let me = rx.recv().unwrap();
            let ended = me.join_timeout(std::time::Duration::from_secs(3600)).expect("it does not wait");
            said_tx.send(ended.unwrap_err().is_self_join()).unwrap();
            true
        });
        tx.send(h).unwrap();
        assert!(said_rx.recv().unwrap());
    });
}

#[test]
fn a_capacity_without_limit() {
    in_both_modes(|rt| {
        let sum = rt.run(|| {
            let (tx, rx) = bounded::<u64>(usize::MAX);
            let handle = spawn(move || (0..10_000).for_each(|i| tx.send(i).unwrap()));
            handle.join().unwrap();
            rx.iter().sum::<u64>()
        });
        assert_eq!(sum, 49_995_000);
    });
}

/// The longest durations: as good as no limit.
#[test]
fn endless_timeouts() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let h = spawn(move || rx.recv_timeout(Duration::MAX));
            myriad::time::sleep(Duration::from_micros(200));
            tx.send(5).unwrap();
            assert_eq!(h.join().unwrap(), Ok(5));
            // A sleep that never ends, given up.
            let sleeps = myriad::spawn_async(async {
                let mut sleep = std::pin::pin!(myriad::time::sleep_async(Duration::MAX));
                let mut polls = 0;
                std::future::poll_fn(move |cx| {
                    polls += 1;
                    assert!(std::future::Future::poll(sleep.as_mut(), cx).is_pending());
                    if polls == 3 {
                        return std::task::Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
            });
            sleeps.join().unwrap();
        });
        // On a foreign thread.
        let (tx, rx) = rendezvous();
        let h = rt.spawn(move || tx.send(6).unwrap());
        assert_eq!(rx.recv_timeout(Duration::MAX), Ok(6));
        h.join().unwrap();
    });
}

/// Durations of nothing: no wait, or a yield.
#[test]
fn empty_timeouts() {
    in_both_modes(|rt| {
        let tries = || {
            let (tx, rx) = bounded::<u32>(1);
            assert!(rx.recv_timeout(Duration::ZERO).is_err());
            tx.send_timeout(1, Duration::ZERO).unwrap();
            assert!(tx.send_timeout(2, Duration::ZERO).is_err());
            assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(1));
            myriad::time::sleep(Duration::ZERO);
            myriad::block_on(myriad::time::sleep_async(Duration::ZERO));
        };
        rt.run(tries);
        tries();
    });
}

/// Names as they should not be.
#[test]
fn strange_names() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.name("ünusual names that are longer than the system keeps"),
            |rt| {
                let long = "x".repeat(10_000);
                let h = rt.run(|| myriad::task::Builder::new().name(&*long).spawn(|| crate::common::plan("named")));
                assert_eq!(h.name().as_deref(), Some(&*long));
                assert!(h.join().unwrap_err().to_string().contains(&long));
                let h = rt.run(|| myriad::task::Builder::new().name("").spawn(|| 1));
                assert_eq!((h.name().as_deref(), h.join().unwrap()), (Some(""), 1));
            },
        );
    }
    // A name with a zero byte cannot be a thread's.
    for mode in MODES {
        let built = mode.builder().workers(1).name("a\0b").build();
        assert!(built.is_err_and(|e| e.kind() == ErrorKind::InvalidInput));
    }
}
