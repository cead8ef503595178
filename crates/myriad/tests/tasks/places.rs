//! Places: a task begins where it was told, and nowhere else; in fiber mode a closure stays there.

use crate::common::{MODES, Mode, case, each, each_owned, in_both_modes};
use myriad::channel::{bounded, unbounded};
use myriad::task::{Builder, Place, Priority, dispatch};
use myriad::{spawn, yield_now};
use std::collections::HashMap;

/// The worker that the caller runs on.
fn here() -> usize {
    Place::here().worker()
}

#[test]
fn a_task_begins_at_its_place() {
    each(&[1, 3], |rt| {
        // From outside, and from a task.
        let places: Vec<Place> = (0..50).map(|_| Place::next_on(rt.handle())).collect();
        let check = |places: &[Place]| {
            let tasks: Vec<_> = places.iter().map(|&place| (place, Builder::new().place(place).spawn(here))).collect();
            let futures: Vec<_> = places
                .iter()
                .map(|&place| (place, Builder::new().place(place).spawn_async(async { here() })))
                .collect();
            for (place, h) in tasks.into_iter().chain(futures) {
                assert_eq!(h.join().unwrap(), place.worker());
            }
        };
        check(&places);
        rt.run(|| check(&places));
    });
}

#[test]
fn by_turns_and_in_blocks() {
    each(&[1, 2, 4], |rt| {
        rt.run(|| {
            let workers = rt.workers();
            let mut by_turns = HashMap::<usize, usize>::new();
            for _ in 0..10 * workers {
                *by_turns.entry(Place::next().worker()).or_default() += 1;
            }
            assert_eq!(by_turns.into_values().collect::<Vec<_>>(), vec![10; workers]);

            for n in [0, 1, 2, 5, 1000] {
                let blocks: Vec<usize> = Place::spread(n).map(Place::worker).collect();
                assert_eq!(blocks.len(), n);
                assert!(blocks.is_sorted() && blocks.iter().all(|&worker| worker < workers));
                // No two blocks differ by more than one task.
                let sizes: Vec<usize> = (0..workers).map(|w| blocks.iter().filter(|&&at| at == w).count()).collect();
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{n} tasks: {sizes:?}");
            }
        });
    });
}

/// Through all kinds of waits; a woken closure does not go where it was woken.
#[test]
fn a_fiber_stays() {
    case(
        Mode::Fibers,
        3,
        |b| b,
        |rt| {
            let tasks: Vec<_> = Place::spread_on(rt.handle(), 30)
                .map(|place| {
                    let (tx, rx) = bounded::<()>(1);
                    let h = Builder::new().place(place).spawn(move || {
                        for _ in 0..20 {
                            rx.recv().unwrap();
                            assert_eq!(here(), place.worker());
                            yield_now();
                            assert_eq!(here(), place.worker());
                            spawn(yield_now).join().unwrap();
                            assert_eq!(here(), place.worker());
                        }
                    });
                    (tx, h)
                })
                .collect();
            for _ in 0..20 {
                tasks.iter().for_each(|(tx, _)| tx.send(()).unwrap());
            }
            tasks.into_iter().for_each(|(_, h)| h.join().unwrap());
        },
    );
}

/// A joiner runs most tasks that have not begun itself; not one that has a place elsewhere.
#[test]
fn a_joiner_leaves_it_where_it_is() {
    each(&[2], |rt| {
        for _ in 0..200 {
            let (caller, began) = rt.run(|| {
                // (Asked once: on a spare the answer goes by turns.)
                let here_now = here();
                let elsewhere = Place::spread(2).find(|place| place.worker() != here_now).unwrap();
                let h = Builder::new().place(elsewhere).spawn(here);
                (elsewhere.worker(), h.join().unwrap())
            });
            assert_eq!(caller, began);
        }
    });
}

/// What the builder says of a pool or a priority gives way, and `dispatch` to another place is
/// `spawn`.
#[test]
fn a_place_wins() {
    for mode in MODES {
        case(
            mode,
            2,
            |b| b.pool("other", 1),
            |rt| {
                let other = rt.handle().pool("other").unwrap();
                let place = Place::spread_on(rt.handle(), 2).nth(1).unwrap();
                let placed = move || Builder::new().place(place).pool("other").on(other).priority(Priority::Background);
                assert_eq!(placed().spawn(|| Place::here().worker()).join().unwrap(), 1);
                assert_eq!(placed().spawn_async(async { Place::here().worker() }).join().unwrap(), 1);
                let entered = rt.run(|| {
                    let from = Place::spread(2).next().unwrap();
                    Builder::new().place(from).spawn(move || placed().dispatch(here).join().unwrap()).join().unwrap()
                });
                assert_eq!(entered, 1);
                // (And the other way round: without a place it is entered where the caller is.)
                assert!(rt.run(|| dispatch(|| true).join().unwrap()));
                let in_other = Place::next_on(other);
                assert_eq!(Builder::new().place(in_other).spawn(here).join().unwrap(), 0);
            },
        );
    }
}

/// As many as there is memory for, all with messages for their neighbours.
#[test]
fn a_long_chain_in_blocks() {
    in_both_modes(|rt| {
        rt.run(|| {
            let stages = 300;
            let (first, mut last) = unbounded::<u64>();
            let tasks: Vec<_> = Place::spread(stages)
                .map(|place| {
                    let (tx, rx) = bounded(4);
                    let before = std::mem::replace(&mut last, rx);
                    Builder::new().place(place).spawn(move || before.iter().for_each(|n| tx.send(n + 1).unwrap()))
                })
                .collect();
            (0..100).for_each(|n| first.send(n).unwrap());
            drop(first);
            let sum: u64 = last.iter().sum();
            assert_eq!(sum, (0..100).map(|n| n + stages as u64).sum());
            tasks.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

#[test]
fn a_place_of_a_runtime_that_has_ended() {
    each_owned(|mode, rt| {
        let places: Vec<Place> = Place::spread_on(rt.handle(), 8).collect();
        drop(rt);
        for &place in &places {
            assert!(Builder::new().place(place).spawn(here).join().unwrap_err().is_shutdown());
            assert!(Builder::new().place(place).spawn_async(async {}).join().unwrap_err().is_shutdown());
        }
        // The next runtime of the kind, which may use the pool again, is another one.
        let next = mode.runtime(1);
        assert_eq!(next.spawn(|| 42).join().unwrap(), 42);
        for &place in &places {
            assert!(Builder::new().place(place).spawn(here).join().unwrap_err().is_shutdown());
        }
    });
}
