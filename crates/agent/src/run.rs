//! Running actions, one after the other.
//!
//! A new value is made beside the old one: the memory of the value before is the place of the value
//! behind, unless somebody has it. So no value is moved, and none is allocated, in a turn of many.

use crate::action::{About, Action, Call, Make, Place, Told};
use crate::cell::{Next, drop_value};
use crate::error::{AgentError, text_of};
use crate::frame::Frame;
use crate::kept::Kept;
use crate::queue::Word;
use crate::rules::{ErrorMode, Rules};
use myriad_core::engine::unwind::{Payload, discard, drop_quietly, resume};
use myriad_core::engine::user_code;
use myriad_core::{Handle, blocking};
use std::mem::{self, ManuallyDrop, MaybeUninit, needs_drop};
use std::ptr;
use std::sync::Arc;

/// So many actions a turn runs before it goes behind the tasks that wait.
const MOST: usize = 128;

/// Who consumes, with what it knows of the agent. Dropped in the middle, it fails the agent:
/// nothing of the user's unwinds through a turn, and if it did nobody else would consume.
pub(crate) struct Run<T: Send + Sync + 'static> {
    cell: ManuallyDrop<Kept<T>>,
    here: Handle,
    /// The agent's value, until this publishes another one.
    value: *const T,
    /// Room for a value. Nobody else has it.
    spare: Option<Arc<MaybeUninit<T>>>,
    /// What comes next, if that was found out. (Not a result, which would be copied from function
    /// to function by loads of two words that have just been written.)
    next: Next<T>,
}

// SAFETY: the value is `Sync`, the rest is `Send`.
unsafe impl<T: Send + Sync> Send for Run<T> {}

/// Who goes on when a turn is over.
pub(crate) enum After<T: Send + Sync + 'static> {
    /// Nobody.
    Ended,
    /// A turn in this pool.
    In(Handle, Kept<T>),
    /// The same, behind the tasks that wait there.
    Behind(Handle, Kept<T>),
}

/// An action that has not begun: goes with all that belongs to it.
struct NotBegun<T: 'static>(Action<T>);

impl<T> NotBegun<T> {
    fn begin(self) -> Action<T> {
        ManuallyDrop::new(self).0
    }
}

impl<T> Drop for NotBegun<T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: it was taken out last, and is not used afterwards.
        _ = user_code::call(|| unsafe { self.0.drop() }).map_err(discard);
    }
}

impl<T: Send + Sync + 'static> Run<T> {
    /// The consumer of this agent, in this pool.
    pub(crate) fn of(cell: Kept<T>, here: Handle) -> Run<T> {
        let value = cell.value();
        Run { cell: ManuallyDrop::new(cell), here, value, spare: None, next: Next::Nothing }
    }

    /// Consumes no longer.
    fn leave(mut self) -> Kept<T> {
        self.spare = None;
        // SAFETY: `self` is not dropped: the cell is taken out once.
        unsafe { ManuallyDrop::take(&mut ManuallyDrop::new(self).cell) }
    }

    /// Does what is in the queue, up to [`MOST`] actions.
    pub(crate) fn consume(mut self, frame: &Frame) -> After<T> {
        let mut left = MOST;
        self.next = self.cell.pop(Some(self.here));
        loop {
            match mem::replace(&mut self.next, Next::Nothing) {
                Next::Action(action) => {
                    left -= 1;
                    // (The last one takes nothing out.)
                    let here = (left > 0).then_some(self.here);
                    if let Err(error) = self.step(frame, action, here) {
                        self.leave().fail(*error);
                        return After::Ended;
                    }
                }
                Next::In(pool) if left == 0 => return After::Behind(pool, self.leave()),
                Next::In(pool) => return After::In(pool, self.leave()),
                Next::Nothing => match self.cell.pop_or_leave((left > 0).then_some(self.here)) {
                    (Next::Nothing, was_last) => {
                        self.leave().end(was_last);
                        return After::Ended;
                    }
                    (next, _) => self.next = next,
                },
            }
        }
    }

    /// Does one thing. `Err`: the agent fails.
    #[inline(always)]
    fn step(&mut self, frame: &Frame, action: Action<T>, here: Option<Handle>) -> Result<(), Box<AgentError>> {
        match action.kind.call {
            Call::Change(make) => {
                // SAFETY: such a payload is a change, which is used once, here.
                unsafe { self.act(frame, make, action.payload, here) }
            }
            Call::With(make) => self.act_with(frame, make, action, here),
            Call::Mark => {
                // SAFETY: such a payload is a mark, which is used once, here.
                _ = unsafe { action.payload.cast::<Told>().read() }.send(Ok(()));
                Ok(())
            }
        }
    }

    /// Runs an action for which something holds.
    #[cold]
    fn act_with(
        &mut self,
        frame: &Frame,
        make: Make<T>,
        action: Action<T>,
        here: Option<Handle>,
    ) -> Result<(), Box<AgentError>> {
        let not_begun = NotBegun(action);
        // SAFETY: such a payload begins with what holds for the change. Dropped below, once: what
        // has not begun drops that itself.
        let about = unsafe { action.payload.cast::<ManuallyDrop<Box<About>>>().read() };
        let agent = ptr::from_ref(&**self.cell).addr();
        let act = move |frame: &Frame| {
            let action = not_begun.begin();
            // SAFETY: the change stands behind that, and is used once, here.
            unsafe { self.act(frame, make, action.payload.add(1), here) }
        };
        let result = match about.place {
            // (A frame is its thread's.)
            Place::Blocking => blocking(|| {
                let frame = Frame::new(agent);
                frame.enter(|| about.bound.call(|| act(&frame)))
            }),
            _ => about.bound.call(|| act(frame)),
        };
        drop_quietly(ManuallyDrop::into_inner(about));
        result
    }

    /// Runs an action, with all that belongs to it.
    ///
    /// # Safety
    /// There is a change, for this function, which is not used afterwards.
    #[inline(always)]
    unsafe fn act(
        &mut self,
        frame: &Frame,
        make: Make<T>,
        change: *mut Word,
        here: Option<Handle>,
    ) -> Result<(), Box<AgentError>> {
        frame.begin();
        if self.cell.has_rules() {
            // SAFETY: as of this one.
            return unsafe { self.act_by_rules(frame, make, change) };
        }
        // SAFETY: as of this one.
        if let Err(error) = unsafe { self.make(make, change) } {
            return self.failed(frame, None, error);
        }
        let new = self.made();
        let (old, was_read) = self.cell.publish_and_pop(new, here, &mut self.next);
        self.end_value(old, was_read);
        frame.release();
        Ok(())
    }

    /// The same, of an agent that has a validator, watches, a handler or another mode; or had.
    ///
    /// # Safety
    /// As of [`act`](Self::act).
    #[inline(never)]
    unsafe fn act_by_rules(&mut self, frame: &Frame, make: Make<T>, change: *mut Word) -> Result<(), Box<AgentError>> {
        let rules = self.cell.rules().unwrap_or_default();
        // SAFETY: as of this one.
        let result = unsafe { self.make(make, change) }.and_then(|place| {
            // SAFETY: the value was made there.
            if let Err(error) = rules.validate(unsafe { &*place }) {
                // SAFETY: as above; it is used no more.
                drop_quietly(unsafe { place.read() });
                return Err(Box::new(error));
            }
            let new = self.made();
            let (old, was_read) = self.cell.publish(new);
            // SAFETY: the value stands until this publishes another one.
            let told = rules.tell(&old, unsafe { &*place });
            self.end_value(old, was_read);
            told.map_err(Box::new)
        });
        if let Err(error) = result {
            return self.failed(frame, Some(rules), error);
        }
        frame.release();
        // (The last of them, if they were replaced meanwhile. Here: what a destructor sends is not
        // held any more.)
        Rules::end(rules);
        Ok(())
    }

    /// Makes a new value in the spare memory, where it is then.
    ///
    /// # Safety
    /// As of [`act`](Self::act).
    #[inline(always)]
    unsafe fn make(&mut self, make: Make<T>, change: *mut Word) -> Result<*mut T, Box<AgentError>> {
        let place = Arc::as_ptr(self.spare.get_or_insert_with(Arc::new_uninit)).cast_mut().cast::<T>();
        let old = self.value;
        // SAFETY: the change is there, once. The old value stands until this publishes another one.
        // The place is room for a value, which nobody else has.
        let made = user_code::body(|| unsafe { make(change, &*old, place) });
        made.map_err(panicked)?;
        Ok(place)
    }

    /// The value that was made, which is to be published.
    #[inline(always)]
    fn made(&mut self) -> Arc<T> {
        let new = self.spare.take().expect("the memory in which a value was made");
        // SAFETY: the value was made there.
        let new = unsafe { new.assume_init() };
        self.value = Arc::as_ptr(&new);
        new
    }

    /// Drops an old value. Its memory is room for another one, if nobody else has it.
    #[inline(always)]
    fn end_value(&mut self, mut old: Arc<T>, was_read: bool) {
        if was_read && Arc::get_mut(&mut old).is_none() {
            return drop_value(|| drop(old));
        }
        let place = Arc::into_raw(old);
        if needs_drop::<T>() {
            // SAFETY: nobody else has the value: it was not handed out, or has come back; it is
            // dropped once, here. (The turn is never cancelled, so nothing has to be kept off.)
            let dropped = user_code::body(|| drop(unsafe { place.read() }));
            if let Err(payload) = dropped {
                drop_value(|| resume(payload));
            }
        }
        // SAFETY: the address of an `Arc`, whose value is gone; so it is one of room for a value.
        self.spare = Some(unsafe { Arc::from_raw(place.cast()) });
    }

    /// An action has failed, under these rules: does what the agent's mode says.
    #[cold]
    #[inline(never)]
    fn failed(
        &self,
        frame: &Frame,
        rules: Option<Arc<Rules<T>>>,
        error: Box<AgentError>,
    ) -> Result<(), Box<AgentError>> {
        frame.give_up();
        rules.into_iter().for_each(Rules::end);
        // (Read anew: the action may have changed them.)
        let rules = self.cell.rules();
        if let Some(rules) = &rules {
            rules.handle(&self.cell, &error);
        }
        let goes_on = rules.as_ref().is_some_and(|rules| rules.mode == ErrorMode::Continue);
        rules.into_iter().for_each(Rules::end);
        if goes_on { Ok(()) } else { Err(error) }
    }
}

/// An action has panicked.
#[cold]
#[inline(never)]
fn panicked(payload: Payload) -> Box<AgentError> {
    Box::new(AgentError::Panic(text_of(payload)))
}

impl<T: Send + Sync + 'static> Drop for Run<T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: taken out once, here: a consumer that leaves is not dropped.
        let cell = unsafe { ManuallyDrop::take(&mut self.cell) };
        cell.fail(AgentError::Panic("the agent's turn has unwound (a bug in Myriad)".into()));
    }
}
