//! Deadlocks are reported, and what only looks like one is not.
//!
//! Each case runs on the main thread of a process of its own: any other thread that waits for a
//! time, as the watchdogs of other tests do, would hide the deadlock.

use crate::common::{fibers_supported, is_child, stderr, test_name};
use myriad::cancel::shield;
use myriad::channel::{bounded, unbounded};
use myriad::sync::{Mutex, Semaphore};
use myriad::{Builder, JoinError, JoinHandle, OnDeadlock, block_on, join, scope, spawn, spawn_async, task, time};
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Begins the calling test's body in a process of its own. Where libtest may run several tests at a
/// time, its main thread waits with a time limit, so that no deadlock is certain.
fn start(fibers: bool, test_threads: u32, body: impl FnOnce(Builder)) -> Child {
    if is_child() {
        let builder = match std::env::var_os("MYRIAD_TEST_FIBERS") {
            // SAFETY: these tasks block in no thread-local scope and no destructor.
            Some(_) => unsafe { Builder::fibers() },
            None => Builder::new(),
        };
        body(builder.workers(2));
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test_threads = format!("--test-threads={test_threads}");
    command.args([&test_name(), "--exact", "--nocapture", "--include-ignored", &test_threads]);
    command.env("MYRIAD_TEST_CHILD", "1").stdout(Stdio::null()).stderr(Stdio::piped());
    if fibers {
        command.env("MYRIAD_TEST_FIBERS", "1");
    }
    command.spawn().unwrap()
}

/// The ways to block that this machine has, the one with fibers first.
fn modes() -> impl Iterator<Item = bool> {
    [true, false].into_iter().filter(|fibers| !fibers || fibers_supported())
}

/// Starts the case in each mode, in two processes beside each other: most of these only wait.
fn start_both(test_threads: u32, body: impl Fn(Builder)) -> Vec<Child> {
    modes().map(|fibers| start(fibers, test_threads, &body)).collect()
}

/// The case to its end; the process is killed after a minute.
fn alone(fibers: bool, body: impl FnOnce(Builder)) -> Output {
    ended(start(fibers, 1, body))
}

/// The process to its end; it is killed after a minute.
fn ended(mut child: Child) -> Output {
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

/// The case ends by the report of its deadlock, which says all this.
fn is_reported(says: &[&str], body: impl Fn(Builder)) {
    for child in start_both(1, |builder| body(builder.on_deadlock(OnDeadlock::Abort))) {
        let output = ended(child);
        let text = stderr(&output);
        assert!(text.contains("myriad: deadlock: nobody can wake"), "{}: {text}", output.status);
        says.iter().for_each(|part| assert!(text.contains(part), "'{part}' is not in: {text}"));
        let report = text.lines().skip_while(|line| !line.contains("deadlock:")).count();
        assert!(report <= 44, "{text}");
    }
}

#[test]
fn two_tasks_that_join_each_other() {
    let says = ["3 tasks and 1 thread", "waits for one of these", "task 'a'", "task 'b'"];
    is_reported(&says, |builder| {
        builder.build().unwrap().run(|| {
            let (tx, rx) = bounded::<myriad::JoinHandle<()>>(1);
            let a = task::Builder::new().name("a").spawn(move || _ = rx.recv().unwrap().join());
            let b = task::Builder::new().name("b").spawn(move || _ = a.join());
            tx.send(b).unwrap();
            let (_tx, rx) = unbounded::<()>();
            _ = rx.recv();
        });
    });
}

#[test]
fn a_mutex_locked_twice() {
    is_reported(&["waits for a lock"], |builder| {
        builder.build().unwrap().run(|| {
            let mutex = Mutex::new(());
            let _held = mutex.lock().unwrap();
            drop(mutex.lock());
        });
    });
}

#[test]
fn a_future_that_nobody_wakes() {
    is_reported(&["future spawned at", "waits to be woken"], |builder| {
        let rt = builder.build().unwrap();
        _ = block_on(rt.spawn_async(std::future::pending::<()>()));
    });
}

#[test]
fn senders_that_all_wait() {
    let says: [&str; 3] = match cfg!(debug_assertions) {
        true => ["wait for room in a channel\n", "      all of the channel made at ", "(1 receiver)"],
        false => ["10 tasks spawned at", "wait for room in a channel", ", all of one channel"],
    };
    is_reported(&says, |builder| {
        builder.build().unwrap().run(|| {
            let (tx, _rx) = bounded(1);
            let senders: Vec<_> = (0..11).map(|i| (tx.clone(), i)).collect();
            let tasks: Vec<_> = senders.into_iter().map(|(tx, i)| spawn(move || tx.send(i))).collect();
            tasks.into_iter().for_each(|task| _ = task.join());
        });
    });
}

#[test]
fn a_scope_whose_task_waits_for_its_end() {
    is_reported(&["waits for a permit of a semaphore"], |builder| {
        builder.build().unwrap().run(|| {
            let over = Semaphore::new(1);
            let permit = over.acquire();
            scope(|s| {
                s.spawn(|| drop(over.acquire()));
            });
            drop(permit);
        });
    });
}

/// The deadlock comes when the workers have slept for long.
#[test]
fn a_thread_that_joins_too_late() {
    is_reported(&["waits for a task: task spawned at", "waits for a message"], |builder| {
        let rt = builder.build().unwrap();
        let (_tx, rx) = unbounded::<()>();
        let task = rt.spawn(move || rx.recv());
        std::thread::sleep(Duration::from_millis(700));
        _ = task.join();
    });
}

#[test]
fn a_hook_may_end_it() {
    let output = alone(false, |builder| {
        let (tx, rx) = unbounded::<&str>();
        let hook = Arc::new(move |found: &myriad::Deadlock| {
            assert!(found.chain().is_some_and(|chain| !chain.is_cycle() && chain.chain().len() == 2));
            tx.send("the hook").unwrap();
        });
        let rt = builder.on_deadlock(OnDeadlock::Hook(hook)).build().unwrap();
        let got = rt.run(|| spawn(move || rx.recv().unwrap()).join().unwrap());
        eprintln!("{got} has sent");
    });
    assert!(output.status.success() && stderr(&output).contains("the hook has sent"), "{}", stderr(&output));
}

#[cfg(debug_assertions)]
#[test]
fn a_deadlock_beside_a_time_limit_leaves_a_hint() {
    for fibers in modes() {
        let mut child = start(fibers, 2, |builder| {
            let mutex = Arc::new(Mutex::new(()));
            let rt = builder.build().unwrap();
            let task = rt.spawn(move || {
                let _held = mutex.lock().unwrap();
                drop(mutex.lock());
            });
            _ = task.join();
        });
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with("myriad: hint: perhaps a deadlock")), "fibers: {fibers}");
        assert!(lines.any(|line| line.contains("waits for a lock")), "fibers: {fibers}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// At 1 and 2 s after all have fallen asleep, and some time for both.
#[cfg(debug_assertions)]
const TWO_LOOKS: Duration = Duration::from_secs(4);

/// Two looks come to nothing.
#[cfg(debug_assertions)]
fn is_not_hinted(body: impl Fn(Builder)) {
    let children = start_both(2, body);
    std::thread::sleep(TWO_LOOKS);
    for mut child in children {
        child.kill().unwrap();
        let text = stderr(&child.wait_with_output().unwrap());
        assert!(!text.contains("deadlock") && !text.contains("panicked"), "{text}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_hint_that_is_switched_off() {
    is_not_hinted(|builder| {
        let (_tx, rx) = unbounded::<()>();
        let rt = builder.deadlock_hint(false).build().unwrap();
        _ = rt.spawn(move || rx.recv()).join();
    });
}

#[cfg(debug_assertions)]
#[test]
fn an_idle_server_is_no_deadlock() {
    is_not_hinted(|builder| {
        let (_tx, rx) = unbounded::<()>();
        let rt = builder.build().unwrap();
        drop(rt.spawn(move || rx.recv()));
        // Its main thread is in no wait for tasks.
        std::thread::park();
    });
}

#[cfg(debug_assertions)]
#[test]
fn a_timer_leaves_no_hint() {
    is_not_hinted(|builder| builder.build().unwrap().run(|| time::sleep(Duration::from_secs(3600))));
}

/// A thread of the program's own that waits for a time, and would wake a task then.
#[cfg(debug_assertions)]
#[test]
fn a_timer_of_others_leaves_no_hint() {
    is_not_hinted(|builder| {
        let (tx, rx) = unbounded::<()>();
        std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_secs(3600));
            tx.send(()).unwrap();
        });
        _ = builder.build().unwrap().run(move || rx.recv());
    });
}

/// What ends by itself: a timer, a thread that sleeps, a call that waits in the system, an idle
/// runtime.
#[test]
fn what_is_none() {
    let children = start_both(1, |builder| {
        const LONG: Duration = Duration::from_millis(400);
        let rt = builder.build().unwrap();
        // A timer of a worker, of a future, of a thread's own wait.
        rt.run(|| time::sleep(LONG));
        rt.run(|| block_on(spawn_async(time::sleep_async(LONG)))).unwrap();
        let (tx, rx) = unbounded::<u32>();
        assert!(rx.recv_timeout(LONG).is_err());
        // Somebody outside, who sleeps first.
        let task = rt.spawn(move || rx.recv().unwrap());
        std::thread::sleep(LONG);
        let outside = std::thread::spawn(move || {
            std::thread::sleep(LONG);
            tx.send(3).unwrap();
        });
        assert_eq!(task.join().unwrap(), 3);
        outside.join().unwrap();
        // A call in the system, and then the threads for calls that are idle.
        rt.run(|| myriad::blocking(|| std::thread::sleep(LONG)));
        std::thread::sleep(LONG);
        // A call that waits for a time, on a thread that was idle.
        let (_tx, rx) = unbounded::<()>();
        assert!(rt.run(|| myriad::blocking(move || rx.recv_timeout(LONG))).is_err());
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        std::thread::sleep(LONG);
    });
    for child in children {
        let output = ended(child);
        let text = stderr(&output);
        assert!(output.status.success() && !text.contains("deadlock"), "{text}");
    }
}

/// In both modes the case ends by itself, and the report is written.
fn ends_by_panics(body: impl Fn(Builder)) {
    for child in start_both(1, |builder| body(builder.on_deadlock(OnDeadlock::Panic))) {
        let output = ended(child);
        let text = stderr(&output);
        assert!(output.status.success() && text.contains("myriad: deadlock: nobody can wake"), "{text}");
    }
}

#[test]
fn joins_in_a_cycle_panic() {
    ends_by_panics(|builder| {
        let (says, said) = unbounded();
        let rt = builder.build().unwrap();
        rt.run(|| {
            let (tx, rx) = bounded::<JoinHandle<()>>(1);
            let told = says.clone();
            // What the joins bring is not seen: both tasks are in the deadlock themselves.
            let a = task::Builder::new().name("a").spawn(move || {
                let _at_end = OnDrop(|| told.send("a").unwrap());
                _ = rx.recv().unwrap().join();
                told.send("a goes on").unwrap();
            });
            let b = task::Builder::new().name("b").spawn(move || {
                let _at_end = OnDrop(|| says.send("b").unwrap());
                _ = a.join();
                says.send("b goes on").unwrap();
            });
            tx.send(b).unwrap();
        });
        let mut said: Vec<_> = said.iter().collect();
        said.sort_unstable();
        assert_eq!(said, ["a", "b"]);
    });
}

/// A task waits for its own end: by one that runs on top of it, and by ones of its scope.
#[test]
fn a_task_that_waits_for_its_own_end_panics() {
    ends_by_panics(|builder| {
        let rt = builder.workers(1).build().unwrap();
        let waits = |body: fn(JoinHandle<()>)| {
            let (tx, rx) = bounded::<JoinHandle<()>>(1);
            let (ends, ended) = bounded::<()>(1);
            let task = rt.spawn(move || {
                let _at_end = OnDrop(|| ends.send(()).unwrap());
                body(rx.recv().unwrap());
                eprintln!("it goes on");
                std::process::exit(3);
            });
            tx.send(task).unwrap();
            ended.recv().unwrap();
        };
        waits(|me| _ = spawn(|| me.join()).join());
        waits(|me| scope(|s| _ = s.spawn(|| me.join())));
        // Nobody waits for anything else than an end, and no joins are a cycle.
        waits(|me| {
            let (started, has_started) = bounded(1);
            scope(|s| {
                s.spawn(|| {
                    started.send(()).unwrap();
                    me.join()
                });
                has_started.recv().unwrap();
            });
        });
    });
}

/// The joiner is no part of the cycle, and gets an error.
#[test]
fn who_joins_a_task_in_a_deadlock_gets_an_error() {
    ends_by_panics(|builder| {
        let rt = builder.build().unwrap();
        let mutex = Arc::new(Mutex::new(()));
        let twice = move || {
            let _held = mutex.lock().unwrap();
            drop(mutex.lock());
        };
        let error = rt.run(|| task::Builder::new().name("twice").spawn(twice).join().unwrap_err());
        assert!(error.is_deadlock() && error.is_panic() && !error.is_cancelled(), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("task 'twice' spawned at "), "{text}");
        assert!(text.ends_with("panicked: deadlock: it waits for a lock, and nobody can wake it"), "{text}");
        let found = error.into_panic().downcast::<myriad::Deadlock>().unwrap();
        assert_eq!(found.dump().tasks().len(), 2);
        // The runtime is as before.
        assert_eq!(rt.run(|| spawn(|| 6 * 7).join().unwrap()), 42);
    });
}

/// A task of `run`, whose record is in a frame; a scope; the panic goes on in the plain thread.
#[test]
fn run_and_scope_come_back_with_the_panic() {
    ends_by_panics(|builder| {
        let rt = builder.build().unwrap();
        let waits = |body: &(dyn Fn() + Sync)| {
            let payload = catch_unwind(AssertUnwindSafe(|| rt.run(body))).unwrap_err();
            assert!(payload.is::<myriad::Deadlock>());
        };
        waits(&|| {
            let mutex = Mutex::new(());
            let _held = mutex.lock().unwrap();
            drop(mutex.lock());
        });
        let over = Semaphore::new(1);
        let permit = over.acquire();
        waits(&|| {
            scope(|s| {
                s.spawn(|| drop(over.acquire()));
            });
        });
        drop(permit);
        waits(&|| block_on(std::future::pending()));
        // The second closure of a join.
        let (_tx, rx) = unbounded::<()>();
        waits(&|| _ = join(|| (), || rx.recv()));
    });
}

#[test]
fn senders_that_all_wait_panic() {
    ends_by_panics(|builder| {
        builder.build().unwrap().run(|| {
            let (tx, rx) = bounded(1);
            let senders: Vec<_> = (0..11).map(|i| (tx.clone(), i)).collect();
            let tasks: Vec<_> = senders.into_iter().map(|(tx, i)| spawn(move || tx.send(i))).collect();
            let ends: Vec<_> = tasks.into_iter().map(JoinHandle::join).collect();
            let deadlocks = ends.iter().filter(|end| end.as_ref().is_err_and(JoinError::is_deadlock)).count();
            assert_eq!((ends.len(), deadlocks, rx.len()), (11, 10, 1));
        });
    });
}

#[test]
fn futures_in_a_deadlock_are_dropped() {
    ends_by_panics(|builder| {
        let rt = builder.build().unwrap();
        let (tx, rx) = bounded::<()>(1);
        let at_end = OnDrop(move || tx.send(()).unwrap());
        let task = rt.spawn_async(async move {
            let _at_end = at_end;
            std::future::pending::<()>().await;
        });
        assert!(block_on(task).unwrap_err().is_deadlock());
        rx.recv().unwrap();
        // Two that await each other.
        let (tx, rx) = bounded::<JoinHandle<()>>(1);
        let (ends, ended) = unbounded();
        let also_ends = ends.clone();
        let a = rt.spawn_async(async move {
            let _at_end = OnDrop(|| also_ends.send("a").unwrap());
            _ = rx.recv_async().await.unwrap().await;
        });
        let b = rt.spawn_async(async move {
            let _at_end = OnDrop(|| ends.send("b").unwrap());
            _ = a.await;
        });
        tx.send(b).unwrap();
        let mut ended: Vec<_> = ended.iter().collect();
        ended.sort_unstable();
        assert_eq!(ended, ["a", "b"]);
    });
}

/// A task may catch the panic, and waits afterwards as any other.
#[test]
fn a_task_that_catches_the_panic_goes_on() {
    ends_by_panics(|builder| {
        let (tx, rx) = unbounded::<u32>();
        let rt = builder.build().unwrap();
        let got = rt.run(|| {
            spawn(move || {
                let payload = catch_unwind(AssertUnwindSafe(|| rx.recv())).unwrap_err();
                assert!(payload.is::<myriad::Deadlock>());
                spawn(move || tx.send(7).unwrap());
                rx.recv().unwrap()
            })
            .join()
        });
        assert_eq!(got.unwrap(), 7);
    });
}

/// Nothing ends the wait: the second look says so.
#[test]
fn a_deadlock_in_a_shield_aborts() {
    for child in start_both(1, |builder| {
        let (_tx, rx) = unbounded::<()>();
        _ = builder.on_deadlock(OnDeadlock::Panic).build().unwrap().run(|| shield(|| rx.recv()));
    }) {
        let output = ended(child);
        let text = stderr(&output);
        assert!(text.contains("none can be ended where it waits"), "{}: {text}", output.status);
    }
}

/// Only what said so is ended.
#[test]
fn a_runtime_that_did_not_ask_keeps_its_tasks() {
    ends_by_panics(|builder| {
        let (_tx, rx) = unbounded::<()>();
        let other = Builder::new().workers(1).on_deadlock(OnDeadlock::Ignore).build().unwrap();
        let kept = other.spawn(move || rx.recv());
        let (_tx, rx) = unbounded::<()>();
        assert!(builder.build().unwrap().spawn(move || rx.recv()).join().unwrap_err().is_deadlock());
        assert!(!kept.is_finished());
    });
}

/// The hook of another runtime is called beside the panics.
#[test]
fn a_hook_beside_panics() {
    ends_by_panics(|builder| {
        let (tx, called) = unbounded::<usize>();
        let hook = move |found: &myriad::Deadlock| tx.send(found.dump().tasks().len()).unwrap();
        let other = Builder::new().workers(1).on_deadlock(OnDeadlock::Hook(Arc::new(hook))).build().unwrap();
        let waits = |rt: &myriad::Runtime| {
            let (tx, rx) = unbounded::<()>();
            (rt.spawn(move || rx.recv()), tx)
        };
        let (kept, _tx) = waits(&other);
        let rt = builder.build().unwrap();
        let (ended, _tx) = waits(&rt);
        assert!(ended.join().unwrap_err().is_deadlock());
        assert_eq!(called.recv().unwrap(), 2);
        assert!(!kept.is_finished());
    });
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}
