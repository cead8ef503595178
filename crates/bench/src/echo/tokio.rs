//! `echo` by tokio: a task for each connection.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{beside, measure};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Neighbours, REST};

pub(super) fn future(p: &Params) -> Outcome {
    measure(p, |listener| {
        let spawner = host::tokio::serve(p, accept(listener));
        Ok(beside(
            p,
            |neighbours, phase| drop(spawner.spawn(compute(neighbours, phase))),
            |neighbours| drop(spawner.spawn(take_turns(neighbours))),
        ))
    })
}

async fn accept(listener: TcpListener) {
    listener.set_nonblocking(true).expect("a socket takes that");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime with I/O");
    while let Ok((stream, _)) = listener.accept().await {
        _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream));
    }
}

async fn serve(mut stream: TcpStream) {
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

async fn compute(neighbours: Arc<Neighbours>, phase: Duration) {
    tokio::time::sleep(phase).await;
    loop {
        neighbours.burst();
        tokio::time::sleep(REST).await;
    }
}

async fn take_turns(neighbours: Arc<Neighbours>) {
    loop {
        neighbours.turn();
        tokio::task::yield_now().await;
    }
}
