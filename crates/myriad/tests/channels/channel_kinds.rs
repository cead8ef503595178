//! The other kinds of channels: bounded that drop, oneshot, promise, watch, broadcast, times,
//! producers, transformations.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::{select, select_async};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(1);

/// Core.async's A3, in each ending. What is dropped is dropped once, without the lock.
#[test]
fn dropping_oldest_or_newest() {
    let count = Arc::new(Count::default());
    for drops_oldest in [true, false] {
        for capacity in [1, 2, 7, 16] {
            let (tx, rx) = if drops_oldest { bounded_drop_oldest(capacity) } else { bounded_drop_newest(capacity) };
            for i in 0..100 {
                let message = Counted::new(i, &count);
                match i % 5 {
                    0 => tx.send(message).unwrap(),
                    1 => tx.try_send(message).unwrap(),
                    2 => tx.send_timeout(message, LONG).unwrap(),
                    3 => match poll_once(pin!(tx.send_async(message))) {
                        Poll::Ready(sent) => sent.unwrap(),
                        Poll::Pending => panic!("it waits"),
                    },
                    _ => select! { sent = tx.send(message) => sent.unwrap() },
                }
                assert_eq!(count.alive(), (i + 1).min(capacity));
            }
            assert_eq!((tx.len(), tx.is_ready(), rx.is_ready()), (capacity, true, true));
            let first = if drops_oldest { 100 - capacity } else { 0 };
            let got: Vec<_> = rx.try_iter().map(|m| m.id).collect();
            assert_eq!(got, (first..first + capacity).collect::<Vec<_>>());
            // A receiver that waits gets the message.
            let mut waiting = pin!(rx.recv_async());
            assert!(poll_once(waiting.as_mut()).is_pending());
            tx.send(Counted::new(1_000, &count)).unwrap();
            assert_eq!(ready(poll_once(waiting.as_mut())).id, 1_000);
            tx.close();
            assert!(tx.send(Counted::new(1, &count)).is_err());
        }
    }
    assert_eq!(count.alive(), 0);
}

/// The destructor of what is pushed out may send on the same channel.
#[test]
fn a_destructor_that_sends() {
    struct Again(Option<Sender<Again>>, Arc<AtomicUsize>);
    impl Drop for Again {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
            if let Some(tx) = self.0.take() {
                assert!(tx.send(Again(None, self.1.clone())).is_ok());
            }
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = bounded_drop_oldest(1);
    assert!(tx.send(Again(Some(tx.clone()), dropped.clone())).is_ok());
    assert!(tx.send(Again(None, dropped.clone())).is_ok());
    // The first was pushed out, and has pushed out the second.
    assert_eq!((dropped.load(SeqCst), rx.len()), (2, 1));
}

#[test]
fn a_capacity_of_nothing_is_refused() {
    for refused in
        [|| drop(bounded_drop_oldest::<()>(0)), || drop(bounded_drop_newest::<()>(0)), || drop(broadcast::<()>(0))]
    {
        let error = std::panic::catch_unwind(refused).unwrap_err();
        assert!(error.downcast_ref::<&str>().unwrap().contains("capacity of 1"));
    }
}

#[test]
fn one_message() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = oneshot();
            assert!(!tx.is_closed());
            let task = myriad::spawn(move || rx.recv());
            tx.send(5).unwrap();
            assert_eq!(task.join().unwrap(), Ok(5));
            let (tx, rx) = oneshot::<u8>();
            drop(tx);
            assert_eq!(rx.recv(), Err(RecvError));
            let (tx, rx) = oneshot();
            drop(rx);
            assert_eq!(tx.send(7), Err(SendError(7)));
        });
    });
}

/// Core.async's A16: the first value wins; every taker gets it, for ever; closing without one ends
/// all.
#[test]
fn a_promise_for_everybody() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (set, get) = promise();
            let waiting: Vec<_> = (0..20)
                .map(|_| {
                    let (mut a, mut b) = (get.clone(), get.clone());
                    start(rt, kind, move || *a.recv().unwrap(), async move { *b.recv_async().await.unwrap() })
                })
                .collect();
            let setters: Vec<_> =
                (0..4).map(|i| (set.clone(), i)).map(|(set, i)| rt.spawn(move || set.send(i).is_ok())).collect();
            let winners: Vec<bool> = setters.into_iter().map(|task| task.join().unwrap()).collect();
            let value = winners.iter().position(|won| *won).unwrap();
            assert_eq!(winners.iter().filter(|won| **won).count(), 1);
            assert!(waiting.into_iter().all(|task| task.join() == value));
            let mut late = get.clone();
            assert!(get.is_set());
            drop(set);
            assert_eq!((late.try_recv().map(|v| *v), late.recv().map(|v| *v)), (Ok(value), Ok(value)));
        }
        // Without a value.
        let (set, mut get) = promise::<u8>();
        let mut other = get.clone();
        let waiting = rt.spawn(move || other.recv());
        assert_eq!(get.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(get.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        drop(set);
        assert_eq!(waiting.join().unwrap(), Err(RecvError));
        assert_eq!((get.try_recv(), get.recv()), (Err(TryRecvError::Closed), Err(RecvError)));
    });
}

#[test]
fn the_latest_value() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (set, get) = watch(0);
            let follow: Vec<_> = (0..4)
                .map(|_| {
                    let (mut a, mut b) = (get.clone(), get.clone());
                    // Rising, perhaps with gaps, and the last one for certain.
                    let check = |seen: &mut usize, value: usize| {
                        assert!(value > *seen);
                        *seen = value;
                    };
                    start(
                        rt,
                        kind,
                        move || {
                            let mut seen = 0;
                            while let Ok(value) = a.recv() {
                                check(&mut seen, *value);
                            }
                            seen
                        },
                        async move {
                            let mut seen = 0;
                            while let Ok(value) = b.recv_async().await {
                                check(&mut seen, *value);
                            }
                            seen
                        },
                    )
                })
                .collect();
            (1..=500).for_each(|i| set.send(i).unwrap());
            let mut late = set.subscribe();
            assert_eq!((*set.get(), *get.get(), get.has_changed(), late.has_changed()), (500, 500, true, false));
            drop(set);
            assert!(follow.into_iter().all(|task| task.join() == 500));
            assert_eq!((late.recv(), late.is_closed()), (Err(RecvError), true));
            drop(get);
        }
    });
}

/// Every receiver gets every message in order, or is told how many it has missed.
#[test]
fn to_everybody() {
    each_runtime(|rt| {
        for kind in KINDS {
            for capacity in [1, 8, 1_000] {
                let (tx, rx) = broadcast(capacity);
                let receivers: Vec<_> = (0..4)
                    .map(|_| {
                        let (mut a, mut b) = (rx.clone(), rx.clone());
                        let check = move |next: &mut u64, heard: Heard<u64>| match heard {
                            Heard::Message(message) => {
                                assert_eq!(*message, *next);
                                *next += 1;
                            }
                            Heard::Missed(n) => {
                                assert!(n > 0 && capacity < 1_000);
                                *next += n;
                            }
                        };
                        start(
                            rt,
                            kind,
                            move || {
                                let mut next = 0;
                                while let Ok(heard) = a.recv() {
                                    check(&mut next, heard);
                                }
                                next
                            },
                            async move {
                                let mut next = 0;
                                while let Ok(heard) = b.recv_async().await {
                                    check(&mut next, heard);
                                }
                                next
                            },
                        )
                    })
                    .collect();
                for i in 0..1_000 {
                    tx.send(i).unwrap();
                    if i % 16 == 0 {
                        rt.run(myriad::yield_now);
                    }
                }
                assert_eq!(rx.len(), 1_000);
                let mut late = tx.subscribe();
                assert!(late.is_empty());
                drop(tx);
                assert!(receivers.into_iter().all(|task| task.join() == 1_000));
                assert_eq!(late.try_recv(), Err(TryRecvError::Closed));
            }
        }
    });
}

/// The arms of all kinds, in one select, and none of them loses anything to the others.
#[test]
fn all_kinds_in_one_select() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded_drop_oldest(3);
            let (set, mut latest) = watch(0);
            let (all, mut heard) = broadcast(4);
            let (keep, mut promised) = promise();
            let ticks = tick(Duration::from_secs(1_000));
            let none = never();
            let mut seen = Vec::new();
            let mut kept = false;
            let sender = myriad::spawn(move || {
                for i in 1..=100 {
                    match i % 4 {
                        0 => tx.send(i).unwrap(),
                        1 => set.send(i).unwrap(),
                        2 => all.send(i).unwrap(),
                        _ => _ = keep.send(i),
                    }
                    myriad::time::sleep(Duration::from_micros(10));
                }
                // The ends stay: what is closed is ready.
                (tx, set, all, keep)
            });
            let mut last = 0;
            while seen.len() < 76 && !(kept && last == 100) {
                let got = select! {
                    n = rx.recv() => n.unwrap(),
                    n = latest.recv() => *n.unwrap(),
                    n = heard.recv() => match n.unwrap() { Heard::Message(n) => *n, Heard::Missed(_) => 0 },
                    n = promised.recv(), if !kept => { kept = true; *n.unwrap() }
                    _ = ticks.recv() => unreachable!("in a quarter of an hour"),
                    _ = none.recv() => unreachable!("never"),
                    after(LONG) => panic!("nothing comes"),
                };
                last = last.max(got);
                seen.push(got);
            }
            assert!(kept && last == 100, "{seen:?}");
            drop(sender.join().unwrap());
        });
        // As futures, with wakes from elsewhere.
        let (set, mut latest) = watch(0);
        let (all, mut heard) = broadcast(1_000);
        let task = rt.spawn(move || {
            myriad::block_on(async {
                let (mut messages, mut value) = (0, 0);
                while messages < 200 || value < 200 {
                    select_async! {
                        n = latest.recv() => value = *n.unwrap(),
                        n = heard.recv() => { assert_eq!(n, Ok(Heard::Message(Arc::new(messages)))); messages += 1 }
                    }
                }
                messages + value
            })
        });
        for i in 0..200 {
            set.send(i + 1).unwrap();
            all.send(i).unwrap();
        }
        assert_eq!(task.join().unwrap(), 400);
    });
}

/// A reader that gives up, or is dropped, has missed nothing.
#[test]
fn given_up_and_nothing_missed() {
    let (tx, mut rx) = broadcast(100);
    let (mut sent, mut next) = (0, 0);
    let mut random = Random::new(seed());
    for _ in 0..20_000 {
        match random.below(4) {
            0 => {
                tx.send(sent).unwrap();
                sent += 1;
            }
            1 => {
                let mut reading = pin!(rx.recv_async());
                for _ in 0..random.below(3) {
                    if let Poll::Ready(heard) = poll_once(reading.as_mut()) {
                        assert_eq!(heard, Ok(Heard::Message(Arc::new(next))));
                        next += 1;
                        break;
                    }
                    if random.below(2) == 0 && sent - next < 100 {
                        tx.send(sent).unwrap();
                        sent += 1;
                    }
                }
            }
            2 => {
                let (_none, never) = unbounded::<()>();
                let mut select = Select::new();
                select.add(rx.recv_arm(), Some).recv(&never, |_| None);
                if let Some(heard) = select.wait_timeout(Duration::ZERO) {
                    assert_eq!(heard, Some(Ok(Heard::Message(Arc::new(next)))));
                    next += 1;
                }
            }
            _ if sent - next > 90 => {
                while let Ok(heard) = rx.try_recv() {
                    assert_eq!(heard, Heard::Message(Arc::new(next)));
                    next += 1;
                }
            }
            _ => {}
        }
        if sent - next >= 100 {
            assert_eq!(rx.recv(), Ok(Heard::Message(Arc::new(next))));
            next += 1;
        }
    }
    assert_eq!(rx.len(), sent - next);
}

#[test]
fn times() {
    each_runtime(|rt| {
        rt.run(|| {
            assert!(!after(LONG).is_ready());
            let begin = std::time::Instant::now();
            let timer = after(SHORT);
            // Clones share the one message.
            let (a, b) = (timer.clone(), timer.clone());
            let tasks =
                [myriad::spawn(move || a.recv_timeout(20 * SHORT)), myriad::spawn(move || b.recv_timeout(20 * SHORT))];
            let got = tasks.map(|task| task.join().unwrap().is_ok());
            assert_eq!(got.iter().filter(|got| **got).count(), 1);
            assert!(begin.elapsed() >= SHORT);
            assert_eq!(timer.try_recv(), Err(TryRecvError::Empty));
            // Ticks keep in step, and those that nobody takes are lost.
            let begin = myriad::time::now();
            let ticks = tick(SHORT);
            let times: Vec<_> = (0..5).map(|_| ticks.recv().unwrap()).collect();
            assert!(times.is_sorted() && times[4] - begin >= 5 * SHORT);
            myriad::time::sleep(5 * SHORT);
            let before = myriad::time::now();
            assert!(ticks.try_recv().unwrap() <= before);
            while let Ok(time) = ticks.try_recv() {
                assert!(time > before, "they do not pile up");
            }
            assert_eq!(never().recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
            assert!(myriad::block_on(ticks.recv_async()).is_ok());
            select! { time = ticks.recv() => assert!(time.is_ok()) }
        });
    });
    assert!(std::panic::catch_unwind(|| tick(Duration::ZERO)).is_err());
}

/// With a clock that a test advances, ticks come exactly then.
#[test]
fn ticks_of_a_manual_clock() {
    let _watch = crate::common::watch("a manual clock");
    let rt = myriad::Builder::new().workers(1).manual_clock().build().unwrap();
    let (tx, rx) = unbounded();
    let task = rt.spawn(move || {
        let hour = Duration::from_secs(3_600);
        let ticks = tick(hour);
        let begin = myriad::time::now();
        tx.send(()).unwrap();
        (0..24).map(|_| (ticks.recv().unwrap() - begin).as_secs() / 3_600).collect::<Vec<_>>()
    });
    rx.recv().unwrap();
    while !task.is_finished() {
        rt.advance(Duration::from_secs(1_800));
        std::thread::sleep(Duration::from_micros(200));
    }
    let hours = task.join().unwrap();
    assert!(hours.is_sorted() && hours[0] >= 1 && hours[23] >= 24, "{hours:?}");
}

/// The message is the time at which it came, however late it is received; of a tick, the first that
/// nobody has received.
#[test]
fn times_say_when_they_came() {
    let _watch = crate::common::watch("a manual clock");
    for mode in modes() {
        let rt = mode.builder().workers(1).manual_clock().build().unwrap();
        let hour = Duration::from_secs(3_600);
        let (begin, timer, ticks) = rt.run(|| (myriad::time::now(), after(hour), tick(hour)));
        assert!(rt.run(|| timer.try_recv().is_err() && ticks.try_recv().is_err()));
        rt.advance(hour * 7 / 2);
        assert_eq!(rt.run(|| timer.recv()).unwrap() - begin, hour);
        assert!(rt.run(|| timer.try_recv()).is_err(), "there was one");
        assert_eq!(rt.run(|| ticks.try_recv()).unwrap() - begin, hour);
        assert!(rt.run(|| ticks.try_recv()).is_err(), "the others did not come");
        rt.advance(hour);
        let came = rt.run(|| select! { time = ticks.recv() => time.unwrap() });
        assert_eq!(came - begin, 4 * hour, "in step with the first");
        rt.advance(2 * hour);
        let came = rt.run(|| myriad::block_on(ticks.recv_async()));
        assert_eq!(came.unwrap() - begin, 5 * hour);
    }
}

/// Julia's J25 to J27.
#[test]
fn producers() {
    each_runtime(|rt| {
        rt.run(|| {
            let numbers = produce(2, |tx| (0..100).for_each(|i| tx.send(i).unwrap()));
            assert_eq!(numbers.map(Result::unwrap).sum::<i32>(), 4950);
            // Its failure reaches whoever comes to the end, behind what was sent.
            let failing = produce(10, |tx| {
                tx.send(1).unwrap();
                std::panic::resume_unwind(Box::new("planned"));
            });
            assert_eq!(failing.recv().unwrap(), Some(1));
            assert!(failing.recv().unwrap_err().is_panic());
            assert_eq!(failing.recv().unwrap(), None);
            let failing = produce::<u8, _>(10, |_| std::panic::resume_unwind(Box::new("planned")));
            assert!(myriad::block_on(failing.recv_async()).unwrap_err().is_panic());
            // Nobody wants more: its sends fail.
            let (done, is_done) = oneshot();
            let numbers = produce(0, move |tx| {
                let sent = (0..).take_while(|i| tx.send(*i).is_ok()).count();
                done.send(sent).unwrap();
            });
            assert_eq!(numbers.recv().unwrap(), Some(0));
            drop(numbers);
            assert_eq!(is_done.recv(), Ok(1));
        });
    });
}

/// Filter, map and expand, by senders of all kinds; a function that panics, and one that uses the
/// channel itself.
#[test]
fn transformations() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = bounded(2);
            let tx = tx.transform(|n: usize| (0..n % 3).map(move |i| 10 * n + i));
            let tx2 = tx.clone();
            let sender = start(rt, kind, move || (0..50).for_each(|n| tx.send(n).unwrap()), async move {
                for n in 0..50 {
                    tx2.send_async(n).await.unwrap();
                }
            });
            let expected: Vec<_> = (0..50).flat_map(|n| (0..n % 3).map(move |i| 10 * n + i)).collect();
            assert_eq!(rx.iter().collect::<Vec<_>>(), expected);
            sender.join();
        }
        let (tx, rx) = unbounded();
        let inner = tx.clone();
        let tx = tx.transform(move |n: i32| {
            if n < 0 {
                std::panic::resume_unwind(Box::new("negative"));
            }
            inner.send(-n).unwrap();
            Some(n)
        });
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tx.send(-1))).is_err());
        tx.send(5).unwrap();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [-5, 5]);
        rx.close();
        assert_eq!(tx.inner().send(6), Err(SendError(6)));
    });
}
