//! What a task holds of its data, and how its body gets it: the only unsafe code of regions, beside
//! the rows of a [view](super::tile).
//!
//! **Invariant.** *While a body runs, what it may write no other body uses, and what it may read
//! none writes.* That is so because
//!
//! 1. a datum is borrowed mutably for `'env` when the region gets it, and the graph of the region,
//!    which alone has the pointers, does not outlive `'env`. No user's code gets a pointer: what
//!    makes it of an access is the region's own, and types that it is made of cannot be made, or
//!    taken out of an access, elsewhere;
//! 2. an access names the datum and the indexes behind its pointer, and a task is only added to
//!    the region by whose number the datum is known. (Numbers are never used again.) Data do not
//!    overlap, as they were borrowed mutably at the same time;
//! 3. of two tasks that share an index that one of them writes, the later comes after the earlier
//!    one in the graph, and one task has no two such accesses (`history.rs`);
//! 4. the graph calls the body of a node when the bodies of all nodes that it comes after have
//!    ended, one call at a time (no node of a region is the branch of a choice), and not during
//!    another run; and a run returns or unwinds when all its bodies have ended (`graph/run.rs`).
//!    What one body did is seen by the next: the counts are in the order of acquire and release;
//! 5. the lifetime that a body gets is that of its call: the bound is `for<'a>`.
//!
//! Bodies that run at the same time are on several threads, so what is read is `Sync`, and what is
//! written is `Send`. A pointer does not grow: `*mut` is invariant in what it points to, as `&mut`
//! is.

use super::raw_tile::RawTile;
use super::tile::{Tile, TileMut};
use crate::graph::{Error, NodeResult};

/// What an access gives to the body in a call.
pub trait Lent<'a, Implied = &'a Self> {
    /// A reference, or a view.
    type Arg;
}

/// What a task holds of a datum, or of several.
///
/// # Safety
/// `Arg` is right while the invariant of the file holds.
pub unsafe trait Held: for<'a> Lent<'a> + Send + Sync {
    /// For one call of the body.
    ///
    /// # Safety
    /// The invariant of the file holds for `'a`, and nothing else was lent by this for `'a`.
    unsafe fn lend<'a>(&'a self) -> <Self as Lent<'a>>::Arg;
}

/// A datum that is read: the body gets a `&T`.
///
/// Examples: [`region`](super), [`Slice`](super::Slice).
#[derive(Debug)]
pub struct Shared<T: ?Sized>(pub(super) *mut T);

/// A datum that is written: the body gets a `&mut T`.
///
/// Examples: [`region`](super), [`Slice`](super::Slice).
#[derive(Debug)]
pub struct Exclusive<T: ?Sized>(pub(super) *mut T);

/// A tile that is read: the body gets a [`Tile`].
#[derive(Debug)]
pub struct SharedTile<T>(pub(super) RawTile<T>);

/// A tile that is written: the body gets a [`TileMut`].
#[derive(Debug)]
pub struct ExclusiveTile<T>(pub(super) RawTile<T>);

// SAFETY: it gives shared references only, and these may go to other threads as `T` is `Sync`.
unsafe impl<T: ?Sized + Sync> Send for Shared<T> {}
// SAFETY: the same; a reference to it gives no more.
unsafe impl<T: ?Sized + Sync> Sync for Shared<T> {}
// SAFETY: it gives a reference that is the only one, and that may go to another thread as `T` is
// `Send`.
unsafe impl<T: ?Sized + Send> Send for Exclusive<T> {}
// SAFETY: a reference to it gives what it gives itself, to one call at a time.
unsafe impl<T: ?Sized + Send> Sync for Exclusive<T> {}
// SAFETY: it gives shared references only, and `T` is `Sync`.
unsafe impl<T: Sync> Send for SharedTile<T> {}
// SAFETY: the same; a reference to it gives no more.
unsafe impl<T: Sync> Sync for SharedTile<T> {}
// SAFETY: it gives the only references to its elements, and `T` is `Send`.
unsafe impl<T: Send> Send for ExclusiveTile<T> {}
// SAFETY: a reference to it gives what it gives itself, to one call at a time.
unsafe impl<T: Send> Sync for ExclusiveTile<T> {}

impl<'a, T: ?Sized> Lent<'a> for Shared<T> {
    type Arg = &'a T;
}

// SAFETY: the invariant: nobody writes the datum meanwhile.
unsafe impl<T: ?Sized + Sync> Held for Shared<T> {
    #[inline(always)]
    unsafe fn lend(&self) -> &T {
        // SAFETY: the datum is there for `'env`, and nobody writes it for `'a` (1, 3 and 4).
        unsafe { &*self.0 }
    }
}

impl<'a, T: ?Sized> Lent<'a> for Exclusive<T> {
    type Arg = &'a mut T;
}

// SAFETY: the invariant: nobody else uses the datum meanwhile.
unsafe impl<T: ?Sized + Send> Held for Exclusive<T> {
    #[inline(always)]
    unsafe fn lend(&self) -> &mut T {
        // SAFETY: the datum is there for `'env`, and nobody else uses it for `'a` (1, 3 and 4).
        unsafe { &mut *self.0 }
    }
}

impl<'a, T> Lent<'a> for SharedTile<T> {
    type Arg = Tile<'a, T>;
}

// SAFETY: the invariant: nobody writes these elements meanwhile.
unsafe impl<T: Sync> Held for SharedTile<T> {
    #[inline(always)]
    unsafe fn lend<'a>(&'a self) -> Tile<'a, T> {
        // SAFETY: the elements are there for `'env`, and nobody writes them for `'a` (1, 3 and 4).
        unsafe { Tile::new(self.0) }
    }
}

impl<'a, T> Lent<'a> for ExclusiveTile<T> {
    type Arg = TileMut<'a, T>;
}

// SAFETY: the invariant: nobody else uses these elements meanwhile.
unsafe impl<T: Send> Held for ExclusiveTile<T> {
    #[inline(always)]
    unsafe fn lend<'a>(&'a self) -> TileMut<'a, T> {
        // SAFETY: the elements are there for `'env`, and nobody else uses them for `'a` (1, 3, 4).
        unsafe { TileMut::new(self.0) }
    }
}

impl<'a, H: Held> Lent<'a> for Vec<H> {
    type Arg = Vec<<H as Lent<'a>>::Arg>;
}

// SAFETY: what each of them lends.
unsafe impl<H: Held> Held for Vec<H> {
    unsafe fn lend<'a>(&'a self) -> Vec<<H as Lent<'a>>::Arg> {
        // SAFETY: the promise of this function's caller, for each of them once.
        self.iter().map(|held| unsafe { held.lend() }).collect()
    }
}

/// A body for what its task holds.
#[diagnostic::on_unimplemented(
    message = "this body does not fit the accesses of its task",
    label = "one argument for each access, in their order",
    note = "`&T` for `read()` and `&mut T` for `write()` of `T`; `Tile<T>` and `TileMut<T>` of a tile; a `Vec` of these for a `Vec`",
    note = "a closure's arguments need their types, as in `|a: &u64, b: &mut u64| ..`; what it returns is `()` or a `Result<(), E>`",
    note = "it is called by `&self` and from any thread, so it is `Fn`, `Send` and `Sync`"
)]
pub trait TaskBody<'a, H, Implied = &'a H> {
    /// One call.
    ///
    /// # Safety
    /// The invariant of the file holds for `'a`, and nothing was lent of what is held.
    unsafe fn call(&self, held: &'a H) -> Result<(), Error>;
}

macro_rules! bodies {
    ($($held:ident $at:tt),*) => {
        impl<'a, Body, R: NodeResult, $($held: Held),*> TaskBody<'a, ($($held,)*)> for Body
        where
            Body: Fn($(<$held as Lent<'a>>::Arg),*) -> R,
        {
            #[inline(always)]
            unsafe fn call(&self, _held: &'a ($($held,)*)) -> Result<(), Error> {
                // SAFETY: the promise of this function's caller, for each of them once.
                self($(unsafe { _held.$at.lend() }),*).into_result()
            }
        }
    };
}

bodies!();
bodies!(A 0);
bodies!(A 0, B 1);
bodies!(A 0, B 1, C 2);
bodies!(A 0, B 1, C 2, D 3);
bodies!(A 0, B 1, C 2, D 3, E 4);
bodies!(A 0, B 1, C 2, D 3, E 4, F 5);
bodies!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
bodies!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
