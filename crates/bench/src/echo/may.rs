//! `echo` by may: a coroutine for each connection.

use std::io::{Read, Write};
use std::os::fd::{FromRawFd, IntoRawFd};
use std::time::Duration;

use may::coroutine;
use may::net::{TcpListener, TcpStream};

use super::{beside, connections, measure};
use crate::host;
use crate::limits;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Neighbours, REST};

pub(super) fn closure(p: &Params) -> Outcome {
    limits::may(connections(p))?;
    measure(p, |listener| {
        let _ = host::may::start(p);
        // (Of std's listener may makes none of its own but by the descriptor.)
        // SAFETY: the descriptor of a listener, which nobody else has.
        let listener = unsafe { TcpListener::from_raw_fd(listener.into_raw_fd()) };
        spawn(move || accept(&listener));
        Ok(beside(
            p,
            |neighbours, phase| spawn(move || compute(&neighbours, phase)),
            |neighbours| spawn(move || take_turns(&neighbours)),
        ))
    })
}

fn spawn(f: impl FnOnce() + Send + 'static) {
    // SAFETY: a program of this crate: see `host::may`.
    drop(unsafe { coroutine::spawn(f) });
}

fn accept(listener: &TcpListener) {
    while let Ok((stream, _)) = listener.accept() {
        _ = stream.set_nodelay(true);
        spawn(move || serve(stream));
    }
}

fn serve(mut stream: TcpStream) {
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}

fn compute(neighbours: &Neighbours, phase: Duration) {
    coroutine::sleep(phase);
    loop {
        neighbours.burst();
        coroutine::sleep(REST);
    }
}

fn take_turns(neighbours: &Neighbours) {
    loop {
        neighbours.turn();
        coroutine::yield_now();
    }
}
