//! Parallel loops that do not end as usual: panics are collected, payloads dropped once, and a
//! cancelled loop ends as a whole.

use super::par_loops::{SCHEDULES, settings};
use crate::common::{Drops, catch_planned, each, in_both_modes, locked, plan, text, wait_until};
use myriad::par::{self, Loop};
use myriad::{cancel, time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// The panics of the very last numbers have their numbers.
#[test]
fn panics_at_the_end_of_all_numbers() {
    in_both_modes(|rt| {
        rt.run(|| {
            for settings in SCHEDULES.map(|schedule| Loop::new(usize::MAX - 40..usize::MAX).schedule(schedule)) {
                for settings in [
                    settings.clone(),
                    settings.clone().grain(1),
                    settings.clone().grain(usize::MAX),
                    settings.tasks(40),
                ] {
                    let runs = AtomicUsize::new(0);
                    let panics = settings.try_run(|i| {
                        runs.fetch_add(1, Relaxed);
                        if i >= usize::MAX - 2 {
                            plan("late");
                        }
                    });
                    assert!(panics.unwrap_err().iter().map(|(number, _)| number).eq([38, 39]));
                    assert_eq!(runs.into_inner(), 40);
                }
            }
        });
    });
}

#[test]
fn all_panics_are_collected_and_all_others_run() {
    in_both_modes(|rt| {
        for settings in settings(500) {
            let hits: Vec<AtomicUsize> = (0..500).map(|_| AtomicUsize::new(0)).collect();
            let body = |i: usize| {
                hits[i].fetch_add(1, Relaxed);
                if i % 100 == 42 || i == 499 {
                    plan(&format!("number {i}"));
                }
            };
            let panics = rt.run(|| settings.clone().try_run(body)).unwrap_err();
            assert!(hits.iter().all(|hits| hits.load(Relaxed) == 1), "{settings:?}");
            let list: Vec<_> = panics.iter().map(|(i, payload)| (i, text(payload).to_owned())).collect();
            let expected = [42, 142, 242, 342, 442, 499].map(|i| (i, format!("planned: number {i}")));
            assert_eq!(list, expected, "{settings:?}");
            catch_planned("number 42", || rt.run(|| settings.run(body)));
        }
    });
}

/// None is lost, and none is dropped twice: payloads, and what bodies own.
#[test]
fn payloads_are_dropped_once() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        let body = |i: usize| {
            let own = drops.one();
            if i.is_multiple_of(3) {
                std::panic::resume_unwind(Box::new(own));
            }
        };
        let panics = rt.run(|| Loop::new(0..300).try_run(body)).unwrap_err();
        assert_eq!((panics.len(), drops.made() - drops.dropped()), (100, 100));
        drop(panics);
        drops.assert_all(300);
        drop(crate::common::catch(|| rt.run(|| Loop::new(0..300).run(body))));
        drops.assert_all(600);
    });
}

/// A payload whose destructor panics harms nobody.
#[test]
fn payloads_that_panic_when_dropped() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("dropped");
        }
    }
    in_both_modes(|rt| {
        let ran = AtomicUsize::new(0);
        let panics = rt.run(|| {
            Loop::new(0..20).try_run(|_| {
                ran.fetch_add(1, Relaxed);
                std::panic::resume_unwind(Box::new(Bad));
            })
        });
        drop(panics.unwrap_err());
        assert_eq!(ran.load(Relaxed), 20);
    });
}

/// A loop is cancelled when one of its bodies has panicked: that payload is dropped while the
/// caller unwinds, and its destructor panics.
#[test]
fn payloads_that_panic_when_dropped_by_a_cancellation() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("the payload's destructor")
        }
    }
    each(&[1, 2], |rt| {
        for schedule in SCHEDULES {
            let drops = Drops::new();
            let token = cancel::Token::new();
            let ended = rt.run(|| {
                token.run(|| {
                    let one = Mutex::new(Some((Bad, drops.one())));
                    Loop::new(0..2).grain(1).schedule(schedule).run(|_| {
                        if let Some(payload) = locked(&one).take() {
                            std::panic::resume_unwind(Box::new(payload));
                        }
                        token.cancel();
                        time::sleep(Duration::from_secs(3600));
                    });
                })
            });
            assert!(ended.is_err(), "{schedule:?}");
            drops.assert_all(1);
        }
    });
}

/// The whole loop ends, then the caller unwinds.
#[test]
fn cancelled_in_the_middle() {
    in_both_modes(|rt| {
        for schedule in SCHEDULES {
            let (began, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let state = std::sync::Arc::new((began, ended));
            let s = state.clone();
            let h = rt.spawn(move || {
                Loop::new(0..1000).schedule(schedule).run(|_| {
                    s.0.fetch_add(1, SeqCst);
                    let _end = OnDrop(|| _ = s.1.fetch_add(1, SeqCst));
                    time::sleep(Duration::from_secs(3600));
                });
            });
            wait_until(|| state.0.load(SeqCst) > 0);
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            let began = state.0.load(SeqCst);
            assert!(began < 1000 && state.1.load(SeqCst) == began, "{schedule:?}: {began} of 1000");
        }
    });
}

/// Bodies that compute are not interrupted, but no more of them begin.
#[test]
fn cancelled_between_bodies() {
    in_both_modes(|rt| {
        let ran = std::sync::Arc::new(AtomicUsize::new(0));
        let r = ran.clone();
        let h = rt.spawn(move || {
            Loop::new(0..usize::MAX).grain(1).run(|_| _ = r.fetch_add(1, Relaxed));
        });
        wait_until(|| ran.load(Relaxed) > 0);
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
        let token = cancel::Token::new();
        let cancelled = rt.run(|| {
            token.run(|| {
                par::for_each_index(0..usize::MAX, |i| {
                    if i == 10 {
                        token.cancel()
                    }
                })
            })
        });
        assert!(cancelled.is_err());
    });
}

struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
