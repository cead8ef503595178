//! Functions that floors above leave with a floor below, which cannot name them: what takes locks
//! at a fork, what is told of tasks that were left blocked.
//!
//! A table has a fixed number of slots. A slot is empty at first; the first function that is put
//! there stays. So a function that was seen once is there for good, and may be called at any time.
//!
//! Nothing here locks, waits or allocates: the table is read while a process forks.
//!
//! **Ordering.** `set` (release) with `get` (acquire): what the function relies on, and was done
//! before it was put there.
//!
//! **Rejected.** A list under a lock: the lock would itself have to be taken at a fork.

use std::marker::PhantomData;
use std::ptr::null_mut;
// Not through the door: nothing here is in a model.
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// A type of function pointers.
///
/// # Safety
/// The type is that of a function pointer, and `address` casts it to a pointer.
pub unsafe trait Function: Copy {
    /// The function's address.
    fn address(self) -> *mut ();
}

// SAFETY: the type of a function pointer, which is cast.
unsafe impl<R> Function for fn() -> R {
    #[inline(always)]
    fn address(self) -> *mut () {
        self as *mut ()
    }
}

// SAFETY: the type of a function pointer, which is cast.
unsafe impl<A: ?Sized, R> Function for fn(&A) -> R {
    #[inline(always)]
    fn address(self) -> *mut () {
        self as *mut ()
    }
}

/// See the module's header.
#[derive(Debug)]
pub struct Hooks<F, const N: usize> {
    /// Each null, or the address of an `F`.
    slots: [AtomicPtr<()>; N],
    functions: PhantomData<F>,
}

impl<F: Function, const N: usize> Hooks<F, N> {
    /// Each slot is empty.
    #[allow(clippy::new_without_default, reason = "for statics")]
    pub const fn new() -> Hooks<F, N> {
        Hooks { slots: [const { AtomicPtr::new(null_mut()) }; N], functions: PhantomData }
    }

    /// Puts a function into this slot, if it is empty.
    #[inline]
    pub fn set(&self, slot: usize, function: F) {
        let slot = &self.slots[slot];
        if slot.load(Relaxed).is_null() {
            // Release: pairs with the Acquire in `get`. Relaxed: another one was faster, and stays.
            _ = slot.compare_exchange(null_mut(), function.address(), Release, Relaxed);
        }
    }

    /// The function in this slot.
    #[inline]
    pub fn get(&self, slot: usize) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        // Acquire: pairs with the Release in `set`.
        let address = self.slots[slot].load(Acquire);
        // SAFETY: an address that is not null was put there by `set`, from an `F`, which is a
        // function pointer (the contract of `Function`) and of the same size.
        (!address.is_null()).then(|| unsafe { std::mem::transmute_copy::<*mut (), F>(&address) })
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::thread;

    #[test]
    fn the_first_function_of_a_slot_stays() {
        static HOOKS: Hooks<fn() -> u32, 3> = Hooks::new();
        HOOKS.set(1, || 5);
        HOOKS.set(1, || 6);
        HOOKS.set(2, || 7);
        assert_eq!([0, 1, 2].map(|slot| HOOKS.get(slot).map(|f| f())), [None, Some(5), Some(7)]);
    }

    #[test]
    fn a_function_with_a_borrowed_argument() {
        static HOOKS: Hooks<fn(&str) -> usize, 1> = Hooks::new();
        HOOKS.set(0, str::len);
        let text = String::from("four");
        assert_eq!(HOOKS.get(0).map(|f| f(&text)), Some(4));
    }

    /// Two functions at the same time: whichever was first is seen by all, always.
    #[test]
    fn all_see_the_same_function() {
        for _ in 0..if cfg!(miri) { 3 } else { 100 } {
            let hooks: Hooks<fn() -> u32, 1> = Hooks::new();
            let put = |f: fn() -> u32| {
                hooks.set(0, f);
                hooks.get(0).map(|f| f())
            };
            let [a, b] =
                thread::scope(|s| [s.spawn(|| put(|| 1)), s.spawn(|| put(|| 2))].map(|thread| thread.join().unwrap()));
            assert!(a.is_some() && a == b && a == hooks.get(0).map(|f| f()));
        }
    }
}
