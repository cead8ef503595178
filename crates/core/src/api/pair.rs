//! Fork-join of two closures, and running one thing on a fresh stack.
//!
//! The record of `b` stands on the caller's stack. It is always recorded, never simply called after
//! `a`: `a` may wait for something that only `b` does, and then the worker's loop must find `b` (or
//! a thief does).

use super::handle::wait_done;
use crate::record::create::{InFrame, KindWord, write_stack_header, write_unclaimed};
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Mode, Outcome, TaskFlags};
use crate::record::held::{Awaited, Ending};
use crate::record::task::{Runnable, TaskRef};
use crate::runtime::global;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::cancel::{self, checkpoint, request};
use crate::sched::context::{self, Relocated, inherit, nested};
use crate::sched::lifecycle;
use crate::sched::unwind::{self, AbortOnUnwind, Payload};
use crate::sched::user_code;
use crate::sched::waker::wake_waiter_as;
use crate::sched::worker::{self, Role, Worker};
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
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

    /// Makes it a task, to be pushed on the caller's deque next, which writes its position.
    ///
    /// # Safety
    /// It is begun once, and stands where it is until it is claimed or has ended.
    #[inline(always)]
    pub(crate) unsafe fn begin(&self, word: KindWord, location: &'static Location<'static>) -> InFrame {
        // SAFETY: nobody else knows the record yet. It stands until the task is claimed or has
        // ended (this function's contract).
        unsafe {
            write_stack_header(self.record(), run_stack_task::<F, T>, word, location);
            InFrame::from_raw(self.record())
        }
    }

    /// Makes it a task for the injector, which inherits from whatever calls.
    ///
    /// # Safety
    /// As for [`begin`](Self::begin).
    pub(crate) unsafe fn begin_elsewhere(&self, word: KindWord, location: &'static Location<'static>) -> InFrame {
        // SAFETY: this function's contract is that of `begin`. Nobody else knows the record yet.
        unsafe {
            let task = self.begin(word, location);
            write_unclaimed(task.address());
            inherit::nested(worker::current().as_deref(), task)
        }
    }

    /// What the queues hold. (Derived from a pointer to the whole, so that `run` may reach all of
    /// it.)
    #[inline(always)]
    pub(crate) fn record(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    #[inline(always)]
    fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: begun, and this is its record, which lives as long as this does.
        unsafe { TaskRef::from_raw(self.record()) }
    }

    /// Its end, for who has it in his frame.
    fn awaited(&self) -> Awaited<'_> {
        // SAFETY: the record is in a frame, has no handle, and no waker is ever left in it.
        unsafe { Awaited::in_frame(self.task_ref()) }
    }

    /// The closure, to call it here.
    ///
    /// # Safety
    /// The task was claimed by the caller, so nobody else runs it, and the closure is taken once.
    #[inline(always)]
    unsafe fn take_closure(&self) -> F {
        // SAFETY: nobody else runs the task, and the closure was not taken before (this function's
        // contract).
        unsafe { ManuallyDrop::take(&mut *self.closure.get()) }
    }

    /// What the task left; `Err(None)` if it was dropped unstarted.
    ///
    /// # Safety
    /// The task has ended by `run`, and the result is taken once.
    pub(crate) unsafe fn take_result(&self) -> Result<T, Option<Payload>> {
        // SAFETY: the task has ended by `run`, which writes the result in every mode that it is
        // called with, and nobody has taken that (this function's contract).
        unsafe { (*self.result.get()).assume_init_read() }
    }
}

/// `run` of a record on a stack.
///
/// # Safety
/// `task` is the record of a `StackTask<F, T>` that has begun, claimed by the caller or taken out
/// of its queue, and not run yet. Its frame waits for the end.
unsafe fn run_stack_task<F: FnOnce() -> T, T>(task: *mut Header, mode: Mode) -> Ended {
    // The task is known by its header's address; the word behind it, by where that ends
    // (`context::inherit`).
    const {
        assert!(std::mem::offset_of!(StackTask<F, T>, header) == 0);
        assert!(std::mem::offset_of!(StackTask<F, T>, _context) == size_of::<Header>());
    };
    let this = task.cast::<StackTask<F, T>>();
    // SAFETY: the task was claimed or taken out of its queue (this function's contract), so the
    // closure is taken once. Its frame waits for the end, so both places stand until `complete`,
    // which comes after the result is written.
    unsafe {
        let (closure, result) = (&mut *(*this).closure.get(), (*this).result.get());
        match mode {
            Mode::Run => run_framed(task, &mut |begins| {
                let f = ManuallyDrop::take(closure);
                let ended = if begins { user_code::body(f) } else { cancel::never_start(f) };
                (*result).write(ended.map_err(|mut payload| {
                    cancel::end_cancellation(&mut payload);
                    Some(payload)
                }));
            }),
            _ => {
                // First, for the destructor may panic.
                (*result).write(Err(None));
                drop(ManuallyDrop::take(closure));
            }
        }
    }
    Ended::BySelf
}

/// Runs a task whose record is in its spawner's frame, and tells who waits for it. Compiled once:
/// programs have many such closures.
///
/// # Safety
/// The task is claimed. `body` is called once, with whether the closure begins; it does not unwind.
#[inline(never)]
unsafe fn run_framed(task: *mut Header, body: &mut dyn FnMut(bool)) {
    let w = worker::current().expect("a task runs on a worker");
    // SAFETY: the claimed task's frame waits for its end, so the record stands until `complete`;
    // nothing looks at it afterwards.
    unsafe {
        // Relaxed: as of any task that begins.
        let (mut w, ()) = ScopedTasks::with(w, task, std::ptr::null(), || {
            body((*task).flags().load(Relaxed) & TaskFlags::CANCELLED == 0);
        });
        if w.running.has_context() {
            w = context::end(w);
        }
        w.forget_frame();
        // (What has become of it is in the frame.)
        let ending = lifecycle::end(task, Outcome::Returned);
        // The frame may be gone now.
        if let Ending::Awaited(waiter) = ending {
            _ = wake_waiter_as(w, waiter);
        }
    }
}

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// The caller runs `a`; `b` is offered to other workers meanwhile, and the caller runs it
/// afterwards if nobody took it. Both may borrow from the caller, and may block, also on each
/// other: as long as somebody can go on, somebody does. From a foreign thread both run on the
/// global runtime, and the thread sleeps.
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
///     let (a, b) = myriad::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(15), 610);
/// ```
#[doc(alias = "fork")]
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at::<false, _, _, _, _>(a, b, Location::caller())
}

/// The same; `b`, and what the caller goes on in, are jobs of a [guest](Kind::GUEST), or not.
#[inline]
pub(crate) fn join_at<const GUEST: bool, A, B, RA, RB>(a: A, b: B, location: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match worker::current() {
        Some(w) if w.has_room() => join_here::<GUEST, _, _, _, _>(w, a, b, location),
        w => join_elsewhere::<GUEST, _, _, _, _>(w, a, b, location),
    }
}

/// Of a record on a stack of this worker.
#[inline(always)]
fn kind_word<const GUEST: bool>(w: &Worker) -> KindWord {
    if GUEST { w.guest_stack_kind_word } else { w.stack_kind_word }
}

/// Without a worker, or without room on the current stack.
#[cold]
#[inline(never)]
fn join_elsewhere<const GUEST: bool, A, B, RA, RB>(
    w: Option<Role>,
    a: A,
    b: B,
    location: &'static Location<'static>,
) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (mut pair, mut results) = (Some((a, b)), None);
    let called = call_elsewhere::<GUEST>(w, location, &mut || {
        let (a, b) = pair.take().expect("called once");
        results = Some(join_at::<GUEST, _, _, _, _>(a, b, location));
    });
    match called {
        Ok(()) => results.expect("called"),
        // (The closures are still there if the task never began.)
        Err(payload) => unwind::drop_and_resume(pair, payload),
    }
}

/// Calls `f`, once, as a task of the global runtime, or on a fresh stack of this worker. Compiled
/// once: programs have many joins, and few of them come here.
fn call_elsewhere<const GUEST: bool>(
    w: Option<Role>,
    location: &'static Location<'static>,
    f: &mut (dyn FnMut() + Send),
) -> Result<(), Payload> {
    unwind::catch(|| match w {
        Some(w) => on_fresh_stack::<GUEST>(w, location, f),
        None => crate::api::run::run_on(global::home(), location, GUEST, f),
    })
}

#[inline(always)]
fn join_here<const GUEST: bool, A, B, RA, RB>(w: Role, a: A, b: B, location: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let task = StackTask::new(b);
    // SAFETY: this frame does not end, by return or unwinding, before the task is claimed or done.
    w.push_nested(unsafe { task.begin(kind_word::<GUEST>(&w), location) });
    // Caught, not cleaned up in a destructor: what waits for `b` must not do so while a panic is
    // under way on this thread.
    let ra = match user_code::body(a) {
        Ok(ra) => ra,
        Err(payload) => join_panicked(w.refresh(), &task, payload),
    };
    // As `still`, but without a branch; who has waited in `a` has done the rest of it.
    // SAFETY: the thread still has a worker's role, if perhaps another one's.
    let w = unsafe { worker::current().unwrap_unchecked() };
    // (If we have another worker's role now, the task is not in its deque, or was stolen into it.)
    if w.deque().claim_plain(task.task_ref()).is_some() {
        // SAFETY: the task was claimed just now, and its closure is taken here alone.
        let b = unsafe { task.take_closure() };
        lifecycle::begins(task.record());
        let rb = user_code::body(b);
        lifecycle::ends(task.record());
        let rb = match rb {
            Ok(rb) => rb,
            Err(payload) if needs_drop::<RA>() => second_panicked(ra, payload),
            Err(payload) => nested::panicked(payload),
        };
        // Asked for again: `b` may have waited.
        // SAFETY: the thread still has a worker's role, if perhaps another one's.
        if unsafe { worker::current().unwrap_unchecked() }.has_contexts() {
            nested::finish_unflagged();
        }
        (ra, rb)
    } else if needs_drop::<RA>() {
        match unwind::catch(|| join_rest(w, &task)) {
            Ok(rb) => (ra, rb),
            Err(payload) => unwind::drop_and_resume(ra, payload),
        }
    } else {
        (ra, join_rest(w, &task))
    }
}

/// `b` has panicked on top of the caller, which has the result of `a` in hand.
#[cold]
#[inline(never)]
fn second_panicked<RA>(ra: RA, payload: Payload) -> ! {
    nested::finish_unflagged();
    unwind::drop_and_resume(ra, payload)
}

/// `b` was taken, or something is out of the ordinary.
#[cold]
#[inline(never)]
fn join_rest<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) -> RB {
    if w.claim(task.task_ref()).is_none() {
        return join_stolen(w, task);
    }
    // SAFETY: claimed. It is a task of its own, with a frame, on top of the caller; both stand
    // until it has ended.
    let (w, before, rb) = unsafe {
        let (before, b) = (nested::begin(&w, task.record()), task.take_closure());
        checkpoint::put_framed_on_top(before, task.record());
        lifecycle::begins(task.record());
        let (w, rb) = ScopedTasks::with(w, task.record(), std::ptr::null(), || {
            user_code::body(b).map_err(|mut payload| {
                cancel::end_cancellation(&mut payload);
                payload
            })
        });
        (w, before, rb)
    };
    nested::finish(w, before);
    lifecycle::ends(task.record());
    match rb {
        Ok(rb) => rb,
        Err(payload) => unwind::resume(payload),
    }
}

/// `b` was taken: waits for its end.
#[cold]
#[inline(never)]
fn join_stolen<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) -> RB {
    _ = wait_for_frame(w, task.awaited());
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
    // SAFETY: the record is in the frame of whoever calls, and was queued. If it is claimed here,
    // the task is ours to run, once; else it is awaited. Then it has ended by `run`, and its result
    // is taken here alone.
    unsafe {
        if let Some(claimed) = w.claim(task.task_ref()) {
            let before = w.running.replace(CurrentTask::of_task(task.record()));
            checkpoint::put_framed_on_top(before, task.record());
            let (w, _) = w.run(claimed.into());
            w.running.set(before);
        } else {
            _ = wait_for_frame(w, task.awaited());
        }
        // Its own panic, if any, gives way to `a`'s; so does that of its result's destructor.
        unwind::drop_quietly(task.take_result());
    }
    unwind::resume(payload)
}

/// `a` was cancelled, so `b` is: it does not begin any more, or is asked and awaited.
#[cold]
fn cancel_b<B: FnOnce() -> RB, RB>(w: Role, task: &StackTask<B, RB>) {
    // SAFETY: the record is in the frame of whoever calls, and was queued. If it is not
    // claimed here, it is awaited, and its result is taken here alone.
    //
    // A panic of what is dropped gives way to the cancellation.
    unsafe {
        if let Some(claimed) = w.claim(task.task_ref()) {
            lifecycle::ends(task.record());
            let dropped = user_code::call(|| Runnable::from(claimed).drop_payload());
            _ = dropped.map_err(unwind::discard);
        } else {
            request::cancel(task.task_ref());
            _ = wait_for_frame(w, task.awaited());
            unwind::drop_quietly(task.take_result());
        }
    }
}

/// Waits for a task whose record is in the caller's frame, whatever happens.
fn wait_for_frame(w: Role, task: Awaited<'_>) -> Role {
    let stays = AbortOnUnwind::new(
        "a join was left by a panic while the task runs whose record and data are in its frame (a bug in Myriad)",
    );
    let w = match wait_done(Some(w), task) {
        Ok(w) => w.expect("a worker stays one"),
        // (Without a stack nothing has waited, and no waker was left in such a record.)
        Err(_) => worker::current().expect("on a worker").wait_without_stack(|| task.task_ref().is_done()),
    };
    stays.disarm();
    w
}

/// Runs `f` on an empty stack of this worker (or on another worker), while the caller's is set
/// aside: recursion is bounded by memory, not by the size of a stack.
fn on_fresh_stack<const GUEST: bool>(w: Role, location: &'static Location<'static>, f: &mut (dyn FnMut() + Send)) {
    if let Err(error) = w.ensure_stack() {
        no_stack(&error);
    }
    // The caller itself goes on there.
    let loan = Relocated::new();
    let task = StackTask::new(|| loan.run(f));
    // SAFETY: this frame stands until the task is done, for which `join_stolen` waits whatever
    // happens.
    w.push_next(unsafe { task.begin(kind_word::<GUEST>(&w), location) }.into_unstarted());
    let result = unwind::catch(|| join_stolen(w, &task));
    loan.give_back();
    result.unwrap_or_else(|payload| unwind::resume(payload));
}

#[cold]
fn no_stack(error: &NoStack) -> ! {
    panic!("{error}")
}
