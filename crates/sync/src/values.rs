//! Values of the user's that this library keeps.
//!
//! What keeps them (slots, lists, rings, observables) drops none by itself, under a lock or
//! elsewhere: each such type says `no_drop_glue` where it stands, and does not compile with a bare
//! value or waker in it.

use myriad_core::engine::unwind;
use myriad_core::engine::user_code::UserValue;
use std::mem::{MaybeUninit, needs_drop};

/// Dropping a `T` does nothing. (In a model atomics have destructors.)
pub(crate) const fn no_drop_glue<T>() {
    assert!(
        cfg!(loom) || !needs_drop::<T>(),
        "user code would run wherever this is dropped: keep a UserValue, a StoredWaker or a MaybeUninit"
    );
}

/// Moves a value that was written just now: a small one word by word, as it was written. (If two
/// words are read as one, the processor waits some 5 ns until both have reached the cache.
/// Volatile: so nobody makes one load of them.)
///
/// # Safety
/// `from` holds a value, which is moved, and `to` is memory for one, elsewhere.
#[inline(always)]
pub(crate) unsafe fn move_fresh<T>(from: *const T, to: *mut T) {
    type Word = MaybeUninit<*const ()>;
    const SMALL: usize = 4;
    let words = size_of::<T>() / size_of::<Word>();
    let is_of_words = align_of::<T>() == align_of::<Word>() && size_of::<T>() == words * size_of::<Word>();
    // SAFETY: `from` and `to` are as large as a value (this function's contract): so many words,
    // aligned as words are.
    unsafe {
        if is_of_words && 1 < words && words <= SMALL {
            (0..words).for_each(|i| to.cast::<Word>().add(i).write(from.cast::<Word>().add(i).read_volatile()));
        } else {
            to.copy_from_nonoverlapping(from, 1);
        }
    }
}

/// Drops them, in order, through the door, as who calls. If a destructor panics the others are
/// dropped all the same, and the first panic goes on; not out of a destructor that runs because of
/// a panic.
pub(crate) fn drop_all<T>(values: impl IntoIterator<Item = UserValue<T>>) {
    let mut panics = values.into_iter().filter_map(|value| value.drop_value().err());
    if let Some(first) = panics.next() {
        panics.for_each(unwind::discard);
        if std::thread::panicking() { unwind::discard(first) } else { unwind::resume(first) }
    }
}
