//! What is told to one waiter after the other: a close, a value of an observable. Who is told last
//! must not act as if nothing had happened.
//!
//! Wakers are user code, and those that wait are woken one by one. So the first in line has a waker
//! that looks at the channel, or that holds up whoever wakes it.

use crate::channel_common::*;
use myriad::Runtime;
use myriad::channel::*;
use myriad::select::{self, Order, Won};
use myriad::time::{Instant, now};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// Runs it on this thread, and in a task of each sort of runtime.
fn everywhere(body: impl Fn() + Sync) {
    {
        let _watch = crate::common::watch("plain thread");
        body();
    }
    each_runtime(|rt| rt.run(&body));
}

/// What a send says, and what is received.
type Heard = (Result<(), TrySendError<u32>>, Vec<u32>);

/// When it is woken, looks what others hear.
struct Looks {
    tx: Sender<u32>,
    rx: Receiver<u32>,
    heard: Mutex<Option<Heard>>,
}

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        *self.heard.lock().unwrap() = Some((self.tx.try_send(99), self.rx.try_iter().collect()));
    }
}

/// The first of two senders in line hears that the channel is closed, and empties it: the second
/// one has not sent anything.
#[test]
fn nothing_is_sent_after_the_close() {
    everywhere(|| {
        for capacity in [1, 2, 5] {
            for in_a_select in [false, true] {
                let (tx, rx) = bounded(capacity);
                let buffered: Vec<u32> = (0..capacity as u32).collect();
                buffered.iter().for_each(|&n| tx.send(n).unwrap());
                let looks = Arc::new(Looks { tx: tx.clone(), rx: rx.clone(), heard: Mutex::new(None) });
                let mut first = Box::pin(tx.send_async(11));
                assert!(poll_with(first.as_mut(), &Waker::from(looks.clone())).is_pending());
                let (never_sent, never) = bounded::<u32>(1);
                let mut second: Pin<Box<dyn Future<Output = Result<(), SendError<u32>>>>> = match in_a_select {
                    false => Box::pin(tx.send_async(12)),
                    true => Box::pin(async {
                        match select::wait_async(Order::Biased, (tx.send_arm(12), never.recv_arm())).await {
                            Won::A0(sent) => sent,
                            Won::A1(_) => unreachable!("nobody sends there"),
                        }
                    }),
                };
                assert!(poll_once(second.as_mut()).is_pending());
                assert!(tx.close());
                let heard = looks.heard.lock().unwrap().take();
                assert_eq!(heard, Some((Err(TrySendError::Closed(99)), buffered)), "in a select: {in_a_select}");
                assert_eq!(poll_once(first.as_mut()), Poll::Ready(Err(SendError(11))));
                assert_eq!(poll_once(second.as_mut()), Poll::Ready(Err(SendError(12))));
                drop(never_sent);
            }
        }
    });
}

/// Holds up whoever wakes it.
#[derive(Default)]
struct Gate {
    entered: AtomicBool,
    open: AtomicBool,
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.entered.store(true, SeqCst);
        while !self.open.load(SeqCst) {
            std::thread::yield_now();
        }
    }
}

impl Gate {
    fn new() -> (Arc<Gate>, Waker) {
        let gate = Arc::new(Gate::default());
        (gate.clone(), Waker::from(gate))
    }
    /// Until somebody is held up. (Not a wait of Myriad's: the caller may be between the steps of a
    /// select.)
    fn until_entered(&self) {
        while !self.entered.load(SeqCst) {
            std::thread::yield_now();
        }
    }
}

/// A select attempts to receive at a rendezvous while it is open, and stands in line there when it
/// is closed: it does not meet a sender that waits there, and is about to be told.
#[test]
fn a_select_meets_nobody_at_a_closed_rendezvous() {
    everywhere(|| {
        let (tx, rx) = rendezvous::<u32>();
        let (gate, waker) = Gate::new();
        let send = |n| {
            let tx = tx.clone();
            Box::pin(async move { tx.send_async(n).await })
        };
        let (mut first, mut second) = (send(11), send(12));
        let mut closing = None;
        // Polled after the attempt to receive, and before that stands in line.
        let between = poll_fn(|_| {
            closing.get_or_insert_with(|| {
                assert!(poll_with(first.as_mut(), &waker).is_pending());
                assert!(poll_once(second.as_mut()).is_pending());
                let tx = tx.clone();
                let closing = std::thread::spawn(move || assert!(tx.close()));
                gate.until_entered();
                assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "all hear of it from here on");
                closing
            });
            Poll::<()>::Pending
        });
        let got = myriad::select! {
            biased;
            got = rx.recv() => got,
            _ = between => unreachable!("it is pending"),
        };
        gate.open.store(true, SeqCst);
        closing.unwrap().join().unwrap();
        assert_eq!(got, Err(RecvError));
        assert_eq!(poll_once(first.as_mut()), Poll::Ready(Err(SendError(11))));
        assert_eq!(poll_once(second.as_mut()), Poll::Ready(Err(SendError(12))));
    });
}

/// What stands in line first, and the gate's waker is its own.
type First = Pin<Box<dyn Future<Output = ()> + Send>>;

/// `first` waits, then `timed` until a deadline, both for what `happen` brings. Before the deadline
/// it has happened, but whoever tells is held up by the first one's waker. Returns what `timed`
/// says after the deadline.
fn told_late<T: Send + 'static>(
    rt: Option<&Runtime>,
    mut parts: impl FnMut() -> (First, Box<dyn FnOnce(Instant) -> T + Send>, Box<dyn FnOnce() + Send>),
) -> T {
    loop {
        let (mut first, timed, happen) = parts();
        let (gate, waker) = Gate::new();
        assert!(poll_with(first.as_mut(), &waker).is_pending());
        let deadline = now() + Duration::from_millis(10);
        let begun = Arc::new(AtomicBool::new(false));
        let begun2 = begun.clone();
        let timed = move || {
            begun2.store(true, SeqCst);
            timed(deadline)
        };
        let timed = match rt {
            Some(rt) => Running::Task(rt.spawn(timed)),
            None => Running::Thread(std::thread::spawn(timed)),
        };
        wait_until(|| begun.load(SeqCst));
        // So that it is likely to stand in line. If it is later it finds what has happened, and
        // nothing is tested.
        std::thread::sleep(Duration::from_millis(1));
        let happening = std::thread::spawn(happen);
        gate.until_entered();
        let in_time = now() < deadline;
        let said = timed.join();
        gate.open.store(true, SeqCst);
        happening.join().unwrap();
        if in_time {
            return said;
        }
    }
}

/// On a plain thread, and in tasks, some times each.
fn always_told_late<T: Send + PartialEq + std::fmt::Debug + 'static>(
    expected: T,
    parts: impl Fn() -> (First, Box<dyn FnOnce(Instant) -> T + Send>, Box<dyn FnOnce() + Send>),
) {
    const ROUNDS: usize = 3;
    let _watch = crate::common::watch("plain thread");
    (0..ROUNDS).for_each(|_| assert_eq!(told_late(None, &parts), expected, "plain thread"));
    each_runtime(|rt| (0..ROUNDS).for_each(|_| assert_eq!(told_late(Some(rt), &parts), expected)));
}

#[test]
fn a_receive_with_a_limit_hears_of_the_close() {
    for capacity in [0, 1] {
        always_told_late(Err(RecvTimeoutError::Closed), || {
            let (tx, rx) = bounded::<u32>(capacity);
            let rx2 = rx.clone();
            let first = Box::pin(async move { assert!(rx2.recv_async().await.is_err()) });
            (first, Box::new(move |deadline| rx.recv_deadline(deadline)), Box::new(move || assert!(tx.close())))
        });
    }
}

#[test]
fn a_look_with_a_limit_hears_of_the_close() {
    always_told_late(Err(RecvTimeoutError::Closed), || {
        let (tx, rx) = bounded::<u32>(1);
        let rx2 = rx.clone();
        let first = Box::pin(async move { assert!(rx2.peek_async().await.is_err()) });
        (first, Box::new(move |deadline| rx.peek_deadline(deadline)), Box::new(move || assert!(tx.close())))
    });
}

#[test]
fn a_send_with_a_limit_hears_of_the_close() {
    for capacity in [0, 1] {
        always_told_late(Err(SendTimeoutError::Closed(12)), || {
            let (tx, rx) = bounded::<u32>(capacity);
            (0..capacity).for_each(|_| tx.send(0).unwrap());
            let tx2 = tx.clone();
            let first = Box::pin(async move { assert!(tx2.send_async(11).await.is_err()) });
            (first, Box::new(move |deadline| tx.send_deadline(12, deadline)), Box::new(move || assert!(rx.close())))
        });
    }
}

#[test]
fn a_select_with_a_limit_hears_of_the_close() {
    always_told_late(Some(Err(RecvError)), || {
        let (tx, rx) = bounded::<u32>(1);
        let (other_tx, other) = bounded::<u32>(1);
        let rx2 = rx.clone();
        let first = Box::pin(async move { assert!(rx2.recv_async().await.is_err()) });
        let timed = move |deadline| {
            let _open = other_tx;
            match select::wait_deadline(Order::Fair, deadline, (rx.recv_arm(), other.recv_arm()))? {
                Won::A0(got) | Won::A1(got) => Some(got),
            }
        };
        (first, Box::new(timed), Box::new(move || assert!(tx.close())))
    });
}

#[test]
fn an_observable_with_a_limit_is_read_in_time() {
    always_told_late(Ok(7), || {
        let (set, mut get) = promise::<u32>();
        let mut get2 = get.clone();
        let first = Box::pin(async move { assert!(get2.recv_async().await.is_ok()) });
        let timed = move |deadline| get.recv_deadline(deadline).map(|value| *value);
        (first, Box::new(timed), Box::new(move || set.send(7).unwrap()))
    });
    always_told_late(Ok(7), || {
        let (set, mut get) = watch::<u32>(0);
        let mut get2 = get.clone();
        let first = Box::pin(async move { assert!(get2.recv_async().await.is_ok()) });
        let timed = move |deadline| get.recv_deadline(deadline).map(|value| *value);
        (first, Box::new(timed), Box::new(move || assert!(set.send(7).is_ok())))
    });
    always_told_late(Ok(Some(7)), || {
        let (tx, mut rx) = broadcast::<u32>(4);
        let mut rx2 = tx.subscribe();
        let first = Box::pin(async move { assert!(rx2.recv_async().await.is_ok()) });
        let timed = move |deadline| rx.recv_deadline(deadline).map(|heard| heard.message().map(|value| *value));
        (first, Box::new(timed), Box::new(move || assert!(tx.send(7).is_ok())))
    });
    // And the end.
    always_told_late(Err(RecvTimeoutError::Closed), || {
        let (set, mut get) = promise::<u32>();
        let mut get2 = get.clone();
        let first = Box::pin(async move { assert!(get2.recv_async().await.is_err()) });
        let timed = move |deadline| get.recv_deadline(deadline).map(|value| *value);
        (first, Box::new(timed), Box::new(move || drop(set)))
    });
}
