//! What Go's select, crossbeam's and core.async's `alts!` do, written anew from their behaviour:
//! `test/chan/*.go`, crossbeam-channel's tests of `select!` and `Select`, the rows A9 to A12 of
//! core.async.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select;
use myriad::select::Select;
use myriad::time::sleep;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Too long for a test, too short for its watch.
const FOR_EVER: Duration = Duration::from_millis(3);

// -------------------------------------------------------------------------------------------------------
// Go

/// `select3.go`: which selects go on, and which wait for ever. A nil channel is [`never`], or an
/// arm that is `None`.
#[test]
fn go_what_blocks() {
    fn goes_on(ready: bool, what: &str, mut select: Select<'_, ()>) {
        assert_eq!(select.wait_timeout(FOR_EVER).is_some(), ready, "{what}");
    }
    fn arms<'a>(f: impl FnOnce(&mut Select<'a, ()>)) -> Select<'a, ()> {
        let mut select = Select::new();
        f(&mut select);
        select
    }
    each_runtime(|rt| {
        rt.run(|| {
            let none: Option<RecvArm<'_, u8>> = None;
            let (closed_tx, closed) = bounded::<u8>(1);
            closed_tx.close();
            let (full, full_rx) = bounded::<u8>(10);
            (0..10).for_each(|i| full.send(i).unwrap());
            let (free, free_rx) = bounded::<u8>(10);
            let (alone, alone_rx) = rendezvous::<u8>();
            let nil = never();
            goes_on(false, "nothing", arms(|_| ()));
            goes_on(false, "nil", arms(|s| _ = s.add(none, |_| ()).add(nil.recv_arm(), |_| ())));
            goes_on(true, "a closed one beside nil", arms(|s| _ = s.add(nil.recv_arm(), |_| ()).recv(&closed, |_| ())));
            goes_on(true, "sending on a closed one", arms(|s| _ = s.send(&closed_tx, 1, |r| assert!(r.is_err()))));
            goes_on(false, "sending to a full one", arms(|s| _ = s.send(&full, 1, |_| ())));
            goes_on(true, "receiving from a full one", arms(|s| _ = s.recv(&full_rx, |_| ())));
            goes_on(true, "room is there again", arms(|s| _ = s.send(&full, 1, |_| ())));
            goes_on(true, "sending to a free one", arms(|s| _ = s.send(&free, 1, |_| ())));
            goes_on(true, "and back", arms(|s| _ = s.recv(&free_rx, |_| ())));
            goes_on(false, "receiving from an empty one", arms(|s| _ = s.recv(&free_rx, |_| ())));
            goes_on(false, "a rendezvous with nobody", arms(|s| _ = s.send(&alone, 1, |_| ()).recv(&alone_rx, |_| ())));
            // `nonblock.go`: and with a default.
            assert!(select! { _ = alone.send(1) => false, _ = alone_rx.recv() => false, _ = free_rx.recv() => false, default => true });
            let partner = alone.clone();
            let waiting = myriad::spawn(move || partner.send(7));
            while !alone_rx.is_ready() {
                myriad::yield_now();
            }
            assert_eq!(select! { n = alone_rx.recv() => n, default => Ok(0) }, Ok(7));
            waiting.join().unwrap().unwrap();
        });
    });
}

/// `doubleselect.go`: several selects send on one channel to one receiver, which must see each
/// number once, in order for each.
#[test]
fn go_doubleselect() {
    each_runtime(|rt| {
        rt.run(|| {
            const N: usize = 3_000;
            let ends: Vec<_> = (0..4).map(|_| rendezvous::<usize>()).collect();
            let (tx, rx): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
            let (a, b) = (tx[0].clone(), tx[1].clone());
            let (c, d) = (tx[2].clone(), tx[3].clone());
            drop(tx);
            myriad::spawn(move || {
                for i in 0..N {
                    select! { r = a.send(i) => r.unwrap(), r = b.send(i) => r.unwrap(), r = c.send(i) => r.unwrap(), r = d.send(i) => r.unwrap() }
                }
            });
            let (out, merged) = rendezvous();
            for rx in rx {
                let out = out.clone();
                myriad::spawn(move || rx.iter().try_for_each(|i| out.send(i)));
            }
            drop(out);
            let mut seen = vec![0; N];
            merged.iter().for_each(|i| seen[i] += 1);
            assert!(seen.into_iter().all(|n| n == 1), "lost or doubled");
        });
    });
}

/// `sieve2.go` in spirit: primes through a chain in which each stage selects between numbers and a
/// stop.
#[test]
fn go_sieve_with_a_stop() {
    each_runtime(|rt| {
        let primes = rt.run(|| {
            let (stop, stopped) = rendezvous::<()>();
            let (tx, mut numbers) = bounded(1);
            let end = stopped.clone();
            myriad::spawn(move || {
                for i in 2.. {
                    select! { r = tx.send(i) => if r.is_err() { return }, _ = end.recv() => return }
                }
            });
            let mut primes = Vec::new();
            while primes.len() < 40 {
                let prime: u32 = numbers.recv().unwrap();
                primes.push(prime);
                let (tx, next) = bounded(1);
                let (from, end) = (std::mem::replace(&mut numbers, next), stopped.clone());
                myriad::spawn(move || {
                    loop {
                        let n = select! { n = from.recv() => n, _ = end.recv() => return };
                        match n {
                            Ok(n) if n % prime == 0 => {}
                            Ok(n) => select! { r = tx.send(n) => if r.is_err() { return }, _ = end.recv() => return },
                            Err(_) => return,
                        }
                    }
                });
            }
            stop.close();
            primes
        });
        assert_eq!((primes[0], primes[39]), (2, 173));
    });
}

/// `powser1.go` in spirit: a demand channel and a data channel for each series; a sum of two asks
/// both in whatever order they come.
#[test]
fn go_power_series() {
    struct Series {
        ask: Sender<()>,
        coefficients: Receiver<u64>,
    }
    fn series(mut f: impl FnMut() -> Option<u64> + Send + 'static) -> Series {
        let (ask, asked) = rendezvous();
        let (tx, coefficients) = rendezvous();
        myriad::spawn(move || {
            while asked.recv().is_ok() {
                let Some(n) = f() else { return };
                if tx.send(n).is_err() {
                    return;
                }
            }
        });
        Series { ask, coefficients }
    }
    /// One of each, as they come: asks and answers of both are in one select.
    fn both(a: &Series, b: &Series) -> Option<(u64, u64)> {
        let (mut asked, mut got) = ([false; 2], [None; 2]);
        while got.contains(&None) {
            select! {
                r = a.ask.send(()), if !asked[0] => { r.ok()?; asked[0] = true }
                r = b.ask.send(()), if !asked[1] => { r.ok()?; asked[1] = true }
                n = a.coefficients.recv(), if asked[0] && got[0].is_none() => got[0] = Some(n.ok()?),
                n = b.coefficients.recv(), if asked[1] && got[1].is_none() => got[1] = Some(n.ok()?),
            }
        }
        Some((got[0]?, got[1]?))
    }
    fn add(a: Series, b: Series) -> Series {
        series(move || both(&a, &b).map(|(a, b)| a + b))
    }
    each_runtime(|rt| {
        let sum = rt.run(|| {
            let count = |step: u64| {
                let mut n = 0;
                series(move || {
                    n += step;
                    Some(n)
                })
            };
            let all = add(add(count(1), count(10)), add(count(100), count(1_000)));
            (0..100)
                .map(|_| {
                    all.ask.send(()).unwrap();
                    all.coefficients.recv().unwrap()
                })
                .sum::<u64>()
        });
        assert_eq!(sum, 1_111 * 5_050);
    });
}

/// `select7.go`: a receive that comes late is found by a send in a select, of each form.
#[test]
fn go_who_comes_late_is_found() {
    each_runtime(|rt| {
        for form in 0..4 {
            let (tx, rx) = rendezvous::<u8>();
            let (_tx2, other) = rendezvous::<u8>();
            let task = rt.spawn(move || match form {
                0 => rx.recv().ok(),
                1 => select! { n = rx.recv() => n.ok() },
                2 => select! { n = rx.recv() => n.ok(), n = other.recv() => n.ok() },
                _ => loop {
                    select! { n = rx.recv() => break n.ok(), default => myriad::yield_now() }
                },
            });
            select! { r = tx.send(5) => r.unwrap() }
            assert_eq!(task.join().unwrap(), Some(5), "form {form}");
        }
    });
}

// -------------------------------------------------------------------------------------------------------
// crossbeam

/// Both channels become ready while it waits; each wins sometimes.
#[test]
fn crossbeam_both_ready_in_the_end() {
    let (tx, rx) = bounded(0);
    let (tx2, rx2) = bounded(0);
    let senders = [tx, tx2].map(|tx| std::thread::spawn(move || (0..500).for_each(|_| tx.send(()).unwrap())));
    for _ in 0..1_000 {
        // Each is closed by its sender's end, and ready then.
        select! { r = rx.recv(), if !rx.is_closed() => _ = r, r = rx2.recv(), if !rx2.is_closed() => _ = r, default => {} }
    }
    // The rest.
    _ = rx.iter().count() + rx2.iter().count();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

/// `matching`: an odd number of tasks, each wants to send its number or to receive one: all are
/// paired, the last with us.
#[test]
fn crossbeam_matching() {
    each_runtime(|rt| {
        for n in [1, 7, 44, 45] {
            let (tx, rx) = rendezvous();
            let tasks: Vec<_> = (0..n)
                .map(|i| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    rt.spawn(move || select! { r = tx.send(i) => { r.unwrap(); None }, m = rx.recv() => m.ok() })
                })
                .collect();
            let left = if n % 2 == 1 {
                Some(rt.run(move || select! { r = tx.send(n) => { r.unwrap(); None }, m = rx.recv() => m.ok() }))
            } else {
                None
            };
            let results: Vec<Option<usize>> = tasks.into_iter().map(|task| task.join().unwrap()).chain(left).collect();
            let mut received: Vec<_> =
                results.iter().enumerate().filter_map(|(i, got)| got.map(|from| (i, from))).collect();
            assert_eq!(received.len(), n.div_ceil(2));
            received.iter().for_each(|(i, from)| assert!(i != from, "met itself"));
            let mut all: Vec<_> = received.drain(..).flat_map(|(i, from)| [i, from]).collect();
            all.sort();
            assert_eq!(all, (0..results.len()).collect::<Vec<_>>());
        }
    });
}

/// `linearizable`: a message that is there is found by one of two that try.
#[test]
fn crossbeam_linearizable() {
    for capacity in [1, 100] {
        let (tx, rx) = bounded(capacity);
        let found = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (tx, rx, found) = (tx.clone(), rx.clone(), found.clone());
                std::thread::spawn(move || {
                    for _ in 0..2_000 {
                        select! { r = tx.send(0) => r.unwrap(), after(Duration::from_secs(60)) => panic!("no room") }
                        // At least as many messages as receivers, at each moment.
                        found.fetch_add(
                            select! { n = rx.recv() => n.is_ok(), default => panic!("nothing is there") }.into(),
                            SeqCst,
                        );
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((found.load(SeqCst), tx.len()), (8_000, 0));
    }
}

/// `nested`, `recursion`: a select in the body of a select, and messages that are ends of channels.
#[test]
fn crossbeam_nested_and_through_channels() {
    each_runtime(|rt| {
        rt.run(|| {
            type Link = Option<Box<dyn std::any::Any + Send>>;
            let (tx, rx) = rendezvous::<Link>();
            let sender = myriad::spawn(move || {
                let mut tx = tx;
                for i in 0..200 {
                    let (next, link) = bounded::<Link>(i % 2);
                    select! { r = tx.send(Some(Box::new(link))) => assert!(r.is_ok()) }
                    tx = next;
                }
                select! { r = tx.send(None) => assert!(r.is_ok()) }
            });
            let mut rx = rx;
            let mut links = 0;
            loop {
                let link = select! {
                    link = rx.recv() => select! {
                        _ = rx.recv(), if false => unreachable!(),
                        after(Duration::ZERO) => link.ok().unwrap(),
                    },
                };
                let Some(link) = link else { break };
                rx = *link.downcast::<Receiver<Link>>().unwrap();
                links += 1;
            }
            assert_eq!(links, 200);
            sender.join().unwrap();
        });
    });
}

/// `fairness_recv`: several receivers that wait in selects all get something, and again and again.
/// (If one starves this hangs.)
#[test]
fn crossbeam_fair_among_receivers() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous::<()>();
        let (_tx2, never) = rendezvous::<()>();
        let got: Arc<[AtomicUsize; 4]> = Arc::default();
        let tasks: Vec<_> = (0..4)
            .map(|i| {
                let (rx, never, got) = (rx.clone(), never.clone(), got.clone());
                rt.spawn(move || {
                    loop {
                        select! { r = rx.recv() => match r { Ok(()) => _ = got[i].fetch_add(1, SeqCst), Err(_) => return }, _ = never.recv() => unreachable!() }
                    }
                })
            })
            .collect();
        let sent = {
            let got = got.clone();
            rt.run(move || {
                let mut sent = 0;
                while got.iter().any(|n| n.load(SeqCst) < 1_000) {
                    tx.send(()).unwrap();
                    sent += 1;
                }
                sent
            })
        };
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(got.iter().map(|n| n.load(SeqCst)).sum::<usize>(), sent);
    });
}

/// `panic` in a body, and in a message's expression: nothing was sent or taken by that.
#[test]
fn crossbeam_panics() {
    let (tx, rx) = bounded::<u8>(1);
    let (tx2, rx2) = unbounded::<u8>();
    let panics = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    fn fails() -> u8 {
        std::panic::resume_unwind(Box::new("planned"))
    }
    assert!(panics(&|| select! { _ = rx2.recv() => unreachable!(), _ = tx.send(fails()) => unreachable!() }));
    assert!(tx.is_empty());
    tx2.send(1).unwrap();
    assert!(panics(&|| select! { n = rx2.recv() => _ = n.unwrap() + fails(), _ = rx.recv() => unreachable!() }));
    assert!(rx2.is_empty(), "it was taken before the body began");
    let mut select = Select::new();
    select.recv(&rx2, |n| if n == Ok(2) { fails() } else { n.unwrap() });
    tx2.send(2).unwrap();
    tx2.send(3).unwrap();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| select.wait())).is_err());
    assert_eq!(select.wait(), 3, "used further");
}

// -------------------------------------------------------------------------------------------------------
// core.async

/// A10, A11: `alts!` tells which port has won; `:priority`, `:default`; puts and takes beside each
/// other.
#[test]
fn core_async_alts() {
    each_runtime(|rt| {
        rt.run(|| {
            let ports: Vec<_> = (0..3).map(|_| bounded::<&str>(1)).collect();
            ports[2].0.send("c").unwrap();
            let mut alts = Select::biased();
            for (i, (_, rx)) in ports.iter().enumerate() {
                alts.recv(rx, move |value| (value.ok(), i));
            }
            assert_eq!(alts.wait(), (Some("c"), 2));
            assert_eq!(alts.try_wait(), None, ":default");
            ports[1].0.send("b").unwrap();
            ports[0].0.send("a").unwrap();
            assert_eq!([alts.wait(), alts.wait()], [(Some("a"), 0), (Some("b"), 1)], ":priority");
            ports[1].0.close();
            assert_eq!(alts.wait(), (None, 1), "a closed port brings nil");
            drop(alts);
            // Many rounds without priority: all that are ready win some.
            let mut wins = HashMap::new();
            for _ in 0..300 {
                for (tx, _) in [&ports[0], &ports[2]] {
                    _ = tx.try_send("x");
                }
                let port = select! { _ = ports[0].1.recv() => 0, r = ports[1].0.send("y") => { r.unwrap_err(); 1 }, _ = ports[2].1.recv() => 2 };
                *wins.entry(port).or_insert(0) += 1;
            }
            assert!((0..3).all(|port| wins[&port] > 40), "{wins:?}");
        });
    });
}

/// A12: a timeout that many wait for, as a promise that a task sets, or each for itself.
#[test]
fn core_async_timeout() {
    each_runtime(|rt| {
        rt.run(|| {
            let (set, time_out) = promise::<()>();
            myriad::spawn(move || {
                sleep(FOR_EVER);
                drop(set);
            });
            let tasks: Vec<_> = (0..10)
                .map(|_| {
                    let mut time_out = time_out.clone();
                    myriad::spawn(move || {
                        let (_tx, rx) = unbounded::<()>();
                        select! { _ = rx.recv() => false, closed = time_out.recv() => closed.is_err() }
                    })
                })
                .collect();
            assert!(tasks.into_iter().all(|task| task.join().unwrap()));
        });
    });
}
