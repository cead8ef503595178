//! What the last wait was for that a time limit has ended: for the message of the error.

use super::text::waits_for;
use crate::queue::made::{self, Made};
use crate::queue::reason::WaitReason;
use crate::sched::wait::timed_out;
use std::fmt;
use std::panic::Location;

/// What a wait was for that a time limit has ended: see [`why_timed_out`].
///
/// Its `Display` is as in a dump: `waits for a message of the channel made at src/main.rs:12:20 (3
/// senders, none has sent)`.
#[derive(Debug, Clone)]
pub struct TimedOut {
    reason: WaitReason,
    made: Option<Made>,
    /// No message was ever sent, and none received.
    idle: Option<(bool, bool)>,
}

impl TimedOut {
    /// What the wait was for.
    pub fn waited_for(&self) -> WaitReason {
        self.reason
    }
    /// Where the channel (promise, watch, broadcast) was made, if it is still there.
    pub fn made_at(&self) -> Option<&'static Location<'static>> {
        Some(self.made?.location)
    }
    /// How many ends the channel has now on the other side: those that could send what the wait was
    /// for, or receive.
    pub fn other_ends(&self) -> Option<usize> {
        self.made?.other_ends(self.reason)
    }
    /// Has the other side done nothing since the channel was made: was no message ever sent (of a
    /// wait for one), or received (of a wait for room)? A message that somebody peeked at, and that
    /// came back, may count as received.
    pub fn is_other_side_idle(&self) -> Option<bool> {
        let (send, receive) = self.idle?;
        match self.reason {
            WaitReason::Recv => Some(send),
            WaitReason::Send => Some(receive),
            _ => None,
        }
    }

    /// `, none has sent`.
    fn done(&self) -> &'static str {
        match (self.is_other_side_idle(), self.reason) {
            (Some(true), WaitReason::Recv) => ", none has sent",
            (Some(true), _) => ", none has received",
            _ => "",
        }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.made_at() {
            Some(at) => f.write_str(&waits_for(self.reason, at, self.other_ends(), self.done())),
            None => self.reason.fmt(f),
        }
    }
}

/// What the calling task, or thread, waited for when a time limit ended its wait last: to be asked
/// right after the error, as in `format!("{error}: {why}")`.
///
/// Of a limit of the operation itself (`recv_timeout`), and of one around code or a future
/// ([`timeout`](crate::time::timeout), [`timeout_async`](crate::time::timeout_async)). `None`: the
/// code did not wait when the limit came, another task of this thread had a time-out since, or
/// nothing is noted: that is done in debug builds, and where `MYRIAD_DUMP=1` or
/// [`Builder::dump_on_signal`](crate::Builder::dump_on_signal) asks for dumps.
///
/// # Blocking
/// Never blocks. It costs a lock and a table.
///
/// # Examples
/// ```
/// use myriad::time::{timeout, why_timed_out};
/// use std::time::Duration;
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let error = timeout(Duration::from_millis(1), || rx.recv()).unwrap_err();
/// if let Some(why) = why_timed_out() {
///     let message = format!("{error}: it {why}");
///     assert!(message.starts_with("the time limit has passed: it waits for a message of the channel made at "));
///     assert_eq!(why.other_ends(), Some(1));
/// }
/// ```
pub fn why_timed_out() -> Option<TimedOut> {
    let waits = timed_out::last()?;
    let object = Some(waits.object).filter(|_| waits.reason.has_place());
    let (made, idle) = object.and_then(made::look_closely).map_or((None, None), |(made, idle)| (Some(made), idle));
    Some(TimedOut { reason: waits.reason, made, idle })
}
