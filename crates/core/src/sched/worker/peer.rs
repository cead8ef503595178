//! What any thread asks of a worker, or tells it.

use super::Peer;
use crate::record::memory::Memory;
use myriad_base::sys::atomic::Ordering::Relaxed;

impl Peer {
    /// So many stacks more.
    pub(crate) fn count_stacks(&self, more: isize) {
        // Relaxed: a number; at the end of a runtime it is ordered by the lock of its threads.
        self.stacks_made.fetch_add(more, Relaxed);
    }

    /// Stacks that are neither ended nor counted elsewhere.
    pub(crate) fn counted_stacks(&self) -> isize {
        self.stacks_made.load(Relaxed)
    }

    /// Of these the ones that run nothing, and wait to be used. An estimate, for any thread.
    pub(crate) fn idle_stacks(&'static self) -> usize {
        // SAFETY: all peers are the first field of a `Worker` that lives for ever. Only an atomic
        // word of it is reached, by a reference to that word.
        unsafe { (*self.whole()).stacks.idle_count.load(Relaxed) }
    }

    /// How many of its blocked closures are ready, and how often one has gone on. An estimate, for
    /// any thread.
    pub(crate) fn ready(&'static self) -> (usize, u64) {
        let (ready, gone) = self.shared.ready.counts();
        // SAFETY: all peers are the first field of a `Worker` that lives for ever, and only atomic
        // words of it are reached.
        let (has_next, gone_next) = unsafe { (!(*self.whole()).next.is_empty(), (*self.whole()).next.gone()) };
        (ready + usize::from(has_next), gone as u64 + gone_next)
    }

    /// Free records that the worker held when it [said](Memory::show) so last. For any thread.
    pub(crate) fn free_records(&'static self) -> usize {
        // SAFETY: all peers are the first field of a `Worker` that lives for ever, and so are its
        // lists; no reference to them is made here.
        unsafe { Memory::shown(&raw const (*self.whole()).memory) }
    }

    /// All its stacks are gone, or it has so many.
    pub(crate) fn set_stacks(&self, n: isize) {
        self.stacks_made.store(n, Relaxed);
    }

    /// The next turn of its loop is a tick, unless it has just begun one: who depends on it asks
    /// again.
    #[inline]
    pub(crate) fn request_tick(&self) {
        // Relaxed: a hint, which publishes nothing.
        self.window_cut.store(true, Relaxed);
        self.tick_countdown.store(0, Relaxed);
    }

    /// Does it work in fiber mode? For all.
    #[inline(always)]
    pub(crate) fn are_fibers(&self) -> bool {
        !self.shared.ready.is_shared()
    }
}
