//! Workers that are stuck in foreign locks, system calls and long computations: what waits behind
//! them goes on.

use crate::common::{MODES, Mode, case, compute_until, each, wait_until, watch};
use myriad::channel::{bounded, unbounded};
use myriad::{Runtime, join, scope, spawn, spawn_async, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

fn in_threads_mode(workers: &[usize], body: impl Fn(&Runtime)) {
    for &workers in workers {
        case(Mode::Threads, workers, |b| b, &body);
    }
}

/// Each task holds `std`'s mutex over a receive, for which another task has to run; all others
/// block in `lock` meanwhile.
fn hold_a_std_mutex_over_a_recv(rt: &Runtime) {
    let n = Mutex::new(0);
    rt.run(|| {
        let (ask, asked) = unbounded::<myriad::channel::Sender<usize>>();
        let server = spawn(move || asked.iter().for_each(|reply| reply.send(1).unwrap()));
        scope(|s| {
            for _ in 0..1000 {
                let (ask, n) = (ask.clone(), &n);
                s.spawn(move || {
                    let mut n = n.lock().unwrap();
                    let (reply, answer) = bounded(1);
                    ask.send(reply).unwrap();
                    *n += answer.recv().unwrap();
                });
            }
        });
        drop(ask);
        server.join().unwrap();
    });
    assert_eq!(*n.lock().unwrap(), 1000);
}

#[test]
fn a_std_mutex_held_over_a_recv() {
    in_threads_mode(&[1, 2], hold_a_std_mutex_over_a_recv);
}

/// On a busy machine those who move must not begin so many of these tasks that all spares stand in
/// the lock.
#[test]
fn std_mutexes_of_several_runtimes() {
    let _watch = watch("four runtimes, each with a lock");
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| hold_a_std_mutex_over_a_recv(&Mode::Threads.builder().workers(2).build().unwrap()));
        }
    });
}

/// The lock's owner sleeps with a timer that was set on a worker which is stuck in that lock.
#[test]
fn a_std_mutex_held_over_a_sleep() {
    in_threads_mode(&[1, 2], |rt| {
        let n = Mutex::new(0);
        rt.run(|| {
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| {
                        let mut n = n.lock().unwrap();
                        time::sleep(Duration::from_millis(1));
                        *n += 1;
                    });
                }
            });
        });
        assert_eq!(*n.lock().unwrap(), 20);
    });
}

/// Spare workers get stuck in their turn: a barrier of `std`'s needs as many threads as tasks.
#[test]
fn a_chain_of_stuck_spares() {
    each(&[1, 2], |rt| {
        let barrier = Barrier::new(20);
        let first = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| first.fetch_add(usize::from(barrier.wait().is_leader()), Relaxed));
                }
            });
        });
        assert_eq!(first.load(Relaxed), 1);
    });
}

/// All workers compute, and end only when the others have run: unstarted tasks, injected ones,
/// futures and their timers.
#[test]
fn long_computations() {
    each(&[1, 2], |rt| {
        let (n, expected) = (AtomicUsize::new(0), 4);
        let n = &n;
        let begun = &AtomicUsize::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                wait_until(|| begun.load(Relaxed) == rt.workers());
                // Injected.
                rt.run(|| n.fetch_add(1, Relaxed));
            });
            rt.run(|| {
                scope(|s| {
                    for _ in 1..rt.workers() {
                        s.spawn(|| {
                            begun.fetch_add(1, Relaxed);
                            compute_until(|| n.load(Relaxed) == expected);
                        });
                    }
                    // The others have begun, so the next ones have nobody.
                    compute_until(|| begun.load(Relaxed) == rt.workers() - 1);
                    s.spawn(|| n.fetch_add(1, Relaxed));
                    s.spawn(|| {
                        time::sleep(Duration::from_millis(1));
                        n.fetch_add(1, Relaxed);
                    });
                    s.spawn(|| {
                        spawn_async(async { time::sleep_async(Duration::from_millis(1)).await }).join().unwrap();
                        n.fetch_add(1, Relaxed);
                    });
                    begun.fetch_add(1, Relaxed);
                    compute_until(|| n.load(Relaxed) == expected);
                });
            });
        });
    });
}

/// A worker whose turns are short keeps a lone future that it wakes, for it will run that next.
/// Here the waker then computes until the future has run, elsewhere.
#[test]
fn a_future_woken_alone_by_one_that_then_computes() {
    each(&[2], |rt| {
        rt.run(|| {
            let ((ping, pinged), (pong, ponged), (wake, woken)) = (bounded(1), bounded(1), bounded::<()>(1));
            let ran = Arc::new(AtomicBool::new(false));
            let runs = ran.clone();
            let waits = spawn_async(async move {
                woken.recv_async().await.unwrap();
                runs.store(true, SeqCst);
            });
            let partner = spawn_async(async move {
                while let Ok(i) = pinged.recv_async().await {
                    _ = pong.send_async(i).await;
                }
            });
            let computes = spawn_async(async move {
                for i in 0..2_000 {
                    ping.send_async(i).await.unwrap();
                    assert_eq!(ponged.recv_async().await, Ok(i));
                }
                wake.send_async(()).await.unwrap();
                compute_until(|| ran.load(SeqCst));
            });
            computes.join().unwrap();
            waits.join().unwrap();
            partner.join().unwrap();
        });
    });
}

/// A future waits for a timer that was set on the worker which then computes.
#[test]
fn a_timer_of_a_worker_that_computes() {
    each(&[1, 2], |rt| {
        let rung = AtomicBool::new(false);
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let bell = spawn_async(async move {
                tx.send(()).unwrap();
                time::sleep_async(Duration::from_millis(5)).await;
            });
            rx.recv().unwrap();
            compute_until(|| bell.is_finished());
            rung.store(true, Relaxed);
        });
        assert!(rung.load(Relaxed));
    });
}

/// A spare's own timer wakes a task (or a future) of its own when it is off duty, and no other
/// worker is idle to look.
#[test]
fn a_timer_of_a_spare_that_rests() {
    for future in [false, true] {
        each(&[1], |rt| {
            let (started, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (starts, ends) = (started.clone(), done.clone());
            rt.run(move || {
                // So long that the spare is off duty by then.
                let pause = Duration::from_millis(300);
                let sleeper = if future {
                    spawn_async(async move {
                        starts.store(true, SeqCst);
                        time::sleep_async(pause).await;
                        ends.store(true, SeqCst);
                    })
                } else {
                    spawn(move || {
                        starts.store(true, SeqCst);
                        time::sleep(pause);
                        ends.store(true, SeqCst);
                    })
                };
                compute_until(|| started.load(SeqCst));
                // Neither stuck nor idle.
                wait_until(|| done.load(SeqCst));
                sleeper.join().unwrap();
            });
        });
    }
}

/// In threads mode also a closure that is ready goes on, when its own worker computes.
#[test]
fn a_ready_closure_of_a_worker_that_computes() {
    in_threads_mode(&[1, 2], |rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<()>(1);
            let (has_begun, begun) = bounded::<()>(1);
            let waits = spawn(move || {
                has_begun.send(()).unwrap();
                let id = std::thread::current().id();
                rx.recv().unwrap();
                assert_eq!(std::thread::current().id(), id);
                // Spawns, joins and waits as another worker now.
                assert_eq!(join(|| 1, || 2), (1, 2));
                time::sleep(Duration::from_millis(1));
                spawn(|| 3).join().unwrap()
            });
            begun.recv().unwrap();
            tx.send(()).unwrap();
            compute_until(|| waits.is_finished());
            assert_eq!(waits.join().unwrap(), 3);
        });
    });
}

/// The same of a closure that waits on top of its joiner, which goes on as that other worker too.
#[test]
fn a_joiner_below_a_ready_closure() {
    in_threads_mode(&[1, 2], |rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<()>(1);
            let (has_begun, begun) = bounded::<()>(1);
            let joins = spawn(move || {
                let waits = spawn(move || {
                    has_begun.send(()).unwrap();
                    rx.recv().unwrap();
                    1
                });
                waits.join().unwrap() + spawn(|| 2).join().unwrap()
            });
            begun.recv().unwrap();
            tx.send(()).unwrap();
            compute_until(|| joins.is_finished());
            assert_eq!(joins.join().unwrap(), 3);
        });
    });
}

/// Holds the only worker until a task polls on a spare, for as long as `done` does not hold.
fn let_a_spare_poll(done: &Arc<AtomicBool>) -> myriad::JoinHandle<()> {
    let (has_begun, begun) = std::sync::mpsc::channel();
    let done = done.clone();
    let polls = spawn(move || {
        has_begun.send(()).unwrap();
        while !done.load(SeqCst) {
            myriad::yield_now();
        }
    });
    begun.recv().unwrap();
    polls
}

/// All who move poll, and what they poll for is a ready closure of the worker that is held.
#[test]
fn who_polls_goes_on_with_a_ready_closure_of_a_held_worker() {
    in_threads_mode(&[1], |rt| {
        rt.run(|| {
            let (has_begun, begun) = unbounded();
            let ((first, to_first), (second, to_second)) = (bounded(1), bounded(1));
            let (held, holds) = std::sync::mpsc::channel();
            let done = Arc::new(AtomicBool::new(false));
            let (begins, ends) = (has_begun.clone(), done.clone());
            let second_closure = spawn(move || {
                begins.send(()).unwrap();
                to_second.recv().unwrap();
                ends.store(true, SeqCst);
            });
            let polled = done.clone();
            // A second spare comes for it.
            let first_closure = spawn(move || {
                has_begun.send(()).unwrap();
                to_first.recv().unwrap();
                second.send(()).unwrap();
                while !polled.load(SeqCst) {
                    myriad::yield_now();
                }
                held.send(()).unwrap();
            });
            (0..2).for_each(|_| begun.recv().unwrap());
            let polls = let_a_spare_poll(&done);
            first.send(()).unwrap();
            holds.recv().unwrap();
            [first_closure, second_closure, polls].into_iter().for_each(|task| task.join().unwrap());
        });
    });
}

/// The same of a timer.
#[test]
fn who_polls_looks_at_the_timers_of_a_held_worker() {
    each(&[1], |rt| {
        rt.run(|| {
            let (has_begun, begun) = unbounded();
            let (held, holds) = std::sync::mpsc::channel();
            let done = Arc::new(AtomicBool::new(false));
            let (begins, ends) = (has_begun.clone(), done.clone());
            let second_future = spawn_async(async move {
                begins.send(()).unwrap();
                time::sleep_async(Duration::from_millis(600)).await;
                ends.store(true, SeqCst);
            });
            let polled = done.clone();
            let first_future = spawn_async(async move {
                has_begun.send(()).unwrap();
                time::sleep_async(Duration::from_millis(300)).await;
                // On a second spare, that comes for this timer.
                spawn(move || {
                    while !polled.load(SeqCst) {
                        myriad::yield_now();
                    }
                    held.send(()).unwrap();
                })
                .await
                .unwrap();
            });
            (0..2).for_each(|_| begun.recv().unwrap());
            let polls = let_a_spare_poll(&done);
            holds.recv().unwrap();
            [first_future, second_future, polls].into_iter().for_each(|task| task.join().unwrap());
        });
    });
}

/// A read from a pipe that only another task writes to.
#[test]
#[cfg(unix)]
fn a_system_call() {
    use std::io::{Read, Write};
    each(&[1, 2], |rt| {
        rt.run(|| {
            let pipes: Vec<_> = (0..rt.workers() + 1).map(|_| std::io::pipe().unwrap()).collect();
            let (readers, writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
            let readers: Vec<_> = readers
                .into_iter()
                .map(|mut pipe| {
                    spawn(move || {
                        let mut byte = [0];
                        pipe.read_exact(&mut byte).unwrap();
                        byte[0]
                    })
                })
                .collect();
            let writer = spawn(move || writers.into_iter().for_each(|mut pipe| pipe.write_all(&[7]).unwrap()));
            for reader in readers {
                assert_eq!(reader.join().unwrap(), 7);
            }
            writer.join().unwrap();
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// what is said

/// A worker that is about to sleep finds a task, and is stuck in it: the monitor, which looks at
/// that moment, must not believe that all sleep, or no spare ever comes.
#[test]
fn stuck_on_the_way_to_sleep() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        for i in 0..50 {
            let rt = mode.builder().workers(1).spare_workers(1).build().unwrap();
            // The worker looks around for 50 µs before it sleeps.
            let began = Instant::now();
            while began.elapsed() < Duration::from_micros(2 * i) {
                std::hint::spin_loop();
            }
            rt.run(|| {
                let (tx, rx) = std::sync::mpsc::channel();
                let behind = spawn(move || tx.send(7).unwrap());
                // A wait that knows nothing of tasks.
                assert_eq!(rx.recv(), Ok(7));
                behind.join().unwrap();
            });
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    }
}
