//! Hooks of runtimes, and what runtimes drop at their end.

use crate::behaviours::{Behaviour, When};
use crate::cell::{Cx, Seen, until};
use crate::common::plan;
use myriad::channel::bounded;
use myriad::{Builder, OnStuck, Runtime, Unhandled};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A runtime of the cell's mode.
fn builder(cx: &Cx) -> Builder {
    cx.mode.builder().workers(cx.workers)
}

/// Its tasks answer, and it ends cleanly; elsewhere than on a worker, which this would hold up.
fn check(rt: Runtime) {
    myriad::blocking(move || {
        assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
        let report = rt.shutdown(Duration::from_secs(60));
        assert!(report.is_clean(), "{report}");
    });
}

/// Who is told of stuck workers. `Last` drops the runtime.
pub(crate) fn on_stuck(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    cx.foe.on_again(|| _ = myriad::spawn(|| 5).join());
    let hook = Arc::new(move |_: &myriad::Stuck| inner.act());
    let rt = builder(cx).on_stuck(OnStuck::Hook { after: Duration::from_millis(1), hook }).build().unwrap();
    let inner = cx.clone();
    drop(rt.spawn(move || {
        // Stuck until it is told.
        while inner.foe.acted() == 0 {
            std::thread::yield_now();
        }
    }));
    until("nobody is told that a worker is stuck", || cx.foe.acted() > 0);
    wait();
    check(rt);
    Seen::Well
}

/// Who is told of panics of detached tasks.
pub(crate) fn on_unhandled_panic(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    cx.foe.on_again(|| _ = myriad::spawn(|| 5).join());
    let rt = builder(cx).on_unhandled_panic(Unhandled::Hook(Arc::new(move |_| inner.act()))).build().unwrap();
    drop(rt.spawn(|| plan("reported")));
    until("nobody is told of a panic", || cx.foe.acted() > 0);
    wait();
    check(rt);
    Seen::Well
}

/// The same for the panic of a destructor.
pub(crate) fn on_unhandled_destructor(cx: &Cx) -> Seen {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            plan("reported")
        }
    }
    myriad::task_local! { static BOMB: Mutex<Option<Bomb>> = Mutex::new(None); }
    let (inner, wait) = (cx.clone(), cx.last_sender());
    cx.foe.on_again(|| _ = myriad::spawn(|| 5).join());
    let rt = builder(cx).on_unhandled_panic(Unhandled::Hook(Arc::new(move |_| inner.act()))).build().unwrap();
    let h = rt.spawn(|| BOMB.with(|bomb| *bomb.lock().unwrap() = Some(Bomb)));
    until("nobody is told of a panic", || cx.foe.acted() > 0);
    let seen = Seen::joined(h.join());
    wait();
    check(rt);
    seen
}

/// What names threads.
pub(crate) fn name_threads(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let rt = builder(cx).name_threads(move |worker| {
        inner.act();
        format!("hostile {worker}")
    });
    let rt = rt.build().unwrap();
    // In threads mode a task that waits makes another thread.
    let (tx, rx) = bounded::<()>(1);
    let h = rt.spawn(move || _ = rx.recv());
    rt.spawn(move || drop(tx)).join().unwrap();
    let seen = Seen::joined(h.join());
    wait();
    check(rt);
    seen
}

/// What is called first on each thread.
pub(crate) fn on_thread_start(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    cx.foe.on_again(|| _ = myriad::Handle::current().is_some());
    let rt = builder(cx).on_thread_start(move |_| inner.act()).build().unwrap();
    let (tx, rx) = bounded::<()>(1);
    let h = rt.spawn(move || _ = rx.recv());
    rt.spawn(move || drop(tx)).join().unwrap();
    let seen = Seen::joined(h.join());
    wait();
    check(rt);
    seen
}

/// What is called last on each thread.
pub(crate) fn on_thread_end(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    cx.foe.on_again(|| _ = myriad::Handle::current().is_some());
    let rt = builder(cx).on_thread_end(move |_| inner.act()).build().unwrap();
    check(rt);
    wait();
    Seen::Well
}

/// Tasks that have not begun when their runtime ends are dropped, with what they hold.
pub(crate) fn unstarted_at_the_end(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = builder(cx).spare_workers(0).build().unwrap();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap();
    // All workers are held, so that nothing begins.
    for _ in 0..cx.workers {
        let gate = gate.clone();
        drop(rt.spawn(move || drop(gate.lock())));
    }
    let h = rt.spawn(move || _ = &value);
    std::thread::scope(|s| {
        let ends = s.spawn(move || rt.shutdown(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(1));
        drop(closed);
        drop(ends.join());
    });
    let seen = match h.join() {
        Err(error) if error.is_shutdown() => Seen::Well,
        other => Seen::joined(other),
    };
    wait();
    seen
}

/// Futures that wait when their runtime ends are dropped.
pub(crate) fn futures_at_the_end(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = builder(cx).build().unwrap();
    cx.foe.on_again({
        let handle = rt.handle();
        move || _ = handle.spawn(|| ()).join()
    });
    let h = rt.spawn_async(async move {
        let _value = value;
        std::future::pending::<()>().await;
    });
    let seen = Seen::of(|| myriad::blocking(AssertUnwindSafe(move || drop(rt.shutdown(Duration::ZERO)))));
    let joined = match h.join() {
        Err(error) if error.is_shutdown() => Seen::Well,
        other => Seen::joined(other),
    };
    wait();
    if seen == Seen::Well { joined } else { seen }
}

/// The last handle of a runtime is dropped by one of its tasks, in a destructor of its result.
pub(crate) fn runtime_dropped_inside(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = Arc::new(builder(cx).build().unwrap());
    let inside = rt.clone();
    let h = rt.spawn(move || (inside, value));
    drop(rt);
    // Its result is dropped by the joiner, or by the worker.
    let seen = Seen::of(|| drop(h));
    wait();
    seen
}

/// A waker is woken by a shutdown.
pub(crate) fn waker_at_the_end(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let rt = builder(cx).build().unwrap();
    let mut h = rt.spawn_async(std::future::pending::<()>());
    assert!(cx.poll(std::pin::Pin::new(&mut h), When::Wake).is_pending());
    let seen = Seen::of(|| myriad::blocking(move || drop(rt.shutdown(Duration::ZERO))));
    until("no hostile waker is woken", || cx.foe.acted() > 0);
    let joined = match h.join() {
        Err(error) if error.is_shutdown() => Seen::Well,
        other => Seen::joined(other),
    };
    wait();
    if seen == Seen::Well { joined } else { seen }
}

/// A runtime's `run`, from wherever.
pub(crate) fn run(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let rt = builder(cx).build().unwrap();
    let handle = rt.handle();
    cx.foe.on_again(move || assert_eq!(handle.run(|| 5), 5));
    let seen = Seen::of(|| rt.run(|| cx.act()));
    wait();
    check(rt);
    _ = cx.is(Behaviour::Last);
    seen
}

/// In a task of a named pool.
pub(crate) fn pool_task(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let rt = builder(cx).pool("io", cx.workers).build().unwrap();
    let pool = rt.handle().pool("io").unwrap();
    cx.foe.on_again(move || _ = pool.spawn(|| 5).join());
    let seen = Seen::joined(pool.spawn(move || inner.act()).join());
    wait();
    check(rt);
    seen
}

/// The result of a task of a named pool, which nobody wants, and its captures.
pub(crate) fn pool_result(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = builder(cx).pool("io", 1).build().unwrap();
    drop(rt.handle().pool("io").unwrap().spawn(move || value));
    until("a result is not dropped", || cx.foe.acted() > 0 || cx.foe.is_outside());
    wait();
    check(rt);
    Seen::Well
}

/// In a poll of a future in a named pool, which a task of another pool wakes.
pub(crate) fn pool_poll(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let rt = builder(cx).pool("io", 1).build().unwrap();
    let (tx, rx) = bounded::<()>(1);
    cx.foe.on_again({
        let handle = rt.handle();
        move || _ = handle.spawn(|| 5).join()
    });
    let polled = rt.handle().pool("io").unwrap().spawn_async(async move {
        _ = rx.recv_async().await;
        inner.act();
    });
    rt.spawn(move || drop(tx)).join().unwrap();
    let seen = Seen::joined(polled.join());
    wait();
    check(rt);
    seen
}

/// A future of a named pool waits when its runtime ends.
pub(crate) fn pool_at_the_end(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = builder(cx).pool("io", 1).build().unwrap();
    cx.foe.on_again({
        let handle = rt.handle();
        move || _ = handle.spawn(|| ()).join()
    });
    let h = rt.handle().pool("io").unwrap().spawn_async(async move {
        let _value = value;
        std::future::pending::<()>().await;
    });
    let seen = Seen::of(|| myriad::blocking(AssertUnwindSafe(move || drop(rt.shutdown(Duration::ZERO)))));
    let joined = match h.join() {
        Err(error) if error.is_shutdown() => Seen::Well,
        other => Seen::joined(other),
    };
    wait();
    if seen == Seen::Well { joined } else { seen }
}
