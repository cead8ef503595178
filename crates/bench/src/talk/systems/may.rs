//! may, with its own unbounded channels, or bounded ones made from them and a semaphore.

use may::coroutine::spawn;
use may::sync::mpsc;

use crate::params::Params;
use crate::record::Outcome;
use crate::talk::{Closures, Counts, Message, Point, Run};
use crate::{host, limits, sample};

pub(crate) struct May;

/// A sending end of either kind.
#[derive(Clone)]
pub(crate) enum Tx {
    Unbounded(mpsc::Sender<Message>),
    Bounded(host::may::Sender<Message>),
}

/// A receiving end of either kind.
pub(crate) enum Rx {
    Unbounded(mpsc::Receiver<Message>),
    Bounded(host::may::Receiver<Message>),
}

impl Closures for May {
    type Tx = Tx;
    type Rx = Rx;

    fn channel(slots: usize) -> (Tx, Rx) {
        let (tx, rx) = host::may::bounded(slots);
        (Tx::Bounded(tx), Rx::Bounded(rx))
    }

    fn roomy(_: usize) -> (Tx, Rx) {
        let (tx, rx) = mpsc::channel();
        (Tx::Unbounded(tx), Rx::Unbounded(rx))
    }

    fn spawn(_: Point, task: impl FnOnce() + Send + 'static) {
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        drop(unsafe { spawn(task) });
    }

    fn send(tx: &Tx, message: Message) {
        match tx {
            Tx::Unbounded(tx) => tx.send(message).unwrap(),
            Tx::Bounded(tx) => tx.send(message).unwrap(),
        }
    }

    fn recv(rx: &mut Rx) -> Message {
        match rx {
            Rx::Unbounded(rx) => rx.recv().unwrap(),
            Rx::Bounded(rx) => rx.recv().unwrap(),
        }
    }

    fn measure(p: &Params, size: Counts, program: fn(usize, u64) -> Run) -> Outcome {
        limits::may(size.tasks)?;
        let may = host::may::start(p);
        let (n, m) = (p.n as usize, p.m);
        sample::warm(size.ops, || may.run(move || program(n, m)))
    }
}
