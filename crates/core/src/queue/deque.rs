//! The split deque: a worker's unstarted tasks.
//!
//! ```text
//!        head            split                 top
//!  stolen  | public: CAS / swap | private: plain |  free
//! ```
//! The owner pushes and pops at `top` without a fence and without a read-modify-write, and takes a
//! joined task out of *any* private position, leaving a tombstone (null). Thieves take the oldest
//! public tasks under a try-lock. A thief that finds nothing public sets `steal_request`; the
//! owner's next push then publishes the older half. An owner that does not come by (a long
//! computation) cannot hoard: [`Deque::steal_forced`] takes its oldest private task, with the heavy
//! fence paid by the thief.
//!
//! **Words.** *position*: an index that only grows (but for [`Deque::push_oldest`]), masked when
//! used. *private*: `split..top`. *public*: `head..split`.
//!
//! **Invariants.** (I1) Each pushed task is taken exactly once. (I2) Who takes it sees the record.
//! (I3) `head <= split`; both change only under the lock; slots below `split` change only under the
//! lock, but for the owner's CAS to null. (I4) Only the owner writes `top`. (I5) Thieves touch the
//! ring and its slots only under the lock, so the owner may replace it there: no epochs. (I6) All
//! non-null slots in `head..top` are unstarted tasks; slots above are garbage and never compared.
//!
//! **Ordering.** Push against the forced thief: `top` (every store is Release) with its Acquire
//! after the heavy fence: slots and records below. *Every* store, because a relaxed one ends the
//! release sequence and the thief may read it. Owner's lowering of `top` against the forced thief's
//! raising of `split`: light fence against heavy fence. Reuse of a slot against the thief's swap of
//! it: `head` (Release) with the Acquire in `make_room`. Push against a sleeper: `top` | light
//! | `steal_request` against `steal_request` | heavy | `top` (see [`crate::sched::idle`]).
//!
//! **Why the forced steal is right.** Let T be the `top` read after the heavy fence at P. While
//! `split` is `j + 1`, an owner that would lower `top` to `j` or below after P sees it and waits
//! for the lock. So either `top > j` since P, and nothing in `s..=j` changes but by conflict; or it
//! was at or below `j` at P and came up by pushes, all of which the acquired T shows. Hence
//! scanning `s..=j` *after* reading T meets the oldest task. `STOLEN` is needed because `head > i`
//! does not say that `i` itself was taken (the thief may have passed over the owner's fresh
//! tombstone).
//!
//! **ABA.** A thief never uses a slot's value before its swap won under the lock; the owner
//! compares with a record that its handle keeps alive, at a position in `head..top`, which has been
//! rewritten since it was last free. (Not below `head`: `idx` may be a position in the deque that a
//! thief has moved the task to, which here names a free slot.) That holds for tasks that are queued
//! once; a future is queued again and again, and is never claimed ([`UNCLAIMED`]).
//!
//! **Rejected.** Chase-Lev: a fence or read-modify-write in each pop, and no way to take a joined
//! task out of the middle. Private deque with steal requests only: a computing owner answers none.
//! Holding back each lone task: its spawner may compute for long. So it is shared when somebody
//! sleeps, but for a woken one of an owner whose turns are short ([`kept`]).
//!
//! Tests: `tests/loom/deque.rs` (all of the above, with each ordering as a mutant), `deque/test.rs`
//! (larger ones).

mod claims;
mod fairness;
mod kept;
mod ring;
mod thieves;
mod woken;

use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};
pub(crate) use kept::Keeps;
use kept::NOT_KEPT;
use myriad_base::sys::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::*, Peek, compiler_fence};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutant::{on, ord};
use ring::{Ring, new_ring};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::null_mut;

/// Keeps what different threads write on different cache lines (two lines: the prefetcher fetches
/// pairs).
#[derive(Debug)]
#[repr(align(128))]
pub struct Line<T>(pub T);

impl<T> Deref for Line<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// At most this many tasks move in one steal.
pub(crate) const BATCH: usize = 128;

/// See the module's header. What only its owner may do is at [`OwnDeque`].
#[repr(C)]
pub(crate) struct Deque {
    /// Written by the owner.
    top: AtomicUsize,
    /// Read by the owner, and by thieves under the lock; replaced by the owner under the lock.
    ring: RingCell,
    /// The owner's alone. (Here, and not behind the worker's role, because a push writes `top`,
    /// `ring` and these: one line of the cache.)
    own: OwnerCell,
    /// The owner's side of the asymmetric fence.
    pub fence: Fence,
    /// Written by thieves that find nothing, and by sleepers, read by the owner at each push.
    steal_request: Line<AtomicU32>,
    /// Written under the lock; on the owner's way at each claim.
    split: Line<AtomicUsize>,
    lock: Line<AtomicU32>,
    /// Written under the lock.
    head: AtomicUsize,
    /// How many tasks thieves have taken. Written by them, under the lock. (A number: no step of a
    /// model.)
    taken: std::sync::atomic::AtomicUsize,
    /// What is not for others though somebody asks: see [`kept`].
    kept: AtomicU8,
}

/// What only the owner touches.
#[derive(Debug)]
struct OwnerHalf {
    /// The value of `top` at which the ring may be full.
    full_at: Cell<usize>,
    /// What the owner keeps for itself: see [`OwnDeque::push_woken`].
    keeps: Cell<Keeps>,
    /// What is out of the ordinary, a bit set. The shortest paths ask for all of it at once.
    special: Cell<u8>,
    /// Where [`Deque::pop_between`] goes on, and up to where.
    cursor: Cell<(usize, usize)>,
    /// The woken futures at the newest end.
    run: woken::Run,
}

/// The owner's half, which is reached by [`OwnDeque::half`] alone.
#[derive(Debug)]
struct OwnerCell(OwnerHalf);

// SAFETY: only an `OwnDeque` reads the cells, and who has one is the deque's owner, which is one
// thread at a time; whoever becomes the owner after it has been given the worker's role by it, with
// a Release and an Acquire (`Baton`, or the start and the end of a thread).
unsafe impl Sync for OwnerCell {}

/// A deque in its owner's hands: what only the owner may do. It is not `Send`, and lives no longer
/// than what says that its thread is the owner (a borrowed worker).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnDeque<'a> {
    deque: &'a Deque,
    thread: PhantomData<*mut ()>,
}

impl Deref for OwnDeque<'_> {
    type Target = Deque;
    #[inline(always)]
    fn deref(&self) -> &Deque {
        self.deque
    }
}

/// The ring, which its methods reach.
#[derive(Debug)]
struct RingCell(UnsafeCell<Ring>);

// SAFETY: all that look at the ring are the owner or have the lock, and the owner replaces it under
// the lock (I5): so while one thread replaces it no other looks. What the ring points to are atomic
// slots, for all threads.
unsafe impl Sync for RingCell {}
// SAFETY: the slots belong to the deque alone, and what is in them are tasks, which may run on any
// thread.
unsafe impl Send for RingCell {}

// A deque is for all threads, by what its fields are.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Deque>();
};

impl Deref for RingCell {
    type Target = UnsafeCell<Ring>;
    #[inline(always)]
    fn deref(&self) -> &UnsafeCell<Ring> {
        &self.0
    }
}

impl std::fmt::Debug for Deque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deque").field("fence", &self.fence).finish_non_exhaustive()
    }
}

/// In `special`: the owner's fences are full ones.
const HARD: u8 = 1;
/// In `special`: tasks of the owner have contexts, or had them ([`crate::sched::context`]).
const CONTEXTS: u8 = 2;
/// In `special`: there may be tombstones below the newest task.
const TOMBSTONES: u8 = 4;

/// Positions start here, so that `head` can also go down.
const FIRST: usize = 1 << 40;

impl Deque {
    /// An empty deque with room for `capacity` tasks (a power of two) before it grows.
    pub(crate) fn new(fence: Fence, capacity: usize) -> Deque {
        assert!(capacity.is_power_of_two());
        Deque {
            top: AtomicUsize::new(FIRST),
            ring: RingCell(UnsafeCell::new(new_ring(capacity))),
            own: OwnerCell(OwnerHalf {
                full_at: Cell::new(FIRST + capacity),
                special: Cell::new(if fence.is_soft() { 0 } else { HARD }),
                cursor: Cell::new((FIRST, FIRST)),
                keeps: Cell::new(Keeps::Nothing),
                run: woken::Run::new(),
            }),
            fence,
            steal_request: Line(AtomicU32::new(0)),
            split: Line(AtomicUsize::new(FIRST)),
            lock: Line(AtomicU32::new(0)),
            head: AtomicUsize::new(FIRST),
            taken: 0.into(),
            kept: AtomicU8::new(NOT_KEPT),
        }
    }

    /// The deque in its owner's hands.
    ///
    /// # Safety
    /// The calling thread is the deque's owner, and stays so while the result is used.
    #[inline(always)]
    pub(crate) unsafe fn owner(&self) -> OwnDeque<'_> {
        OwnDeque { deque: self, thread: PhantomData }
    }

    /// The owner's fence, unless a model leaves it out.
    #[inline(always)]
    fn light(&self, mutant: &str) {
        if !on(mutant) {
            self.fence.light();
        }
    }

    /// Is there perhaps a public task? Two plain loads; a hint, but for thieves' changes since.
    #[inline(always)]
    pub(crate) fn has_public(&self) -> bool {
        self.head.load(Relaxed) < self.split.load(Relaxed)
    }

    /// Does somebody ask for work? One plain load; a hint.
    #[inline(always)]
    pub(crate) fn is_requested(&self) -> bool {
        self.steal_request.load(Relaxed) != 0
    }

    /// Does somebody ask for work, and is there some to publish? For the owner.
    pub(crate) fn should_share(&self) -> bool {
        self.has_two() && self.steal_request.load(Relaxed) != 0
    }

    /// Are there two private tasks? For the owner.
    fn has_two(&self) -> bool {
        self.top.load(Relaxed) > self.split.load(Relaxed) + 1
    }

    // -------------------------------------------------------------------------------------------------
    // the lock

    fn try_lock(&self) -> Option<Guard<'_>> {
        // An exchange, not a swap: a failed swap would make loom invent executions. Acquire: pairs
        // with `Guard::drop`.
        let taken = self.lock.compare_exchange(0, 1, ord(Acquire, "lock-acquire"), Relaxed).is_ok();
        // Lazily: a guard that is made and dropped at once would open the lock of another.
        taken.then(|| Guard(self))
    }

    fn lock(&self) -> Guard<'_> {
        let mut spins = 0u32;
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            while self.lock.peek(Relaxed) != 0 {
                spins += 1;
                if spins.is_multiple_of(128) || cfg!(loom) {
                    myriad_base::sys::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

impl OwnDeque<'_> {
    /// What only the owner touches.
    #[inline(always)]
    fn half(&self) -> &OwnerHalf {
        &self.deque.own.0
    }

    #[inline(always)]
    fn set_top(&self, top: usize, mutant: &str) {
        // Release: pairs with the forced thief's Acquire of top; see the header for why at every
        // store.
        self.top.store(top, ord(Release, mutant));
    }

    /// Adds the newest task, one that [`claim`](Self::claim) may take. True: somebody asks for
    /// work, and the caller serves it ([`crate::sched::idle::Workers::serve_requests`]).
    #[inline(always)]
    pub(crate) fn push(&self, task: Unstarted) -> bool {
        let top = self.make_room();
        task.header().idx().store(top, Relaxed);
        self.push_at(top, task.into())
    }

    /// Adds the newest task, one that nobody claims: a future, which is queued again and again, so
    /// that old slots may still hold it and an identity would prove nothing. Its `idx` is
    /// [`UNCLAIMED`] for good.
    #[inline(always)]
    pub(crate) fn push_unclaimed(&self, task: Runnable) -> bool {
        let top = self.make_room();
        self.push_at(top, task)
    }

    /// The same for a future that the running task wakes: the owner may [keep](kept) it.
    #[inline(always)]
    pub(crate) fn push_woken(&self, task: Runnable) -> bool {
        let top = self.make_room();
        self.half().run().add(top);
        self.push_at(top, task) && !self.keeps_newest()
    }

    /// The same as [`push`](Self::push) while [`is_plain`](Self::is_plain): then the fence is one
    /// for the compiler only.
    #[inline(always)]
    pub(crate) fn push_plain(&self, task: Unstarted) -> bool {
        debug_assert!(self.is_plain());
        let top = self.make_room();
        task.header().idx().store(top, Relaxed);
        self.slot(top).store(Runnable::from(task).into_raw(), Relaxed);
        self.set_top(top + 1, "push-top-release");
        compiler_fence(SeqCst);
        self.steal_request.load(Relaxed) != 0
    }

    /// Are the fences soft, and has no task of the owner had a context? (One test for both: at each
    /// push.)
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.half().special.get() & (HARD | CONTEXTS) == 0
    }

    /// Has a task of the owner had a context?
    #[inline(always)]
    pub(crate) fn has_contexts(&self) -> bool {
        self.half().special.get() & CONTEXTS != 0
    }

    /// A task of the owner has a context. For good: the owner alone would have to count them.
    #[inline]
    pub(crate) fn set_contexts(&self) {
        let special = &self.half().special;
        special.set(special.get() | CONTEXTS);
    }

    #[inline(always)]
    fn push_at(&self, top: usize, task: Runnable) -> bool {
        self.slot(top).store(task.into_raw(), Relaxed);
        self.set_top(top + 1, "push-top-release");
        // Light: pairs with a sleeper's heavy fence; one of us sees the other.
        self.light("push-light");
        self.steal_request.load(Relaxed) != 0
    }

    /// The record of the task that was pushed last, an address to compare: somebody may have it.
    pub(crate) fn newest(&self) -> *const Header {
        self.slot(self.top.load(Relaxed) - 1).load(Relaxed)
    }

    /// Takes the task that is next: the newest; of several that were woken, [the oldest](woken).
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<Runnable> {
        let top = self.top.load(Relaxed);
        if self.half().run().is_next(top)
            && let Some(task) = self.pop_woken(top)
        {
            return Some(task);
        }
        self.pop_newest()
    }

    /// Takes the newest task.
    #[inline(always)]
    pub(crate) fn pop_newest(&self) -> Option<Runnable> {
        loop {
            let top = self.top.load(Relaxed);
            if top <= self.split.load(Relaxed) {
                if !self.reclaim() {
                    return None;
                }
                continue;
            }
            let i = top - 1;
            self.set_top(i, "claim-top-release");
            self.light("pop-light");
            let task = if self.split.load(Relaxed) > i { self.conflict(i) } else { self.slot(i).load(Relaxed) };
            // SAFETY: what is between `split` and `top` is the owner's, and `conflict` has decided
            // where it was not; now it is out of the deque (I1). Null is a tombstone.
            let task = unsafe { Runnable::from_slot(task) };
            if task.is_some() {
                self.half().run().popped(i);
                return task;
            }
        }
    }

    /// The private part looked empty: takes back half of the public part. True: look again.
    #[cold]
    #[inline(never)]
    fn reclaim(self) -> bool {
        // A look without the lock first, as an empty deque is the usual case. Only a forced steal
        // makes it look empty when it is not, by a split above top, and we have seen that. If it
        // has backed out, split is below top again. If it has not, head is below split, unless a
        // steal has passed the raised split, and then nothing is left below top.
        let (head, split) = (self.head.load(Relaxed), self.split.load(Relaxed));
        if head >= split {
            return self.top.load(Relaxed) > split;
        }
        let _guard = self.lock();
        let (head, split) = (self.head.load(Relaxed), self.split.load(Relaxed));
        if head < split {
            self.split.store(head + (split - head) / 2, Relaxed);
            return true;
        }
        // A forced steal that backed out meanwhile may have given the private part back.
        !on("reclaim-no-recheck") && self.top.load(Relaxed) > split
    }

    /// We lowered `top` to `i` and saw `split` above it: the lock decides. The task at `i`, or null
    /// if it was stolen.
    #[cold]
    #[inline(never)]
    fn conflict(self, i: usize) -> *mut Header {
        let _guard = self.lock();
        let head = self.head.load(Relaxed);
        if head > i {
            self.set_top(head, "claim-top-release");
            return null_mut();
        }
        // The minimum: a forced steal that backed out may have left split below i already.
        if self.split.load(Relaxed) > i {
            self.split.store(i, Relaxed);
        }
        self.slot(i).swap(null_mut(), Relaxed)
    }

    /// Makes the older half of the private part public. False: a thief has the lock.
    pub(crate) fn publish(&self) -> bool {
        let Some(_guard) = self.try_lock() else { return false };
        let (top, split) = (self.top.load(Relaxed), self.split.load(Relaxed));
        if top > split + 1 {
            // Relaxed: a thief uses split under the lock, whose release and acquire carry the slots
            // and the records.
            self.split.store(split + (top - split) / 2, Relaxed);
        }
        true
    }

    /// The same, and more of it: the greater half, so that a lone task is public, too.
    pub(crate) fn publish_lone(&self) -> bool {
        let Some(_guard) = self.try_lock() else { return false };
        let (top, split) = (self.top.load(Relaxed), self.split.load(Relaxed));
        if top > split {
            // Relaxed: as in `publish`.
            self.split.store(split + (top - split).div_ceil(2), Relaxed);
        }
        true
    }

    /// Makes all tasks public. False: a thief has the lock.
    pub(crate) fn publish_all(&self) -> bool {
        let Some(_guard) = self.try_lock() else { return false };
        // Relaxed: as in `publish`.
        self.split.store(self.top.load(Relaxed), Relaxed);
        true
    }

    /// The answer to who asks for work, when something was pushed that is not kept: the older half,
    /// so that it does not make a loop of spawning slower. False: a thief has the lock.
    pub(crate) fn share(&self) -> bool {
        // Where the owner keeps what it wakes, no later push would share the newest task.
        if self.keeps_all() { self.publish_all() } else { self.publish() }
    }

    /// Takes what was pushed last, where all that is pushed is taken at once, and nobody steals
    /// (another policy than work stealing: [`super::policy`]). The position goes on, so that
    /// whoever watches it sees the owner move.
    pub(crate) fn pass_on(&self) -> Option<Runnable> {
        // (Of `push_oldest`, below `split`; then `top` is `split`, too.)
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        debug_assert!(top == head + 1);
        // A swap, as a thief's: so what is taken is nobody else's, whoever might come.
        let task = self.slot(head).swap(null_mut(), Relaxed);
        self.split.store(top, Relaxed);
        self.head.store(top, Relaxed);
        // SAFETY: the swap has taken the task out of the deque, for this caller alone.
        unsafe { Runnable::from_slot(task) }
    }
}

/// The deque's lock.
struct Guard<'a>(&'a Deque);

impl Deref for Guard<'_> {
    type Target = Deque;
    fn deref(&self) -> &Deque {
        self.0
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `try_lock`.
        self.0.lock.store(0, ord(Release, "unlock-release"));
    }
}

#[cfg(all(test, not(loom)))]
#[path = "deque/test.rs"]
mod test;
