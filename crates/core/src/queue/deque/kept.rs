//! What an owner keeps for itself though somebody asks for work: futures that it wakes.
//!
//! As long as the owner's turns are short it runs a *lone* one next, sooner than another worker
//! could, and without moving what the future works on. Where futures are
//! [gathered](crate::sched::gather) on the owner, it keeps all of them.
//!
//! What is spawned is never kept: its spawner may wait for it only after a long computation. And
//! where turns are long nothing is: a waker may go on for long, and two that work by turns would
//! never work at a time.
//!
//! **Nothing waits for long.** The word says that something is kept as long as the owner has not
//! answered a request since, nor come by and kept less. The monitor sees an owner that keeps
//! something and does not come by, and [releases](Deque::release_kept) it; then the owner keeps
//! nothing before it comes by.

use super::{Deque, OwnDeque};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::mutant::on;

/// In `kept`: no task is.
pub(super) const NOT_KEPT: u8 = 0;
/// In `kept`: the newest task was, at the last push, a lone one that its owner was to run next.
const LONE: u8 = 1;
/// In `kept`: no task is, and none will be in this turn of the owner's, which lasts.
const NONE_NOW: u8 = 2;
/// In `kept`: all that is private.
const ALL: u8 = 3;

/// What an owner keeps of the futures that it wakes, while somebody asks for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    /// One beside which nothing else is queued.
    Lone,
    All,
}

impl OwnDeque<'_> {
    /// Somebody asks for work, and the newest task was woken. True: it is kept.
    #[cold]
    #[inline(never)]
    pub(super) fn keeps_newest(self) -> bool {
        let word = match self.half().keeps.get() {
            Keeps::Lone if !self.has_public() && !self.has_two() => LONE,
            // (Also where something is public yet: else each push would make more of it public.)
            Keeps::All => ALL,
            _ => return false,
        };
        let now = self.kept.load(Relaxed);
        // An exchange: the monitor may say at any moment that there is to be none.
        !on("woken-is-spawned")
            && (now == word || now != NONE_NOW && self.kept.compare_exchange(now, word, Relaxed, Relaxed).is_ok())
    }

    /// The owner comes by, and keeps so much from now on.
    pub(crate) fn set_keeps(&self, keeps: Keeps) {
        self.half().keeps.set(keeps);
        let now = self.kept.load(Relaxed);
        if now == NONE_NOW || now == ALL && keeps != Keeps::All {
            self.kept.store(NOT_KEPT, Relaxed);
        }
    }

    /// Does the owner keep all that it wakes?
    pub(crate) fn keeps_all(&self) -> bool {
        self.half().keeps.get() == Keeps::All
    }
}

impl Deque {
    /// The owner answers a request: who asks from now on finds that nothing is kept.
    pub(super) fn keep_no_longer(&self) {
        let kept = self.kept.load(Relaxed);
        if is_kept(kept) && !on("kept-for-good") {
            _ = self.kept.compare_exchange(kept, NOT_KEPT, Relaxed, Relaxed);
        }
    }

    /// Is there perhaps a task for a thief?
    pub(crate) fn looks_stealable(&self) -> bool {
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        top > head
            && match self.kept.load(Relaxed) {
                LONE => top > head + 1,
                ALL => self.has_public(),
                _ => true,
            }
    }

    /// Does the owner keep a task for itself, which it will run in a moment? A hint.
    pub(crate) fn keeps_task(&self) -> bool {
        is_kept(self.kept.load(Relaxed)) && self.looks_busy()
    }

    /// The owner does not come by: what it keeps is for others after all, and it keeps nothing else
    /// before it comes by. True: there is something.
    pub(crate) fn release_kept(&self) -> bool {
        self.kept.load(Relaxed) != NONE_NOW && is_kept(self.kept.swap(NONE_NOW, Relaxed)) && self.looks_busy()
    }
}

fn is_kept(word: u8) -> bool {
    word == LONE || word == ALL
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::queue::records::{futures, pointer, records, runnable, taken, unstarted};
    use crate::record::header::Header;
    use myriad_base::sys::fence::Fence;
    use std::ptr::null_mut;

    fn owner(deque: &Deque) -> OwnDeque<'_> {
        // SAFETY: the calling thread is the owner, in these tests.
        unsafe { deque.owner() }
    }

    /// What a thief gets without force.
    fn steal(deque: &Deque) -> *mut Header {
        let mut one = [None];
        deque.steal(&mut one);
        taken(one[0].take())
    }

    fn pop(deque: &Deque) -> *mut Header {
        taken(owner(deque).pop())
    }

    #[test]
    fn all_that_is_woken_and_yields_but_nothing_that_is_spawned() {
        let (deque, woken, spawned) = (Deque::new(Fence::new(0), 8), futures(4), records(1));
        owner(&deque).set_keeps(Keeps::All);
        deque.request();
        assert!(!owner(&deque).push_woken(runnable(&woken[0])), "nobody is told");
        assert!(!owner(&deque).push_woken(runnable(&woken[1])));
        assert!(!owner(&deque).push_yielded(runnable(&woken[2]), true));
        assert!(!deque.looks_stealable() && deque.keeps_task());
        assert_eq!(steal(&deque), null_mut());
        // What yields is the oldest, so it is last.
        assert_eq!([pop(&deque), pop(&deque)], [0, 1].map(|i| pointer(&woken[i])));
        assert!(owner(&deque).push(unstarted(&spawned[0])), "a thief is told");
        owner(&deque).share();
        deque.take_request();
        assert_eq!(steal(&deque), pointer(&woken[2]));
        assert_eq!([pop(&deque), pop(&deque)], [pointer(&spawned[0]), null_mut()]);
    }

    #[test]
    fn what_is_spawned_is_for_others_whatever_is_woken_then() {
        let (deque, woken, spawned) = (Deque::new(Fence::new(0), 8), futures(2), records(1));
        owner(&deque).set_keeps(Keeps::All);
        deque.request();
        assert!(!owner(&deque).push_woken(runnable(&woken[0])));
        assert!(owner(&deque).push(unstarted(&spawned[0])));
        owner(&deque).share();
        deque.take_request();
        assert_eq!(steal(&deque), pointer(&woken[0]));
        deque.request(); // the thief comes again
        owner(&deque).push_woken(runnable(&woken[1]));
        assert!(deque.looks_stealable(), "a closure is kept");
        while !pop(&deque).is_null() {}
    }

    #[test]
    fn what_yields_and_has_not_talked_is_for_others() {
        let (deque, woken) = (Deque::new(Fence::new(0), 8), futures(2));
        owner(&deque).set_keeps(Keeps::All);
        deque.request();
        assert!(!owner(&deque).push_woken(runnable(&woken[0])));
        assert!(owner(&deque).push_yielded(runnable(&woken[1]), false), "a thief is told");
        assert_eq!([steal(&deque), steal(&deque)], [pointer(&woken[1]), null_mut()]);
        assert_eq!(pop(&deque), pointer(&woken[0]));
    }

    #[test]
    fn what_is_public_already_is_for_others() {
        let (deque, woken) = (Deque::new(Fence::new(0), 8), futures(4));
        (0..2).for_each(|i| _ = owner(&deque).push_woken(runnable(&woken[i])));
        owner(&deque).publish();
        owner(&deque).set_keeps(Keeps::All);
        deque.request();
        assert!(!owner(&deque).push_woken(runnable(&woken[2])));
        // Behind what is public, and so public.
        assert!(!owner(&deque).push_yielded(runnable(&woken[3]), true));
        assert!(deque.looks_stealable());
        assert_eq!([steal(&deque), steal(&deque), steal(&deque)], [pointer(&woken[3]), pointer(&woken[0]), null_mut()]);
        assert!(!deque.looks_stealable());
    }

    #[test]
    fn an_owner_that_does_not_come_by_keeps_nothing() {
        let (deque, woken) = (Deque::new(Fence::new(0), 8), futures(4));
        owner(&deque).set_keeps(Keeps::All);
        deque.request();
        owner(&deque).push_woken(runnable(&woken[0]));
        owner(&deque).push_woken(runnable(&woken[1]));
        assert!(deque.release_kept() && !deque.release_kept(), "once");
        assert!(deque.looks_stealable());
        assert_eq!(taken(deque.steal_forced()), pointer(&woken[0]));
        assert!(owner(&deque).push_woken(runnable(&woken[2])), "not in this turn");
        owner(&deque).set_keeps(Keeps::All);
        assert!(!owner(&deque).push_woken(runnable(&woken[3])), "but in the next one");
        owner(&deque).set_keeps(Keeps::Lone);
        assert!(deque.looks_stealable(), "others see at once that it is over");
        while !pop(&deque).is_null() {}
    }

    #[test]
    fn all_becomes_public_for_who_gathers() {
        let (deque, woken) = (Deque::new(Fence::new(0), 8), futures(3));
        (0..3).for_each(|i| _ = owner(&deque).push_woken(runnable(&woken[i])));
        owner(&deque).publish_all();
        assert_eq!([(); 3].map(|()| steal(&deque)), [0, 1, 2].map(|i| pointer(&woken[i])));
        assert_eq!(pop(&deque), null_mut());
    }
}
