//! Idle, sleep and wake: the crew of workers of one runtime.
//!
//! ```text
//!  sleeper: sleepers+1; sleeping=1; demand everywhere; HEAVY; look at inbox, injector, deques; sleep
//!  spawner: push; LIGHT; asked? -> answer: publish, wake one; keep the request while anybody sleeps
//!  waker:   CAS on the inbox; LIGHT; sleeping? -> swap 0, wake
//! ```
//! Whoever swaps `sleeping` from 1 to 0 takes one off `sleepers`: the count never includes a worker already woken.
//!
//! **Invariant.** If only sleepers are left, no task is unstarted, no inbox filled and nothing injected. `attention`
//! stays set while `sleepers > 0`.
//!
//! **Lifetime.** A crew and its members are never freed, only used again by a later runtime: a waker may still look at
//! a worker's `sleeping` flag after the task that it woke has ended the whole runtime.
//!
//! **Ordering.** Each Dekker race is named in the picture: store | LIGHT | load against store | HEAVY | load. A wake that
//! is given to us shows us the push: `sleeping` (AcqRel swap) with our Acquire.
//!
//! **Rejected.** "No wake while somebody searches": needs a last searcher that wakes the next, and saved nothing
//! measurable on two cores; the wake is passed on instead ([`Crew::found`]).
//!
//! Tests: `tests/loom_sleep.rs`.

use super::deque::{Deque, Line};
use super::inbox::Inbox;
use super::node::Node;
use crate::sys::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use crate::sys::fence::{Fence, heavy};
use crate::sys::futex::Gate;
use crate::sys::mutant::{on, ord, ord_to};
use std::sync::OnceLock;
use std::time::Duration;

/// What the other workers and foreign threads see of a worker.
#[derive(Debug)]
#[repr(C)]
pub struct Member {
    /// Its unstarted tasks.
    pub deque: Deque,
    /// What wakers write, on a line of its own: thieves poll what stands before it.
    pub door: Line<Door>,
    /// Its number in the crew.
    pub index: usize,
    /// Its crew.
    pub crew: &'static Crew,
}

/// Where a worker is reached from outside.
#[derive(Debug)]
pub struct Door {
    /// Its blocked tasks that others have woken.
    pub inbox: Inbox,
    /// The word is 1 while it sleeps or is about to.
    pub sleeping: Gate,
}

impl Member {
    /// Worker number `index` of this crew, with room for `capacity` tasks before its deque grows.
    pub fn new(crew: &'static Crew, index: usize, capacity: usize) -> Member {
        Member {
            deque: Deque::new(Fence::new(index), capacity),
            door: Line(Door { inbox: Inbox::default(), sleeping: Gate::new(0) }),
            index,
            crew,
        }
    }
}

/// The workers of one runtime.
#[derive(Debug)]
pub struct Crew {
    /// How many workers sleep.
    sleepers: Line<AtomicU32>,
    /// Tasks in the injector.
    injected: AtomicUsize,
    /// The workers are to look up and end.
    stop: AtomicBool,
    members: OnceLock<Box<[&'static Member]>>,
}

impl Default for Crew {
    fn default() -> Self {
        Crew {
            sleepers: Line(AtomicU32::new(0)),
            injected: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            members: OnceLock::new(),
        }
    }
}

impl Crew {
    /// Says who belongs to the crew; once.
    pub fn set_members(&self, members: Box<[&'static Member]>) {
        self.members.set(members).expect("the members are set once");
    }

    /// All workers of the crew.
    #[inline]
    pub fn members(&self) -> &[&'static Member] {
        self.members.get().map_or(&[], |m| m)
    }

    /// The others, beginning with the next.
    pub fn others(&self, me: &Member) -> impl Iterator<Item = &'static Member> {
        let members = self.members();
        (1..members.len()).map(move |k| members[(me.index + k) % members.len()])
    }

    // ------------------------------------------------------------------------------------------------- waking

    /// Wakes this worker if it sleeps; says whether this call did it.
    pub fn unpark(&self, member: &Member) -> bool {
        // AcqRel. Release: what we did before (a push), for the woken one's Acquire. Acquire: its announcement, so that
        // the subtraction comes after its addition.
        if member.door.sleeping.word.swap(0, ord_to(AcqRel, Acquire, "unpark-release")) == 0 {
            return false;
        }
        self.sleepers.fetch_sub(1, Relaxed);
        Gate::wake(&member.door.sleeping);
        true
    }

    /// Wakes one sleeper, if there is any; tries the next one when another waker was faster.
    #[cold]
    pub fn wake_one(&self) {
        for member in self.members() {
            if member.door.sleeping.word.load(Relaxed) != 0 && (self.unpark(member) || on("wake-gives-up")) {
                return;
            }
        }
    }

    /// Wakes all who sleep.
    pub fn wake_all(&self) {
        self.members().iter().for_each(|m| _ = self.unpark(m));
    }

    /// Does anybody sleep?
    #[inline]
    pub fn has_sleepers(&self) -> bool {
        self.sleepers.load(Relaxed) > 0
    }

    /// In a model, for a loop that waits for sleepers.
    #[cfg(loom)]
    pub fn peek_sleepers(&self) -> usize {
        crate::sys::atomic::Peek::peek(&*self.sleepers, Relaxed) as usize
    }

    /// How many workers sleep now.
    pub fn sleeper_count(&self) -> usize {
        self.sleepers.load(Acquire) as usize
    }

    /// The owner's answer when a push says that somebody asks for work.
    ///
    /// # Safety
    /// The caller is the worker of `me`.
    #[cold]
    #[inline(never)]
    pub unsafe fn answer(&self, me: &Member) {
        // SAFETY: the caller.
        if !unsafe { me.deque.publish() } && on("answer-gives-up") {
            return;
        }
        // Clear the request, then look for sleepers: a sleeper's request that we clear shows us its count, one that comes
        // later stays. While anybody sleeps the request stands. All this also when `publish` found the lock taken.
        me.deque.take_request();
        if self.has_sleepers() {
            if !on("request-not-kept") {
                me.deque.keep_request();
            }
            self.wake_one();
        }
    }

    /// A searcher that took a task passes the wake on: its own may have been meant for the rest.
    pub fn found(&self, victim: &Member) {
        if victim.deque.looks_busy() && self.has_sleepers() && !on("wake-not-passed-on") {
            self.wake_one();
        }
    }

    /// Sends a woken node to its home. `fence` is the caller's own.
    ///
    /// # Safety
    /// As for [`Inbox::push`]; `to` is the node's home.
    pub unsafe fn send(&self, to: &'static Member, node: *mut Node, fence: &Fence) {
        // SAFETY: the caller.
        unsafe { to.door.inbox.push(node) };
        if !on("inbox-light") {
            // Pairs with the heavy fence in `sleep`.
            fence.light();
        }
        if to.door.sleeping.word.load(Relaxed) != 0 {
            self.unpark(to);
        }
    }

    /// A task was put into the injector: counts it and wakes a worker. For any thread.
    pub fn inject(&self) {
        self.injected.fetch_add(1, Relaxed);
        if !on("inject-light") {
            // Pairs with the heavy fence in `sleep`: the count against `sleepers`.
            Fence::foreign().light();
        }
        if self.has_sleepers() {
            self.wake_one();
        }
    }

    /// Tasks were taken out of the injector.
    pub fn uninject(&self, tasks: usize) {
        self.injected.fetch_sub(tasks, Relaxed);
    }

    /// Is there something in the injector?
    #[inline(always)]
    pub fn has_injected(&self) -> bool {
        self.injected.load(Relaxed) > 0
    }

    /// Tells all workers to look up: to end, or (false) that they may work.
    pub fn set_stop(&self, stop: bool) {
        self.stop.store(stop, Release);
        if !on("stop-light") {
            // Pairs with the heavy fence in `sleep`.
            Fence::foreign().light();
        }
        self.wake_all();
    }

    /// Are the workers to end?
    #[inline(always)]
    pub fn stops(&self) -> bool {
        self.stop.load(Acquire)
    }

    // ------------------------------------------------------------------------------------------------- sleeping

    /// Says that `me` is about to sleep.
    pub fn announce(&self, me: &Member) {
        // Count first, then the flag: a waker that takes the flag subtracts, and must not do so before we have added
        // (the count would hide another sleeper). Release: pairs with the waker's swap.
        if on("flag-before-count") {
            me.door.sleeping.word.swap(1, Release);
            self.sleepers.fetch_add(1, Relaxed);
        } else {
            self.sleepers.fetch_add(1, Relaxed);
            me.door.sleeping.word.swap(1, ord(Release, "flag-release"));
        }
    }

    /// Not asleep after all, unless a waker was faster and has uncounted us already.
    fn retract(&self, me: &Member) {
        // Acquire: a wake that was given to us shows us what it is for.
        let order = ord_to(AcqRel, Release, "retract-acquire");
        if me.door.sleeping.word.swap(0, order) != 0 || on("retract-uncounts") {
            self.sleepers.fetch_sub(1, Relaxed);
        }
    }

    /// Sleeps until somebody wakes this worker, or for the time that `timeout` says once all know that it sleeps. False:
    /// there is something to do, it did not sleep.
    pub fn sleep(&self, me: &Member, timeout: impl FnOnce() -> Option<Duration>) -> bool {
        let falls_asleep = self.fall_asleep(me);
        if falls_asleep {
            self.stay_asleep(me, timeout());
        }
        falls_asleep
    }

    /// All know that `me` sleeps. False: there is something to do, and it does not.
    pub fn fall_asleep(&self, me: &Member) -> bool {
        self.announce(me);
        for other in self.others(me) {
            other.deque.demand();
        }
        if !on("sleep-no-heavy") {
            heavy();
        }
        let busy = !on("sleep-no-look")
            && (!me.door.inbox.is_empty()
                || self.stop.load(Relaxed)
                || self.has_injected()
                || self.others(me).any(|other| other.deque.is_busy()));
        if busy {
            self.retract(me);
        }
        !busy
    }

    /// Until somebody wakes `me`, which has fallen asleep, or for a time.
    pub fn stay_asleep(&self, me: &Member, timeout: Option<Duration>) {
        // Acquire: a wake shows us what it is for.
        while me.door.sleeping.word.load(ord(Acquire, "woken-acquire")) != 0 {
            me.door.sleeping.wait(1, timeout);
            if timeout.is_some() {
                self.retract(me);
                break;
            }
        }
    }
}
