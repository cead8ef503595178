//! Spawning and joining: results, sizes, drops, names, where tasks come from.

use crate::common::{Drops, each, in_both_modes, wait_until};
use myriad::{JoinHandle, spawn};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

#[test]
fn a_result_comes_back() {
    in_both_modes(|rt| {
        assert_eq!(rt.run(|| spawn(|| 6 * 7).join().unwrap()), 42);
        assert_eq!(rt.spawn(|| String::from("foreign")).join().unwrap(), "foreign");
    });
}

#[test]
fn results_come_in_the_order_of_the_handles() {
    in_both_modes(|rt| {
        let squares: Vec<usize> = rt.run(|| {
            let handles: Vec<_> = (0..5000).map(|i| spawn(move || i * i)).collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        });
        assert!(squares.iter().enumerate().all(|(i, &s)| s == i * i));
    });
}

/// Oldest first, newest first, and out of the middle: all positions of the queue.
#[test]
fn handles_are_joined_in_any_order() {
    in_both_modes(|rt| {
        rt.run(|| {
            for order in 0..3 {
                let mut handles: Vec<_> = (0..500).map(|i| (i, spawn(move || i))).collect();
                match order {
                    0 => handles.reverse(),
                    1 => handles.sort_by_key(|(i, _)| i * 7919 % 500),
                    _ => {}
                }
                for (i, h) in handles {
                    assert_eq!(h.join().unwrap(), i);
                }
            }
        });
    });
}

fn tree(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let children: Vec<_> = (0..4).map(|_| spawn(move || tree(depth - 1))).collect();
    1 + children.into_iter().map(|h| h.join().unwrap()).sum::<u64>()
}

#[test]
fn tasks_spawn_tasks() {
    in_both_modes(|rt| assert_eq!(rt.run(|| tree(6)), (4u64.pow(7) - 1) / 3));
}

/// Every task's record is used again by a later one.
#[test]
fn one_after_the_other() {
    in_both_modes(|rt| {
        rt.run(|| (0..20_000u32).for_each(|i| assert_eq!(spawn(move || i).join().unwrap(), i)));
    });
}

// -------------------------------------------------------------------------------------------------------
// sizes

/// Spawns with a closure and a result of this size, and looks at every byte.
fn of_size<const N: usize>() {
    let bytes: [u8; N] = std::array::from_fn(|i| (i * 31 + N) as u8);
    let h = spawn(move || black_box(bytes));
    assert_eq!(h.join().unwrap(), bytes, "{N} bytes");
    let h = spawn(move || bytes.iter().map(|&b| u64::from(b)).sum::<u64>());
    assert_eq!(h.join().unwrap(), bytes.iter().map(|&b| u64::from(b)).sum::<u64>());
    let h = spawn(|| std::array::from_fn::<u8, N, _>(|i| (i * 31 + N) as u8));
    assert_eq!(h.join().unwrap(), bytes);
}

/// An unoptimised build keeps many copies of such values in its frames.
fn with_large_stacks(body: impl Fn(&myriad::Runtime)) {
    for mode in crate::common::MODES {
        for workers in [1, 2, 4] {
            crate::common::case(mode, workers, |b| b.stack_size(1 << 20), &body);
        }
    }
}

/// From nothing at all to far more than a record holds; 24, 88, 152, .. fill a size class to the
/// byte.
#[test]
fn closures_and_results_of_all_sizes() {
    with_large_stacks(|rt| {
        rt.run(|| {
            for _ in 0..3 {
                of_size::<0>();
                of_size::<1>();
                of_size::<23>();
                of_size::<24>();
                of_size::<25>();
                of_size::<88>();
                of_size::<89>();
                of_size::<152>();
                of_size::<216>();
                of_size::<280>();
                of_size::<344>();
                of_size::<408>();
                of_size::<471>();
                of_size::<472>();
                of_size::<473>();
                of_size::<512>();
                of_size::<4096>();
            }
        });
        let big = [7u8; 5000];
        assert_eq!(rt.spawn(move || big).join().unwrap(), big);
    });
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Line(u64);
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
struct Pair(u64, u64);
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(4096))]
struct Page(u8);

fn aligned<T: Copy + Send + PartialEq + std::fmt::Debug + 'static>(value: T) {
    fn check<T>(at: &T) {
        assert_eq!((&raw const *at).addr() % align_of::<T>(), 0);
    }
    let h = spawn(move || {
        check(&value);
        value
    });
    let back = h.join().unwrap();
    check(&back);
    assert_eq!(back, value);
    // Neither the closure nor the result may be where the other one fits.
    assert_eq!(spawn(move || size_of_val(&value)).join().unwrap(), size_of::<T>());
    let (small, h) = (1u8, spawn(move || value));
    assert_eq!((small, h.join().unwrap()), (1, value));
}

#[test]
fn over_aligned_closures_and_results() {
    with_large_stacks(|rt| {
        rt.run(|| {
            for i in 0..50 {
                aligned(Line(i));
                aligned(Pair(i, !i));
                aligned(Page(i as u8));
            }
            let (a, b) = myriad::join(|| Line(1), || Page(2));
            assert_eq!((a, b), (Line(1), Page(2)));
            myriad::scope(|s| {
                let h = s.spawn(|| (Line(3), Page(4)));
                assert_eq!(h.join().unwrap(), (Line(3), Page(4)));
            });
        });
    });
}

#[test]
fn results_without_size() {
    struct Token;
    in_both_modes(|rt| {
        let n = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            let handles: Vec<JoinHandle<()>> = (0..1000)
                .map(|_| {
                    let n = n.clone();
                    spawn(move || _ = n.fetch_add(1, Relaxed))
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
            let Token = spawn(|| Token).join().unwrap();
            let never: Result<std::convert::Infallible, ()> = spawn(|| Err(())).join().unwrap();
            assert!(never.is_err());
        });
        assert_eq!(n.load(Relaxed), 1000);
    });
}

// -------------------------------------------------------------------------------------------------------
// drops

#[test]
fn what_a_closure_holds_is_dropped_once() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            let handles: Vec<_> = (0..500)
                .map(|i| {
                    let (small, padding) = (drops.one(), [i as u8; 900]);
                    if i % 2 == 0 {
                        spawn(move || drop(small))
                    } else {
                        // Too large for a record: in a box.
                        spawn(move || {
                            black_box(&padding);
                            drop(small);
                        })
                    }
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
        drops.assert_all(500);
    });
}

#[test]
fn what_a_task_returns_is_dropped_once() {
    in_both_modes(|rt| {
        let (taken, left, detached) = (Drops::new(), Drops::new(), Drops::new());
        rt.run(|| {
            for _ in 0..300 {
                let (t, l, d) = (taken.clone(), left.clone(), detached.clone());
                drop(spawn(move || t.one()).join().unwrap());
                // Dropped when it has ended already.
                let h = spawn(move || l.one());
                wait_until(|| h.is_finished());
                drop(h);
                // And before, most often.
                drop(spawn(move || (d.one(), [0u8; 700])));
            }
        });
        taken.assert_all(300);
        left.assert_all(300);
        detached.wait_all(300);
    });
}

/// A handle that nobody ever joins, and one whose task has not begun when it goes.
#[test]
fn a_dropped_handle_detaches() {
    in_both_modes(|rt| {
        let (n, drops) = (Arc::new(AtomicUsize::new(0)), Drops::new());
        for i in 0..1000 {
            let (n, token) = (n.clone(), drops.one());
            let body = move || {
                let _token = token;
                n.fetch_add(1, SeqCst);
            };
            if i % 2 == 0 { drop(rt.spawn(body)) } else { rt.run(|| drop(spawn(body))) }
        }
        wait_until(|| n.load(SeqCst) == 1000);
        drops.wait_all(1000);
    });
}

// -------------------------------------------------------------------------------------------------------
// is_finished, names, places

/// A handle that has been polled leaves its waker behind, also if its task is dropped from the
/// queue's end.
#[test]
fn a_polled_handle_is_dropped_before_its_task_begins() {
    each(&[1, 2], |rt| {
        let waker = Arc::new(CountingWaker);
        let ran = rt.run(|| {
            let (tx, rx) = myriad::channel::bounded(1);
            let mut handle = spawn(move || tx.send(()).unwrap());
            let std_waker = std::task::Waker::from(waker.clone());
            // Unstarted still with one worker; with two, whatever it is.
            _ = std::pin::Pin::new(&mut handle).poll(&mut std::task::Context::from_waker(&std_waker));
            drop(handle);
            rx.recv()
        });
        assert_eq!(ran, Ok(()));
        // The last clone of the waker is gone with the handle, or with the task, which ends soon.
        while Arc::strong_count(&waker) > 1 {
            std::thread::yield_now();
        }
    });
}

struct CountingWaker;

impl std::task::Wake for CountingWaker {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn is_finished_says_when() {
    in_both_modes(|rt| {
        let go = Arc::new(AtomicBool::new(false));
        rt.run(|| {
            let h = spawn({
                let go = go.clone();
                move || wait_until(|| go.load(SeqCst))
            });
            for _ in 0..100 {
                assert!(!h.is_finished());
                myriad::yield_now();
            }
            go.store(true, SeqCst);
            wait_until(|| h.is_finished());
            h.join().unwrap();
        });
        let h = rt.spawn(|| 5);
        wait_until(|| h.is_finished());
        assert!(h.is_finished());
        assert_eq!(h.join().unwrap(), 5);
    });
}

#[test]
fn names_and_places() {
    in_both_modes(|rt| {
        rt.run(|| {
            let h = myriad::task::Builder::new().name("relay").spawn(|| 1);
            let line = line!() - 1;
            assert_eq!(h.name().as_deref(), Some("relay"));
            assert_eq!((h.spawned_at().file(), h.spawned_at().line()), (file!(), line));
            assert_eq!(h.join().unwrap(), 1);
            // The record is used again by one without a name.
            let h = spawn(|| 2);
            let line = line!() - 1;
            assert_eq!((h.name(), h.spawned_at().line()), (None, line));
            assert_eq!(h.join().unwrap(), 2);
            let h = myriad::task::Builder::new().spawn(|| 3);
            assert_eq!((h.name(), h.join().unwrap()), (None, 3));
            let debug = format!("{:?}", spawn(|| ()));
            assert!(debug.contains("spawn.rs"), "{debug}");
        });
    });
}

#[test]
fn a_name_stands_in_the_error() {
    in_both_modes(|rt| {
        let error = rt.run(|| {
            let h = myriad::task::Builder::new().name(String::from("parser")).spawn(|| crate::common::plan("no"));
            h.join().unwrap_err()
        });
        assert_eq!(error.name(), Some("parser"));
        assert!(error.is_panic() && !error.is_shutdown() && !error.is_self_join());
        let text = error.to_string();
        assert!(text.starts_with("task 'parser' spawned at ") && text.ends_with("panicked: planned: no"), "{text}");
    });
}

/// Names of thousands of tasks that come and go; each handle sees its own.
#[test]
fn many_names() {
    in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> =
                (0..2000).map(|i| (i, myriad::task::Builder::new().name(format!("n{i}")).spawn(move || i))).collect();
            for (i, h) in handles {
                assert_eq!(h.name().as_deref(), Some(&*format!("n{i}")));
                if i % 3 > 0 {
                    assert_eq!(h.join().unwrap(), i);
                }
            }
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// whence, whither

#[test]
fn foreign_threads_spawn() {
    in_both_modes(|rt| {
        let sum = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for t in 0..4 {
                let (handle, sum) = (rt.handle(), &sum);
                s.spawn(move || {
                    let handles: Vec<_> = (0..200).map(|i| handle.spawn(move || t * 1000 + i)).collect();
                    sum.fetch_add(handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>(), Relaxed);
                    sum.fetch_add(handle.run(|| spawn(|| 1).join().unwrap()), Relaxed);
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 6000 * 200 + 4 * 19_900 + 4);
    });
}

#[test]
fn handles_move_between_tasks() {
    in_both_modes(|rt| {
        let n = rt.run(|| {
            let inner: Vec<_> = (0..100).map(|i| spawn(move || i)).collect();
            let middle: Vec<_> = inner.into_iter().map(|h| spawn(move || h.join().unwrap() + 1)).collect();
            let outer = spawn(move || middle.into_iter().map(|h| h.join().unwrap()).sum::<usize>());
            outer.join().unwrap()
        });
        assert_eq!(n, 4950 + 100);
    });
}

#[test]
fn handles_move_to_foreign_threads_and_back() {
    in_both_modes(|rt| {
        let handles: Vec<_> = rt.run(|| (0..200).map(|i| spawn(move || i)).collect());
        let thread = std::thread::spawn(move || handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>());
        assert_eq!(thread.join().unwrap(), 19_900);
        let handles: Vec<_> = (0..200).map(|i| rt.spawn(move || i)).collect();
        assert_eq!(rt.run(|| handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()), 19_900);
    });
}

#[test]
fn a_task_knows_its_runtime() {
    each(&[2], |rt| {
        assert!(myriad::Handle::current().is_none());
        assert_eq!(rt.workers(), 2);
        rt.run(|| {
            let here = myriad::Handle::current().expect("in a task");
            assert_eq!(here.spawn(|| 3).join().unwrap(), 3);
            assert_eq!(here.run(|| 4), 4);
            assert_eq!(rt.run(|| 5), 5);
        });
    });
}

#[test]
fn threads_have_the_runtimes_name() {
    for mode in crate::common::MODES {
        crate::common::case(
            mode,
            2,
            |b| b.name("crunch"),
            |rt| {
                let name = rt.run(|| {
                    myriad::yield_now();
                    std::thread::current().name().map(str::to_owned)
                });
                assert!(name.as_deref().is_some_and(|n| n.starts_with("crunch-")), "{name:?}");
            },
        );
    }
}
