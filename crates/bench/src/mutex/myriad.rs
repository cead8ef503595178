//! `mutex` by Myriad: by tasks, and by OS threads that are no workers.

use std::sync::Arc;
use std::time::Instant;

use myriad::spawn;
use myriad::sync::Mutex;

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
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        rt.run(move || {
            let counter = Mutex::new(0);
            let begin = Instant::now();
            count(&counter, n);
            Ok((begin.elapsed(), counter.into_inner().unwrap()))
        })
    })
}

pub(super) fn contended(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let (n, workers) = (p.n, p.workers);
    super::measure(p, || {
        rt.run(move || {
            let counter = Arc::new(Mutex::new(0));
            let meeting = Meeting::new(workers);
            let begin = Instant::now();
            let tasks = super::halves(n).map(|n| {
                let (counter, meeting) = (counter.clone(), meeting.clone());
                spawn(move || meeting.both().map(|()| count(&counter, n)))
            });
            for task in tasks {
                task.join().unwrap()?;
            }
            Ok((begin.elapsed(), *counter.lock().unwrap()))
        })
    })
}

/// As in a program with a runtime, which has found out how fences work here.
pub(super) fn thread(p: &Params) -> Outcome {
    let _rt = host::myriad::start(p)?;
    super::measure(p, || {
        let counter = Mutex::new(0);
        let begin = Instant::now();
        count(&counter, p.n);
        Ok((begin.elapsed(), counter.into_inner().unwrap()))
    })
}

pub(super) fn two_threads(p: &Params) -> Outcome {
    let _rt = host::myriad::start(p)?;
    super::measure(p, || {
        let counter = Mutex::new(0);
        let meeting = Meeting::new(2);
        let begin = Instant::now();
        std::thread::scope(|s| {
            for n in super::halves(p.n) {
                let (counter, meeting) = (&counter, &meeting);
                s.spawn(move || meeting.both().map(|()| count(counter, n)).ok());
            }
        });
        Ok((begin.elapsed(), counter.into_inner().unwrap()))
    })
}
