//! What a task gets from the one that spawns it: scoped values, and a generator forked from its
//! own.
//!
//! The child's context is made by the spawner, and waits for the task to begin:
//!
//! | the child is | it waits | and is found by |
//! |---|---|---|
//! | a closure | in the last word of the record, which is one class larger for it | `run`, which is [`run_closure`] |
//! | a closure in a frame | in a word of the frame behind the header | the same, and the flag `HEIR` |
//! | a future | as between two polls | the same: [`super::future`] |
//!
//! So those that inherit nothing need no field for it, and no test when they begin.

use super::generator::Generator;
use super::{Context, end, enter, find, future, with_own};
use crate::record::create;
use crate::record::header::{Ended, Header, Kind, Mode};
use crate::record::memory::{self, CLASSES, UNIT};
use crate::record::task::{Created, NewFuture, Unheld};
use crate::sched::unwind::Payload;
use crate::sched::user_code;
use crate::sched::worker::{self, Role, Worker};
use std::ptr::null_mut;

impl Context {
    /// The end of a context in which nothing runs (any more).
    ///
    /// # Safety
    /// The context is nobody's, and is used no more.
    pub(super) unsafe fn end_unused(this: *mut Context, w: Option<Role>) {
        // SAFETY: the context is nobody's; it stands until its memory is freed.
        unsafe {
            let w = (*this).clear(w);
            Context::free(this, w.as_deref());
        }
    }

    /// A context for a child of this task; null if there is nothing to inherit.
    ///
    /// # Safety
    /// `this` is the context of the calling task or thread (C1).
    unsafe fn heir(this: *mut Context, w: Option<&Worker>) -> *mut Context {
        // SAFETY: the context is the caller's own (this function's contract), so it stands, and no
        // other thread touches it.
        let this = unsafe { &*this };
        let bindings = this.with_bindings(|bindings| bindings.clone());
        let fork = this.with_rng(|rng| rng.as_mut().map(Generator::fork));
        if bindings.is_none() && fork.is_none() {
            return null_mut();
        }
        let child = Context::new(w, null_mut());
        // SAFETY: `new` has just made the context, and nobody else knows it.
        unsafe {
            (*child).with_rng(|rng| *rng = fork);
            (*child).with_bindings(|b| *b = bindings);
        }
        child
    }
}

/// A context for a child of whatever calls, if there is something to inherit; else null.
fn heir(w: Option<&Worker>) -> *mut Context {
    let parent = find();
    // SAFETY: what `find` returns is the caller's own context.
    if parent.is_null() { null_mut() } else { unsafe { Context::heir(parent, w) } }
}

/// A context for a child, as [`heir`] makes it; with a seed, one with a generator of that seed.
fn heir_with(w: Option<&Worker>, seed: Option<u64>) -> *mut Context {
    let mut context = heir(w);
    if let Some(seed) = seed {
        if context.is_null() {
            context = Context::new(w, null_mut());
        }
        // SAFETY: `new` or `heir` has just made the context, and nobody else knows it.
        unsafe { (*context).with_rng(|rng| *rng = Some(Generator::from_seed(seed))) };
    }
    context
}

/// The last word of a record.
///
/// # Safety
/// `record` is a closure's that is live, and whose last word holds none of its payload.
unsafe fn last_word(record: *mut Header) -> *mut *mut Context {
    // SAFETY: the record is live (this function's contract), and `kind` does not change while it
    // is.
    let class = unsafe { (*record).kind.class() };
    record.cast::<u8>().wrapping_add((class + 1) * UNIT - size_of::<*mut Context>()).cast()
}

/// Gives a closure what it inherits from whatever calls; with a seed, a generator of its own.
/// It may have another record now.
#[cold]
pub(crate) fn closure(w: Option<&Worker>, task: Created, seed: Option<u64>) -> Created {
    assert!(!task.header().kind.has(Kind::ON_STACK), "a record in a frame cannot be moved");
    let context = heir_with(w, seed);
    if context.is_null() {
        return task;
    }
    let class = task.header().kind.class();
    let old = task.into_raw();
    // SAFETY: nobody else knows the record (`Created`), so the closure may be moved; it is in
    // memory for records, not in a frame. The record has room for the word: it is one class larger
    // now, or of the largest class, which keeps its last word free. The context is fresh.
    unsafe {
        let record = if class + 1 < CLASSES { larger(w, old, class) } else { old };
        (*context).set_record(record);
        (*context).head.run.set(Some((*record).run.get()));
        (*record).run.set(run_closure);
        last_word(record).write(context);
        Created::from_raw(record)
    }
}

/// Moves a closure's record into one that is one class larger.
///
/// # Safety
/// `old` is the record of a closure, which was [`Created`], in memory for records, of this class,
/// which is not the largest. `w` is the calling worker.
unsafe fn larger(w: Option<&Worker>, old: *mut Header, class: usize) -> *mut Header {
    // SAFETY: nobody else knows `old` (this function's contract), so its bytes may be moved, and
    // its memory freed. The new record is larger. `state` belongs to the memory, and stays: a stale
    // waker may look at it just now.
    unsafe {
        let (foreign, here);
        let memory = match w {
            Some(w) => {
                here = w;
                &here.memory
            }
            None => {
                foreign = memory::foreign();
                &*foreign
            }
        };
        let new = memory.alloc(class + 1).cast::<Header>();
        let (before, after) = (std::mem::offset_of!(Header, kind), std::mem::offset_of!(Header, idx));
        let (from, to) = (old.cast::<u8>(), new.cast::<u8>());
        to.copy_from_nonoverlapping(from, before);
        create::write_flags(new, create::flags((*old).kind.flags().of_class(class + 1), (*old).runtime));
        to.add(after).copy_from_nonoverlapping(from.add(after), (class + 1) * UNIT - after);
        memory.dealloc(old.cast(), class);
        new
    }
}

/// `run` of a closure that has inherited.
unsafe fn run_closure(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: whoever calls a record's `run` has the task, in the state that `mode` says.
    // `attach_closure`, which has written this `run`, has left the context in the last word.
    unsafe {
        let context = last_word(record).read();
        begin(record, context, mode)
    }
}

/// # Safety
/// The caller has the task of `record`, in the state that `mode` says. The record has this context,
/// which waits for its beginning.
unsafe fn begin(record: *mut Header, context: *mut Context, mode: Mode) -> Ended {
    // SAFETY: the task is the caller's, and the context waits for its beginning (this function's
    // contract): so both are ours. `head.run` is the closure's own, whose contract is this
    // function's.
    unsafe {
        let run = (*context).head.run.take().expect("left with the context");
        (*record).run.set(run);
        match worker::current() {
            Some(w) if mode == Mode::Run => enter(&w, context),
            w => Context::end_unused(context, w),
        }
        run(record, mode)
    }
}

/// Gives a future what it inherits from whatever calls; with a seed, a generator of its own.
#[cold]
pub(crate) fn future(w: Option<&Worker>, task: NewFuture, seed: Option<u64>) -> Unheld {
    let context = heir_with(w, seed);
    if !context.is_null() {
        // SAFETY: the future was never queued, is known to nobody but the caller, and has no
        // context (`NewFuture`, which ends here); the context is fresh.
        unsafe {
            (*context).set_record(task.address());
            future::attach(task.address(), context);
        }
    }
    task.into()
}

/// What a call on a thread for blocking calls inherits from whatever makes it, and does not wait
/// for it.
pub(crate) struct Inherited(*mut Context);

// SAFETY: until the call begins the context is nobody's, and what it holds may be sent.
unsafe impl Send for Inherited {}

impl Inherited {
    /// With a seed, there is a generator of its own too.
    pub(crate) fn new(seed: Option<u64>) -> Inherited {
        Inherited(heir_with(worker::current().as_deref(), seed))
    }

    /// Makes the call, there. Its task-locals are its own.
    pub(crate) fn run<T>(mut self, f: impl FnOnce() -> T) -> Result<T, Payload> {
        let context = std::mem::replace(&mut self.0, null_mut());
        if let Some(w) = worker::current() {
            return run_here(context, w, f);
        }
        let (result, context) = with_own(context, f);
        if !context.is_null() {
            // SAFETY: the call's, which is over.
            unsafe { Context::end_unused(context, None) };
        }
        result
    }
}

/// The call never began.
impl Drop for Inherited {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the call never began, so nobody but this value has the context.
            unsafe { Context::end_unused(self.0, worker::current()) };
        }
    }
}

/// There was no thread: on top of a task.
#[cold]
fn run_here<T>(context: *mut Context, w: Role, f: impl FnOnce() -> T) -> Result<T, Payload> {
    let before = w.running.get();
    let context = if context.is_null() { Context::new(Some(&w), null_mut()) } else { context };
    // SAFETY: nobody else's; the record is that of the running task, or nobody's.
    unsafe {
        (*context).set_record(before.record().cast_mut());
        (*context).head.cancel_record.set(before.cancel_record());
        (*context).keep();
    }
    enter(&w, context);
    let result = user_code::body(f);
    end(w.refresh()).running.set(before);
    result
}

/// Gives a closure in a frame what it inherits from whatever calls.
#[cold]
pub(crate) fn nested(w: Option<&Worker>, task: Created) -> Created {
    assert!(task.header().kind.has(Kind::ON_STACK), "a record in a frame has a word for its context");
    let context = heir(w);
    if context.is_null() {
        return task;
    }
    let record = task.into_raw();
    // SAFETY: nobody else knows the record (`Created`); behind the header of a record in a frame, a
    // `StackTask`'s, there is a word for the context.
    unsafe {
        (*context).set_record(record);
        (*context).head.run.set(Some((*record).run.get()));
        (*record).run.set(run_nested);
        (*record).kind = (*record).kind.and(Kind::HEIR);
        record.add(1).cast::<*mut Context>().write(context);
        Created::from_raw(record)
    }
}

/// `run` of a closure in a frame that has inherited.
unsafe fn run_nested(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: whoever calls a record's `run` has the task, in the state that `mode` says. `nested`,
    // which has written this `run`, has left the context in the word behind the header.
    unsafe { begin(record, record.add(1).cast::<*mut Context>().read(), mode) }
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
        if (*record).kind.has(Kind::HEIR) {
            enter(w, record.add(1).cast::<*mut Context>().read());
        }
    }
}
