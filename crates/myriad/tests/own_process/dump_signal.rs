//! Dumps on SIGQUIT.

use crate::common::{assert_ok, each_owned, fibers_supported, in_child, stderr, wait_until};
use myriad::channel::{bounded, unbounded};
use myriad::{Builder, WaitReason, spawn};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

fn quit() {
    // SAFETY: a signal that has an action, to this process.
    assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) }, 0);
}

/// Until the dumps have said so.
fn settle() {
    std::thread::sleep(Duration::from_millis(1000));
}

fn one_that_waits(builder: Builder) {
    let rt = builder.workers(1).name("signalled").build().unwrap();
    let (tx, rx) = unbounded::<u32>();
    let task = myriad::task::Builder::new().name("reader").on(rt.handle()).spawn(move || rx.recv());
    wait_until(|| myriad::dump().to_string().contains("waits for a message"));
    quit();
    settle();
    tx.send(1).unwrap();
    assert_eq!(task.join().unwrap(), Ok(1));
}

#[test]
fn a_signal_writes_a_dump() {
    let output = in_child(&[], || one_that_waits(Builder::new().dump_on_signal()));
    assert_ok(&output);
    let text = stderr(&output);
    assert!(text.contains("runtime 'signalled': 1 worker") && text.contains("task 'reader'"), "{text}");
    // In each build: who asks for dumps asks for places.
    assert!(text.contains("      the channel was made at ") && text.contains(" (1 sender)"), "{text}");
}

#[test]
fn a_variable_asks_for_dumps() {
    let output = in_child(&[("MYRIAD_DUMP", "1")], || one_that_waits(Builder::new()));
    assert_ok(&output);
    let text = stderr(&output);
    assert!(text.contains("runtime 'signalled'") && text.contains("      the channel was made at "), "{text}");
}

/// Nobody has looked at the wait before the dump, but the process's own looks have, also after all
/// had fallen asleep.
#[test]
fn the_first_dump_says_for_how_long() {
    let output = in_child(&[("MYRIAD_DUMP", "1")], || {
        each_owned(|_, rt| {
            // (On a busy machine a look may come late.)
            let known = (0..6).any(|attempt| {
                let hold = Duration::from_millis(250 << attempt);
                let began = Instant::now();
                let (tx, rx) = unbounded::<u32>();
                let (async_tx, async_rx) = unbounded::<u32>();
                let tasks = [rt.spawn(move || rx.recv()), rt.spawn_async(async move { async_rx.recv_async().await })];
                std::thread::sleep(hold);
                let dump = myriad::dump();
                let waits = dump.tasks().iter().filter(|task| task.waits_for() == Some(WaitReason::Recv));
                let since: Vec<_> = waits.map(|task| task.waits_since()).collect();
                assert!(since.len() <= 2, "{dump}");
                let most = began.elapsed() + Duration::from_millis(20);
                assert!(since.iter().all(|since| *since <= most), "{since:?}, {most:?}");
                tx.send(1).unwrap();
                async_tx.send(2).unwrap();
                tasks.into_iter().for_each(|task| _ = task.join().unwrap());
                since.len() == 2 && since.iter().all(|since| *since >= hold / 2)
            });
            assert!(known);
        });
    });
    assert_ok(&output);
}

/// A worker that computes for ever answers nobody, and holds up no dump.
#[test]
fn a_signal_while_all_workers_are_stuck() {
    let output = in_child(&[("MYRIAD_DUMP", "1")], || {
        let rt = Builder::new().workers(1).spare_workers(0).name("stuck").build().unwrap();
        static OVER: AtomicBool = AtomicBool::new(false);
        let name = myriad::task::Builder::new().name("endless");
        let busy = name.on(rt.handle()).spawn(|| {
            while !OVER.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        wait_until(|| myriad::dump().to_string().contains("is stuck in task"));
        quit();
        settle();
        OVER.store(true, Relaxed);
        busy.join().unwrap();
    });
    assert_ok(&output);
    let text = stderr(&output);
    assert!(text.contains("worker 0 is stuck in task 'endless'"), "{text}");
}

/// Signals all the time, wherever the threads of tasks that wait, wake, begin and end are.
#[test]
fn signals_beside_a_storm() {
    for fibers in [false, true] {
        if fibers && !fibers_supported() {
            continue;
        }
        let env = [("MYRIAD_DUMP", "1"), ("MYRIAD_TEST_FIBERS", if fibers { "1" } else { "" })];
        let output = in_child(&env, || {
            let builder = match std::env::var("MYRIAD_TEST_FIBERS").as_deref() {
                // SAFETY: these tasks block in no thread-local scope and no destructor.
                Ok("1") => unsafe { Builder::fibers() },
                _ => Builder::new(),
            };
            let rt = builder.workers(2).build().unwrap();
            let until = Instant::now() + Duration::from_secs(2);
            std::thread::scope(|s| {
                s.spawn(|| {
                    while Instant::now() < until {
                        quit();
                        std::thread::sleep(Duration::from_micros(50));
                    }
                });
                while Instant::now() < until {
                    let sum: u64 = rt.run(|| {
                        let (tx, rx) = bounded(1);
                        for i in 0..20 {
                            let tx = tx.clone();
                            drop(spawn(move || tx.send(i)));
                        }
                        drop(tx);
                        rx.iter().sum()
                    });
                    assert_eq!(sum, 190);
                }
            });
        });
        assert_ok(&output);
        let dumps = stderr(&output).matches("runtime 'myriad': 2 workers").count();
        assert!(dumps > 10, "{dumps} dumps");
    }
}
