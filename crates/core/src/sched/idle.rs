//! Idle, sleep and wake: the workers of a pool.
//!
//! ```text
//!  sleeper: sleepers+1; sleeping=1; request everywhere; HEAVY; look at inbox, injector, deques; sleep
//!  spawner: push; LIGHT; requested? -> serve: publish, wake one; keep the request while anybody sleeps
//!  waker:   CAS on the inbox; LIGHT; sleeping? -> swap 0, wake
//! ```
//! Whoever swaps `sleeping` to 0 takes one off the count: it never includes a worker already woken.
//!
//! A worker can be a *spare* ([`crate::sched::rescue::takeover`]): on duty it is a worker like any
//! other; off duty it *rests*, a sleep from which only its own inbox, a stop or new duty wakes it.
//!
//! (Over 600 lines: the steps of one protocol, of sleepers and of wakers, each beside its partner;
//! and another file would be one more in the engine's largest cycle of files.)
//!
//! **Invariant.** If only sleepers are left, no task is unstarted, no inbox filled and nothing
//! injected. `steal_request` stays set while `sleepers > 0`.
//!
//! **Lifetime.** A pool and its workers are never freed, only used again by a later runtime: a
//! waker may still look at a worker's `sleeping` flag after the task that it woke has ended the
//! whole runtime.
//!
//! **Ordering.** Each Dekker race is named in the picture: store | LIGHT | load against store |
//! HEAVY | load. A wake that is given to us shows us the push: `sleeping` (AcqRel swap) with our
//! Acquire.
//!
//! **Rejected.** "No wake while somebody searches": needs a last searcher that wakes the next, and
//! saved nothing measurable on two cores; the wake is passed on instead ([`Workers::found`]).
//!
//! Tests: `tests/loom/sleep.rs`.

use crate::queue::deque::{Deque, Line, OwnDeque};
use crate::queue::inbox::Inbox;
use crate::queue::parked::{Home, Resumable};
use crate::queue::policy::table::Table;
use crate::queue::policy::{Arrival, PolicyQueues};
use crate::queue::ready::ReadyQueue;
use crate::record::task::Runnable;
use crate::sched::driver::park;
use crate::sched::driver::reactor::{InReactor, Reactor, ReactorPlace};
use myriad_base::sys::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use myriad_base::sys::fence::{Fence, heavy};
use myriad_base::sys::futex::Parker;
use myriad_base::sys::mutant::{on, ord, ord_to};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::Duration;

/// What the other workers and foreign threads see of a worker.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WorkerShared {
    /// Its unstarted tasks.
    pub deque: Deque,
    /// What wakers write, on a line of its own: thieves poll what stands before it.
    pub remote: Line<Remote>,
    /// Its number in the pool.
    pub index: usize,
    /// Its pool.
    pub workers: &'static Workers,
    /// Its blocked tasks that are ready to go on.
    pub ready: ReadyQueue,
    /// A call of the scheduler waits, which this worker has made ([`crate::sched::ask`]).
    pub asks: AtomicBool,
    /// At which version of the table the scheduler had nothing for this worker.
    pub declined: AtomicU64,
}

/// Where a worker is reached from outside.
#[derive(Debug)]
pub(crate) struct Remote {
    /// Its blocked tasks that others have woken.
    pub inbox: Inbox,
    /// The word is not 0 while it sleeps or is about to: [`ASLEEP`], [`RESTING`] or
    /// [`IN_REACTOR`].
    pub sleeping: Parker,
    /// It is stuck: others may go on with its ready tasks (in threads mode), and wakers tell them.
    pub allows_takeover: AtomicBool,
    /// Tasks that have not begun, and that only it may begin.
    pub pinned: AtomicUsize,
    /// A spare that could not begin to work.
    pub dead: AtomicBool,
    /// It is stuck, in either mode, as the monitor has seen: others take what waits behind it, also
    /// those that have something to do.
    pub stuck: AtomicBool,
}

/// Sleeps, and looks for work when it is woken.
pub(crate) const ASLEEP: u32 = 1;
/// A spare that is off duty.
pub(crate) const RESTING: u32 = 2;
/// Asleep as [`ASLEEP`], but in the reactor, which alone wakes it.
pub(crate) const IN_REACTOR: u32 = 3;

/// Does one whose word says so look for work when it is woken?
#[inline(always)]
pub(crate) fn is_asleep(word: u32) -> bool {
    word == ASLEEP || word == IN_REACTOR
}

/// How a worker has slept.
#[derive(Debug)]
#[must_use = "one that was in the reactor comes out of it by `driver::after_sleep`"]
pub(crate) enum Slept {
    /// Not at all: there is something to do.
    Not,
    /// Until it was woken, or its time was over.
    Yes,
    /// The same in the reactor, which it still has.
    InReactor(InReactor),
}

impl Slept {
    /// Has it slept?
    pub(crate) fn has_slept(&self) -> bool {
        !matches!(self, Slept::Not)
    }
}

impl Home {
    /// This worker.
    #[inline(always)]
    pub(crate) fn of(shared: &'static WorkerShared) -> Home {
        // SAFETY: `shared` is a `WorkerShared`, and is borrowed for ever.
        unsafe { Home::new(NonNull::from_ref(shared).cast()) }
    }

    /// The worker.
    #[inline(always)]
    pub(crate) fn shared(self) -> &'static WorkerShared {
        // SAFETY: the address is that of a `WorkerShared` that is never freed (the contract of
        // `Home::new`).
        unsafe { self.address().cast().as_ref() }
    }
}

impl WorkerShared {
    /// Worker number `index` of this pool, with room for `capacity` tasks before its deque grows.
    ///
    /// # Safety
    /// It becomes the `shared` of a [`Peer`](super::worker::Peer) that lives for ever; or, in a
    /// model, nobody asks for that peer.
    pub(crate) unsafe fn new(workers: &'static Workers, index: usize, capacity: usize) -> WorkerShared {
        let deque = Deque::new(Fence::new(index), capacity);
        if workers.queues().is_some() {
            // For good: each push comes to the policy.
            deque.keep_request();
        }
        WorkerShared {
            deque,
            remote: Line(Remote {
                inbox: Inbox::default(),
                sleeping: Parker::new(0),
                allows_takeover: AtomicBool::new(false),
                pinned: AtomicUsize::new(0),
                dead: AtomicBool::new(false),
                stuck: AtomicBool::new(false),
            }),
            index,
            workers,
            ready: ReadyQueue::default(),
            asks: AtomicBool::new(false),
            declined: AtomicU64::new(u64::MAX),
        }
    }
}

impl WorkerShared {
    /// Does it sleep, as it has nothing to do? A hint.
    #[inline]
    pub(crate) fn sleeps(&self) -> bool {
        is_asleep(self.remote.sleeping.word.load(Relaxed))
    }

    /// Does a task wait that only this worker may begin?
    #[inline(always)]
    pub(crate) fn has_pinned(&self) -> bool {
        self.remote.pinned.load(Relaxed) > 0
    }
}

/// The workers of one runtime.
#[derive(Debug)]
pub(crate) struct Workers {
    /// How many workers sleep, and, times [`AWAKE`], how many neither sleep nor rest: in one word,
    /// so that a look at it is true of one moment.
    counts: Line<AtomicU32>,
    /// Tasks in the injector, and interactive ones; one more for good where a policy has queues,
    /// and they are to be looked at.
    injected: AtomicUsize,
    /// Interactive tasks that wait ...
    interactive: AtomicUsize,
    /// ... and background tasks: see [`super::priority`].
    background: AtomicUsize,
    /// Of another policy than work stealing.
    queues: OnceLock<Box<dyn PolicyQueues>>,
    /// Of each worker that is no spare the others, the nearest first; not set on a flat machine.
    nearest_first: OnceLock<Box<[Box<[u16]>]>>,
    /// What waits for sockets, once one of the pool's tasks does.
    pub reactor: ReactorPlace,
    /// The workers are to look up and end.
    stop: AtomicBool,
    /// The first `in_use` are set, and do not change.
    all: OnceLock<Members>,
    in_use: std::sync::atomic::AtomicUsize,
}

/// One worker that is awake, in `counts`.
const AWAKE: u32 = 1 << 16;
const SLEEPERS: u32 = AWAKE - 1;

#[derive(Debug)]
struct Members(Box<[std::cell::UnsafeCell<MaybeUninit<&'static WorkerShared>>]>);
// SAFETY: a place is written before it is in use, and never after.
unsafe impl Sync for Members {}
// SAFETY: what is in a place is a reference to a `WorkerShared`, which is `Sync`.
unsafe impl Send for Members {}

impl Default for Workers {
    fn default() -> Self {
        Workers {
            counts: Line(AtomicU32::new(0)),
            injected: AtomicUsize::new(0),
            interactive: AtomicUsize::new(0),
            background: AtomicUsize::new(0),
            queues: OnceLock::new(),
            nearest_first: OnceLock::new(),
            reactor: ReactorPlace::default(),
            stop: AtomicBool::new(false),
            all: OnceLock::new(),
            in_use: std::sync::atomic::AtomicUsize::new(0),
        }
    }
}

impl Workers {
    /// Gives the pool the queues of a policy: once, before there are workers.
    pub(crate) fn set_queues(&self, queues: Box<dyn PolicyQueues>) {
        self.queues.set(queues).expect("the queues are set once");
        self.injected.store(1, Relaxed);
    }

    /// The queues of the policy; `None` if it is work stealing.
    #[inline]
    pub(crate) fn queues(&self) -> Option<&dyn PolicyQueues> {
        self.queues.get().map(|queues| &**queues)
    }

    /// The tasks of a scheduler of the program's own; `None` under another policy.
    #[inline]
    pub(crate) fn table(&self) -> Option<&'static Table> {
        self.queues()?.table()
    }

    /// Sets in which order each of the workers looks at the others: once, before there are workers.
    /// (Left out where all are equally near.)
    pub(crate) fn set_nearest_first(&self, order: Box<[Box<[u16]>]>) {
        self.nearest_first.set(order).expect("the order is set once");
    }

    /// In which order each of the workers looks at the others, if one is nearer than another.
    pub(crate) fn nearest_first(&self) -> Option<&[Box<[u16]>]> {
        self.nearest_first.get().map(|order| &**order)
    }

    /// Sets the workers that the pool begins with: once. So many spares may join them.
    pub(crate) fn set_all(&self, all: Box<[&'static WorkerShared]>, spares: usize) {
        let n = all.len();
        let rest = (0..spares).map(|_| MaybeUninit::uninit());
        let all = all.into_iter().map(MaybeUninit::new).chain(rest).map(std::cell::UnsafeCell::new);
        self.all.set(Members(all.collect())).expect("the members are set once");
        self.begin(n);
    }

    /// A runtime begins, with the first `n` workers, all awake.
    pub(crate) fn begin(&self, n: usize) {
        self.in_use.store(n, Release);
        self.counts.store(n as u32 * AWAKE, Relaxed);
    }

    /// Another worker joins, awake. Only one thread at a time may call this and
    /// [`drop_last`](Self::drop_last).
    pub(crate) fn join(&self, shared: &'static WorkerShared) {
        let all = self.all.get().expect("set at the start");
        assert!(shared.index == self.in_use.load(Relaxed) && shared.index < all.0.len(), "no place for a spare");
        // SAFETY: the place is not in use yet, or (in an earlier runtime) held the same.
        unsafe { (*all.0[shared.index].get()).write(shared) };
        self.counts.fetch_add(AWAKE, Relaxed);
        // Release: the place, for the Acquire in `all`.
        self.in_use.store(shared.index + 1, Release);
    }

    /// The worker that joined last could not start.
    pub(crate) fn drop_last(&self) {
        self.in_use.fetch_sub(1, Release);
        self.counts.fetch_sub(AWAKE, Relaxed);
    }

    /// A worker could not begin to work, and never will.
    pub(crate) fn leave(&self, shared: &WorkerShared) {
        shared.remote.dead.store(true, Relaxed);
        self.counts.fetch_sub(AWAKE, Relaxed);
    }

    /// All workers of the pool.
    #[inline]
    pub(crate) fn all(&self) -> &[&'static WorkerShared] {
        // Acquire: pairs with the Release in `join`: the places.
        let n = self.in_use.load(Acquire);
        let Some(all) = self.all.get() else { return &[] };
        // SAFETY: the first `n` places are written, for good.
        unsafe { std::slice::from_raw_parts(all.0.as_ptr().cast::<&'static WorkerShared>(), n) }
    }

    /// The others: the nearest first, and then spares; where all are equally near, and for a spare,
    /// beginning with the next.
    pub(crate) fn others(&self, me: &WorkerShared) -> impl Iterator<Item = &'static WorkerShared> {
        let all = self.all();
        let order = self.nearest_first().and_then(|order| order.get(me.index)).map_or(&[][..], |order| &**order);
        (1..all.len()).map(move |k| match order.get(k - 1) {
            Some(&near) => all[usize::from(near)],
            // Of `n` workers each has an order of `n - 1`, and spares have the numbers from `n` on.
            None if !order.is_empty() => all[k],
            None => all[(me.index + k) % all.len()],
        })
    }

    // -------------------------------------------------------------------------------------------------
    // waking

    /// Wakes this worker if it sleeps; says whether this call did it.
    pub(crate) fn unpark(&self, shared: &WorkerShared) -> bool {
        // AcqRel. Release: what we did before (a push), for the woken one's Acquire. Acquire: its
        // announcement, so that the subtraction comes after its addition.
        let before = shared.remote.sleeping.word.swap(0, ord_to(AcqRel, Acquire, "unpark-release"));
        if before == 0 {
            return false;
        }
        self.woken_from(before);
        if before != IN_REACTOR {
            park::unpark(&shared.remote.sleeping);
        } else if !on("interrupt-forgotten") {
            self.reactor.get().into_iter().for_each(Reactor::interrupt);
        }
        true
    }

    /// Uncounts one whose word said `before`.
    fn woken_from(&self, before: u32) {
        self.counts.fetch_add(AWAKE.wrapping_sub(u32::from(is_asleep(before))), Relaxed);
    }

    /// Wakes one sleeper, if there is any; tries the next one when another waker was faster. The
    /// one in the reactor last: then nobody would see what comes to it.
    #[cold]
    pub(crate) fn wake_one(&self) {
        let in_reactor = self.reactor.get().filter(|_| !on("reactor-passed-over")).map(|_| IN_REACTOR);
        for kind in [Some(ASLEEP), in_reactor].into_iter().flatten() {
            for shared in self.all() {
                if shared.remote.sleeping.word.load(Relaxed) == kind && (self.unpark(shared) || on("wake-gives-up")) {
                    return;
                }
            }
        }
    }

    /// Wakes all who sleep.
    pub(crate) fn wake_all(&self) {
        self.all().iter().for_each(|m| _ = self.unpark(m));
    }

    /// Does anybody sleep?
    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.counts.load(Relaxed) & SLEEPERS > 0
    }

    /// Is there a reactor, and no worker in it? A hint.
    pub(crate) fn is_reactor_empty(&self) -> bool {
        let in_reactor = |m: &&WorkerShared| m.remote.sleeping.word.load(Relaxed) == IN_REACTOR;
        self.reactor.get().is_some() && !self.all().iter().any(in_reactor)
    }

    /// Does every worker sleep or rest?
    ///
    /// The count alone does not say so: who wakes a worker takes the word of it, and counts it as
    /// awake only then; the worker may be at work between the two.
    pub(crate) fn all_sleep(&self) -> bool {
        // Acquire: what the sleepers did before.
        let sleeps = |m: &&WorkerShared| m.remote.sleeping.word.load(Acquire) != 0 || m.remote.dead.load(Relaxed);
        self.counts.load(Acquire) < AWAKE && (on("count-alone") || self.all().iter().all(sleeps))
    }

    /// The owner's answer when a push says that somebody asks for work.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_requests(&self, me: &WorkerShared, deque: OwnDeque<'_>) {
        if !deque.share() && on("serve-gives-up") {
            return;
        }
        self.have_served(me);
    }

    /// The owner's answer at any time, while it is in no hurry to come to its next push: also a
    /// lone task is published.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_requests_fully(&self, me: &WorkerShared, deque: OwnDeque<'_>) {
        deque.publish_lone();
        self.have_served(me);
    }

    fn have_served(&self, me: &WorkerShared) {
        // Clear the request, then look for sleepers: a sleeper's request that we clear shows us its
        // count, one that comes later stays. While anybody sleeps the request stands. All this also
        // when `publish` found the lock taken.
        me.deque.take_request();
        if me.ready.is_measured() {
            me.deque.keep_request();
        }
        if self.has_sleepers() {
            if !on("request-not-kept") {
                me.deque.keep_request();
            }
            self.wake_one();
        }
    }

    /// A searcher that took a task passes the wake on: its own may have been meant for the rest.
    pub(crate) fn found(&self, victim: &WorkerShared) {
        if victim.deque.looks_stealable() && self.has_sleepers() && !on("wake-not-passed-on") {
            self.wake_one();
        }
    }

    /// Sends a woken node to its home. `fence` is the caller's own.
    ///
    /// # Safety
    /// `to` is the node's home, or whom the request is for.
    pub(crate) unsafe fn send(&self, to: &'static WorkerShared, node: Resumable, fence: &Fence) {
        to.remote.inbox.push(node);
        if !on("inbox-light") {
            // Pairs with the heavy fence in `sleep`.
            fence.light();
        }
        if to.remote.sleeping.word.load(Relaxed) != 0 {
            self.unpark(to);
        } else if to.remote.allows_takeover.load(Relaxed) {
            self.tell_helper();
        }
    }

    /// Gives a task to the policy, and wakes a worker for it. `me` is the calling worker, `None` on
    /// any other thread.
    pub(crate) fn put(&self, queues: &dyn PolicyQueues, me: Option<&WorkerShared>, task: Runnable, arrival: Arrival) {
        let to = queues.put(me.map(|me| me.index), task, arrival);
        if !on("put-light") {
            // Pairs with the heavy fence in `sleep`: the queue against `sleepers`.
            me.map_or_else(Fence::foreign, |me| me.deque.fence).light();
        }
        if self.has_sleepers() {
            let to = to.map(|to| self.all()[to]).filter(|to| to.sleeps());
            if !to.is_some_and(|to| self.unpark(to)) {
                self.wake_one();
            }
        }
    }

    /// The calling worker has asked the scheduler: if there is more, another worker that sleeps
    /// asks, unless all have been given nothing since the last change.
    pub(crate) fn pass_on(&self, me: &WorkerShared, table: &'static Table) {
        if table.is_empty() {
            return;
        }
        // Pairs with the heavy fence in `sleep`: the version against `sleepers`.
        me.deque.fence.light();
        let asks = |other: &&&WorkerShared| other.sleeps() && table.has_new(other.declined.load(Relaxed));
        if self.has_sleepers()
            && let Some(other) = self.all().iter().find(asks)
        {
            self.unpark(other);
        }
    }

    /// The scheduler is to be asked once more: wakes a worker. For any thread.
    pub(crate) fn scheduler_changed(&self) {
        // Pairs with the heavy fence in `sleep`: the version against `sleepers`.
        Fence::foreign().light();
        if self.has_sleepers() {
            self.wake_one();
        }
    }

    /// A task was put into the injector: counts it and wakes a worker. For any thread.
    pub(crate) fn inject(&self) {
        self.count_and_wake(&self.injected);
    }

    /// An interactive task was put into its queue: counts it, and wakes a worker.
    pub(crate) fn inject_interactive(&self) {
        self.interactive.fetch_add(1, Relaxed);
        self.inject();
    }

    /// A background task was put into its queue: counts it, and wakes a worker.
    pub(crate) fn inject_background(&self) {
        self.count_and_wake(&self.background);
    }

    fn count_and_wake(&self, count: &AtomicUsize) {
        count.fetch_add(1, Relaxed);
        if !on("inject-light") {
            // Pairs with the heavy fence in `sleep`: the count against `sleepers`.
            Fence::foreign().light();
        }
        if self.has_sleepers() {
            self.wake_one();
        }
    }

    /// Tasks were taken out of the injector.
    pub(crate) fn uninject(&self, tasks: usize) {
        self.injected.fetch_sub(tasks, Relaxed);
    }

    /// A task was queued that only this worker may begin. True: it was asleep, and is woken.
    pub(crate) fn pin(&self, to: &WorkerShared) -> bool {
        to.remote.pinned.fetch_add(1, Relaxed);
        if !on("pin-light") {
            // Pairs with the heavy fence in `sleep`: the count against `sleeping`.
            Fence::foreign().light();
        }
        to.remote.sleeping.word.load(Relaxed) != 0 && self.unpark(to)
    }

    /// So many interactive tasks were taken.
    pub(crate) fn take_interactive(&self, tasks: usize) {
        self.interactive.fetch_sub(tasks, Relaxed);
        self.uninject(tasks);
    }

    /// So many background tasks were taken.
    pub(crate) fn take_background(&self, tasks: usize) {
        self.background.fetch_sub(tasks, Relaxed);
    }

    /// Does an interactive task wait?
    #[inline(always)]
    pub(crate) fn has_interactive(&self) -> bool {
        self.interactive.load(Relaxed) > 0
    }

    /// Does a background task wait?
    #[inline(always)]
    pub(crate) fn has_background(&self) -> bool {
        self.background.load(Relaxed) > 0
    }

    /// Is there something in the injector, or in the policy's queues? True of the moment of a heavy
    /// fence before it.
    #[inline(always)]
    pub(crate) fn has_injected(&self) -> bool {
        self.may_have_injected() && self.queues().is_none_or(|queues| self.has_interactive() || !queues.is_empty())
    }

    /// The same for this worker: not what the scheduler has for others only.
    pub(crate) fn has_injected_for(&self, me: &WorkerShared) -> bool {
        // (As long as a call of the scheduler waits, the worker that has made it takes what there
        // is.)
        let asks = me.asks.load(Relaxed);
        let has_new = |queues: &dyn PolicyQueues| {
            if asks { !queues.is_empty() } else { queues.has_new(me.declined.load(Relaxed)) }
        };
        self.may_have_injected() && self.queues().is_none_or(|queues| self.has_interactive() || has_new(queues))
    }

    /// How many tasks wait for any worker: those of normal priority, interactive and background
    /// ones. An estimate, for any thread.
    pub(crate) fn count_injected(&self) -> [usize; 3] {
        let [injected, interactive, background] =
            [&self.injected, &self.interactive, &self.background].map(|count| count.load(Relaxed));
        let normal = self.queues().map_or_else(|| injected.saturating_sub(interactive), PolicyQueues::len);
        [normal, interactive, background]
    }

    /// Is it worth while to look?
    #[inline(always)]
    pub(crate) fn may_have_injected(&self) -> bool {
        self.injected.load(Relaxed) > 0
    }

    /// Tells all workers to look up: to end, or (false) that they may work.
    pub(crate) fn set_stop(&self, stop: bool) {
        self.stop.store(stop, Release);
        if !on("stop-light") {
            // Pairs with the heavy fence in `sleep`.
            Fence::foreign().light();
        }
        self.wake_all();
    }

    /// For `fork`: the runtime stops for the calling thread, the only one that is here. (Nobody is
    /// woken, by no lock.)
    pub(crate) fn stop_in_child(&self) {
        // Relaxed: the calling thread reads it.
        self.stop.store(true, Relaxed);
    }

    /// Are the workers to end?
    #[inline(always)]
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Acquire)
    }

    // -------------------------------------------------------------------------------------------------
    // sleeping

    /// Says that `me` is about to sleep.
    pub(crate) fn announce(&self, me: &WorkerShared) {
        // Count first, then the flag: a waker that takes the flag subtracts, and must not do so
        // before we have added (the count would hide another sleeper). Release: pairs with the
        // waker's swap.
        if on("flag-before-count") {
            me.remote.sleeping.word.swap(ASLEEP, Release);
            self.counts.fetch_sub(AWAKE - 1, Relaxed);
        } else {
            self.counts.fetch_sub(AWAKE - 1, Relaxed);
            me.remote.sleeping.word.swap(ASLEEP, ord(Release, "flag-release"));
        }
    }

    /// Says that `me`, a spare, is about to rest.
    pub(super) fn announce_rest(&self, me: &WorkerShared) {
        // As above.
        self.counts.fetch_sub(AWAKE, Relaxed);
        me.remote.sleeping.word.swap(RESTING, Release);
    }

    /// Not asleep after all, unless a waker was faster and has uncounted us already.
    pub(super) fn retract(&self, me: &WorkerShared) {
        // Acquire: a wake that was given to us shows us what it is for.
        let order = ord_to(AcqRel, Release, "retract-acquire");
        let before = me.remote.sleeping.word.swap(0, order);
        if before != 0 || on("retract-uncounts") {
            self.woken_from(if before == 0 { ASLEEP } else { before });
        }
    }

    /// Sleeps until somebody wakes this worker, or for the time that `timeout` says once all know
    /// that it sleeps.
    pub(crate) fn sleep(&self, me: &WorkerShared, timeout: impl FnOnce() -> Option<Duration>) -> Slept {
        self.sleep_unless(me, || self.is_work_for(me), timeout)
    }

    /// The same for one that does not take all there is: `busy` is its last look, in which it
    /// passes over what it does not take, whoever is woken for that.
    pub(super) fn sleep_unless(
        &self,
        me: &WorkerShared,
        busy: impl FnOnce() -> bool,
        timeout: impl FnOnce() -> Option<Duration>,
    ) -> Slept {
        if !self.fall_asleep_unless(me, busy) {
            return Slept::Not;
        }
        let timeout = timeout();
        match self.reactor.enter() {
            Some(entered) => self.stay_in_reactor(me, entered, timeout),
            None => {
                self.stay_asleep(me, timeout);
                Slept::Yes
            }
        }
    }

    /// Until there are events, or somebody wakes `me`, which has fallen asleep, or for a time.
    fn stay_in_reactor(&self, me: &WorkerShared, entered: InReactor, timeout: Option<Duration>) -> Slept {
        // Who takes the word from here on interrupts. One who was faster has woken `me` already.
        // Release: pairs with the waker's swap, as the word's first. Acquire, if it fails: a wake
        // shows us what it is for.
        let word = &me.remote.sleeping.word;
        if on("reactor-word-stored") {
            word.store(IN_REACTOR, Release);
            entered.wait(timeout);
        } else if word.compare_exchange(ASLEEP, IN_REACTOR, AcqRel, Acquire).is_ok() {
            entered.wait(timeout);
        }
        self.retract(me);
        Slept::InReactor(entered)
    }

    /// All know that `me` sleeps. False: there is something to do, and it does not.
    #[cfg(all(test, loom))] // models stop here
    pub(crate) fn fall_asleep(&self, me: &WorkerShared) -> bool {
        self.fall_asleep_unless(me, || self.is_work_for(me))
    }

    fn fall_asleep_unless(&self, me: &WorkerShared, busy: impl FnOnce() -> bool) -> bool {
        self.announce(me);
        for other in self.others(me) {
            other.deque.request_reliably();
        }
        if !on("sleep-no-heavy") {
            heavy();
        }
        let busy = !on("sleep-no-recheck") && busy();
        if busy {
            self.retract(me);
        }
        !busy
    }

    /// The last look of one that takes whatever there is.
    fn is_work_for(&self, me: &WorkerShared) -> bool {
        me.has_ready()
            || me.has_pinned() && !on("sleep-skips-pinned")
            || self.stop.load(Relaxed)
            || self.has_injected_for(me)
            || self.has_background() && !on("sleep-skips-background")
            || self.others(me).any(|other| other.deque.is_busy() || other.allows_takeover() && other.has_free_ready())
    }

    /// Until somebody wakes `me`, which has fallen asleep, or for a time.
    pub(crate) fn stay_asleep(&self, me: &WorkerShared, timeout: Option<Duration>) {
        // Acquire: a wake shows us what it is for.
        loop {
            let word = me.remote.sleeping.word.load(ord(Acquire, "woken-acquire"));
            if word == 0 {
                break;
            }
            park::park(&me.remote.sleeping, word, timeout);
            if timeout.is_some() {
                self.retract(me);
                break;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod test;
