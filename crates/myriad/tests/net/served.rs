//! Who is served when: sockets beside workers that compute, tasks that never rest, wakes from
//! outside, timers, clocks.
//!
//! How fast is measured elsewhere: here each is served at all, while what would keep it from that
//! goes on.

use crate::common::{MODES, Mode, PATIENCE, case, each, each_owned, full_length, wait_until, watch};
use crate::each_runtime;
use crate::ends::{echo, echo_async, half, moment};
use myriad::{OnStuck, Runtime, time};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// One round of an echo, with a peer on a plain thread.
fn round_trip(peer: &mut std::net::TcpStream) {
    peer.write_all(b"ping").unwrap();
    peer.read_exact(&mut [0; 4]).unwrap();
}

/// A connection that this runtime echoes, as a closure or a future; the peer's end.
fn echoed(rt: &Runtime, future: bool) -> (myriad::JoinHandle<()>, std::net::TcpStream) {
    let (stream, peer) = half();
    let served = if future { rt.spawn_async(echo_async(stream)) } else { rt.spawn(|| echo(stream)) };
    (served, peer)
}

/// While tasks of this runtime do this, over and over, connections are echoed.
fn echoes_beside(rt: &Runtime, tasks: usize, does: fn(), rounds: usize) {
    let stop = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..tasks)
        .map(|_| {
            let stop = stop.clone();
            rt.spawn(move || {
                while !stop.load(SeqCst) {
                    does();
                }
            })
        })
        .collect();
    let ends = [false, true].map(|future| {
        let (served, mut peer) = echoed(rt, future);
        (0..rounds).for_each(|_| round_trip(&mut peer));
        served
    });
    stop.store(true, SeqCst);
    others.into_iter().for_each(|task| task.join().unwrap());
    ends.into_iter().for_each(|served| served.join().unwrap());
}

/// Situation 26. A hundred tasks that yield for ever.
#[test]
fn beside_tasks_that_yield() {
    each(&[1, 2], |rt| echoes_beside(rt, 100, myriad::yield_now, 20));
}

fn compute() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
    time::sleep(Duration::from_millis(1));
}

/// Situation 27. Each of as many tasks as there are workers computes 20 ms at a time.
#[test]
fn beside_tasks_that_compute() {
    each(&[2], |rt| echoes_beside(rt, 1, compute, 5));
    each(&[1, 2], |rt| echoes_beside(rt, rt.workers(), compute, 2));
}

/// The worker that comes out of the reactor computes for long, and the other one sleeps elsewhere:
/// it takes the place, and a future is served meanwhile.
#[test]
fn the_one_who_looked_computes() {
    for mode in MODES {
        case(
            mode,
            2,
            |b| b,
            |rt| {
                for _ in 0..5 {
                    let (served, mut peer) = echoed(rt, true);
                    round_trip(&mut peer);
                    // Its reader computes until the echo was served.
                    let (stream, mut other) = half();
                    let done = Arc::new(AtomicBool::new(false));
                    let until = done.clone();
                    let computes = rt.spawn(move || {
                        stream.read(&mut [0; 4]).unwrap();
                        crate::common::compute_until(|| until.load(SeqCst));
                    });
                    other.write_all(b"x").unwrap();
                    (0..3).for_each(|_| round_trip(&mut peer));
                    done.store(true, SeqCst);
                    computes.join().unwrap();
                    drop(peer);
                    served.join().unwrap();
                }
            },
        );
    }
}

/// Situation 28. All workers are stuck until the socket was served: the monitor sees the event, and
/// a spare serves it.
#[test]
fn all_workers_are_stuck() {
    each(&[1, 2], |rt| {
        let (served, mut peer) = echoed(rt, true);
        round_trip(&mut peer);
        let done = Arc::new(AtomicBool::new(false));
        let stuck: Vec<_> = (0..rt.workers())
            .map(|_| {
                let done = done.clone();
                rt.spawn(move || {
                    while !done.load(SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                })
            })
            .collect();
        (0..3).for_each(|_| round_trip(&mut peer));
        done.store(true, SeqCst);
        stuck.into_iter().for_each(|task| task.join().unwrap());
        drop(peer);
        served.join().unwrap();
    });
}

/// A spare was in the reactor while the workers fell asleep; it goes off duty, and somebody takes
/// its place.
#[test]
fn a_spare_goes_off_duty() {
    each(&[1, 2], |rt| {
        for _ in 0..2 {
            let (served, mut peer) = echoed(rt, true);
            round_trip(&mut peer);
            let done = Arc::new(AtomicBool::new(false));
            let stuck: Vec<_> = (0..rt.workers())
                .map(|_| {
                    let done = done.clone();
                    rt.spawn(move || {
                        while !done.load(SeqCst) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    })
                })
                .collect();
            round_trip(&mut peer);
            // (The spare finds nothing more to do, and sleeps in the reactor.)
            std::thread::sleep(Duration::from_millis(5));
            done.store(true, SeqCst);
            stuck.into_iter().for_each(|task| task.join().unwrap());
            // So long after the last one was stuck spares rest.
            std::thread::sleep(Duration::from_millis(150));
            round_trip(&mut peer);
            drop(peer);
            served.join().unwrap();
        }
    });
}

/// Situations 29 and 30. All workers sleep, one of them in the reactor, or are about to: what comes
/// from outside reaches them each time.
#[test]
fn woken_from_outside_while_in_the_reactor() {
    each(&[1, 2], |rt| {
        let (served, mut peer) = echoed(rt, false);
        round_trip(&mut peer);
        let (tx, rx) = myriad::channel::unbounded::<u32>();
        let received = rt.spawn(move || rx.iter().count());
        let rounds = if full_length() { 100_000 } else { 2000 };
        for i in 0..rounds {
            match i % 4 {
                0 => assert_eq!(rt.spawn(move || i).join().unwrap(), i),
                1 => rt.spawn_async(async {}).join().unwrap(),
                2 => tx.send(i).unwrap(),
                _ => round_trip(&mut peer),
            }
            if i % 64 == 0 {
                // (They are asleep.)
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        // A timer from outside, while nothing else happens.
        let called = Arc::new(AtomicBool::new(false));
        let says = called.clone();
        let timer = rt.run(move || time::call_later(Duration::from_millis(1), move || says.store(true, SeqCst)));
        wait_until(|| called.load(SeqCst));
        drop((timer, tx, peer));
        assert_eq!(received.join().unwrap(), rounds as usize / 4);
        served.join().unwrap();
    });
}

/// Situation 31. A sleep in the reactor ends in time for the nearest timer, also one that comes
/// later than the sleep.
#[test]
fn timers_while_in_the_reactor() {
    each(&[1, 2], |rt| {
        let (served, mut peer) = echoed(rt, false);
        round_trip(&mut peer);
        let far = rt.spawn(|| time::sleep(Duration::from_secs(3600)));
        // The best of many: the machine is not ours alone.
        let late = (0..200).map(|_| {
            rt.run(|| {
                let began = Instant::now();
                time::sleep(Duration::from_micros(300));
                began.elapsed().checked_sub(Duration::from_micros(300)).expect("not too early")
            })
        });
        let best = late.min().unwrap();
        assert!(best < Duration::from_micros(600), "{best:?} late at best: as if in milliseconds");
        far.cancel();
        assert!(far.join().unwrap_err().is_cancelled());
        drop(peer);
        served.join().unwrap();
    });
}

/// Situation 32. Many connections that are ready at once: the futures are served in the order in
/// which they became ready.
#[test]
fn many_are_ready_at_once() {
    const N: usize = 200;
    for mode in MODES {
        case(
            mode,
            1,
            // (Another worker would serve some of them at the same time.)
            |b| b.spare_workers(0),
            |rt| {
                let order = Arc::new(std::sync::Mutex::new(Vec::new()));
                let mut peers: Vec<_> = (0..N)
                    .map(|i| {
                        let (stream, peer) = half();
                        let order = order.clone();
                        rt.spawn_async(async move {
                            while stream.read_async(&mut [0; 1]).await.unwrap() > 0 {
                                order.lock().unwrap().push(i);
                            }
                        });
                        peer
                    })
                    .collect();
                // All wait, and the worker is kept from looking while all become ready.
                let first = |peers: &mut Vec<std::net::TcpStream>| {
                    peers.iter_mut().for_each(|peer| peer.write_all(b"1").unwrap());
                };
                first(&mut peers);
                wait_until(|| order.lock().unwrap().len() == N);
                order.lock().unwrap().clear();
                let (held, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
                let (says, until) = (held.clone(), go.clone());
                let holds = rt.spawn(move || {
                    says.store(true, SeqCst);
                    crate::common::compute_until(|| until.load(SeqCst));
                });
                wait_until(|| held.load(SeqCst));
                peers.iter_mut().for_each(|peer| peer.write_all(b"123").unwrap());
                go.store(true, SeqCst);
                holds.join().unwrap();
                wait_until(|| order.lock().unwrap().len() == 3 * N);
                let mut firsts = order.lock().unwrap().clone();
                firsts.dedup();
                assert_eq!(firsts.len(), N, "each is served in one go: {firsts:?}");
                // (A worker takes one of the others now and then, so that none waits for ever.)
                let late = |(i, &who): (usize, &usize)| i.saturating_sub(who);
                let latest = firsts.iter().enumerate().map(late).max().unwrap();
                assert!(latest < N / 4, "one is served {latest} behind its turn: {firsts:?}");
            },
        );
    }
}

/// Situation 25. A stream that never rests: a timer and another connection are served beside it.
#[test]
fn beside_a_hot_stream() {
    each(&[1], |rt| {
        let (stream, mut peer) = half();
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let writes = std::thread::spawn(move || {
            let bytes = vec![0; 64 << 10];
            while !until.load(SeqCst) && peer.write_all(&bytes).is_ok() {}
        });
        let reads = rt.spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while stream.read(&mut bytes).unwrap() > 0 {}
        });
        let (served, mut peer) = echoed(rt, true);
        for _ in 0..20 {
            round_trip(&mut peer);
            rt.run(|| time::sleep(Duration::from_micros(100)));
        }
        stop.store(true, SeqCst);
        writes.join().unwrap();
        reads.join().unwrap();
        drop(peer);
        served.join().unwrap();
    });
}

/// A hot pair of tasks in one runtime, each always with something to read.
#[test]
fn beside_a_hot_echo_of_its_own() {
    each_runtime(|| {
        let (one, two) = crate::ends::pair();
        let stop = Arc::new(AtomicBool::new(false));
        let echoes = myriad::spawn(|| echo(two));
        let until = stop.clone();
        let asks = myriad::spawn(move || {
            while !until.load(SeqCst) {
                (&one).write_all(b"x").unwrap();
                (&one).read_exact(&mut [0]).unwrap();
            }
        });
        for _ in 0..5 {
            time::sleep(Duration::from_millis(1));
        }
        stop.store(true, SeqCst);
        asks.join().unwrap();
        echoes.join().unwrap();
    });
}

/// Situation 49, in little. Many connections that bring a byte now and then.
#[test]
fn many_slow_connections() {
    const N: usize = 100;
    each(&[1, 2], |rt| {
        let seen = Arc::new(AtomicUsize::new(0));
        let mut peers: Vec<_> = (0..N)
            .map(|i| {
                let ((stream, peer), seen) = (half(), seen.clone());
                let count = move |n| seen.fetch_add(n, SeqCst);
                if i % 2 == 0 {
                    rt.spawn(move || {
                        while let n @ 1.. = stream.read(&mut [0; 16]).unwrap() {
                            count(n);
                        }
                    });
                } else {
                    rt.spawn_async(async move {
                        while let n @ 1.. = stream.read_async(&mut [0; 16]).await.unwrap() {
                            count(n);
                        }
                    });
                }
                peer
            })
            .collect();
        for round in 0..5 {
            peers.iter_mut().for_each(|peer| peer.write_all(b"x").unwrap());
            moment(round);
        }
        wait_until(|| seen.load(SeqCst) == 5 * N);
    });
}

/// Situation 50. A runtime whose clock stands still: sockets work, nothing spins, and a limit in
/// time comes when the clock is moved.
#[test]
fn a_manual_clock() {
    for mode in MODES {
        for workers in [1, 2] {
            case(
                mode,
                workers,
                |b| b.manual_clock(),
                |rt| {
                    let (served, mut peer) = echoed(rt, false);
                    round_trip(&mut peer);
                    let (stream, _quiet) = half();
                    stream.set_read_timeout(Some(Duration::from_secs(3600))).unwrap();
                    let reads = rt.spawn(move || stream.read(&mut [0]).unwrap_err().kind());
                    (0..5).for_each(|_| round_trip(&mut peer));
                    assert!(!reads.is_finished());
                    let _watch = watch("the clock is moved");
                    while !reads.is_finished() {
                        rt.advance(Duration::from_secs(3600));
                        std::thread::sleep(Duration::from_micros(100));
                    }
                    assert_eq!(reads.join().unwrap(), std::io::ErrorKind::TimedOut);
                    round_trip(&mut peer);
                    drop(peer);
                    served.join().unwrap();
                },
            );
        }
    }
}

/// Tasks that wait for sockets for ever are no deadlock, and no worker is stuck in the reactor.
#[test]
fn to_wait_is_no_fault() {
    let told = Arc::new(AtomicUsize::new(0));
    let tells = told.clone();
    let hook =
        OnStuck::Hook { after: Duration::from_millis(1), hook: Arc::new(move |_| _ = tells.fetch_add(1, SeqCst)) };
    each_owned(|mode: Mode, _rt| {
        let rt = mode.builder().workers(1).on_stuck(hook.clone()).build().unwrap();
        let (served, mut peer) = echoed(&rt, false);
        round_trip(&mut peer);
        let before = told.load(SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(told.load(SeqCst), before, "a worker that sleeps in the reactor is not stuck");
        round_trip(&mut peer);
        drop(peer);
        served.join().unwrap();
        assert!(rt.shutdown(PATIENCE).is_clean());
    });
}
