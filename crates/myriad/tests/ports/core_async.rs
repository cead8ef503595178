//! core.async's channels, row by row (A1 to A16 of `docs/dev/FEATURES.md`), written anew from their
//! behaviour. What is different here on purpose is tested as it is here. (`alts!` and `timeout` are
//! in `select_semantics.rs`, buffers that drop and promises in `channel_kinds.rs`.)

use crate::channel_common::*;
use myriad::channel::*;
use myriad::{block_on, select, spawn, spawn_async};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

/// A1: there any value but nil, and at most 1,024 that wait on each side.
#[test]
fn any_value_and_any_number_of_waiters() {
    const N: usize = 3_000;
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous::<Option<usize>>();
            let puts: Vec<_> = (0..N)
                .map(|n| {
                    let tx = tx.clone();
                    // Each third is the value that is not one there.
                    spawn_async(async move { tx.send_async((n % 3 != 0).then_some(n)).await })
                })
                .collect();
            let got: Vec<_> = (0..N).map(|_| rx.recv().unwrap()).collect();
            assert_eq!(got.iter().flatten().sum::<usize>(), (0..N).filter(|n| n % 3 != 0).sum());
            assert_eq!(got.iter().filter(|n| n.is_none()).count(), N / 3);
            puts.into_iter().for_each(|put| put.join().unwrap().unwrap());
            let takes: Vec<_> = (0..N)
                .map(|_| {
                    let rx = rx.clone();
                    spawn_async(async move { rx.recv_async().await.unwrap().unwrap() })
                })
                .collect();
            (0..N).for_each(|n| tx.send(Some(n)).unwrap());
            assert_eq!(takes.into_iter().map(|take| take.join().unwrap()).sum::<usize>(), N * (N - 1) / 2);
        });
    });
}

/// A2: `n` puts go at once, the next waits for a take; and what was put comes in that order.
#[test]
fn a_put_waits_when_the_buffer_is_full() {
    each_runtime(|rt| {
        rt.run(|| {
            for n in [1, 2, 3, 10] {
                let (tx, rx) = bounded(n);
                (0..n).for_each(|i| tx.send_timeout(i, LONG).unwrap());
                let done = Arc::new(AtomicUsize::new(0));
                let putting = spawn({
                    let (tx, done) = (tx.clone(), done.clone());
                    move || {
                        for i in n..2 * n {
                            tx.send(i).unwrap();
                            done.fetch_add(1, SeqCst);
                        }
                    }
                });
                // A future that waits is seen to; the task waits before it or behind it.
                let mut last = pin!(tx.send_async(2 * n));
                assert!(poll_once(last.as_mut()).is_pending());
                assert_eq!((tx.len(), done.load(SeqCst)), (n, 0), "nobody has taken anything");
                let got: Vec<_> = (0..2 * n + 1)
                    .map(|_| {
                        assert!(tx.len() <= n);
                        rx.recv().unwrap()
                    })
                    .collect();
                assert!(got[..n].iter().copied().eq(0..n), "{got:?}");
                let mut rest = got[n..].to_vec();
                rest.retain(|i| *i != 2 * n);
                assert!(rest.into_iter().eq(n..2 * n), "{got:?}");
                assert_eq!(poll_once(last), Poll::Ready(Ok(())));
                putting.join().unwrap();
            }
        });
    });
}

/// A4: what transducers do there: without repetitions, so many and then the end, in groups, and an
/// error that becomes a value. A transformation that expands waits in the middle, because the
/// capacity holds for what it makes.
#[test]
fn transformations_as_transducers() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let last = std::sync::Mutex::new(None);
            let tx = tx.transform(move |n: u32| (last.lock().unwrap().replace(n) != Some(n)).then_some(n));
            [1, 1, 2, 2, 2, 1].into_iter().for_each(|n| tx.send(n).unwrap());
            drop(tx);
            assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2, 1], "dedupe");
            // `(take 3)`: the third closes the channel; `reduced` there.
            let (tx, rx) = bounded(1);
            let (end, taken) = (tx.clone(), AtomicUsize::new(0));
            let tx = tx.transform(move |n: u32| match taken.fetch_add(1, SeqCst) {
                0..3 => Some(n),
                _ => {
                    end.close();
                    None
                }
            });
            let putting = spawn(move || (0..).take_while(|n| tx.send(*n).is_ok() && !tx.inner().is_closed()).count());
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2], "take");
            assert_eq!(putting.join().unwrap(), 3);
            // A failure is caught where the send is called, and becomes a message.
            let (tx, rx) = unbounded();
            let tx = tx.transform(|n: u32| Some(100u32.checked_div(n).unwrap_or(u32::MAX)));
            [5, 0].into_iter().for_each(|n| tx.send(n).unwrap());
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), [20, u32::MAX], "ex-handler");
            // Expanded, and waiting: never more than fits.
            let (tx, rx) = bounded(2);
            let tx = tx.transform(|n: u32| 0..n);
            let putting = spawn(move || (0..10).for_each(|n| tx.send(n).unwrap()));
            let mut n = 0;
            while let Ok(_message) = rx.recv() {
                assert!(rx.len() <= 2);
                n += 1;
            }
            assert_eq!(n, 45);
            putting.join().unwrap();
        });
    });
}

/// A5: closing is once; later puts fail, buffered values come, takes that wait hear of the end.
/// Other than there puts that wait are ended, and get their value back.
#[test]
fn closing() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(2);
            tx.send(1).unwrap();
            tx.send(2).unwrap();
            let waiting = spawn({
                let tx = tx.clone();
                move || tx.send(3)
            });
            let mut put = pin!(tx.send_async(4));
            assert!(poll_once(put.as_mut()).is_pending());
            assert!(tx.close(), "it was open");
            assert!(!tx.close() && !rx.close(), "once");
            assert_eq!(waiting.join().unwrap(), Err(SendError(3)));
            assert_eq!(poll_once(put), Poll::Ready(Err(SendError(4))));
            assert_eq!(tx.send(5), Err(SendError(5)));
            assert_eq!(tx.try_send(6).map_err(|error| (error.is_closed(), error.into_inner())), Err((true, 6)));
            assert_eq!(select! { sent = tx.send(7) => sent }, Err(SendError(7)));
            assert_eq!([rx.recv(), rx.recv(), rx.recv(), rx.recv()], [Ok(1), Ok(2), Err(RecvError), Err(RecvError)]);
            let (tx, rx) = bounded::<u8>(1);
            let takes: Vec<_> = (0..10)
                .map(|i| {
                    let rx = rx.clone();
                    if i % 2 == 0 {
                        spawn(move || rx.recv())
                    } else {
                        spawn_async(async move { rx.recv_async().await })
                    }
                })
                .collect();
            tx.close();
            assert!(takes.into_iter().all(|take| take.join().unwrap() == Err(RecvError)));
        });
    });
}

/// A6, A7: the same channel from a thread, and from whatever depth of a task: no macro has to see
/// the operation.
#[test]
fn parking_where_no_macro_sees_it() {
    fn deep(depth: usize, rx: &Receiver<usize>) -> usize {
        let mut values = [depth; 3];
        if depth == 0 {
            return rx.recv().unwrap();
        }
        // In a callback of foreign code, too.
        values.sort_by_key(|_| rx.recv().unwrap());
        values[0] + deep(depth - 1, rx)
    }
    each_runtime(|rt| {
        let (tx, rx) = rendezvous();
        let task = rt.spawn(move || (deep(5, &rx), rx));
        let thread = std::thread::spawn(move || (0..).take_while(|n| tx.send(*n).is_ok()).count());
        let (sum, rx) = task.join().unwrap();
        drop(rx);
        let sent = thread.join().unwrap();
        // At the bottom it gets what was sent last.
        assert!(sent > 5 * 3 && sum == 5 + 4 + 3 + 2 + 1 + (sent - 1), "{sum} {sent}");
    });
}

/// A9: `offer!` and `poll!` succeed if that is possible at once: there is room, a message, or a
/// partner that waits, of each kind.
#[test]
fn offers_and_polls() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = rendezvous();
            assert!(tx.try_send(0).is_err_and(|error| error.is_full()));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            let (taker, taker2) = (rx.clone(), rx.clone());
            let taking = start(rt, kind, move || taker.recv(), async move { taker2.recv_async().await });
            wait_until(|| tx.is_ready());
            tx.try_send(1).unwrap();
            assert!(tx.try_send(2).is_err(), "there was one");
            assert_eq!(taking.join(), Ok(1), "{kind:?}");
            let (putter, putter2) = (tx.clone(), tx.clone());
            let putting = start(rt, kind, move || putter.send(3), async move { putter2.send_async(3).await });
            wait_until(|| rx.is_ready());
            assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(3), Err(TryRecvError::Empty)));
            assert_eq!(putting.join(), Ok(()), "{kind:?}");
        }
    });
}

/// A10: of many puts and takes at most one is done, whoever else is at these channels; `:default`
/// only if none is possible.
#[test]
fn at_most_one_of_many() {
    each_runtime(|rt| {
        rt.run(|| {
            const ROUNDS: usize = 300;
            let (puts, takes): (Vec<_>, Vec<_>) = (0..4).map(|_| bounded::<usize>(2)).unzip();
            let done: Vec<_> = (0..3)
                .map(|who| {
                    let (puts, takes) = (puts.clone(), takes.clone());
                    spawn(move || {
                        let mut balance = 0i64;
                        for round in 0..ROUNDS {
                            // More puts than takes now and then, so that both wait.
                            balance += select! {
                                r = puts[0].send(round) => { r.unwrap(); 1 }
                                r = puts[1].send(round) => { r.unwrap(); 1 }
                                n = takes[1].recv() => { n.unwrap(); -1 }
                                r = puts[2].send(round) => { r.unwrap(); 1 }
                                n = takes[3].recv() => { n.unwrap(); -1 }
                                n = takes[who].recv() => { n.unwrap(); -1 }
                            };
                        }
                        balance
                    })
                })
                .collect();
            let balance: i64 = done.into_iter().map(|task| task.join().unwrap()).sum();
            assert_eq!(balance, takes.iter().map(|rx| rx.len() as i64).sum::<i64>(), "each did one thing a round");
            let left = takes.iter().map(Receiver::len).sum::<usize>();
            for _ in 0..left {
                select! {
                    n = takes[0].recv() => _ = n.unwrap(), n = takes[1].recv() => _ = n.unwrap(), n = takes[2].recv() => _ = n.unwrap(),
                    n = takes[3].recv() => _ = n.unwrap(), default => panic!("something is there"),
                }
            }
            assert!(select! { _ = takes[0].recv() => false, _ = takes[1].recv() => false, default => true });
        });
    });
}

/// A12: `after` is one message for one receiver, at its time and not before; on a clock that the
/// test moves.
#[test]
fn a_timeout_is_not_early() {
    let _watch = crate::common::watch("a manual clock");
    for mode in modes() {
        let rt = mode.builder().workers(1).manual_clock().build().unwrap();
        let (tx, started) = unbounded();
        let waiting: Vec<_> = (1..=5)
            .map(|hours| {
                let tx = tx.clone();
                rt.spawn(move || {
                    let time = after(Duration::from_secs(3_600 * hours));
                    let (_keep, nothing) = rendezvous::<()>();
                    tx.send(()).unwrap();
                    select! { _ = nothing.recv() => unreachable!(), time = time.recv() => time.unwrap() }
                })
            })
            .collect();
        waiting.iter().for_each(|_| started.recv().unwrap());
        let begin = rt.now();
        for hours in 1..=5 {
            rt.advance(Duration::from_secs(3_599));
            assert_eq!(waiting.iter().filter(|task| task.is_finished()).count(), hours - 1, "not before its time");
            rt.advance(Duration::from_secs(1));
            wait_until(|| waiting[hours - 1].is_finished());
        }
        for (task, hours) in waiting.into_iter().zip(1..) {
            assert_eq!(task.join().unwrap() - begin, Duration::from_secs(3_600 * hours));
        }
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// A13, A14: what `go` and `thread` return is a channel with the result; here a handle, which a
/// select takes as well.
#[test]
fn results_of_tasks_as_ports() {
    each_runtime(|rt| {
        rt.run(|| {
            let mut tasks: Vec<_> = (0..20).map(|n| spawn(move || n * n)).collect();
            let blocking = myriad::blocking_async(|| 400);
            let mut sum = block_on(blocking);
            while let Some(mut task) = tasks.pop() {
                sum += select! { n = task.join() => n.unwrap(), after(LONG) => panic!("it does not end") };
            }
            assert_eq!(sum, (0..=20).map(|n| n * n).sum::<usize>());
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// callbacks (A8)

/// `take!` and `put!`: the function is called on the caller if it can be done at once, else later;
/// in the order of the calls.
#[test]
fn callbacks() {
    each_runtime(|rt| {
        let (seen, order) = bounded(100);
        rt.run(move || {
            let me = std::thread::current().id();
            let (tx, rx) = bounded(1);
            // At once, here.
            tx.send_then(0, move |sent| assert!(sent.is_ok() && std::thread::current().id() == me));
            rx.recv_then(move |got| assert!(got == Ok(0) && std::thread::current().id() == me));
            // Takes that wait, in their order, also where one operation after the other spends the
            // caller's budget.
            for i in 0..600 {
                let seen = seen.clone();
                rx.recv_then(move |got| seen.send((i, got)).unwrap());
            }
            for i in 0..600 {
                tx.send(i).unwrap();
            }
            let mut all: Vec<_> = order.iter().take(600).collect();
            all.sort_unstable_by_key(|(i, _)| *i);
            assert!(all.into_iter().all(|(i, got)| got == Ok(i)), "the first take has the first message");
            // Puts that wait; the last fail.
            let (sent, results) = bounded(1000);
            for i in 0..600 {
                let sent = sent.clone();
                tx.send_then(i, move |result| sent.send((i, result.map_err(|e| e.0))).unwrap());
            }
            assert!((0..400).all(|i| rx.recv() == Ok(i)));
            assert!(rx.close());
            // What was buffered is still received.
            assert_eq!((rx.recv(), rx.recv()), (Ok(400), Err(RecvError)));
            let results: Vec<_> = results.iter().take(600).collect();
            for (i, result) in results {
                assert_eq!(result, if i <= 400 { Ok(()) } else { Err(i) });
            }
            tx.send_then(7, |result| assert_eq!(result.unwrap_err().0, 7));
            rx.recv_then(|got: Result<i32, _>| assert_eq!(got, Err(RecvError)));
        });
    });
}

/// The callback's end of the channel goes before it is called: who waits for the last end to go
/// hears of it.
#[test]
fn a_callback_lets_go_of_its_end() {
    each_runtime(|rt| {
        let closed = rt.run(|| {
            let (tx, rx) = rendezvous::<()>();
            let (done, closed) = bounded(1);
            let (on, wait) = rendezvous::<()>();
            rx.recv_then(move |_| {
                _ = wait.recv();
                done.send(()).unwrap();
            });
            drop(rx);
            tx.send(()).unwrap();
            // The callback runs, or will, and has no end any more: this one fails instead of
            // waiting for ever.
            while tx.send_timeout((), Duration::from_millis(1)) != Err(SendTimeoutError::Closed(())) {}
            drop(on);
            closed.recv()
        });
        assert_eq!(closed, Ok(()));
    });
}
