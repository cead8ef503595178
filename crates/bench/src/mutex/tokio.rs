//! `mutex` by two tasks of tokio and the lock that they can wait for.

use std::sync::Arc;
use std::time::Instant;

use tokio::spawn;
use tokio::sync::Mutex;

use crate::host;
use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

async fn count(counter: &Mutex<u64>, n: u64) {
    for _ in 0..n {
        *counter.lock().await += 1;
    }
}

pub(super) fn uncontended(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    let n = p.n;
    super::measure(p, || {
        rt.run(async move {
            let counter = Mutex::new(0);
            let begin = Instant::now();
            count(&counter, n).await;
            Ok((begin.elapsed(), counter.into_inner()))
        })
    })
}

pub(super) fn contended(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    let (n, workers) = (p.n, p.workers);
    super::measure(p, || {
        rt.run(async move {
            let counter = Arc::new(Mutex::new(0));
            let meeting = Meeting::new(workers);
            let begin = Instant::now();
            let tasks = super::halves(n).map(|n| {
                let (counter, meeting) = (counter.clone(), meeting.clone());
                spawn(async move {
                    meeting.both()?;
                    count(&counter, n).await;
                    Ok(())
                })
            });
            for task in tasks {
                task.await.unwrap()?;
            }
            let count = *counter.lock().await;
            Ok((begin.elapsed(), count))
        })
    })
}
