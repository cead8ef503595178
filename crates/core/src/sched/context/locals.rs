//! The task-locals of one task: a short list, searched from its beginning.

use std::any::Any;
use std::mem::{ManuallyDrop, needs_drop};

/// What a key finds.
pub(super) enum Lookup<T> {
    /// The value. It stands still until the task's end.
    Value(*const T),
    /// It has been dropped: the task is at its end.
    Buried,
    /// Not used by this task yet.
    Nothing,
}

#[derive(Default)]
pub(super) struct Locals(Vec<LocalSlot>);

struct LocalSlot {
    /// The key's address.
    key: usize,
    /// `None` once dropped, by the context's end. Boxed, so that the list may grow while the value
    /// is in use.
    value: Option<ManuallyDrop<Box<dyn Any + Send>>>,
}

/// Who buries a value drops it through the door; the end of the list runs no user code. (Not a
/// `UserValue`: this file uses nothing of the engine.)
const _: () = assert!(!needs_drop::<LocalSlot>());

impl Locals {
    /// The value of this key. (Its type is asked for too: addresses of what is no `static` are not
    /// unique.)
    #[inline]
    pub(super) fn find<T: 'static>(&self, key: usize) -> Lookup<T> {
        for slot in self.0.iter().filter(|slot| slot.key == key) {
            match &slot.value {
                None => return Lookup::Buried,
                Some(value) => {
                    if let Some(value) = value.downcast_ref::<T>() {
                        return Lookup::Value(value);
                    }
                }
            }
        }
        Lookup::Nothing
    }

    /// The value's address is taken when its box is in the list: to move a box says that nobody
    /// else has its address.
    pub(super) fn insert<T: Send + 'static>(&mut self, key: usize, value: Box<T>) -> Option<*const T> {
        self.0.push(LocalSlot { key, value: Some(ManuallyDrop::new(value)) });
        let value = self.0.last()?.value.as_ref()?.downcast_ref::<T>()?;
        Some(value)
    }

    /// Takes the newest value, which the caller drops. Its key finds it buried from now on.
    pub(super) fn bury_newest(&mut self) -> Option<Box<dyn Any + Send>> {
        self.0.iter_mut().rev().find_map(|slot| slot.value.take()).map(ManuallyDrop::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
