//! `may`: its process-wide scheduler with `w` workers, and the bounded channel that it does not
//! have.
//!
//! `may::coroutine::spawn` is an unsafe function: the coroutine must not use thread-local values
//! across a suspension and must fit into its stack of 32 KiB. The programs here keep no
//! thread-local value and call nothing deep, which is what each `SAFETY` comment at a spawn refers
//! to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use may::coroutine;
use may::sync::{Semphore, mpsc};

use crate::params::Params;

/// The started scheduler.
pub(crate) struct Host;

/// Configures the scheduler; it starts with the first coroutine and cannot be stopped.
pub(crate) fn start(p: &Params) -> Host {
    may::config().set_workers(p.workers);
    Host
}

impl Host {
    /// Runs `f` as a coroutine on a worker and waits for it.
    pub(crate) fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> T {
        // SAFETY: `f` is a program of this crate: no thread-local values, no deep calls (see the
        // header).
        let root = unsafe { coroutine::spawn(f) };
        root.join().expect("the root coroutine does not panic")
    }
}

/// A bounded channel for one receiver, from may's semaphore and its unbounded
/// channel.
pub(crate) fn bounded<T>(slots: usize) -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = mpsc::channel();
    let slots = Arc::new(Slots { free: Semphore::new(slots), closed: AtomicBool::new(false) });
    (Sender { tx, slots: slots.clone() }, Receiver { rx, slots })
}

/// How much of the channel is free.
struct Slots {
    free: Semphore,
    closed: AtomicBool,
}

/// A sending end.
#[derive(Clone)]
pub(crate) struct Sender<T> {
    tx: mpsc::Sender<T>,
    slots: Arc<Slots>,
}

/// The receiving end; dropping it makes all senders fail.
pub(crate) struct Receiver<T> {
    rx: mpsc::Receiver<T>,
    slots: Arc<Slots>,
}

impl<T> Sender<T> {
    /// Waits for a free slot; gives `v` back when the receiver is gone.
    pub(crate) fn send(&self, v: T) -> Result<(), T> {
        self.slots.free.wait();
        // Acquire: pairs with the Release in `Receiver::drop`, whose `post` may be what ended the
        // wait.
        if self.slots.closed.load(Ordering::Acquire) {
            // The next sender that waits.
            self.slots.free.post();
            return Err(v);
        }
        self.tx.send(v).map_err(|e| e.0)
    }
}

impl<T> Receiver<T> {
    /// Waits for a message; `None` when the sender is gone.
    pub(crate) fn recv(&self) -> Option<T> {
        let v = self.rx.recv().ok()?;
        self.slots.free.post();
        Some(v)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Sender::send`.
        self.slots.closed.store(true, Ordering::Release);
        self.slots.free.post();
    }
}
