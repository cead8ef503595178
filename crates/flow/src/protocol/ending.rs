//! The end of something, and who waits for it.
//!
//! ```text
//!  list of dependents:  (none) -> edge -> edge …          each by an exchange of its head
//!                       any of these -> ENDED              by the one who ends the node
//! ```
//! An edge lies in the node that waits, and holds a counted reference to that node while it is in
//! the list. So nothing is allocated for an edge, and no node goes while it is waited for. Who
//! comes to the list after `ENDED` does not wait, and sees the outcome.
//!
//! **Invariants.** `outcome` is written by who has the [`Claim`], of which there is one, before
//! `ENDED`; after that it is only read, until the whole is borrowed uniquely. (Who has the claim
//! and never goes on leaves it to another one.) An edge is written by
//! who adds it, before it is in the list, and then by the one who has taken the list.
//!
//! **Ordering.** Release of the exchange that adds, with the Acquire of the one that ends: the
//! edge. Release of the one that ends, with the Acquire of whoever looks at the head: the outcome.
//!
//! **Why not a lock and a vector.** An allocation for most nodes, and more exchanges for each edge.
//! (Not measured.)
//!
//! Tests: `crates/flow/tests/loom`; `crates/myriad/tests/flow`.

use myriad_base::sys::atomic::{AtomicBool, AtomicPtr, LoadInOrder, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use std::fmt;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

/// An entry in the list of what a node waits for. It lies in the node that waits.
pub struct Edge<D: ?Sized> {
    next: UnsafeCell<*mut Edge<D>>,
    /// In the list: who waits.
    owner: UnsafeCell<Option<Arc<D>>>,
}

impl<D: ?Sized> Default for Edge<D> {
    fn default() -> Self {
        Edge { next: UnsafeCell::new(null_mut()), owner: UnsafeCell::new(None) }
    }
}

/// Who waits for an end.
struct Dependents<D: ?Sized>(AtomicPtr<Edge<D>>);

/// The head of a list that was taken: an address that no edge has.
fn ended<D: ?Sized>() -> *mut Edge<D>
where
    Edge<D>: Sized,
{
    without_provenance_mut(1)
}

/// How a node has ended, once it has, and who waits for that.
#[allow(missing_debug_implementations)]
pub struct Ending<O, D: ?Sized> {
    dependents: Dependents<D>,
    outcome: UnsafeCell<Option<O>>,
    is_claimed: AtomicBool,
}

// SAFETY: the edges go from thread to thread with their owners, which are `Send` and `Sync`; the
// outcome goes to whoever has the whole, and is shared only by `outcome`, which asks for `Sync`.
unsafe impl<O: Send, D: ?Sized + Send + Sync> Sync for Ending<O, D> {}
// SAFETY: the outcome and the edges go with it; they are `Send`.
unsafe impl<O: Send, D: ?Sized + Send + Sync> Send for Ending<O, D> {}
// SAFETY: an edge is reached as the module's header says; its owner is `Send` and `Sync`.
unsafe impl<D: ?Sized + Send + Sync> Sync for Edge<D> {}
// SAFETY: an edge that is in a list is not moved (contract of `Ending::add`); its owner is `Send`.
unsafe impl<D: ?Sized + Send + Sync> Send for Edge<D> {}

impl<O, D: ?Sized> Default for Ending<O, D> {
    fn default() -> Self {
        let dependents = Dependents(AtomicPtr::new(null_mut()));
        Ending { dependents, outcome: UnsafeCell::new(None), is_claimed: AtomicBool::new(false) }
    }
}

impl<O, D: ?Sized> Ending<O, D> {
    /// The right to end it, for the first who asks.
    #[inline]
    pub fn claim(&self) -> Option<Claim<'_, O, D>> {
        // Acquire: what who made the node has written, for one who comes by its handle.
        (!self.is_claimed.swap(true, Acquire)).then_some(Claim(self))
    }

    /// The right to end it that somebody has who never uses it.
    ///
    /// # Safety
    /// It was claimed, and who has that claim never goes on. What that one did happened before, and
    /// this is called once.
    pub unsafe fn claim_of_left(&self) -> Option<Claim<'_, O, D>> {
        (!self.has_ended()).then_some(Claim(self))
    }

    /// Has it ended?
    #[inline]
    pub fn has_ended(&self) -> bool {
        // Acquire: the outcome.
        self.dependents.0.load(ord(Acquire, "ending-has-ended")) == ended()
    }

    /// Has it ended? Sequentially consistent, for a caller who has changed something else before:
    /// who ends it looks at that after.
    #[inline]
    pub fn has_ended_by_now(&self) -> bool {
        if on("looks-early") {
            return self.dependents.0.load(Acquire) == ended();
        }
        self.dependents.0.load_in_order() == ended()
    }

    /// How it has ended; `None`: it has not.
    #[inline]
    pub fn outcome(&self) -> Option<&O>
    where
        O: Sync,
    {
        // SAFETY: it has ended, so the outcome is only read while `self` is shared.
        self.has_ended().then(|| self.outcome.with(|outcome| unsafe { (*outcome).as_ref() })).flatten()
    }

    /// How it has ended, for who has it alone.
    pub fn take(&mut self) -> Option<O> {
        // SAFETY: `self` is borrowed uniquely.
        self.outcome.with_mut(|outcome| unsafe { (*outcome).take() })
    }

    /// Lets the owner of this edge wait. `Err`: it has ended already, and nobody waits.
    ///
    /// # Safety
    /// The edge lies in what `owner` points to, or is owned by that: it is neither moved nor
    /// dropped as long as that is there. It was not added anywhere before.
    #[inline]
    pub unsafe fn add(&self, edge: &Edge<D>, owner: Arc<D>) -> Result<(), Arc<D>> {
        let list = &self.dependents.0;
        // Relaxed: a head that is there is not followed here, and whoever hears that it has ended
        // looks again to see how.
        let mut head = list.load(Relaxed);
        // SAFETY: the edge is in no list yet, so it is the caller's (this function's contract).
        edge.owner.with_mut(|to| unsafe { *to = Some(owner) });
        while head != ended() {
            // SAFETY: the edge is in no list yet.
            edge.next.with_mut(|next| unsafe { *next = head });
            let edge = std::ptr::from_ref(edge).cast_mut();
            // Release: the edge. Relaxed: as above.
            match list.compare_exchange_weak(head, edge, ord(Release, "ending-add"), Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => head = now,
            }
        }
        // SAFETY: the edge has come into no list, so it is still the caller's.
        Err(edge.owner.with_mut(|owner| unsafe { (*owner).take() }).expect("put there above"))
    }
}

impl<T, E: Sync, D: ?Sized> Ending<Result<T, E>, D> {
    /// The error with which it has ended.
    #[inline]
    pub fn error(&self) -> Option<&E> {
        // SAFETY: it has ended, so the outcome is only read while `self` is shared; what is handed
        // out of it is `Sync`.
        let outcome = self.has_ended().then(|| self.outcome.with(|outcome| unsafe { (*outcome).as_ref() }))?;
        outcome?.as_ref().err()
    }
}

/// The right to end something.
#[allow(missing_debug_implementations)]
#[must_use = "without its end all wait for ever that wait for it"]
pub struct Claim<'a, O, D: ?Sized>(&'a Ending<O, D>);

impl<O, D: ?Sized> Claim<'_, O, D> {
    /// It ends so. Returns who waits, in the order in which they came.
    #[inline]
    pub fn end(self, outcome: O) -> Waiting<D> {
        // SAFETY: there is one claim, whose this is, and it has not ended: nobody reads the place.
        self.0.outcome.with_mut(|to| unsafe { *to = Some(outcome) });
        // Release: the outcome. Acquire: the edges. SeqCst: for who looks at something else next.
        let last = self.0.dependents.0.swap(ended(), ord(SeqCst, "ending-end"));
        let (mut first, mut at) = (null_mut(), last);
        while !at.is_null() {
            // SAFETY: the edge was in the list, which was taken by the exchange above; its owner is
            // held in it.
            at =
                unsafe { (*at).next.with_mut(|next| std::mem::replace(&mut *next, std::mem::replace(&mut first, at))) };
        }
        Waiting(first)
    }
}

/// Who has waited for something that has ended.
#[allow(missing_debug_implementations)]
pub struct Waiting<D: ?Sized>(*mut Edge<D>);

impl<D: ?Sized> Iterator for Waiting<D> {
    type Item = Arc<D>;

    #[inline]
    fn next(&mut self) -> Option<Arc<D>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the edge was in a list that was taken, and its owner is held in it until it is
        // taken out here.
        unsafe {
            let edge = &*self.0;
            self.0 = edge.next.with(|next| *next);
            edge.owner.with_mut(|owner| (*owner).take())
        }
    }
}

impl<D: ?Sized> Drop for Waiting<D> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<D: ?Sized> Drop for Dependents<D> {
    /// Where nothing has ended what is dropped, whoever waits is let go.
    fn drop(&mut self) {
        // Relaxed: borrowed uniquely.
        let head = self.0.load(Relaxed);
        if head != ended() {
            drop(Waiting(head));
        }
    }
}

impl<D: ?Sized> fmt::Debug for Edge<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edge")
    }
}
