//! `mutex` by coroutines of may and its lock.

use std::sync::Arc;
use std::time::Instant;

use may::coroutine::spawn;
use may::sync::Mutex;

use crate::host;
use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

fn count(counter: &Mutex<u64>, n: u64) {
    for _ in 0..n {
        *counter.lock().unwrap() += 1;
    }
}

pub(super) fn uncontended(p: &Params) -> Outcome {
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || {
        may.run(move || {
            let counter = Mutex::new(0);
            let begin = Instant::now();
            count(&counter, n);
            Ok((begin.elapsed(), counter.into_inner().unwrap()))
        })
    })
}

pub(super) fn contended(p: &Params) -> Outcome {
    let may = host::may::start(p);
    let (n, workers) = (p.n, p.workers);
    super::measure(p, || {
        may.run(move || {
            let counter = Arc::new(Mutex::new(0));
            let meeting = Meeting::new(workers);
            let begin = Instant::now();
            let tasks = super::halves(n).map(|n| {
                let (counter, meeting) = (counter.clone(), meeting.clone());
                let half = move || meeting.both().map(|()| count(&counter, n));
                // SAFETY: no thread-local values, no deep calls (host/may.rs).
                unsafe { spawn(half) }
            });
            for task in tasks {
                task.join().unwrap()?;
            }
            let count = *counter.lock().unwrap();
            Ok((begin.elapsed(), count))
        })
    })
}
