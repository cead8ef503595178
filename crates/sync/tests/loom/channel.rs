//! Scripts of channels: each message is received, comes back, or is left, once; who waits is woken;
//! the channel is freed once, after its last use.
//!
//! A message holds a watched cell, so that one that comes over without order is seen, and counts
//! its drops.

use super::{SYNC, Script};
use loom::thread;
use myriad_base::sys::cell::UnsafeCell;
use myriad_core::time::Instant;
use myriad_sync::channel::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// Long ago: a wait until then is given up at the first look, unless a partner was faster.
pub(super) const PAST: Instant = Instant::from_nanos(0);

/// What became of all messages of an execution. In std's words, which order nothing in a model.
#[derive(Default)]
pub(super) struct Book {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

impl Book {
    pub(super) fn message(self: &Arc<Self>, id: usize) -> Message {
        self.made.fetch_add(1, SeqCst);
        Message { cell: UnsafeCell::new(id), book: self.clone() }
    }
    /// Once all ends are gone.
    pub(super) fn assert_all_dropped(&self) {
        assert_eq!(self.made.load(SeqCst), self.dropped.load(SeqCst), "a message is lost");
    }
}

pub(super) struct Message {
    cell: UnsafeCell<usize>,
    book: Arc<Book>,
}

// SAFETY: the cell is written by its maker and its destroyer only, and a model watches it.
unsafe impl Send for Message {}

impl Message {
    pub(super) fn id(&self) -> usize {
        // SAFETY: the message is ours; the model says so if it is not.
        self.cell.with(|id| unsafe { *id })
    }
}

const GONE: usize = usize::MAX;

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: the message is ours; the model says so if it is not.
        let id = self.cell.with_mut(|id| unsafe { std::mem::replace(&mut *id, GONE) });
        assert_ne!(id, GONE, "a message is dropped twice");
        self.book.dropped.fetch_add(1, SeqCst);
    }
}

/// A waker that orders nothing, as loom's `unpark` would.
#[derive(Default)]
pub(super) struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

impl Flag {
    pub(super) fn new() -> (Arc<Flag>, Waker) {
        let flag = Arc::new(Flag::default());
        (flag.clone(), Waker::from(flag))
    }
    /// Until woken; a sleeper that nobody wakes is forgotten.
    pub(super) fn wait(&self) {
        let mut turns = 0;
        while !self.0.swap(false, SeqCst) {
            assert!(turns < 100, "a sleeper is forgotten");
            turns += 1;
            thread::yield_now();
        }
    }
}

pub(super) fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let (flag, waker) = Flag::new();
    loop {
        match poll(future.as_mut(), &waker) {
            Poll::Ready(value) => return value,
            Poll::Pending => flag.wait(),
        }
    }
}

/// The message's number, `None` if the channel was closed.
pub(super) fn received<E>(result: Result<Message, E>) -> Option<usize> {
    result.ok().map(|message| message.id())
}

/// Two threads and what they return.
pub(super) fn both<A, B>(a: impl FnOnce() -> A + 'static, b: impl FnOnce() -> B) -> (A, B)
where
    A: 'static,
{
    let thread = thread::spawn(a);
    let b = b();
    (thread.join().unwrap(), b)
}

/// A message is handed to a waiting receiver, or the channel is closed first.
fn hand_over_or_close() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (tx2, message) = (tx.clone(), book.message(7));
    let (flag, waker) = Flag::new();
    let mut receiving = Box::pin(rx.recv_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let sender = thread::spawn(move || tx2.try_send(message).is_ok());
    assert!(tx.close());
    flag.wait();
    let Poll::Ready(got) = poll(receiving.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(received(got), sender.join().unwrap().then_some(7));
    drop(receiving);
    drop((tx, rx));
    book.assert_all_dropped();
}

/// The same with a receiver that blocks.
fn hand_over_blocking() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let message = book.message(7);
    let (got, ()) = both(
        move || {
            let got = received(rx.recv());
            assert!(rx.recv().is_err());
            got
        },
        move || {
            assert!(tx.send(message).is_ok());
        },
    );
    assert_eq!(got, Some(7));
    book.assert_all_dropped();
}

/// A receiver looks at its entry when nobody has woken it: what it finds there must be ordered by
/// the entry alone.
fn polled_without_a_wake() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let message = book.message(7);
    let (got, ()) = both(
        move || {
            let mut receiving = pin!(rx.recv_async());
            for _ in 0..4 {
                match poll(receiving.as_mut(), Waker::noop()) {
                    Poll::Ready(got) => return received(got),
                    Poll::Pending => thread::yield_now(),
                }
            }
            None
        },
        // Fails if the receiver has given up and gone.
        move || _ = tx.try_send(message),
    );
    assert!(got.is_none_or(|id| id == 7));
    book.assert_all_dropped();
}

/// Two senders go, one of them after a message; the receiver waits, and frees the channel, or the
/// last sender does.
fn last_sender_goes() {
    let book = Arc::new(Book::default());
    let (tx, rx) = unbounded();
    let (tx2, message) = (tx.clone(), book.message(7));
    let sender = thread::spawn(move || assert!(tx2.send(message).is_ok()));
    drop(tx);
    assert_eq!(received(block_on(rx.recv_async())), Some(7));
    assert_eq!(received(block_on(rx.recv_async())), None);
    drop(rx);
    sender.join().unwrap();
    book.assert_all_dropped();
}

/// The last receiver goes; a sender waits, and another message is buffered.
fn last_receiver_goes() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    assert!(tx.try_send(book.message(1)).is_ok());
    let message = book.message(2);
    let (came_back, ()) = both(
        move || block_on(tx.send_async(message)).err().map(|SendError(message)| message.id()),
        move || {
            assert_eq!(received(rx.try_recv()), Some(1));
            drop(rx);
        },
    );
    assert!(came_back.is_none_or(|id| id == 2));
    book.assert_all_dropped();
}

/// Both sides go at a time: the channel is freed once, after the last use of either.
fn both_sides_go() {
    let book = Arc::new(Book::default());
    let (tx, rx) = unbounded();
    let message = book.message(1);
    // The send fails if the receiver is faster.
    both(move || _ = tx.send(message), move || drop(rx));
    book.assert_all_dropped();
}

/// One side has gone; two ends of the other follow, the first of them after a last operation.
fn two_ends_go() {
    let book = Arc::new(Book::default());
    let (tx, rx) = unbounded();
    let tx2 = tx.clone();
    drop(rx);
    let message = book.message(1);
    both(move || assert!(tx2.try_send(message).is_err()), move || drop(tx));
    book.assert_all_dropped();
}

/// Two receivers, one message: the first has it, the other hears of the end.
fn two_receivers() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let ((flag, waker), (flag2, waker2)) = (Flag::new(), Flag::new());
    let (mut first, mut second) = (Box::pin(rx.recv_async()), Box::pin(rx.recv_async()));
    assert!(poll(first.as_mut(), &waker).is_pending());
    let sender = thread::spawn(move || assert!(tx.send(message).is_ok()));
    let second_now = poll(second.as_mut(), &waker2);
    flag.wait();
    let Poll::Ready(got) = poll(first.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(received(got), Some(7));
    let got = match second_now {
        Poll::Ready(got) => got,
        Poll::Pending => {
            flag2.wait();
            let Poll::Ready(got) = poll(second.as_mut(), &waker2) else { panic!("woken for nothing") };
            got
        }
    };
    assert!(got.is_err());
    sender.join().unwrap();
    drop((first, second));
    drop(rx);
    book.assert_all_dropped();
}

/// A sender waits when the channel is closed. Who hears of that finds what is buffered, and no
/// message of that sender.
fn nothing_is_sent_after_the_close() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    assert!(tx.try_send(book.message(1)).is_ok());
    let (tx2, message) = (tx.clone(), book.message(2));
    let mut sending = Box::pin(async move { tx2.send_async(message).await });
    assert!(poll(sending.as_mut(), Waker::noop()).is_pending());
    let (closed, ()) = both(
        move || tx.close(),
        || {
            if rx.is_closed() {
                assert_eq!(received(rx.try_recv()), Some(1));
                assert_eq!(received(rx.try_recv()), None, "sent after the close");
            }
        },
    );
    assert!(closed);
    assert!(matches!(poll(sending.as_mut(), Waker::noop()), Poll::Ready(Err(SendError(_)))));
    drop((sending, rx));
    book.assert_all_dropped();
}

/// Closed while somebody begins to wait for that: it is told.
fn close_watched() {
    let (tx, rx) = bounded::<usize>(1);
    let ((), ()) = both(move || block_on(tx.closed_async()), move || drop(rx));
}

/// The last sender goes while a weak one becomes a sender: either the channel is closed, or that
/// one can send. The channel is freed once, after the last use.
fn upgraded_or_closed() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (weak, message) = (tx.downgrade(), book.message(7));
    let (sent, ()) = both(move || weak.upgrade().map(|tx| tx.try_send(message).is_ok()), move || drop(tx));
    assert_ne!(sent, Some(false), "there is a receiver");
    assert_eq!(received(rx.try_recv()), sent.map(|_| 7));
    assert!(rx.is_closed());
    drop(rx);
    book.assert_all_dropped();
}

/// All ends and a weak one go at a time.
fn all_ends_go() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (weak, weak2) = (rx.downgrade(), tx.downgrade());
    assert!(tx.try_send(book.message(1)).is_ok());
    both(move || drop((tx, weak)), move || drop((rx, weak2)));
    book.assert_all_dropped();
}

/// Sender and receiver meet, as futures.
fn meeting() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (got, sent) = both(
        move || {
            let got = received(block_on(rx.recv_async()));
            assert!(block_on(rx.recv_async()).is_err());
            got
        },
        move || block_on(tx.send_async(message)).is_ok(),
    );
    assert_eq!((got, sent), (Some(7), true));
    book.assert_all_dropped();
}

/// The same, blocking.
fn meeting_blocking() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (got, sent) = both(move || received(rx.recv()), move || tx.send(message).is_ok());
    assert_eq!((got, sent), (Some(7), true));
    book.assert_all_dropped();
}

/// A receive is dropped just when a message is handed to it: it is left in the channel.
fn receive_dropped() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let rx2 = rx.clone();
    let (got, sent) = both(
        move || {
            let (_, waker) = Flag::new();
            let mut receiving = Box::pin(rx2.recv_async());
            match poll(receiving.as_mut(), &waker) {
                Poll::Ready(got) => received(got),
                Poll::Pending => None,
            }
        },
        {
            let message = book.message(7);
            move || tx.try_send(message).is_ok()
        },
    );
    assert!(sent);
    assert_eq!(got.or(received(rx.try_recv())), Some(7), "the message is lost");
    drop(rx);
    book.assert_all_dropped();
}

/// The same, and another receiver waits behind it: it gets the message.
fn receive_dropped_before_another() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (flag, waker) = Flag::new();
    let (mut first, mut second) = (Box::pin(rx.recv_async()), Box::pin(rx.recv_async()));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll(second.as_mut(), &waker).is_pending());
    let (tx2, sender) = (tx.clone(), thread::spawn(move || assert!(tx.try_send(message).is_ok())));
    drop(first);
    flag.wait();
    let Poll::Ready(got) = poll(second.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(received(got), Some(7));
    sender.join().unwrap();
    drop(second);
    drop((tx2, rx));
    book.assert_all_dropped();
}

/// A send is dropped just when its message is taken.
fn send_dropped() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (pending, got) = both(
        move || {
            let mut sending = Box::pin(tx.send_async(message));
            poll(sending.as_mut(), Waker::noop()).is_pending()
        },
        || received(rx.try_recv()),
    );
    assert!(pending);
    assert!(got.is_none_or(|id| id == 7));
    book.assert_all_dropped();
}

/// Polled again with another waker while a message comes: it is ready, or that waker is woken.
fn polled_again() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let message = book.message(7);
    let (got, ()) = both(
        move || {
            let mut receiving = pin!(rx.recv_async());
            if let Poll::Ready(got) = poll(receiving.as_mut(), Waker::noop()) {
                return received(got);
            }
            let (flag, waker) = Flag::new();
            if let Poll::Ready(got) = poll(receiving.as_mut(), &waker) {
                return received(got);
            }
            flag.wait();
            match poll(receiving, &waker) {
                Poll::Ready(got) => received(got),
                Poll::Pending => panic!("woken without a message"),
            }
        },
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got, Some(7));
    book.assert_all_dropped();
}

/// A receive's time is over when a message comes: it has it, or the message stays.
fn receive_times_out() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (rx2, message) = (rx.clone(), book.message(7));
    let (got, ()) = both(
        move || match rx2.recv_deadline(PAST) {
            Err(error) => {
                assert_eq!(error, RecvTimeoutError::Timeout);
                None
            }
            got => received(got),
        },
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got.or(received(rx.try_recv())), Some(7), "the message is lost");
    drop(rx);
    book.assert_all_dropped();
}

/// A send's time is over when a receiver comes: it is sent, or comes back.
fn send_times_out() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (came_back, got) = both(
        move || tx.send_deadline(message, PAST).err().map(|error| error.into_inner().id()),
        move || received(rx.try_recv()),
    );
    assert!(got.is_none_or(|id| id == 7));
    assert_eq!(came_back.is_some(), got.is_none());
    book.assert_all_dropped();
}

/// Both have no time: they meet, or none has done anything.
fn both_time_out() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let message = book.message(7);
    let (came_back, got) = both(
        move || tx.send_deadline(message, PAST).err().map(|error| error.into_inner().id()),
        move || received(rx.recv_deadline(PAST)),
    );
    assert!(got.is_none_or(|id| id == 7));
    assert_eq!(came_back.is_some(), got.is_none());
    book.assert_all_dropped();
}

/// One whose time is over stands in line before one who waits on.
fn who_times_out_is_skipped() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let rx2 = rx.clone();
    let early = thread::spawn(move || received(rx2.recv_deadline(PAST)));
    let mut late = Box::pin(rx.recv_async());
    assert!(poll(late.as_mut(), Waker::noop()).is_pending());
    assert!(tx.try_send(book.message(7)).is_ok(), "somebody waits");
    let got = match poll(late.as_mut(), Waker::noop()) {
        Poll::Ready(got) => received(got),
        Poll::Pending => None,
    };
    let early = early.join().unwrap();
    assert_eq!(early.or(got), Some(7), "the message is lost");
    assert!(early.is_none() || got.is_none());
    drop(late);
    drop((tx, rx));
    book.assert_all_dropped();
}

/// A close against a wait whose time is over.
fn time_out_or_close() {
    let (tx, rx) = rendezvous::<Message>();
    let (result, ()) = both(move || rx.recv_deadline(PAST).err(), move || drop(tx));
    assert!(result.is_some());
}

/// Two threads: of three that want the lock two may spin for ever while the holder could go on.
const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(4), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script("channel.hand_over_or_close", hand_over_or_close, &[]),
    script("channel.hand_over_blocking", hand_over_blocking, &[]),
    script("channel.polled_without_a_wake", polled_without_a_wake, &["entry-release", "entry-acquire"]),
    script("channel.last_sender_goes", last_sender_goes, &[]),
    script("channel.last_receiver_goes", last_receiver_goes, &[]),
    script("channel.both_sides_go", both_sides_go, &["left-swap", "left-load"]),
    script("channel.two_ends_go", two_ends_go, &["count-load", "count-sub"]),
    script("channel.two_receivers", two_receivers, &[]),
    script("channel.meeting", meeting, &[]),
    script("channel.meeting_blocking", meeting_blocking, &[]),
    script("channel.receive_dropped", receive_dropped, &["not-given-back", "give-up-unchecked"]),
    script("channel.receive_dropped_before_another", receive_dropped_before_another, &["not-given-back"]),
    script("channel.send_dropped", send_dropped, &[]),
    script("channel.polled_again", polled_again, &["waker-kept"]),
    script("channel.receive_times_out", receive_times_out, &["claim-not-asked"]),
    script("channel.send_times_out", send_times_out, &["claim-not-asked"]),
    script("channel.both_time_out", both_time_out, &[]),
    script("channel.who_times_out_is_skipped", who_times_out_is_skipped, &["claim-not-asked"]),
    script("channel.time_out_or_close", time_out_or_close, &[]),
    script("channel.close_watched", close_watched, &["close-untold"]),
    script("channel.upgraded_or_closed", upgraded_or_closed, &[]),
    script("channel.all_ends_go", all_ends_go, &["left-swap", "left-load"]),
    script("channel.nothing_is_sent_after_the_close", nothing_is_sent_after_the_close, &["served-though-closed"]),
];
