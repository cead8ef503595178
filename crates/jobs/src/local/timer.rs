//! Time, and the end of the runtime.
//!
//! One alarm for the whole queue, set for the first time at which the machine wants to be called.
//! It is only ever set earlier; when it comes too early, it is set anew. It is a future in the
//! queue's pool that sleeps. A runtime that ends drops it: so the queue hears of that, and cancels
//! the jobs that will never begin. As long as jobs wait of which none has a time, the queue has an
//! alarm that never comes, for that alone.
//!
//! **Invariant.** The alarm that counts has the number in [`Alarm`]; one that is set anew or
//! stopped counts no more, and does nothing when it is dropped.

use super::shared::{NEVER, Shared};
use crate::machine::{JobId, State, Time};
use myriad_core::JoinHandle;
use myriad_core::engine::now_of;
use myriad_core::task::Builder;
use myriad_core::time::sleep_until_async;
use std::future::pending;
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time of an alarm that only hears of the end of the runtime.
pub(super) const AT_THE_END: Time = NEVER - 1;

/// The alarm that is set.
#[derive(Default)]
pub(super) struct Alarm {
    /// Counts alarms, and what has undone one.
    number: u64,
    task: Option<JoinHandle<()>>,
}

impl Alarm {
    /// No alarm counts any more. What is returned is ended without the lock.
    pub(super) fn undo(&mut self) -> Option<JoinHandle<()>> {
        self.number += 1;
        self.task.take()
    }
}

/// What the future of an alarm holds.
struct Sleeps {
    shared: Weak<Shared>,
    number: u64,
}

impl Sleeps {
    /// The queue, if this alarm counts; it does so no more. And was it taken by the pool?
    fn take(&self) -> Option<(Arc<Shared>, bool)> {
        let shared = self.shared.upgrade()?;
        let mut alarm = shared.alarm.lock();
        if alarm.number != self.number {
            drop(alarm);
            return None;
        }
        let own = alarm.undo();
        shared.alarm_at.store(NEVER, Relaxed);
        drop(alarm);
        let is_taken = own.is_some();
        drop(own);
        Some((shared, is_taken))
    }
}

impl Drop for Sleeps {
    fn drop(&mut self) {
        if let Some((shared, is_taken)) = self.take() {
            shared.runtime_ends(is_taken);
        }
    }
}

impl Shared {
    /// The machine is called at this time.
    #[cold]
    pub(super) fn set_alarm(self: &Arc<Self>, at: Time) {
        if self.is_ending.load(Relaxed) {
            return;
        }
        let mut alarm = self.alarm.lock();
        if at >= self.alarm_at.load(Relaxed) {
            return;
        }
        self.alarm_at.store(at, Relaxed);
        let before = alarm.undo();
        let number = alarm.number;
        drop(alarm);
        before.into_iter().for_each(|task| task.cancel());
        let sleeps = Sleeps { shared: Arc::downgrade(self), number };
        let deadline = now_of(self.pool) + Duration::from_nanos(at.saturating_sub(self.now()));
        // (Without a lock: where the runtime has ended, the future is dropped here. The name is for
        // the report of a runtime that ends before them.)
        let task = Builder::new().name("jobs that have not begun").on(self.pool).spawn_async(async move {
            match at {
                AT_THE_END => pending().await,
                _ => sleep_until_async(deadline).await,
            }
            if let Some((shared, _)) = sleeps.take() {
                shared.call(|_, _| ());
            }
        });
        let mut alarm = self.alarm.lock();
        if alarm.number == number {
            alarm.task = Some(task);
        } else {
            drop(alarm);
            task.cancel();
        }
    }

    /// No job is left: a sleeping task would keep a runtime from its end.
    #[cold]
    pub(super) fn stop_alarm(self: &Arc<Self>) {
        // First the note, then the look: who submits a job after the look reads the note, under the
        // lock of the queue or after it, and sets the alarm again.
        let mut alarm = self.alarm.lock();
        let task = alarm.undo();
        self.alarm_at.store(NEVER, Relaxed);
        drop(alarm);
        task.into_iter().for_each(|task| task.cancel());
        let next = self.locked(|inner| inner.next_time());
        if next != NEVER {
            self.set_alarm(next);
        }
    }

    /// The queue takes no more jobs, and those that have not begun never do. (Those that run end
    /// with their tasks, or are left by the runtime.)
    ///
    /// `is_over`: no task of the runtime goes on. Else it ends, and has refused the alarm, where
    /// there was none: so no job waited before, and an array whose elements run may go on.
    #[cold]
    pub(super) fn runtime_ends(self: &Arc<Self>, is_over: bool) {
        // (While jobs are cancelled others may begin, and be refused: none of these sets an alarm,
        // which would be refused, and come here.)
        if self.is_ending.swap(true, Relaxed) {
            return;
        }
        let all: Vec<JobId> = self.locked(|inner| {
            inner.closed = true;
            let with_arrays = is_over || inner.machine.running() == 0;
            let pending = inner.machine.rows().filter(|row| row.state == State::Pending);
            pending.filter(|row| with_arrays || row.elements.is_none()).map(|row| row.id).collect()
        });
        // (The last first: so what waits for another is cancelled before that has an end.)
        for id in all.into_iter().rev() {
            self.note_runtime_end(id);
            // (It may have ended meanwhile, because of another one.)
            _ = self.cancel(id);
        }
        self.is_ending.store(is_over, Relaxed);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::{Job, Local};

    /// An idle queue wakes for no time: without jobs it has no alarm, and with jobs that wait for
    /// no time one that never comes.
    #[test]
    fn an_idle_queue_waits_for_no_time() {
        let q = Local::new().start();
        let at = || q.0.alarm_at.load(Relaxed);
        assert_eq!(at(), NEVER);
        q.submit(Job::new(|| ())).unwrap().join().unwrap();
        assert_eq!(at(), NEVER);
        let held = q.submit(Job::new(|| ()).held()).unwrap();
        let _behind = q.submit(Job::new(|| ()).after(&held)).unwrap();
        assert_eq!(at(), AT_THE_END);
        let late = q.submit(Job::new(|| ()).delay(Duration::from_secs(3600))).unwrap();
        assert!(at() < AT_THE_END);
        late.cancel();
        q.cancel_all();
        assert_eq!(at(), NEVER);
    }
}
