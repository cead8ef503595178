//! The checker itself: histories by hand, of which it has to accept the right ones and refuse the
//! others.

use super::go;
use super::model::{Answer, Brought, Call, How};
use super::objects::{Arm, ChannelOp as Op, Channels, Form, Full, SemaphoreOp, Semaphores};
use super::search::{Event, Verdict, explain, may_stick};

fn event(op: Op, how: How, answer: Answer, begin: u64, end: u64) -> Event<Op> {
    Event { call: Call::new(op, how), answer, begin, end }
}

fn send(value: i32, begin: u64, end: u64) -> Event<Op> {
    event(Op::Send(0, value), How::Wait, Answer::Done, begin, end)
}

fn recv(value: i32, begin: u64, end: u64) -> Event<Op> {
    event(Op::Recv(0), How::Wait, Answer::Value(value), begin, end)
}

#[track_caller]
fn verdict(capacity: usize, history: &[Vec<Event<Op>>], right: bool) {
    let channels = Channels::new(&[capacity, capacity], Full::Wait, 4, 4);
    assert_eq!(explain(&channels, history) == Verdict::Explained, right, "{history:?}");
}

#[test]
fn messages_come_in_order() {
    verdict(2, &[vec![send(1, 0, 1), send(2, 2, 3)], vec![recv(1, 4, 5), recv(2, 6, 7)]], true);
    verdict(2, &[vec![send(1, 0, 1), send(2, 2, 3)], vec![recv(2, 4, 5), recv(1, 6, 7)]], false);
    // Sends that overlap may take effect in either order.
    verdict(2, &[vec![send(1, 0, 2)], vec![send(2, 1, 3)], vec![recv(2, 4, 5), recv(1, 6, 7)]], true);
    // A moment that is shared is an overlap.
    verdict(2, &[vec![send(1, 0, 1)], vec![send(2, 1, 3)], vec![recv(2, 4, 5), recv(1, 6, 7)]], true);
}

#[test]
fn a_rendezvous_takes_two() {
    verdict(0, &[vec![send(1, 0, 5)], vec![recv(1, 4, 9)]], true);
    verdict(0, &[vec![send(1, 0, 3)], vec![recv(1, 4, 9)]], false);
    // Who waits longest is served first.
    let (long, short) = (recv(1, 0, 9), event(Op::Recv(0), How::Now, Answer::Value(1), 4, 5));
    verdict(0, &[vec![send(1, 3, 6)], vec![long.clone()], vec![short]], false);
    verdict(0, &[vec![send(1, 3, 6)], vec![long]], true);
}

#[test]
fn a_timeout_was_impossible_when_its_time_was_over() {
    let late = |begin, end| event(Op::Recv(0), How::Within(10), Answer::Timeout, begin, end);
    verdict(1, &[vec![late(0, 12)]], true);
    verdict(1, &[vec![late(0, 9)]], false);
    verdict(1, &[vec![send(1, 0, 5)], vec![late(6, 17)]], false);
    // The message came when the time was over.
    verdict(1, &[vec![send(1, 5, 20)], vec![late(0, 12)]], true);
    verdict(1, &[vec![send(1, 5, 9)], vec![late(0, 12)]], false);
}

/// Who waits with a limit stands in line, where others do not pass, until its time is over; then it
/// may be served all the same, by its last look.
#[test]
fn a_last_look_is_out_of_line() {
    use SemaphoreOp::*;
    let call = |op, how, answer, begin, end| Event { call: Call::new(op, how), answer, begin, end };
    let now = |op, answer, begin, end| call(op, How::Now, answer, begin, end);
    let right = |refused: u64, released: u64| {
        let history = [
            vec![now(Acquire(2), Answer::Done, 0, 1), now(Release, Answer::Done, released, released + 1)],
            vec![now(Acquire(1), Answer::Nothing, refused, refused + 1)],
            vec![now(Available, Answer::Value(3), released + 2, released + 3)],
            vec![call(Acquire(3), How::Within(10), Answer::Done, 2, 50)],
        ];
        explain(&Semaphores::new(3, 4), &history) == Verdict::Explained
    };
    assert!(right(15, 20), "it stood in line, has left it, and takes what was released");
    assert!(!right(3, 5), "its time was not over, so the released permits were its own");
}

#[test]
fn nothing_is_sent_after_the_close() {
    let close = |begin, end| event(Op::Close(0), How::Now, Answer::Flag(true), begin, end);
    let closed = |begin, end| event(Op::Send(0, 9), How::Wait, Answer::Closed, begin, end);
    verdict(1, &[vec![close(0, 20)], vec![closed(5, 6)], vec![send(1, 7, 8)]], false);
    verdict(1, &[vec![close(0, 20)], vec![closed(5, 9)], vec![send(1, 7, 8)]], true);
}

#[test]
fn a_default_says_that_nothing_was_ready() {
    let select = |begin, end| {
        event(Op::Select(Form::Macro, [Arm::Recv(0), Arm::Recv(1)]), How::Now, Answer::Nothing, begin, end)
    };
    let other = |op, answer, begin, end| event(op, How::Now, answer, begin, end);
    // A message moves from one channel to the other, and is in one of them all the time but for a
    // moment.
    let moved = vec![
        other(Op::Send(0, 1), Answer::Done, 0, 1),
        other(Op::Recv(0), Answer::Value(1), 10, 11),
        other(Op::Send(1, 1), Answer::Done, 12, 13),
    ];
    verdict(1, &[moved.clone(), vec![select(2, 20)]], true);
    verdict(1, &[moved, vec![select(2, 9)]], false);
    // First into the other: one of them is ready at each moment.
    let there = vec![
        other(Op::Send(0, 1), Answer::Done, 0, 1),
        other(Op::Send(1, 2), Answer::Done, 10, 11),
        other(Op::Recv(0), Answer::Value(1), 12, 13),
    ];
    verdict(1, &[there, vec![select(2, 20)]], false);
}

#[test]
fn a_program_that_may_stick_is_found() {
    let channels = Channels::new(&[0, 0], Full::Wait, 2, 2);
    let (send, recv) = (Call::new(Op::Send(0, 1), How::Wait), Call::new(Op::Recv(0), How::Wait));
    assert_eq!(may_stick(&channels, &[vec![send], vec![]]), Some(true));
    assert_eq!(may_stick(&channels, &[vec![send], vec![recv]]), Some(false));
    // The receive that only tries may come too early.
    assert_eq!(may_stick(&channels, &[vec![send], vec![Call::now(Op::Recv(0))]]), Some(true));
}

#[test]
fn outcomes_of_small_programs() {
    let (send, recv) = (|value| Call::new(Op::Send(0, value), How::Wait), Call::new(Op::Recv(0), How::Wait));
    let count = |program: Vec<Vec<Call<Op>>>| go::outcomes(&program, [0, 1]).map(|outcomes| outcomes.len());
    assert_eq!(count(vec![vec![send(1)], vec![recv]]), Some(1));
    assert_eq!(count(vec![vec![send(1)], vec![send(2)], vec![recv, recv]]), Some(2));
    assert_eq!(count(vec![vec![send(1)]]), None, "a deadlock");
    // A select enters one queue after the other, so it may be found in one when the other channel
    // is closed. (Not in Go.)
    let select = Call::new(Op::Select(Form::Macro, [Arm::Send(0, 1), Arm::Send(1, 2)]), How::Wait);
    let met = vec![vec![Answer::Flag(true), Answer::Value(2)], vec![Answer::Arm(1, Brought::Sent)]];
    let program = vec![vec![Call::now(Op::Close(0)), Call::now(Op::Recv(1))], vec![select]];
    assert!(go::outcomes(&program, [0, 0]).unwrap().contains(&met));
    // Either takes the message, or finds nothing, and the other one has it.
    let tries = Call::now(Op::Recv(1));
    let sends = Call::new(Op::Send(1, 1), How::Wait);
    assert_eq!(count(vec![vec![sends], vec![tries], vec![tries]]), Some(3));
}
