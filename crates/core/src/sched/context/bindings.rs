//! Scoped values: bound for the time of a call, seen by all that is called and spawned in it.
//!
//! ```text
//!  task:   LEVEL = 3 -> USER = "ann" -> LEVEL = 1          innermost first; each binding is counted
//!  child:               ^ (spawned before LEVEL = 3)
//! ```
//! A binding never changes, so tasks share the list without locks. Source of the semantics: Julia's
//! `ScopedValues` (1.11), Java's `ScopedValue`.

use super::scoped::{Bound, SharedValue};
use super::{end_if_empty, find, find_or_make};
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code::UserValue;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A list of bindings, innermost first.
pub(super) type Chain = Option<Arc<Binding>>;

/// One value, in a list of them.
pub(super) struct Binding<V: ?Sized = dyn Any + Send + Sync> {
    /// The address of the `ScopedValue`.
    pub(super) key: usize,
    pub(super) parent: Chain,
    /// Dropped through the door: its destructor is user code.
    pub(super) value: UserValue<V>,
}

impl<V> Binding<V> {
    /// This value, in front of these.
    pub(super) fn new(key: usize, parent: Chain, value: V) -> Binding<V> {
        Binding { key, parent, value: UserValue::new(value) }
    }
}

impl<V: ?Sized> Drop for Binding<V> {
    /// Drops the values of the list, innermost first, as far as nobody else sees them. If a
    /// destructor panics the others are dropped all the same, and the first panic goes on; not out
    /// of a destructor that runs because of a panic.
    fn drop(&mut self) {
        // SAFETY: the binding ends, so nobody looks at its value afterwards.
        let mut first = unsafe { self.value.drop_in_place() };
        // One after the other: recursion as deep as the list would overflow a stack. (Where the
        // last two handles of a binding go at the same time, neither of them may be the only one
        // here. Then the later one drops the rest of the list in a call of this function.)
        let mut next = self.parent.take();
        while let Some(mut binding) = next {
            next = Arc::get_mut(&mut binding).and_then(|binding| binding.parent.take());
            keep_first(&mut first, UserValue::new(binding).drop_value());
        }
        if let Err(payload) = first {
            if std::thread::panicking() { unwind::discard(payload) } else { unwind::resume(payload) }
        }
    }
}

/// Of two ends of destructors the first panic; the other one is discarded.
fn keep_first(first: &mut Result<(), Payload>, second: Result<(), Payload>) {
    if first.is_ok() {
        *first = second;
    } else {
        _ = second.map_err(unwind::discard);
    }
}

/// A value that is bound for the time of a call, and that the call's children inherit.
///
/// [`with_value`](Self::with_value) binds; [`get`](Self::get) and [`with`](Self::with) see the
/// innermost binding around the caller. Whatever is spawned inside (by `spawn`, `spawn_async`, a
/// scope, `join`, wherever it runs) sees the bindings as they were at the spawn, also when the call
/// that bound them is over. A binding cannot be changed, only hidden by an inner one; so it needs
/// no lock, and what a callee binds never shows in its caller.
///
/// For what belongs to a request or a computation (its user, its log level, its deadline) and
/// should not be an argument of every function. A static, always:
/// `static LEVEL: ScopedValue<u32> = ScopedValue::new(0);`.
///
/// Costs: binding allocates once; looking up is linear in the number of bindings around the caller;
/// a spawn within a binding costs some ten nanoseconds more than one without. Foreign threads bind
/// and inherit in the same way.
///
/// # Panics
/// When the call panics, the binding ends. A panic of the value's destructor goes on in the caller,
/// unless the call has panicked; where a task's end drops values that it has inherited, the first
/// panic is reported like that of a detached task. Cancellations are kept off the destructor.
///
/// # Examples
/// ```
/// use myriad::task::ScopedValue;
///
/// static USER: ScopedValue<&str> = ScopedValue::new("nobody");
///
/// let task = USER.with_value("ann", || {
///     assert_eq!(USER.with_value("bob", || USER.get()), "bob");
///     myriad::spawn(|| USER.get())
/// });
/// assert_eq!(USER.get(), "nobody");
/// assert_eq!(task.join().unwrap(), "ann");
/// ```
#[doc(alias = "context")]
#[doc(alias = "InheritableThreadLocal")]
pub struct ScopedValue<T> {
    default: T,
    /// A size, for an address of its own.
    _anchor: u8,
}

impl<T: fmt::Debug> fmt::Debug for ScopedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedValue").field("default", &self.default).finish_non_exhaustive()
    }
}

impl<T> ScopedValue<T> {
    /// With this value where none is bound. (A `ScopedValue<Option<T>>` has none there.)
    pub const fn new(default: T) -> ScopedValue<T> {
        ScopedValue { default, _anchor: 0 }
    }
}

impl<T: Send + Sync + 'static> ScopedValue<T> {
    pub(super) fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// A copy of the value that is bound around the caller, or of the default.
    #[inline]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Calls `f` with the value that is bound around the caller, or with the default.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::ScopedValue;
    /// static WORDS: ScopedValue<Vec<&str>> = ScopedValue::new(Vec::new());
    /// assert_eq!(WORDS.with_value(vec!["a", "b"], || WORDS.with(Vec::len)), 2);
    /// ```
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let context = find();
        if context.is_null() {
            return f(&self.default);
        }
        let key = self.key();
        // SAFETY: what `find` returns is the caller's own context.
        let found = unsafe { &*context }.with_bindings(|bindings| {
            let mut next = bindings.as_ref();
            while let Some(binding) = next {
                if binding.key == key
                    && let Some(value) = SharedValue::<T>::of(binding.value.peek())
                {
                    return Some(std::ptr::from_ref(value));
                }
                next = binding.parent.as_ref();
            }
            None
        });
        match found {
            // SAFETY: who bound it, below on this stack, or the context, which inherited it, holds
            // the binding until `f` is over.
            Some(value) => f(unsafe { &*value }),
            None => f(&self.default),
        }
    }

    /// Calls `f` with this value bound, and returns its result.
    ///
    /// # Panics
    /// If `f` panics, that goes on. In a destructor that runs when its thread's own values are
    /// gone.
    #[track_caller]
    pub fn with_value<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let parent = current();
        let _bound = bind(Arc::new(Binding::new(self.key(), parent, value)));
        f()
    }

    /// A future that has this value bound in each of its polls.
    ///
    /// The value is seen inside in front of what is bound around the poll. Dropping the future
    /// drops what it holds without the binding.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::ScopedValue;
    /// static USER: ScopedValue<&str> = ScopedValue::new("nobody");
    /// let task = myriad::spawn_async(USER.with_value_async("ann", async { USER.get() }));
    /// assert_eq!(task.join().unwrap(), "ann");
    /// ```
    pub fn with_value_async<F: Future>(&'static self, value: T, future: F) -> Bound<T, F> {
        Bound::new(self, value, future)
    }
}

/// What is bound around the caller.
pub(super) fn current() -> Chain {
    let context = find();
    // SAFETY: what `find` returns is the caller's own context.
    if context.is_null() { None } else { unsafe { &*context }.with_bindings(|bindings| bindings.clone()) }
}

/// Binds until the guard is dropped. The binding's parent is what is bound now.
#[track_caller]
pub(super) fn bind(binding: Arc<Binding>) -> Unbind {
    let context = find_or_make();
    assert!(!context.is_null(), "nothing can be bound any more on this thread: its own values are gone");
    // SAFETY: what `find_or_make` returns is the caller's own context.
    Unbind(unsafe { &*context }.with_bindings(|bindings| bindings.replace(binding)))
}

/// What was bound around the caller at one moment: for work that is handed over past a spawn.
pub struct Captured(Chain);

impl Captured {
    /// What is bound around the caller.
    #[inline]
    pub fn here() -> Captured {
        Captured(current())
    }

    /// Nothing is bound.
    pub fn none() -> Captured {
        Captured(None)
    }

    /// Is nothing bound?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Calls `f` with this bound, and nothing else: what is bound around the caller is hidden.
    #[track_caller]
    #[inline]
    pub fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(binding) => {
                let _bound = bind(binding.clone());
                f()
            }
            None => {
                let _hidden = current().map(|_| Hidden::new());
                f()
            }
        }
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captured").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// Nothing is bound around the caller until this is dropped: holds what was bound before, of which
/// there is something, so that the context stands; and keeps the context.
struct Hidden(Chain);

impl Hidden {
    fn new() -> Hidden {
        let context = find();
        // SAFETY: what `find` returns is the caller's own context; something is bound, so there is
        // one.
        let context = unsafe { &*context };
        context.keep();
        Hidden(context.with_bindings(Option::take))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // SAFETY: what `find` returns is the caller's own context, which `new` has kept.
        let context = unsafe { &*find() };
        context.with_bindings(|bindings| *bindings = self.0.take());
        context.keep_no_more();
    }
}

/// Ends a binding: holds what was bound before.
pub(super) struct Unbind(Chain);

impl Drop for Unbind {
    fn drop(&mut self) {
        let context = find();
        // SAFETY: what `find` returns is the caller's own context, which is not empty, so it stands
        // since `bind`. What was bound is dropped outside: its destructor is foreign code.
        let ended = unsafe { &*context }.with_bindings(|bindings| std::mem::replace(bindings, self.0.take()));
        drop(ended);
        end_if_empty();
    }
}
