//! Values of the user's that this library keeps.
//!
//! What keeps them (slots, lists, rings, observables) drops none by itself, under a lock or
//! elsewhere: each such type says `no_drop_glue` where it stands, and does not compile with a bare
//! value or waker in it.

use myriad_core::engine::unwind;
use myriad_core::engine::user_code::UserValue;
use std::mem::needs_drop;

/// Dropping a `T` does nothing. (In a model atomics have destructors.)
pub(crate) const fn no_drop_glue<T>() {
    assert!(
        cfg!(loom) || !needs_drop::<T>(),
        "user code would run wherever this is dropped: keep a UserValue, a StoredWaker or a MaybeUninit"
    );
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
