//! Prints: 29 answers with the sum 36920; job 13 failed: the time limit has passed
//!
//! A job service, as one writes it with tokio: workers that are futures, retries, a limit on calls
//! at a time (`Semaphore`), a configuration that changes (`watch`), events for listeners
//! (`broadcast`), answers (`oneshot`), and a graceful shutdown (`CancellationToken`, `JoinSet`).

use myriad::cancel::Token;
use myriad::channel::{BroadcastSender, Heard, OnceSender, Receiver, WatchReceiver};
use myriad::channel::{bounded, broadcast, oneshot, watch};
use myriad::select_async;
use myriad::sync::{Arc, Semaphore};
use myriad::task::JoinSet;
use myriad::time::{sleep_async, timeout_async};
use std::time::Duration;

type Error = Box<dyn std::error::Error + Send + Sync>;

struct Job {
    id: u64,
    reply: OnceSender<Result<u64, String>>,
}

struct Service {
    calls: Semaphore,
    factor: WatchReceiver<u64>,
    failures: BroadcastSender<(u64, String)>,
}

/// Stands for a call over the network: some fail at first, one never answers.
async fn remote(id: u64, attempt: u32, factor: u64) -> Result<u64, Error> {
    sleep_async(Duration::from_millis(1)).await;
    if id.is_multiple_of(7) && attempt < 2 {
        return Err("connection reset".into());
    }
    if id == 13 {
        sleep_async(Duration::from_secs(3600)).await;
    }
    Ok(id * factor)
}

impl Service {
    async fn with_retries(&self, id: u64) -> Result<u64, Error> {
        let mut pause = Duration::from_millis(1);
        for attempt in 0.. {
            let permit = self.calls.acquire_async().await; // acquire().await
            let factor = *self.factor.get(); // *rx.borrow()
            let result = timeout_async(Duration::from_millis(200), remote(id, attempt, factor)).await?;
            drop(permit);
            if result.is_ok() || attempt == 2 {
                return result;
            }
            sleep_async(pause).await; // tokio::time::sleep
            pause *= 2;
        }
        unreachable!()
    }

    /// Jobs until the channel or the service is closed; how many they were.
    async fn work(self: Arc<Self>, jobs: Receiver<Job>, stop: Token) -> u32 {
        let mut done = 0;
        loop {
            let job = select_async! {
                job = jobs.recv_async() => match job { Ok(job) => job, Err(_) => return done },
                _ = stop.cancelled() => return done,
            };
            let result = self.with_retries(job.id).await.map_err(|error| error.to_string());
            if let Err(error) = &result {
                _ = self.failures.send((job.id, error.clone())); // an error: nobody listens
            }
            _ = job.reply.send(result);
            done += 1;
        }
    }
}

fn main() -> Result<(), Error> {
    let rt = myriad::Builder::new().workers(2).build()?; // Runtime::new()
    let stop = Token::new(); // CancellationToken
    let (set_factor, factor) = watch(10); // watch::channel
    let (failures, mut heard) = broadcast(64); // broadcast::channel
    let (jobs, inbox) = bounded::<Job>(16); // mpsc::channel
    let service = Arc::new(Service { calls: Semaphore::new(3), factor, failures });

    let (answers, sum) = rt.block_on(async {
        let mut workers = JoinSet::new();
        for _ in 0..4 {
            workers.spawn_async(service.clone().work(inbox.clone(), stop.clone()));
        }
        let (mut answers, mut sum) = (0, 0);
        for (new_factor, ids) in [(10, 1..=14), (100, 15..=30)] {
            set_factor.send(new_factor)?;
            let mut replies = Vec::new();
            for id in ids {
                let (reply, answer) = oneshot(); // oneshot::channel
                jobs.send_async(Job { id, reply }).await?; // send(job).await
                replies.push(answer);
            }
            for reply in replies {
                if let Ok(answer) = reply.recv_async().await? {
                    (answers, sum) = (answers + 1, sum + answer);
                }
            }
        }
        stop.cancel();
        let mut done = 0;
        while let Some(worker) = workers.join_next_async().await {
            done += worker?;
        }
        assert_eq!(done, 30);
        Ok::<_, Error>((answers, sum))
    })?;

    drop(service); // with the last sender of failures
    let Ok(Heard::Message(failure)) = heard.recv() else { panic!("one job has failed") };
    assert!(heard.recv().is_err(), "only one");
    let report = rt.shutdown(Duration::from_secs(5)); // shutdown_timeout
    assert!(report.is_clean(), "{report}");
    println!("{answers} answers with the sum {sum}; job {} failed: {}", failure.0, failure.1);
    Ok(())
}
