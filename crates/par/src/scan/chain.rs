//! What the workers of a scan tell each other: for each block its aggregate, then its prefix.
//!
//! ```text
//!  EMPTY --set_aggregate--> AGGREGATE --set_prefix--> PREFIX
//!
//!  look back from block i:   PREFIX(k)  op  AGGREGATE(k + 1)  op ... op  AGGREGATE(i - 1)
//! ```
//! *Prefix* of a block: the combination of everything up to its end. Blocks are claimed in order,
//! so the lowest block without a prefix is in the hands of somebody who needs nobody else.
//!
//! **Invariants.** (C1) Only who has claimed a block writes to its entry, and each of the two
//! values once, before the state that says so. (C2) What was written stands, unchanged, until the
//! chain is dropped: references to it may be kept.
//!
//! **Ordering.** A value against its readers: the state's Release with the Acquire in `look_back`.
//! A state against somebody who is about to sleep: store, fence, read `sleepers` against count,
//! fence, read the state. The sleeper reads it under the lock that the waker takes to notify, so
//! what comes after that finds it waiting.
//!
//! **Rejected.** A ring of entries, used again: less memory (a block of 32 KiB has an entry of 128
//! bytes), but who uses an entry again would have to know that nobody looks back to it any more. To
//! spin for the block before: who has it may be set aside, on this very worker.
//!
//! Tests: `tests/loom/scan.rs`.

use super::kernel::Prefix;
use crate::unwind::after;
use myriad_base::sys::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::*, Peek, fence};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use myriad_core::engine::Line;
use myriad_sync::lock::{Condvar, Mutex};

const EMPTY: u8 = 0;
const AGGREGATE: u8 = 1;
const PREFIX: u8 = 2;

/// See the module's header.
pub(super) struct Chain<'a, T> {
    /// The prefix of all that comes before the first block.
    before: Option<Prefix<'a, T>>,
    blocks: Box<[Line<BlockState<'a, T>>]>,
    failed: AtomicBool,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

/// Its values are elements, as those of a vector: whoever scans drops them by glue, in its own
/// frame, where the engine is in the middle of nothing.
struct BlockState<'a, T> {
    state: AtomicU8,
    aggregate: UnsafeCell<Option<T>>,
    prefix: UnsafeCell<Option<Prefix<'a, T>>>,
}

impl<T> BlockState<'_, T> {
    /// The block's aggregate.
    ///
    /// # Safety
    /// The caller has read, with Acquire, a state of this entry that is not `EMPTY`.
    unsafe fn published_aggregate(&self) -> &T {
        // SAFETY: it was written before that state (C1), and stands (C2).
        self.aggregate.with(|aggregate| unsafe { (*aggregate).as_ref() }).expect("it was set")
    }
}

// SAFETY: an entry is written by one thread before it is published, and only read after (C1, C2);
// values are read by and dropped on other threads, which `T: Send + Sync` allows.
unsafe impl<T: Send + Sync> Sync for Chain<'_, T> {}
// SAFETY: values are dropped on other threads, which `T: Send + Sync` allows.
unsafe impl<T: Send + Sync> Send for Chain<'_, T> {}

impl<'a, T: Send + Sync> Chain<'a, T> {
    /// A chain of so many blocks.
    pub(super) fn new(before: Option<Prefix<'a, T>>, blocks: usize) -> Self {
        let empty = || BlockState {
            state: AtomicU8::new(EMPTY),
            aggregate: UnsafeCell::new(None),
            prefix: UnsafeCell::new(None),
        };
        Chain {
            before,
            blocks: (0..blocks).map(|_| Line(empty())).collect(),
            failed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// The combination of a block is known, and others may use it if `publish`.
    ///
    /// # Safety
    /// The caller has claimed the block, and does this once.
    pub(super) unsafe fn set_aggregate(&self, block: usize, value: T, publish: bool) {
        let entry = &self.blocks[block];
        // SAFETY: the block is the caller's, who does this once (this method's contract); nobody
        // reads before the state says so (C1).
        entry.aggregate.with_mut(|aggregate| unsafe { *aggregate = Some(value) });
        if publish {
            // Release: the value, for the Acquire in `look_back`.
            entry.state.store(AGGREGATE, ord(Release, "aggregate-release"));
            self.tell();
        }
    }

    /// The caller's own.
    ///
    /// # Safety
    /// The caller has claimed the block, and has set its aggregate.
    pub(super) unsafe fn aggregate(&self, block: usize) -> &T {
        // SAFETY: the aggregate was set, by the caller (this method's contract), and stands (C2).
        self.blocks[block].aggregate.with(|aggregate| unsafe { (*aggregate).as_ref().expect("it was set") })
    }

    /// The prefix of a block is known; `None` if it is the block's aggregate.
    ///
    /// # Safety
    /// The caller has claimed the block, and does this once.
    pub(super) unsafe fn set_prefix(&self, block: usize, value: Option<Prefix<'a, T>>) {
        let entry = &self.blocks[block];
        // SAFETY: the block is the caller's, who does this once (this method's contract); nobody
        // reads before the state says so (C1).
        entry.prefix.with_mut(|prefix| unsafe { *prefix = value });
        // Release: the value, for the Acquire in `look_back`.
        entry.state.store(PREFIX, ord(Release, "prefix-release"));
        self.tell();
    }

    /// The combination of all before a block, if it can be told; else the block that is waited for.
    /// `None` within: nothing is before it.
    #[inline]
    pub(super) fn look_back<'c>(
        &'c self,
        block: usize,
        op: impl Fn(&T, &T) -> T,
    ) -> Result<Option<Prefix<'c, T>>, usize> {
        let mut sum: Option<Prefix<'c, T>> = None;
        let combine = |before: &'c T, sum: Option<Prefix<'c, T>>| match sum {
            Some(sum) => {
                let combined = op(before, sum.get());
                after(sum, Prefix::Own(combined))
            }
            None => Prefix::There(before),
        };
        for i in (0..block).rev() {
            let entry = &self.blocks[i];
            // Acquire: pairs with the Release of who has published the value.
            match entry.state.load(ord(Acquire, "look-acquire")) {
                PREFIX => {
                    // SAFETY: the state says that the prefix is published, so it stands (C2).
                    let prefix = entry.prefix.with(|prefix| unsafe { (*prefix).as_ref() });
                    // SAFETY: the state, read above with Acquire, is not `EMPTY`.
                    let prefix = prefix.map_or_else(|| unsafe { entry.published_aggregate() }, Prefix::get);
                    return Ok(Some(combine(prefix, sum)));
                }
                // SAFETY: the state, read above with Acquire, is not `EMPTY`.
                AGGREGATE => sum = Some(combine(unsafe { entry.published_aggregate() }, sum)),
                _ => return Err(i),
            }
        }
        Ok(match &self.before {
            Some(before) => Some(combine(before.get(), sum)),
            None => sum,
        })
    }

    /// What the last block has, when all is done.
    pub(super) fn into_last(mut self) -> Option<Prefix<'a, T>> {
        let last = self.blocks.last_mut()?;
        // SAFETY: the chain is ours alone by now.
        let prefix = last.0.prefix.with_mut(|prefix| unsafe { (*prefix).take() });
        after(self, prefix)
    }

    /// Does the block say anything by now, or has the scan failed? For spinning.
    #[inline]
    pub(super) fn is_over(&self, block: usize) -> bool {
        self.blocks[block].state.peek(Relaxed) != EMPTY || self.failed.peek(Relaxed)
    }

    /// Waits until it does.
    ///
    /// # Cancellation
    /// A blocking point.
    pub(super) fn sleep_until_over(&self, block: usize) {
        // Counted first, then a check: see the header.
        self.sleepers.fetch_add(1, Relaxed);
        let sleeper = Sleeper(&self.sleepers);
        if !on("sleep-fence") {
            fence(SeqCst);
        }
        let mut lock = self.lock.lock().unwrap_or_else(|e| e.into_inner());
        // Relaxed: `look_back` acquires.
        while self.blocks[block].state.load(Relaxed) == EMPTY && !self.failed.load(Relaxed) {
            lock = self.changed.wait(lock).unwrap_or_else(|e| e.into_inner());
        }
        drop((lock, sleeper));
    }

    /// A part has panicked: nobody waits any more.
    pub(super) fn fail(&self) {
        self.failed.store(true, Relaxed);
        self.tell();
    }

    /// Has a part panicked?
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        // Relaxed: nothing is read that it stands for.
        self.failed.load(Relaxed)
    }

    /// After a change: wakes who sleeps.
    #[inline]
    fn tell(&self) {
        if !on("tell-fence") {
            fence(SeqCst);
        }
        if self.sleepers.load(Relaxed) > 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // Taken, because a sleeper that has checked, but does not wait yet, has it. Also while a
        // panic unwinds; its holders do not wait.
        if !on("notify-unlocked") {
            drop(self.lock.lock());
        }
        self.changed.notify_all();
    }
}

struct Sleeper<'a>(&'a AtomicUsize);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// In a model: a chain of numbers, and what members do with it.
#[cfg(loom)]
#[expect(missing_docs, missing_debug_implementations)]
pub mod model {
    use super::*;

    pub struct Blocks(Chain<'static, u64>);

    /// The digits of both, in order: it does not commute.
    fn op(a: &u64, b: &u64) -> u64 {
        let digits = b.checked_ilog10().map_or(1, |n| n + 1);
        a * 10_u64.pow(digits) + b
    }

    impl Blocks {
        pub fn new(blocks: usize) -> Blocks {
            Blocks(Chain::new(None, blocks))
        }

        /// A member has reduced its block.
        ///
        /// # Safety
        /// The block is this thread's alone, which does this once.
        pub unsafe fn reduced(&self, block: usize, value: u64) {
            // SAFETY: this thread has claimed the block, and sets its aggregate once (C1): the
            // contract of `reduced`.
            unsafe { self.0.set_aggregate(block, value, true) };
        }

        /// It waits for the prefix before its block, and publishes its own; what it is. `None`:
        /// another has failed.
        ///
        /// # Safety
        /// The block is this thread's alone, which has reduced it, and does this once.
        pub unsafe fn finish(&self, block: usize) -> Option<u64> {
            loop {
                if self.0.has_failed() {
                    return None;
                }
                match self.0.look_back(block, op) {
                    Ok(before) => {
                        // SAFETY: this thread has claimed the block, and has set its aggregate by
                        // `reduced`.
                        let own = unsafe { self.0.aggregate(block) };
                        let prefix = before.map(|before| op(before.get(), own));
                        let value = prefix.unwrap_or(*own);
                        // SAFETY: this thread has claimed the block, and sets its prefix once (C1):
                        // the contract of `finish`.
                        unsafe { self.0.set_prefix(block, prefix.map(Prefix::Own)) };
                        return Some(value);
                    }
                    Err(other) => self.0.sleep_until_over(other),
                }
            }
        }

        pub fn fail(&self) {
            self.0.fail();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    thread_local! {
        static ALIVE: Cell<isize> = const { Cell::new(0) };
        /// The destructor after so many more unwinds.
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Alive ones are counted, and a destructor unwinds, as one does that waits in a cancelled
    /// task.
    struct Own;

    impl Own {
        fn new() -> Own {
            ALIVE.set(ALIVE.get() + 1);
            Own
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
            LEFT.set(LEFT.get().wrapping_sub(1));
            assert!(LEFT.get() != 0 || std::thread::panicking(), "planned");
        }
    }

    /// Five blocks: the first one has its prefix, the next three their aggregates, the last one
    /// nothing.
    fn chain() -> Chain<'static, Own> {
        let chain = Chain::new(Some(Prefix::Own(Own::new())), 5);
        // SAFETY: this thread has claimed all blocks, and sets each value once.
        unsafe {
            (0..4).for_each(|block| chain.set_aggregate(block, Own::new(), true));
            chain.set_prefix(0, Some(Prefix::Own(Own::new())));
        }
        chain
    }

    /// Runs `f` with each destructor of it unwinding in its turn, and looks for what is left.
    fn at_each_destructor(mut f: impl FnMut()) {
        for bad in 1.. {
            LEFT.set(bad);
            let ended = catch_unwind(AssertUnwindSafe(&mut f)).is_ok();
            let left = LEFT.replace(usize::MAX);
            assert_eq!(ALIVE.get(), 0, "the destructor number {bad} has unwound");
            if ended {
                assert!(left >= 1 && bad > 5, "{bad}");
                return;
            }
        }
    }

    #[test]
    fn looking_back_loses_nothing() {
        at_each_destructor(|| {
            let chain = chain();
            let before = chain.look_back(4, |_, _| Own::new()).ok().flatten();
            assert!(matches!(before, Some(Prefix::Own(_))));
            drop(before);
        });
    }

    #[test]
    fn the_last_prefix_is_not_lost() {
        at_each_destructor(|| {
            let chain = chain();
            // SAFETY: this thread has claimed all blocks, and sets the last one's prefix once.
            unsafe { chain.set_prefix(4, Some(Prefix::Own(Own::new()))) };
            drop(chain.into_last().and_then(Prefix::into_own));
        });
    }
}
