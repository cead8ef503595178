//! Myriad, with its own channels.

use myriad::channel::{Receiver, Sender, bounded};
use myriad::task::{Builder, Place};
use myriad::{block_on, spawn, spawn_async};

use crate::params::Params;
use crate::record::Outcome;
use crate::talk::{Closures, Counts, Futures, Message, Point, Run};
use crate::{host, sample};

/// Closures begin where a worker is free, or `PLACED` in as many blocks as there are workers.
pub(crate) struct Myriad<const PLACED: bool>;

impl<const PLACED: bool> Closures for Myriad<PLACED> {
    type Tx = Sender<Message>;
    type Rx = Receiver<Message>;

    fn channel(slots: usize) -> (Self::Tx, Self::Rx) {
        bounded(slots)
    }

    fn spawn(at: Point, task: impl FnOnce() + Send + 'static) {
        if PLACED {
            let place = Place::spread(at.of).nth(at.index).expect("the point is in the row");
            drop(Builder::new().place(place).spawn(task));
        } else {
            drop(spawn(task));
        }
    }

    fn send(tx: &Self::Tx, message: Message) {
        tx.send(message).unwrap();
    }

    fn recv(rx: &mut Self::Rx) -> Message {
        rx.recv().unwrap()
    }

    fn measure(p: &Params, size: Counts, program: fn(usize, u64) -> Run) -> Outcome {
        host::myriad::waiting(p, size.tasks)?;
        let rt = host::myriad::start(p)?;
        let (n, m) = (p.n as usize, p.m);
        sample::warm(size.ops, || rt.run(move || program(n, m)))
    }
}

impl Futures for Myriad<false> {
    type Tx = Sender<Message>;
    type Rx = Receiver<Message>;

    fn channel(slots: usize) -> (Self::Tx, Self::Rx) {
        bounded(slots)
    }

    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        drop(spawn_async(task));
    }

    async fn send(tx: &Self::Tx, message: Message) {
        tx.send_async(message).await.unwrap();
    }

    async fn recv(rx: &mut Self::Rx) -> Message {
        rx.recv_async().await.unwrap()
    }

    fn measure<F>(p: &Params, size: Counts, program: fn(usize, u64) -> F) -> Outcome
    where
        F: Future<Output = Run> + Send + 'static,
    {
        let rt = host::myriad::start(p)?;
        let (n, m) = (p.n as usize, p.m);
        sample::warm(size.ops, || rt.run(move || block_on(program(n, m))))
    }
}
