//! Messages that come later.

use crate::address::Address;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{home, now_of};
use myriad_core::time::{Instant, sleep_until_async};
use myriad_core::{Handle, JoinHandle};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A message that comes later: what [`Address::send_after`] returns. Dropping it changes nothing:
/// the message comes.
#[must_use = "without it the message cannot be cancelled"]
pub struct Timer<M: Send + 'static> {
    message: Arc<Mutex<Option<M>>>,
    deadline: Instant,
    pool: Handle,
    task: JoinHandle<()>,
}

impl<M: Send + 'static> Address<M> {
    /// Sends a message when this much time has passed. It comes into a bounded mailbox, too,
    /// whether there is room or not; if the actor has ended by then it is dropped.
    ///
    /// # Blocking
    /// Never.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Mailbox};
    /// use std::time::Duration;
    /// let actor = actor::spawn(|mut mail: Mailbox<&str>| assert_eq!(mail.receive(), "soon"));
    /// let late = actor.send_after(Duration::from_secs(3600), "late");
    /// let _soon = actor.send_after(Duration::from_millis(1), "soon");
    /// actor::monitor(&actor).wait();
    /// assert!(late.cancel().unwrap() > Duration::from_secs(3000));
    /// ```
    #[track_caller]
    pub fn send_after(&self, after: Duration, message: M) -> Timer<M> {
        let pool = home();
        let deadline = now_of(pool) + after;
        let (message, to) = (Arc::new(Mutex::new(Some(message))), self.downgrade());
        let sent = message.clone();
        let task = pool.spawn_async(async move {
            sleep_until_async(deadline).await;
            let message = sent.lock().take();
            if let (Some(to), Some(message)) = (to.upgrade(), message) {
                to.force(message);
            }
        });
        Timer { message, deadline, pool, task }
    }
}

impl<M: Send + 'static> Timer<M> {
    /// Takes the message back: it does not come. How much time was left; `None` if its time was
    /// over first. Then it was received, is in the mailbox, or comes in a moment.
    ///
    /// # Blocking
    /// Never.
    pub fn cancel(self) -> Option<Duration> {
        let message = self.message.lock().take();
        self.task.cancel();
        message.map(|_| self.deadline.saturating_duration_since(now_of(self.pool)))
    }
}

impl<M: Send + 'static> fmt::Debug for Timer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
