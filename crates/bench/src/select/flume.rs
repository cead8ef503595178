//! `select` by one OS thread and the channels of flume, with its `Selector`.

use std::time::Duration;

use flume::{Receiver, Selector, Sender, unbounded};

use super::{Sum, channel};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn two(p: &Params) -> Outcome {
    super::measure(p, once::<2>)
}

pub(super) fn eight(p: &Params) -> Outcome {
    super::measure(p, once::<8>)
}

fn once<const N: usize>(n: u64) -> (Duration, u64) {
    let (tx, rx): (Vec<Sender<u64>>, Vec<Receiver<u64>>) = (0..N).map(|_| unbounded()).unzip();
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, N)].send(i).unwrap();
        // It is used up by waiting.
        let selector = rx
            .iter()
            .enumerate()
            .fold(Selector::new(), |selector, (from, rx)| selector.recv(rx, move |m| (m.unwrap(), from)));
        let (m, from) = selector.wait();
        sum.add(m, from, N);
    }
    sum.end()
}
