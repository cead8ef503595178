//! When in a task's life a cancellation comes; and what the task does about it.

use crate::common::{Drops, Mode, case, catch, in_both_modes, plan, wait_until};
use myriad::cancel::{self, Cancelled};
use myriad::channel::{bounded, unbounded};
use myriad::time::sleep;
use myriad::{Unhandled, scope, spawn, yield_now};
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A flag for a task to say that it has begun.
fn begun() -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (flag.clone(), flag)
}

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn before_it_begins_it_never_does() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let begun = Arc::new(AtomicUsize::new(0));
            let hs: Vec<_> = (0..100)
                .map(|_| {
                    let (held, begun) = (drops.one(), begun.clone());
                    spawn(move || {
                        let _held = held;
                        begun.fetch_add(1, SeqCst);
                        sleep(LONG);
                    })
                })
                .collect();
            hs.iter().for_each(|h| h.cancel());
            for h in hs {
                assert!(h.join().unwrap_err().is_cancelled());
            }
            drops.assert_all(100);
            if rt.workers() == 1 {
                assert_eq!(begun.load(SeqCst), 0);
            }
        });
    });
}

#[test]
fn after_its_end_nothing_happens() {
    in_both_modes(|rt| {
        rt.run(|| {
            let h = spawn(|| 42);
            wait_until(|| h.is_finished());
            h.cancel();
            h.cancel();
            assert_eq!(h.join().unwrap(), 42);
        });
    });
}

#[test]
fn twice_is_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let caught = Arc::new(AtomicUsize::new(0));
            let counts = caught.clone();
            let (begun, says) = begun();
            let h = spawn(move || {
                says.store(true, SeqCst);
                let result = catch_unwind(|| sleep(LONG));
                counts.fetch_add(1, SeqCst);
                resume_unwind(result.unwrap_err());
            });
            wait_until(|| begun.load(SeqCst));
            h.cancel();
            h.cancel();
            wait_until(|| h.is_finished());
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            assert_eq!(caught.load(SeqCst), 1);
        });
    });
}

#[test]
fn while_it_runs_at_its_next_blocking_point() {
    in_both_modes(|rt| {
        let (begun, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, waits) = (begun.clone(), go.clone());
        let h = rt.spawn(move || {
            says.store(true, SeqCst);
            while !waits.load(SeqCst) {
                std::hint::spin_loop();
            }
            assert!(cancel::is_cancelled());
            yield_now();
            unreachable!("a yield is a blocking point");
        });
        wait_until(|| begun.load(SeqCst));
        h.cancel();
        go.store(true, SeqCst);
        assert!(h.join().unwrap_err().is_cancelled());
    });
}

#[test]
fn by_itself() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<myriad::JoinHandle<()>>(1);
            let (back, handles) = bounded(1);
            let h = spawn(move || {
                let own = rx.recv().unwrap();
                own.cancel();
                back.send(own).unwrap();
                sleep(LONG);
            });
            tx.send(h).unwrap();
            let h = handles.recv().unwrap();
            assert!(h.join().unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_message_that_was_handed_over_is_not_lost() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded::<u32>();
            let (out, results) = unbounded();
            let begun = Arc::new(AtomicBool::new(false));
            let says = begun.clone();
            let h = spawn(move || {
                says.store(true, SeqCst);
                let got = rx.recv().unwrap();
                out.send(got).unwrap();
                sleep(LONG);
            });
            wait_until(|| begun.load(SeqCst));
            // On one worker: the message first, then the cancellation, before the task goes on.
            tx.send(1).unwrap();
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            if rt.workers() == 1 {
                assert_eq!(results.try_recv(), Ok(1));
            }
        });
    });
}

#[test]
fn a_shield_keeps_it_off() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (inside, after) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (says, ends) = (inside.clone(), after.clone());
            let (tx, rx) = bounded::<()>(1);
            let h = spawn(move || {
                cancel::shield(|| {
                    says.store(true, SeqCst);
                    rx.recv().unwrap();
                    assert!(!cancel::is_cancelled());
                });
                ends.store(true, SeqCst);
                assert!(cancel::is_cancelled());
                sleep(LONG);
            });
            wait_until(|| inside.load(SeqCst));
            yield_now();
            h.cancel();
            for _ in 0..10 {
                yield_now();
            }
            assert!(!h.is_finished());
            tx.send(()).unwrap();
            assert!(h.join().unwrap_err().is_cancelled());
            assert!(after.load(SeqCst));
        });
    });
}

/// A destructor that runs because of a cancellation blocks in peace.
#[test]
fn a_destructor_that_blocks() {
    struct Goodbye(myriad::channel::Sender<u32>, u32);
    impl Drop for Goodbye {
        fn drop(&mut self) {
            yield_now();
            sleep(Duration::from_micros(50));
            self.0.send(self.1).unwrap();
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let hs: Vec<_> = (0..20)
                .map(|i| {
                    let bye = Goodbye(tx.clone(), i);
                    spawn(move || {
                        let _bye = bye;
                        sleep(LONG);
                    })
                })
                .collect();
            sleep(Duration::from_millis(1));
            hs.iter().for_each(|h| h.cancel());
            let mut got: Vec<u32> = (0..20).map(|_| rx.recv().unwrap()).collect();
            got.sort_unstable();
            assert_eq!(got, (0..20).collect::<Vec<_>>());
            for h in hs {
                h.cancel();
                assert!(h.join().unwrap_err().is_cancelled());
            }
        });
    });
}

#[test]
fn caught_it_comes_again() {
    in_both_modes(|rt| {
        rt.run(|| {
            let times = Arc::new(AtomicUsize::new(0));
            let counts = times.clone();
            let h = spawn(move || {
                for _ in 0..3 {
                    let payload = catch(|| sleep(LONG));
                    assert!(payload.is::<Cancelled>());
                    // As long as the payload is there, the unwinding is not over.
                    sleep(Duration::from_micros(10));
                    drop(payload);
                    counts.fetch_add(1, SeqCst);
                }
                sleep(LONG);
            });
            while times.load(SeqCst) == 0 {
                h.cancel();
                yield_now();
                if h.is_finished() {
                    break; // it never began
                }
            }
            let begun = times.load(SeqCst) > 0;
            assert!(h.join().unwrap_err().is_cancelled());
            assert_eq!(times.load(SeqCst), if begun { 3 } else { 0 });
        });
    });
}

#[test]
fn nobody_hears_a_panic() {
    for mode in crate::common::MODES {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = heard.clone();
        let hook = Unhandled::Hook(Arc::new(move |text: &str| crate::common::locked(&hears).push(text.to_owned())));
        case(
            mode,
            2,
            |b| b.on_unhandled_panic(hook),
            |rt| {
                rt.run(|| {
                    let drops = Drops::new();
                    scope(|s| {
                        let held = drops.one();
                        let h = s.spawn(move || (sleep(LONG), held));
                        h.cancel();
                        // Dropped: a cancellation is no error of the scope.
                    });
                    drops.assert_all(1);
                    let held = drops.one();
                    let h = spawn(move || (sleep(LONG), held));
                    h.cancel();
                    drop(h);
                    drops.wait_all(2);
                });
            },
        );
        assert_eq!(*crate::common::locked(&heard), Vec::<String>::new(), "{mode}");
    }
}

/// A panic is a panic, also of a task that is cancelled.
#[test]
fn a_panic_on_the_way_counts() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                plan("in a destructor");
            }
        }
    }
    case(
        Mode::Threads,
        1,
        |b| b,
        |rt| {
            rt.run(|| {
                let h = spawn(move || {
                    let _bad = Bad;
                });
                h.cancel();
                // It never began: its closure holds nothing. One that holds it:
                assert!(h.join().unwrap_err().is_cancelled());
                let bad = Bad;
                let h = spawn(move || drop(bad));
                h.cancel();
                assert!(h.join().unwrap_err().is_panic());
            });
        },
    );
}
