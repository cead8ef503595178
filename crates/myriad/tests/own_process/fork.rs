//! `fork` without `exec`: what a child finds of its parent's runtimes, and what it can begin
//! itself.
//!
//! Each child is forked by a plain thread, writes what it has found to a pipe, and leaves by
//! `_exit`.

#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
#[path = "fork/stuck.rs"]
mod stuck;

use common::{PATIENCE, catch, quiet, text};
use myriad::cancel::Token;
use myriad::channel::{Receiver, bounded};
use myriad::{
    Builder, JoinHandle, OnDeadlock, Runtime, WaitReason, blocking, compute, join, scope, spawn, spawn_async, task,
    time,
};
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Wake};
use std::time::{Duration, Instant};

/// One at a time: a child has a copy of all that other tests are in the middle of.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    quiet();
    ONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Runs `body` in a forked child, and returns what it says there; or what has become of the child.
#[track_caller]
fn in_fork(body: impl FnOnce() -> String) -> String {
    let mut ends = [0; 2];
    // SAFETY: the child does what these tests are about; it leaves by `_exit`.
    let child = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        if child == 0 {
            let says = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            let says = says.unwrap_or_else(|payload| {
                format!("panicked: {} {}", text(&*payload), payload.is::<myriad::cancel::Cancelled>())
            });
            libc::write(ends[1], says.as_ptr().cast(), says.len());
            libc::_exit(0);
        }
        libc::close(ends[1]);
        child
    };
    let until = Instant::now() + PATIENCE;
    let mut status = 0;
    // SAFETY: our own child.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > until {
            // SAFETY: our own child, and our own pipe.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, &mut status, 0);
                libc::close(ends[0]);
            }
            return "HANGS".into();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut says = String::new();
    // SAFETY: the reading end, ours.
    unsafe { File::from_raw_fd(ends[0]) }.read_to_string(&mut says).unwrap();
    if says.is_empty() { format!("status {status}") } else { says }
}

#[track_caller]
fn assert_told(says: &str) {
    assert!(says.contains("forked") && says.contains("has no workers here"), "{says}");
}

fn all_well() -> String {
    "well".into()
}

/// What a panic of `f` says.
fn told(f: impl FnOnce()) -> String {
    text(&*catch(f)).to_string()
}

/// A task that waits for a message, in the parent.
fn waits(rt: &Runtime) -> (JoinHandle<()>, myriad::channel::Sender<()>, Receiver<()>) {
    let (tx, rx) = bounded::<()>(1);
    let other = rx.clone();
    (rt.spawn(move || _ = rx.recv()), tx, other)
}

/// The global runtime's workers are not there: each way to ask it says so.
#[test]
fn the_global_runtime_of_the_parent() {
    let _alone = alone();
    assert_eq!(spawn(|| 5).join().unwrap(), 5);
    let ways: [fn(); 9] = [
        || _ = join(|| 1, || 2),
        || drop(spawn(|| ())),
        || drop(spawn_async(async {})),
        || scope(|s| drop(s.spawn(|| ()))),
        || myriad::run(|| ()),
        || drop(task::Builder::new().name("named").spawn(|| ())),
        || drop(task::Group::new(()).spawn(|_| ())),
        || drop(task::dedicated(|| ())),
        || drop(time::call_later(Duration::ZERO, || ())),
    ];
    for (i, way) in ways.into_iter().enumerate() {
        let says = in_fork(|| told(way));
        assert!(says.contains("forked") && says.contains("has no workers here"), "way {i}: {says}");
    }
}

/// So does a runtime of one's own, and a task of it that is joined.
#[test]
fn a_runtime_of_the_parent() {
    let _alone = alone();
    for mode in common::MODES {
        let rt = mode.runtime(2);
        let handle = rt.handle();
        assert_told(&in_fork(|| told(|| drop(handle.spawn(|| ())))));
        assert_told(&in_fork(|| told(|| handle.run(|| ()))));
        let (h, _tx, _rx) = waits(&rt);
        let says = in_fork(|| {
            // SAFETY: the parent's copy of the handle is another process's.
            let copy = unsafe { std::ptr::read(&h) };
            told(|| drop(copy.join()))
        });
        assert_told(&says);
        // To end it takes no time: there is nothing to wait for.
        let says = in_fork(|| {
            // SAFETY: the parent's copy of the runtime is another process's.
            drop(unsafe { std::ptr::read(&rt) });
            all_well()
        });
        assert_eq!(says, "well");
        drop(_tx);
        h.join().unwrap();
    }
}

/// What knows nothing of workers works.
#[test]
fn channels_locks_and_time_in_the_child() {
    let _alone = alone();
    assert_eq!(spawn(|| 5).join().unwrap(), 5);
    let says = in_fork(|| {
        let (tx, rx) = bounded(1);
        let thread = std::thread::spawn(move || (0..10).for_each(|i| tx.send(i).unwrap()));
        assert_eq!(rx.iter().sum::<u32>(), 45);
        thread.join().unwrap();
        time::sleep(Duration::from_millis(1));
        assert!(rx.recv_timeout(Duration::from_millis(1)).is_err());
        assert!(time::timeout(Duration::from_millis(1), || time::sleep(Duration::from_secs(3600))).is_err());
        assert_eq!((blocking(|| 1), compute(|| 2)), (1, 2));
        task::gang(2, |_| ());
        let lock = myriad::sync::Mutex::new(1);
        *lock.lock().unwrap() += 1;
        all_well()
    });
    assert_eq!(says, "well");
}

/// The child builds a runtime of its own, in which all works: also what other threads of the
/// process serve. What all runtimes share for time limits is free in a child, whatever the parent's
/// workers were in. (As many tasks as that has parts.)
#[test]
fn time_limits_in_a_child_beside_busy_workers() {
    let _alone = alone();
    let limited = |rt: &Runtime, stop: &Arc<AtomicBool>| -> Vec<JoinHandle<()>> {
        let task = |stop: Arc<AtomicBool>| {
            move || loop {
                (0..100).for_each(|_| time::timeout(PATIENCE, || ()).unwrap());
                if stop.load(SeqCst) {
                    return;
                }
                myriad::yield_now();
            }
        };
        (0..64).map(|_| rt.spawn(task(stop.clone()))).collect()
    };
    for mode in common::MODES {
        let rt = mode.runtime(1);
        let stop = Arc::new(AtomicBool::new(false));
        let all = limited(&rt, &stop);
        for _ in 0..20 {
            let says = in_fork(|| {
                time::timeout(PATIENCE, || ()).unwrap();
                let own = mode.runtime(1);
                limited(&own, &Arc::new(AtomicBool::new(true))).into_iter().for_each(|h| h.join().unwrap());
                all_well()
            });
            assert_eq!(says, "well", "{mode}");
        }
        stop.store(true, SeqCst);
        all.into_iter().for_each(|h| h.join().unwrap());
    }
}

#[test]
fn a_new_runtime_in_the_child() {
    let _alone = alone();
    for mode in common::MODES {
        let rt = mode.runtime(2);
        // All pools of threads have some, and are in use meanwhile.
        rt.run(|| (blocking(|| ()), compute(|| ()), task::gang(2, |_| ())));
        let stop = AtomicBool::new(false);
        let mut said = Vec::new();
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !stop.load(SeqCst) {
                        rt.spawn(|| blocking(|| compute(|| ()))).join().unwrap();
                        drop(Builder::new().workers(1).build().unwrap());
                    }
                });
            }
            for _ in 0..3 {
                let says = in_fork(|| {
                    let rt = mode.runtime(2);
                    let sum = rt.run(|| {
                        let handles: Vec<_> = (0..100).map(|i| spawn(move || i)).collect();
                        handles.into_iter().map(|h| h.join().unwrap()).sum::<i32>()
                    });
                    assert_eq!(sum, 4950);
                    assert_eq!(rt.run(|| (blocking(|| 1), compute(|| 2))), (1, 2));
                    rt.run(|| task::gang(2, |_| ()));
                    rt.run(|| time::sleep(Duration::from_millis(1)));
                    // Workers that are stuck get help: there is a monitor.
                    let runs = Arc::new(AtomicUsize::new(0));
                    let meet = |runs: Arc<AtomicUsize>| {
                        move || {
                            runs.fetch_add(1, SeqCst);
                            common::compute_until(|| runs.load(SeqCst) == 3);
                        }
                    };
                    let all: Vec<_> = (0..3).map(|_| rt.spawn(meet(runs.clone()))).collect();
                    all.into_iter().for_each(|h| h.join().unwrap());
                    let report = rt.shutdown(crate::common::PATIENCE);
                    assert!(report.is_clean(), "{report}");
                    all_well()
                });
                said.push(says);
            }
            stop.store(true, SeqCst);
        });
        assert_eq!(said, ["well"; 3], "{mode}");
    }
}

/// std takes a lock at both ends of a thread: a child that is forked while one of Myriad's threads
/// has it could start no thread. (One child of a thousand.)
#[test]
fn a_fork_while_threads_begin_and_end() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let hung = std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let rt = common::Mode::Threads.runtime(1);
                while !stop.load(SeqCst) {
                    // A thread of its own each, and one for each runtime.
                    let all: Vec<_> = (0..8).map(|_| rt.run(|| task::dedicated(|| ()))).collect();
                    all.into_iter().for_each(|h| h.join().unwrap());
                    drop(Builder::new().workers(1).build().unwrap());
                }
            });
        }
        let forks = if common::full_length() { 2000 } else { 500 };
        let hung = (0..forks).filter(|_| {
            // SAFETY: the child does what this test is about, and leaves by `_exit`; the parent
            // waits for its own child.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::alarm(100);
                    std::thread::spawn(|| ()).join().unwrap();
                    libc::_exit(0);
                }
                let mut status = 0;
                libc::waitpid(child, &mut status, 0);
                status != 0
            }
        });
        let hung = hung.count();
        stop.store(true, SeqCst);
        hung
    });
    assert_eq!(hung, 0, "children that can start no thread");
}

/// Another thread asks for the first time (how many processors there are, when the clock began)
/// while the process is forked: the child finds out for itself. Each try is a process in which
/// nobody has asked before.
#[test]
fn a_fork_while_another_thread_asks_for_the_first_time() {
    let output = common::in_child(&[], || {
        let use_it = || {
            let rt = Builder::new().workers(1).build().unwrap();
            rt.run(|| time::sleep(Duration::from_micros(1)));
            std::mem::forget(rt);
        };
        let tries = if common::full_length() { 1000 } else { 200 };
        let hung = (0..tries).filter(|i| {
            // SAFETY: each child does what this test is about, and leaves by `_exit`; the first has
            // no other thread than those it starts.
            unsafe {
                let first = libc::fork();
                if first == 0 {
                    static BEGUN: AtomicBool = AtomicBool::new(false);
                    let asks = std::thread::spawn(move || {
                        BEGUN.store(true, SeqCst);
                        use_it();
                    });
                    common::compute_until(|| BEGUN.load(SeqCst));
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_nanos(i * 7919 % 1500 * 100) {
                        std::hint::spin_loop();
                    }
                    let second = libc::fork();
                    if second == 0 {
                        libc::alarm(100);
                        use_it();
                        libc::_exit(0);
                    }
                    let mut status = 0;
                    libc::waitpid(second, &mut status, 0);
                    asks.join().unwrap();
                    libc::_exit(i32::from(status != 0));
                }
                let mut status = 0;
                libc::waitpid(first, &mut status, 0);
                status != 0
            }
        });
        assert_eq!(hung.count(), 0, "children that hang");
    });
    common::assert_ok(&output);
}

/// Calls that a token starts need workers, which are not there: whoever cancels is told, after all
/// others that the token and its children know were.
#[test]
fn a_token_of_the_parent_that_is_cancelled() {
    let _alone = alone();
    let rt = Runtime::builder().workers(1).build().unwrap();
    let token = Token::new();
    let child = token.child().child();
    rt.run(|| (0..3).for_each(|_| drop(token.on_cancel(|| ()))));
    let says = in_fork(|| {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let mut waits = [Box::pin(token.cancelled()), Box::pin(child.cancelled())];
        let waker = woken.clone().into();
        for wait in &mut waits {
            assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let says = told(|| token.cancel());
        format!("{says} ({} are woken)", woken.0.load(SeqCst))
    });
    assert_told(&says);
    assert!(says.ends_with("(2 are woken)"), "{says}");
}

/// A child that is forked inside a task is on a thread that is no worker any more: it waits as such
/// threads do, whatever the parent's workers were in the middle of, and its runtime tells it where
/// its workers are.
#[test]
fn a_fork_inside_a_task() {
    let _alone = alone();
    for mode in common::MODES {
        for workers in [1, 2] {
            let rt = mode.runtime(workers);
            // Idle stacks, threads in threads mode, that a wait could go on with; and workers that
            // are busy.
            common::crowd(&rt, 10);
            let stop = Arc::new(AtomicBool::new(false));
            for _ in 0..4 {
                let stop = stop.clone();
                drop(rt.spawn(move || {
                    while !stop.load(SeqCst) {
                        spawn(|| ()).join().unwrap();
                        time::sleep(Duration::from_micros(20));
                    }
                }));
            }
            let handle = rt.handle();
            for _ in 0..5 {
                let says = rt.run(|| {
                    in_fork(|| {
                        // (First: it stands in the frame of the thread that is in `run`, and glibc
                        // gives the stacks of threads that only the parent has to the next threads
                        // of the child.)
                        let here = handle;
                        time::sleep(Duration::from_millis(1));
                        let (tx, rx) = bounded(1);
                        assert!(rx.recv_timeout(Duration::from_millis(1)).is_err());
                        let lock = myriad::sync::Mutex::new(0);
                        assert_eq!(blocking(|| *lock.lock().unwrap() + 3), 3);
                        let own = Builder::new().workers(2).build().unwrap();
                        own.spawn(move || (0..10).for_each(|i| tx.send(i).unwrap()));
                        assert_eq!(rx.iter().sum::<u32>(), 45);
                        assert_eq!(
                            own.run(|| (join(|| 1, || 2), scope(|s| s.spawn(|| 5).join().unwrap()))),
                            ((1, 2), 5)
                        );
                        told(|| drop(here.spawn(|| ())))
                    })
                });
                assert_told(&says);
            }
            stop.store(true, SeqCst);
        }
    }
}

/// A child that comes to the end of the task in which it was forked has nothing to go on with, and
/// says so: of a closure, of a closure in `keep_thread`, of a future's poll that is ready or
/// pending.
#[test]
fn a_child_that_ends_its_task() {
    let _alone = alone();
    for (mode, workers, task) in common::MODES
        .into_iter()
        .flat_map(|mode| [1, 2].into_iter().flat_map(move |workers| ENDS_IN_CHILD.map(|task| (mode, workers, task))))
    {
        let rt = mode.runtime(workers);
        let mut ends = [0; 2];
        // SAFETY: a pipe of our own.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        let child = rt.run(|| (task.1)(ends[1]));
        let mut status = 0;
        // SAFETY: our own child, and our own ends of the pipe.
        let mut reads = unsafe {
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            libc::close(ends[1]);
            File::from_raw_fd(ends[0])
        };
        let mut says = String::new();
        reads.read_to_string(&mut says).unwrap();
        let case = format!("{}, {mode}, {workers} workers: status {status:#x}: {says}", task.0);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT, "{case}");
        assert!(says.contains("forked inside a task") && says.contains("call `exec` or `_exit`"), "{case}");
    }
}

/// What the parent does at a deadlock is the parent's: the child, in which a runtime begins, drops
/// nothing of it.
#[test]
fn a_hook_for_deadlocks_of_the_parent() {
    static DROPPED: AtomicBool = AtomicBool::new(false);
    struct SaysDrop;
    impl Drop for SaysDrop {
        fn drop(&mut self) {
            DROPPED.store(true, SeqCst);
        }
    }
    let _alone = alone();
    let kept = SaysDrop;
    let hook = Arc::new(move |_: &myriad::Deadlock| _ = &kept);
    let rt = Builder::new().workers(1).on_deadlock(OnDeadlock::Hook(hook)).build().unwrap();
    let says = in_fork(|| {
        let own = Builder::new().workers(1).build().unwrap();
        let five = own.run(|| 5);
        drop(own);
        format!("{five}, dropped: {}", DROPPED.load(SeqCst))
    });
    assert_eq!(says, "5, dropped: false");
    drop(rt);
    common::wait_until(|| DROPPED.load(SeqCst));
}

/// The thread that has forked has waited in the parent, and waits in the child, where a dump shows
/// it.
#[test]
fn a_thread_that_waits_in_the_child_is_dumped() {
    let _alone = alone();
    let (_tx, rx) = bounded::<()>(1);
    assert!(rx.recv_timeout(Duration::from_millis(1)).is_err());
    let says = in_fork(|| {
        let (tx, rx) = bounded::<()>(1);
        let other = std::thread::spawn(move || {
            let waits = |dump: &myriad::dump::Dump| {
                let mut threads = dump.threads().iter();
                threads.any(|thread| thread.waits_for() == WaitReason::Recv && !thread.has_limit())
            };
            let until = Instant::now() + PATIENCE / 2;
            let mut is_seen = false;
            while !is_seen && Instant::now() < until {
                is_seen = waits(&myriad::dump());
            }
            tx.send(()).unwrap();
            is_seen
        });
        rx.recv().unwrap();
        format!("seen: {}", other.join().unwrap())
    });
    assert_eq!(says, "seen: true");
}

/// A task that forks, by name, with the file to which its child writes; the parent's task returns
/// the child.
type Forks = (&'static str, fn(i32) -> i32);

const ENDS_IN_CHILD: [Forks; 4] = [
    ("a closure", |says| spawn(move || fork_here(says)).join().unwrap()),
    ("keep_thread", |says| spawn(move || myriad::task::keep_thread(|| fork_here(says))).join().unwrap()),
    ("a poll that is ready", |says| {
        myriad::spawn_async(std::future::poll_fn(move |_| std::task::Poll::Ready(fork_here(says)))).join().unwrap()
    }),
    ("a poll that is pending", |says| {
        let mut child = None;
        let polls = std::future::poll_fn(move |cx| match child {
            Some(child) => std::task::Poll::Ready(child),
            None => {
                child = Some(fork_here(says));
                cx.waker().wake_by_ref();
                std::task::Poll::Pending
            }
        });
        myriad::spawn_async(polls).join().unwrap()
    }),
];

/// Forks. The child writes its standard error to this file, and goes on as a task.
fn fork_here(says: i32) -> i32 {
    // SAFETY: the child ends after 100 s at the latest; the file is open.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(100);
            libc::dup2(says, 2);
        }
        child
    }
}
