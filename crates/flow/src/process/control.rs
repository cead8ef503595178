//! What a run's handle and a process say to each other.
//!
//! The handle says what it wants, and then that there is something to see: the channel for that has
//! one place, and what does not go into it is not needed. The process looks at what is wanted after
//! it has taken the signal, so it sees all that was wanted before. Of two wishes that come before
//! it looks, the last one counts.
//!
//! The counts of `Live` are estimates, for those who ask while the process does not answer.

use super::ping::{Activity, Answer};
use myriad_base::sys::mutex::Mutex;
use myriad_core::cancel::Token;
use myriad_sync::channel::{OnceSender, Receiver, Sender, bounded_drop_newest};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Of one process in one run.
pub(super) struct Control {
    wanted: Mutex<Wanted>,
    notify: Sender<()>,
    /// Where the process sees that there is something new.
    pub(super) signal: Receiver<()>,
    /// Unwinds what runs in the process at its next wait.
    pub(super) token: Token,
    /// A source may wait for its next message for ever, so a stop unwinds that wait.
    is_source: bool,
    pub(super) live: Live,
}

struct Wanted {
    is_paused: bool,
    is_stopped: bool,
    /// Nobody looks any more.
    has_ended: bool,
    pings: Vec<OnceSender<Answer>>,
}

/// What is to be done now.
pub(super) struct News {
    pub(super) is_paused: bool,
    pub(super) is_stopped: bool,
    pub(super) pings: Vec<OnceSender<Answer>>,
}

/// What the process does, as it says while it does it.
#[derive(Default)]
pub(super) struct Live {
    // (Relaxed, all: estimates, by which nobody decides anything.)
    activity: AtomicU32,
    steps: AtomicU64,
    panics: AtomicU64,
}

impl Control {
    pub(super) fn new(is_paused: bool, is_source: bool) -> Control {
        let (notify, signal) = bounded_drop_newest(1);
        let wanted = Mutex::new(Wanted { is_paused, is_stopped: false, has_ended: false, pings: Vec::new() });
        Control { wanted, notify, signal, token: Token::new(), is_source, live: Live::default() }
    }

    pub(super) fn pause(&self, is_paused: bool) {
        self.wanted.lock().is_paused = is_paused;
        self.notify();
    }

    pub(super) fn stop(&self) {
        self.wanted.lock().is_stopped = true;
        self.notify();
        if self.is_source {
            self.token.cancel();
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.wanted.lock().is_stopped
    }

    pub(super) fn ping(&self, answer: OnceSender<Answer>) {
        let mut wanted = self.wanted.lock();
        if wanted.has_ended {
            drop(wanted);
            return drop(answer);
        }
        // (Who has waited in vain for a process that is stuck leaves nothing.)
        wanted.pings.retain(|ping| !ping.is_closed());
        wanted.pings.push(answer);
        drop(wanted);
        self.notify();
    }

    /// What is wanted now. The pings are taken out.
    pub(super) fn news(&self) -> News {
        let mut wanted = self.wanted.lock();
        let pings = std::mem::take(&mut wanted.pings);
        News { is_paused: wanted.is_paused, is_stopped: wanted.is_stopped, pings }
    }

    /// The process has ended: nobody answers any more.
    pub(super) fn end(&self) {
        self.live.set(Activity::Ended, 0);
        self.wanted.lock().has_ended = true;
        drop(self.news());
    }

    fn notify(&self) {
        _ = self.notify.try_send(());
    }
}

impl Live {
    #[inline]
    pub(super) fn set(&self, activity: Activity<usize>, steps: u64) {
        self.activity.store(activity.to_bits(), Relaxed);
        if steps > 0 {
            self.steps.store(steps, Relaxed);
        }
    }

    pub(super) fn count_panic(&self) {
        self.panics.fetch_add(1, Relaxed);
    }

    pub(super) fn activity(&self) -> Activity<usize> {
        Activity::from_bits(self.activity.load(Relaxed))
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Relaxed)
    }
}
