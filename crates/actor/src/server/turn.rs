//! A turn of a server: a short task that handles what is in the inbox.

use super::cell::ServerCell;
use super::{Next, Server};
use crate::frame;
use crate::reason::Reason;
use crate::task::reason_of;
use myriad_core::JoinHandle;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::{unwind, user_code};
use myriad_core::time::sleep_async;
use myriad_sync::inbox::Popped;
use std::sync::Arc;
use std::time::Duration;

/// So many messages a turn handles before it goes behind the tasks that wait.
const MOST: usize = 128;

/// With what a turn begins.
pub(super) enum First<M> {
    Message(M),
    /// The timer of this number has fired.
    Idle(u64),
    /// The server was told to end.
    End,
}

/// The right and the duty to consume, on its way into a task. Dropped without a turn (the runtime
/// ends), it ends the server.
pub(super) struct Turn<S: Server> {
    server: *const ServerCell<S>,
    first: Option<First<S::Message>>,
}

// SAFETY: the consumer may be on any thread, and the record stands until the consumer ends it.
unsafe impl<S: Server> Send for Turn<S> {}

impl<S: Server> Turn<S> {
    /// Starts a turn. The caller has the inbox, and gives it up.
    #[inline]
    pub(super) fn begin(server: &ServerCell<S>, first: First<S::Message>) {
        let turn = Turn { server, first: Some(first) };
        // (Where the runtime has ended this panics, and the turn is dropped, which ends the server:
        // that is no panic of who has sent a message.)
        if let Err(refused) = user_code::body(|| drop(server.home().spawn(move || turn.run()))) {
            unwind::discard(refused);
        }
    }

    /// Starts a turn that ends the server.
    #[cold]
    pub(super) fn begin_end(server: &ServerCell<S>, why: Reason, put_off: frame::PutOff) {
        _ = server.cell().life.settle(why);
        drop(put_off); // (Here: it is of the caller's thread.)
        Turn::begin(server, First::End);
    }

    fn run(mut self) {
        let Some(first) = self.first.take() else { return };
        // SAFETY: the record stands until the consumer, this turn, ends it (`cell`'s invariant).
        let server = unsafe { &*self.server };
        std::mem::forget(self);
        let task = UnderWay::here();
        // SAFETY: this task was spawned for the turn; it makes the inbox idle or closes it before
        // it ends, or tells the next turn to.
        let goes_on = unsafe { server.cell().inbox.consume(Some(task)) };
        if !goes_on || matches!(first, First::End) {
            // SAFETY: this turn consumes, and hands that on to nobody.
            return unsafe { server.end(Reason::Normal, Vec::new()) };
        }
        let (result, put_off) = frame::enter(server, task, || user_code::body(|| all(server, first)));
        let why = match result {
            Ok(None) => return,
            Ok(Some(why)) => why,
            Err(payload) => reason_of(payload),
        };
        // SAFETY: `all` has not given the inbox up.
        unsafe { server.end(why, put_off) }
    }
}

/// Handles what there is. `Some`: the server is to end. `None`: somebody else consumes, or nobody.
fn all<S: Server>(server: &ServerCell<S>, first: First<S::Message>) -> Option<Reason> {
    let mut next = first;
    for _ in 0..MOST {
        // SAFETY: this turn consumes, and the server has not ended: who ends it consumes no more.
        if let Next::Stop(why) = unsafe { server.step(next) } {
            return Some(why);
        }
        next = match server.cell().inbox.pop_or_idle() {
            Popped::Message(message) => First::Message(message),
            Popped::Idle => return None,
            // (What it was told to end with goes before this.)
            Popped::Interrupted => return Some(Reason::Cancelled),
        };
    }
    // SAFETY: nobody is named: this task goes, and the next one names itself.
    if unsafe { !server.cell().inbox.consume(None) } {
        if let First::Message(message) = next {
            drop(server.cell().inbox.put_back(message));
        }
        return Some(Reason::Cancelled);
    }
    Turn::begin(server, next);
    None
}

impl<S: Server> Drop for Turn<S> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the record stands, and this turn consumes: it was given the inbox, and never ran.
        unsafe { (*self.server).end(Reason::Cancelled, Vec::new()) };
    }
}

impl<S: Server> ServerCell<S> {
    /// After this time, if the server is idle then, a turn begins with [`First::Idle`].
    pub(super) fn wake_later(&self, limit: Duration, number: u64) -> JoinHandle<()> {
        let this: *const Self = self;
        // SAFETY: the address of an `Arc` (`cell`'s invariant), which stands: the caller consumes.
        let this = unsafe {
            Arc::increment_strong_count(this);
            Arc::downgrade(&Arc::from_raw(this))
        };
        self.home().spawn_async(async move {
            sleep_async(limit).await;
            // Not idle: a message has come, and the time counts anew.
            if let Some(server) = this.upgrade()
                && server.cell().inbox.begin()
            {
                Turn::begin(&*server, First::Idle(number));
            }
        })
    }
}
