//! Messages in channels of all kinds, and what is called with them.

use crate::behaviours::{Value, When};
use crate::cell::{Cx, Seen, until};
use futures_util::{Sink, Stream};
use myriad::channel::{
    self, Receiver, Sender, bounded, bounded_drop_newest, bounded_drop_oldest, oneshot, rendezvous, unbounded,
};
use myriad::select::Select;
use myriad::time::timeout;
use myriad::{block_on, spawn};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

/// `Again` uses the channel, `Last` drops an end of it.
fn hostile_channel(cx: &Cx, tx: &Sender<Value>, rx: &Receiver<Value>) {
    let (tx, rx) = (tx.clone(), rx.clone());
    let last = tx.clone();
    cx.foe.on_again(move || {
        _ = (tx.len(), rx.len(), tx.is_closed());
        _ = rx.try_recv();
        _ = rx.recv_timeout(Duration::from_micros(10));
    });
    cx.foe.on_last(move || drop(last));
}

/// All ends go, with messages inside.
fn ends_dropped(cx: &Cx, (tx, rx): (Sender<Value>, Receiver<Value>)) -> Seen {
    (0..3).for_each(|_| _ = tx.try_send(cx.value()));
    let wait = cx.last_sender();
    cx.foe.on_again(|| _ = unbounded::<u32>());
    let seen = Seen::of(move || {
        drop(tx);
        drop(rx);
    });
    wait();
    seen
}

pub(crate) fn ends_of_bounded(cx: &Cx) -> Seen {
    ends_dropped(cx, bounded(4))
}

pub(crate) fn ends_of_unbounded(cx: &Cx) -> Seen {
    ends_dropped(cx, unbounded())
}

/// The receivers go first: what is inside is dropped then, or with the senders.
pub(crate) fn receivers_go_first(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    (0..3).for_each(|_| _ = tx.try_send(cx.value()));
    let wait = cx.last_sender();
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.close()));
    let seen = Seen::of(move || {
        drop(rx);
        cx.foe.release();
        drop(tx);
    });
    wait();
    seen
}

/// A full channel that keeps the newest drops the oldest in a send.
pub(crate) fn drop_oldest_overflow(cx: &Cx) -> Seen {
    let (tx, rx) = bounded_drop_oldest(2);
    hostile_channel(cx, &tx, &rx);
    Seen::of(|| (0..4).for_each(|_| tx.send(cx.value()).unwrap()))
}

/// One that keeps the oldest drops what is sent.
pub(crate) fn drop_newest_overflow(cx: &Cx) -> Seen {
    let (tx, rx) = bounded_drop_newest(2);
    hostile_channel(cx, &tx, &rx);
    Seen::of(|| (0..4).for_each(|_| tx.send(cx.value()).unwrap()))
}

/// A send that waits is cancelled, with its message.
pub(crate) fn send_times_out(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    Seen::of(|| {
        let error = tx.send_timeout(cx.value(), Duration::from_micros(50));
        drop(error);
    })
}

/// A send that waits when its receivers go: the message is in the error.
pub(crate) fn send_closed(cx: &Cx) -> Seen {
    let (tx, rx) = rendezvous();
    let wait = cx.last_sender();
    let value = cx.value();
    let h = spawn(move || drop(tx.send(value)));
    drop(rx);
    let seen = Seen::joined(h.join());
    wait();
    seen
}

/// A send that waits, in a region that is cancelled: the message goes with the unwinding.
pub(crate) fn send_cancelled(cx: &Cx) -> Seen {
    let (tx, rx) = rendezvous();
    let wait = cx.last_sender();
    let value = cx.value();
    let seen = Seen::of(|| {
        _ = timeout(Duration::from_micros(100), || drop(tx.send(value)));
    });
    drop(rx);
    wait();
    seen
}

/// A future that sends is dropped, with its message.
pub(crate) fn send_future(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    Seen::of(|| {
        let mut sends = Box::pin(tx.send_async(cx.value()));
        assert!(sends.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(sends);
    })
}

/// A receive whose message nobody takes: the future that got it is dropped, so the message goes to
/// the next, or back.
pub(crate) fn recv_future(cx: &Cx) -> Seen {
    let (tx, rx) = rendezvous();
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let mut receives = Box::pin(rx.recv_async());
        assert!(receives.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tx.send(cx.value()).unwrap();
        drop(receives);
        drop(tx);
        drop(rx);
    });
    wait();
    seen
}

/// A channel for one message, which nobody receives.
pub(crate) fn once(cx: &Cx) -> Seen {
    let (tx, rx) = oneshot();
    let wait = cx.last_sender();
    cx.foe.on_again(|| _ = oneshot::<u32>());
    tx.send(cx.value()).unwrap();
    let seen = Seen::of(|| drop(rx));
    wait();
    seen
}

/// The value of a watch is replaced.
pub(crate) fn watch_replaced(cx: &Cx) -> Seen {
    let (tx, rx) = channel::watch(cx.value());
    let other = rx.clone();
    cx.foe.on_again(move || _ = (other.has_changed(), other.get().key));
    let last = rx.clone();
    cx.foe.on_last(move || drop(last));
    drop(rx);
    Seen::of(|| (0..3).for_each(|_| tx.send(cx.value()).unwrap()))
}

/// All ends of a watch go.
pub(crate) fn watch_ends(cx: &Cx) -> Seen {
    let ends = channel::watch(cx.value());
    let wait = cx.last_sender();
    let seen = Seen::of(|| drop(ends));
    wait();
    seen
}

/// A broadcast forgets its oldest messages.
pub(crate) fn broadcast_overflow(cx: &Cx) -> Seen {
    let (tx, rx) = channel::broadcast(2);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.subscribe().try_recv().is_ok(), other.subscribe().len()));
    let last = rx.clone();
    cx.foe.on_last(move || drop(last));
    drop(rx);
    Seen::of(|| (0..5).for_each(|_| tx.send(cx.value()).unwrap()))
}

/// All ends of a broadcast go.
pub(crate) fn broadcast_ends(cx: &Cx) -> Seen {
    let (tx, rx) = channel::broadcast(2);
    (0..2).for_each(|_| tx.send(cx.value()).unwrap());
    let wait = cx.last_sender();
    let seen = Seen::of(move || {
        drop(tx);
        drop(rx);
    });
    wait();
    seen
}

/// A promise that is set twice: the second value comes back, and is dropped; the first goes with
/// the ends.
pub(crate) fn promise(cx: &Cx) -> Seen {
    let (tx, rx) = channel::promise();
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        tx.send(cx.value()).unwrap();
        drop((tx, rx));
    });
    wait();
    seen
}

/// A look at a message.
pub(crate) fn peek(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.is_full(), other.try_send(0)));
    cx.foe.on_last({
        let rx = rx.clone();
        move || drop(rx)
    });
    tx.send(1).unwrap();
    let seen = Seen::of(|| _ = rx.peek_with(|_| cx.act()));
    assert_eq!(rx.try_recv(), Ok(1));
    seen
}

/// A question whether a message is wanted.
pub(crate) fn wanted(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.try_send(0)));
    cx.foe.on_last({
        let rx = rx.clone();
        move || drop(rx)
    });
    tx.send(1).unwrap();
    let seen = Seen::of(|| {
        _ = rx.recv_if(|_| {
            cx.act();
            false
        })
    });
    assert_eq!(rx.try_recv(), Ok(1));
    seen
}

/// A message's clone in a look.
pub(crate) fn peek_clone(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.is_full()));
    let wait = cx.last_sender();
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    let seen = Seen::of(|| drop(rx.peek()));
    assert_eq!(rx.len(), 1);
    wait();
    seen
}

/// A message that is pushed out while somebody looks at it.
pub(crate) fn pushed_out(cx: &Cx) -> Seen {
    let (tx, rx) = bounded_drop_oldest(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value()).unwrap();
    Seen::of(|| _ = rx.peek_with(|_| (0..2).for_each(|_| tx.send(cx.value()).unwrap())))
}

/// A function that is called with a message.
pub(crate) fn recv_then(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let wait = cx.last_sender();
    let (inner, other) = (cx.clone(), tx.clone());
    cx.foe.on_again(move || _ = (other.len(), other.try_send(2)));
    rx.recv_then(move |_| inner.act());
    tx.send(1).unwrap();
    until("the function is not called", || cx.foe.acted() > 0);
    wait();
    Seen::Well
}

/// A function that is called when a message was sent.
pub(crate) fn send_then(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    let wait = cx.last_sender();
    let (inner, other) = (cx.clone(), tx.clone());
    cx.foe.on_again(move || _ = (other.len(), other.try_send(2)));
    tx.send(0).unwrap();
    tx.send_then(1, move |_| inner.act());
    _ = rx.recv();
    until("the function is not called", || cx.foe.acted() > 0);
    wait();
    Seen::Well
}

/// A function that changes messages.
pub(crate) fn transformed(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.try_send(2)));
    let wait = cx.last_sender();
    let tx = tx.transform(|x: u32| {
        cx.act();
        Some(x)
    });
    let seen = Seen::of(|| _ = tx.send(1));
    drop(rx);
    wait();
    seen
}

/// A function that a producer runs.
pub(crate) fn produced(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let produced = channel::produce(1, move |tx| {
        inner.act();
        _ = tx.send(1);
    });
    let seen = loop {
        match produced.recv() {
            Ok(Some(_)) => {}
            Ok(None) => break Seen::Well,
            Err(error) => break Seen::joined::<()>(Err(error)),
        }
    };
    wait();
    seen
}

/// Messages of a producer that nobody wants any more.
pub(crate) fn produced_messages(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (began, has_begun) = bounded::<()>(1);
    let produced = channel::produce(4, move |tx| {
        (0..3).for_each(|_| _ = tx.send(inner.value()));
        drop(began);
    });
    _ = has_begun.recv();
    let seen = Seen::of(|| drop(produced));
    wait();
    seen
}

/// The message of an arm that does not win.
pub(crate) fn select_loser(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    Seen::of(|| {
        let value = cx.value();
        myriad::select! {
            _ = tx.send(value) => unreachable!(),
            after(Duration::from_micros(50)) => (),
        }
    })
}

/// The future of an arm that does not win.
pub(crate) fn select_future(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    cx.foe.on_again(|| myriad::select! { after(Duration::from_micros(10)) => () });
    let value = cx.value();
    let seen = Seen::of(|| {
        let never = async move {
            let _value = value;
            std::future::pending::<()>().await
        };
        block_on(async {
            myriad::select_async! {
                _ = never => (),
                after(Duration::from_micros(50)) => (),
            }
        })
    });
    wait();
    seen
}

/// The function of an arm.
pub(crate) fn select_function(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.try_send(2)));
    let wait = cx.last_sender();
    tx.send(1).unwrap();
    let seen = Seen::of(|| {
        let mut select = Select::new();
        select.recv(&rx, |_| cx.act());
        select.wait()
    });
    wait();
    seen
}

/// A poll of an arm that is a future.
pub(crate) fn select_poll(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.try_send(2)));
    let wait = cx.last_sender();
    let inner = cx.clone();
    let seen = Seen::of(|| {
        block_on(async {
            let mut polls = 0;
            let mut acts = std::pin::pin!(std::future::poll_fn(|cx| {
                polls += 1;
                if polls == 2 {
                    inner.act();
                    return std::task::Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                std::task::Poll::Pending
            }));
            myriad::select_async! {
                _ = rx.recv() => (),
                _ = Pin::as_mut(&mut acts) => (),
            }
        })
    });
    wait();
    seen
}

/// A stream that owns its receiver goes, with messages in the channel.
pub(crate) fn stream_goes(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    (0..3).for_each(|_| _ = tx.try_send(cx.value()));
    let wait = cx.last_sender();
    let other = tx.clone();
    cx.foe.on_again(move || _ = (other.len(), other.close()));
    let stream = rx.into_stream();
    let seen = Seen::of(move || {
        drop(stream);
        cx.foe.release();
        drop(tx);
    });
    wait();
    seen
}

/// A stream stands in line, is given a message, and is dropped: the message goes back into a
/// channel whose other ends are gone.
pub(crate) fn stream_given(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(4);
    let wait = cx.last_sender();
    cx.foe.on_again(|| _ = unbounded::<u32>());
    let mut stream = rx.into_stream();
    assert!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    tx.send(cx.value()).unwrap();
    let seen = Seen::of(move || {
        drop(tx);
        drop(stream);
    });
    wait();
    seen
}

/// A sink holds a message for which there is no room, stands in line, and is dropped.
pub(crate) fn sink_goes(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    let seen = Seen::of(|| {
        let mut sink = pin!(tx.sink());
        sink.as_mut().start_send(cx.value()).unwrap();
        assert!(sink.as_mut().poll_flush(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    drop(rx);
    seen
}

/// The message of a sink comes back when the channel is closed.
pub(crate) fn sink_refused(cx: &Cx) -> Seen {
    let (tx, rx) = bounded(1);
    hostile_channel(cx, &tx, &rx);
    tx.send(cx.value_when(When::Clone, 0)).unwrap();
    let mut sink = tx.into_sink();
    Pin::new(&mut sink).start_send(cx.value()).unwrap();
    assert!(Pin::new(&mut sink).poll_flush(&mut Context::from_waker(Waker::noop())).is_pending());
    rx.close();
    Seen::of(|| drop(Pin::new(&mut sink).poll_flush(&mut Context::from_waker(Waker::noop()))))
}
