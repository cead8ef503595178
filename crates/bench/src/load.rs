//! Background tasks that keep all workers busy: twice as many as workers compute, some 0.2 ms each,
//! and each spawns the next one when it ends. So there is always one that has not begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::params::Params;
use crate::processor;
use crate::record::{Failure, Measured};

/// Steps of a background task.
const STEPS: u64 = 150_000;

/// What a background task computes.
pub(crate) fn compute() -> u64 {
    // Not known to the compiler.
    (0..std::hint::black_box(STEPS)).fold(1, |x, i| (x ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

/// The background's tasks, as a whole.
pub(crate) struct Load {
    right: u64,
    tasks: usize,
    stop: AtomicBool,
    done: AtomicU64,
    wrong: AtomicU64,
}

impl Load {
    /// The tasks for the workers of `p`; the system's program starts each by its `background`.
    pub(crate) fn new(p: &Params) -> Arc<Load> {
        Arc::new(Load {
            right: compute(),
            tasks: 2 * p.workers,
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
        })
    }

    /// Starts the tasks.
    pub(crate) fn start(self: &Arc<Self>, background: impl Fn(Arc<Load>)) {
        (0..self.tasks).for_each(|_| background(self.clone()));
    }

    /// Is one background task. True: another one is to follow.
    pub(crate) fn one(&self) -> bool {
        if compute() != self.right {
            self.wrong.fetch_add(1, Relaxed);
        }
        self.done.fetch_add(1, Relaxed);
        !self.stop.load(Relaxed)
    }

    /// Waits until so many tasks have ended.
    fn wait_for(&self, done: u64) -> Result<(), Failure> {
        let begin = Instant::now();
        while self.done.load(Relaxed) < done {
            if begin.elapsed() > Duration::from_secs(10) {
                return Err(Failure::Wrong("the background tasks do not get on: the workers are not busy".into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Calls `f` when all workers are busy, and stops the tasks after it. What `f` measured is
    /// given back with the rate of the background's tasks meanwhile.
    pub(crate) fn beside(&self, f: impl FnOnce() -> Result<Measured, Failure>) -> Result<Measured, Failure> {
        self.wait_for(10 * self.tasks as u64)?;
        let (begin, before, used) = (Instant::now(), self.done.load(Relaxed), processor::time());
        let measured = f();
        // What is shorter than one of the tasks says nothing about their rate.
        let busy = self.wait_for(before + 1);
        let (time, done, used) = (begin.elapsed(), self.done.load(Relaxed) - before, processor::since(used));
        self.stop.store(true, Relaxed);
        let measured = measured?;
        busy?;
        Failure::check(self.wrong.load(Relaxed), 0)?;
        let rate = done as f64 / time.as_secs_f64();
        let note = measured.note.iter().map(|note| format!("{note}, ")).collect::<String>();
        let note = Some(format!("{note}{rate:.0} background tasks a second meanwhile"));
        Ok(Measured { background_per_second: Some(rate), note, ..measured }.with_processors(used, time))
    }
}
