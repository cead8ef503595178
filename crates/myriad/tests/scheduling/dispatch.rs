//! Entering a task at once, in place of the caller: a new one (`dispatch`), or one that waits in a
//! queue (`yield_to`).

use crate::common::{MODES, case, each, each_owned, wait_until};
use myriad::channel::{bounded, unbounded};
use myriad::sync::{Event, Mutex};
use myriad::task::{Builder, Priority, YieldedTo, dispatch};
use myriad::{Policy, Runtime, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Dropped once.
struct Counted(Arc<AtomicUsize>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

type Log = Arc<Mutex<Vec<&'static str>>>;

fn log() -> (Log, impl Fn(&'static str) + Clone + Send + 'static) {
    let log = Log::default();
    let log2 = log.clone();
    (log, move |text| log2.lock().unwrap().push(text))
}

/// One worker, in both modes, and nobody who takes its place when the system keeps it from running,
/// so that the order is decided.
fn alone(f: impl Fn(&Runtime)) {
    for mode in MODES {
        case(mode, 1, |builder| builder.pin_workers(false).spare_workers(0), &f);
    }
}

/// It has run, up to where it blocks, before the caller goes on; and before all that was queued.
#[test]
fn entered_before_the_caller_goes_on() {
    alone(|rt| {
        rt.run(|| {
            let ((log, say), go_on) = (log(), Arc::new(Event::new()));
            let (s, s2, s3, e) = (say.clone(), say.clone(), say.clone(), go_on.clone());
            let queued = myriad::spawn(move || s("queued"));
            let child = dispatch(move || {
                s2("child");
                let grandchild = dispatch(move || s3("grandchild"));
                s2("child again");
                e.wait();
                grandchild.join().unwrap();
                "done"
            });
            say("caller");
            go_on.set();
            assert_eq!(child.join().unwrap(), "done");
            queued.join().unwrap();
            let log = log.lock().unwrap();
            assert_eq!(log[0..2], ["child", "grandchild"]);
            let at = |text| log.iter().position(|t| *t == text).unwrap();
            assert!(at("caller") < at("child again"), "both were set aside, first come, first served: {log:?}");
        });
    });
}

/// The caller stands behind those that were ready before it.
#[test]
fn the_caller_is_behind_the_ready() {
    alone(|rt| {
        rt.run(|| {
            let ((log, say), go_on) = (log(), Arc::new(Event::new()));
            let ready = {
                let (say, go_on) = (say.clone(), go_on.clone());
                dispatch(move || {
                    go_on.wait();
                    say("ready");
                })
            };
            go_on.set();
            let s = say.clone();
            let child = dispatch(move || s("child"));
            say("caller");
            assert_eq!(*log.lock().unwrap(), ["child", "ready", "caller"]);
            ready.join().unwrap();
            child.join().unwrap();
        });
    });
}

/// Under every policy, with every class; and with the name, the token and the pool of a builder.
#[test]
fn whatever_the_policy() {
    for policy in [Policy::WorkStealing, Policy::DepthFirst, Policy::SharedQueue, Policy::RoundRobin] {
        for mode in MODES {
            case(
                mode,
                1,
                // (Without spares nobody else goes on with what is set aside, however long the
                // system keeps the worker from running.)
                |builder| builder.policy(policy).pin_workers(false).spare_workers(0),
                |rt| {
                    rt.run(|| {
                        let others: Vec<_> = (0..70).map(|_| myriad::spawn(|| ())).collect();
                        for class in [Priority::Default, Priority::Interactive, Priority::Background] {
                            let begun = Arc::new(AtomicUsize::new(0));
                            let b = begun.clone();
                            let token = myriad::cancel::Token::new();
                            let task =
                                Builder::new().priority(class).name("entered").token(&token).dispatch(move || {
                                    b.store(1, SeqCst);
                                    Event::new().wait();
                                });
                            assert_eq!(
                                (begun.load(SeqCst), task.name().as_deref()),
                                (1, Some("entered")),
                                "{policy:?}"
                            );
                            token.cancel();
                            assert!(task.join().unwrap_err().is_cancelled());
                            // One that is queued, whatever stands before it, behind it, or beside
                            // it.
                            let _other = myriad::spawn(|| ());
                            let queued = myriad::spawn(|| 7);
                            let _another = myriad::spawn(|| ());
                            assert_eq!(
                                (queued.yield_to(), queued.is_finished()),
                                (YieldedTo::Entered, true),
                                "{policy:?}"
                            );
                            assert_eq!((queued.yield_to(), queued.join().unwrap()), (YieldedTo::Ended, 7));
                        }
                        others.into_iter().for_each(|task| task.join().unwrap());
                    });
                },
            );
        }
    }
}

/// Where nobody can be set aside for it, it is queued.
#[test]
fn as_spawn_elsewhere() {
    // (A spare would run what is queued behind the task that looks.)
    let rt = myriad::Builder::new().workers(1).spare_workers(0).pool("other", 1).build().unwrap();
    assert_eq!(Builder::new().on(rt.handle()).dispatch(|| 1).join().unwrap(), 1, "a foreign thread");
    rt.run(|| {
        let caller = std::thread::current().id();
        let task = Builder::new().pool("other").dispatch(|| std::thread::current().id());
        assert_ne!(task.join().unwrap(), caller, "another pool");
        // A destructor that runs because of a panic.
        struct Dispatches(Arc<AtomicUsize>);
        impl Drop for Dispatches {
            fn drop(&mut self) {
                let count = self.0.clone();
                drop(dispatch(move || count.fetch_add(1, SeqCst)));
                assert_eq!(self.0.load(SeqCst), 0, "it is not set aside");
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        let dispatches = Dispatches(count.clone());
        let panicking = myriad::spawn(move || {
            let _dispatches = dispatches;
            panic!("on purpose");
        });
        assert!(panicking.join().is_err());
        while count.load(SeqCst) == 0 {
            yield_now();
        }
    });
    // A foreign thread yields its processor only.
    let (tx, rx) = bounded::<()>(1);
    let task = rt.spawn(move || rx.recv());
    assert_eq!(task.yield_to(), YieldedTo::Yielded);
    drop(tx);
    assert!(task.join().unwrap().is_err());
    assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
}

/// In a future: entered on another stack while the poll stands.
#[test]
fn in_a_future() {
    alone(|rt| {
        rt.run(|| {
            let future = myriad::spawn_async(async {
                let begun = Arc::new(AtomicUsize::new(0));
                let b = begun.clone();
                let task = dispatch(move || b.fetch_add(1, SeqCst));
                assert_eq!(begun.load(SeqCst), 1);
                task.await.unwrap()
            });
            assert_eq!(future.join().unwrap(), 0);
        });
    });
}

/// A caller that is cancelled while it stands aside unwinds; what it has entered runs on.
#[test]
fn a_cancelled_caller() {
    alone(|rt| {
        rt.run(|| {
            let ((tx, rx), (begun, has_begun)) = (unbounded(), bounded(1));
            let caller = myriad::spawn(move || {
                let me = has_begun.recv().unwrap();
                drop(dispatch(move || {
                    let me: Arc<Mutex<Option<myriad::JoinHandle<()>>>> = me;
                    me.lock().unwrap().as_ref().unwrap().cancel();
                    tx.send("it runs on").unwrap();
                }));
                unreachable!("cancelled when it goes on");
            });
            let caller = Arc::new(Mutex::new(Some(caller)));
            begun.send(caller.clone()).unwrap();
            assert_eq!(rx.recv(), Ok("it runs on"));
            let caller = caller.lock().unwrap().take().unwrap();
            assert!(caller.join().unwrap_err().is_cancelled());
        });
    });
}

/// One that has begun goes on in its turn; a panic reaches who joins.
#[test]
fn yielding_to_one_that_has_begun() {
    alone(|rt| {
        rt.run(|| {
            let (go_on, ended) = (Arc::new(Event::new()), Arc::new(AtomicUsize::new(0)));
            let (e, n) = (go_on.clone(), ended.clone());
            let task = myriad::spawn(move || {
                e.wait();
                n.store(1, SeqCst);
                panic!("on purpose");
            });
            assert_eq!(task.yield_to(), YieldedTo::Entered);
            assert_eq!(task.yield_to(), YieldedTo::Yielded, "it waits");
            assert_eq!(ended.load(SeqCst), 0);
            go_on.set();
            assert_eq!(task.yield_to(), YieldedTo::Yielded);
            assert_eq!((ended.load(SeqCst), task.yield_to()), (1, YieldedTo::Ended), "it was ready");
            assert!(task.join().unwrap_err().is_panic());
        });
    });
}

/// Timers, messages from outside and queued tasks have their turns while tasks enter tasks, without
/// end.
#[test]
fn nothing_starves() {
    each(&[1, 2], |rt| {
        let stop = Arc::new(AtomicUsize::new(0));
        let (s, s2) = (stop.clone(), stop.clone());
        let entering = rt.spawn(move || {
            let mut n = 0;
            while s.load(SeqCst) < 2 {
                n += dispatch(|| 1).join().unwrap();
            }
            n
        });
        let timer = rt.spawn(move || {
            myriad::time::sleep(Duration::from_millis(2));
            s2.fetch_add(1, SeqCst);
        });
        rt.run(|| stop.fetch_add(1, SeqCst));
        assert!(entering.join().unwrap() > 0);
        timer.join().unwrap();
    });
}

/// The same where each task that is entered enters the next one, and none comes to its end
/// meanwhile.
#[test]
fn nothing_starves_below_a_chain() {
    /// How far it went.
    fn chain(stop: &Arc<AtomicUsize>, depth: usize) -> usize {
        if stop.load(SeqCst) > 0 || depth == 3000 {
            return depth;
        }
        let stop = stop.clone();
        dispatch(move || chain(&stop, depth + 1)).join().unwrap()
    }
    alone(|rt| {
        let stop = Arc::new(AtomicUsize::new(0));
        let s = stop.clone();
        rt.run(|| {
            let queued = myriad::spawn(move || s.fetch_add(1, SeqCst));
            let depth = chain(&stop, 0);
            assert!(depth < 1000, "{depth} tasks were entered before one that had been queued");
            queued.join().unwrap();
        });
    });
}

/// Trees of tasks that enter each other, yield to each other and join, on all workers: each runs
/// once.
#[test]
fn many() {
    fn tree(depth: usize, runs: &Arc<AtomicUsize>) -> usize {
        runs.fetch_add(1, SeqCst);
        if depth == 0 {
            return 1;
        }
        let spawn = |kind: usize| {
            let runs = runs.clone();
            let f = move || tree(depth - 1, &runs);
            if kind == 0 { dispatch(f) } else { myriad::spawn(f) }
        };
        let children = [spawn(0), spawn(1), spawn(0), spawn(1)];
        children[1].yield_to();
        children.into_iter().map(|child| child.join().unwrap()).sum()
    }
    each(&[1, 2], |rt| {
        let runs = Arc::new(AtomicUsize::new(0));
        let r = runs.clone();
        assert_eq!(rt.run(move || tree(5, &r)), 1024);
        assert_eq!(runs.load(SeqCst), 1 + 4 + 16 + 64 + 256 + 1024);
    });
}

/// The runtime ends while tasks enter tasks: each has run, or is dropped; nobody is lost.
#[test]
fn the_runtime_ends_meanwhile() {
    each_owned(|_, rt| {
        let (made, dropped) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        for _ in 0..4 {
            let (made, dropped) = (made.clone(), dropped.clone());
            drop(rt.spawn(move || {
                loop {
                    made.fetch_add(1, SeqCst);
                    let counted = Counted(dropped.clone());
                    drop(dispatch(move || drop(counted)));
                }
            }));
        }
        while made.load(SeqCst) < 100 {
            std::thread::yield_now();
        }
        drop(rt.shutdown(Duration::ZERO));
        // At most one in each frame that stands. (A worker that the machine does not let come back
        // in time goes on until then.)
        wait_until(|| {
            let dropped = dropped.load(SeqCst);
            made.load(SeqCst) - dropped <= 4
        });
    });
}
