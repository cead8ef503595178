//! Nothing that is ready waits for ever: whatever the others do.

use crate::common::{each, each_with, in_both_modes, wait_until};
use myriad::channel::{bounded, rendezvous, unbounded};
use myriad::{join, spawn, spawn_async, yield_now};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::{Duration, Instant};

async fn yield_async() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A closure yields until a flag is set by a task that has not been started: elsewhere, with one
/// worker, for ever.
#[test]
fn a_yield_loop_waits_for_an_unstarted_task() {
    in_both_modes(|rt| {
        rt.run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let sets = flag.clone();
            drop(spawn(move || sets.store(true, SeqCst)));
            while !flag.load(SeqCst) {
                yield_now();
            }
        });
    });
}

/// The same where the flag is set by a foreign thread's task, by a future, by one that is deep in
/// the queue, and by one that yields itself.
#[test]
fn yield_loops_wait_for_all_kinds() {
    in_both_modes(|rt| {
        for kind in 0..4 {
            let flag = Arc::new(AtomicBool::new(false));
            let sets = flag.clone();
            rt.run(|| {
                let set = move || sets.store(true, SeqCst);
                match kind {
                    0 => drop(rt.handle().spawn(set)),
                    1 => drop(spawn_async(async move { set() })),
                    2 => {
                        drop(spawn(set));
                        (0..500).for_each(|_| drop(spawn(|| (0..10).for_each(|_| yield_now()))));
                    }
                    _ => drop(spawn(move || {
                        (0..200).for_each(|_| yield_now());
                        set();
                    })),
                }
                while !flag.load(SeqCst) {
                    yield_now();
                }
            });
        }
    });
}

/// Futures that yield for ever beside closures that were not started, and the other way round.
#[test]
fn a_yield_loop_of_futures() {
    in_both_modes(|rt| {
        let flag = Arc::new(AtomicBool::new(false));
        rt.run(|| {
            let loops: Vec<_> = (0..3)
                .map(|_| {
                    let flag = flag.clone();
                    spawn_async(async move {
                        let mut turns = 0u32;
                        while !flag.load(SeqCst) {
                            turns += 1;
                            yield_async().await;
                        }
                        turns
                    })
                })
                .collect();
            let sets = flag.clone();
            drop(spawn(move || sets.store(true, SeqCst)));
            loops.into_iter().for_each(|h| _ = h.join().unwrap());
        });
    });
}

#[test]
fn futures_that_yield_take_turns() {
    // (A spare beside a worker that does not come to run takes one of them, which has no turns to
    // take there.)
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            rt.run(|| {
                let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..4).map(|_| AtomicUsize::new(0)).collect());
                let handles: Vec<_> = (0..4)
                    .map(|i| {
                        let counts = counts.clone();
                        spawn_async(async move {
                            while counts.iter().all(|n| n.load(Relaxed) < 3000) {
                                counts[i].fetch_add(1, Relaxed);
                                yield_async().await;
                            }
                        })
                    })
                    .collect();
                handles.into_iter().for_each(|h| h.join().unwrap());
                let least = counts.iter().map(|n| n.load(Relaxed)).min().unwrap();
                assert!(least > 1000, "{counts:?}");
            });
        },
    );
}

/// Two tasks that wake each other all the time, and a third one: ready, unstarted, or from outside.
#[test]
fn a_ping_pong_does_not_starve_a_third() {
    each(&[1, 2], |rt| {
        for capacity in [0, 1, 100] {
            let stop = Arc::new(AtomicBool::new(false));
            rt.run(|| {
                let (a_tx, a_rx) = bounded::<u32>(capacity);
                let (b_tx, b_rx) = bounded::<u32>(capacity);
                let ping = spawn({
                    let stop = stop.clone();
                    move || {
                        while !stop.load(SeqCst) {
                            a_tx.send(1).unwrap();
                            b_rx.recv().unwrap();
                        }
                    }
                });
                let pong = spawn(move || a_rx.iter().for_each(|n| _ = b_tx.send(n)));
                // Ready again and again.
                (0..20).for_each(|_| yield_now());
                // Unstarted.
                let third = spawn(|| 3);
                wait_until(|| third.is_finished());
                // From outside.
                let outside = rt.handle();
                let from_thread = std::thread::spawn(move || outside.spawn(|| 4).join().unwrap());
                wait_until(|| from_thread.is_finished());
                // Asleep.
                myriad::time::sleep(std::time::Duration::from_micros(200));
                stop.store(true, SeqCst);
                ping.join().unwrap();
                pong.join().unwrap();
                assert_eq!(third.join().unwrap() + from_thread.join().unwrap(), 7);
            });
        }
    });
}

/// A producer and a consumer over a large buffer, which hardly ever block: they let others run all
/// the same.
#[test]
fn tasks_that_never_block_on_their_channel() {
    each(&[1], |rt| {
        let stop = Arc::new(AtomicBool::new(false));
        rt.run(|| {
            let (tx, rx) = unbounded::<u32>();
            let echo = tx.clone();
            tx.send(0).unwrap();
            // Takes a message and sends it again: never waits.
            let turns = spawn({
                let stop = stop.clone();
                move || {
                    let mut turns = 0u64;
                    while !stop.load(SeqCst) {
                        echo.send(rx.recv().unwrap()).unwrap();
                        turns += 1;
                    }
                    turns
                }
            });
            let sets = stop.clone();
            drop(spawn(move || {
                (0..100).for_each(|_| yield_now());
                sets.store(true, SeqCst);
            }));
            assert!(turns.join().unwrap() > 0);
            drop(tx);
        });
    });
}

/// The same for a future, whose awaits are always ready.
#[test]
fn a_future_whose_awaits_are_always_ready() {
    each(&[1], |rt| {
        let stop = Arc::new(AtomicBool::new(false));
        rt.run(|| {
            let (tx, rx) = bounded::<u32>(2);
            let turns = spawn_async({
                let stop = stop.clone();
                async move {
                    let mut turns = 0u64;
                    while !stop.load(SeqCst) {
                        tx.send_async(1).await.unwrap();
                        rx.recv_async().await.unwrap();
                        turns += 1;
                    }
                    turns
                }
            });
            (0..200).for_each(|_| yield_now());
            stop.store(true, SeqCst);
            assert!(turns.join().unwrap() > 0);
        });
    });
}

/// New tasks are spawned faster than they can be run, the newest first: the oldest is run all the
/// same.
#[test]
fn the_oldest_task_is_not_forgotten() {
    each(&[1, 2], |rt| {
        let found = Arc::new(AtomicBool::new(false));
        fn breed(found: &Arc<AtomicBool>) {
            if !found.load(SeqCst) {
                let inner = found.clone();
                drop(spawn(move || breed(&inner)));
            }
        }
        rt.run(|| {
            let oldest = found.clone();
            drop(spawn(move || oldest.store(true, SeqCst)));
            breed(&found);
            breed(&found);
            let (tx, rx) = rendezvous::<()>();
            drop(spawn(move || {
                wait_until(|| found.load(SeqCst));
                tx.send(()).unwrap();
            }));
            rx.recv().unwrap();
        });
    });
}

/// A foreign thread's tasks get in although the workers' own queues are never empty.
#[test]
fn foreign_tasks_get_in() {
    each(&[1, 2], |rt| {
        let stop = Arc::new(AtomicBool::new(false));
        fn busy(stop: &Arc<AtomicBool>) -> usize {
            let mut n = 0;
            while !stop.load(SeqCst) {
                let (a, b) = join(|| spawn(|| 1).join().unwrap(), || 1);
                n += a + b;
                // Comes to the loop now and then.
                yield_now();
            }
            n
        }
        let handles: Vec<_> = (0..4)
            .map(|_| {
                let stop = stop.clone();
                rt.spawn(move || busy(&stop))
            })
            .collect();
        for i in 0..50 {
            assert_eq!(rt.spawn(move || i).join().unwrap(), i);
        }
        stop.store(true, SeqCst);
        handles.into_iter().for_each(|h| _ = h.join().unwrap());
    });
}

/// Downstream first: who was handed a message goes on before one that has been ready for longer.
/// (But not for ever: at every 61st turn it stands back.) In fiber mode, on one worker; nobody
/// promises it elsewhere.
#[test]
fn a_receiver_goes_on_before_others_that_are_ready() {
    if !crate::common::fibers_supported() {
        return;
    }
    let rounds = 1000;
    let first = crate::common::Mode::Fibers.runtime(1).run(move || {
        let (tx, rx) = unbounded::<usize>();
        let (others, stop) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (other, seen, ends) = (others.clone(), others.clone(), stop.clone());
        // How often was nobody else's turn between a message and its receiver's?
        let receiver = spawn(move || rx.iter().filter(|before| seen.load(SeqCst) == *before).count());
        let yields = spawn(move || {
            while !ends.load(SeqCst) {
                other.fetch_add(1, SeqCst);
                yield_now();
            }
        });
        while others.load(SeqCst) == 0 {
            yield_now();
        }
        for _ in 0..rounds {
            // The other one has been ready since it ran last, before us.
            tx.send(others.load(SeqCst)).unwrap();
            yield_now();
        }
        stop.store(true, SeqCst);
        drop(tx);
        yields.join().unwrap();
        receiver.join().unwrap()
    });
    println!("first in {first} of {rounds} rounds");
    assert!(first > rounds / 2);
}

/// A task from outside is begun after the turn that runs, and not after 61 turns, which may be
/// long.
#[test]
fn a_call_from_outside_does_not_wait_behind_all_that_is_queued() {
    const TASKS: usize = 1000;
    each(&[1, 2], |rt| {
        let (begun, inside, go) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (counts, entered, gate) = (begun.clone(), inside.clone(), go.clone());
        let spawns = rt.spawn(move || {
            for _ in 0..TASKS {
                let (counts, entered, gate) = (counts.clone(), entered.clone(), gate.clone());
                // Nobody joins it: each is a turn of the loop.
                drop(spawn(move || {
                    counts.fetch_add(1, SeqCst);
                    entered.fetch_add(1, SeqCst);
                    while !gate.load(SeqCst) {
                        std::hint::spin_loop();
                    }
                }));
            }
        });
        spawns.join().unwrap();
        // All workers are in the middle of a turn.
        wait_until(|| inside.load(SeqCst) == rt.workers());
        let counts = begun.clone();
        let call = rt.spawn(move || counts.load(SeqCst));
        let before = begun.load(SeqCst);
        go.store(true, SeqCst);
        let after = call.join().unwrap();
        wait_until(|| begun.load(SeqCst) == TASKS);
        assert!(after <= before + 10 * rt.workers(), "{} tasks were begun before the call", after - before);
    });
}

/// Those who call from outside all the time do not have all turns of a worker: a closure that is
/// ready goes on in one of nine.
#[test]
fn calls_from_outside_leave_turns_to_what_is_ready() {
    const TURNS: usize = 30;
    // A worker takes 32 at once; so all turns of 625 calls could be asked for.
    const CALLS: usize = 20_000;
    // (Without spares: where the system lets the worker wait, they take calls, too.)
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let (turns, calls, stop) =
                (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
            let (counts, ends) = (turns.clone(), stop.clone());
            let yields = rt.spawn(move || {
                while !ends.load(SeqCst) {
                    counts.fetch_add(1, SeqCst);
                    yield_now();
                }
            });
            wait_until(|| turns.load(SeqCst) > 0);
            let before = turns.load(SeqCst);
            for _ in 0..CALLS {
                let (calls, turns, ends) = (calls.clone(), turns.clone(), stop.clone());
                drop(rt.spawn(move || {
                    let begin = Instant::now();
                    while begin.elapsed() < Duration::from_micros(60) && !ends.load(SeqCst) {
                        std::hint::spin_loop();
                    }
                    if turns.load(SeqCst) < before + TURNS {
                        calls.fetch_add(1, SeqCst);
                    }
                }));
            }
            wait_until(|| turns.load(SeqCst) >= before + TURNS);
            stop.store(true, SeqCst);
            yields.join().unwrap();
            let calls = calls.load(SeqCst);
            assert!(calls < 16 * TURNS, "{calls} calls had their turns beside {TURNS} of a ready closure");
        },
    );
}

/// Each of 32 futures sends to all others, and receives as much, for 50 rounds. One that is woken
/// waits its turn, in which it finds messages of many: were each polled for a single one, there
/// would be 0.4 polls of a message.
#[test]
fn who_hears_from_many_is_not_polled_for_each() {
    const TASKS: usize = 32;
    const ROUNDS: usize = 50;
    each(&[1], |rt| {
        let (to, inboxes): (Vec<_>, Vec<_>) = (0..TASKS).map(|_| bounded(2 * TASKS)).unzip();
        let polls = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            let all = inboxes.into_iter().enumerate().map(|(i, inbox)| {
                let (to, polls) = (to.clone(), polls.clone());
                let mut task = Box::pin(async move {
                    for round in 0..ROUNDS {
                        for k in 1..TASKS {
                            to[(i + k) % TASKS].send_async(round).await.unwrap();
                        }
                        for _ in 1..TASKS {
                            inbox.recv_async().await.unwrap();
                        }
                    }
                });
                spawn_async(poll_fn(move |cx| {
                    polls.fetch_add(1, Relaxed);
                    task.as_mut().poll(cx)
                }))
            });
            let all: Vec<_> = all.collect();
            all.into_iter().for_each(|task| task.join().unwrap());
        });
        let (polls, messages) = (polls.load(Relaxed), TASKS * (TASKS - 1) * ROUNDS);
        assert!(polls * 5 < messages, "{polls} polls for {messages} messages");
    });
}
