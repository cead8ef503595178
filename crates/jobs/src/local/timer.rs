//! Time: one timer for the whole queue, set for the first time at which the machine wants to be
//! called. It is only ever set earlier; when it comes too early, it is set anew.

use super::shared::{NEVER, Shared};
use crate::machine::Time;
use myriad_task::call_later;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

impl Shared {
    /// The machine is called at this time.
    #[cold]
    pub(super) fn set_timer(self: &Arc<Self>, at: Time) {
        let mut timer = self.timer.lock();
        if at >= self.timer_at.load(Relaxed) {
            return;
        }
        self.timer_at.store(at, Relaxed);
        let after = Duration::from_nanos(at.saturating_sub(self.now()));
        match &*timer {
            Some(timer) => _ = timer.reset(after),
            None => {
                let weak = Arc::downgrade(self);
                *timer = Some(call_later(after, move || {
                    if let Some(shared) = weak.upgrade() {
                        shared.timer_at.store(NEVER, Relaxed);
                        shared.call(|_, _| ());
                    }
                }));
            }
        }
    }

    #[cold]
    pub(super) fn stop_timer(self: &Arc<Self>) {
        // First the note, then the look: who submits a job after the look reads the note, under the
        // lock of the queue or after it, and sets the timer again.
        let timer = self.timer.lock();
        self.timer_at.store(NEVER, Relaxed);
        let next = self.locked(|inner| inner.machine.next_time());
        if let (None, Some(timer)) = (next, timer.as_ref()) {
            timer.stop();
        }
        drop(timer);
        if let Some(next) = next {
            self.set_timer(next);
        }
    }
}
