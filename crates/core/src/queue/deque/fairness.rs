//! What the owner does every so many turns, so that nothing waits for ever: its oldest task, and
//! those between two busy ends.

use super::{OwnDeque, OwnerHalf};
use crate::record::header::Header;
use crate::record::task::Runnable;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::mutant::on;
use std::ptr::null_mut;

/// Places that one call of `pop_between` looks at.
pub(super) const PORTION: usize = 64;

impl OwnDeque<'_> {
    /// Adds the *oldest* task, one that nobody claims: a future that lets all others go first.
    /// True: somebody asks for work.
    pub(crate) fn push_oldest(&self, task: Runnable) -> bool {
        self.push_at_head(task, false)
    }

    /// The same for the running future, which lets others go first: kept as what it
    /// [wakes](Self::push_woken), where all of that is kept, if it has `talked` to others. (One
    /// that only computes is for whoever has time.)
    pub(crate) fn push_yielded(&self, task: Runnable, talked: bool) -> bool {
        let keeps_all = talked && self.keeps_all();
        self.push_at_head(task, keeps_all) && !(keeps_all && self.keeps_newest())
    }

    /// `private`: if there is nothing public, neither is this task.
    fn push_at_head(&self, task: Runnable, private: bool) -> bool {
        loop {
            let top = self.top.load(Relaxed);
            let guard = if on("push-oldest-unlocked") { None } else { Some(self.lock()) };
            let head = self.head.load(Relaxed);
            let capacity = self.capacity();
            if top - head == capacity {
                drop(guard);
                self.compact_or_grow(top);
                continue;
            }
            let position = head - 1;
            // Public at once: below split, under the lock (I3). Or the first private one.
            self.slot(position).store(task.into_raw(), Relaxed);
            if private && self.split.load(Relaxed) == head {
                self.split.store(position, Relaxed);
            }
            // Relaxed: only the owner acquires head, and it has the lock, so a thief's use of the
            // slot came before.
            self.head.store(position, Relaxed);
            self.half().full_at.set(position + capacity);
            break;
        }
        self.light("push-light");
        self.is_requested()
    }

    /// Takes the oldest task. Dearer than `pop`: for fairness, every so many
    /// turns.
    pub(crate) fn pop_oldest(&self) -> Option<Runnable> {
        if self.top.load(Relaxed) <= self.head.load(Relaxed) {
            return None;
        }
        let _guard = if on("pop-oldest-unlocked") { None } else { Some(self.lock()) };
        let (mut head, split, top) = (self.head.load(Relaxed), self.split.load(Relaxed), self.top.load(Relaxed));
        let mut task: *mut Header = null_mut();
        while head < top && task.is_null() {
            task = self.slot(head).swap(null_mut(), Relaxed);
            head += 1;
        }
        // Under the lock, and the owner itself: no thief is between its guess and its look.
        if !on("pop-oldest-keeps-split") {
            self.split.store(split.max(head), Relaxed);
        }
        // Relaxed: only the owner acquires head.
        self.head.store(head, Relaxed);
        // SAFETY: the swap has taken the task out of the deque, for this caller alone.
        unsafe { Runnable::from_slot(task) }
    }

    /// Takes a task from anywhere in the deque but its newest end: each call goes on where the last
    /// one stopped, upwards. A pass ends where the newest task was at its beginning (else it would
    /// follow one that spawns its successor, for ever), or is now; the next one begins at the
    /// oldest end.
    /// `None`: there is none in the next few places. Dearer than `pop`: for fairness, every so many
    /// turns. For what lies between two busy ends: futures that wake themselves, and tasks that
    /// spawn their successors.
    pub(crate) fn pop_between(&self) -> Option<Runnable> {
        if self.top.load(Relaxed) <= self.head.load(Relaxed) {
            return None;
        }
        let _guard = self.lock();
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        let own = self.half();
        let (from, end) = own.next_range(head, top);
        for position in from..end.min(from + PORTION).min(top - 1) {
            own.cursor.set((position + 1, end));
            // As a claim of an older task: under the lock no thief is at work, whatever part the
            // place is in.
            let task = self.slot(position).swap(null_mut(), Relaxed);
            // SAFETY: the swap has taken the task out of the deque, for this caller alone.
            let task = unsafe { Runnable::from_slot(task) };
            if task.is_some() {
                own.set_tombstones(true);
                return task;
            }
        }
        None
    }
}

impl OwnerHalf {
    /// What the next call of [`pop_between`](OwnDeque::pop_between) looks at, at most.
    pub(super) fn next_range(&self, head: usize, top: usize) -> (usize, usize) {
        let (from, end) = self.cursor.get();
        if head <= from && from < end.min(top - 1) { (from, end) } else { (head, top - 1) }
    }
}
