//! Futures of channels.

use super::*;

fn receiving(make: (Sender<u32>, Receiver<u32>), go: impl FnOnce(Sender<u32>) + 'static) -> Case {
    let (tx, rx) = make;
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.recv_async().await }
        },
        move || go(tx),
    )
}

pub(in crate::wakers) fn recv_closed(_: &Runtime) -> Case {
    receiving(channel::bounded(3), |tx| _ = tx.close())
}
pub(in crate::wakers) fn recv_let_go(_: &Runtime) -> Case {
    receiving(channel::bounded(3), drop)
}
pub(in crate::wakers) fn recv_sent(_: &Runtime) -> Case {
    receiving(channel::bounded(3), |tx| (0..3).for_each(|i| _ = tx.send(i)))
}
pub(in crate::wakers) fn rendezvous_recv(_: &Runtime) -> Case {
    receiving(channel::rendezvous(), |tx| (0..3).for_each(|i| _ = tx.try_send(i)))
}

fn sending((tx, rx): (Sender<usize>, Receiver<usize>), go: impl FnOnce(Receiver<usize>) + 'static) -> Case {
    while tx.try_send(0).is_ok() {}
    case(
        move |i| {
            let tx = tx.clone();
            async move { tx.send_async(i).await }
        },
        move || go(rx),
    )
}

pub(in crate::wakers) fn send_closed(_: &Runtime) -> Case {
    sending(channel::bounded(1), drop)
}
pub(in crate::wakers) fn send_received(_: &Runtime) -> Case {
    sending(channel::bounded(1), |rx| (0..4).for_each(|_| _ = rx.try_recv()))
}
pub(in crate::wakers) fn rendezvous_send(_: &Runtime) -> Case {
    sending(channel::rendezvous(), |rx| (0..3).for_each(|_| _ = rx.try_recv()))
}

pub(in crate::wakers) fn oneshot(_: &Runtime) -> Case {
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::oneshot::<u32>()).unzip();
    case(
        move |_| {
            let rx = receivers.remove(0);
            async move { rx.recv_async().await }
        },
        || senders.into_iter().for_each(|tx| _ = tx.send(1)),
    )
}

pub(in crate::wakers) fn stream(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { futures_util::StreamExt::next(&mut std::pin::pin!(rx.stream())).await }
        },
        || drop(tx),
    )
}
pub(in crate::wakers) fn into_stream(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let mut stream = rx.clone().into_stream();
            async move { futures_util::StreamExt::next(&mut stream).await }
        },
        || drop(tx),
    )
}
pub(in crate::wakers) fn sink(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone();
            async move { futures_util::SinkExt::send(&mut std::pin::pin!(tx.sink()), i).await }
        },
        || drop(rx),
    )
}
pub(in crate::wakers) fn into_sink(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let mut sink = tx.clone().into_sink();
            async move { futures_util::SinkExt::send(&mut sink, i).await }
        },
        || drop(rx),
    )
}
pub(in crate::wakers) fn transform(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone().transform(|i: usize| [i, i + 1]);
            async move { tx.send_async(i).await }
        },
        || drop(rx),
    )
}

pub(in crate::wakers) fn peek(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.peek_async().await }
        },
        || drop(tx),
    )
}
pub(in crate::wakers) fn recv_if(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.recv_if_async(|_| false).await }
        },
        move || _ = tx.send(1),
    )
}
pub(in crate::wakers) fn wait_ready(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.wait_ready_async().await }
        },
        move || _ = tx.send(1),
    )
}
/// All are served when the one who looks goes.
pub(in crate::wakers) fn in_line_behind_a_look(rt: &Runtime) -> Case {
    let (tx, rx) = channel::unbounded::<usize>();
    (0..3).for_each(|i| tx.send(i).unwrap());
    let lent = rx.clone();
    let go = held(rt, move |go, held| {
        let looked = lent.peek_with(|_| {
            held();
            go.recv().unwrap();
        });
        looked.unwrap();
    });
    case(
        move |_| {
            let (rx, _tx) = (rx.clone(), tx.clone());
            async move { (rx.recv_async().await, _tx.is_closed()) }
        },
        go,
    )
}

macro_rules! observables {
    ($($name:ident: $make:expr, $go:expr;)*) => {
        $(pub(in crate::wakers) fn $name(_: &Runtime) -> Case {
            let (tx, rx) = $make;
            case(
                move |_| {
                    let mut rx = rx.clone();
                    async move { rx.recv_async().await.is_ok() }
                },
                move || $go(tx),
            )
        })*
    };
}
observables! {
    promise: channel::promise::<u32>(), |tx: channel::PromiseSender<u32>| _ = tx.send(1);
    promise_closed: channel::promise::<u32>(), drop;
    watch: channel::watch(1), |tx: channel::WatchSender<u32>| _ = tx.send(2);
    watch_closed: channel::watch(1), drop;
    broadcast: channel::broadcast::<u32>(1), |tx: channel::BroadcastSender<u32>| _ = tx.send(1);
    broadcast_closed: channel::broadcast::<u32>(1), drop;
}

pub(in crate::wakers) fn ticks(_: &Runtime) -> Case {
    timed(
        |_| {
            let ticks = channel::after(SOON);
            async move { ticks.recv_async().await }
        },
        || std::thread::sleep(SOON),
    )
}
pub(in crate::wakers) fn produced(_: &Runtime) -> Case {
    let ((go, gate), mut produced) = (channel::bounded::<()>(0), Vec::new());
    for _ in 0..3 {
        let gate = gate.clone();
        produced.push(channel::produce::<u32, _>(1, move |_| _ = gate.recv()));
    }
    case(
        move |_| {
            let produced = produced.remove(0);
            async move { produced.recv_async().await.is_ok() }
        },
        || drop(go),
    )
}
