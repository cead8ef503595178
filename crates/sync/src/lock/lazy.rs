//! A value that is made when it is first used.

use super::once_lock::OnceLock;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A value that is made by a closure when it is first used.
///
/// As `std::sync::LazyLock`, for tasks: the closure may block, and those who come meanwhile are set
/// aside. If it panics the value is poisoned: each later use panics.
///
/// # Examples
/// ```
/// use myriad::sync::LazyLock;
/// static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| "made at the first use".split(' ').collect());
/// LazyLock::force(&WORDS); // now, and not at the first use
/// assert_eq!(WORDS.len(), 5);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    init: UnsafeCell<Option<F>>,
}

// SAFETY: the closure is taken by one, whose turn it is; the value is the cell's.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    const_fn! {
        /// A value that `f` makes.
        pub const fn new(f: F) -> LazyLock<T, F> {
            LazyLock { cell: OnceLock::new(), init: UnsafeCell::new(Some(f)) }
        }
    }

    /// The value; makes it if nobody has. The same as to dereference it.
    ///
    /// # Blocking
    /// While another one makes it. The calling task is set aside meanwhile, a foreign thread
    /// sleeps. The closure runs on the caller.
    ///
    /// # Panics
    /// If the closure does, now or earlier, or uses the value itself. If it must wait and there is
    /// no memory for a stack.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        match this.cell.get() {
            Some(value) => value,
            None => this.make(),
        }
    }

    #[cold]
    #[track_caller]
    fn make(&self) -> &T {
        if let Some((running, _)) = self.cell.once.begin(false) {
            // SAFETY: it is our turn: nobody else comes here.
            let init = unsafe { (*self.init.get()).take() };
            let init = init.expect("a LazyLock whose closure was taken is complete or poisoned");
            self.cell.fill(running, init());
        }
        self.cell.filled()
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cell.get() {
            Some(value) => f.debug_tuple("LazyLock").field(value).finish(),
            None => f.write_str("LazyLock(<not made yet>)"),
        }
    }
}

impls! {
    Default for LazyLock<T> [T: Default]: LazyLock::new(T::default);
}
