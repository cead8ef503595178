//! A list of tasks in order of arrival, out of which each can be taken: under a lock, and the
//! records know their places.
//!
//! A place is a slot, which stays where it is as long as the task is here; `idx` of the record
//! names queue and slot. So a joiner takes its task out of the middle in a few steps, and nothing
//! is left behind: no tombstones, and nothing to tidy up.

use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};
use myriad_base::sys::atomic::Ordering::Relaxed;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// In `idx`: a place in a queue. No position of a deque is so high; and the topmost bit is for
/// tasks that have begun (`record/position.rs`).
const IN_CLAIM_LIST: usize = 1 << 62;

#[derive(Debug)]
struct ClaimSlot {
    /// `None` in a free slot.
    task: Option<Runnable>,
    /// Towards the oldest; in a free slot not used.
    before: u32,
    /// Towards the newest; in a free slot the next free one.
    after: u32,
    /// For whoever keeps more than the order of arrival.
    note: u32,
}

/// See the module's header.
#[derive(Debug)]
pub(super) struct ClaimList {
    /// Which queue of the policy this is.
    queue: u32,
    slots: Vec<ClaimSlot>,
    free: u32,
    oldest: u32,
    newest: u32,
    len: usize,
}

impl ClaimSlot {
    /// Does this very task stand here?
    fn holds(&self, task: &Header) -> bool {
        self.task.as_ref().is_some_and(|here| std::ptr::eq(here.address(), task))
    }
}

fn is_in_claim_list(idx: usize) -> bool {
    idx >> 62 == 1
}

/// The queue that a record says it is in.
pub(super) fn queue_of(task: &Header) -> Option<usize> {
    // Relaxed: a hint; `ClaimList::find` looks again under the lock.
    let idx = task.idx().load(Relaxed);
    is_in_claim_list(idx).then_some(idx >> 32 & 0x3fff_ffff)
}

impl ClaimList {
    pub(super) fn new(queue: usize) -> ClaimList {
        ClaimList { queue: queue as u32, slots: Vec::new(), free: NONE, oldest: NONE, newest: NONE, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds the newest task (or, with `oldest`, the oldest), and says where it stands.
    ///
    /// `claimable`: the record learns its place. (Not a future's, which has other uses for the
    /// word.)
    pub(super) fn put(&mut self, task: Runnable, oldest: bool, claimable: bool) -> u32 {
        let at = self.free;
        let slot = ClaimSlot { task: Some(task), before: NONE, after: NONE, note: 0 };
        let at = if at == NONE {
            self.slots.push(slot);
            // More than four billion tasks have no room in any memory.
            (self.slots.len() - 1) as u32
        } else {
            self.free = self.slots[at as usize].after;
            self.slots[at as usize] = slot;
            at
        };
        let neighbour =
            if oldest { std::mem::replace(&mut self.oldest, at) } else { std::mem::replace(&mut self.newest, at) };
        if neighbour == NONE {
            (self.oldest, self.newest) = (at, at);
        } else if oldest {
            self.slots[at as usize].after = neighbour;
            self.slots[neighbour as usize].before = at;
        } else {
            self.slots[at as usize].before = neighbour;
            self.slots[neighbour as usize].after = at;
        }
        self.len += 1;
        if claimable && let Some(task) = &self.slots[at as usize].task {
            // Relaxed: who finds another word here, or an old one, does not find the task in the
            // slot.
            task.header().idx().store(IN_CLAIM_LIST | (self.queue as usize) << 32 | at as usize, Relaxed);
        }
        at
    }

    /// Where this very task stands; `None` if it is not here.
    pub(super) fn find(&self, task: &Header) -> Option<u32> {
        let idx = task.idx().load(Relaxed);
        let at = idx as u32;
        let here = is_in_claim_list(idx) && (idx >> 32 & 0x3fff_ffff) as u32 == self.queue;
        // By identity: what is in a slot is queued, so a word that is stale, or none of ours, finds
        // something else there.
        (here && self.slots.get(at as usize).is_some_and(|slot| slot.holds(task))).then_some(at)
    }

    /// Takes out this very closure, if it is here.
    pub(super) fn claim(&mut self, task: &Header) -> Option<Unstarted> {
        let at = self.find(task)?;
        self.take(at)?.into_unstarted().ok()
    }

    /// Takes out what stands there.
    pub(super) fn take(&mut self, at: u32) -> Option<Runnable> {
        let free = ClaimSlot { task: None, before: NONE, after: self.free, note: 0 };
        let ClaimSlot { task, before, after, .. } = std::mem::replace(&mut self.slots[at as usize], free);
        debug_assert!(task.is_some());
        self.free = at;
        match before {
            NONE => self.oldest = after,
            _ => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.newest = before,
            _ => self.slots[after as usize].before = before,
        }
        self.len -= 1;
        task
    }

    /// Takes the oldest.
    pub(super) fn take_oldest(&mut self) -> Option<Runnable> {
        if self.oldest == NONE { None } else { self.take(self.oldest) }
    }

    /// Where the oldest stands.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Where the newest stands.
    pub(super) fn newest(&self) -> Option<u32> {
        (self.newest != NONE).then_some(self.newest)
    }

    /// Does a task stand there?
    pub(super) fn has(&self, at: u32) -> bool {
        self.slots.get(at as usize).is_some_and(|slot| slot.task.is_some())
    }

    /// The record of the task that stands there.
    pub(super) fn task(&self, at: u32) -> Option<&Header> {
        self.slots[at as usize].task.as_ref().map(|task| task.header())
    }

    /// What was noted for the task that stands there.
    pub(super) fn note(&self, at: u32) -> u32 {
        self.slots[at as usize].note
    }

    pub(super) fn set_note(&mut self, at: u32, note: u32) {
        self.slots[at as usize].note = note;
    }
}
