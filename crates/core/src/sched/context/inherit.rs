//! What a task gets from the one that spawns it: scoped values, and a generator forked from its
//! own.
//!
//! The child's context is made by the spawner, and waits for the task to begin:
//!
//! | the child is | it waits | and is found by |
//! |---|---|---|
//! | a closure | in the last word of the record, which is one class larger for it | `run`, which is [`run_closure`] |
//! | a closure in a frame | in a word of the frame behind the header | the same, and the flag `INHERITED` |
//! | a future | as between two polls | the same: [`super::future`] |
//!
//! So those that inherit nothing need no field for it, and no test when they begin.

use super::generator::Generator;
use super::{Context, UnusedContext, end, enter, find, future, with_own};
use crate::record::create::{self, Created, InFrame, NewFuture, Unheld};
use crate::record::header::{Ended, Header, Kind, Mode, Run};
use crate::record::memory::{self, CLASSES, UNIT};
use crate::record::task::TaskRef;
use crate::sched::unwind::Payload;
use crate::sched::user_code;
use crate::sched::worker::{self, Role, Worker};
use std::ptr::null_mut;

impl Context {
    /// A context for a child of this task; `None` if there is nothing to inherit.
    fn for_child(&self, w: Option<&Worker>) -> Option<UnusedContext> {
        let bindings = self.with_bindings(|bindings| bindings.clone());
        let fork = self.with_rng(|rng| rng.as_mut().map(Generator::fork));
        if bindings.is_none() && fork.is_none() {
            return None;
        }
        let child = Context::fresh(w, null_mut());
        child.with_rng(|rng| *rng = fork);
        child.with_bindings(|b| *b = bindings);
        Some(child)
    }

    /// It waits for this record to begin, whose `run` is this one meanwhile.
    ///
    /// # Safety
    /// The caller alone has the task. `run` finds the context, and puts back what was here.
    unsafe fn wait_for(&self, record: TaskRef<'_>, run: Run) {
        self.set_record(record.as_ptr());
        // SAFETY: this function's contract is that of `set_run`.
        self.head.run.set(Some(unsafe { record.set_run(run) }));
    }
}

/// A context for a child of whatever calls, if there is something to inherit.
fn inherited(w: Option<&Worker>) -> Option<UnusedContext> {
    // SAFETY: what `find` returns is the caller's own context, or null.
    unsafe { find().as_ref() }?.for_child(w)
}

/// A context for a child, as [`inherited`] makes it; with a seed, one with a generator of that
/// seed.
fn inherited_with(w: Option<&Worker>, seed: Option<u64>) -> Option<UnusedContext> {
    let context = inherited(w);
    let Some(seed) = seed else { return context };
    let context = context.unwrap_or_else(|| Context::fresh(w, null_mut()));
    context.with_rng(|rng| *rng = Some(Generator::from_seed(seed)));
    Some(context)
}

/// The last word of a record.
///
/// # Safety
/// `record` is a closure's that is live, and whose last word holds none of its payload.
unsafe fn last_word(record: *mut Header) -> *mut *mut Context {
    // SAFETY: the record is live (this function's contract), and `kind` does not change while it
    // is.
    let class = unsafe { (*record).kind().class() };
    record.cast::<u8>().wrapping_add((class + 1) * UNIT - size_of::<*mut Context>()).cast()
}

/// Gives a closure what it inherits from whatever calls; with a seed, a generator of its own.
/// It may have another record now.
#[cold]
pub(crate) fn closure<T>(w: Option<&Worker>, task: Created<T>, seed: Option<u64>) -> Created<T> {
    let Some(context) = inherited_with(w, seed) else { return task };
    let class = task.header().kind().class();
    let old = task.into_raw();
    // SAFETY: nobody else knows the record (`Created`), so the closure may be moved; it is in
    // memory for records. The record has room for the word: it is one class larger
    // now, or of the largest class, which keeps its last word free. The context is fresh.
    unsafe {
        let record = match w {
            _ if class + 1 == CLASSES => old,
            Some(w) => create::larger(&w.memory, old, class),
            None => create::larger(&memory::global_free_list(), old, class),
        };
        context.wait_for(TaskRef::from_raw(record), run_closure);
        last_word(record).write(context.into_raw());
        Created::from_raw(record)
    }
}

/// `run` of a closure that has inherited.
unsafe fn run_closure(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: whoever calls a record's `run` has the task, in the state that `mode` says.
    // `attach_closure`, which has written this `run`, has left the context in the last word.
    unsafe { begin(record, UnusedContext::from_raw(last_word(record).read()), mode) }
}

/// # Safety
/// The caller has the task of `record`, in the state that `mode` says. This context waited for its
/// beginning.
unsafe fn begin(record: *mut Header, context: UnusedContext, mode: Mode) -> Ended {
    let run = context.head.run.take().expect("left with the context");
    // SAFETY: the task is the caller's (this function's contract). `run` is the closure's own,
    // whose contract is this function's.
    unsafe {
        (*record).set_run(run);
        match worker::current() {
            Some(w) if mode == Mode::Run => _ = enter(&w, context),
            w => context.end(w),
        }
        run(record, mode)
    }
}

/// Gives a future what it inherits from whatever calls; with a seed, a generator of its own.
#[cold]
pub(crate) fn future<T>(w: Option<&Worker>, task: NewFuture<T>, seed: Option<u64>) -> Unheld<T> {
    if let Some(context) = inherited_with(w, seed) {
        context.set_record(task.address());
        // SAFETY: the future was never queued, is known to nobody but the caller, and has no
        // context (`NewFuture`, which ends here).
        unsafe { future::attach(task.address(), context) };
    }
    task.into()
}

/// What a call on a thread for blocking calls inherits from whatever makes it, and does not wait
/// for it.
pub(crate) struct Inherited(Option<UnusedContext>);

// SAFETY: until the call begins the context is nobody's, and what it holds may be sent.
unsafe impl Send for Inherited {}

impl Inherited {
    /// With a seed, there is a generator of its own too.
    pub(crate) fn new(seed: Option<u64>) -> Inherited {
        Inherited(inherited_with(worker::current().as_deref(), seed))
    }

    /// Makes the call, there. Its task-locals are its own.
    pub(crate) fn run<T>(mut self, f: impl FnOnce() -> T) -> Result<T, Payload> {
        let context = self.0.take();
        if let Some(w) = worker::current() {
            return run_here(context, w, f);
        }
        let (result, context) = with_own(context, f);
        if let Some(context) = context {
            context.end(None);
        }
        result
    }
}

/// The call never began.
impl Drop for Inherited {
    fn drop(&mut self) {
        if let Some(context) = self.0.take() {
            context.end(worker::current());
        }
    }
}

/// There was no thread: on top of a task.
#[cold]
fn run_here<T>(context: Option<UnusedContext>, w: Role, f: impl FnOnce() -> T) -> Result<T, Payload> {
    let before = w.running.get();
    let context = context.unwrap_or_else(|| Context::fresh(Some(&w), null_mut()));
    context.set_record(w.running_record().cast_mut());
    context.head.cancel_record.set(w.runs_here().as_ptr());
    context.keep();
    enter(&w, context);
    let result = user_code::body(f);
    end(w.refresh()).running.set(before);
    result
}

/// Gives a closure in a frame what it inherits from whatever calls.
#[cold]
pub(crate) fn nested(w: Option<&Worker>, task: InFrame) -> InFrame {
    let Some(context) = inherited(w) else { return task };
    let record = task.into_raw();
    // SAFETY: nobody else knows the record, and behind its header there is a word for the context
    // (`InFrame`).
    unsafe {
        context.wait_for(TaskRef::from_raw(record), run_nested);
        (*record).add_kind(Kind::INHERITED);
        record.add(1).cast::<*mut Context>().write(context.into_raw());
        InFrame::from_raw(record)
    }
}

/// `run` of a closure in a frame that has inherited.
unsafe fn run_nested(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: whoever calls a record's `run` has the task, in the state that `mode` says. `nested`,
    // which has written this `run`, has left the context in the word behind the header.
    unsafe { begin(record, context_behind(record), mode) }
}

/// A closure in a frame begins by being called, not by its `run`.
///
/// # Safety
/// `record` is a [`StackTask`](crate::api::StackTask)'s, or another one with a word behind its
/// header; it is claimed, and is what `w` runs.
pub(crate) unsafe fn enter_nested(w: &Worker, record: *mut Header) {
    // SAFETY: the record is claimed and the caller's (this function's contract); the flag says that
    // `nested` has written the word behind the header, a context that has not begun.
    unsafe {
        if (*record).kind().has(Kind::INHERITED) {
            enter(w, context_behind(record));
        }
    }
}

/// The context that waits for a closure in a frame.
///
/// # Safety
/// `nested` has written the word behind the header of `record`, and the closure begins now.
unsafe fn context_behind(record: *mut Header) -> UnusedContext {
    // SAFETY: `nested` has left the context there (this function's contract), and it is taken once,
    // at the beginning.
    unsafe { UnusedContext::from_raw(record.add(1).cast::<*mut Context>().read()) }
}
