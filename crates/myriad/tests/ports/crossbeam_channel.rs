//! crossbeam-channel's tests of its kinds of channels, written anew from their behaviour: what is
//! in it, what ends it, iterators, times, fairness, and channels in the destructors of
//! thread-locals. (`select!` and `Select`: `select_semantics.rs`.)

use crate::channel_common::*;
use myriad::channel::*;
use myriad::sync::{Arc, Mutex};
use myriad::time::{now, sleep};
use myriad::{select, spawn};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// `capacity`, `len_empty_full`, and both ends say the same.
#[test]
fn what_is_in_it() {
    for capacity in 0..8 {
        let (tx, rx) = bounded(capacity);
        for n in 0..=capacity {
            assert_eq!((tx.len(), tx.is_empty(), tx.is_full()), (n, n == 0, n == capacity));
            assert_eq!(
                (rx.len(), rx.is_empty(), rx.capacity(), tx.capacity()),
                (n, n == 0, Some(capacity), Some(capacity))
            );
            assert_eq!(tx.try_send(n).is_ok(), n < capacity);
        }
    }
    let (tx, rx) = unbounded();
    (0..1_000).for_each(|n| tx.send(n).unwrap());
    assert_eq!((tx.len(), rx.len(), tx.is_full(), tx.capacity(), rx.capacity()), (1_000, 1_000, false, None, None));
}

/// `len` while others send and receive: never more than the capacity, and 0 at the end.
#[test]
fn its_length_while_it_is_used() {
    each_runtime(|rt| {
        for capacity in [1, 20] {
            let (tx, rx) = bounded(capacity);
            let looking = rt.spawn({
                let (tx, rx) = (tx.clone(), rx.clone());
                move || {
                    let mut looks = 0;
                    while !rx.is_closed() {
                        assert!(tx.len() <= capacity && rx.len() <= capacity);
                        looks += 1;
                        myriad::yield_now();
                    }
                    looks
                }
            });
            let receiving = rt.spawn({
                let rx = rx.clone();
                move || rx.iter().inspect(|_| assert!(rx.len() <= capacity)).count()
            });
            rt.run({
                let tx = tx.clone();
                move || (0..5_000).for_each(|n| (tx.send(n).unwrap(), assert!(tx.len() <= capacity)).1)
            });
            tx.close();
            assert_eq!(receiving.join().unwrap(), 5_000);
            looking.join().unwrap();
            assert_eq!((tx.len(), rx.len()), (0, 0));
        }
    });
}

/// `same_channel`.
#[test]
fn the_same_channel() {
    let ((tx, rx), (tx2, rx2)) = (bounded::<u8>(1), bounded::<u8>(1));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&rx.clone()));
    assert!(!tx.same_channel(&tx2) && !rx.same_channel(&rx2));
}

/// `disconnect_wakes_sender`, `disconnect_wakes_receiver`: the last end of the other side goes.
#[test]
fn the_other_side_goes() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            let (a, b) = (tx.clone(), tx);
            let sending = start(rt, kind, move || a.send(2), async move { b.send_async(2).await });
            drop(rx);
            assert_eq!(sending.join(), Err(SendError(2)), "{kind:?}");
            let (tx, rx) = bounded::<u8>(1);
            let (a, b) = (rx.clone(), rx);
            let receiving = start(rt, kind, move || a.recv(), async move { b.recv_async().await });
            drop(tx);
            assert_eq!(receiving.join(), Err(RecvError), "{kind:?}");
        }
    });
}

/// `spsc`, `mpmc`: each message once, in the order of its sender.
#[test]
fn each_message_once() {
    const N: usize = 1_500;
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let (tx, rx) = channel::<(usize, usize)>(capacity);
            let seen: Arc<Vec<AtomicUsize>> = Arc::new((0..N).map(|_| AtomicUsize::new(0)).collect());
            let receivers: Vec<_> = (0..4)
                .map(|_| {
                    let (rx, seen) = (rx.clone(), seen.clone());
                    rt.spawn(move || {
                        let mut last = [None; 4];
                        for (who, n) in rx {
                            assert!(last[who] < Some(n), "out of order");
                            last[who] = Some(n);
                            seen[n].fetch_add(1, SeqCst);
                        }
                    })
                })
                .collect();
            drop(rx);
            for who in 0..4 {
                let tx = tx.clone();
                rt.spawn(move || (0..N).for_each(|n| tx.send((who, n)).unwrap()));
            }
            drop(tx);
            receivers.into_iter().for_each(|receiver| receiver.join().unwrap());
            assert!(seen.iter().all(|n| n.load(SeqCst) == 4), "{capacity:?}");
        }
    });
}

/// `stress_oneshot`: a channel for one message, sent and received at the same time, and dropped by
/// whoever is last.
#[test]
fn many_short_lives() {
    each_runtime(|rt| {
        rt.run(|| {
            let count = Arc::new(Count::default());
            for i in 0..500 {
                let (tx, rx) = bounded::<Counted>(1);
                let message = Counted::new(i, &count);
                let receiving = spawn(move || rx.recv().unwrap().id);
                let sending = spawn(move || tx.send(message).is_ok());
                assert_eq!((receiving.join().unwrap(), sending.join().unwrap()), (i, true));
            }
            assert_eq!(count.alive(), 0);
        });
    });
}

/// `stress_timeout_two_threads`: one sleeps before each send, the other before each receive, and
/// each tries until it has worked.
#[test]
fn two_with_time_limits() {
    each_runtime(|rt| {
        for capacity in [0, 2] {
            let (tx, rx) = bounded(capacity);
            let sending = rt.spawn(move || {
                for i in 0..60 {
                    if i % 2 == 0 {
                        sleep(MS / 10);
                    }
                    let mut message = i;
                    while let Err(error) = tx.send_timeout(message, MS / 20) {
                        assert!(error.is_timeout());
                        message = error.into_inner();
                    }
                }
            });
            for i in 0..60 {
                if i % 2 == 0 {
                    std::thread::sleep(MS / 10);
                }
                let got = loop {
                    match rx.recv_timeout(MS / 20) {
                        Err(RecvTimeoutError::Timeout) => {}
                        got => break got,
                    }
                };
                assert_eq!(got, Ok(i));
            }
            sending.join().unwrap();
            assert_eq!(rx.recv_timeout(MS), Err(RecvTimeoutError::Closed));
        }
    });
}

/// `iter.rs`: nested, owned and borrowed, what is there now, and iterators that break off and go
/// on.
#[test]
fn iterators() {
    each_runtime(|rt| {
        rt.run(|| {
            let ((tx, rx), (total, sum)) = (unbounded(), unbounded());
            // A receiver that is iterated in a task, twice.
            spawn(move || {
                let first: i32 = rx.iter().take_while(|n| *n != 0).sum();
                total.send((first, rx.into_iter().sum::<i32>())).unwrap();
            });
            [3, 1, 2, 0, 5, 5].into_iter().for_each(|n| tx.send(n).unwrap());
            drop(tx);
            assert_eq!(sum.recv(), Ok((6, 10)));
            let (tx, rx) = unbounded();
            let (question, asked) = rendezvous::<()>();
            // Answers while somebody asks, by what is there.
            let answers = spawn(move || {
                let mut n = 0;
                loop {
                    for () in asked.try_iter() {
                        tx.send(n).unwrap();
                        n += 1;
                    }
                    if asked.is_closed() {
                        return n;
                    }
                    myriad::yield_now();
                }
            });
            for n in 0..10 {
                question.send(()).unwrap();
                assert_eq!((&rx).into_iter().next(), Some(n));
            }
            drop(question);
            assert_eq!(answers.join().unwrap(), 10);
            let mut owned = rx.into_iter();
            assert_eq!((owned.next(), owned.next()), (None, None));
        });
    });
}

/// `channel_through_channel`, `drops`, `recv_in_send`: ends and closures as messages, and an
/// operation inside of another's argument.
#[test]
fn channels_through_channels() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<Box<dyn FnOnce() -> Option<Receiver<u32>> + Send>>(0);
            let sender = spawn(move || {
                for n in 0..50 {
                    let (inner, out) = bounded(1);
                    inner.send(n).unwrap();
                    tx.send(Box::new(move || (n % 5 != 4).then_some(out))).unwrap();
                }
            });
            let got: Vec<u32> = rx.iter().filter_map(|f| f()).flat_map(|rx| rx.into_iter()).collect();
            assert!(got.into_iter().eq((0..50).filter(|n| n % 5 != 4)));
            sender.join().unwrap();
            let (tx, rx) = unbounded();
            tx.send(1).unwrap();
            tx.send(rx.recv().unwrap() + 1).unwrap();
            select! { r = tx.send(rx.recv().unwrap() + 1) => r.unwrap() }
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3]);
        });
    });
}

/// `after.rs`: one message, not early, for one of those that share it; selects with several of
/// them; `tick.rs`: each once.
#[test]
fn times() {
    each_runtime(|rt| {
        rt.run(|| {
            let begin = now();
            let (short, long) = (after(MS), after(600_000 * MS));
            let shared: Vec<_> = (0..5)
                .map(|_| {
                    let short = short.clone();
                    spawn(move || short.recv_timeout(20 * MS).is_ok())
                })
                .collect();
            let got = shared.into_iter().map(|task| task.join().unwrap());
            assert_eq!(got.filter(|got| *got).count(), 1);
            assert!(now() >= begin + MS && !long.is_ready() && long.try_recv().is_err());
            let next = after(MS);
            let won =
                select! { _ = long.recv() => 0, time = next.recv() => { assert!(time.unwrap() >= begin + 2 * MS); 1 } };
            assert_eq!(won, 1);
            // All that are due; each of two that are due at the same time wins sometimes.
            let mut wins = [0; 2];
            for _ in 0..300 {
                let due = [after(Duration::ZERO), after(Duration::ZERO)];
                wins[select! { _ = due[0].recv() => 0, _ = due[1].recv() => 1 }] += 1;
                assert_eq!(due.iter().filter(|time| time.try_recv().is_ok()).count(), 1, "the other one is left");
            }
            assert!(wins.iter().all(|n| *n > 60), "{wins:?}");
            // Two that share ticks: each tick for one of them.
            let (begin, ticks) = (now(), tick(MS / 2));
            let taken = Arc::new(Mutex::new(Vec::new()));
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let (ticks, taken) = (ticks.clone(), taken.clone());
                    spawn(move || (0..5).for_each(|_| taken.lock().unwrap().push(ticks.recv().unwrap())))
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            let taken = taken.lock().unwrap();
            assert!(taken.len() == 10 && now() - begin >= 5 * MS, "ten periods");
            let nothing = never();
            assert!(select! { _ = nothing.recv() => false, after(MS / 10) => true });
        });
    });
}

/// `fairness`, `fairness_duplicates`: of two channels that are both ready each is received from,
/// and so are the arms of the same one.
#[test]
fn fairness() {
    const N: usize = 4_000;
    for capacity in [N, usize::MAX] {
        let ((tx, rx), (tx2, rx2)) = (bounded(capacity), bounded(capacity));
        (0..N).for_each(|_| (tx.send(()).unwrap(), tx2.send(()).unwrap()).1);
        let mut hits = [0usize; 5];
        for _ in 0..N {
            select! {
                _ = rx.recv() => hits[0] += 1, _ = rx.recv() => hits[1] += 1, _ = rx.recv() => hits[2] += 1,
                _ = rx2.recv() => hits[3] += 1, _ = rx2.recv() => hits[4] += 1,
            }
        }
        // Seven standard deviations.
        assert!(hits.iter().all(|n| n.abs_diff(N / 5) < 180), "{hits:?}");
    }
}

/// `thread_locals.rs`: a thread's destructors use channels when the library's own thread-locals may
/// be gone: before they were made, and after.
#[test]
fn in_destructors_of_thread_locals() {
    type Job = Box<dyn FnOnce()>;
    #[derive(Default)]
    struct AtEnd(RefCell<Vec<Job>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.borrow_mut().drain(..).for_each(|job| job());
        }
    }
    thread_local! {
        static AT_END: AtEnd = AtEnd::default();
    }
    each_runtime(|rt| {
        for used_before in [false, true] {
            let (tx, rx) = rendezvous();
            let (tx2, rx2) = bounded(1);
            let handle = rt.handle();
            let answering = rt.spawn(move || {
                // Late enough that the thread waits, most often.
                let mut got = Vec::new();
                while let Ok(n) = rx.recv() {
                    got.push(n);
                    tx2.send(n + 1).unwrap();
                }
                got
            });
            let thread = std::thread::spawn(move || {
                let warm_up = move || {
                    let (tx, rx) = bounded(1);
                    tx.send(()).unwrap();
                    select! { _ = rx.recv() => {}, default => unreachable!() }
                    sleep(MS / 50);
                    assert!(myriad::task::current().is_none());
                };
                if used_before {
                    warm_up();
                }
                AT_END.with(|at_end| {
                    at_end.0.borrow_mut().push(Box::new(move || {
                        tx.send(1).unwrap();
                        assert_eq!(rx2.recv(), Ok(2));
                        select! { r = tx.send(10) => r.unwrap(), after(600_000 * MS) => panic!("nobody receives") }
                        assert_eq!(select! { n = rx2.recv() => n, after(600_000 * MS) => panic!("no answer") }, Ok(11));
                        myriad::block_on(async {
                            tx.send_async(100).await.unwrap();
                            assert_eq!(rx2.recv_async().await, Ok(101));
                        });
                        assert_eq!(rx2.recv_timeout(MS / 10), Err(RecvTimeoutError::Timeout));
                        let task = handle.spawn(|| 7);
                        assert_eq!(task.join().unwrap(), 7);
                        let lock = Mutex::new(0);
                        *lock.lock().unwrap() += 1;
                    }));
                });
                if !used_before {
                    warm_up();
                }
            });
            thread.join().unwrap();
            assert_eq!(answering.join().unwrap(), [1, 10, 100], "used before: {used_before}");
        }
    });
}
