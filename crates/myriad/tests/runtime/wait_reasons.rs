//! A blocked task says what it waits for, whatever that is.

use crate::common::{Mode, each_owned, wait_until};
use myriad::channel::{bounded, promise, unbounded};
use myriad::sync::{Barrier, Condvar, Event, Mutex, Once, RwLock, Semaphore, WaitGroup};
use myriad::{Runtime, WaitReason, block_on, blocking, scope, select, spawn, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// For ever, as far as the test sees.
const LONG: Duration = Duration::from_secs(3600);

/// Tasks by name, and how many have come to the operation at which they block.
struct Blocked<'a> {
    rt: &'a Runtime,
    at: Arc<AtomicUsize>,
    n: usize,
}

impl Blocked<'_> {
    fn task(&mut self, name: &'static str, f: impl FnOnce() + Send + 'static) {
        let at = self.at.clone();
        self.n += 1;
        let task = task::Builder::new().name(name).on(self.rt.handle());
        drop(task.spawn(move || {
            at.fetch_add(1, SeqCst);
            f();
        }));
    }
}

/// A shutdown says what tasks wait for that block before its patience ends: on a busy machine they
/// need more than 100 ms, so other runtimes have more patience.
#[test]
fn all_reasons() {
    each_owned(|mode, rt| {
        let workers = rt.workers();
        let mut rt = Some(rt);
        for millis in [100, 1000, 10_000] {
            let rt = rt.take().unwrap_or_else(|| mode.builder().workers(workers).build().unwrap());
            match reasons(mode, rt, Duration::from_millis(millis)) {
                Ok(()) => return,
                Err(running) => eprintln!("after {millis} ms: {running}"),
            }
        }
        panic!("{mode}: a task does not come to what it waits for");
    });
}

/// The error is a task that waits for nothing yet.
fn reasons(mode: Mode, rt: Runtime, patience: Duration) -> Result<(), String> {
    let mut tasks = Blocked { rt: &rt, at: Arc::default(), n: 0 };
    // What nobody sends, opens or gives, until the test is over.
    let (full, keeps_full) = bounded(1);
    full.send(()).unwrap();
    let (tx, rx) = unbounded::<()>();
    let (never, mut promised) = promise::<()>();
    let (mutex, rwlock) = (Arc::new(Mutex::new(())), Arc::new(RwLock::new(())));
    let (locked, written) = (mutex.lock().unwrap(), rwlock.write().unwrap());
    // (One for each: who gets the other's message goes on before the child that it waits for.)
    let (begun_by_join, join_begun) = unbounded();
    let (begun_tx, begun) = unbounded();
    let (end_call, call) = std::sync::mpsc::channel::<()>();

    let forever = rx.clone();
    tasks.task("Recv", move || _ = forever.recv());
    tasks.task("Send", move || _ = full.send(()));
    let (one, other) = (rx.clone(), rx.clone());
    tasks.task("Select", move || {
        select! {
            _ = one.recv() => {}
            _ = other.recv() => {}
        }
    });
    tasks.task("News", move || _ = promised.recv());
    let m = mutex.clone();
    tasks.task("Lock", move || drop(m.lock()));
    let l = rwlock.clone();
    tasks.task("ReadLock", move || drop(l.read()));
    let l = rwlock.clone();
    tasks.task("WriteLock", move || drop(l.write()));
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = semaphore.acquire();
    let s = semaphore.clone();
    tasks.task("Permits", move || drop(s.acquire()));
    tasks.task("Condition", || {
        let lock = Mutex::new(());
        drop(Condvar::new().wait(lock.lock().unwrap()));
    });
    tasks.task("Event", || Event::new().wait());
    tasks.task("Barrier", || _ = Barrier::new(2).wait());
    tasks.task("Countdown", || {
        let group = WaitGroup::new();
        group.add(1);
        group.wait();
    });
    let once = Arc::new(Once::new());
    for _ in 0..2 {
        let (once, forever) = (once.clone(), rx.clone());
        tasks.task("Once or Recv", move || once.call_once(|| _ = forever.recv()));
    }
    tasks.task("Sleep", || time::sleep(LONG));
    tasks.task("Future", || block_on(std::future::pending()));
    tasks.task("Blocking", move || blocking(move || _ = call.recv()));
    let forever = rx.clone();
    tasks.task("Join", move || {
        let child = spawn(move || {
            begun_by_join.send(()).unwrap();
            _ = forever.recv();
        });
        // The child has a stack of its own: else it would run on top of this task.
        join_begun.recv().unwrap();
        child.join().unwrap();
    });
    let forever = rx.clone();
    tasks.task("Scope", move || {
        scope(|s| {
            s.spawn(|| {
                begun_tx.send(()).unwrap();
                _ = forever.recv();
            });
            begun.recv().unwrap();
        });
    });

    let (at, n) = (tasks.at.clone(), tasks.n);
    wait_until(|| at.load(SeqCst) == n);
    let report = rt.shutdown(patience);
    let mut seen = 0;
    let mut once = Vec::new();
    for task in report.unfinished() {
        let Some(name) = task.name() else { continue };
        let reason = task.waits_for().ok_or_else(|| format!("{mode}: {task}: no reason"))?;
        assert!(task.to_string().ends_with(&format!("blocked, {reason}")), "{mode}: {task}");
        seen += 1;
        match name {
            "Once or Recv" => once.push(reason),
            name => assert_eq!(format!("{reason:?}"), name, "{mode}: {task}"),
        }
    }
    assert_eq!(seen, n, "{mode}: {report}");
    assert!(once.contains(&WaitReason::Once) && once.contains(&WaitReason::Recv), "{mode}: {once:?}");
    drop((tx, never, permit, locked, written, keeps_full, end_call));
    Ok(())
}
