//! `dataflow` by hand, with tokio's tasks and channels.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::channel;
use tokio::sync::watch;

use super::{SLOTS, first, second};
use crate::graph::{Shape, Work, value};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn nodes(p: &Params) -> Outcome {
    let host = host::tokio::start(p);
    let work = Work::new(p);
    let shape = Arc::new(Shape::new(p));
    super::measure(&work, || {
        let shape = shape.clone();
        Ok(host.run(async move {
            let begin = Instant::now();
            let last = last_of(&shape).await;
            (begin.elapsed(), last)
        }))
    })
}

/// The value of the last node. (A value that several wait for is a `watch`: a handle has one who
/// joins, and a future that is shared costs an allocation more.)
async fn last_of(shape: &Shape) -> u64 {
    let computes = shape.computes;
    let mut nodes: Vec<watch::Receiver<Option<u64>>> = Vec::with_capacity(shape.len());
    for node in 0..shape.len() {
        let (tx, rx) = watch::channel(None);
        let mut before: Vec<_> = shape.before(node).iter().map(|&at| nodes[at as usize].clone()).collect();
        tokio::spawn(async move {
            let mut values = Vec::with_capacity(before.len());
            for rx in &mut before {
                values.push(of(rx).await);
            }
            tx.send(Some(value(computes, values.into_iter()))).ok();
        });
        nodes.push(rx);
    }
    match nodes.last_mut() {
        Some(last) => of(last).await,
        None => 0,
    }
}

async fn of(rx: &mut watch::Receiver<Option<u64>>) -> u64 {
    rx.wait_for(Option::is_some).await.ok().and_then(|value| *value).unwrap_or(0)
}

pub(super) fn stream(p: &Params) -> Outcome {
    let host = host::tokio::start(p);
    let n = p.n;
    super::measure_stream(p, || {
        host.run(async move {
            let begin = Instant::now();
            let ((to_second, mut firsts), (to_third, mut seconds)) = (channel(SLOTS), channel(SLOTS));
            tokio::spawn(async move {
                for x in 0..n {
                    to_second.send(first(x)).await.ok();
                }
            });
            tokio::spawn(async move {
                while let Some(x) = firsts.recv().await {
                    to_third.send(second(x)).await.ok();
                }
            });
            let mut sum = 0_u64;
            while let Some(x) = seconds.recv().await {
                sum = sum.wrapping_add(x);
            }
            (begin.elapsed(), sum)
        })
    })
}
