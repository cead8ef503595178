//! `mutex` by the standard library's.

use std::sync::Mutex;
use std::time::Instant;

use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

fn count(counter: &Mutex<u64>, n: u64) {
    for _ in 0..n {
        *counter.lock().unwrap() += 1;
    }
}

pub(super) fn uncontended(p: &Params) -> Outcome {
    super::measure(p, || {
        let counter = Mutex::new(0);
        let begin = Instant::now();
        count(&counter, p.n);
        Ok((begin.elapsed(), counter.into_inner().unwrap()))
    })
}

pub(super) fn contended(p: &Params) -> Outcome {
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
