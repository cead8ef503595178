//! Scripts of inboxes: each message is received, or comes back, once; a consumer that goes idle is
//! started anew by the message that it has not seen.

use super::channel::{Book, Flag, Message, PAST, both, poll};
use super::{SYNC, Script};
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use myriad_sync::inbox::{Inbox, Popped, Pushed};
use std::sync::Arc;
use std::task::Poll;

fn is_done(pushed: Pushed<Message>) -> bool {
    matches!(pushed, Pushed::Done)
}

/// A message is handed to a consumer that blocks.
fn hand_over_blocking() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (to, message) = (inbox.clone(), book.message(7));
    let (got, done) = both(move || inbox.receive(None).map(|message| message.id()), || is_done(to.push(message)));
    assert_eq!((got, done), (Some(7), true));
    drop(to);
    book.assert_all_dropped();
}

/// A consumer gives up while a message comes: that stays there, before the next one.
fn given_up_while_it_is_served() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (flag, waker) = Flag::new();
    let mut receiving = Box::pin(inbox.receive_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let (to, first, second) = (inbox.clone(), book.message(1), book.message(2));
    let sender = thread::spawn(move || is_done(to.push(first)) && is_done(to.push(second)));
    drop(receiving);
    assert!(sender.join().unwrap());
    let left: Vec<_> = std::iter::from_fn(|| inbox.pop()).map(|message| message.id()).collect();
    assert_eq!(left, [1, 2]);
    drop((flag, inbox));
    book.assert_all_dropped();
}

/// The same at a deadline: the message is received, or is there still.
fn times_out_or_receives() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (to, message) = (inbox.clone(), book.message(7));
    let sender = thread::spawn(move || is_done(to.push(message)));
    let got = inbox.receive(Some(PAST)).is_some();
    assert!(sender.join().unwrap());
    assert_eq!(inbox.pop().is_none(), got);
    drop(inbox);
    book.assert_all_dropped();
}

/// A consumer finds a message, or goes idle, and then the sender starts the next one: with all that
/// the first one has done.
fn idle_or_found() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(true));
    assert!(inbox.begin() && !inbox.begin());
    let (to, message) = (inbox.clone(), book.message(7));
    let (found, started) = both(
        move || match inbox.pop_or_idle() {
            Popped::Message(message) => message.id() == 7,
            Popped::Idle => false,
            Popped::Stays | Popped::Interrupted => panic!("nobody interrupts"),
        },
        move || matches!(to.push(message), Pushed::Start(_)),
    );
    assert_ne!(found, started);
    book.assert_all_dropped();
}

/// Something else to do comes at about the end of the messages: the consumer stays for that, or who
/// has said so consumes.
fn stays_or_begun() {
    let inbox = Arc::new(Inbox::<u8>::new(true));
    assert!(inbox.begin());
    let (other, told) = (inbox.clone(), Arc::new(AtomicBool::new(false)));
    let says = told.clone();
    let (stays, begins) = both(
        move || inbox.pop_or_stay(|| told.load(Relaxed)) == Popped::Stays,
        move || {
            says.store(true, Relaxed);
            other.begin_paused()
        },
    );
    assert_ne!(stays, begins);
}

/// Who interrupts ends an idle consumer; one that is not idle finds out.
fn interrupted_once() {
    let inbox = Arc::new(Inbox::<u8>::new(true));
    assert!(inbox.begin());
    let other = inbox.clone();
    let (found, ends) = both(move || inbox.pop_or_idle() == Popped::Interrupted, move || other.interrupt());
    assert_ne!(found, ends);
}

/// A message is in before the close, and is left there, or comes back.
fn pushed_or_closed() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (to, message) = (inbox.clone(), book.message(7));
    let (left, done) = both(move || inbox.close().len(), move || is_done(to.push(message)));
    assert_eq!(left, usize::from(done));
    book.assert_all_dropped();
}

/// A future is woken by the message that it was handed.
fn hand_over_to_a_future() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (flag, waker) = Flag::new();
    let mut receiving = Box::pin(inbox.receive_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let (to, message) = (inbox.clone(), book.message(7));
    let sender = thread::spawn(move || is_done(to.push(message)));
    flag.wait();
    let Poll::Ready(Some(message)) = poll(receiving.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(message.id(), 7);
    assert!(sender.join().unwrap());
    drop((message, receiving));
    drop(inbox);
    book.assert_all_dropped();
}

/// A message comes while a future begins to wait: that finds it, or is woken.
fn meets_a_future() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    let (flag, waker) = Flag::new();
    let (to, message) = (inbox.clone(), book.message(7));
    let sender = thread::spawn(move || is_done(to.push(message)));
    let mut receiving = Box::pin(inbox.receive_async());
    let mut found = poll(receiving.as_mut(), &waker);
    if found.is_pending() {
        flag.wait();
        found = poll(receiving.as_mut(), &waker);
    }
    let Poll::Ready(Some(message)) = found else { panic!("woken for nothing") };
    assert_eq!(message.id(), 7);
    assert!(sender.join().unwrap());
    drop((message, receiving));
    drop(inbox);
    book.assert_all_dropped();
}

/// A consumer that waits gets what comes during a pause at the resume, or later, and once.
fn paused_while_it_waits() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(false));
    assert!(inbox.pause());
    let (flag, waker) = Flag::new();
    let mut receiving = Box::pin(inbox.receive_async());
    assert!(poll(receiving.as_mut(), &waker).is_pending());
    let (to, message) = (inbox.clone(), book.message(7));
    let sender = thread::spawn(move || is_done(to.push(message)));
    assert!(!inbox.resume());
    flag.wait();
    let Poll::Ready(Some(message)) = poll(receiving.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(message.id(), 7);
    assert!(sender.join().unwrap());
    drop((message, receiving));
    drop(inbox);
    book.assert_all_dropped();
}

/// A message that comes at about the resume of an idle consumer starts it, once: its sender does,
/// or the resume.
fn parked_or_started() {
    let book = Arc::new(Book::default());
    let inbox = Arc::new(Inbox::<Message>::new(true));
    assert!(inbox.pause() && !inbox.begin());
    let (to, message) = (inbox.clone(), book.message(7));
    let (resumes, started) = {
        let inbox = inbox.clone();
        both(move || inbox.resume(), move || matches!(to.push(message), Pushed::Start(_)))
    };
    assert_ne!(resumes, started);
    assert_eq!(inbox.pop().is_some(), resumes);
    drop(inbox);
    book.assert_all_dropped();
}

/// Who interrupts at about the resume of a parked consumer, or the resume, consumes: one of them.
fn parked_and_interrupted() {
    let inbox = Arc::new(Inbox::<u8>::new(true));
    assert!(inbox.pause() && matches!(inbox.push(7), Pushed::Done));
    let other = inbox.clone();
    let (begins, ends) = both(move || inbox.resume(), move || other.interrupt());
    assert_ne!(begins, ends);
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(4), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script("inbox.hand_over_blocking", hand_over_blocking, &[]),
    script("inbox.given_up_while_it_is_served", given_up_while_it_is_served, &[]),
    script("inbox.meets_a_future", meets_a_future, &["inbox-waits-unlooked"]),
    script("inbox.times_out_or_receives", times_out_or_receives, &[]),
    script("inbox.idle_or_found", idle_or_found, &["inbox-idle-late"]),
    script("inbox.stays_or_begun", stays_or_begun, &["inbox-stays-unseen"]),
    script("inbox.interrupted_once", interrupted_once, &["inbox-interrupt-unseen"]),
    script("inbox.paused_while_it_waits", paused_while_it_waits, &["inbox-resume-not-handed"]),
    script("inbox.parked_or_started", parked_or_started, &["inbox-resume-not-started"]),
    script("inbox.parked_and_interrupted", parked_and_interrupted, &["inbox-resume-still-parked"]),
    script("inbox.pushed_or_closed", pushed_or_closed, &[]),
    script("inbox.hand_over_to_a_future", hand_over_to_a_future, &["inbox-future-not-woken"]),
];
