//! `echo` by Myriad: a task for each connection.

use std::future::poll_fn;
use std::io::Write;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use myriad::net::{TcpListener, TcpStream};
use myriad::{Runtime, time};

use super::{beside, connections, measure};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::served::{Neighbours, REST, Server};

pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, connections(p))?;
    serve(
        p,
        |stream| _ = myriad::spawn(|| closure_of(stream)),
        |rt| {
            beside(
                p,
                |neighbours, phase| drop(rt.spawn(move || compute(&neighbours, phase))),
                |neighbours| drop(rt.spawn(move || take_turns(&neighbours))),
            )
        },
    )
}

pub(super) fn future(p: &Params) -> Outcome {
    serve(
        p,
        |stream| _ = myriad::spawn_async(future_of(stream)),
        |rt| {
            beside(
                p,
                |neighbours, phase| drop(rt.spawn_async(compute_async(neighbours, phase))),
                |neighbours| drop(rt.spawn_async(take_turns_async(neighbours))),
            )
        },
    )
}

fn serve(p: &Params, spawn: fn(TcpStream), more: impl FnOnce(&Runtime) -> Server) -> Outcome {
    measure(p, |listener| {
        let rt = host::myriad::start(p)?;
        let listener = TcpListener::from_std(listener).map_err(|error| Failure::Wrong(error.to_string()))?;
        drop(rt.spawn(move || {
            for stream in listener.incoming().flatten() {
                _ = stream.set_nodelay(true);
                spawn(stream);
            }
        }));
        let server = more(&rt);
        // (A process that does a single run: the tasks end with it.)
        std::mem::forget(rt);
        Ok(server)
    })
}

fn closure_of(mut stream: TcpStream) {
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}

async fn future_of(stream: TcpStream) {
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read_async(&mut bytes).await {
        if stream.write_all_async(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

fn compute(neighbours: &Neighbours, phase: Duration) {
    time::sleep(phase);
    loop {
        neighbours.burst();
        time::sleep(REST);
    }
}

async fn compute_async(neighbours: Arc<Neighbours>, phase: Duration) {
    time::sleep_async(phase).await;
    loop {
        neighbours.burst();
        time::sleep_async(REST).await;
    }
}

fn take_turns(neighbours: &Neighbours) {
    loop {
        neighbours.turn();
        myriad::yield_now();
    }
}

async fn take_turns_async(neighbours: Arc<Neighbours>) {
    loop {
        neighbours.turn();
        let mut yielded = false;
        let once = poll_fn(|cx| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        once.await;
    }
}
