//! Scripts of selects: one arm has an effect, the others none; who waits is woken; selects meet
//! each other.

use super::channel::{Book, Flag, Message, PAST, block_on, both, poll, received};
use super::{SYNC, Script};
use loom::thread;
use myriad_sync::channel::*;
use myriad_sync::select::{Arm, Order, Won, future, try_wait, wait, wait_async, wait_deadline};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

const BIASED: Order = Order::Biased;

/// Sent (1), or received this (its number), or closed (0).
fn outcome(won: Won<Result<(), SendError<Message>>, Result<Message, RecvError>>) -> usize {
    match won {
        Won::A0(sent) => usize::from(sent.is_ok()),
        Won::A1(got) => got.map_or(0, |message| message.id()),
    }
}

/// One channel is closed while a message comes to the other: either wins, and the message is
/// received or left.
fn against_close() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (tx2, rx2) = bounded::<Message>(1);
    let (rx3, message) = (rx2.clone(), book.message(7));
    let (got, ()) = both(
        move || match wait(BIASED, (rx.recv_arm(), rx2.recv_arm())) {
            Won::A0(got) => {
                assert!(got.is_err());
                None
            }
            Won::A1(got) => received(got),
        },
        move || {
            tx.close();
            assert!(tx2.send(message).is_ok());
        },
    );
    assert_eq!(got.or(received(rx3.try_recv())), Some(7), "the message is lost");
    drop(rx3);
    book.assert_all_dropped();
}

/// Messages come to both channels: one is received, the other is left.
fn two_messages() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (tx2, rx2) = bounded::<Message>(1);
    let (rx3, rx4, one, two) = (rx.clone(), rx2.clone(), book.message(1), book.message(2));
    let (got, ()) = both(
        move || match wait(BIASED, (rx.recv_arm(), rx2.recv_arm())) {
            Won::A0(got) | Won::A1(got) => received(got).unwrap(),
        },
        move || {
            assert!(tx2.try_send(two).is_ok());
            assert!(tx.try_send(one).is_ok());
        },
    );
    let left = (received(rx3.try_recv()), received(rx4.try_recv()));
    assert_eq!(left, if got == 1 { (None, Some(2)) } else { (Some(1), None) });
    drop((rx3, rx4));
    book.assert_all_dropped();
}

/// A time limit that has passed, against a message.
fn against_a_timer() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (_tx2, rx2) = bounded::<Message>(1);
    let (rx3, message) = (rx.clone(), book.message(7));
    let (got, ()) = both(
        move || match wait_deadline(BIASED, PAST, (rx.recv_arm(), rx2.recv_arm())) {
            Some(Won::A0(got) | Won::A1(got)) => received(got),
            None => None,
        },
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got.or(received(rx3.try_recv())), Some(7), "the message is lost");
    drop(rx3);
    book.assert_all_dropped();
}

/// A select that sends, and gives up, against a receiver that tries.
fn send_against_a_timer() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (_tx2, rx2) = rendezvous::<Message>();
    // So that it is not closed when one goes.
    let _ends = (tx.clone(), rx.clone());
    let mut slot = Some(book.message(7));
    let ((sent, left), got) = both(
        move || {
            let sent = wait_deadline(BIASED, PAST, (tx.send_from_arm(&mut slot), rx2.recv_arm())).map(outcome);
            (sent, received(slot.ok_or(RecvError)))
        },
        move || received(rx.try_recv()),
    );
    assert_eq!(sent, got.map(|_| 1));
    assert_eq!(got.or(left), Some(7));
    assert!(got.is_none() || left.is_none(), "doubled");
    book.assert_all_dropped();
}

/// Two selects meet at one of two rendezvous; each offers to send at one and to receive at the
/// other.
fn meeting(crosswise: bool) {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = rendezvous::<Message>();
    let (one, two) = (book.message(11), book.message(12));
    let (a, b) = both(
        move || outcome(wait(BIASED, (tx.send_arm(one), rx2.recv_arm()))),
        move || {
            if crosswise {
                return outcome(wait(BIASED, (tx2.send_arm(two), rx.recv_arm())));
            }
            match wait(BIASED, (rx.recv_arm(), tx2.send_arm(two))) {
                Won::A0(got) => outcome(Won::A1(got)),
                Won::A1(sent) => outcome(Won::A0(sent)),
            }
        },
    );
    assert!(matches!((a, b), (1, 11) | (12, 1)), "{a} {b}");
    book.assert_all_dropped();
}

fn meeting_crosswise() {
    meeting(true);
}

fn meeting_along() {
    meeting(false);
}

/// The same as futures.
fn meeting_futures() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = rendezvous::<Message>();
    let (one, two) = (book.message(11), book.message(12));
    let (a, b) = both(
        move || outcome(block_on(wait_async(BIASED, (tx.send_arm(one), rx2.recv_arm())))),
        move || outcome(block_on(wait_async(BIASED, (tx2.send_arm(two), rx.recv_arm())))),
    );
    assert!(matches!((a, b), (1, 11) | (12, 1)), "{a} {b}");
    book.assert_all_dropped();
}

/// Both have no time: they meet, or none has done anything.
fn meeting_without_time() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = rendezvous::<Message>();
    let _ends = (tx.clone(), tx2.clone(), rx.clone(), rx2.clone());
    let (one, two) = (book.message(11), book.message(12));
    let (a, b) = both(
        move || wait_deadline(BIASED, PAST, (tx.send_arm(one), rx2.recv_arm())).map(outcome),
        move || wait_deadline(BIASED, PAST, (tx2.send_arm(two), rx.recv_arm())).map(outcome),
    );
    assert!(matches!((a, b), (Some(1), Some(11)) | (Some(12), Some(1)) | (None, None)), "{a:?} {b:?}");
    book.assert_all_dropped();
}

/// A select with both ends of a rendezvous meets another such, not itself.
fn both_ends() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = (tx.clone(), rx.clone());
    let (one, two) = (book.message(11), book.message(12));
    let (a, b) = both(
        move || outcome(wait(BIASED, (tx.send_arm(one), rx.recv_arm()))),
        move || outcome(wait(BIASED, (tx2.send_arm(two), rx2.recv_arm()))),
    );
    assert!(matches!((a, b), (1, 11) | (12, 1)), "{a} {b}");
    book.assert_all_dropped();
}

/// A plain send comes while a select enters: it waits there, or is met.
fn against_a_plain_send() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (_tx2, rx2) = rendezvous::<Message>();
    let message = book.message(7);
    let (got, sent) = both(
        move || match wait(BIASED, (rx2.recv_arm(), rx.recv_arm())) {
            Won::A0(got) | Won::A1(got) => received(got),
        },
        move || tx.send(message).is_ok(),
    );
    assert_eq!((got, sent), (Some(7), true));
    book.assert_all_dropped();
}

/// A future is polled again with another waker while a message comes: it is ready, or that waker is
/// woken.
fn polled_again() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (_tx2, rx2) = bounded::<Message>(1);
    let message = book.message(7);
    let (got, ()) = both(
        move || {
            let mut selecting = pin!(wait_async(BIASED, (rx.recv_arm(), rx2.recv_arm())));
            let taken = |won| match won {
                Won::A0(got) | Won::A1(got) => received(got),
            };
            if let Poll::Ready(won) = poll(selecting.as_mut(), Waker::noop()) {
                return taken(won);
            }
            let (flag, waker) = Flag::new();
            if let Poll::Ready(won) = poll(selecting.as_mut(), &waker) {
                return taken(won);
            }
            flag.wait();
            match poll(selecting.as_mut(), &waker) {
                Poll::Ready(won) => taken(won),
                Poll::Pending => panic!("woken without a message"),
            }
        },
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got, Some(7));
    book.assert_all_dropped();
}

/// A future is dropped just when a message is handed to it: it is left in the channel.
fn dropped() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (_tx2, rx2) = bounded::<Message>(1);
    let (rx3, message) = (rx.clone(), book.message(7));
    let (got, ()) = both(
        move || {
            let (_, waker) = Flag::new();
            let mut selecting = Box::pin(wait_async(BIASED, (rx.recv_arm(), rx2.recv_arm())));
            match poll(selecting.as_mut(), &waker) {
                Poll::Ready(Won::A0(got) | Won::A1(got)) => received(got),
                Poll::Pending => None,
            }
        },
        move || assert!(tx.try_send(message).is_ok()),
    );
    assert_eq!(got.or(received(rx3.try_recv())), Some(7), "the message is lost");
    drop(rx3);
    book.assert_all_dropped();
}

/// Trying once, against a select that waits.
fn tried() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = rendezvous::<Message>();
    let _ends = (tx.clone(), tx2.clone(), rx.clone(), rx2.clone());
    let (one, two) = (book.message(11), book.message(12));
    let waiting = thread::spawn(move || wait_deadline(BIASED, PAST, (tx.send_arm(one), rx2.recv_arm())).map(outcome));
    let tried = try_wait(BIASED, (tx2.send_arm(two), rx.recv_arm())).map(outcome);
    let waited = waiting.join().unwrap();
    assert!(
        matches!((waited, tried), (Some(1), Some(11)) | (Some(12), Some(1)) | (None, None)),
        "{waited:?} {tried:?}"
    );
    book.assert_all_dropped();
}

/// A message is in one of two channels at each moment: it is put into the second one before it is
/// taken out of the first. A select with a default finds it.
fn default_between_two() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (tx2, rx2) = bounded::<Message>(1);
    // So that it is not closed when one goes.
    let _ends = (tx.clone(), tx2.clone(), rx.clone(), rx2.clone());
    assert!(tx.try_send(book.message(1)).is_ok());
    let (taker, message) = (rx.clone(), book.message(2));
    let (found, ()) = both(
        move || try_wait(BIASED, (rx2.recv_arm(), rx.recv_arm())).is_some(),
        move || {
            assert!(tx2.try_send(message).is_ok());
            drop(taker.try_recv());
        },
    );
    assert!(found, "nothing, it says");
    drop(_ends);
    book.assert_all_dropped();
}

/// Two arms take turns to be ready, within the passes of a select: `turn(true)` makes the first one
/// ready and then ends the second one's readiness, `turn(false)` the other way round. The second is
/// ready at first.
fn take_turns(a: impl Arm, b: impl Arm, mut turn: impl FnMut(bool)) {
    let turn = std::cell::RefCell::new((8, &mut turn));
    let pass = |to_first| {
        let turn = &turn;
        future(std::future::poll_fn(move |_| {
            let (left, turn) = &mut *turn.borrow_mut();
            if *left > 0 {
                *left -= 1;
                turn(to_first);
            }
            Poll::<()>::Pending
        }))
    };
    assert!(try_wait(BIASED, (a, pass(true), b, pass(false))).is_some(), "nothing, it says");
}

/// The number of messages that were taken out says so.
fn default_and_buffers() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (tx2, rx2) = bounded::<Message>(1);
    assert!(tx2.try_send(book.message(1)).is_ok());
    take_turns(rx.recv_arm(), rx2.recv_arm(), |to_first| {
        let (to, from) = if to_first { (&tx, &rx2) } else { (&tx2, &rx) };
        assert!(to.try_send(book.message(2)).is_ok());
        drop(from.try_recv());
    });
    drop((tx, rx, tx2, rx2));
    book.assert_all_dropped();
}

/// Senders that wait and go are counted.
fn default_and_rendezvous() {
    let book = Arc::new(Book::default());
    let (tx, rx) = rendezvous::<Message>();
    let (tx2, rx2) = rendezvous::<Message>();
    let waiting = |tx: &Sender<Message>| {
        let (tx, message) = (tx.clone(), book.message(1));
        let mut sending = Box::pin(async move { tx.send_async(message).await });
        assert!(poll(sending.as_mut(), Waker::noop()).is_pending());
        sending
    };
    let mut one = waiting(&tx2);
    take_turns(rx.recv_arm(), rx2.recv_arm(), |to_first| one = waiting(if to_first { &tx } else { &tx2 }));
    drop((one, tx, rx, tx2, rx2));
    book.assert_all_dropped();
}

/// Messages that come back in front are counted.
fn default_and_gifts() {
    let book = Arc::new(Book::default());
    let (tx, rx) = bounded::<Message>(1);
    let (tx2, rx2) = bounded::<Message>(1);
    // Each has been handed a message, and gives it back when it is dropped.
    let handed = |tx: &Sender<Message>, rx: &Receiver<Message>| {
        let rx = rx.clone();
        let mut receiving = Box::pin(async move { rx.recv_async().await });
        assert!(poll(receiving.as_mut(), Waker::noop()).is_pending());
        assert!(tx.try_send(book.message(1)).is_ok());
        receiving
    };
    let mut of_first: Vec<_> = (0..5).map(|_| handed(&tx, &rx)).collect();
    let mut of_second: Vec<_> = (0..5).map(|_| handed(&tx2, &rx2)).collect();
    drop(of_second.pop());
    take_turns(rx.recv_arm(), rx2.recv_arm(), |to_first| {
        let (back, from) = if to_first { (&mut of_first, &rx2) } else { (&mut of_second, &rx) };
        drop(back.pop());
        drop(from.try_recv());
    });
    drop((of_first, of_second, tx, rx, tx2, rx2));
    book.assert_all_dropped();
}

const SCRIPT: Script = Script { bound: (Some(3), Some(5)), ..SYNC };

pub const SCRIPTS: &[Script] = &[
    Script { name: "select.against_close", run: against_close, ..SCRIPT },
    Script { name: "select.two_messages", run: two_messages, mutants: &["ended-not-asked"], ..SCRIPT },
    Script { name: "select.against_a_timer", run: against_a_timer, ..SCRIPT },
    Script { name: "select.send_against_a_timer", run: send_against_a_timer, ..SCRIPT },
    Script { name: "select.meeting_crosswise", run: meeting_crosswise, ..SCRIPT },
    Script { name: "select.meeting_along", run: meeting_along, ..SCRIPT },
    Script { name: "select.meeting_futures", run: meeting_futures, ..SCRIPT },
    Script { name: "select.meeting_without_time", run: meeting_without_time, ..SCRIPT },
    Script { name: "select.both_ends", run: both_ends, mutants: &["meets-itself"], ..SCRIPT },
    Script { name: "select.against_a_plain_send", run: against_a_plain_send, ..SCRIPT },
    Script { name: "select.polled_again", run: polled_again, mutants: &["select-polled-anew"], ..SCRIPT },
    Script { name: "select.dropped", run: dropped, mutants: &["arm-not-given-back"], ..SCRIPT },
    Script { name: "select.tried", run: tried, ..SCRIPT },
    Script { name: "select.default_between_two", run: default_between_two, mutants: &["default-at-once"], ..SCRIPT },
    Script { name: "select.default_and_buffers", run: default_and_buffers, mutants: &["taken-not-counted"], ..SCRIPT },
    Script {
        name: "select.default_and_rendezvous",
        run: default_and_rendezvous,
        mutants: &["waits-not-counted"],
        ..SCRIPT
    },
    Script { name: "select.default_and_gifts", run: default_and_gifts, mutants: &["back-not-counted"], ..SCRIPT },
];
