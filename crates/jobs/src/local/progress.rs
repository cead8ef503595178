//! How far a queue is, and a meter that shows it.

use super::queue::Queue;
use myriad_core::block_on;
use myriad_core::time::timeout_async;
use std::fmt;
use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

/// So often a meter is drawn.
const PERIOD: Duration = Duration::from_millis(100);
/// The columns of its bar.
const BAR: u64 = 18;

/// How many jobs of a queue stand where: of [`Queue::progress`]. Arrays count as one job.
///
/// Its `Display` is a line of at most 80 columns, with a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Jobs that have not ended.
    pub left: u64,
    /// Runs that are under way: of an array one for each of its elements that runs.
    pub running: u64,
    /// Jobs that ended well.
    pub done: u64,
    /// Jobs that failed, or whose time was over.
    pub failed: u64,
    /// Jobs that were cancelled, or skipped because of others.
    pub cancelled: u64,
}

impl Progress {
    /// How many have ended, well or not.
    pub fn ended(&self) -> u64 {
        self.done + self.failed + self.cancelled
    }
    /// How many there are, and were.
    pub fn all(&self) -> u64 {
        self.ended() + self.left
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ended, all) = (self.ended(), self.all());
        let full = u128::from(ended) * u128::from(BAR) / u128::from(all.max(1));
        let full = if all == 0 { BAR as usize } else { full as usize };
        write!(f, "[{}{}] {ended}/{all}", "#".repeat(full), "-".repeat(BAR as usize - full))?;
        for (n, word) in [(self.running, "run"), (self.failed, "failed"), (self.cancelled, "cancelled")] {
            if n > 0 {
                write!(f, ", {n} {word}")?;
            }
        }
        Ok(())
    }
}

impl Queue {
    /// How many of its jobs stand where, from the queue's begin on.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().start();
    /// q.submit(Job::new(|| ()))?.join()?;
    /// let held = q.submit(Job::new(|| ()).held())?;
    /// assert_eq!((q.progress().done, q.progress().left), (1, 1));
    /// assert_eq!(q.progress().to_string(), "[#########---------] 1/2");
    /// # q.cancel(&held)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self) -> Progress {
        self.0.locked(|inner| {
            let [done, failed, timed_out, cancelled, skipped] = inner.machine.ended_by_state();
            Progress {
                left: inner.machine.alive(),
                running: inner.machine.running(),
                done,
                failed: failed + timed_out,
                cancelled: cancelled + skipped,
            }
        })
    }

    /// Waits until no job is left, as [`wait_all`](Self::wait_all), and shows meanwhile on standard
    /// error how far the queue is: on a terminal a line that changes ten times a second, elsewhere
    /// one line at the end.
    ///
    /// # Blocking
    /// As [`wait_all`](Self::wait_all). Nothing fails if standard error is closed.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().start();
    /// q.submit_all((0..100).map(|i| Job::new(move || i * i)))?;
    /// q.wait_all_shown(); // [##################] 100/100
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn wait_all_shown(&self) {
        let _outside = self.0.wait_outside();
        let on_terminal = stderr().is_terminal();
        block_on(async {
            while timeout_async(PERIOD, self.0.wait_all()).await.is_err() {
                if on_terminal {
                    draw(&self.progress(), "");
                }
            }
        });
        draw(&self.progress(), "\n");
    }
}

/// Draws a line in place of the one before. (All at once, so that lines of others do not come
/// between; and what standard error says of it does not matter.)
fn draw(progress: &Progress, end: &str) {
    // To the line's begin, and what was there is erased.
    let begin = if stderr().is_terminal() { "\r\x1b[2K" } else { "" };
    _ = stderr().write_all(format!("{begin}{progress}{end}").as_bytes());
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_line_has_a_bar_and_what_is_worth_a_word() {
        let text =
            |left, running, done, failed, cancelled| Progress { left, running, done, failed, cancelled }.to_string();
        let bar = |full: usize| format!("[{}{}]", "#".repeat(full), "-".repeat(18 - full));
        assert_eq!(text(0, 0, 0, 0, 0), format!("{} 0/0", bar(18)));
        assert_eq!(text(10, 1, 0, 0, 0), format!("{} 0/10, 1 run", bar(0)));
        assert_eq!(text(1, 1, 998, 1, 0), format!("{} 999/1000, 1 run, 1 failed", bar(17)));
        let n = 100_000;
        assert!(text(n, n, n, n, n).len() <= 80, "{}", text(n, n, n, n, n));
    }
}
