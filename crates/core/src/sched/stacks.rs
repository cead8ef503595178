//! The seam between the two blocking modes: a worker's stacks.
//!
//! A *stack* is a fiber's memory or a parked OS thread; a *switch* changes the stack pointer, or
//! hands the worker's role to that thread and parks the own one. All above this file is one code
//! path.
//!
//! Idle stacks are parked in the worker's loop, in a list: last in, first out, because the last one
//! is warm.
//!
//! (Over 600 lines: what a stack is, in either mode, and how the loop goes from one to another. Its
//! parts ask each other's private cells, and another file that knows workers would be one more in
//! the engine's largest cycle of files. What knows none is below `stacks/`.)

mod ending;
mod wakes;

use super::worker::{Peer, Role, Worker, set_current};
use crate::queue::deque::Keeps;
use crate::queue::parked::Parked;
use crate::sched::busy;
use crate::sched::pool::Config;
use myriad_base::stack::overflow;
use myriad_base::stack::pool::{NoStack, StackPool};
use myriad_base::stack::switch;
use myriad_base::stack::threads::{Baton, Order};
use myriad_base::sys::thread::{self, Affinity};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{null, null_mut};
// Numbers for the list of threads, and not in a model.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use wakes::Wakes;

pub(crate) use ending::EndingThreads;
use ending::ToldNext;

/// Idle OS threads that are kept; more end when the worker has nothing to do.
const KEEP_THREADS: usize = 64;
/// Idle fibers that are kept.
const KEEP_FIBERS: usize = 256;
/// Idle fibers that go back at once.
const TRIM_AT_ONCE: usize = 512;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Stacks {
    idle: Cell<*mut Parked>,
    /// Atomic for whoever [reads metrics](Peer::idle_stacks).
    pub(super) idle_count: AtomicUsize,
    /// Threads mode?
    threads: Cell<bool>,
    /// There is room above this part of the stack pointer's bits ...
    room_floor: Cell<usize>,
    /// ... which are these.
    room_mask: Cell<usize>,
    stack_pool: UnsafeCell<Option<StackPool>>,
    /// Fiber mode: the stack of the worker's thread, while fibers run.
    thread_stack: UnsafeCell<*mut u8>,
    /// Who has the role. In threads mode that thread; in fiber mode the worker stands for its only
    /// thread, and nobody looks through the pointer.
    me: Cell<*const OsStack>,
    /// What a stack of the worker's runs.
    run_loop: Cell<RunLoop>,
    /// In threads mode: where a hand-over wakes the next thread.
    wakes: Wakes,
}

/// A thread of threads mode, on its own stack.
#[derive(Debug)]
pub(crate) struct OsStack {
    baton: Baton,
    /// Its place in the idle list before it first runs.
    fresh: Parked,
    /// Above this address there is room.
    floor: Cell<usize>,
    /// The system's number of the thread; 0 until it runs.
    tid: AtomicU32,
    /// The giver of a turn keeps the thread on a processor, and it had this before. Written by the
    /// giver before the turn.
    kept: Cell<Option<Affinity>>,
    /// It is to end, and tells the next of these.
    ends_for: Cell<Option<&'static EndingThreads>>,
    /// A task of a group runs on it: only its own worker goes on with it.
    pinned: AtomicBool,
    /// A task on it has had a context, and may have it yet: any worker that goes on with it has to
    /// know.
    contexts: Cell<bool>,
    /// Whose role the thread is given; written by the giver before the turn.
    worker: Cell<*const Worker>,
}

impl OsStack {
    fn new(w: &Worker) -> OsStack {
        OsStack {
            baton: Baton::default(),
            fresh: Parked::new(None),
            floor: Cell::new(usize::MAX),
            tid: AtomicU32::new(0),
            kept: Cell::new(None),
            ends_for: Cell::new(None),
            pinned: AtomicBool::new(false),
            contexts: Cell::new(false),
            worker: Cell::new(w),
        }
    }

    /// On the thread itself, first.
    fn set_thread(&self) {
        self.floor.set(floor());
        self.tid.store(thread::id(), Relaxed);
    }

    /// The calling thread, whose stack this is, has left its loop: it leaves the pool, and the next
    /// idle thread ends.
    fn leave(&self, w: &Peer) {
        wakes::let_go(self.kept.take());
        // A hook is user code, and may wait for other threads that end: so none waits for it. (Else
        // the next one comes last: then two hardly ever end at once.)
        let has_hook = w.pool.config().threads.end.is_some();
        let next = self.ends_for.take();
        if has_hook {
            next.into_iter().for_each(end_next);
        }
        w.pool.leave_thread(w);
        if !has_hook {
            next.into_iter().for_each(end_next);
        }
    }

    /// The calling thread, whose stack this is, was given a role: of the worker that it had before,
    /// or of another.
    fn take_role(&self, before: &Peer) {
        // SAFETY: workers live for ever.
        let w = unsafe { &*self.worker.get() };
        if !std::ptr::eq(w.as_static(), before) {
            // SAFETY: the giver has left the role to this thread; who has waited in `switch`
            // refreshes its role.
            unsafe { set_current(Some(w.as_static())) };
            w.pool.move_thread(w);
        }
        w.stacks.me.set(self);
        w.stacks.room_floor.set(self.floor.get());
        w.thread.store(self.tid.load(Relaxed), Relaxed);
        if w.stacks.wakes.roams.get() {
            w.stacks.wakes.end(self.kept.take());
        }
    }
}

impl Default for Stacks {
    /// None yet.
    fn default() -> Stacks {
        Stacks {
            idle: Cell::new(null_mut()),
            idle_count: AtomicUsize::new(0),
            threads: Cell::new(true),
            room_floor: Cell::new(usize::MAX),
            room_mask: Cell::new(usize::MAX),
            stack_pool: UnsafeCell::new(None),
            thread_stack: UnsafeCell::new(null_mut()),
            me: Cell::new(null()),
            run_loop: Cell::new(|_| LoopEnd::Stopped),
            wakes: Wakes::default(),
        }
    }
}

impl Stacks {
    /// The worker's thread begins to work in this mode.
    pub(crate) fn begin(&self, w: &Worker, config: &Config, run_loop: RunLoop) {
        self.run_loop.set(run_loop);
        self.threads.set(!config.fibers);
        self.wakes.roams.set(config.cpus.is_none());
        // In threads mode its thread takes the role (`OsStack::take_role`).
        self.me.set(if config.fibers { std::ptr::from_ref(w).cast() } else { null() });
        w.thread.store(thread::id(), Relaxed);
        if config.fibers {
            let stack_pool = StackPool::new(config.stack_size, config.max_stacks);
            // At least half of a stack is left to a task that runs on top of another.
            self.room_mask.set(stack_pool.stack_size() - 1);
            self.room_floor.set(stack_pool.stack_size() / 2);
            // SAFETY: owner only; no stack is in use before the start.
            unsafe { *self.stack_pool.get() = Some(stack_pool) };
        } else {
            self.room_mask.set(usize::MAX);
        }
    }

    /// Is a stack at hand?
    #[inline(always)]
    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.get().is_null()
    }

    /// Makes a stack and puts it on the idle list.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_fresh(&self, w: &Worker) -> Result<(), NoStack> {
        if self.threads.get() {
            self.add_thread(w)?
        } else {
            self.add_fiber()?
        }
        w.count_stacks(1);
        Ok(())
    }

    /// Who has the role: the same for all that runs on one OS thread, and different for what does
    /// not.
    #[inline(always)]
    pub(crate) fn runner(&self) -> *const () {
        self.me.get().cast()
    }

    /// Where the calling thread will be gone on with, in threads mode: known before it blocks.
    #[inline(always)]
    pub(crate) fn here(&self) -> *mut u8 {
        self.me.get().cast_mut().cast()
    }

    /// In threads mode: only its own worker goes on with the calling thread from now on (or, with
    /// `false`, any may). Returns what held before: a task of a group may run on top of another
    /// one, which goes on behind it.
    pub(crate) fn set_pinned(&self, yes: bool) -> bool {
        // Relaxed: who looks has found the thread in a queue, which it got into later.
        self.thread().is_some_and(|me| me.pinned.swap(yes, Relaxed))
    }

    /// A task on the running stack has a context. (A fiber has the same worker always.)
    #[inline]
    pub(crate) fn bring_contexts(&self) {
        if let Some(me) = self.thread() {
            me.contexts.set(true);
        }
    }

    /// Has a task on the running stack had a context? In threads mode.
    pub(crate) fn brings_contexts(&self) -> bool {
        self.thread().is_some_and(|me| me.contexts.get())
    }

    /// The calling thread, in threads mode.
    #[inline]
    fn thread(&self) -> Option<&OsStack> {
        if !self.threads.get() {
            return None;
        }
        // SAFETY: in threads mode it is null or the calling thread's own, which is there as long as
        // that runs.
        unsafe { self.me.get().as_ref() }
    }

    fn add_fiber(&self) -> Result<(), NoStack> {
        // SAFETY: owner only, and no reference to the pool outlives this statement.
        let stack = unsafe { &mut *self.stack_pool.get() }.as_mut().expect("begun in fiber mode").take()?;
        // The node of a stack that has not run yet stands at its top, above the first frame.
        let node = stack.top.wrapping_sub(size_of::<Parked>().next_multiple_of(16)).cast::<Parked>();
        // SAFETY: the stack is fresh and ours; `fiber_main` never returns.
        unsafe {
            node.write(Parked::new(None));
            let saved = switch::prepare(node.cast(), fiber_main);
            (*node).saved.with_mut(|s| *s = saved);
        }
        self.push_idle(node);
        Ok(())
    }

    fn add_thread(&self, w: &Worker) -> Result<(), NoStack> {
        let made = usize::try_from(w.counted_stacks()).unwrap_or(0);
        let config = w.pool.config();
        if made >= config.max_stacks {
            return Err(NoStack::limit(made, config.max_stacks));
        }
        if let Some(node) = w.ending.take_back() {
            self.push_idle(node);
            return Ok(());
        }
        let peer = w.as_static();
        let stack = Box::into_raw(Box::new(OsStack::new(w)));
        let address = stack.expose_provenance();
        let index = w.shared.index;
        let name = config.threads.name(index, || format!("{}-{index}.{made}", config.name));
        // The thread is wanted where the caller is about to block.
        let kept = self.wakes.roams.get().then(|| wakes::keep_here(0)).flatten();
        let started =
            w.pool.spawn_thread(name, move || os_stack_main(peer, std::ptr::with_exposed_provenance(address), kept));
        wakes::let_go(kept);
        if let Err(error) = started {
            // SAFETY: the thread does not exist.
            drop(unsafe { Box::from_raw(stack) });
            return Err(NoStack::os(made, error));
        }
        // SAFETY: the thread waits for its turn; until then the node is ours.
        let node = unsafe {
            (*stack).fresh.saved.with_mut(|saved| *saved = stack.cast());
            &raw mut (*stack).fresh
        };
        self.push_idle(node);
        Ok(())
    }

    #[inline(always)]
    fn push_idle(&self, node: *mut Parked) {
        // SAFETY: the node is parked or fresh, and in no other list.
        unsafe { (*node).next.with_mut(|next| *next = self.idle.get()) };
        self.idle.set(node);
        self.idle_count.store(self.idle_count.load(Relaxed) + 1, Relaxed);
    }

    /// Puts the current stack, which is in the worker's loop, on the idle list; the caller switches
    /// away at once.
    #[inline(always)]
    pub(crate) fn park_idle(&self, node: &Parked) {
        self.push_idle(std::ptr::from_ref(node).cast_mut());
    }

    /// Takes a stack that is parked in the loop. There is one: see [`Worker::ensure_stack`].
    #[inline(always)]
    pub(crate) fn take_idle(&self, w: &Worker) -> *mut u8 {
        if self.idle.get().is_null() {
            self.make_idle(w);
        }
        // SAFETY: not empty now.
        unsafe { self.pop_idle() }
    }

    /// # Safety
    /// The list of idle stacks is not empty.
    #[inline(always)]
    unsafe fn pop_idle(&self) -> *mut u8 {
        let node = self.idle.get();
        self.idle_count.store(self.idle_count.load(Relaxed) - 1, Relaxed);
        // SAFETY: the list is not empty (this function's contract); its nodes stand on idle stacks,
        // which are parked, and whose stack pointers were saved before they came into the list.
        unsafe {
            self.idle.set((*node).next.with(|next| *next));
            (*node).saved.with(|saved| *saved)
        }
    }

    /// In threads mode a task may have made sure of a stack with one worker, and block with
    /// another: if a waker, foreign code, has blocked in between.
    #[cold]
    #[inline(never)]
    fn make_idle(&self, w: &Worker) {
        if !self.threads.get() || self.add_fresh(w).is_err() {
            thread::abort_with("a task blocks without a stack to go on with (a bug in Myriad)");
        }
    }

    /// Saves the current stack to `save` (a thread's is there already) and goes on with `to`.
    /// False: this (idle) thread is to end. In threads mode the calling thread may have another
    /// worker's role afterwards.
    ///
    /// # Safety
    /// `to` was saved by a switch, is blocked or fresh (in fiber mode: of this worker), and nobody
    /// else goes on with it. `save` stays valid until somebody has switched back.
    #[inline(always)]
    pub(crate) unsafe fn switch(&self, w: &Worker, save: *mut *mut u8, to: *mut u8) -> bool {
        if self.threads.get() {
            // SAFETY: `to` is a blocked or fresh thread, to which nobody else gives a turn (this
            // function's contract).
            return unsafe { self.hand_over(w, to.cast()) };
        }
        // SAFETY: `to` was saved by a switch or is fresh, is of this worker, which has one thread
        // in fiber mode, and nobody else goes on with it; `save` is valid until somebody has
        // switched back (this function's contract).
        unsafe { switch::switch(save, to) };
        true
    }

    /// # Safety
    /// Threads mode. `to` waits for its turn, or is a fresh thread that will, and nobody else gives
    /// it one. `w` is the calling worker.
    #[inline(never)]
    unsafe fn hand_over(&self, w: &Worker, to: *const OsStack) -> bool {
        let me = self.me.get();
        // SAFETY: `to` waits, or will, and nobody else gives it a turn (this function's contract),
        // so it stands. `me` is this thread's own.
        unsafe {
            (*to).worker.set(w);
            if self.wakes.roams.get() && (*to).baton.sleeps() {
                (*to).kept.set(self.wakes.begin((*to).tid.load(Relaxed)));
            }
            Baton::give(&raw const (*to).baton, Order::Go);
            // From here on the worker is another thread's.
            if (*me).baton.wait() == Order::Exit {
                return false;
            }
            (*me).take_role(w);
        }
        true
    }

    /// Is there room to run another task on top of the current frame?
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        switch::stack_pointer() & self.room_mask.get() > self.room_floor.get()
    }

    /// With nothing to do: gives back what idle stacks hold beyond a reserve.
    pub(crate) fn trim(&self, w: &Peer) {
        if self.threads.get() {
            self.trim_threads(w, KEEP_THREADS);
        } else {
            self.trim_fibers(w);
        }
    }

    /// Idle threads beyond so many end, in threads mode: the warmest stay. One after the other, by
    /// themselves: the worker, which may have something to do soon, only begins with the first.
    pub(crate) fn trim_threads(&self, w: &Peer, keep: usize) {
        let idle = self.idle_count.load(Relaxed);
        if !self.threads.get() || idle <= keep {
            return;
        }
        // SAFETY: the list holds `idle` nodes, of idle stacks of ours.
        let rest = unsafe {
            match keep.checked_sub(1) {
                None => self.idle.replace(null_mut()),
                Some(before_last) => {
                    let mut last = self.idle.get();
                    for _ in 0..before_last {
                        last = (*last).next.with(|next| *next);
                    }
                    (*last).next.with_mut(|next| next.replace(null_mut()))
                }
            }
        };
        self.idle_count.store(keep, Relaxed);
        w.count_stacks(-isize::try_from(idle - keep).expect("threads fit in memory"));
        // SAFETY: a list of idle threads, of which there are more than `keep`, in no other one now.
        unsafe {
            let ending = &w.as_static().ending;
            ending.begin(rest, self.wakes.roams.get()).into_iter().for_each(|first| tell(ending, first));
        }
    }

    /// Idle fibers behind the warmest go back to the pool, which gives their memory to the system:
    /// both in portions, so that work that comes up need not wait.
    fn trim_fibers(&self, w: &Peer) {
        // SAFETY: owner only, and no reference to the pool outlives this call.
        let Some(stack_pool) = (unsafe { &mut *self.stack_pool.get() }) else { return };
        let mut last = self.idle.get();
        if self.idle_count.load(Relaxed) > KEEP_FIBERS {
            for _ in 1..KEEP_FIBERS {
                // SAFETY: the list holds that many parked nodes.
                last = unsafe { (*last).next.with(|next| *next) };
            }
            for _ in 0..TRIM_AT_ONCE.min(self.idle_count.load(Relaxed) - KEEP_FIBERS) {
                // SAFETY: a parked node after `last`, taken out of the list: nobody will go on with
                // its stack, on which only the loop's frame stands.
                unsafe {
                    let node = (*last).next.with(|next| *next);
                    let next = (*node).next.with(|next| *next);
                    (*last).next.with_mut(|n| *n = next);
                    stack_pool.put((*node).saved.with(|saved| *saved));
                }
                self.idle_count.store(self.idle_count.load(Relaxed) - 1, Relaxed);
                w.count_stacks(-1);
            }
        }
        stack_pool.trim();
    }

    /// Runs the worker's loop until the runtime stops, in fiber mode: from the worker's thread.
    /// Returns how many fibers are still blocked.
    fn run_fibers(&self, w: &Peer) -> usize {
        // SAFETY: the one that was just made.
        let first = unsafe { self.pop_idle() };
        // SAFETY: a fresh stack of ours; `thread_stack` is owner only, and holds until `fiber_main`
        // switches back.
        unsafe { switch::switch(self.thread_stack.get(), first) };
        // The stack that switched back is neither idle nor blocked.
        let blocked = usize::try_from(w.counted_stacks()).unwrap_or(0) - self.idle_count.load(Relaxed) - 1;
        self.idle.set(null_mut());
        self.idle_count.store(0, Relaxed);
        w.set_stacks(0);
        // SAFETY: owner only.
        let stack_pool = unsafe { &mut *self.stack_pool.get() }.take();
        role().pool.frames_go();
        if blocked > 0 {
            // Suspended frames stand on these stacks for ever.
            std::mem::forget(stack_pool);
        }
        blocked
    }
}

/// Is this thread, of a blocked task in threads mode, for its own worker alone?
///
/// # Safety
/// `saved` was found in a ready ring that is shared, and the ring's lock is held.
pub(crate) unsafe fn is_pinned(saved: *mut u8) -> bool {
    // SAFETY: the node is in the ring, whose lock is held (this function's contract), so its thread
    // waits to go on, and its `OsStack` is there. (The nodes of models are no threads'.)
    !cfg!(loom) && unsafe { (*saved.cast::<OsStack>()).pinned.load(Relaxed) }
}

/// The role of the calling thread, which is one of the runtime.
fn role() -> Role {
    super::worker::current().unwrap_or_else(|| crate::sched::fork::end_of_child())
}

/// The first frame of a fiber's stack.
extern "C" fn fiber_main() -> ! {
    switch::entered();
    let w = role();
    let run_loop = w.stacks.run_loop.get();
    run_loop(w);
    // SAFETY: the worker's thread waits in `run_fibers`; nobody ever switches back here.
    unsafe { switch::switch_for_good(*role().stacks.thread_stack.get()) };
    myriad_base::sys::thread::abort_with("a stopped worker was resumed (a bug in Myriad)")
}

/// One of these has left: the next one is told.
fn end_next(ending: &'static EndingThreads) {
    // SAFETY: taken out of the lists just now.
    ending.next().into_iter().for_each(|next| unsafe { tell(ending, next) });
}

/// Tells a thread to end, and whom it tells then.
///
/// # Safety
/// The node was taken out of these.
unsafe fn tell(ending: &'static EndingThreads, ToldNext { node, here }: ToldNext) {
    // SAFETY: the thread waits, or will, as all of these do: so its node and what that stands for
    // are there. It reads what is written here after it has its order.
    unsafe {
        let stack = (*node).saved.with(|saved| *saved).cast::<OsStack>();
        (*stack).ends_for.set(Some(ending));
        let tid = (*stack).tid.load(Relaxed);
        if here && tid != 0 && (*stack).baton.sleeps() {
            (*stack).kept.set(wakes::keep_here(tid));
        }
        Baton::give(&raw const (*stack).baton, Order::Exit);
    }
}

/// The body of a further thread in threads mode.
fn os_stack_main(w: &'static Peer, stack: *const OsStack, kept: Option<Affinity>) {
    wakes::let_go(kept);
    // SAFETY: made by `add_thread` for this thread, which frees it at its end. A reference until
    // then, and no box: others write to it meanwhile, by pointers.
    let me = unsafe { &*stack };
    w.pool.enter_thread(w);
    me.set_thread();
    if me.baton.wait() == Order::Go {
        me.take_role(w);
        work();
    }
    me.leave(w);
    // SAFETY: a box, from `add_thread`. The thread was told to end, or has seen the stop: nobody
    // gives it a turn any more.
    drop(unsafe { Box::from_raw(stack.cast_mut()) });
}

/// Runs the worker's loop on this thread. The thread that sees the stop has the role, and ends the
/// worker.
fn work() {
    let w = role();
    let run_loop = w.stacks.run_loop.get();
    if run_loop(w) == LoopEnd::Stopped {
        // Perhaps another worker by now.
        let w = role();
        w.stacks.trim_threads(&w, 0);
        w.stacks.me.set(null());
        // The calling thread; what is left of the sum over all workers are blocked tasks.
        w.count_stacks(-1);
        w.pool.worker_ended(&w, 0);
    }
}

/// The loop of a worker, which stacks and threads run: [`run_loop::run`](super::run_loop::run). (A
/// pointer, for the loop is above what it runs on.)
pub(crate) type RunLoop = fn(Role) -> LoopEnd;

/// Why the worker's loop returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopEnd {
    /// The runtime stops, and this stack has seen it first.
    Stopped,
    /// This thread was idle and is not needed any more.
    NotNeeded,
}

/// Above this address a quarter of the thread's stack, and at least 64 KiB, is left; of a stack on
/// which little is left now (the system's thread-locals stand on it too), half of that: a fresh
/// stack has room, or whoever needs one would ask for another one without end.
fn floor() -> usize {
    match overflow::own_stack().or_else(thread::current_stack_bounds) {
        Some(bounds) => {
            let left = switch::stack_pointer().saturating_sub(bounds.start);
            bounds.start + (bounds.len() / 4).max(64 << 10).min(left / 2)
        }
        None => 0,
    }
}

/// The body of a worker's first thread.
pub(crate) fn worker_main(w: &'static Peer, run_loop: RunLoop) {
    w.pool.enter_thread(w);
    let peer = w;
    // SAFETY: the worker's first thread begins with its role, and keeps it up to `work`, which asks
    // anew.
    let w = unsafe { peer.own() };
    w.prefer_locks(true);
    busy::count(true);
    w.timers.reset(w);
    // (Of the last runtime's turns nothing follows.)
    w.deque().set_keeps(Keeps::Nothing);
    let config = w.pool.config();
    w.shared.ready.set_mode(!config.fibers, config.latency);
    if config.latency {
        // Each push comes to `Worker::serve_requests_for`.
        w.shared.deque.keep_request();
    }
    w.stacks.begin(w, &config, run_loop);
    if config.fibers {
        let blocked = match w.stacks.add_fresh(w) {
            Ok(()) => {
                w.pool.worker_started(Ok(()));
                w.stacks.run_fibers(w)
            }
            Err(error) => {
                w.pool.worker_started(Err(error));
                w.pool.workers.leave(&w.shared);
                0
            }
        };
        w.pool.worker_ended(w, blocked);
        if blocked > 0 {
            // Thread-locals must not die under the suspended frames that borrow them.
            loop {
                std::thread::park();
            }
        }
    } else {
        let stack = OsStack::new(w);
        stack.set_thread();
        w.set_stacks(1);
        stack.take_role(w);
        w.pool.worker_started(Ok(()));
        work();
        stack.leave(peer);
        return;
    }
    peer.pool.leave_thread(peer);
}
