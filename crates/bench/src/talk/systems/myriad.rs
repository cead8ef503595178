//! Myriad, with its own channels.

use myriad::channel::{Receiver, Sender, bounded};
use myriad::{block_on, spawn, spawn_async};

use crate::params::Params;
use crate::record::Outcome;
use crate::talk::{Closures, Counts, Futures, Message, Run};
use crate::{host, sample};

pub(crate) struct Myriad;

impl Closures for Myriad {
    type Tx = Sender<Message>;
    type Rx = Receiver<Message>;

    fn channel(slots: usize) -> (Self::Tx, Self::Rx) {
        bounded(slots)
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        drop(spawn(task));
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

impl Futures for Myriad {
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
