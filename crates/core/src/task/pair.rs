//! Fork-join of two closures, and running one thing on a fresh stack.
//!
//! The record of `b` stands on the caller's stack. It is always recorded, never simply called after `a`: `a` may wait
//! for something that only `b` does, and then the worker's loop must find `b` (or a thief does).

use super::context::{self, Loan, Word, inherit, nested};
use super::handle::wait_done;
use super::header::{Ended, Header, Marks, Mode};
use super::spawn::write_stack_header;
use super::waker::wake_waiter_as;
use crate::cancel::frames::Frames;
use crate::cancel::{self, ask, point};
use crate::runtime::global;
use crate::sched::deque::UNCLAIMED;
use crate::sched::worker::{self, Role};
use crate::stack::pool::NoStack;
use crate::sys::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::unwind::{self, AbortOnUnwind, Payload};
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;

/// A task whose record is in its spawner's frame.
#[repr(C)]
pub(crate) struct StackTask<F, T> {
    header: UnsafeCell<MaybeUninit<Header>>,
    /// What it inherits, if anything: see `context::inherit`.
    _context: UnsafeCell<MaybeUninit<*mut ()>>,
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<Result<T, Option<Payload>>>>,
}

impl<F: FnOnce() -> T, T> StackTask<F, T> {
    /// Not yet a task: see [`begin`](Self::begin).
    #[inline(always)]
    pub(crate) fn new(f: F) -> Self {
        StackTask {
            header: UnsafeCell::new(MaybeUninit::uninit()),
            _context: UnsafeCell::new(MaybeUninit::uninit()),
            closure: UnsafeCell::new(ManuallyDrop::new(f)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Makes it a task, to be pushed on the caller's deque next. It stays where it is from now on.
    #[inline(always)]
    pub(crate) fn begin(&self, flags: u32, place: &'static Location<'static>) {
        // SAFETY: nobody else knows the record yet.
        unsafe { write_stack_header(self.record(), run_stack_task::<F, T>, flags, place) };
    }

    /// Makes it a task for the injector.
    pub(crate) fn begin_elsewhere(&self, flags: u32, place: &'static Location<'static>) {
        self.begin(flags, place);
        // SAFETY: nobody else knows the record yet.
        unsafe { inherit::nested(worker::current().as_deref(), self.record()) };
        // SAFETY: as above.
        unsafe { (&raw mut (*self.record()).idx).write(AtomicUsize::new(UNCLAIMED)) };
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: begun, and pushed (which writes the position). What changes in it afterwards is atomic.
        unsafe { (*self.header.get()).assume_init_ref() }
    }

    /// What the queues hold. (Derived from a pointer to the whole, so that `run` may reach all of it.)
    #[inline(always)]
    pub(crate) fn record(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The closure, to call it here.
    ///
    /// # Safety
    /// The task was claimed, and the closure is taken once.
    #[inline(always)]
    unsafe fn take_closure(&self) -> F {
        // SAFETY: the caller.
        unsafe { ManuallyDrop::take(&mut *self.closure.get()) }
    }

    /// What the task left; `Err(None)` if it was dropped unstarted.
    ///
    /// # Safety
    /// The task has ended by `run`, and the result is taken once.
    pub(crate) unsafe fn take_result(&self) -> Result<T, Option<Payload>> {
        // SAFETY: the caller.
        unsafe { (*self.result.get()).assume_init_read() }
    }
}

unsafe fn run_stack_task<F: FnOnce() -> T, T>(task: *mut Header, mode: Mode) -> Ended {
    let this = task.cast::<StackTask<F, T>>();
    // SAFETY: the caller has the task. Its frame waits for the end, so it stands until `complete`.
    unsafe {
        let f = ManuallyDrop::take(&mut *(*this).closure.get());
        let result = (*this).result.get();
        match mode {
            Mode::Run => {
                let w = worker::current().expect("a task runs on a worker");
                let (mut w, ()) = Frames::with(w, task, std::ptr::null(), || {
                    // Relaxed: as of any task that begins.
                    let ended = if (*task).marks.load(Relaxed) & Marks::CANCELLED == 0 {
                        unwind::catch(f)
                    } else {
                        cancel::never_start(f)
                    };
                    (*result).write(ended.map_err(|mut payload| {
                        cancel::settle(&mut payload);
                        Some(payload)
                    }));
                });
                if w.running.has_context() {
                    w = context::end(w);
                }
                w.forget_frame();
                let waiter = Header::complete(task);
                // The frame may be gone now.
                if !waiter.is_null() {
                    _ = wake_waiter_as(w, waiter);
                }
            }
            _ => {
                // First, for the destructor may panic.
                (*result).write(Err(None));
                drop(f);
            }
        }
    }
    Ended::BySelf
}

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// The caller runs `a`; `b` is offered to other workers meanwhile, and the caller runs it afterwards if nobody took it.
/// Both may borrow from the caller, and may block, also on each other: as long as somebody can go on, somebody does.
/// From a foreign thread both run on the global runtime, and the thread sleeps.
///
/// # Blocking
/// Until both have ended.
///
/// # Panics
/// If either panics, both are awaited first, then the panic goes on; if both do, `a`'s.
///
/// # Examples
/// ```
/// fn fib(n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = myriad_core::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(15), 610);
/// ```
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let place = Location::caller();
    match worker::current() {
        Some(w) if w.has_room() => join_here(w, a, b, place),
        w => join_elsewhere(w, a, b, place),
    }
}

/// Without a worker, or without room on the current stack.
#[cold]
#[inline(never)]
fn join_elsewhere<A, B, RA, RB>(w: Option<Role>, a: A, b: B, place: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match w {
        Some(w) => on_fresh_stack(w, place, move || join_again(a, b, place)),
        None => crate::runtime::run_on(global::home(), place, move || join_again(a, b, place)),
    }
}

/// `join` once more, on a worker with room.
fn join_again<A, B, RA, RB>(a: A, b: B, place: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_here(worker::current().expect("on a worker"), a, b, place)
}

#[inline(always)]
fn join_here<A, B, RA, RB>(w: Role, a: A, b: B, place: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let task = StackTask::new(b);
    task.begin(w.stack_flags, place);
    // SAFETY: this frame does not end, by return or unwinding, before the task is claimed or done.
    unsafe { w.push_nested(task.record()) };
    // Caught, not cleaned up in a destructor: what waits for `b` must not do so while a panic is under way on this thread.
    let ra = match unwind::catch(a) {
        Ok(ra) => ra,
        Err(payload) => join_panicked(w.refresh(), &task, payload),
    };
    // As `still`, but without a branch; who has waited in `a` has done the rest of it.
    // SAFETY: the thread still has a worker's role, if perhaps another one's.
    let w = unsafe { worker::current().unwrap_unchecked() };
    // SAFETY: the frame's own record; claimed once. (If we have another worker's role now, the task is not in its deque, or was
    // stolen into it.)
    if unsafe { w.member.deque.claim_plain(task.header()) } {
        // SAFETY: claimed.
        let b = unsafe { task.take_closure() };
        let rb = match unwind::catch(b) {
            Ok(rb) => rb,
            Err(payload) => nested::panicked(payload),
        };
        // Asked for again: `b` may have waited.
        // SAFETY: the thread still has a worker's role, if perhaps another one's.
        if unsafe { worker::current().unwrap_unchecked() }.member.deque.has_contexts() {
            nested::finish_unmarked();
        }
        (ra, rb)
    } else {
        (ra, join_rest(w, &task))
    }
}

/// `b` was taken, or something is out of the ordinary.
#[cold]
#[inline(never)]
fn join_rest<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) -> RB {
    // SAFETY: the frame's own record; claimed once.
    if !unsafe { w.claim(task.header()) } {
        return join_stolen(w, task);
    }
    // SAFETY: claimed. It is a task of its own, with a frame, on top of the caller; both stand until it has ended.
    let (w, before, rb) = unsafe {
        let (before, b) = (nested::begin(&w, task.record()), task.take_closure());
        point::put_framed_on_top(before, task.record());
        let (w, rb) = Frames::with(w, task.record(), std::ptr::null(), || {
            unwind::catch(b).map_err(|mut payload| {
                cancel::settle(&mut payload);
                payload
            })
        });
        (w, before, rb)
    };
    nested::finish(w, before);
    match rb {
        Ok(rb) => rb,
        Err(payload) => unwind::resume(payload),
    }
}

/// `b` was taken: waits for its end.
#[cold]
#[inline(never)]
fn join_stolen<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) -> RB {
    _ = wait_for_frame(w, task.header());
    // SAFETY: the task has ended, and this is the only taker.
    match unsafe { task.take_result() } {
        Ok(value) => value,
        Err(Some(payload)) => unwind::resume(payload),
        Err(None) => panic!("the runtime was shut down before this closure of `join` could start"),
    }
}

/// `a` has panicked: `b` is run or awaited before the frame goes, then the panic goes on.
#[cold]
#[inline(never)]
fn join_panicked<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>, payload: Payload) -> ! {
    if cancel::is_cancellation(&payload) {
        cancel_b(w, task);
        unwind::resume(payload);
    }
    // Documented: both are awaited. So `b` runs also when `a` has panicked, here or elsewhere.
    // SAFETY: the frame's own record; claimed once.
    unsafe {
        if w.claim(task.header()) {
            let before = w.running.replace(Word::of_task(task.record()));
            point::put_framed_on_top(before, task.record());
            let (w, _) = w.run(task.record());
            w.running.set(before);
        } else {
            _ = wait_for_frame(w, task.header());
        }
        // Its own panic, if any, gives way to `a`'s; so does that of its result's destructor.
        match unwind::catch(|| drop(task.take_result())) {
            Ok(()) => {}
            Err(second) => unwind::discard(second),
        }
    }
    unwind::resume(payload)
}

/// `a` was cancelled, so `b` is: it does not begin any more, or is asked and awaited.
#[cold]
fn cancel_b<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) {
    // SAFETY: the frame's own record; claimed once.
    let dropped = unsafe {
        if w.claim(task.header()) {
            unwind::catch(|| _ = (task.header().run)(task.record(), Mode::DropUnstarted))
        } else {
            ask::cancel(task.record());
            _ = wait_for_frame(w, task.header());
            unwind::catch(|| drop(task.take_result()))
        }
    };
    // A panic gives way to the cancellation.
    if let Err(second) = dropped {
        unwind::discard(second);
    }
}

/// Waits for a task whose record is in the caller's frame, whatever happens.
pub(crate) fn wait_for_frame(w: Role, header: &Header) -> Role {
    let stays = AbortOnUnwind::new(
        "a join was left by a panic while the task runs whose record and data are in its frame (a bug in Myriad)",
    );
    // SAFETY: the record is the caller's own.
    let w = match unsafe { wait_done(Some(w), header) } {
        Ok(w) => w.expect("a worker stays one"),
        // (Without a stack nothing has waited, and no waker was left in such a record.)
        Err(_) => worker::current().expect("on a worker").wait_without_stack(|| header.is_done()),
    };
    stays.disarm();
    w
}

/// Runs `f` on an empty stack of this worker (or on another worker), while the caller's is set aside: recursion is bounded
/// by memory, not by the size of a stack.
#[cold]
#[inline(never)]
fn on_fresh_stack<F, T>(w: Role, place: &'static Location<'static>, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if let Err(error) = w.ensure_stack() {
        no_stack(&error);
    }
    // The caller itself goes on there.
    let loan = Loan::new();
    let task = StackTask::new(|| loan.run(f));
    task.begin(w.stack_flags, place);
    // SAFETY: the frame stands until the task is done.
    unsafe { w.push_next(task.record()) };
    let result = unwind::catch(|| join_stolen(w, &task));
    loan.give_back();
    match result {
        Ok(value) => value,
        Err(payload) => unwind::resume(payload),
    }
}

#[cold]
fn no_stack(error: &NoStack) -> ! {
    panic!("{error}")
}
