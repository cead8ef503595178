//! `echo` by smol: a task for each connection.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, Timer};

use super::{beside, measure};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Neighbours, REST};

pub(super) fn future(p: &Params) -> Outcome {
    measure(p, |listener| {
        let _ = host::smol::start(p);
        host::smol::spawn(accept(listener)).detach();
        Ok(beside(
            p,
            |neighbours, phase| host::smol::spawn(compute(neighbours, phase)).detach(),
            |neighbours| host::smol::spawn(take_turns(neighbours)).detach(),
        ))
    })
}

async fn accept(listener: TcpListener) {
    let listener = Async::new(listener).expect("a socket");
    while let Ok((stream, _)) = listener.accept().await {
        _ = stream.get_ref().set_nodelay(true);
        host::smol::spawn(serve(stream)).detach();
    }
}

async fn serve(mut stream: Async<std::net::TcpStream>) {
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

async fn compute(neighbours: Arc<Neighbours>, phase: Duration) {
    Timer::after(phase).await;
    loop {
        neighbours.burst();
        Timer::after(REST).await;
    }
}

async fn take_turns(neighbours: Arc<Neighbours>) {
    loop {
        neighbours.turn();
        smol::future::yield_now().await;
    }
}
