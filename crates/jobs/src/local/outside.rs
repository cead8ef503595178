//! Who waits for jobs outside of their pool, and is told when the runtime has left them blocked.
//!
//! Who waits inside is left, too. While somebody waits outside, the handles of all runs have a
//! waker that hears of such an end (`seats.rs`): it costs nothing where nobody does.
//!
//! **Nobody is missed.** A waiter counts itself, then looks for handles without the waker. Who
//! spawns a run puts its handle into its seat, then looks at the count; both under the queue's
//! lock, so one of them finds the other.

use super::seats::RunTask;
use super::shared::{Shared, Turn};
use crate::machine::Outcome;
use myriad_core::engine::running::has_room;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// See the module's header.
#[derive(Default)]
pub(super) struct Outside {
    /// Changed under the queue's lock.
    waiters: AtomicUsize,
    waker: OnceLock<Waker>,
}

/// Hears of runs that are left.
struct Listens(Weak<Shared>);

impl Wake for Listens {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.look_for_left();
        }
    }
}

impl Outside {
    /// Does anybody wait?
    pub(super) fn is_there(&self) -> bool {
        // Relaxed: see the module's header. What is read without the lock is a hint.
        self.waiters.load(Relaxed) > 0
    }
}

/// One who waits outside, until this is dropped.
pub(super) struct Waiter<'a>(&'a Shared);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.locked(|_| self.0.outside.waiters.fetch_sub(1, Relaxed));
    }
}

impl Shared {
    /// The caller waits. `None`: as a task of the queue's own pool.
    pub(super) fn wait_outside(self: &Arc<Self>) -> Option<Waiter<'_>> {
        if has_room(self.pool) {
            return None;
        }
        self.locked(|_| self.outside.waiters.fetch_add(1, Relaxed));
        let waiter = Waiter(self);
        self.watch_runs();
        Some(waiter)
    }

    /// From now on the queue hears if one of its runs is left.
    #[cold]
    pub(super) fn watch_runs(self: &Arc<Self>) {
        for (place, of) in self.locked(|inner| inner.seats.take_unwatched()) {
            let watched = self.watch(of);
            // (Dropped without the lock.)
            drop(self.locked(|inner| inner.seats.keep(place, watched)));
        }
        self.look_for_left();
    }

    /// The same of this run; `None`: it has ended already. Without a lock: the waker is cloned.
    pub(super) fn watch(self: &Arc<Self>, mut of: RunTask) -> Option<RunTask> {
        let waker = self.outside.waker.get_or_init(|| Arc::new(Listens(Arc::downgrade(self))).into());
        match Pin::new(&mut of.task).poll(&mut Context::from_waker(waker)) {
            Poll::Ready(_) => None,
            Poll::Pending => Some(RunTask { is_watched: true, ..of }),
        }
    }

    /// A task has ended whose handle was watched. Was it left, because the runtime has ended? (Else
    /// its run had ended before, while its handle was in somebody's hands.) Then none goes on.
    #[cold]
    fn look_for_left(self: &Arc<Self>) {
        let left = self.locked(|inner| inner.seats.left());
        if left.is_empty() {
            return;
        }
        self.runtime_ends(true);
        for (call, place) in left {
            self.note_runtime_end(call.id);
            let mut turn = Turn::default();
            self.end(call, place, (Outcome::Stopped, None), None, &mut turn);
            self.carry_out(&mut turn);
        }
    }
}
