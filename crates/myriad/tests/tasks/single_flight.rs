//! Work that is done once for all who want it at the same time.

use crate::common::{PLANNED, in_both_modes, wait_until};
use myriad::sync::SingleFlight;
use myriad::{channel, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// How many have come to wait: what the work looks at before it ends. (They say so just before they
/// ask.)
fn crowd(rt: &myriad::Runtime, waiting: usize, key: &'static str) -> (Vec<(usize, bool)>, usize) {
    let flights = Arc::new(SingleFlight::new());
    let (asked, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (go, gate) = channel::bounded::<()>(1);
    let results = rt.run(|| {
        let first = {
            let (flights, done, asked) = (flights.clone(), done.clone(), asked.clone());
            spawn(move || {
                flights.run(key, || {
                    asked.fetch_add(1, SeqCst);
                    gate.recv().unwrap();
                    done.fetch_add(1, SeqCst)
                })
            })
        };
        wait_until(|| asked.load(SeqCst) == 1);
        let others: Vec<_> = (0..waiting)
            .map(|_| {
                let (flights, done, asked) = (flights.clone(), done.clone(), asked.clone());
                spawn(move || {
                    asked.fetch_add(1, SeqCst);
                    flights.run(key, || done.fetch_add(1, SeqCst))
                })
            })
            .collect();
        wait_until(|| asked.load(SeqCst) == 1 + waiting);
        go.send(()).unwrap();
        let mut results = vec![first.join().unwrap()];
        results.extend(others.into_iter().map(|other| other.join().unwrap()));
        results
    });
    assert_eq!(format!("{flights:?}"), "SingleFlight { under_way: 0 }");
    (results, done.load(SeqCst))
}

#[test]
fn once_for_all_who_wait() {
    in_both_modes(|rt| {
        let (results, done) = crowd(rt, 20, "key");
        assert_eq!(results[0], (0, false));
        // One who has said that it asks, and asks only when all is over, does the work again.
        assert_eq!(results.iter().filter(|(_, shared)| !shared).count(), done);
        assert!(results.iter().all(|&(value, _)| value < done));
    });
}

#[test]
fn each_key_has_its_own() {
    in_both_modes(|rt| {
        rt.run(|| {
            let flights = SingleFlight::new();
            let (here, there) = (channel::rendezvous::<()>(), channel::rendezvous::<()>());
            // Both are under way at the same time, or they would wait for each other for ever.
            scope(|s| {
                s.spawn(|| {
                    flights.run(1, || here.0.send(()).and_then(|()| there.1.recv().map_err(|_| unreachable!())))
                });
                s.spawn(|| {
                    flights.run(2, || here.1.recv().map(|()| there.0.send(()).unwrap()).map_err(|_| unreachable!()))
                });
            });
            // It is no cache.
            assert_eq!(flights.run(1, || Ok(())), (Ok(()), false));
        });
    });
}

#[test]
fn after_a_panic_or_a_cancellation_another_one_works() {
    in_both_modes(|rt| {
        rt.run(|| {
            for cancel in [false, true] {
                let flights = Arc::new(SingleFlight::<&str, u32>::new());
                let (go, gate) = channel::bounded::<()>(1);
                let begun = Arc::new(AtomicUsize::new(0));
                let first = {
                    let (flights, begun) = (flights.clone(), begun.clone());
                    spawn(move || {
                        flights.run("key", || {
                            begun.store(1, SeqCst);
                            gate.recv().unwrap();
                            panic!("{PLANNED}: no")
                        })
                    })
                };
                wait_until(|| begun.load(SeqCst) == 1);
                let second = {
                    let flights = flights.clone();
                    spawn(move || flights.run("key", || 2))
                };
                if cancel {
                    first.cancel();
                } else {
                    go.send(()).unwrap();
                }
                let error = first.join().unwrap_err();
                assert_eq!((error.is_cancelled(), error.is_panic()), (cancel, !cancel));
                assert_eq!(second.join().unwrap(), (2, false));
                assert_eq!(format!("{flights:?}"), "SingleFlight { under_way: 0 }");
            }
        });
    });
}

#[test]
fn futures_and_forgetting() {
    in_both_modes(|rt| {
        rt.run(|| {
            let flights = Arc::new(SingleFlight::<String, u32>::new());
            let (go, gate) = channel::bounded::<()>(1);
            let begun = Arc::new(AtomicUsize::new(0));
            let first = {
                let (flights, begun) = (flights.clone(), begun.clone());
                spawn_async(async move {
                    let work = || async {
                        begun.store(1, SeqCst);
                        gate.recv_async().await.unwrap();
                        1
                    };
                    flights.run_async("key".to_string(), work).await
                })
            };
            wait_until(|| begun.load(SeqCst) == 1);
            flights.forget("key");
            // The old one is under way, and nobody's business any more.
            assert_eq!(flights.run("key".to_string(), || 2), (2, false));
            go.send(()).unwrap();
            assert_eq!(first.join().unwrap(), (1, false));
            assert_eq!(format!("{flights:?}"), "SingleFlight { under_way: 0 }");
        });
    });
}
