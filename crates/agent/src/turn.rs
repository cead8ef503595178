//! A turn of an agent: a short task that does what is in the queue.

use crate::action::{Action, Change, Place, What};
use crate::cell::Cell;
use crate::error::{AgentError, text_of};
use crate::frame::Frame;
use crate::rules::{ErrorMode, Rules};
use myriad_core::engine::guest::{is_same, spawn_behind};
use myriad_core::engine::unwind::{discard, drop_quietly};
use myriad_core::engine::user_code;
use myriad_core::{Handle, blocking};
use std::sync::Arc;

/// So many actions a turn runs before it goes behind the tasks that wait.
const MOST: usize = 128;

/// The right and the duty to consume, on the way into a task. Dropped without a turn (the runtime
/// has ended), it fails the agent.
pub(crate) struct Turn<T: Send + Sync + 'static> {
    /// `None` once the turn has begun.
    begins: Option<(Arc<Cell<T>>, Action<T>)>,
}

impl<T: Send + Sync + 'static> Turn<T> {
    /// Starts a turn, where its first action is to run. The caller consumes, and gives that up.
    #[inline]
    pub(crate) fn begin(cell: Arc<Cell<T>>, first: Action<T>) {
        Turn::begin_by(cell, first, |pool, turn| drop(pool.spawn(move || turn.run(pool))));
    }

    /// Starts a turn by this function.
    #[inline]
    fn begin_by(cell: Arc<Cell<T>>, first: Action<T>, spawn: impl FnOnce(Handle, Turn<T>)) {
        let pool = pool_of(&cell, &first);
        let turn = Turn { begins: Some((cell, first)) };
        // (Where this is refused the turn is dropped, which fails the agent: that is no panic of
        // who has sent an action.)
        if let Err(refused) = user_code::body(|| spawn(pool, turn)) {
            discard(refused);
        }
    }

    fn run(mut self, here: Handle) {
        let Some((cell, mut next)) = self.begins.take() else { return };
        let frame = Frame::new(Arc::as_ptr(&cell).cast());
        let consumer = Consumer(&*cell);
        for _ in 0..MOST {
            let mut slot = None;
            if !step(&cell, &frame, next, &mut slot) {
                return consumer.leave();
            }
            match slot.or_else(|| cell.pop_or_idle()) {
                None => return consumer.leave(),
                Some(action) => next = action,
            }
            if !is_same(here, pool_of(&cell, &next)) {
                consumer.leave();
                return Turn::begin(cell, next);
            }
        }
        consumer.leave();
        // (As any other the new turn would be the newest task of its worker, and run before those
        // that wait. Not set aside in `yield_now`: a runtime that ends leaves what is set aside,
        // and the agent would neither go on nor fail.)
        Turn::begin_by(cell, next, |pool, turn| spawn_behind(pool, move || turn.run(pool)));
    }
}

/// Consumes. Dropped without [`leave`](Self::leave), it fails the agent: nothing of the user's
/// unwinds through a turn, and if it did nobody else would consume.
struct Consumer<'a, T: Send + Sync + 'static>(&'a Cell<T>);

impl<T: Send + Sync + 'static> Consumer<'_, T> {
    fn leave(self) {
        std::mem::forget(self);
    }
}

impl<T: Send + Sync + 'static> Drop for Consumer<'_, T> {
    #[cold]
    fn drop(&mut self) {
        self.0.fail(AgentError::Panic("the agent's turn has unwound (a bug in Myriad)".into()), None);
    }
}

impl<T: Send + Sync + 'static> Drop for Turn<T> {
    #[cold]
    fn drop(&mut self) {
        if let Some((cell, first)) = self.begins.take() {
            cell.fail(AgentError::Shutdown, Some(first));
        }
    }
}

/// Where an action runs; a call that blocks goes to its thread from the agent's own pool.
#[inline]
fn pool_of<T>(cell: &Cell<T>, action: &Action<T>) -> Handle {
    match action.place() {
        Place::Home | Place::Blocking => cell.home,
        Place::Pool(pool) => pool,
    }
}

/// Does one thing, for the consumer. False: the agent has failed, and the caller consumes no
/// longer. `next`, which is empty, is for the next action: that may be taken out beside. (A result
/// would be copied in each of these functions, for 25 ns an action.)
#[inline]
fn step<T: Send + Sync + 'static>(
    cell: &Arc<Cell<T>>,
    frame: &Frame,
    action: Action<T>,
    next: &mut Option<Action<T>>,
) -> bool {
    let is_blocking = matches!(action.place(), Place::Blocking);
    let (what, bound) = action.into_parts();
    let change = match what {
        What::Change(change) => change,
        What::Mark(told) => {
            _ = told.send(Ok(()));
            return true;
        }
    };
    let goes_on = if is_blocking {
        // (A frame is its thread's.)
        blocking(|| bound.call(|| act(cell, &Frame::new(Arc::as_ptr(cell).cast()), change, next)))
    } else {
        bound.call(|| act(cell, frame, change, next))
    };
    if !bound.is_empty() {
        drop_quietly(bound);
    }
    goes_on
}

/// Runs an action, with all that belongs to it.
#[inline]
fn act<T: Send + Sync + 'static>(
    cell: &Arc<Cell<T>>,
    frame: &Frame,
    change: Box<dyn Change<T>>,
    next: &mut Option<Action<T>>,
) -> bool {
    let (old, rules) = cell.found();
    frame.enter(|| {
        let result = apply(cell, old, rules.as_deref(), change, next);
        if result.is_ok() {
            frame.release();
        } else {
            frame.give_up();
        }
        // (The last of them, if they were replaced meanwhile. Here: what a destructor sends is not
        // held any more.)
        rules.into_iter().for_each(Rules::end);
        result.map_or_else(|error| failed(cell, error), |()| true)
    })
}

fn apply<T: Send + Sync + 'static>(
    cell: &Cell<T>,
    old: *const T,
    rules: Option<&Rules<T>>,
    change: Box<dyn Change<T>>,
    next: &mut Option<Action<T>>,
) -> Result<(), AgentError> {
    // SAFETY: this is the consumer, for which the value stands until it publishes another one,
    // below (`Cell::found`).
    let old = unsafe { &*old };
    let new = user_code::body(|| change.make(old)).map_err(|payload| AgentError::Panic(text_of(payload)))?;
    if let Some(Err(error)) = rules.map(|rules| rules.validate(&new)) {
        drop_quietly(new);
        return Err(error);
    }
    let Some(rules) = rules.filter(|rules| rules.has_watches()) else {
        cell.publish_and_pop(new, next);
        return Ok(());
    };
    let new = Arc::new(new);
    let old = cell.publish(new.clone());
    let told = rules.tell(&old, &new);
    drop_quietly((old, new));
    told
}

/// An action has failed: does what the agent's mode says.
#[cold]
fn failed<T: Send + Sync + 'static>(cell: &Arc<Cell<T>>, error: AgentError) -> bool {
    // (Read anew: the action may have changed them.)
    let rules = cell.rules();
    if let Some(rules) = &rules {
        rules.handle(cell, &error);
    }
    let goes_on = rules.as_ref().is_some_and(|rules| rules.mode == ErrorMode::Continue);
    rules.into_iter().for_each(Rules::end);
    if !goes_on {
        cell.fail(error, None);
    }
    goes_on
}
