//! Hints, in debug builds: lines on the standard error, once for each place.

use crate::common::{Mode, assert_ok, in_child, quiet, stderr, wait_until};
use myriad::channel::bounded;
use myriad::{Runtime, Unhandled, select, spawn, spawn_async, sync, time, yield_now};
use std::sync::Arc;
use std::time::Duration;

/// The lines that `body` leads to, in a process of its own, in both modes, without their beginning.
fn hints(body: impl Fn(&Runtime), unhandled: Unhandled) -> Vec<String> {
    let output = in_child(&[], || {
        quiet();
        for mode in [Mode::Threads, Mode::Fibers] {
            // (One worker: who yields lets the others come to where they wait.)
            let rt = mode.builder().workers(1).spare_workers(0).on_unhandled_panic(unhandled.clone()).build().unwrap();
            body(&rt);
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    });
    assert_ok(&output);
    let text = stderr(&output);
    text.lines().filter_map(|line| Some(line.split_once("myriad: hint: ")?.1.to_owned())).collect()
}

/// These, each of a place in this file.
#[track_caller]
fn assert_hints(found: &[String], expected: &[&str]) {
    let expected = if cfg!(debug_assertions) { expected } else { &[] };
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected) && found.contains("hints.rs:"), "{found}");
    }
}

fn returns_a_future() {
    for _ in 0..3 {
        let h = spawn(|| async { 1 });
        wait_until(|| h.is_finished());
        drop(h);
    }
    spawn(|| 1).join().unwrap();
    drop(spawn(|| vec![1]));
}

/// Who writes `spawn(|| async { .. })` is told, once.
#[test]
fn a_result_that_never_ran() {
    let found = hints(|rt| rt.run(returns_a_future), Unhandled::Report);
    assert_hints(&found, &["has returned a future (or a closure), which was dropped and never ran"]);
}

#[test]
fn results_of_detached_tasks() {
    let scoped = |rt: &Runtime| {
        rt.run(|| {
            drop(spawn(|| async {}));
            myriad::scope(|s| drop(s.spawn(|| async {})));
        })
    };
    let found = hints(scoped, Unhandled::Report);
    assert_hints(&found, &["`spawn_async(async { .. })`"; 2]);
}

/// One that somebody takes, and awaits, is meant so.
#[test]
fn a_future_that_is_taken_is_no_mistake() {
    let taken = |rt: &Runtime| assert_eq!(rt.run(|| myriad::block_on(spawn(|| async { 7 }).join().unwrap())), 7);
    assert_hints(&hints(taken, Unhandled::Report), &[]);
}

/// All blocking calls of a future, each told once.
fn blocks() {
    let (tx, rx) = bounded::<u32>(0);
    let lock = Arc::new(sync::Mutex::new(()));
    let held = lock.lock().unwrap();
    let (theirs, event) = (lock.clone(), Arc::new(sync::Event::new()));
    let opened = event.clone();
    let blocking = spawn_async(async move {
        let first = rx.recv().unwrap();
        drop(theirs.lock().unwrap());
        time::sleep(Duration::from_millis(1));
        let second = select! {
            number = rx.recv() => number.unwrap(),
        };
        opened.set();
        first + second
    });
    // (There is no room: it succeeds where the other one waits.)
    wait_until(|| tx.try_send(1).is_ok());
    yield_now();
    drop(held);
    wait_until(|| tx.try_send(2).is_ok());
    event.wait();
    assert_eq!(blocking.join().unwrap(), 3);
}

#[test]
fn a_future_that_blocks() {
    // (Often, for a message may come between the look at the channel and the wait.)
    let found = hints(|rt| rt.run(|| (0..50).for_each(|_| blocks())), Unhandled::Report);
    let expected = [
        "waits for a message in a call that blocks, which keeps a stack (in threads mode a thread) meanwhile; `recv_async` keeps none",
        "waits for a lock in a call that blocks, which keeps a stack (in threads mode a thread) meanwhile; `lock_async` keeps none",
        "sleeps in a call that blocks, which keeps a stack (in threads mode a thread) meanwhile; `sleep_async` keeps none",
        "waits in a select in a call that blocks, which keeps a stack (in threads mode a thread) meanwhile; `select_async!` keeps none",
    ];
    assert_hints(&found, &expected);
}

/// What does not block is no matter, nor what awaits; nor are closures that block.
#[test]
fn nothing_blocks() {
    let all = |rt: &Runtime| {
        rt.run(|| {
            let (tx, rx) = bounded::<u32>(1);
            tx.send(1).unwrap();
            let event = sync::Event::new();
            event.set();
            let asks = spawn_async(async move {
                event.wait();
                let first = rx.recv().unwrap();
                first + rx.recv_async().await.unwrap()
            });
            spawn(move || {
                time::sleep(Duration::from_millis(1));
                tx.send(2).unwrap();
            })
            .join()
            .unwrap();
            assert_eq!(asks.join().unwrap(), 3);
            // A parallel loop in a future waits for its parts.
            let sums = spawn_async(async {
                let numbers: Vec<u64> = (0..10_000).collect();
                myriad::par::sum(&numbers)
            });
            assert_eq!(sums.join().unwrap(), 49_995_000);
        });
    };
    assert_hints(&hints(all, Unhandled::Report), &[]);
}

/// The setting that says what the library prints.
#[test]
fn other_settings_switch_them_off() {
    let all = |rt: &Runtime| {
        rt.run(|| {
            returns_a_future();
            blocks();
        });
    };
    let found = hints(all, Unhandled::Ignore);
    assert_hints(&found, &[]);
}

#[test]
fn a_hook_is_not_called_with_them() {
    let all = |rt: &Runtime| rt.run(blocks);
    assert_hints(&hints(all, Unhandled::Hook(Arc::new(|_| std::process::exit(1)))), &[]);
}
