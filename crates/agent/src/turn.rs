//! A turn of an agent: a short task that does what is in the queue.

use crate::error::AgentError;
use crate::frame::Frame;
use crate::kept::Kept;
use crate::run::{After, Run};
use myriad_core::Handle;
use myriad_core::engine::guest::spawn_behind;
use myriad_core::engine::scoped::Captured;
use myriad_core::engine::unwind::discard;
use myriad_core::engine::user_code;
use std::ptr;

/// The right and the duty to consume, on the way into a task. Dropped without a turn (the runtime
/// has ended), it fails the agent.
pub(crate) struct Turn<T: Send + Sync + 'static> {
    /// `None` once the turn has begun.
    begins: Option<Kept<T>>,
}

impl<T: Send + Sync + 'static> Turn<T> {
    /// Starts a turn, where its first action is to run. The caller consumes, and gives that up.
    #[inline]
    pub(crate) fn begin(cell: Kept<T>, pool: Handle) {
        Turn::begin_by(cell, |turn| drop(pool.spawn(move || turn.run(pool))));
    }

    /// Starts a turn by this function.
    #[inline]
    fn begin_by(cell: Kept<T>, spawn: impl FnOnce(Turn<T>)) {
        let turn = Turn { begins: Some(cell) };
        // (Where this is refused the turn is dropped, which fails the agent: that is no panic of
        // who has sent an action.)
        if let Err(refused) = user_code::body(|| spawn(turn)) {
            discard(refused);
        }
    }

    fn run(mut self, here: Handle) {
        let Some(cell) = self.begins.take() else { return };
        let frame = Frame::new(ptr::from_ref(&*cell).addr());
        // (What is bound around the task is that of who sent first.)
        match frame.enter(|| Captured::none().call(|| Run::of(cell, here).consume(&frame))) {
            After::Ended => {}
            After::In(pool, cell) => Turn::begin(cell, pool),
            // (As any other the new turn would be the newest task of its worker, and run before
            // those that wait. Not set aside in `yield_now`: a runtime that ends leaves what is set
            // aside, and the agent would neither go on nor fail.)
            After::Behind(pool, cell) => {
                Turn::begin_by(cell, |turn| spawn_behind(pool, move || turn.run(pool)));
            }
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Turn<T> {
    #[cold]
    fn drop(&mut self) {
        if let Some(cell) = self.begins.take() {
            cell.fail(AgentError::Shutdown);
        }
    }
}
