//! The read-write lock without its value.
//!
//! ```text
//!  word    WRITER | WAITING | number of readers
//!  lists   waiting writers; waiting readers; under a spin lock
//! ```
//! **Without waiters** each operation is one exchange on the word. `WAITING` sends all who come to the lists, and who leaves last to
//! them, to *hand the lock over*: so who waits gets it without asking again, and nobody passes.
//!
//! **Who is next.** When the last reader leaves: the first writer. When a writer leaves: all readers that wait at that moment; then
//! the next writer. So writers are preferred to readers that come later, and neither side starves.
//!
//! **Invariants**, under the spin lock. `WAITING` exactly if some wait. `WAITING` alone, with neither readers nor writer: somebody who
//! has just left is on the way to hand over. While `WAITING` is set, only leaving readers change the word without the spin lock.
//! A reader that lets others in counts as one of them until all are in, so the last of these cannot leave before.
//!
//! **Ordering.** Taking is Acquire, leaving Release; all changes are read-modify-writes, so they form one release sequence: a writer sees
//! what all readers before it have read and what the writer before them wrote. Handed over, it goes by the entry: the one who
//! hands over has acquired the word.

use super::crowd::{Batch, Crowd, let_go_of};
use super::op::Op;
use crate::entry::{DONE, Entry, LINKED, List};
use myriad_core::lock::spin::SpinLock;
use myriad_core::sys::atomic::{AtomicBool, AtomicU32, Ordering::*};
use myriad_core::sys::cell::UnsafeCell;
use myriad_core::sys::const_fn;
use myriad_core::sys::mutant::ord;
use myriad_core::wait::{Here, InHand, Target};

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
    readers: Crowd,
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
    Wake(Target),
    /// Readers up to this generation are let in; this one counts as a reader meanwhile.
    LetIn(u64),
}

impl RawRwLock {
    const_fn! {
        pub(super) const fn new() -> RawRwLock {
            RawRwLock {
                word: AtomicU32::new(0),
                queue: SpinLock::new(),
                poisoned: AtomicBool::new(false),
                lists: UnsafeCell::new(Lists { writers: List::new(), readers: Crowd::new() }),
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
            self.let_in_if(lists.writers.is_empty(), lists)
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
            if wrote && !lists.readers.is_empty() {
                return self.let_in_if(true, lists);
            }
            // SAFETY: under the spin lock.
            if let Some((entry, target)) = unsafe { lists.writers.claim_first() } {
                self.word.fetch_or(WRITER, AcqRel);
                self.still_waiting(lists);
                // SAFETY: taken out just now, with its target.
                unsafe { Entry::end(entry, DONE) };
                return Next::Wake(target);
            }
            let next = self.let_in_if(true, lists);
            self.still_waiting(lists);
            next
        });
        self.follow(next);
    }

    /// Under the spin lock: is there still somebody who waits?
    fn still_waiting(&self, lists: &mut Lists) {
        if lists.writers.is_empty() && lists.readers.is_empty() {
            self.word.fetch_and(!WAITING, AcqRel);
        }
    }

    /// Under the spin lock, nobody writes: the readers that wait are to be let in, if so.
    fn let_in_if(&self, yes: bool, lists: &mut Lists) -> Next {
        if !yes || lists.readers.is_empty() {
            return Next::Nothing;
        }
        self.word.fetch_add(1, AcqRel);
        Next::LetIn(lists.readers.all())
    }

    fn follow(&self, next: Next) {
        match next {
            Next::Nothing => {}
            // SAFETY: claimed, and woken once.
            Next::Wake(target) => unsafe { Here::get().wake(target) },
            Next::LetIn(mut upto) => {
                let_go_of(|batch: &mut Batch| {
                    self.locked(|lists| {
                        if lists.writers.is_empty() {
                            // Those who came meanwhile, for nobody else would let them in before the readers leave.
                            upto = lists.readers.generation();
                        }
                        lists.readers.take_counted(upto, DONE, batch, || _ = self.word.fetch_add(1, AcqRel));
                        self.still_waiting(lists);
                    });
                });
                // SAFETY: counted in `let_in_if`.
                unsafe { self.leave_read() };
            }
        }
    }

    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&mut Lists) -> R) -> R {
        // SAFETY: what runs inside is this module's: short, no user code.
        let _guard = unsafe { self.queue.lock() };
        // SAFETY: under the spin lock.
        self.lists.with_mut(|lists| f(unsafe { &mut *lists }))
    }

    /// Under the spin lock: takes it now (true), or sees to it that it is handed over to who joins the lists now.
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
        self.let_in_if(lists.writers.is_empty() && word & WRITER == 0 && word & READERS != 0, lists)
    }
}

/// To read, with patience.
pub(super) struct Read<'a>(pub(super) &'a RawRwLock);

// SAFETY: entries are linked and taken out under the spin lock.
unsafe impl Op for Read<'_> {
    type Slot = u64;

    unsafe fn start(&mut self, _: Here, entry: *mut Entry<u64>, target: &mut Option<Target>) -> bool {
        let raw = self.0;
        raw.try_read()
            || raw.locked(|lists| {
                let taken = raw.take_or_mark(|word| word & (WRITER | WAITING) == 0 && word < MOST, 1, target.is_some());
                if let (false, Some(target)) = (taken, target.take_if(|_| !taken)) {
                    // SAFETY: the caller; under the spin lock.
                    unsafe { lists.readers.join(entry, target) };
                }
                taken
            })
    }

    unsafe fn retarget(&self, _: Here, entry: *mut Entry<u64>, target: &mut Option<Target>) {
        // SAFETY: the caller; under the spin lock.
        self.0.locked(|_| unsafe { super::crowd::retarget(entry, target) });
    }

    unsafe fn give_up(&mut self, _: Here, entry: *mut Entry<u64>) -> bool {
        // SAFETY: the caller; under the spin lock.
        let (state, target) = self.0.locked(|lists| unsafe {
            let state = (*entry).state();
            let target = lists.readers.leave(entry);
            self.0.still_waiting(lists);
            (state, target)
        });
        let _target = InHand::new(target);
        if state == DONE {
            // SAFETY: it was let in.
            unsafe { self.0.leave_read() };
        }
        false
    }
}

/// To write, with patience.
pub(super) struct Write<'a>(pub(super) &'a RawRwLock);

// SAFETY: entries are linked and taken out under the spin lock.
unsafe impl Op for Write<'_> {
    type Slot = ();

    unsafe fn start(&mut self, _: Here, entry: *mut Entry<()>, target: &mut Option<Target>) -> bool {
        let raw = self.0;
        raw.try_write()
            || raw.locked(|lists| {
                let taken = raw.take_or_mark(|word| word == 0, WRITER, target.is_some());
                if let (false, Some(target)) = (taken, target.take_if(|_| !taken)) {
                    // SAFETY: the caller; under the spin lock.
                    unsafe { lists.writers.push(entry, target) };
                }
                taken
            })
    }

    unsafe fn retarget(&self, _: Here, entry: *mut Entry<()>, target: &mut Option<Target>) {
        // SAFETY: the caller; under the spin lock.
        self.0.locked(|_| unsafe { super::crowd::retarget(entry, target) });
    }

    unsafe fn give_up(&mut self, _: Here, entry: *mut Entry<()>) -> bool {
        // SAFETY: the caller; under the spin lock.
        let (state, target, next) = self.0.locked(|lists| unsafe {
            let state = (*entry).state();
            let target = (state == LINKED).then(|| lists.writers.remove(entry));
            (*entry).reset();
            (state, target, self.0.gone(lists))
        });
        let _target = InHand::new(target);
        self.0.follow(next);
        if state == DONE {
            // SAFETY: it was handed over.
            unsafe { self.0.leave_write() };
        }
        false
    }
}
