//! Who waits for a task that is blocked when its runtime ends.

use crate::common::{
    MODES, Mode, assert_aborted, assert_ok, compute_until, each_owned, full_length, in_child, is_child, stderr,
    wait_until, watch,
};
use myriad::channel::{Receiver, Sender, bounded, unbounded};
use myriad::sync::Event;
use myriad::task::JoinSet;
use myriad::{JoinError, JoinHandle, Runtime, block_on, scope, spawn, spawn_async, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A task that is blocked in a `recv`, and the other end.
fn blocked(rt: &Runtime) -> (JoinHandle<u32>, Sender<u32>) {
    let (tx, rx) = bounded::<u32>(1);
    let (begun_tx, begun) = bounded(1);
    let h = rt.spawn(move || {
        begun_tx.send(()).unwrap();
        rx.recv().unwrap()
    });
    begun.recv().unwrap();
    asleep(rt);
    (h, tx)
}

/// All tasks of the runtime have come to their waits: each worker has run tasks since, twice. (Each
/// new group goes to the next worker. What has not begun comes before tasks of a group, most often:
/// so some more.)
fn asleep(rt: &Runtime) {
    for _ in 0..2 {
        (0..8 * rt.workers()).for_each(|_| rt.spawn(|| ()).join().unwrap());
        (0..rt.workers()).for_each(|_| task::Group::on(rt.handle(), ()).spawn(|_| ()).join().unwrap());
    }
}

#[track_caller]
fn assert_left(error: &JoinError) {
    assert!(error.is_shutdown(), "{error}");
    assert!(error.to_string().contains("was still blocked when its runtime ended"), "{error}");
}

/// Whoever joins it, before the end or after it, by whatever means, is told; the task's stack
/// stays.
#[test]
fn joiners_of_a_blocked_task_are_told() {
    each_owned(|mode, rt| {
        let (handles, ends): (Vec<_>, Vec<_>) = (0..7).map(|_| blocked(&rt)).unzip();
        let mut handles = handles.into_iter();
        let mut next = || handles.next().unwrap();
        // Before the end: a thread, a thread with a limit, a task and a future of another runtime.
        let other = mode.runtime(1);
        let (waits_tx, waits) = unbounded();
        let mut before = Vec::new();
        let (h, says) = (next(), waits_tx.clone());
        before.push(std::thread::spawn(move || {
            says.send(()).unwrap();
            h.join().unwrap_err()
        }));
        let (h, says) = (next(), waits_tx.clone());
        before.push(std::thread::spawn(move || {
            says.send(()).unwrap();
            h.join_timeout(HOUR).unwrap().unwrap_err()
        }));
        let (h, says) = (next(), waits_tx.clone());
        let joins = other.spawn(move || {
            says.send(()).unwrap();
            h.join().unwrap_err()
        });
        let (h, says) = (next(), waits_tx);
        let awaits = other.spawn_async(async move {
            says.send_async(()).await.unwrap();
            h.await.unwrap_err()
        });
        (0..4).for_each(|_| waits.recv().unwrap());
        asleep(&other);
        let report = rt.shutdown(Duration::ZERO);
        assert_eq!(report.unfinished().len(), 7, "{report}");
        before.into_iter().for_each(|thread| assert_left(&thread.join().unwrap()));
        assert_left(&joins.join().unwrap());
        assert_left(&awaits.join().unwrap());
        // After it.
        assert_left(&next().join().unwrap_err());
        assert_left(&block_on(next()).unwrap_err());
        drop(next());
        assert!(other.shutdown(crate::common::PATIENCE).is_clean());
        // What they have waited for comes now, to nobody.
        ends.iter().for_each(|tx| _ = tx.try_send(1));
    });
}

/// A future that is blocked within a poll, one with a name, one that is cancelled too late, and one
/// that nobody wants.
#[test]
fn of_whatever_kind_the_task_is() {
    each_owned(|_, rt| {
        let never = Arc::new(Event::new());
        let begun = Arc::new(Event::new());
        let body = || {
            let (never, begun) = (never.clone(), begun.clone());
            move || {
                begun.set();
                never.wait();
            }
        };
        let in_poll = body();
        let future = rt.spawn_async(async move { in_poll() });
        begun.wait();
        let named = task::Builder::new().on(rt.handle()).name("left").spawn(body());
        let id = named.id();
        let cancelled = rt.spawn(body());
        drop(rt.spawn(body()));
        asleep(&rt);
        let report = rt.shutdown(Duration::ZERO);
        assert_eq!(report.unfinished().len(), 4, "{report}");
        assert_left(&future.join().unwrap_err());
        assert_eq!(named.name().as_deref(), Some("left"));
        assert_eq!(named.id(), id);
        let error = named.join().unwrap_err();
        assert_left(&error);
        assert_eq!(error.name(), Some("left"));
        cancelled.cancel();
        assert_left(&cancelled.join().unwrap_err());
    });
}

/// The same when the last handle of the runtime is dropped in one of its own tasks.
#[test]
fn a_runtime_dropped_in_its_own_task() {
    each_owned(|_, rt| {
        let rt = Arc::new(rt);
        let again = rt.clone();
        let (go, goes) = bounded::<()>(1);
        let h = rt.spawn(move || {
            goes.recv().unwrap();
            drop(again);
            time::sleep(HOUR);
        });
        drop(rt);
        go.send(()).unwrap();
        assert_left(&h.join().unwrap_err());
    });
}

/// One task computes when the runtime ends, so nothing stands still; another is blocked. Who joins
/// that one is told when the first has come back.
#[test]
fn told_when_the_last_worker_is_back() {
    let _watch = watch("one worker late");
    for mode in MODES {
        let rt = mode.runtime(2);
        let (h, _tx) = blocked(&rt);
        let (computes, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, ends) = (computes.clone(), end.clone());
        let busy = rt.spawn(move || {
            says.store(true, SeqCst);
            compute_until(|| ends.load(SeqCst));
            5
        });
        wait_until(|| computes.load(SeqCst));
        let report = rt.shutdown(Duration::ZERO);
        assert_eq!(report.unfinished().len(), 2, "{report}");
        assert!(!h.is_finished());
        end.store(true, SeqCst);
        assert_eq!(busy.join().unwrap(), 5);
        assert_left(&h.join().unwrap_err());
    }
}

/// Sets hear of tasks that were left, from outside and from another runtime.
#[test]
fn join_sets_hear_of_it() {
    each_owned(|mode, rt| {
        let (_tx, rx) = bounded::<()>(1);
        let (hands, set) = std::sync::mpsc::channel();
        let maker = rt.spawn(move || {
            let mut set = JoinSet::new();
            for _ in 0..3 {
                let rx = rx.clone();
                set.spawn(move || _ = rx.recv());
            }
            set.spawn_async(std::future::pending());
            hands.send(set).unwrap();
        });
        maker.join().unwrap();
        let mut set: JoinSet<()> = set.recv().unwrap();
        asleep(&rt);
        drop(rt);
        let other = mode.runtime(1);
        let told = other.run(|| {
            std::iter::from_fn(|| set.join_next()).filter(|r| r.as_ref().is_err_and(JoinError::is_shutdown)).count()
        });
        assert_eq!(told, 4);
    });
}

/// Ends of channels, timers, tokens, local tasks, gangs, and calls elsewhere that are under way:
/// what is left of a runtime does no harm to others that go on, and can be used from outside.
#[test]
fn what_belongs_to_a_runtime_outlives_it() {
    each_owned(|mode, rt| {
        let (done_tx, done) = unbounded::<&'static str>();
        let (tx, rx) = bounded::<u32>(1);
        let (to, from): (Sender<u32>, Receiver<u32>) = bounded(1);
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let token = myriad::cancel::Token::new();
        let lock = Arc::new(myriad::sync::Mutex::new(0));
        let (in_call_tx, in_call) = unbounded::<()>();
        // A message is received by a task that is left; one is sent; a lock is held; a token is
        // run; a timer is set.
        let receives = {
            let rx = rx.clone();
            rt.spawn(move || rx.recv())
        };
        let sends = {
            let to = to.clone();
            rt.spawn(move || (0..3).for_each(|i| to.send(i).unwrap()))
        };
        let waits_locked = {
            let (lock, rx) = (lock.clone(), from.clone());
            rt.spawn(move || {
                let guard = lock.lock().unwrap();
                myriad::time::sleep(HOUR);
                drop((guard, rx));
            })
        };
        let in_token = {
            let token = token.clone();
            rt.spawn(move || token.run(|| time::sleep(HOUR)).is_err())
        };
        let called = {
            let done = done_tx.clone();
            rt.run(|| time::call_later(HOUR, move || done.send("never").unwrap()))
        };
        let local = rt.spawn(|| {
            task::local_scope(|s| {
                s.spawn_async(std::future::pending::<()>());
            })
        });
        let call = {
            let (says, done) = (in_call_tx.clone(), done_tx.clone());
            rt.spawn(move || {
                myriad::blocking(move || {
                    says.send(()).unwrap();
                    goes.recv().unwrap();
                    done.send("call").unwrap();
                })
            })
        };
        let computes = {
            let (says, done) = (in_call_tx.clone(), done_tx.clone());
            let (go, goes) = std::sync::mpsc::channel::<()>();
            let h = rt.spawn(move || {
                myriad::compute(move || {
                    says.send(()).unwrap();
                    goes.recv().unwrap();
                    done.send("computed").unwrap();
                })
            });
            (h, go)
        };
        (0..2).for_each(|_| in_call.recv().unwrap());
        asleep(&rt);
        let report = rt.shutdown(Duration::ZERO);
        assert!(!report.is_clean());
        for h in [waits_locked, local, call, computes.0] {
            assert_left(&h.join().unwrap_err());
        }
        assert_left(&receives.join().unwrap_err());
        assert_left(&sends.join().unwrap_err());
        assert_left(&in_token.join().unwrap_err());
        // The calls that were under way end, and wake nobody.
        go.send(()).unwrap();
        computes.1.send(()).unwrap();
        let mut ended = [done.recv().unwrap(), done.recv().unwrap()];
        ended.sort_unstable();
        assert_eq!(ended, ["call", "computed"]);
        // Others go on: the message goes to the task that was left, the next ones to whoever
        // receives.
        token.cancel();
        assert!(called.stop() || called.deadline().is_none());
        let other = mode.runtime(1);
        other.run(|| {
            tx.send(1).unwrap();
            assert_eq!((from.recv(), from.recv_timeout(HOUR).ok()), (Ok(0), Some(1)));
            assert!(lock.try_lock().is_err());
            assert_eq!(spawn(|| 1).join().unwrap() + block_on(spawn_async(async { 2 })).unwrap(), 3);
        });
        assert!(other.shutdown(crate::common::PATIENCE).is_clean());
    });
}

/// A gang is under way on a worker: the runtime's end waits for nobody, and the gang ends by
/// itself.
#[test]
fn a_gang_that_is_under_way() {
    each_owned(|_, rt| {
        let (here, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, ends) = (here.clone(), end.clone());
        let h = rt.spawn(move || {
            task::gang(2, |i| {
                says.store(true, SeqCst);
                compute_until(|| ends.load(SeqCst));
                assert!(myriad::Handle::current().is_some(), "{i}");
            });
            7
        });
        wait_until(|| here.load(SeqCst));
        drop(rt);
        end.store(true, SeqCst);
        assert_eq!(h.join().unwrap(), 7);
    });
}

/// A task waits for its gang's turn when its runtime ends: others get theirs.
#[test]
fn a_gang_that_waits_for_its_turn() {
    each_owned(|_, rt| {
        let (here, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, ends) = (here.clone(), end.clone());
        // As large as the machine: it is alone.
        let alone = std::thread::spawn(move || {
            task::gang(64, |i| {
                if i == 0 {
                    says.store(true, SeqCst);
                }
                wait_until(|| ends.load(SeqCst));
            });
        });
        wait_until(|| here.load(SeqCst));
        let begun = Arc::new(Event::new());
        let says = begun.clone();
        let h = rt.spawn(move || {
            says.set();
            task::gang(64, |_| ());
        });
        begun.wait();
        asleep(&rt);
        drop(rt);
        assert_left(&h.join().unwrap_err());
        end.store(true, SeqCst);
        alone.join().unwrap();
        task::gang(64, |_| ());
    });
}

/// A task calls `run` of a runtime that has ended. The closure is refused and dropped where nothing
/// of the call is waiting yet: what the closure has captured may wait in its destructor, and the
/// task goes on afterwards, perhaps on another worker.
#[test]
fn a_refused_run_drops_a_closure_that_waits() {
    struct Waits(Arc<AtomicBool>);
    impl Drop for Waits {
        fn drop(&mut self) {
            // While it sleeps its worker gets another task, which holds it: so the sleeper goes on
            // elsewhere.
            for _ in 0..3 {
                drop(spawn(|| std::thread::sleep(Duration::from_millis(15))));
            }
            time::sleep(Duration::from_micros(500));
            self.0.store(true, SeqCst);
        }
    }
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let ended = mode.runtime(1);
        let handle = ended.handle();
        assert!(ended.shutdown(crate::common::PATIENCE).is_clean());
        let rt = mode.runtime(2);
        for _ in 0..20 {
            let dropped = Arc::new(AtomicBool::new(false));
            let (waits, handle) = (Waits(dropped.clone()), handle);
            let refused = rt.spawn(move || {
                let refused =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handle.run(move || drop(waits))));
                time::sleep(Duration::from_millis(1));
                refused.is_err()
            });
            assert!(refused.join().unwrap());
            assert!(dropped.load(SeqCst));
        }
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// More runtimes may be left with blocked tasks, and more combinations of mode, policy and number
/// of workers may there have been, than there may be runtimes at a time, which is 256.
#[test]
fn any_number_of_runtimes_may_end() {
    let output = in_child(&[("MYRIAD_TEST_PATIENCE", "100")], || {
        let _watch = crate::common::watch_for("runtimes with blocked tasks", Duration::from_secs(100));
        for i in 0..if full_length() { 300 } else { 260 } {
            let mode = if i % 10 == 0 { Mode::Fibers } else { Mode::Threads };
            let rt = mode.runtime(1);
            let (h, _tx) = blocked(&rt);
            drop(rt);
            assert_left(&h.join().unwrap_err());
        }
        // Few workers each: to start their threads takes most of the time.
        for (workers, policy) in
            (1..if full_length() { 35 } else { 9 }).flat_map(|n| myriad::Policy::ALL.map(|policy| (n, policy)))
        {
            for mode in MODES {
                let rt = mode.builder().workers(workers).policy(policy).build().unwrap();
                assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
                assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
            }
        }
    });
    assert_ok(&output);
}

/// They cannot be told: their frames are lent to the task. The process ends with a message that
/// says what to do.
#[test]
fn who_has_lent_a_frame_ends_the_process() {
    for mode in MODES {
        for case in ["run", "run of a task", "scope"] {
            if is_child() && std::env::var("CASE").unwrap() != format!("{mode} {case}") {
                continue;
            }
            let output = in_child(&[("CASE", &format!("{mode} {case}"))], || {
                let rt = mode.runtime(1);
                let (handle, begun) = (rt.handle(), Arc::new(Event::new()));
                let says = begun.clone();
                let sleeps = move || {
                    says.set();
                    time::sleep(HOUR);
                };
                let thread = match case {
                    "run" => std::thread::spawn(move || handle.run(sleeps)),
                    "run of a task" => {
                        let other = mode.runtime(1);
                        std::thread::spawn(move || other.run(|| handle.run(sleeps)))
                    }
                    _ => {
                        let (tx, rx) = std::sync::mpsc::channel();
                        rt.run(|| {
                            tx.send(task::dedicated(move || {
                                scope(|s| {
                                    s.spawn(sleeps);
                                });
                            }))
                            .unwrap();
                        });
                        let h = rx.recv().unwrap();
                        std::thread::spawn(move || h.join().unwrap())
                    }
                };
                begun.wait();
                asleep(&rt);
                drop(rt);
                thread.join().unwrap();
            });
            assert_aborted(&output);
            let text = stderr(&output);
            assert!(text.contains("still blocked when its runtime ended") && text.contains("patience"), "{text}");
        }
    }
}

/// A waker that a worker's loop has called, and that waits: the shutdown waits for it as for a
/// task, and names it if it does not come back.
#[test]
fn a_shutdown_waits_for_user_code_that_is_no_task() {
    struct Waits {
        until: Receiver<()>,
        begun: AtomicBool,
        over: AtomicBool,
    }
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {
            self.begun.store(true, SeqCst);
            _ = self.until.recv();
            self.over.store(true, SeqCst);
        }
    }
    let called = |rt: &Runtime| {
        let (tx, until) = bounded(1);
        let waits = Arc::new(Waits { until, begun: false.into(), over: false.into() });
        let waker = Waker::from(waits.clone());
        let sleep = rt.run(move || {
            loop {
                let mut sleep = Box::pin(time::sleep_async(Duration::from_millis(1)));
                // (On a machine that stands still its time may be over at the first look.)
                if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                    return sleep;
                }
            }
        });
        wait_until(|| waits.begun.load(SeqCst));
        // (It stays for as long as the waker may be called.)
        std::mem::forget(sleep);
        (tx, waits)
    };
    each_owned(|mode, rt| {
        let (tx, waits) = called(&rt);
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            tx.send(()).unwrap();
        });
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(waits.over.load(SeqCst), "{mode}: {report}");
        assert!(report.is_clean(), "{mode}: {report}");
        ends.join().unwrap();
    });
    each_owned(|mode, rt| {
        let (_tx, waits) = called(&rt);
        let report = rt.shutdown(Duration::from_millis(20));
        assert!(!waits.over.load(SeqCst));
        let [left] = report.unfinished() else { panic!("{mode}: {report}") };
        assert_eq!(left.state(), myriad::State::UserCode, "{mode}: {report}");
        assert!(report.to_string().contains("a waker, a hook or a destructor"), "{mode}: {report}");
    });
}
