//! `echo` by threads: one for each connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::{beside, connections, measure};
use crate::limits;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Neighbours, REST};

pub(super) fn closure(p: &Params) -> Outcome {
    limits::threads(connections(p))?;
    measure(p, |listener| {
        // (A process that does a single run: the threads end with it.)
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| _ = thread::spawn(|| serve(stream))));
        Ok(beside(
            p,
            |neighbours, phase| _ = thread::spawn(move || compute(&neighbours, phase)),
            |neighbours| _ = thread::spawn(move || take_turns(&neighbours)),
        ))
    })
}

fn serve(mut stream: TcpStream) {
    _ = stream.set_nodelay(true);
    let mut bytes = [0; 256];
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}

fn compute(neighbours: &Neighbours, phase: Duration) {
    thread::sleep(phase);
    loop {
        neighbours.burst();
        thread::sleep(REST);
    }
}

fn take_turns(neighbours: &Neighbours) {
    loop {
        neighbours.turn();
        thread::yield_now();
    }
}
