//! Task-locals.

use super::locals::Lookup;
use super::{Context, find, find_or_make};
use std::cell::{Cell, RefCell};
use std::fmt;

/// Declares task-locals: statics of which each task has its own value.
///
/// Shaped like std's `thread_local!`. The value is made at the task's first use, and dropped at the
/// task's end, on its stack, before a joiner goes on: the newest first. See [`LocalKey`].
///
/// # Examples
/// ```
/// use std::cell::Cell;
///
/// myriad::task_local! {
///     /// How many requests this task has served.
///     static SERVED: Cell<u32> = Cell::new(0);
/// }
///
/// SERVED.set(7);                                                    // this thread's own
/// let task = myriad::spawn(|| {
///     SERVED.set(SERVED.get() + 1);                                 // the task's
///     SERVED.get()
/// });
/// assert_eq!((task.join().unwrap(), SERVED.get()), (1, 7));
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::task_local!($(#[$attr])* $vis static $name: $t = $init);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::task::LocalKey<$t> = {
            fn init() -> $t {
                $init
            }
            $crate::task::LocalKey::new(init)
        };
    };
}

/// A task-local: see [`task_local!`](crate::task_local!).
///
/// Each task has its own value, wherever it runs: a closure, a future (each of its polls sees it),
/// the second closure of a `join`. A task does not inherit the values of the one that spawns it;
/// for that see [`ScopedValue`](super::ScopedValue). A foreign thread has its own, as of a
/// `thread_local!`. The destructor of a result that nobody takes runs as its task, whose
/// task-locals have ended by then: what such a destructor uses is made anew, and ends with it. The
/// same goes for a waker that a worker calls between two tasks.
///
/// An access costs a few nanoseconds, and is linear in the number of task-locals that the task
/// uses.
///
/// # Blocking
/// `init`, what is called with the value, and the value's destructor may block, like any code of
/// the task.
///
/// # Panics
/// If `init` panics, that goes on in the caller, and the next access tries again. If a destructor
/// panics at the task's end, it is reported like the panic of a detached task, and the other values
/// are dropped all the same; the task's result is not touched.
///
/// # Examples
/// ```
/// use std::cell::{Cell, RefCell};
///
/// myriad::task_local! {
///     static DEPTH: Cell<u32> = Cell::new(0);
///     static WORDS: RefCell<Vec<&'static str>> = RefCell::new(Vec::new());
/// }
///
/// let task = myriad::spawn(|| {
///     assert_eq!((DEPTH.replace(3), DEPTH.take(), DEPTH.get()), (0, 3, 0));
///     WORDS.with_borrow_mut(|words| words.push("one"));
///     assert_eq!(WORDS.with_borrow(Vec::len), WORDS.with(|words| words.borrow().len()));
///     assert_eq!(DEPTH.try_with(Cell::get), Ok(0));
///     WORDS.take()
/// });
/// assert_eq!(task.join().unwrap(), ["one"]);
/// ```
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// The task-local has been dropped, says [`LocalKey::try_with`]: its task, or thread, is at its
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this task-local was dropped already: its task is at its end")
    }
}

impl std::error::Error for AccessError {}

/// Counts a use of a context's locals.
struct Borrow(*mut Context);

impl Borrow {
    fn of(context: *mut Context) -> Borrow {
        // SAFETY: the context is the caller's own (C1), and stands until its task has ended.
        let borrows = unsafe { &(*context).borrows };
        borrows.set(borrows.get() + 1);
        Borrow(context)
    }
}

impl Drop for Borrow {
    fn drop(&mut self) {
        // SAFETY: a context stands until its task's end, and this is in the task.
        let borrows = unsafe { &(*self.0).borrows };
        borrows.set(borrows.get() - 1);
    }
}

impl<T: Send + 'static> LocalKey<T> {
    /// What the macro calls.
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> LocalKey<T> {
        LocalKey { init }
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Calls `f` with the task's value, which is made now if this is the first use.
    ///
    /// # Panics
    /// If the value has been dropped already ([`try_with`](Self::try_with) says so instead).
    #[inline]
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls `f` with the task's value, as [`with`](Self::with) does, but:
    ///
    /// # Errors
    /// [`AccessError`]: the value has been dropped already. Only destructors that run at the task's
    /// end can meet this.
    #[inline]
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let (context, value) = self.get_or_init(self.init)?;
        let _borrow = Borrow::of(context);
        // SAFETY: the value stands in its box until the task's end, and then it is first taken out
        // of the list; a task that is in this function is not at its end, or has not come to this
        // value.
        Ok(f(unsafe { &*value }))
    }

    /// The task's value, made by `init` if there is none.
    #[inline]
    fn get_or_init(&'static self, init: impl FnOnce() -> T) -> Result<(*mut Context, *const T), AccessError> {
        let context = find();
        if !context.is_null() {
            // SAFETY: what `find` returns is the caller's own context.
            match unsafe { (*context).with_locals(|locals| locals.find::<T>(self.key())) } {
                Lookup::Value(value) => return Ok((context, value)),
                Lookup::Buried => return Err(AccessError),
                Lookup::Nothing => {}
            }
        }
        self.first_use(init)
    }

    #[cold]
    fn first_use(&'static self, init: impl FnOnce() -> T) -> Result<(*mut Context, *const T), AccessError> {
        if find_or_make().is_null() {
            return Err(AccessError);
        }
        // Foreign code: it may block, and may use this very key.
        let value = Box::new(init());
        let context = find_or_make();
        let key = self.key();
        // SAFETY: what `find_or_make` returns is the caller's own context.
        let context_ref = unsafe { &*context };
        match context_ref.with_locals(|locals| locals.find::<T>(key)) {
            // The first one made stays, for it may be in use.
            Lookup::Value(first) => Ok((context, first)),
            Lookup::Buried => Err(AccessError),
            Lookup::Nothing => {
                let inserted = context_ref.with_locals(|locals| locals.insert(key, value));
                Ok((context, inserted.expect("it was put there")))
            }
        }
    }

    /// Puts a value there, without `init` if this is the first use.
    #[track_caller]
    fn put<V>(&'static self, value: V, wrap: impl FnOnce(V) -> T, set: impl FnOnce(&T, V)) {
        let value = Cell::new(Some(value));
        let made = self.get_or_init(|| wrap(value.take().expect("not used yet")));
        let (context, at) = match made {
            Ok(made) => made,
            Err(error) => panic!("{error}"),
        };
        if let Some(value) = value.take() {
            let _borrow = Borrow::of(context);
            // SAFETY: the value stands in its box until the task's end, and this borrow is in the
            // task.
            set(unsafe { &*at }, value);
        }
    }
}

impl<T: Send + 'static> LocalKey<Cell<T>> {
    /// Sets the task's value; `init` is not called for that.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.put(value, Cell::new, Cell::set);
    }
    /// A copy of the task's value.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }
    /// Takes the task's value, and leaves the default.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }
    /// Sets the task's value, and returns what it was.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

/// What [`LocalKey::with_borrow`] and its kind say.
const BORROWED: &str = "the task-local is borrowed already, by the caller itself: end that borrow first";

impl<T: Send + 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with a reference to the value.
    ///
    /// # Panics
    /// As [`with`](Self::with), and if the value is borrowed mutably.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let result = self.with(|cell| cell.try_borrow().ok().map(|value| f(&value)));
        result.expect(BORROWED)
    }
    /// Calls `f` with a mutable reference to the value.
    ///
    /// # Panics
    /// As [`with`](Self::with), and if the value is borrowed.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        let result = self.with(|cell| cell.try_borrow_mut().ok().map(|mut value| f(&mut value)));
        result.expect(BORROWED)
    }
    /// Sets the task's value; `init` is not called for that.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.put(value, RefCell::new, |cell, value| drop(cell.replace(value)));
    }
    /// Takes the task's value, and leaves the default.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with_borrow_mut(std::mem::take)
    }
    /// Sets the task's value, and returns what it was.
    ///
    /// # Panics
    /// As [`with_borrow_mut`](Self::with_borrow_mut).
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with_borrow_mut(|place| std::mem::replace(place, value))
    }
}
