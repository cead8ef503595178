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
    pub(super) value: V,
}

impl<V: ?Sized> Drop for Binding<V> {
    fn drop(&mut self) {
        // One after the other: recursion as deep as the list would overflow a stack.
        let mut next = self.parent.take();
        while let Some(mut binding) = next {
            next = Arc::get_mut(&mut binding).and_then(|binding| binding.parent.take());
        }
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
/// When the call panics, the binding ends.
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
                    && let Some(value) = SharedValue::<T>::of(&binding.value)
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
    pub fn with_value<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let parent = current();
        let _bound = bind(Arc::new(Binding { key: self.key(), parent, value }));
        f()
    }

    /// A future that has this value bound in each of its polls.
    ///
    /// The value is seen inside in front of what is bound around the poll. Dropping the future
    /// drops what it holds without the binding.
    ///
    /// # Examples
    /// ```
    /// # use myriad::task::ScopedValue;
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
pub(super) fn bind(binding: Arc<Binding>) -> Unbind {
    let context = find_or_make();
    assert!(!context.is_null(), "nothing can be bound any more on this thread: its own values are gone");
    // SAFETY: what `find_or_make` returns is the caller's own context.
    Unbind(unsafe { &*context }.with_bindings(|bindings| bindings.replace(binding)))
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
