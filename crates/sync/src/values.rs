//! Values of the user's that this library keeps.
//!
//! What keeps them (slots, lists, rings, boards) drops none by itself, under a lock or elsewhere:
//! each such type says `no_drop_glue` where it stands, and does not compile with a bare value or
//! waker in it.

use myriad_core::engine::user_code::UserValue;
use std::mem::needs_drop;

/// Dropping a `T` does nothing. (In a model atomics have destructors.)
pub(crate) const fn no_drop_glue<T>() {
    assert!(
        cfg!(loom) || !needs_drop::<T>(),
        "user code would run wherever this is dropped: keep a UserValue, a StoredWaker or a MaybeUninit"
    );
}

/// Drops them, in order, in the caller's own name. If a destructor panics the others are dropped
/// all the same, and the panic goes on.
pub(crate) fn drop_all<T>(values: impl IntoIterator<Item = UserValue<T>>) {
    drop(values.into_iter().map(UserValue::give).collect::<Vec<T>>());
}
