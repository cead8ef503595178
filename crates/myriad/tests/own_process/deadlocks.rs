//! Deadlocks are reported, and what only looks like one is not.
//!
//! Each case runs on the main thread of a process of its own: any other thread that waits for a
//! time, as the watchdogs of other tests do, would hide the deadlock.

use crate::common::{fibers_supported, is_child, stderr, test_name};
use myriad::channel::{bounded, unbounded};
use myriad::sync::{Mutex, Semaphore};
use myriad::{Builder, OnDeadlock, block_on, scope, spawn, spawn_async, task, time};
use std::io::{BufRead, BufReader};
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
    is_reported(&["10 tasks spawned at", "wait for room in a channel, all of one channel"], |builder| {
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
