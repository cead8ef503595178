//! The one wait protocol: how a task, a foreign thread or a future waits for something, and is woken.
//!
//! For those who build primitives (channels, locks). The primitive keeps a list of [`Target`]s under its own lock. To
//! wait: make a [`Wait`] (or take the future's waker), [`prepare`](Wait::prepare), put its target on the list, release
//! the lock, [`block`](Wait::block). To wake: take a target off the list under the lock, [`Target::claim`] it; if that
//! succeeds hand over what it waits for; release the lock; [`Target::wake`].
//!
//! Between the publishing and the blocking nothing foreign runs on the waiter's stack: it might wait itself, when the first wait can be
//! woken already, or panic, and take what is in the list away.
//!
//! **Claims.** A wait with a time limit, or in several lists at once ([`Group`]), can be ended by many, and must be by one
//! alone: whoever wins the exchange on `claim`. One whose claim is lost is skipped; its owner takes itself off the lists. A
//! wait without limit in one list has one waker only, the one who took it off the list, and needs no exchange.
//!
//! ```text
//!  OPEN -> WOKEN | TIMED_OUT            one exchange
//!  OPEN -> HELD -> WOKEN | OPEN         by one who needs two claims at once, or replaces a waker
//! ```
//! *Two claims at once* ([`Target::claim_with`]): who waits in one list, and meets a partner while it enters another, has to
//! end both waits or neither. It holds the one at the lower address, then claims the other, then settles the first. Who
//! finds `HELD` waits for that; holders wait only upwards, and take no lock meanwhile, so nobody waits in a circle, and nobody
//! is undone by somebody who is undone: one of two always goes on.
//!
//! **Ordering.** What the waker did before waking is visible after the wait: by the inbox, or by program order on the same
//! worker. `claim` decides only; data goes by the primitive's lock, but for the waker of a [`PollWait`]: written before the
//! word is opened (Release), taken by whoever claims it (Acquire).

use crate::cancel::{point, thread};
use crate::lock::biased::{BiasedGuard, BiasedLock};
use crate::lock::biaser::pause;
use crate::sched::foreign;
pub use crate::sched::node::{End, Node};
use crate::sched::worker::{self, Role, Worker, block_thread, wake_node, wake_node_next};
use crate::stack::pool::NoStack;
use crate::sys::atomic::{AtomicU8, Ordering::*, Peek};
use crate::sys::clock::Instant;
use crate::sys::mutant::{on, ord};
use crate::time::timers::FIRE_WAIT;
use crate::time::wheel::TimerNode;
use crate::user_code::StoredWaker;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::task::Waker;

mod group;
pub use group::{Both, Group, PollWait};

const OPEN: u8 = 0;
const WOKEN: u8 = 1;
const TIMED_OUT: u8 = 2;
const CANCELLED: u8 = 4;
/// Somebody decides at this moment; see the header.
const HELD: u8 = 3;

/// One wait of the calling task or foreign thread. Lives on its stack, and stays there until it is over.
#[derive(Debug)]
#[repr(C)]
pub struct Wait {
    node: Node,
    /// Who ended it, of a timed one.
    claim: AtomicU8,
    timed: bool,
    /// It is that of a [`PollWait`].
    polled: bool,
}

impl Wait {
    /// A wait that only a waker ends.
    #[inline(always)]
    pub fn new() -> Wait {
        Here::get().wait()
    }

    /// A wait that a deadline may end.
    #[inline]
    pub fn timed() -> Wait {
        Wait { timed: true, ..Wait::new() }
    }

    /// Lets a cancellation end the wait, which has no time limit, by taking it off its list: see [`End`]. After the wait,
    /// [`was_cancelled`](Self::was_cancelled) says so, and the caller, who is in no list any more, calls [`arrive`](Self::arrive).
    ///
    /// `end` gets the address of the node, which is that of the wait. What it finds there may be larger, with the wait first.
    #[inline(always)]
    pub fn end_by(&self, end: End) {
        debug_assert!(!self.timed);
        self.node.end.set(Some(end));
    }

    /// Lets a cancellation end a timed wait, like its timer: it is over, and its owner takes it off the list.
    #[inline]
    pub fn cancellable(self) -> Wait {
        debug_assert!(self.timed);
        self.node.end.set(Some(Wait::end_timed));
        self
    }

    /// # Safety
    /// As for every [`End`]; of a timed wait.
    unsafe fn end_timed(node: *const Node) -> bool {
        // SAFETY: the caller: the node is the wait's first part.
        unsafe { (*node.cast::<Wait>()).try_claim(CANCELLED) }
    }

    /// Has a cancellation ended it? Then nobody wakes it, and what it waited for has not happened.
    #[inline(always)]
    pub fn was_cancelled(&self) -> bool {
        self.node.was_cancelled()
    }

    /// For the end of an operation that waited, when it is off all lists: unwinds if a cancellation has ended the wait.
    #[inline(always)]
    pub fn arrive(&self) {
        if self.was_cancelled() {
            point::arrive();
        }
    }

    /// The end of [`arrive`](Self::arrive), for an operation that has left the frame of its wait, having found that it
    /// [was cancelled](Self::was_cancelled): the higher up the unwinder begins, the less it costs (some 0.2 µs for each frame), and the less
    /// of the stack it touches.
    #[inline(always)]
    pub fn arrive_above() -> ! {
        point::arrive()
    }

    /// Makes sure that the worker can go on meanwhile. Before anything is published.
    ///
    /// # Errors
    /// There is no memory for a stack.
    #[inline(always)]
    pub fn prepare(&self) -> Result<(), NoStack> {
        match self.worker() {
            Some(w) => w.ensure_stack(),
            None => Ok(()),
        }
    }

    /// The caller's role, if the wait was made on a worker: it is blocked on by who made it.
    #[inline(always)]
    fn worker(&self) -> Option<Role> {
        // SAFETY: a wait is made and blocked on by one task (or thread), on whose worker it was made.
        self.node.home.map(|home| unsafe { Worker::of(home).role_again() })
    }

    /// What stands for this wait in a list.
    #[inline(always)]
    pub fn target(&self) -> Target {
        Target(Kind::Blocked(std::ptr::from_ref(self)))
    }

    /// Blocks until woken.
    ///
    /// # Safety
    /// It is prepared, its target is published (or will be woken by who has it), it is not timed, and it is blocked on
    /// once.
    #[inline(always)]
    pub unsafe fn block(&self) {
        debug_assert!(!self.timed);
        match self.worker() {
            // SAFETY: the caller.
            Some(w) => _ = unsafe { w.suspend(&self.node) },
            None => block_thread(&self.node),
        }
    }

    /// Blocks until woken (true) or until the deadline or a cancellation (false). If false nobody will wake it, and the caller
    /// takes it off the list if it is still there; then calls [`arrive`](Self::arrive).
    ///
    /// # Safety
    /// As for `block`, but it is timed.
    pub unsafe fn block_until(&self, deadline: Instant) -> bool {
        debug_assert!(self.timed);
        match self.worker() {
            // SAFETY: the caller.
            Some(w) => unsafe { self.block_task_until(w, deadline) },
            None => self.block_thread_until(deadline),
        }
    }

    /// Blocks as [`block_until`](Self::block_until), if there is a deadline; else as [`block`](Self::block), and returns true (also if a
    /// cancellation [has ended it](Self::was_cancelled)).
    ///
    /// # Safety
    /// As for `block`; it is timed if there is a deadline.
    #[inline(always)]
    pub unsafe fn block_by(&self, deadline: Option<Instant>) -> bool {
        // SAFETY: the caller.
        unsafe {
            match deadline {
                None => {
                    self.block();
                    true
                }
                Some(deadline) => self.block_until(deadline),
            }
        }
    }

    /// # Safety
    /// As for `block_until`.
    unsafe fn block_task_until(&self, w: Role, deadline: Instant) -> bool {
        // Whoever goes on with the task afterwards: the timer is in this one's wheel.
        let owner = Worker::of(w.as_static());
        let timer = UnsafeCell::new(TimerNode::new(std::ptr::from_ref(self).cast_mut().cast(), FIRE_WAIT));
        let set = deadline != Instant::NEVER;
        if set {
            // SAFETY: the timer stands in this frame until it has fired or is removed below.
            let earliest = unsafe { owner.timers.lock_to_insert(Some(&w)).insert(timer.get(), deadline) };
            if earliest {
                owner.timers.announce(owner, deadline);
            }
        }
        // SAFETY: the caller; a claim, of the timer or of a waker, wakes it once.
        let w = unsafe { w.suspend(&self.node) };
        // Relaxed: whoever claimed it woke us afterwards.
        let claim = self.claim.load(Relaxed);
        if claim == TIMED_OUT {
            return false;
        }
        if set {
            // SAFETY: it was set in this wheel.
            unsafe { owner.timers.lock(Some(&w)).remove(timer.get()) };
        }
        claim == WOKEN
    }

    fn block_thread_until(&self, deadline: Instant) -> bool {
        if let Some(woken) = thread::block(&self.node, deadline) {
            // Cancelled, or its time is over: unless a waker is faster.
            if woken || self.was_cancelled() || self.try_claim(TIMED_OUT) {
                return woken;
            }
            block_thread(&self.node);
            return true;
        }
        let gate = &self.node.gate;
        while !foreign::is_open(gate) {
            if deadline == Instant::NEVER {
                foreign::wait(gate, None);
                continue;
            }
            let left = deadline - Instant::real_now();
            if !left.is_zero() {
                foreign::wait(gate, Some(left));
            } else if self.try_claim(TIMED_OUT) {
                return false;
            } else {
                // A waker was faster: its wake is on the way.
                foreign::wait(gate, None);
            }
        }
        true
    }

    /// Ends a wait that is known to nobody else any more, instead of blocking: for one that finds, after it was
    /// published, that it need not wait. True: it is over. False: a waker has claimed it, and its owner must block.
    ///
    /// For timed waits.
    pub fn retract(&self) -> bool {
        self.try_claim(TIMED_OUT)
    }

    #[inline]
    fn try_claim(&self, by: u8) -> bool {
        // Acquire: pairs with the Release of who opened it last: the waker of a `PollWait`.
        match self.claim.compare_exchange(OPEN, by, ord(Acquire, "claim-acquire"), Relaxed) {
            Ok(_) => true,
            Err(HELD) => self.try_claim_held(by),
            Err(_) => false,
        }
    }

    /// Somebody holds it, for some instructions.
    #[cold]
    #[inline(never)]
    fn try_claim_held(&self, by: u8) -> bool {
        let mut spins = 0;
        loop {
            while self.claim.peek(Relaxed) == HELD && !on("held-is-over") {
                pause(&mut spins);
            }
            match self.claim.compare_exchange(OPEN, by, ord(Acquire, "claim-acquire"), Relaxed) {
                Ok(_) => return true,
                Err(HELD) if !on("held-is-over") => {}
                Err(_) => return false,
            }
        }
    }

    /// The timer's claim.
    ///
    /// # Safety
    /// The wait is alive: its timer was set until now, and the wheel is locked.
    pub(crate) unsafe fn claim_timeout(this: *const Wait) -> bool {
        // SAFETY: the caller.
        unsafe { (*this).try_claim(TIMED_OUT) }
    }

    /// # Safety
    /// The wait is alive.
    pub(crate) unsafe fn node(this: *const Wait) -> *mut Node {
        // SAFETY: the caller.
        unsafe { (&raw const (*this).node).cast_mut() }
    }
}

impl Default for Wait {
    fn default() -> Self {
        Wait::new()
    }
}

/// Someone who waits: a blocked task or thread, or a future's waker.
#[derive(Debug)]
pub struct Target(Kind);

#[derive(Debug)]
enum Kind {
    Blocked(*const Wait),
    Future(StoredWaker),
}

// SAFETY: a `Wait` is woken from any thread; what is touched of it is atomic, or the waker's alone.
unsafe impl Send for Target {}
// SAFETY: nothing is done through `&Target`.
unsafe impl Sync for Target {}

/// A target on its way into a list, or out of one: what is left here in the end is discarded through the door of user code. It stands
/// where no lock is held when it goes.
#[derive(Debug)]
pub struct InHand(Option<Target>);

impl InHand {
    /// This target.
    #[inline(always)]
    pub fn new(target: Option<Target>) -> InHand {
        InHand(target)
    }

    /// A future's waker: see [`Target::future`].
    #[inline(always)]
    pub fn future(waker: &Waker) -> InHand {
        InHand(Some(Target::future(waker)))
    }
}

impl Deref for InHand {
    type Target = Option<Target>;
    #[inline(always)]
    fn deref(&self) -> &Option<Target> {
        &self.0
    }
}

impl DerefMut for InHand {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Option<Target> {
        &mut self.0
    }
}

impl Drop for InHand {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(target) = self.0.take() {
            target.discard();
        }
    }
}

impl Target {
    /// A future's waker: a clone, which is user code, so it is made where nothing is locked and nothing half done.
    #[inline(always)]
    pub fn future(waker: &Waker) -> Target {
        Target(Kind::Future(StoredWaker::clone_of(waker)))
    }

    /// Is it a future?
    pub fn is_future(&self) -> bool {
        matches!(self.0, Kind::Future(_))
    }

    /// Is it a future with another waker than ours: does waking it run foreign code, which may wait or panic?
    pub fn is_foreign(&self) -> bool {
        matches!(&self.0, Kind::Future(waker) if !waker.is_ours())
    }

    /// Decides that this waker ends the wait. False: its time is over, skip it. Afterwards it is woken, exactly once.
    ///
    /// # Safety
    /// Under the lock of the list it was taken off just now, so that its owner is still there.
    #[inline(always)]
    pub unsafe fn claim(&mut self) -> bool {
        match self.0 {
            // SAFETY: the caller.
            Kind::Blocked(wait) => unsafe {
                if !(*wait).timed {
                    return true;
                }
                let claimed = (*wait).try_claim(WOKEN);
                if claimed && (*wait).polled {
                    self.take_waker(wait);
                }
                claimed
            },
            Kind::Future(_) => true,
        }
    }

    /// It is not to be woken. Not under a lock: wakers are user code.
    #[inline(always)]
    pub fn discard(self) {
        if let Kind::Future(waker) = self.0 {
            waker.discard();
        }
    }

    /// Wakes it. Not under a lock: wakers are user code. (A panic of one is reported.)
    ///
    /// # Safety
    /// It was claimed, and was not woken yet.
    #[inline(always)]
    pub unsafe fn wake(self) {
        // SAFETY: the caller.
        unsafe { Here::get().wake(self) }
    }
}

/// Who is calling: a worker, or a foreign thread. Asked once for each operation, because the thread-local costs.
///
/// Of the calling thread, and good until the calling task ends, also over its waits: where the task may go on with another
/// worker (in threads mode), each use asks again.
#[derive(Debug, Clone, Copy)]
pub struct Here {
    /// The worker that the caller was at first; in fiber mode that is for good.
    home: Option<&'static Worker>,
    /// Of the thread that asked: so it is not `Send`.
    thread: PhantomData<*mut ()>,
}

impl Here {
    /// The calling thread.
    #[inline(always)]
    pub fn get() -> Here {
        Here { home: worker::current().map(|w| Worker::of(w.as_static())), thread: PhantomData }
    }

    /// Nobody in particular.
    #[inline(always)]
    const fn nobody() -> Here {
        Here { home: None, thread: PhantomData }
    }

    /// The worker whose role the calling thread has now.
    #[inline(always)]
    fn worker(self) -> Option<Role> {
        // SAFETY: of the thread that asked, so the caller had this worker's role.
        self.home.map(|home| unsafe { home.role_again() })
    }

    /// Is it a worker?
    pub fn is_worker(self) -> bool {
        self.home.is_some()
    }

    /// One operation of the running task's budget. When it is used up, lets others run: so two tasks that never block
    /// cannot keep a worker for themselves.
    #[inline(always)]
    pub fn spend(self) {
        if let Some(w) = self.worker() {
            _ = w.spend();
        }
    }

    /// For a future, at the begin of a poll: one operation of the budget, and the lock. `None`: the budget is used up, and the caller
    /// [is pending](Self::poll_spend). (One look at who is calling, for both.)
    ///
    /// # Safety
    /// As [`BiasedLock::lock`].
    #[inline(always)]
    pub unsafe fn poll_lock(lock: &BiasedLock) -> Option<BiasedGuard<'_>> {
        let Some(w) = worker::current() else {
            // SAFETY: the caller.
            return Some(unsafe { lock.lock(None) });
        };
        let left = w.budget.get();
        if left == 0 {
            return None;
        }
        w.budget.set(left - 1);
        // SAFETY: the caller; the right is this thread's.
        Some(unsafe { lock.lock(w.biaser.get()) })
    }

    /// As [`spend`](Self::spend) for a future, which yields by being pending. True: go on.
    #[inline(always)]
    pub fn poll_spend(self, waker: &Waker) -> bool {
        let Some(w) = self.worker() else { return true };
        let left = w.budget.get();
        if left == 0 {
            w.budget.set(worker::BUDGET);
            waker.wake_by_ref();
            return false;
        }
        w.budget.set(left - 1);
        true
    }

    /// May it be worth while to spin for something that another thread does? Not on a runtime's only worker, where who is to do it
    /// is likely to be set aside; nor while other tasks of this worker are ready to go on.
    pub fn may_spin(self) -> bool {
        self.worker().is_none_or(|w| w.hub.crew.members().len() > 1 && w.nothing_ready())
    }

    /// Takes a lock of this library, by its bias if it is biased to this worker.
    ///
    /// # Safety
    /// As [`BiasedLock::lock`].
    #[inline(always)]
    pub unsafe fn lock(self, lock: &BiasedLock) -> BiasedGuard<'_> {
        // SAFETY: the caller; the right is this thread's.
        unsafe { lock.lock(self.worker().and_then(|w| w.biaser.get())) }
    }

    /// Could a wait begin right now, without [`Wait::prepare`]?
    #[inline(always)]
    pub fn is_prepared(self) -> bool {
        self.worker().is_none_or(|w| w.stacks.has_idle())
    }

    /// As [`Wait::new`].
    #[inline(always)]
    pub fn wait(self) -> Wait {
        Wait {
            node: self.worker().map_or_else(|| Node::new(None), |w| w.node()),
            claim: AtomicU8::new(OPEN),
            timed: false,
            polled: false,
        }
    }

    /// As [`Wait::timed`].
    #[inline]
    pub fn timed_wait(self) -> Wait {
        Wait { timed: true, ..self.wait() }
    }

    /// As [`Target::wake`], for one to whom the caller has handed something to work on: a blocked task of this worker goes on
    /// next, when the caller waits or ends.
    ///
    /// # Safety
    /// As [`Target::wake`].
    #[inline(always)]
    pub unsafe fn wake_next(self, target: Target) {
        match target.0 {
            // SAFETY: claimed, so its owner blocks until we wake it; gone afterwards.
            Kind::Blocked(wait) => unsafe { wake_node_next(self.worker().as_deref(), Wait::node(wait)) },
            Kind::Future(waker) => waker.wake(),
        }
    }

    /// As [`Target::wake`].
    ///
    /// # Safety
    /// As [`Target::wake`].
    #[inline(always)]
    pub unsafe fn wake(self, target: Target) {
        match target.0 {
            // SAFETY: claimed, so its owner blocks until we wake it; gone afterwards.
            Kind::Blocked(wait) => unsafe { wake_node(self.worker().as_deref(), Wait::node(wait)) },
            Kind::Future(waker) => waker.wake(),
        }
    }
}
