//! Scripts of peeks at a channel's first message, against sends, receives, time limits and ends:
//! nobody receives a later one before it, nobody is forgotten, nothing is lost.

use super::channel::{Book, Flag, Message, PAST, block_on, both, poll, received};
use super::{SYNC, Script};
use loom::thread;
use myriad_sync::channel::*;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// One peeks at it while another receives: in order.
fn left_there() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(2);
    (1..=2).for_each(|id| assert!(tx.try_send(book.message(id)).is_ok()));
    let rx2 = rx.clone();
    let (seen, got) = both(
        move || rx2.peek_with(|message: &Message| message.id()).ok(),
        move || {
            let got = [received(rx.recv()), received(rx.recv())];
            drop((tx, rx));
            got
        },
    );
    assert_eq!(got, [Some(1), Some(2)]);
    assert!(seen.is_none_or(|seen| (1..=2).contains(&seen)), "{seen:?}");
    book.assert_all_dropped();
}

/// The same, and it is taken, or not: each message is received once.
fn taken_or_left() {
    let book = Arc::new(Book::default());
    let (tx, rx) = unbounded();
    (1..=2).for_each(|id| assert!(tx.try_send(book.message(id)).is_ok()));
    let rx2 = rx.clone();
    let (taken, got) = both(
        move || rx2.recv_if(|message: &Message| message.id() == 1).ok().flatten().map(|message| message.id()),
        move || {
            let got = block_on(async { [received(rx.recv_async().await), received(rx.try_recv())] });
            drop((tx, rx));
            got
        },
    );
    assert!(
        matches!((taken, got), (Some(1), [Some(2), None]) | (None, [Some(1), Some(2) | None])),
        "{taken:?} {got:?}"
    );
    book.assert_all_dropped();
}

/// A peeker waits for the message.
fn waits() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (rx2, message) = (rx.clone(), book.message(7));
    let (seen, ()) = both(
        move || rx2.peek_with(|message: &Message| message.id()).ok(),
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!((seen, received(rx.try_recv())), (Some(7), Some(7)));
    drop(rx);
    book.assert_all_dropped();
}

/// A message comes, and a close: the peeker hears of one of them.
fn sent_or_closed() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (tx2, message) = (tx.clone(), book.message(7));
    let (flag, waker) = Flag::new();
    let mut peek = Box::pin(rx.recv_if_async(|message: &Message| message.id() == 7));
    assert!(poll(peek.as_mut(), &waker).is_pending());
    let sender = thread::spawn(move || tx2.try_send(message).is_ok());
    tx.close();
    flag.wait();
    let Poll::Ready(got) = poll(peek.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(received(got.map(Option::unwrap)), sender.join().unwrap().then_some(7));
    drop(peek);
    drop((tx, rx));
    book.assert_all_dropped();
}

/// Dropped just when the message is lent to it: it is left in the channel, for who waits behind.
fn dropped() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let message = book.message(7);
    let (flag, waker) = Flag::new();
    let (mut first, mut second) = (Box::pin(rx.peek_with_async(|_| ())), Box::pin(rx.recv_async()));
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

/// Its time is over when a message comes: it has taken it, or the message stays.
fn times_out() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    let (rx2, message) = (rx.clone(), book.message(7));
    let (got, ()) = both(
        move || received(rx2.recv_if_deadline(PAST, |_| true).map(Option::unwrap)),
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got.or(received(rx.try_recv())), Some(7), "the message is lost");
    drop(rx);
    book.assert_all_dropped();
}

/// A sender waits for the room of the message that is peeked at.
fn full() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded(1);
    assert!(tx.try_send(book.message(1)).is_ok());
    let message = book.message(2);
    let (sent, got) = both(
        move || tx.send(message).is_ok(),
        move || {
            let taken = rx.recv_if(|message| message.id() == 1).unwrap();
            [taken.map(|message| message.id()), received(rx.recv())]
        },
    );
    assert_eq!((sent, got), (true, [Some(1), Some(2)]));
    book.assert_all_dropped();
}

/// At a rendezvous a receiver waits, and another sender comes, while a message that came before is
/// peeked at.
fn meeting_behind() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous();
    let (one, two) = (book.message(1), book.message(2));
    let tx2 = tx.clone();
    let mut first = Box::pin(tx2.send_async(one));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    let sender = thread::spawn(move || assert!(tx.send(two).is_ok()));
    let (flag, waker) = Flag::new();
    let mut receiving = Box::pin(rx.recv_async());
    let seen = rx.peek_with(|message| {
        assert!(poll(receiving.as_mut(), &waker).is_pending(), "it is lent");
        message.id()
    });
    flag.wait();
    let Poll::Ready(got) = poll(receiving.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!((seen.ok(), received(got), received(rx.recv())), (Some(1), Some(1), Some(2)));
    sender.join().unwrap();
    drop((first, receiving));
    drop((tx2, rx));
    book.assert_all_dropped();
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(3), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script("peek.left_there", left_there, &["not-served"]),
    script("peek.taken_or_left", taken_or_left, &["not-served"]),
    script("peek.waits", waits, &["peeker-unseen"]),
    script("peek.sent_or_closed", sent_or_closed, &[]),
    script("peek.dropped", dropped, &["loan-kept"]),
    script("peek.times_out", times_out, &["claim-not-asked"]),
    script("peek.full", full, &[]),
    script("peek.meeting_behind", meeting_behind, &["not-served"]),
];
