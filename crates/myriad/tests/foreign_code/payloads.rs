//! Payloads of cancellations that are forgotten, or go elsewhere.

use crate::common::{Mode, PLANNED, plan, quiet, wait_until, watch};
use myriad::{Runtime, spawn, time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

type Payload = Box<dyn Any + Send>;

/// A payload that nobody ever drops: like `mem::forget`, which a leak checker would report.
fn keep(payload: Payload) {
    static KEPT: Mutex<Vec<Payload>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(payload);
}

/// A task is cancelled, and `keep` gets the payload, on the task's thread.
fn cancelled(rt: &Runtime, keep: impl FnOnce(Payload) + Send + 'static) {
    let begun = Arc::new(AtomicBool::new(false));
    let says = begun.clone();
    let h = rt.spawn(move || {
        says.store(true, SeqCst);
        keep(catch_unwind(|| time::sleep(HOUR)).unwrap_err());
    });
    wait_until(|| begun.load(SeqCst));
    h.cancel();
    h.join().unwrap();
}

/// Waits in its destructor, and is cancelled there.
struct Sleeps(Arc<AtomicBool>, Arc<AtomicBool>);

impl Drop for Sleeps {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
        crate::common::compute_until(|| self.1.load(SeqCst));
        time::sleep(Duration::from_millis(10));
    }
}

/// A task panics, and is cancelled while it waits in a destructor for that reason: it is spared
/// there.
fn panics_and_is_cancelled(rt: &Runtime) {
    let (inside, cancelled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (says, waits) = (inside.clone(), cancelled.clone());
    let h = rt.spawn(move || {
        let _sleeps = Sleeps(says, waits);
        plan("unwinds");
    });
    wait_until(|| inside.load(SeqCst));
    h.cancel();
    cancelled.store(true, SeqCst);
    let error = h.join().unwrap_err();
    assert!(error.is_panic() && error.to_string().contains(PLANNED), "{error}");
}

/// On the one thread of the one worker.
fn with_a_runtime(body: impl FnOnce(&Runtime)) {
    quiet();
    let _watch = watch("threads mode");
    let rt = Mode::Threads.builder().workers(1).spare_workers(0).build().unwrap();
    body(&rt);
    let report = rt.shutdown(crate::common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

#[test]
fn one_that_is_forgotten() {
    with_a_runtime(|rt| {
        cancelled(rt, keep);
        panics_and_is_cancelled(rt);
    });
}

#[test]
fn one_that_goes_to_another_thread() {
    with_a_runtime(|rt| {
        let (tx, rx) = std::sync::mpsc::channel();
        cancelled(rt, move |payload| tx.send(payload).unwrap());
        drop(rx.recv().unwrap());
        panics_and_is_cancelled(rt);
    });
}

#[test]
fn one_that_goes_to_another_task() {
    with_a_runtime(|rt| {
        let (tx, rx) = myriad::channel::bounded(1);
        cancelled(rt, move |payload| tx.send(payload).unwrap());
        rt.spawn(move || drop(rx.recv().unwrap())).join().unwrap();
        panics_and_is_cancelled(rt);
    });
}

/// The same task goes on, panics, and its time is over in a destructor because of that panic: it is
/// spared.
#[test]
fn one_that_the_same_task_has_forgotten() {
    with_a_runtime(|rt| {
        let limit = rt.spawn(|| {
            let caught = catch_unwind(|| _ = time::timeout(HOUR, || myriad::cancel::Token::new().run(|| plan("no"))));
            assert!(caught.is_err());
            let payload = catch_unwind(|| {
                let token = myriad::cancel::Token::new();
                let other = token.clone();
                drop(spawn(move || other.cancel()));
                // Caught within the region, whose payload is then forgotten.
                _ = token.run(|| keep(catch_unwind(|| time::sleep(HOUR)).unwrap_err()));
            });
            assert!(payload.is_ok());
            struct Late;
            impl Drop for Late {
                fn drop(&mut self) {
                    time::sleep(Duration::from_millis(40));
                }
            }
            let result = catch_unwind(AssertUnwindSafe(|| {
                time::timeout(Duration::from_millis(5), || {
                    let _late = Late;
                    plan("unwinds");
                })
            }));
            crate::common::text(&*result.unwrap_err()).to_string()
        });
        assert_eq!(limit.join().unwrap(), format!("{PLANNED}unwinds"));
    });
}

/// A foreign thread has regions too.
#[test]
fn one_that_a_foreign_thread_has_forgotten() {
    quiet();
    let _watch = watch("a foreign thread");
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            time::sleep(Duration::from_millis(40));
        }
    }
    let thread = std::thread::spawn(|| {
        let first = time::timeout(Duration::from_millis(5), || {
            keep(catch_unwind(|| time::sleep(HOUR)).unwrap_err());
        });
        assert!(first.is_ok());
        let result = catch_unwind(|| {
            time::timeout(Duration::from_millis(5), || {
                let _late = Late;
                plan("unwinds");
            })
        });
        crate::common::text(&*result.unwrap_err()).to_string()
    });
    assert_eq!(thread.join().unwrap(), format!("{PLANNED}unwinds"));
}

/// What must go on to work: in a destructor that runs because of a panic, or of a cancellation,
/// limits are kept.
#[test]
fn limits_in_destructors_are_kept() {
    struct Limited(Arc<AtomicBool>);
    impl Drop for Limited {
        fn drop(&mut self) {
            let over = time::timeout(Duration::from_millis(5), || time::sleep(HOUR)).is_err();
            let joined = spawn(|| time::timeout(Duration::from_millis(5), || time::sleep(HOUR)).is_err()).join();
            self.0.store(over && joined.unwrap(), SeqCst);
        }
    }
    with_a_runtime(|rt| {
        for cancels in [true, false] {
            let (begun, kept) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (says, keeps) = (begun.clone(), kept.clone());
            let h = rt.spawn(move || {
                let _limited = Limited(keeps);
                says.store(true, SeqCst);
                if cancels { time::sleep(HOUR) } else { plan("unwinds") }
            });
            wait_until(|| begun.load(SeqCst));
            h.cancel();
            assert!(h.join().is_err());
            assert!(kept.load(SeqCst), "{cancels}");
        }
    });
}

/// Payloads that were carried away are dropped by a later task, whose record is in the same memory:
/// earlier tasks' unwindings end, and not what keeps cancellations off there. Here that is the
/// destructor of a result that nobody wants.
#[test]
fn of_an_earlier_task_in_the_same_memory() {
    #[derive(Default)]
    struct Both {
        payloads: Mutex<Vec<Payload>>,
        earlier_begun: AtomicUsize,
        later_begun: AtomicBool,
        later_cancelled: AtomicBool,
        whole: AtomicUsize,
    }
    struct DropsIt(Arc<Both>);
    impl Drop for DropsIt {
        fn drop(&mut self) {
            let payloads = std::mem::take(&mut *self.0.payloads.lock().unwrap());
            drop(payloads);
            // The task is cancelled: a wait that could be ended would be.
            time::sleep(Duration::from_millis(1));
            self.0.whole.fetch_add(1, SeqCst);
        }
    }
    with_a_runtime(|rt| {
        const ROUNDS: usize = 50;
        let whole = rt.run(|| {
            let mut same = 0;
            for _ in 0..ROUNDS {
                let both = Arc::new(Both::default());
                // (Both closures are of one size, so that the record which was freed last is the
                // next one.)
                for n in 1..4 {
                    let its = both.clone();
                    let earlier = spawn(move || {
                        its.earlier_begun.store(n, SeqCst);
                        let payload = catch_unwind(|| time::sleep(HOUR)).unwrap_err();
                        its.payloads.lock().unwrap().push(payload);
                    });
                    wait_until(|| both.earlier_begun.load(SeqCst) == n);
                    earlier.cancel();
                    earlier.join().unwrap();
                    assert_eq!(both.payloads.lock().unwrap().len(), n);
                }
                let its = both.clone();
                let later = spawn(move || {
                    its.later_begun.store(true, SeqCst);
                    while !its.later_cancelled.load(SeqCst) {
                        myriad::cancel::shield(myriad::yield_now);
                    }
                    DropsIt(its)
                });
                wait_until(|| {
                    myriad::yield_now();
                    both.later_begun.load(SeqCst)
                });
                later.cancel();
                both.later_cancelled.store(true, SeqCst);
                drop(later);
                // The record is done for good when its result has been dropped.
                wait_until(|| Arc::strong_count(&both) == 1);
                same += both.whole.load(SeqCst);
            }
            same
        });
        assert_eq!(whole, ROUNDS);
    });
}
