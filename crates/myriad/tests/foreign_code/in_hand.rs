//! Values that the engine has in its hands while a panic goes through it: their destructors panic,
//! and the first panic goes on all the same.

use crate::common::{catch, catch_planned, each, plan, wait_until};
use myriad::cancel::{is_cancelled, shield};
use myriad::sync::Pool;
use myriad::task::{map_concurrent, try_map_concurrent};
use myriad::{channel, join, race, scope, time, try_scope};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// How many bombs were made, and dropped, and who has begun.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    made: AtomicUsize,
    dropped: AtomicUsize,
}

/// Its destructor panics.
struct Bomb(Arc<Counts>);

impl Bomb {
    fn new(counts: &Arc<Counts>) -> Bomb {
        counts.made.fetch_add(1, SeqCst);
        Bomb(counts.clone())
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
        plan("a bomb");
    }
}

/// The panic that is to go on.
const FIRST: i32 = 7;

/// Runs `f` in each runtime: it panics with [`FIRST`], and each bomb is dropped, once.
fn goes_on<T>(f: impl Fn(&Arc<Counts>) -> T + Sync) {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let counts = Arc::default();
            let payload = catch(|| std::mem::forget(f(&counts)));
            assert_eq!(payload.downcast_ref(), Some(&FIRST));
            assert!(counts.made.load(SeqCst) > 0);
            wait_until(|| counts.dropped.load(SeqCst) == counts.made.load(SeqCst));
        });
    });
}

/// Returns when `n` have called it.
fn together(counts: &Counts, n: usize) {
    counts.begun.fetch_add(1, SeqCst);
    shield(|| wait_until(|| counts.begun.load(SeqCst) == n));
}

fn wait_made(counts: &Counts, n: usize) {
    shield(|| wait_until(|| counts.made.load(SeqCst) == n));
}

#[test]
fn the_winner_of_a_race_whose_iterator_panics() {
    goes_on(|counts| {
        race((0..3).map(|i| {
            if i == 2 {
                together(counts, 3);
                wait_made(counts, 2);
                panic_any(FIRST);
            }
            || {
                together(counts, 3);
                Bomb::new(counts)
            }
        }))
    });
}

#[test]
fn the_winner_of_a_race_whose_loser_panics() {
    goes_on(|counts| {
        race((0..2).map(|i| {
            move || {
                together(counts, 2);
                if i == 0 {
                    shield(|| time::sleep(Duration::from_millis(1)));
                    panic_any(FIRST);
                }
                Bomb::new(counts)
            }
        }))
    });
}

/// What a scope that fails has collected when its body panics.
#[test]
fn errors_of_a_scope_whose_body_panics() {
    goes_on(|counts| {
        try_scope(|s| -> Result<Bomb, Bomb> {
            for _ in 0..3 {
                drop(s.spawn(|| {
                    together(counts, 4);
                    Err::<(), _>(Bomb::new(counts))
                }));
            }
            together(counts, 4);
            wait_made(counts, 3);
            panic_any(FIRST)
        })
    });
}

/// As above; the panic is a task's, and the body has a value.
#[test]
fn errors_of_a_scope_whose_task_panics() {
    goes_on(|counts| {
        try_scope(|s| {
            for _ in 0..3 {
                drop(s.spawn(|| {
                    together(counts, 5);
                    Err::<(), _>(Bomb::new(counts))
                }));
            }
            drop(s.spawn(|| -> Result<(), Bomb> {
                together(counts, 5);
                panic_any(FIRST)
            }));
            together(counts, 5);
            Ok(Bomb::new(counts))
        })
    });
}

#[test]
fn results_of_a_map_whose_function_panics() {
    let job = |counts: &Arc<Counts>, i: usize| {
        if i == 3 {
            wait_made(counts, 3);
            panic_any(FIRST);
        }
        Bomb::new(counts)
    };
    goes_on(|counts| map_concurrent(1, 0..5, |i| job(counts, i)));
    goes_on(|counts| map_concurrent(4, 0..4, |i| job(counts, i)));
    goes_on(|counts| try_map_concurrent(1, 0..5, |i| Ok::<_, ()>(job(counts, i))));
    goes_on(|counts| try_map_concurrent(4, 0..4, |i| Ok::<_, ()>(job(counts, i))));
}

#[test]
fn results_of_a_map_whose_iterator_panics() {
    let items = |counts: &Arc<Counts>| {
        let counts = counts.clone();
        (0..5).inspect(move |i| {
            if *i == 4 {
                wait_made(&counts, 4);
                panic_any(FIRST);
            }
        })
    };
    goes_on(|counts| map_concurrent(8, items(counts), |_| Bomb::new(counts)));
    goes_on(|counts| try_map_concurrent(8, items(counts), |_| Ok::<_, ()>(Bomb::new(counts))));
}

/// The first closure of a `join` has returned, and the second panics: here, or where it was stolen.
#[test]
fn a_result_of_a_join() {
    goes_on(|counts| join(|| Bomb::new(counts), || panic_any(FIRST)));
    goes_on(|counts| {
        let at_once = |bomb: bool| {
            together(counts, 2);
            if bomb { Bomb::new(counts) } else { panic_any(FIRST) }
        };
        join(|| at_once(true), || at_once(false))
    });
}

/// A scope has a value, and its owner was cancelled.
#[test]
fn the_value_of_a_scope_that_is_cancelled() {
    each(&[1, 2], |rt| {
        for fails in [false, true] {
            let (counts, begun) = (Arc::<Counts>::default(), channel::bounded::<()>(1));
            let counts_there = counts.clone();
            let task = rt.spawn(move || {
                let body = || {
                    begun.0.send(()).unwrap();
                    while !is_cancelled() {
                        std::hint::spin_loop();
                    }
                    Bomb::new(&counts_there)
                };
                if fails {
                    drop(try_scope(|_| Ok::<_, ()>(body())));
                } else {
                    drop(scope(|_| body()));
                }
            });
            begun.1.recv().unwrap();
            task.cancel();
            assert!(task.join().unwrap_err().is_cancelled());
            assert_eq!((counts.made.load(SeqCst), counts.dropped.load(SeqCst)), (1, 1));
        }
    });
}

/// Things that are kept, and dropped together: each destructor panics, and the first panic is the
/// caller's.
#[test]
fn many_destructors_that_panic() {
    let kept = |counts: &Arc<Counts>| {
        let bombs: [_; 3] = std::array::from_fn(|_| Bomb::new(counts));
        counts.made.fetch_sub(3, SeqCst);
        bombs
    };
    each(&[1], |rt| {
        rt.run(|| {
            let counts = Arc::<Counts>::default();
            let pool = Pool::new(|| Bomb::new(&Arc::default()));
            kept(&counts).into_iter().for_each(|bomb| pool.put(bomb));
            catch_planned("a bomb", || pool.clear());
            assert_eq!(counts.dropped.load(SeqCst), 3);
            kept(&counts).into_iter().for_each(|bomb| pool.put(bomb));
            catch_planned("a bomb", || drop(pool));
            assert_eq!(counts.dropped.load(SeqCst), 6);
            let (tx, rx) = channel::broadcast(4);
            kept(&counts).into_iter().for_each(|bomb| _ = tx.send(bomb));
            catch_planned("a bomb", || drop((tx, rx)));
            assert_eq!(counts.dropped.load(SeqCst), 9);
            let call = myriad::blocking_async({
                let counts = counts.clone();
                move || Bomb::new(&counts)
            });
            wait_until(|| counts.made.load(SeqCst) == 1);
            // Reported.
            drop(call);
            wait_until(|| counts.dropped.load(SeqCst) == 10);
        });
    });
}
