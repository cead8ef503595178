//! Locks that live for ever, so that an actor can keep their guards between two calls. The next
//! round uses them again.

use crate::common::locked;
use std::sync::{Arc, Mutex};

/// Those that nobody uses now.
pub(super) type Unused<T> = Mutex<Vec<&'static T>>;

pub(super) struct Kept<T: 'static> {
    pub(super) value: &'static T,
    unused: &'static Unused<T>,
}

/// One that is in its first state.
pub(super) fn keep<T: 'static>(unused: &'static Unused<T>, make: impl FnOnce() -> T) -> Arc<Kept<T>> {
    let value = locked(unused).pop();
    Arc::new(Kept { value: value.unwrap_or_else(|| Box::leak(Box::new(make()))), unused })
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        locked(self.unused).push(self.value);
    }
}
