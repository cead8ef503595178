//! How each operation of a channel is called.

use super::{Ends, Op, ROUNDS, Sending, select};
use crate::model::{Answer, Call, How};
use crate::object::{awaited, awaited_or, either, nanos, slow, waited};
use futures_util::{SinkExt, StreamExt};
use myriad::channel::{RecvError, RecvTimeoutError, TryRecvError};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

pub(super) fn blocking(ends: &mut Ends, call: &Call<Op>) -> Answer {
    match call.op {
        Op::Send(at, value) => {
            let tx = &ends.tx[usize::from(at)];
            let now = || match tx.try_send(value) {
                Err(error) if error.is_full() => None,
                sent => Some(sent.is_ok()),
            };
            let within = |limit| match tx.send_timeout(value, limit) {
                Err(error) if error.is_timeout() => None,
                sent => Some(sent.is_ok()),
            };
            either(waited(call.how, now, || tx.send(value).is_ok(), within), sent)
        }
        Op::Recv(at) => {
            use {RecvTimeoutError::Timeout, TryRecvError::Empty};
            let rx = &ends.rx[usize::from(at)];
            let now = || Some(rx.try_recv()).filter(|got| *got != Err(Empty)).map(|got| got.ok());
            let within = |limit| Some(rx.recv_timeout(limit)).filter(|got| *got != Err(Timeout)).map(|got| got.ok());
            either(waited(call.how, now, || rx.recv().ok(), within), received)
        }
        Op::Peek { at, take } => {
            use {RecvTimeoutError::Timeout, TryRecvError::Empty};
            let (rx, mut saw) = (&ends.rx[usize::from(at)], 0);
            let mut peek = |value: &i32| {
                saw = *value;
                take
            };
            let peeked = match call.how {
                How::Now => rx.try_recv_if(peek).map_err(|error| (error == Empty).then_some(Answer::Nothing)),
                How::Within(limit) => {
                    let peeked = rx.recv_if_timeout(nanos(limit), peek);
                    peeked.map_err(|error| (error == Timeout).then_some(Answer::Timeout))
                }
                how => match waited(how, || None, || rx.recv_if(&mut peek), |_| None) {
                    Ok(peeked) => peeked.map_err(|RecvError| None),
                    Err(why) => Err(Some(why)),
                },
            };
            match peeked {
                Ok(taken) if taken.is_some() == take => Answer::Value(saw),
                Ok(_) => Answer::Panicked,
                Err(why) => why.unwrap_or(Answer::Closed),
            }
        }
        Op::Select(form, arms) => select::blocking(ends, form, arms, call.how),
        Op::Begin(at, value) => {
            let tx = ends.tx[usize::from(at)].clone();
            let mut future: Sending = Box::pin(async move { tx.send_async(value).await.is_ok() });
            // Twice: who has done much in a row is told to rest once, and is not in line yet.
            let (waker, mut done) = (slow(Waker::noop()), None);
            for _ in 0..2 {
                if done.is_none()
                    && let Poll::Ready(sent) = future.as_mut().poll(&mut Context::from_waker(&waker))
                {
                    done = Some(sent);
                }
            }
            ends.begun = Mutex::new(Some((future, done)));
            Answer::Done
        }
        Op::SendOnce(value) => sent(ends.once.take().is_some_and(|tx| tx.send(value).is_ok())),
        Op::Next | Op::Feed(_) | Op::End(..) => myriad::block_on(in_future(ends, call)),
        Op::Shuttle(value) => {
            for _ in 0..ROUNDS {
                // Full if nobody has taken it, and nothing if somebody has.
                for (to, from) in [(0, 1), (1, 0)] {
                    _ = ends.tx[to].try_send(value);
                    _ = ends.rx[from].try_recv();
                }
            }
            Answer::Done
        }
        Op::Close(at) => Answer::Flag(match ends.tx.get(usize::from(at)) {
            Some(tx) => tx.close(),
            None => ends.rx[usize::from(at)].close(),
        }),
        Op::Len(at) => Answer::Value(match ends.tx.get(usize::from(at)) {
            Some(tx) => tx.len() as i32,
            None => ends.rx[usize::from(at)].len() as i32,
        }),
        Op::IsClosed(at) => Answer::Flag(match (&ends.once, ends.tx.get(usize::from(at))) {
            (Some(once), _) => once.is_closed(),
            (None, Some(tx)) => tx.is_closed(),
            (None, None) => ends.rx[usize::from(at)].is_closed(),
        }),
        Op::Leave { .. } => {
            *ends = Ends::default();
            Answer::Done
        }
    }
}

pub(super) async fn in_future(ends: &mut Ends, call: &Call<Op>) -> Answer {
    match call.op {
        Op::Next => {
            let stream = ends.stream.as_mut().expect("a stream");
            either(awaited(call.how, stream.next()).await, received)
        }
        Op::End(..) => {
            let (future, done) = ends.begun.get_mut().unwrap().take().expect("a send was begun");
            match done {
                Some(done) => sent(done),
                None => either(awaited(call.how, future).await, sent),
            }
        }
        Op::Feed(value) => sent(ends.sink.as_mut().expect("a sink").send(value).await.is_ok()),
        _ if call.how == How::Now => blocking(ends, call),
        Op::Send(at, value) => {
            let tx = &ends.tx[usize::from(at)];
            let within = async |limit| match tx.send_timeout_async(value, limit).await {
                Err(error) if error.is_timeout() => None,
                sent => Some(sent.is_ok()),
            };
            let sending = || async { tx.send_async(value).await.is_ok() };
            either(awaited_or(call.how, sending, within).await, sent)
        }
        Op::Recv(at) => {
            let rx = &ends.rx[usize::from(at)];
            let within = async |limit| match rx.recv_timeout_async(limit).await {
                Err(RecvTimeoutError::Timeout) => None,
                got => Some(got.ok()),
            };
            let receiving = || async { rx.recv_async().await.ok() };
            either(awaited_or(call.how, receiving, within).await, received)
        }
        Op::Peek { at, take } => {
            let mut saw = 0;
            let peek = ends.rx[usize::from(at)].recv_if_async(|value| {
                saw = *value;
                take
            });
            let peeked = awaited(call.how, peek).await;
            either(peeked, |peeked| peeked.map_or(Answer::Closed, |_| Answer::Value(saw)))
        }
        Op::Select(form, arms) => select::in_future(ends, form, arms, call.how).await,
        _ => blocking(ends, call),
    }
}

fn sent(sent: bool) -> Answer {
    if sent { Answer::Done } else { Answer::Closed }
}

fn received(got: Option<i32>) -> Answer {
    got.map_or(Answer::Closed, Answer::Value)
}
