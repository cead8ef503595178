//! Scripts of places for an answer: it is received, or comes back, once; the place is freed once.

use super::channel::{Book, Flag, Message, PAST, both, poll};
use super::{SYNC, Script};
use loom::thread;
use myriad_sync::answer::{NoAnswer, answer, answer_here};
use std::sync::Arc;
use std::task::Poll;

/// The answer comes before the wait, or meanwhile.
fn answered_or_waits() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer::<Message>();
    let message = book.message(7);
    let (got, sent) = both(move || rx.recv(None).map(|message| message.id()), move || tx.send(message).is_ok());
    assert_eq!((got, sent), (Ok(7), true));
    book.assert_all_dropped();
}

/// The sender goes without one.
fn gone_or_waits() {
    let (tx, rx) = answer::<u8>();
    let (got, ()) = both(move || rx.recv(None), move || drop(tx));
    assert_eq!(got, Err(NoAnswer::Gone));
}

/// The receiver goes: the answer comes back, or is dropped with the place.
fn both_go() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer::<Message>();
    let message = book.message(7);
    both(move || drop(rx), move || drop(tx.send(message)));
    book.assert_all_dropped();
}

/// A limit is over: the answer was received, or comes back.
fn times_out_or_receives() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer::<Message>();
    let message = book.message(7);
    let sender = thread::spawn(move || tx.send(message).is_ok());
    let got = rx.recv(Some(PAST));
    let sent = sender.join().unwrap();
    match got {
        Ok(message) => assert!(message.id() == 7 && sent),
        Err(error) => assert_eq!(error, NoAnswer::Timeout),
    }
    book.assert_all_dropped();
}

/// A future that waits is dropped, while the answer comes.
fn a_future_gives_up() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer::<Message>();
    let (_flag, waker) = Flag::new();
    let message = book.message(7);
    let mut receiving = Box::pin(rx.recv_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let sender = thread::spawn(move || drop(tx.send(message)));
    drop(receiving);
    sender.join().unwrap();
    book.assert_all_dropped();
}

/// A future is woken by the answer. It is polled before that, too: then the answer is there as soon
/// as its entry says so, while the sender is still at the place.
fn a_future_is_polled_early() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer::<Message>();
    let (flag, waker) = Flag::new();
    let message = book.message(7);
    let mut receiving = Box::pin(rx.recv_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let sender = thread::spawn(move || tx.send(message).is_ok());
    let mut got = poll(receiving.as_mut(), &waker);
    if got.is_pending() {
        flag.wait();
        got = poll(receiving.as_mut(), &waker);
    }
    let Poll::Ready(Ok(message)) = got else { panic!("woken for nothing") };
    assert_eq!(message.id(), 7);
    assert!(sender.join().unwrap());
    drop((message, receiving));
    book.assert_all_dropped();
}

/// The receiver stays on its thread; the answer comes there, or from another thread meanwhile.
fn received_here() {
    let book = Arc::new(Book::default());
    let (tx, rx) = answer_here::<Message>();
    let message = book.message(7);
    assert!(tx.send(message).is_ok());
    assert_eq!(rx.recv().map(|message| message.id()), Some(7));
    let (tx, rx) = answer_here::<Message>();
    let message = book.message(8);
    let sender = thread::spawn(move || tx.send(message).is_ok());
    assert_eq!(rx.recv().map(|message| message.id()), Some(8));
    assert!(sender.join().unwrap());
    book.assert_all_dropped();
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(4), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script("answer.answered_or_waits", answered_or_waits, &["answer-send", "answer-is-sent", "answer-waits"]),
    script("answer.received_here", received_here, &["answer-here"]),
    script("answer.gone_or_waits", gone_or_waits, &["answer-is-sent"]),
    script("answer.both_go", both_go, &["answer-left"]),
    script("answer.times_out_or_receives", times_out_or_receives, &["answer-left", "answer-sent", "answer-is-sent"]),
    script("answer.a_future_gives_up", a_future_gives_up, &["answer-left", "answer-sent"]),
    script("answer.a_future_is_polled_early", a_future_is_polled_early, &["answer-take"]),
];
