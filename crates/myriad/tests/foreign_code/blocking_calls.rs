//! A closure that `blocking` or `compute` calls is its caller's, and belongs to the caller's
//! runtime.

use crate::common::{MODES, Mode, quiet, wait_until, watch};
use myriad::{Handle, JoinError, Runtime, block_on, blocking, blocking_async, compute, compute_async, task};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};

fn with_pools(body: impl Fn(Mode, &Runtime)) {
    quiet();
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let rt = mode.builder().workers(2).pool("io", 1).name("mine").build().unwrap();
        body(mode, &rt);
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
    }
}

/// Where tasks run that are begun here, by each way.
fn here() -> Vec<String> {
    let name = || std::thread::current().name().unwrap().to_string();
    let mut all = vec![myriad::spawn(name).join().unwrap()];
    all.push(block_on(myriad::spawn_async(async move { name() })).unwrap());
    all.push(Handle::current().expect("the caller's").spawn(name).join().unwrap());
    myriad::scope(|s| all.push(s.spawn(name).join().unwrap()));
    all.push(myriad::spawn_on("io", name).join().unwrap());
    all.push(myriad::run(|| myriad::spawn(name).join().unwrap()));
    all.push(task::dedicated(move || myriad::spawn(name).join().unwrap()).join().unwrap());
    all
}

#[track_caller]
fn assert_mine(names: &[String]) {
    assert!(names.iter().all(|name| name.starts_with("mine-")), "{names:?}");
    assert!(names[4].starts_with("mine-io"), "{names:?}");
}

#[test]
fn what_it_begins_belongs_to_the_callers_runtime() {
    with_pools(|_, rt| {
        assert_mine(&rt.run(|| blocking(here)));
        assert_mine(&rt.run(|| compute(here)));
        assert_mine(&rt.run(|| blocking(|| compute(here))));
        assert_mine(&rt.run(|| block_on(blocking_async(here))));
        assert_mine(&rt.run(|| block_on(compute_async(here))));
        assert_mine(&rt.spawn_async(async { blocking_async(here).await }).join().unwrap());
        let sum = rt.run(|| blocking(|| myriad::par::sum(&[1_u64; 1000])));
        assert_eq!(sum, 1000);
        // The thread that made the call is nobody's afterwards.
        assert!(std::thread::spawn(|| blocking(|| Handle::current().is_none())).join().unwrap());
    });
}

/// It is the calling task: by number, name and place; and cannot join itself.
#[test]
fn it_is_the_calling_task() {
    with_pools(|_, rt| {
        for call in [blocking::<fn() -> Option<task::Task>, _>, compute] {
            let h = task::Builder::new().on(rt.handle()).name("caller").spawn(move || {
                let (me, there) = (task::current().unwrap(), call(task::current).expect("the caller"));
                assert_eq!(me.spawned_at(), there.spawned_at());
                (me.id(), there.id(), there.name().map(str::to_string))
            });
            let (me, there, name) = h.join().unwrap();
            assert_eq!((me, name.as_deref()), (there, Some("caller")));
            // A part of a join has its number too, and so has what runs on top.
            rt.run(|| {
                let ids = || (task::current().unwrap().id(), call(task::current).unwrap().id());
                let (a, b) = myriad::join(ids, ids);
                assert_eq!((a.0, b.0), (a.1, b.1));
            });
        }
        let (tx, rx) = myriad::channel::bounded(1);
        let h: myriad::JoinHandle<Option<JoinError>> = rt.spawn(move || {
            let me: myriad::JoinHandle<Option<JoinError>> = rx.recv().unwrap();
            blocking(|| me.join().err())
        });
        tx.send(h).unwrap();
        // The handle was used up inside: the task ends, detached.
        assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
    });
}

/// A call that a task has begun and not waited for is no task.
#[test]
fn a_call_that_nobody_waits_for_is_no_task() {
    with_pools(|_, rt| {
        assert!(rt.run(|| block_on(blocking_async(|| task::current().is_none()))));
    });
}

/// A waker that panics takes no thread of the pool away.
#[test]
fn wakers_that_panic() {
    struct Bomb(AtomicUsize);
    impl Wake for Bomb {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
            crate::common::plan("a waker panics");
        }
    }
    quiet();
    let _watch = watch("wakers that panic");
    let bomb = Arc::new(Bomb(AtomicUsize::new(0)));
    let waker = Waker::from(bomb.clone());
    let n = 20;
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let (go, goes) = std::sync::mpsc::channel::<()>();
            let mut call = Box::pin(compute_async(move || goes.recv().unwrap()));
            assert!(call.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
            go.send(()).unwrap();
            call
        })
        .collect();
    wait_until(|| bomb.0.load(SeqCst) == n);
    drop(threads);
    // As many computations as there are processors, and more, end at the same time.
    let calls: Vec<_> = (0..n).map(|i| compute_async(move || i)).collect();
    assert_eq!(calls.into_iter().map(block_on).sum::<usize>(), n * (n - 1) / 2);
    myriad::run(|| assert_eq!(compute(|| 5), 5));
}
