//! `Notify`: an event that lets one go on each time it is set.

use myriad::sync as on;
use std::future::Future;

/// Wakes those who wait for it, one at a time.
#[derive(Debug)]
pub struct Notify(on::Event);

impl Notify {
    /// Nobody is notified.
    pub fn new() -> Notify {
        Notify(on::Event::auto_reset())
    }
    /// Notifies the one that has waited longest, or the next that comes.
    pub fn notify_one(&self) {
        self.0.set();
    }
    /// Waits for a notification.
    pub fn notified(&self) -> impl Future<Output = ()> + '_ {
        self.0.wait_async()
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify::new()
    }
}
