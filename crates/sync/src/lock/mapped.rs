//! Guards of a part of a value.

use crate::impls::impls;
use std::ops::{Deref, DerefMut};

/// A lock is held until this is dropped, as by the guard `G` that it was made of; the way to a part
/// of the value.
///
/// What `map` and `filter_map` of the guards make, borrowed or owned:
/// [`MutexGuard::map`](super::MutexGuard::map),
/// [`RwLockReadGuard::map`](super::RwLockReadGuard::map),
/// [`RwLockWriteGuard::map`](super::RwLockWriteGuard::map). The part can be changed if the guard's
/// value can be. Poisoning is the guard's.
///
/// # Examples
/// ```
/// use myriad::sync::{MappedGuard, Mutex, MutexGuard};
/// let pair = Mutex::new((1, "one"));
/// let mut number: MappedGuard<_, i32> = MutexGuard::map(pair.lock().unwrap(), |pair| &mut pair.0);
/// *number += 1;
/// assert!(pair.is_locked());
/// drop(number);
/// assert_eq!(pair.lock().unwrap().0, 2);
/// ```
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct MappedGuard<G, U: ?Sized> {
    /// In what the guard protects, which does not move while it is locked; or it lives for ever.
    part: *mut U,
    _guard: G,
}

// SAFETY: it gives what a `&mut U` or a `&U` gives, and the guard, which may go.
unsafe impl<G: Send, U: ?Sized + Send + Sync> Send for MappedGuard<G, U> {}
// SAFETY: `&MappedGuard` gives `&U` only.
unsafe impl<G: Sync, U: ?Sized + Sync> Sync for MappedGuard<G, U> {}

impl<G: Deref, U: ?Sized> MappedGuard<G, U> {
    /// Of a guard that gives `&T`. `Err`: the guard, if there is no such part.
    pub(super) fn shared(guard: G, part: impl FnOnce(&G::Target) -> Option<&U>) -> Result<Self, G> {
        match part(&guard).map(|part| std::ptr::from_ref(part).cast_mut()) {
            Some(part) => Ok(MappedGuard { part, _guard: guard }),
            None => Err(guard),
        }
    }

    /// Of a guard that gives `&mut T`.
    pub(super) fn unique(mut guard: G, part: impl FnOnce(&mut G::Target) -> Option<&mut U>) -> Result<Self, G>
    where
        G: DerefMut,
    {
        match part(&mut guard).map(std::ptr::from_mut) {
            Some(part) => Ok(MappedGuard { part, _guard: guard }),
            None => Err(guard),
        }
    }
}

/// Of a `map`, where there always is a part.
pub(super) fn whole<G, U: ?Sized>(mapped: Result<MappedGuard<G, U>, G>) -> MappedGuard<G, U> {
    match mapped {
        Ok(mapped) => mapped,
        Err(_) => unreachable!("a part was given"),
    }
}

impl<G: Deref, U: ?Sized> Deref for MappedGuard<G, U> {
    type Target = U;
    #[inline(always)]
    fn deref(&self) -> &U {
        // SAFETY: a part of what the guard protects, which is held, and was lent for as long.
        unsafe { &*self.part }
    }
}

impl<G: DerefMut, U: ?Sized> DerefMut for MappedGuard<G, U> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: the part is behind the guard, which is here; a guard that gives `&mut T` is only
        // mapped by `unique`, and this is borrowed alone.
        unsafe { &mut *self.part }
    }
}

impls! {
    Debug for MappedGuard<G, U> [G: Deref, U: ?Sized]: as U;
    Display for MappedGuard<G, U> [G: Deref, U: ?Sized]: as U;
}
