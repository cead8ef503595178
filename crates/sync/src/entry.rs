//! Who waits, at a channel or a lock: entries on the waiters' stacks or in their futures, in
//! circular lists.
//!
//! **Invariants.** An entry is linked only while its owner waits; it does not move meanwhile.
//! Links, `waiter` and `slot` of a linked entry are touched under the primitive's lock. The one who
//! ends the wait takes the waiter out, fills or empties the slot, and stores `state` last: from
//! then on the entry is its owner's, who may free it at once.
//!
//! **Ordering.** `state`: the Release store with the owner's Acquire load: the slot.

use crate::values::move_fresh;
use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use myriad_core::engine::wait::{MultiWait, PairClaim, Waiter};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// In no list, and nothing has happened.
pub(crate) const IDLE: u8 = 0;
/// In a list.
pub(crate) const LINKED: u8 = 1;
/// Its message was handed over (of a receiver: the slot is full; of a sender: it is empty).
pub(crate) const DONE: u8 = 2;
/// The channel was closed; the slot is as it was.
pub(crate) const CLOSED: u8 = 3;
/// Taken out of its list because its time was over.
pub(crate) const SKIPPED: u8 = 4;
/// In a list, as `LINKED`, of a receiver that peeks at the message before it decides.
pub(crate) const PEEKS: u8 = 5;

pub(crate) struct Entry<T> {
    /// Written when it is linked.
    links: UnsafeCell<MaybeUninit<Links<T>>>,
    slot: UnsafeCell<MaybeUninit<T>>,
    state: AtomicU8,
}

struct Links<T> {
    next: *mut Entry<T>,
    prev: *mut Entry<T>,
    waiter: Waiter,
}

const _: () = crate::values::no_drop_glue::<Entry<String>>();
const _: () = crate::values::no_drop_glue::<Links<String>>();
const _: () = crate::values::no_drop_glue::<List<String>>();

impl<T> Entry<T> {
    #[inline]
    pub(crate) fn new() -> Entry<T> {
        Entry {
            links: UnsafeCell::new(MaybeUninit::uninit()),
            slot: UnsafeCell::new(MaybeUninit::uninit()),
            state: AtomicU8::new(IDLE),
        }
    }

    /// One whose slot is full.
    #[inline]
    pub(crate) fn with(value: T) -> Entry<T> {
        Entry { slot: UnsafeCell::new(MaybeUninit::new(value)), ..Entry::new() }
    }

    /// What has become of it.
    #[inline(always)]
    pub(crate) fn state(&self) -> u8 {
        // Acquire: pairs with `end`: the slot.
        self.state.load(ord(Acquire, "entry-acquire"))
    }

    /// Where a message stands, or will.
    ///
    /// # Safety
    /// The entry is the caller's: its owner while it is not linked, or who took it out of its list.
    #[inline(always)]
    pub(crate) unsafe fn slot(&self) -> *mut T {
        self.slot.with_mut(|slot| slot.cast())
    }

    /// Fills the slot with the message of another.
    ///
    /// # Safety
    /// The entry is the caller's, its slot empty, or full of what needs no destructor; `src`,
    /// which is elsewhere, holds a message.
    #[inline]
    pub(crate) unsafe fn put(&self, src: *const T) {
        // SAFETY: the slot is the caller's, and `src` holds a message, elsewhere (this function's
        // contract).
        self.slot.with_mut(|slot| unsafe { move_fresh(src, slot.cast::<T>()) });
    }

    /// Empties it.
    ///
    /// # Safety
    /// The entry is the caller's, its slot full.
    #[inline]
    pub(crate) unsafe fn take(&self) -> T {
        // SAFETY: the slot is full and the caller's (this function's contract): the message is read
        // from it once.
        unsafe { self.slot().read() }
    }

    /// The owner is back, and may wait again.
    #[inline(always)]
    pub(crate) fn reset(&self) {
        self.state.store(IDLE, Relaxed);
    }

    /// Under the lock: a linked receiver is one that peeks.
    pub(crate) fn set_peeks(&self) {
        self.state.store(PEEKS, Relaxed);
    }

    /// Ends the wait. Afterwards the entry may be gone.
    ///
    /// # Safety
    /// The entry is live. The caller has taken it out of its list, and has its waiter; or it is the
    /// caller's own, and in no list.
    #[inline(always)]
    pub(crate) unsafe fn end(this: *const Entry<T>, state: u8) {
        // Release: pairs with `state()`: the slot.
        // SAFETY: `this` is live until the store (this function's contract); nothing touches it
        // afterwards.
        unsafe { (*this).state.store(state, ord(Release, "entry-release")) };
    }

    /// # Safety
    /// Linked, and the channel is locked.
    #[inline(always)]
    unsafe fn with_links<R>(this: *mut Entry<T>, f: impl FnOnce(&mut Links<T>) -> R) -> R {
        // SAFETY: `this` is linked under the lock (this function's contract): it is live, `push`
        // has written its links, and nobody else reaches them.
        unsafe { (*this).links.with_mut(|links| f((*links).assume_init_mut())) }
    }

    /// Under the lock: replaces the waiter of a linked entry; the old one is to be discarded
    /// without the lock.
    ///
    /// # Safety
    /// Linked, and the channel is locked.
    pub(crate) unsafe fn replace_waiter(&self, waiter: Waiter) -> Waiter {
        // SAFETY: the entry is linked under the lock (this function's contract): `push` has written
        // its links, and nobody else reaches them.
        self.links.with_mut(|links| unsafe { std::mem::replace(&mut (*links).assume_init_mut().waiter, waiter) })
    }

    /// Under the lock: if it is linked it gets a new waiter, and leaves the old one.
    ///
    /// # Safety
    /// The entry is live, and in a list of the locked primitive or in none.
    pub(crate) unsafe fn set_waiter(this: *const Entry<T>, waiter: &mut Option<Waiter>) {
        // SAFETY: `this` is live, and if it is linked the primitive that it waits at is locked
        // (this function's contract).
        unsafe {
            if (*this).state() == LINKED {
                *waiter = Waiter::take(waiter).map(|new| (*this).replace_waiter(new));
            }
        }
    }
}

/// A circular list of entries; the first is the one that has waited longest.
pub(crate) struct List<T> {
    first: *mut Entry<T>,
}

// SAFETY: reached under the primitive's lock, as are the entries; slots go from thread to thread.
unsafe impl<T: Send> Send for List<T> {}

impl<T> List<T> {
    pub(crate) const fn new() -> List<T> {
        List { first: null_mut() }
    }

    /// One that begins with this entry, and has all that are linked with it; or none.
    #[inline(always)]
    pub(crate) const fn of_first(first: *mut Entry<T>) -> List<T> {
        List { first }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Adds an entry behind all others.
    ///
    /// # Safety
    /// It is live and in no list, stays where it is while linked, and the channel is locked.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, entry: *mut Entry<T>, waiter: Waiter) {
        // SAFETY: `entry` is live, in no list, and stays where it is (this function's contract);
        // the entries of this list are linked, so they are live too, and their links are written.
        unsafe {
            (*entry).state.store(LINKED, Relaxed);
            let (next, prev) = if self.first.is_null() {
                self.first = entry;
                (entry, entry)
            } else {
                let first = self.first;
                let last = Entry::with_links(first, |links| std::mem::replace(&mut links.prev, entry));
                Entry::with_links(last, |links| links.next = entry);
                (first, last)
            };
            (*entry).links.with_mut(|links| (*links).write(Links { next, prev, waiter }));
        }
    }

    /// The entry that has waited longest; null if there is none.
    #[inline(always)]
    pub(crate) fn first(&self) -> *mut Entry<T> {
        self.first
    }

    /// The entry behind this one; null behind the last.
    ///
    /// # Safety
    /// It is in this list, and the primitive is locked.
    pub(crate) unsafe fn behind(&self, entry: *mut Entry<T>) -> *mut Entry<T> {
        // SAFETY: `entry` is in this list, under the lock (this function's contract), so it is
        // linked.
        let next = unsafe { Entry::with_links(entry, |links| links.next) };
        if next == self.first { null_mut() } else { next }
    }

    /// Adds an entry before all others: one that has been first already, or may be.
    ///
    /// # Safety
    /// `entry` is live and in no list, stays where it is while linked, and the channel is locked.
    pub(crate) unsafe fn push_first(&mut self, entry: *mut Entry<T>, waiter: Waiter) {
        // SAFETY: `entry` is live, in no list, and stays where it is, and the channel is locked
        // (this function's contract): what `push` demands. Last in a circle is before the first.
        unsafe { self.push(entry, waiter) };
        self.first = entry;
    }

    /// Takes an entry out, with its waiter.
    ///
    /// # Safety
    /// It is in this list, and the channel is locked.
    #[inline(always)]
    pub(crate) unsafe fn remove(&mut self, entry: *mut Entry<T>) -> Waiter {
        // SAFETY: `entry` is in this list, under the lock (this function's contract): it and its
        // neighbours are live, and their links are written. Its own are read out once: it is in no
        // list afterwards.
        unsafe {
            let Links { next, prev, waiter } = (*entry).links.with_mut(|links| (*links).assume_init_read());
            if next == entry {
                self.first = null_mut();
            } else {
                Entry::with_links(prev, |links| links.next = next);
                Entry::with_links(next, |links| links.prev = prev);
                if self.first == entry {
                    self.first = next;
                }
            }
            waiter
        }
    }

    /// Moves all entries of another list behind those of this one.
    ///
    /// # Safety
    /// Both are under one lock, which is held.
    pub(super) unsafe fn append(&mut self, other: &mut List<T>) {
        let theirs = std::mem::replace(&mut other.first, null_mut());
        if self.first.is_null() || theirs.is_null() {
            self.first = if theirs.is_null() { self.first } else { theirs };
            return;
        }
        let ours = self.first;
        // SAFETY: both lists are under one lock, which is held (this function's contract): their
        // entries are live, and the links are written.
        unsafe {
            let their_last = Entry::with_links(theirs, |links| links.prev);
            let our_last = Entry::with_links(ours, |links| std::mem::replace(&mut links.prev, their_last));
            Entry::with_links(our_last, |links| links.next = theirs);
            Entry::with_links(theirs, |links| links.prev = our_last);
            Entry::with_links(their_last, |links| links.next = ours);
        }
    }

    /// Is this the first entry?
    pub(super) fn begins_with(&self, entry: *mut Entry<T>) -> bool {
        self.first == entry
    }

    /// Takes out the first entry whose wait can still be ended, and decides that the caller ends
    /// it. Those whose time is over are taken out on the way.
    ///
    /// # Safety
    /// The channel is locked.
    #[inline(always)]
    pub(crate) unsafe fn claim_first(&mut self) -> Option<(*mut Entry<T>, Waiter)> {
        while !self.first.is_null() {
            let entry = self.first;
            // SAFETY: the lock is held (this function's contract), and `entry`, the first, is in
            // this list.
            if let Some(waiter) = unsafe { self.claim(entry) } {
                return Some((entry, waiter));
            }
        }
        None
    }

    /// Takes out this entry, and decides that the caller ends its wait. `None`: its time is over.
    ///
    /// # Safety
    /// It is in this list, and the channel is locked.
    #[inline(always)]
    pub(crate) unsafe fn claim(&mut self, entry: *mut Entry<T>) -> Option<Waiter> {
        // SAFETY: `entry` is in this list, under the lock (this function's contract). Its owner
        // cannot go before it has locked the channel, or is woken; so the entry is live until
        // `end`.
        unsafe {
            let mut waiter = self.remove(entry);
            if waiter.claim() || on("claim-not-asked") {
                return Some(waiter);
            }
            // Its time is over, so it is one that blocks: there is no waker to discard.
            Entry::end(entry, SKIPPED);
        }
        None
    }

    /// Takes out an entry whose wait is over.
    ///
    /// # Safety
    /// It is in this list, and the channel is locked.
    unsafe fn skip(&mut self, entry: *mut Entry<T>) {
        // SAFETY: it is in this list, and the lock is held: so it is live, and its owner waits
        // until it is ended below.
        unsafe {
            let waiter = self.remove(entry);
            debug_assert!(!waiter.is_future(), "a future's wait in one list has no other end");
            Entry::end(entry, SKIPPED);
        }
    }

    /// Takes out the first entry of this list and the first of another that can meet: both waits
    /// are ended, or neither, and they are not one. Those whose time is over are taken out on the
    /// way.
    ///
    /// # Safety
    /// Both lists are under one lock, which is held.
    pub(crate) unsafe fn claim_pair(&mut self, others: &mut List<T>) -> Option<[(*mut Entry<T>, Waiter); 2]> {
        let mut mine = self.first;
        // SAFETY: both lists are under one lock, which is held (this function's contract), so their
        // entries are live. `is_with` excludes two entries of one wait. What is behind an entry is
        // asked for before the entry is taken out.
        unsafe {
            while !mine.is_null() {
                let (my_next, mut other) = (self.behind(mine), others.first);
                while !other.is_null() {
                    let next = others.behind(other);
                    let both = Entry::with_links(mine, |mine| {
                        Entry::with_links(other, |other| {
                            let (one, two) = (&mut mine.waiter, &mut other.waiter);
                            (!one.is_with(two)).then(|| one.claim_both(two))
                        })
                    });
                    match both {
                        None => {}
                        Some(PairClaim::Both) => {
                            return Some([(mine, self.remove(mine)), (other, others.remove(other))]);
                        }
                        Some(PairClaim::OtherOver) => others.skip(other),
                        Some(PairClaim::SelfOver) => {
                            self.skip(mine);
                            break;
                        }
                    }
                    other = next;
                }
                mine = my_next;
            }
        }
        None
    }

    /// As `claim_first`, for one who waits in other lists meanwhile: both waits are ended, or
    /// neither. Its own entries stay.
    ///
    /// # Safety
    /// The channel is locked; `me` is the caller's own wait, and alive.
    pub(crate) unsafe fn claim_first_with(&mut self, me: MultiWait) -> ClaimWith<T> {
        let mut entry = self.first;
        while !entry.is_null() {
            // SAFETY: the lock is held and `me` is alive (this function's contract); `entry` is in
            // this list, and so live, and not of the wait `me`. What is behind it is read before it
            // is taken out.
            unsafe {
                let next = Entry::with_links(entry, |links| links.next);
                let is_last = next == self.first;
                if on("meets-itself") || !Entry::with_links(entry, |links| links.waiter.is_of(me)) {
                    match Entry::with_links(entry, |links| links.waiter.claim_with(me)) {
                        PairClaim::Both => return ClaimWith::Partner(entry, self.remove(entry)),
                        PairClaim::SelfOver => return ClaimWith::SelfOver,
                        PairClaim::OtherOver => self.skip(entry),
                    }
                }
                entry = if is_last { null_mut() } else { next };
            }
        }
        ClaimWith::Nobody
    }
}

/// What [`List::claim_first_with`] has claimed.
pub(crate) enum ClaimWith<T> {
    /// It was taken out, and is the caller's to end.
    Partner(*mut Entry<T>, Waiter),
    Nobody,
    /// The caller's own wait is over.
    SelfOver,
}
