//! How the wakers of local tasks tell the scope that these are ready.

use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code::StoredWaker;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Wake;

/// What wakers see; they may be on any thread. No user code runs under the lock.
#[derive(Default)]
pub(super) struct Signals(pub(super) Mutex<Signalled>);

#[derive(Default)]
pub(super) struct Signalled {
    /// Numbers of tasks that were woken.
    pub(super) ready: VecDeque<usize>,
    /// Who drives the tasks, and waits.
    pub(super) driver: Option<StoredWaker>,
    /// Who waits for the end of all.
    pub(super) at_end: Option<StoredWaker>,
}

impl Drop for Signals {
    fn drop(&mut self) {
        let signalled = self.0.get_mut();
        let (driver, at_end) = (signalled.driver.take(), signalled.at_end.take());
        driver.into_iter().chain(at_end).for_each(StoredWaker::discard);
    }
}

impl Signals {
    pub(super) fn add(&self, number: usize) {
        let mut signalled = self.0.lock();
        signalled.ready.push_back(number);
        let driver = signalled.driver.take();
        drop(signalled);
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

/// The waker of a task. (One that comes late may name a number that another task has by now: a wake
/// without need.)
pub(super) struct Signal {
    pub(super) number: usize,
    pub(super) signals: Arc<Signals>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.signals.add(self.number);
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.signals.add(self.number);
    }
}
