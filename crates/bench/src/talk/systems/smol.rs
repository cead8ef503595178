//! smol, with its own channels.

use smol::channel::{Receiver, Sender, bounded};

use crate::params::Params;
use crate::record::Outcome;
use crate::talk::{Counts, Futures, Message, Run};
use crate::{host, sample};

pub(crate) struct Smol;

impl Futures for Smol {
    type Tx = Sender<Message>;
    type Rx = Receiver<Message>;

    fn channel(slots: usize) -> (Self::Tx, Self::Rx) {
        bounded(slots)
    }

    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        host::smol::spawn(task).detach();
    }

    async fn send(tx: &Self::Tx, message: Message) {
        tx.send(message).await.unwrap();
    }

    async fn recv(rx: &mut Self::Rx) -> Message {
        rx.recv().await.unwrap()
    }

    fn measure<F>(p: &Params, size: Counts, program: fn(usize, u64) -> F) -> Outcome
    where
        F: Future<Output = Run> + Send + 'static,
    {
        let host = host::smol::start(p);
        sample::warm(size.ops, || host.run(program(p.n as usize, p.m)))
    }
}
