//! `chain` by may. Its channels are unbounded, which makes no difference to a single message.

use std::time::{Duration, Instant};

use may::coroutine::spawn;
use may::sync::mpsc::channel;

use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    limits::may(p.n)?;
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || may.run(move || once(n)))
}

fn once(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = channel();
    for _ in 0..n {
        let (tx, next) = channel();
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(move || tx.send(rx.recv().unwrap() + 1).unwrap()) };
        rx = next;
    }
    head.send(0).unwrap();
    let answer: u64 = rx.recv().unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}
