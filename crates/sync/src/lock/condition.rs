//! Notifications that carry a value.

use crate::entry::{DONE, Entry, List};
use crate::guarded::Guarded;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, Waiter};
use std::mem::{ManuallyDrop, MaybeUninit};

mod forms;
mod future;
mod notified;
pub use future::{NotifiedFuture, NotifiedWithFuture};

/// Tasks wait here until they are notified, and are told a value with it.
///
/// Notifications are *edges*: one that comes when nobody waits has no effect, and its value comes
/// back to who sent it. To make waits fail, send errors: a `Condition<Result<V, E>>`. Who waits
/// longest is notified first; [`first`](Condition::first) stands before all others. Nobody is woken
/// for nothing.
///
/// Without a lock nothing says whether somebody waits already when the notification comes. With one
/// ([`wait_with`](Condition::wait_with), [`wait_with_reentrant`](Condition::wait_with_reentrant))
/// who notifies under the same lock is not missed: the lock is given back when the caller stands in
/// line, and taken again afterwards.
///
/// # Cancellation
/// A notification and the end of a wait (by a time limit, or a cancellation) are decided against
/// each other once. Either the wait has the value and returns it (the cancellation arrives at the
/// next blocking point), or the notification goes to another. A value that was sent to one alone,
/// and whose future is dropped before it is ready or which cannot take its lock again, goes to the
/// next that waits; if none does, it is dropped. So no notification is lost as long as somebody
/// waits for it.
///
/// *Source.* Julia's `Condition` and `Threads.Condition`: `notify(c, v; all, error)`,
/// `wait(c; first)`.
///
/// # Examples
/// ```
/// use myriad::sync::{Condition, Mutex};
/// let (prices, ready) = (Condition::new(), Mutex::new(0));
/// myriad::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| {
///             let mut waiting = ready.lock().unwrap();
///             *waiting += 1;
///             let (_guard, price) = prices.wait_with(waiting).unwrap();
///             assert_eq!(price, 42);
///         });
///     }
///     while *ready.lock().unwrap() < 3 {
///         myriad::yield_now();
///     }
///     let _guard = ready.lock().unwrap();
///     assert_eq!(prices.notify_all(42), 3);
///     assert_eq!(prices.notify_one(43), Err(43), "nobody waits any more");
/// });
/// ```
#[doc(alias = "Notify")]
#[doc(alias = "signal")]
pub struct Condition<T> {
    inner: Guarded<ConditionState<T>>,
}

struct ConditionState<T> {
    list: List<ConditionSlot<T>>,
    /// Of those who come now: a notification of all is for those who waited when it began.
    generation: u64,
}

/// What stands in an entry.
struct ConditionSlot<T> {
    generation: u64,
    /// Once it is notified.
    value: MaybeUninit<T>,
}

const _: () = crate::values::no_drop_glue::<ConditionState<String>>();
const _: () = crate::values::no_drop_glue::<ConditionSlot<String>>();

/// Instead of the generation, of one who was notified alone.
const ALONE: u64 = u64::MAX;

/// Waits at a [`Condition`] before all others: [`Condition::first`].
pub struct First<'a, T>(&'a Condition<T>);

impl<T> Condition<T> {
    const_fn! {
        /// A condition at which nobody waits.
        pub const fn new() -> Condition<T> {
            Condition { inner: Guarded::new(ConditionState { list: List::new(), generation: 0 }) }
        }
    }

    /// Lets the one go on that has waited longest, with this value. Never blocks. O(1), but for
    /// those whose time is over and who are still in line.
    ///
    /// # Errors
    /// Nobody waits: the value comes back.
    pub fn notify_one(&self, value: T) -> Result<(), T> {
        match self.hand_over(value, None) {
            Ok((waiter, _)) => {
                // SAFETY: the waiter was claimed, and is woken once.
                unsafe { waiter.wake() };
                Ok(())
            }
            Err(value) => Err(value),
        }
    }

    /// Lets all go on that wait now, each with a clone of this value. Returns how many. Never
    /// blocks, unless cloning does. O(waiters), and those who [jumped the queue](Self::first)
    /// meanwhile. The clones are made one after the other: a wait whose time is over before its
    /// turn ends without one, when others have theirs.
    ///
    /// # Panics
    /// If cloning does, or the destructor of a clone; those who have had no value yet wait on.
    pub fn notify_all(&self, value: T) -> usize
    where
        T: Clone,
    {
        let caller = Caller::get();
        let upto = self.inner.locked(caller, |state| {
            state.generation += 1;
            (!state.list.is_empty()).then_some(state.generation - 1)
        });
        let (mut count, mut more) = (0, upto.is_some());
        while more {
            // Cloned without the lock, as it is user code.
            let Ok((waiter, others)) = self.hand_over(value.clone(), upto) else { break };
            (count, more) = (count + 1, others);
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { waiter.wake() };
        }
        count
    }

    /// Does nobody wait now?
    pub fn is_empty(&self) -> bool {
        self.inner.locked(Caller::get(), |state| state.list.is_empty())
    }

    /// To wait before all others that wait now.
    pub fn first(&self) -> First<'_, T> {
        First(self)
    }

    /// Moves the value to the first who waits, of those up to this generation or of all. The waiter
    /// is to be woken; and does another one wait of whom that is true?
    fn hand_over(&self, value: T, upto: Option<u64>) -> Result<(Waiter, bool), T> {
        let value = ManuallyDrop::new(value);
        let met = self.inner.locked(Caller::get(), |state| {
            // SAFETY: under the lock; linked entries are live and their generations written. The
            // value is moved out of its place once, if somebody is met.
            unsafe {
                let (entry, waiter) = state.claim(upto)?;
                let slot = (*entry).slot();
                (*slot).value.as_mut_ptr().copy_from_nonoverlapping(&raw const *value, 1);
                if upto.is_none() {
                    (*slot).generation = ALONE;
                }
                Entry::end(entry, DONE);
                Some((waiter, !state.find(upto).is_null()))
            }
        });
        met.ok_or_else(|| ManuallyDrop::into_inner(value))
    }
}

impl<T> ConditionState<T> {
    /// The first who waits, of those up to this generation or of all; null if nobody does.
    fn find(&self, upto: Option<u64>) -> *mut Entry<ConditionSlot<T>> {
        let mut entry = self.list.first();
        // SAFETY: the state is reached under the lock only: linked entries are live, and their
        // generations written.
        unsafe {
            while !entry.is_null() && upto.is_some_and(|upto| (*(*entry).slot()).generation > upto) {
                entry = self.list.behind(entry);
            }
        }
        entry
    }

    /// Takes it out, and decides that the caller ends its wait.
    fn claim(&mut self, upto: Option<u64>) -> Option<(*mut Entry<ConditionSlot<T>>, Waiter)> {
        loop {
            let entry = self.find(upto);
            if entry.is_null() {
                return None;
            }
            // SAFETY: the state is reached under the lock only; what `find` returns is in the list.
            if let Some(waiter) = unsafe { self.list.claim(entry) } {
                return Some((entry, waiter));
            }
        }
    }
}

impls! {
    Default for Condition<T> [T]: Condition::new();
    Debug for Condition<T> [T]: {};
    Debug for First<'_, T> [T]: opaque;
}
