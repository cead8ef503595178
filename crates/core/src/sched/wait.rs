//! The one wait protocol: how a task, a foreign thread or a future waits for something, and is
//! woken.
//!
//! For those who build primitives (channels, locks). The primitive keeps a list of [`Waiter`]s
//! under its own lock. To wait: make a [`Wait`] (or take the future's waker),
//! [`prepare`](Wait::prepare), put its waiter on the list, release the lock,
//! [`block`](Wait::block). To wake: take a waiter off the list under the lock, [`Waiter::claim`]
//! it; if that succeeds hand over what it waits for; release the lock; [`Waiter::wake`].
//!
//! Between the publishing and the blocking nothing foreign runs on the waiter's stack: it might
//! wait itself, when the first wait can be woken already, or panic, and take what is in the list
//! away.
//!
//! **Claims.** A wait with a time limit, or in several lists at once ([`MultiWait`]), can be ended
//! by many, and must be by one alone: whoever wins the exchange on `claim`. One whose claim is lost
//! is skipped; its owner takes itself off the lists. A wait without limit in one list has one waker
//! only, the one who took it off the list, and needs no exchange.
//!
//! ```text
//!  OPEN -> WOKEN | TIMED_OUT            one exchange
//!  OPEN -> HELD -> WOKEN | OPEN         by one who needs two claims at once, or replaces a waker
//! ```
//! *Two claims at once* ([`Waiter::claim_with`]): who waits in one list, and meets a partner while
//! it enters another, has to end both waits or neither. It holds the one at the lower address, then
//! claims the other, then settles the first. Who finds `HELD` waits for that; holders wait only
//! upwards, and take no lock meanwhile, so nobody waits in a circle, and nobody is undone by
//! somebody who is undone: one of two always goes on.
//!
//! **Ordering.** What the waker did before waking is visible after the wait: by the inbox, or by
//! program order on the same worker. `claim` decides only; data goes by the primitive's lock, but
//! for the waker of a [`PollWait`]: written before the word is opened (Release), taken by whoever
//! claims it (Acquire).

use crate::queue::made;
use crate::queue::parked::Resumable;
pub use crate::queue::parked::{BEHIND_WAIT, CancelFn, Parked};
pub use crate::queue::reason::WaitReason;
use crate::sched::cancel::{checkpoint, thread};
use crate::sched::timers::FIRE_WAIT;
use crate::sched::user_code::StoredWaker;
use crate::sched::worker::{Peer, Role, block_thread};
use myriad_base::lock::bias_owner::pause;
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::{AtomicU8, Ordering::*, Peek};
use myriad_base::sys::clock::{Instant, system_now};
use myriad_base::sys::mutant::{on, ord};
use myriad_base::wheel::TimerNode;
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of};
use std::ops::{Deref, DerefMut};
use std::task::Waker;

mod caller;
pub(crate) mod foreign;
mod multi;
pub(crate) mod sleepers;
#[cfg(all(test, not(loom)))]
mod test;
#[allow(unreachable_pub)] // the engine's interface
pub(crate) mod timed_out;
pub use caller::Caller;
pub use multi::{MultiWait, PairClaim, PollWait};
pub use timed_out::note_timed_out;

const OPEN: u8 = 0;
const WOKEN: u8 = 1;
const TIMED_OUT: u8 = 2;
const CANCELLED: u8 = 4;
/// Somebody decides at this moment; see the header.
const HELD: u8 = 3;

/// One wait of the calling task or foreign thread. Lives on its stack, and stays there until it is
/// over.
#[derive(Debug)]
#[repr(C)]
pub struct Wait {
    node: Parked,
    /// Who ended it, of a timed one.
    claim: AtomicU8,
    timed: bool,
    /// It is that of a [`PollWait`].
    polled: bool,
}

// A wait is known by its node's address: `end_timed`, `on_cancel`, `node`.
const _: () = assert!(offset_of!(Wait, node) == 0);
// What stands behind a wait is found by the node's address: `WaitReason::object_at`.
const _: () = assert!(size_of::<Wait>() == BEHIND_WAIT || cfg!(loom));

impl Wait {
    /// A wait that only a waker ends.
    #[inline(always)]
    pub fn new(reason: WaitReason) -> Wait {
        Caller::get().wait(reason)
    }

    /// A wait that a deadline may end.
    #[inline]
    pub fn timed(reason: WaitReason) -> Wait {
        Wait { timed: true, ..Wait::new(reason) }
    }

    /// Lets a cancellation end the wait, which has no time limit, by taking it off its list: see
    /// [`CancelFn`]. After the wait, [`was_cancelled`](Self::was_cancelled) says so, and the
    /// caller, who is in no list any more, calls
    /// [`unwind_if_cancelled`](Self::unwind_if_cancelled).
    ///
    /// `end` gets the address of the node, which is that of the wait. What it finds there may be
    /// larger, with the wait first.
    ///
    /// # Safety
    /// From the wait's publishing to the end of its [`block`](Self::block), the wait stands where
    /// `end` expects it: as the first field of the `#[repr(C)]` type that `end` casts the address
    /// to, if `end` casts it, and all that `end` reaches from there is alive. The wait has no time
    /// limit, or `end` claims it as the timer does.
    #[inline(always)]
    pub unsafe fn on_cancel(&self, end: CancelFn) {
        debug_assert!(!self.timed);
        self.node.cancel_fn.set(Some(end));
    }

    /// Lets a cancellation end a timed wait, like its timer: it is over, and its owner takes it off
    /// the list. A wait without a time limit stays as it is: its wakers make no claim, so none may
    /// be made against them.
    #[inline]
    pub fn cancellable(self) -> Wait {
        if self.timed {
            self.node.cancel_fn.set(Some(Wait::end_timed));
        }
        self
    }

    /// # Safety
    /// `node` is the first field of a timed [`Wait`] that stands: a [`CancelFn`] is called by the
    /// home of a blocked task, while the task cannot go on.
    unsafe fn end_timed(node: *const Parked) -> bool {
        // SAFETY: set by `cancellable` alone, in the node that is a wait's first field (checked
        // above); a `CancelFn` is called while its wait stands.
        unsafe { (*node.cast::<Wait>()).try_claim(CANCELLED) }
    }

    /// Has a cancellation ended it? Then nobody wakes it, and what it waited for has not happened.
    #[inline(always)]
    pub fn was_cancelled(&self) -> bool {
        self.node.was_cancelled()
    }

    /// For the end of an operation that waited, when it is off all lists: unwinds if a cancellation
    /// has ended the wait.
    #[inline(always)]
    pub fn unwind_if_cancelled(&self) {
        if self.was_cancelled() {
            checkpoint::unwind_cancelled();
        }
    }

    /// The end of [`unwind_if_cancelled`](Self::unwind_if_cancelled), for an operation that has
    /// left the frame of its wait, having found that it [was cancelled](Self::was_cancelled): the
    /// higher up the unwinder begins, the less it costs (some 0.2 µs for each frame), and the less
    /// of the stack it touches.
    #[inline(always)]
    pub fn unwind_cancelled() -> ! {
        checkpoint::unwind_cancelled()
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
        // SAFETY: a wait is made and blocked on by one task (or thread), on whose worker it was
        // made.
        self.node.home.map(|home| unsafe { Peer::of(home.shared()).role_again() })
    }

    /// What stands for this wait in a list.
    #[inline(always)]
    pub fn waiter(&self) -> Waiter {
        Waiter(WaiterKind::Blocked(std::ptr::from_ref(self)))
    }

    /// Blocks until woken.
    ///
    /// A pointer, for a [`CancelFn`] reaches what stands behind the wait, which no reference to the
    /// wait covers.
    ///
    /// # Safety
    /// It stands, is prepared, its waiter is published (or will be woken by who has it), it is not
    /// timed, and it is blocked on once, by the task or thread that made it, where that made it:
    /// not inside a `keep_thread` or a hook that has begun since. If it has a `CancelFn`, the
    /// pointer was made of all that the `CancelFn` reaches: `(&raw const whole).cast()`.
    #[inline(always)]
    pub unsafe fn block(this: *const Wait) {
        // SAFETY: it stands, as this function's contract says; what is prepared and published is
        // suspended once, by its owner.
        unsafe {
            debug_assert!(!(*this).timed);
            match (*this).worker() {
                Some(w) => _ = w.suspend(this.cast()),
                None => block_thread(this.cast()),
            }
        }
    }

    /// Blocks until woken (true) or until the deadline or a cancellation (false). If false nobody
    /// will wake it, and the caller takes it off the list if it is still there; then calls
    /// [`unwind_if_cancelled`](Self::unwind_if_cancelled).
    ///
    /// # Safety
    /// The conditions of [`block`](Self::block), on `this`; but the wait is timed.
    pub unsafe fn block_until(this: *const Wait, deadline: Instant) -> bool {
        // SAFETY: it stands, as this function's contract says, and so is all that the two ask for.
        unsafe {
            debug_assert!((*this).timed);
            let woken = match (*this).worker() {
                Some(w) => Wait::block_task_until(this, w, deadline),
                None => Wait::block_thread_until(this, deadline),
            };
            if !woken && made::is_on() {
                timed_out::note_node(this.cast());
            }
            woken
        }
    }

    /// Blocks as [`block_until`](Self::block_until), if there is a deadline; else as
    /// [`block`](Self::block), and returns true (also if a cancellation [has ended
    /// it](Self::was_cancelled)).
    ///
    /// # Safety
    /// The conditions of [`block`](Self::block), on `this`; the wait is timed if, and only if,
    /// there is a deadline.
    #[inline(always)]
    pub unsafe fn block_by(this: *const Wait, deadline: Option<Instant>) -> bool {
        // SAFETY: what `block` and `block_until` ask for is this function's contract.
        unsafe {
            match deadline {
                None => {
                    Wait::block(this);
                    true
                }
                Some(deadline) => Wait::block_until(this, deadline),
            }
        }
    }

    /// # Safety
    /// The conditions of [`block_until`](Self::block_until), on `this`, which a task of the worker
    /// `w` has made; `w` is the caller's role.
    unsafe fn block_task_until(this: *const Wait, w: Role, deadline: Instant) -> bool {
        // Whoever goes on with the task afterwards: the timer is in this one's wheel.
        let owner = w.as_static();
        let timer = UnsafeCell::new(TimerNode::new(this.cast_mut().cast(), FIRE_WAIT));
        let set = deadline != Instant::NEVER;
        if set {
            // SAFETY: the timer stands in this frame until it has fired or is removed below.
            let earliest = unsafe { owner.timers.lock_to_insert(Some(&w)).insert(timer.get(), deadline) };
            if earliest {
                owner.timers.announce(owner, deadline);
            }
        }
        // SAFETY: it is prepared and published; a claim, of the timer or of a waker, wakes it once.
        let w = unsafe { w.suspend(this.cast()) };
        // Relaxed: whoever claimed it woke us afterwards.
        // SAFETY: the wait stands in a frame of the caller's (this function's contract).
        let claim = unsafe { (*this).claim.load(Relaxed) };
        if claim == TIMED_OUT {
            return false;
        }
        if set {
            // SAFETY: it was set in this wheel.
            unsafe { owner.timers.lock(Some(&w)).remove(timer.get()) };
        }
        claim == WOKEN
    }

    /// # Safety
    /// The conditions of [`block_until`](Self::block_until), on `this`, which a foreign thread has
    /// made.
    unsafe fn block_thread_until(this: *const Wait, deadline: Instant) -> bool {
        // SAFETY: it stands in a frame of the caller's; others write what is atomic or in a cell,
        // or by the caller's own `CancelFn`.
        let wait = unsafe { &*this };
        // SAFETY: the wait is the calling thread's.
        if let Some(woken) = unsafe { thread::block(this.cast(), deadline) } {
            // Cancelled, or its time is over: unless a waker is faster.
            if woken || wait.was_cancelled() || wait.try_claim(TIMED_OUT) {
                return woken;
            }
            // SAFETY: the same wait, which a waker has claimed.
            unsafe { block_thread(this.cast()) };
            return true;
        }
        let parker = &wait.node.parker;
        while !foreign::is_open(parker) {
            if deadline == Instant::NEVER {
                // SAFETY: the wait is the calling thread's, and stands.
                unsafe { foreign::wait_at(this.cast(), None) };
                continue;
            }
            let left = deadline - system_now();
            if !left.is_zero() {
                // SAFETY: the wait is the calling thread's, and stands.
                unsafe { foreign::wait_at(this.cast(), Some(left)) };
            } else if wait.try_claim(TIMED_OUT) {
                return false;
            } else {
                // A waker was faster: its wake is on the way.
                // SAFETY: the wait is the calling thread's, and stands.
                unsafe { foreign::wait_at(this.cast(), None) };
            }
        }
        true
    }

    /// Ends a wait that is known to nobody else any more, instead of blocking: for one that finds,
    /// after it was published, that it need not wait. True: it is over. False: a waker has claimed
    /// it, and its owner must block.
    ///
    /// False for a wait without a time limit, whose wakers make no claim: its owner must block.
    pub fn retract(&self) -> bool {
        self.timed && self.try_claim(TIMED_OUT)
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
        // SAFETY: the wait is alive (this function's contract), and `claim` is atomic.
        unsafe { (*this).try_claim(TIMED_OUT) }
    }

    /// What goes on when it is woken.
    ///
    /// # Safety
    /// The wait was claimed by the caller, and was not woken yet; it is in no list.
    #[inline(always)]
    pub(crate) unsafe fn resumable(this: *const Wait) -> Resumable {
        // SAFETY: claimed (this function's contract), so its owner blocks until this caller wakes
        // it.
        unsafe { Resumable::from_raw(Wait::node(this)) }
    }

    /// # Safety
    /// The wait is alive.
    pub(crate) unsafe fn node(this: *const Wait) -> *mut Parked {
        // SAFETY: the wait is alive (this function's contract), and only the address of its node is
        // taken.
        unsafe { (&raw const (*this).node).cast_mut() }
    }
}

/// Someone who waits: a blocked task or thread, or a future's waker.
#[derive(Debug)]
pub struct Waiter(WaiterKind);

#[derive(Debug)]
enum WaiterKind {
    Blocked(*const Wait),
    Future(StoredWaker),
}

// SAFETY: a `Wait` is woken from any thread; what is touched of it is atomic, or the waker's alone.
unsafe impl Send for Waiter {}
// SAFETY: through `&Waiter` nothing is read but which kind it is, and addresses are compared.
unsafe impl Sync for Waiter {}

/// A waiter on its way into a list, or out of one: what is left here in the end is discarded
/// through the door of user code. It stands where no lock is held when it goes.
#[derive(Debug)]
pub struct InHand(Option<Waiter>);

impl InHand {
    /// This waiter.
    #[inline(always)]
    pub fn new(waiter: Option<Waiter>) -> InHand {
        InHand(waiter)
    }

    /// A future's waker: see [`Waiter::future`].
    #[inline(always)]
    pub fn future(waker: &Waker) -> InHand {
        InHand(Some(Waiter::future(waker)))
    }
}

impl Deref for InHand {
    type Target = Option<Waiter>;
    #[inline(always)]
    fn deref(&self) -> &Option<Waiter> {
        &self.0
    }
}

impl DerefMut for InHand {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Option<Waiter> {
        &mut self.0
    }
}

impl Drop for InHand {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(waiter) = self.0.take() {
            waiter.discard();
        }
    }
}

impl Waiter {
    /// A future's waker: a clone, which is user code, so it is made where nothing is locked and
    /// nothing half done.
    #[inline(always)]
    pub fn future(waker: &Waker) -> Waiter {
        Waiter(WaiterKind::Future(StoredWaker::clone_of(waker)))
    }

    /// Takes it out of its place, word by word: it was written there as words just before, and a
    /// processor waits some 5 ns if it reads several of them at once. (Volatile: so nobody makes
    /// one load of them.)
    #[inline(always)]
    pub fn take(place: &mut Option<Waiter>) -> Option<Waiter> {
        type Word = MaybeUninit<*const ()>;
        const WORDS: usize = size_of::<Option<Waiter>>() / size_of::<Word>();
        const { assert!(align_of::<Option<Waiter>>() == align_of::<Word>()) };
        let place: *mut Option<Waiter> = place;
        // SAFETY: the place is as large as so many words, and aligned as they are (checked above,
        // and by `transmute`). What is in it is read once, for `None` is written there.
        unsafe {
            let words: [Word; WORDS] = std::array::from_fn(|i| place.cast::<Word>().add(i).read_volatile());
            place.write(None);
            std::mem::transmute::<[Word; WORDS], Option<Waiter>>(words)
        }
    }

    /// Is it a future?
    pub fn is_future(&self) -> bool {
        matches!(self.0, WaiterKind::Future(_))
    }

    /// Is it a future with another waker than ours: does waking it run foreign code, which may wait
    /// or panic?
    pub fn is_foreign(&self) -> bool {
        matches!(&self.0, WaiterKind::Future(waker) if !waker.is_ours())
    }

    /// Decides that this waker ends the wait. False: its time is over, skip it. Afterwards it is
    /// woken, exactly once.
    ///
    /// # Safety
    /// The waiter was taken off a list just now, and the list's lock is held: the owner of the
    /// wait, which must take that lock before it leaves, is still there.
    #[inline(always)]
    pub unsafe fn claim(&mut self) -> bool {
        match self.0 {
            // SAFETY: the list's lock is held (this function's contract), so the owner has not left
            // its frame and the wait is alive. A claim that was won makes a polled wait's waker the
            // caller's.
            WaiterKind::Blocked(wait) => unsafe {
                if !(*wait).timed {
                    return true;
                }
                let claimed = (*wait).try_claim(WOKEN);
                if claimed && (*wait).polled {
                    *self = Waiter::of_polled(wait);
                }
                claimed
            },
            WaiterKind::Future(_) => true,
        }
    }

    /// It is not to be woken. Not under a lock: wakers are user code.
    #[inline(always)]
    pub fn discard(self) {
        if let WaiterKind::Future(waker) = self.0 {
            waker.discard();
        }
    }

    /// Wakes it. Not under a lock: wakers are user code. (A panic of one is reported.)
    ///
    /// # Safety
    /// The waiter was claimed, and was not woken yet.
    #[inline(always)]
    pub unsafe fn wake(self) {
        // SAFETY: the waiter was claimed and was not woken yet (this function's contract), which is
        // also the contract of `Caller::wake`.
        unsafe { Caller::get().wake(self) }
    }
}
