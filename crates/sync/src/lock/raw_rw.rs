//! The read-write lock without its value.
//!
//! ```text
//!  word    WRITER | WAITING | number of readers, also of those who are to be woken
//!  lists   waiting writers; waiting readers; under a spin lock
//! ```
//! **Without waiters** each operation is one exchange on the word. `WAITING` sends all who come to
//! the lists, and who leaves last to them, to *hand the lock over*: so who waits gets it without
//! asking again, and nobody passes.
//!
//! **Who is next.** When the last reader leaves: the first writer. When a writer leaves: all
//! readers that wait at that moment; then the next writer. So writers are preferred to readers that
//! come later, and neither side starves.
//!
//! **Invariants**, under the spin lock. `WAITING` exactly if some wait who are not let in.
//! `WAITING` alone, with neither readers nor writer: somebody who has just left is on the way to
//! hand over. While `WAITING` is set, only leaving readers change the word without the spin lock.
//! Readers that are let in count at once, all of them, before the first is woken: who lets them in
//! holds nothing while it wakes. A reader whose generation (see [`WaitQueue`]) was let in reads,
//! whether it knows or not: given up, it leaves. `outside`: the others.
//!
//! **Ordering.** Taking is Acquire, leaving Release; all changes are read-modify-writes, so they
//! form one release sequence: a writer sees what all readers before it have read and what the
//! writer before them wrote. Handed over, it goes by the entry: the one who hands over has acquired
//! the word.

use super::op::Op;
use super::wait_queue::WaitQueue;
use crate::entry::{DONE, Entry, LINKED, List};
use crate::wake_list::WakeList;
use myriad_base::lock::spin::SpinLock;
use myriad_base::sys::atomic::{AtomicBool, AtomicU32, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::const_fn;
use myriad_base::sys::mutant::{on, ord};
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};

const WRITER: u32 = 1 << 31;
const WAITING: u32 = 1 << 30;
const READERS: u32 = WAITING - 1;
/// More than this surely leak. (Those who are let in beyond are no more than wait in memory.)
const MOST: u32 = READERS / 2;

pub(super) struct RawRwLock {
    word: AtomicU32,
    queue: SpinLock,
    /// Of the value; see `Poison`.
    pub(super) poisoned: AtomicBool,
    lists: UnsafeCell<Lists>,
}

struct Lists {
    writers: List<()>,
    readers: WaitQueue,
    /// How many of the readers are not let in yet: those of the wait queue's current generation.
    outside: u32,
}

// SAFETY: the lists are reached under the spin lock.
unsafe impl Sync for RawRwLock {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for RawRwLock {}

const _: () = crate::values::no_drop_glue::<Lists>();
const _: () = crate::values::no_drop_glue::<Next>();

/// What is to be done when the spin lock is given back.
enum Next {
    Nothing,
    Wake(Waiter),
    /// Readers up to this generation were let in, and are to be woken.
    LetIn(u64),
}

impl RawRwLock {
    const_fn! {
        pub(super) const fn new() -> RawRwLock {
            RawRwLock {
                word: AtomicU32::new(0),
                queue: SpinLock::new(),
                poisoned: AtomicBool::new(false),
                lists: UnsafeCell::new(Lists { writers: List::new(), readers: WaitQueue::new(), outside: 0 }),
            }
        }
    }

    #[inline]
    pub(super) fn try_read(&self) -> bool {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & (WRITER | WAITING) != 0 {
                return false;
            }
            assert!(word & READERS < MOST, "a RwLock is read by {MOST} at once: are its guards forgotten?");
            // Acquire: pairs with the Release of leaving.
            match self.word.compare_exchange_weak(word, word + 1, ord(Acquire, "read-acquire"), Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    pub(super) fn try_write(&self) -> bool {
        // Acquire: as in `try_read`.
        self.word.compare_exchange(0, WRITER, ord(Acquire, "write-acquire"), Relaxed).is_ok()
    }

    pub(super) fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & (WRITER | READERS) != 0
    }

    /// # Safety
    /// The caller reads.
    #[inline]
    pub(super) unsafe fn leave_read(&self) {
        // AcqRel: Release as said; Acquire for whoever it is handed over to.
        if self.word.fetch_sub(1, ord(AcqRel, "leave-read")) == WAITING + 1 {
            self.hand_over(false);
        }
    }

    /// # Safety
    /// The caller writes.
    #[inline]
    pub(super) unsafe fn leave_write(&self) {
        // Release: as said.
        if self.word.compare_exchange(WRITER, 0, ord(Release, "leave-write"), Relaxed).is_err() {
            self.hand_over(true);
        }
    }

    /// From writing to reading, with no other writer between.
    ///
    /// # Safety
    /// The caller writes.
    pub(super) unsafe fn downgrade(&self) {
        // Release: what was written, for the other readers.
        if self.word.compare_exchange(WRITER, 1, Release, Relaxed).is_ok() {
            return;
        }
        let next = self.locked(|lists| {
            self.word.fetch_add(1, Relaxed);
            self.word.fetch_and(!WRITER, AcqRel);
            if lists.writers.is_empty() { self.admit(lists) } else { Next::Nothing }
        });
        self.follow(next);
    }

    /// Somebody waits, and the caller was the last to leave.
    #[cold]
    fn hand_over(&self, wrote: bool) {
        let next = self.locked(|lists| {
            if wrote {
                // AcqRel: as in `leave_read`.
                self.word.fetch_and(!WRITER, ord(AcqRel, "leave-write-slow"));
            }
            // Acquire: another may have come between, who left us nothing to do.
            if self.word.load(Acquire) != WAITING {
                return Next::Nothing;
            }
            if wrote && lists.outside > 0 {
                return self.admit(lists);
            }
            // SAFETY: the spin lock is held.
            if let Some((entry, waiter)) = unsafe { lists.writers.claim_first() } {
                self.word.fetch_or(WRITER, AcqRel);
                self.still_waiting(lists);
                // SAFETY: taken out just now, with its waiter.
                unsafe { Entry::end(entry, DONE) };
                return Next::Wake(waiter);
            }
            self.admit(lists)
        });
        self.follow(next);
    }

    /// Under the spin lock: is there still somebody who waits, and is not let in?
    fn still_waiting(&self, lists: &mut Lists) {
        if lists.writers.is_empty() && lists.outside == 0 {
            self.word.fetch_and(!WAITING, AcqRel);
        }
    }

    /// Under the spin lock, nobody writes: the readers that wait read from now on.
    fn admit(&self, lists: &mut Lists) -> Next {
        let n = std::mem::take(&mut lists.outside);
        self.word.fetch_add(if on("writer-entry-held") && n > 0 { n + 1 } else { n }, AcqRel);
        self.still_waiting(lists);
        if n == 0 { Next::Nothing } else { Next::LetIn(lists.readers.all()) }
    }

    fn follow(&self, next: Next) {
        match next {
            Next::Nothing => {}
            // SAFETY: the waiter was claimed, and is woken once.
            Next::Wake(waiter) => unsafe { Caller::get().wake(waiter) },
            Next::LetIn(upto) => {
                WakeList::wake_all(|woken| self.locked(|lists| lists.readers.take(upto, DONE, woken)));
                if on("writer-entry-held") {
                    // SAFETY: this place was counted in `admit`.
                    unsafe { self.leave_read() };
                }
            }
        }
    }

    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&mut Lists) -> R) -> R {
        // SAFETY: what runs inside is this module's: short, no user code.
        let _guard = unsafe { self.queue.lock() };
        // SAFETY: the spin lock is held, and what it guards is reached under it only.
        self.lists.with_mut(|lists| f(unsafe { &mut *lists }))
    }

    /// Under the spin lock: takes it now (true), or sees to it that it is handed over to who joins
    /// the lists now.
    fn take_or_mark(&self, free: impl Fn(u32) -> bool, taken: u32, may_wait: bool) -> bool {
        let mut word = self.word.load(Relaxed);
        loop {
            let takes = free(word);
            let now = if takes { word + taken } else { word | WAITING };
            if !takes && (now == word || !may_wait) {
                return false;
            }
            // AcqRel: Acquire as in `try_read`.
            match self.word.compare_exchange(word, now, AcqRel, Relaxed) {
                Ok(_) => return takes,
                Err(other) => word = other,
            }
        }
    }

    /// Somebody who waited has gone. Those behind may go on.
    fn gone(&self, lists: &mut Lists) -> Next {
        self.still_waiting(lists);
        let word = self.word.load(Acquire);
        // With no reader and no writer, somebody is on the way to hand over.
        let may_read = lists.writers.is_empty() && word & WRITER == 0 && word & READERS != 0;
        if may_read { self.admit(lists) } else { Next::Nothing }
    }
}

/// To read, with patience.
pub(super) struct Read<'a>(pub(super) &'a RawRwLock);

// SAFETY: entries are linked and taken out under the spin lock.
unsafe impl Op for Read<'_> {
    type Slot = u64;
    const REASON: WaitReason = WaitReason::ReadLock;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.0).cast()
    }

    unsafe fn start(&mut self, _: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        let raw = self.0;
        raw.try_read()
            || raw.locked(|lists| {
                let taken = raw.take_or_mark(|word| word & (WRITER | WAITING) == 0 && word < MOST, 1, waiter.is_some());
                if let (false, Some(waiter)) = (taken, waiter.take_if(|_| !taken)) {
                    // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                    // (this method's contract); the spin lock is held.
                    unsafe { lists.readers.join(entry, waiter) };
                    lists.outside += 1;
                }
                taken
            })
    }

    unsafe fn set_waiter(&self, _: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in a list of this lock,
        // whose spin lock is held.
        self.0.locked(|_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, _: Caller, entry: *mut Entry<u64>) -> u8 {
        let (outcome, waiter) = self.0.locked(|lists| {
            // SAFETY: `entry` was linked by `start` (this method's contract), which joined
            // `readers`; the spin lock is held.
            let left = unsafe { lists.readers.leave(entry) };
            if left.0 != DONE {
                lists.outside -= 1;
                self.0.still_waiting(lists);
            }
            left
        });
        drop(InHand::new(waiter));
        outcome
    }

    unsafe fn undo(&mut self, _: u8, _: *mut u64) -> bool {
        // SAFETY: this reader was let in, and so is counted.
        unsafe { self.0.leave_read() };
        false
    }
}

/// To write, with patience.
pub(super) struct Write<'a>(pub(super) &'a RawRwLock);

// SAFETY: entries are linked and taken out under the spin lock.
unsafe impl Op for Write<'_> {
    type Slot = ();
    const REASON: WaitReason = WaitReason::WriteLock;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.0).cast()
    }

    unsafe fn start(&mut self, _: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) -> bool {
        let raw = self.0;
        raw.try_write()
            || raw.locked(|lists| {
                let taken = raw.take_or_mark(|word| word == 0, WRITER, waiter.is_some());
                if let (false, Some(waiter)) = (taken, waiter.take_if(|_| !taken)) {
                    // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                    // (this method's contract); the spin lock is held.
                    unsafe { lists.writers.push(entry, waiter) };
                }
                taken
            })
    }

    unsafe fn set_waiter(&self, _: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in a list of this lock,
        // whose spin lock is held.
        self.0.locked(|_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, _: Caller, entry: *mut Entry<()>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract): if it is linked still, it
        // is in `writers`, and stays so under the spin lock.
        let (state, waiter, next) = self.0.locked(|lists| unsafe {
            let state = (*entry).state();
            let waiter = (state == LINKED).then(|| lists.writers.remove(entry));
            (*entry).reset();
            (state, waiter, self.0.gone(lists))
        });
        drop(InHand::new(waiter));
        self.0.follow(next);
        state
    }

    unsafe fn undo(&mut self, _: u8, _: *mut ()) -> bool {
        // SAFETY: the lock was handed over to this wait.
        unsafe { self.0.leave_write() };
        false
    }
}
