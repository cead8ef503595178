//! What is in an agent's queue: changes and marks.
//!
//! A change stands in the queue as it was sent, behind its kind; with what holds for it beside,
//! where there is any such thing. What is too large for that, or is aligned to more than a word,
//! has a box.

use crate::cell::Cell;
use crate::error::AgentError;
use crate::kept::Kept;
use crate::queue::{Kind, Queue, Taken, Word, fits};
use myriad_core::Handle;
use myriad_core::engine::scoped::Captured;
use myriad_sync::channel::OnceSender;
use std::mem;

/// Makes a new value of the old one.
pub(crate) trait Change<T>: Send + 'static {
    /// Makes it at `place`. If this panics there is none.
    ///
    /// # Safety
    /// The place is one for a value, and nobody else uses it.
    unsafe fn make(self, old: &T, place: *mut T);
}

/// Changes a copy.
pub(crate) struct OnCopy<F>(pub(crate) F);

/// Makes a value.
pub(crate) struct AsNew<F>(pub(crate) F);

/// What is too large for a queue.
pub(crate) struct Boxed<C>(pub(crate) Box<C>);

/// A copy that is being changed: goes if that panics.
struct Unfinished<T>(*mut T);

impl<T> Drop for Unfinished<T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: it was written by who made this, and nobody uses it afterwards.
        drop(unsafe { self.0.read() });
    }
}

impl<T: Clone, F: FnOnce(&mut T) + Send + 'static> Change<T> for OnCopy<F> {
    #[inline]
    unsafe fn make(self, old: &T, place: *mut T) {
        // SAFETY: it is a place for a value, which nobody else uses (this function's contract).
        unsafe {
            place.write(old.clone());
            let unfinished = Unfinished(place);
            (self.0)(&mut *place);
            mem::forget(unfinished);
        }
    }
}

impl<T, F: FnOnce(&T) -> T + Send + 'static> Change<T> for AsNew<F> {
    #[inline]
    unsafe fn make(self, old: &T, place: *mut T) {
        let new = (self.0)(old);
        // SAFETY: it is a place for a value, which nobody else uses (this function's contract).
        unsafe { place.write(new) };
    }
}

impl<T, C: Change<T>> Change<T> for Boxed<C> {
    unsafe fn make(self, old: &T, place: *mut T) {
        // SAFETY: as of this one.
        unsafe { (*self.0).make(old, place) }
    }
}

/// Makes a new value by the change that stands there, and is not used afterwards.
pub(crate) type Make<T> = unsafe fn(change: *mut Word, old: &T, place: *mut T);

/// How what is in the queue is done.
pub(crate) enum Call<T> {
    /// The payload is a change.
    Change(Make<T>),
    /// The payload is an [`About`], and a change behind it.
    With(Make<T>),
    /// The payload is [`Told`]: all before it is done.
    Mark,
}

/// Tells one who waits for the actions before its mark.
pub(crate) type Told = OnceSender<Result<(), AgentError>>;

/// An agent's queue.
pub(crate) type Actions<T> = Queue<Call<T>>;

/// What was taken out of it.
pub(crate) type Action<T> = Taken<Call<T>>;

/// Where an action runs.
#[derive(Clone, Copy, Default)]
pub(crate) enum Place {
    #[default]
    Home,
    Blocking,
    Pool(Handle),
}

/// What holds for a change beside.
pub(crate) struct About {
    /// The scoped values of the sender.
    pub(crate) bound: Captured,
    pub(crate) place: Place,
}

impl About {
    /// What holds for a change that the caller sends. `None`, most often: where nothing is bound,
    /// and in the agent's own pool.
    #[inline(always)]
    pub(crate) fn here(place: Place) -> Option<Box<About>> {
        let bound = Captured::here();
        let is_plain = bound.is_empty() && matches!(place, Place::Home);
        (!is_plain).then(|| Box::new(About { bound, place }))
    }

    /// The pool in which that is done; a call that blocks goes to its thread from the agent's own
    /// pool.
    pub(crate) fn pool(&self, home: Handle) -> Handle {
        match self.place {
            Place::Home | Place::Blocking => home,
            Place::Pool(pool) => pool,
        }
    }
}

#[repr(C)]
struct With<C> {
    about: Box<About>,
    change: C,
}

/// A change that is held.
#[repr(C)]
struct Held<T: Send + Sync + 'static, C> {
    to: Kept<T>,
    about: Option<Box<About>>,
    change: C,
}

/// Changes of this type, for agents with such values.
struct Changes<T, C>(T, C);

/// See [`Make`].
///
/// # Safety
/// A change of this type stands there, and is not used afterwards. The place is one for a value,
/// and nobody else uses it.
unsafe fn make<T, C: Change<T>>(change: *mut Word, old: &T, place: *mut T) {
    // SAFETY: this function's contract.
    unsafe { change.cast::<C>().read().make(old, place) }
}

impl<T: Send + Sync + 'static, C: Change<T>> Changes<T, C> {
    const PLAIN: &'static Kind<Call<T>> = &Kind::of::<C>(Call::Change(make::<T, C>));
    const WITH: &'static Kind<Call<T>> = &Kind::of::<With<C>>(Call::With(make::<T, C>));
    const HELD: &'static Kind<SendHeld> = &Kind::of::<Held<T, C>>(Self::send_held);

    /// See [`SendHeld`].
    unsafe fn send_held(payload: *mut Word) {
        let held = payload.cast::<Held<T, C>>();
        // SAFETY: such a payload stands there, whose parts are moved out of it one by one, first of
        // all (this function's contract).
        unsafe {
            let (to, about) = ((&raw const (*held).to).read(), (&raw const (*held).about).read());
            let (change, words) = ((&raw const (*held).change).cast(), size_of::<C>().div_ceil(size_of::<Word>()));
            match about {
                None => to.send_last(None, |queue| queue.push_parts(Self::PLAIN, None, change, words)),
                Some(about) => Self::send_with(to, about, change, words),
            }
        }
    }

    /// Sends a change for which something holds.
    ///
    /// # Safety
    /// There is such a change of so many words, which is not used there afterwards.
    #[cold]
    #[inline(never)]
    unsafe fn send_with(to: Kept<T>, about: Box<About>, change: *const Word, words: usize) {
        let pool = about.pool(to.home);
        let about = Word::new(Box::into_raw(about).cast());
        // SAFETY: as of this function.
        to.send_last(Some(pool), |queue| unsafe { queue.push_parts(Self::WITH, Some(about), change, words) });
    }
}

/// Sends a change that was held: its payload, which is moved before anything else is done, and not
/// used afterwards.
pub(crate) type SendHeld = unsafe fn(payload: *mut Word);

/// Does a change like this one stand in a queue as it is?
#[inline(always)]
pub(crate) fn is_small<T: Send + Sync + 'static, C>(_change: &C, _for: &Cell<T>) -> bool {
    fits::<Held<T, C>>()
}

/// Puts a change into an agent's queue.
#[inline(always)]
pub(crate) fn push<T: Send + Sync + 'static, C: Change<T>>(
    queue: &mut Actions<T>,
    change: C,
    about: Option<Box<About>>,
) {
    // SAFETY: the kinds are those of such payloads.
    unsafe {
        match about {
            None => queue.push(Changes::<T, C>::PLAIN, change),
            Some(about) => queue.push(Changes::<T, C>::WITH, With { about, change }),
        }
    }
}

/// Holds a change for the agent with this cell.
#[inline(always)]
pub(crate) fn hold<T: Send + Sync + 'static, C: Change<T>>(
    queue: &mut Queue<SendHeld>,
    to: Kept<T>,
    change: C,
    about: Option<Box<About>>,
) {
    // SAFETY: the kind is that of such payloads.
    unsafe { queue.push(Changes::<T, C>::HELD, Held { to, about, change }) }
}

/// Puts a mark into an agent's queue.
pub(crate) fn push_mark<T: 'static>(queue: &mut Actions<T>, told: Told) {
    // SAFETY: the kind is that of such payloads.
    unsafe { queue.push(const { &Kind::of::<Told>(Call::Mark) }, told) }
}

impl<T> Taken<Call<T>> {
    /// What holds for this change, which has not been done.
    #[inline(always)]
    pub(crate) fn about(&self) -> Option<&About> {
        match self.kind.call {
            // SAFETY: such a payload begins with that, which stands until the change has been done.
            Call::With(_) => Some(unsafe { &**self.payload.cast::<Box<About>>() }),
            _ => None,
        }
    }
}
