//! What belongs to a task beside its record: its task-locals, the scoped values that it sees, its
//! seeded generator.
//!
//! ```text
//!  worker.running:  record                      most tasks: nothing of the kind
//!                   context | 1 -> record       made at the first use, gone at the task's end
//! ```
//! Most tasks have no context, and pay for this: one bit, tested where a task ends, and nothing at
//! a switch, because the word that names the running task is saved and restored anyway. What a
//! spawn and a `join` have to ask is folded into a test that they make already
//! ([`is_plain`](crate::queue::deque::Deque::is_plain)): it says "no" from the first context of a
//! worker on.
//!
//! **Where it is kept.** While the task runs or is blocked: in `running`, or in the frame that was
//! left. Before it begins: see `inherit.rs`. Of a future between two polls: in `idx` of its record
//! (which nobody else uses then: futures are not claimed), and `run` is that of `future.rs` instead
//! of the future's own.
//!
//! **Invariants.** (C1) A context belongs to one task, and is touched only by the thread that runs
//! it. (C2) Where `running` has a context, the worker's deque knows that it `has_contexts`; a
//! thread on which a task has had one brings that along when it goes on with another worker's role.
//! (C3) It ends, on the task's own stack, before the task's end can be seen: its destructors have
//! run when a joiner goes on.
//!
//! **Memory.** A context is a piece of record memory whose kind says "free", so that whoever visits
//! all records passes over it; so it stays readable for ever, which whoever looks at workers that
//! run needs (a shutdown, the monitor). The bytes of `kind` and `state` are not touched.
//!
//! **Rejected.** A pointer in each record: eight bytes more, and a look at each end and each
//! switch. A table by record: a lock and a hash for each access. The pointer in the worker beside
//! the task: two instructions more for each switch.

mod bindings;
mod future;
pub(crate) mod generator;
pub(crate) mod inherit;
mod locals;
pub(crate) mod nested;
mod relocated;
pub mod rng;
mod scoped;
mod task_local;
#[cfg(feature = "rand_core")]
mod traits;

use crate::record::current::{ContextHead, CurrentTask};
pub use bindings::{Captured, ScopedValue};
pub(crate) use future::{finish as finish_future, pause as pause_future};
pub(crate) use relocated::Relocated;
pub use scoped::Bound;
pub use task_local::{AccessError, LocalKey};

use crate::record::header::{Ended, Header};
use crate::record::memory;
use crate::sched::worker::{self, Role, Worker};
use crate::sched::{cancel, unhandled, unwind, user_code};
use bindings::Chain;
use generator::Generator;
use locals::Locals;
use std::cell::{Cell, UnsafeCell};
use std::panic::Location;
use std::ptr::{NonNull, null_mut};

/// See the module's header.
#[repr(C)]
pub(crate) struct Context {
    /// Of the task; for a thread's own context of nobody.
    head: ContextHead,
    /// The scoped values, innermost first.
    bindings: UnsafeCell<Chain>,
    /// The seeded generator, if the task or one of its ancestors was seeded.
    rng: UnsafeCell<Option<Generator>>,
    /// Of a task whose record is in a frame: its number, once asked for.
    number: Cell<u64>,
    locals: UnsafeCell<Locals>,
    /// Calls of `LocalKey::with` that are under way, and other reasons to keep it.
    borrows: Cell<usize>,
}

const CLASS: usize = memory::class_of(size_of::<Context>());
const _: () = {
    assert!(CLASS < memory::CLASSES && align_of::<Context>() <= memory::UNIT);
    // A `CurrentTask` points to the head.
    assert!(std::mem::offset_of!(Context, head) == 0);
};

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("record", &self.head.record).finish_non_exhaustive()
    }
}

/// A context that nobody uses: of a task that has not begun, of a future between two polls, or
/// anew. It is moved to where it is used, and from there to its end.
///
/// **Invariant.** It stands, and no other value, and no task, has it.
#[repr(transparent)]
pub(crate) struct UnusedContext(NonNull<Context>);

impl UnusedContext {
    /// The context of this address.
    ///
    /// # Safety
    /// It stands, and nobody uses it: whoever had it has given it away here.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(context: *mut Context) -> UnusedContext {
        // SAFETY: what stands is not at address 0.
        UnusedContext(unsafe { NonNull::new_unchecked(context) })
    }

    /// Its address. The right to it goes with that.
    #[inline(always)]
    fn into_raw(self) -> *mut Context {
        self.0.as_ptr()
    }

    /// It ends, and nothing runs in it any more.
    fn end(self, w: Option<Role>) {
        let w = self.clear(w);
        // SAFETY: it has been cleared, and nobody uses it (the type's invariant), which ends here.
        unsafe { Context::free(self.into_raw(), w.as_deref()) };
    }
}

impl std::ops::Deref for UnusedContext {
    type Target = Context;
    #[inline(always)]
    fn deref(&self) -> &Context {
        // SAFETY: it stands, and nobody else uses it (the type's invariant).
        unsafe { self.0.as_ref() }
    }
}

/// The context of which this word has the head.
#[inline(always)]
fn whole(word: CurrentTask) -> *mut Context {
    word.head().cast()
}

impl Context {
    /// An empty one.
    fn fresh(w: Option<&Worker>, record: *mut Header) -> UnusedContext {
        let context = match w {
            Some(w) => w.memory.alloc(CLASS),
            None => memory::global_free_list().alloc(CLASS),
        };
        let context = context.cast::<Context>();
        // SAFETY: fresh memory of this size. Not a value as a whole: `head.untouched` stays as it
        // is.
        unsafe {
            (&raw mut (*context).head.record).write(Cell::new(record));
            (&raw mut (*context).head.cancel_record).write(Cell::new(record));
            (&raw mut (*context).head.run).write(Cell::new(None));
            (&raw mut (*context).head.location).write(const { Location::caller() });
            (&raw mut (*context).borrows).write(Cell::new(0));
            (&raw mut (*context).bindings).write(UnsafeCell::new(None));
            (&raw mut (*context).rng).write(UnsafeCell::new(None));
            (&raw mut (*context).number).write(Cell::new(0));
            (&raw mut (*context).locals).write(UnsafeCell::new(Locals::default()));
            UnusedContext::from_raw(context)
        }
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// The context has ended ([`Context::clear`]), and is used no more.
    unsafe fn free(this: *mut Context, w: Option<&Worker>) {
        // SAFETY: the context is used no more (this function's contract); `clear` has dropped what
        // it held, but for an empty list.
        unsafe {
            (&raw mut (*this).locals).drop_in_place();
            match w {
                Some(w) => w.memory.dealloc(this.cast(), CLASS),
                None => memory::global_free_list().dealloc(this.cast(), CLASS),
            }
        }
    }

    /// It is that of this task.
    fn set_record(&self, record: *mut Header) {
        self.head.record.set(record);
        self.head.cancel_record.set(record);
    }

    /// The number of a task whose record is in a frame.
    pub(crate) fn number(&self) -> &Cell<u64> {
        &self.number
    }

    fn with_locals<R>(&self, f: impl FnOnce(&mut Locals) -> R) -> R {
        // SAFETY: (C1), and `f` runs no foreign code: the callers are in this module.
        f(unsafe { &mut *self.locals.get() })
    }

    fn with_bindings<R>(&self, f: impl FnOnce(&mut Chain) -> R) -> R {
        // SAFETY: (C1), and `f` runs no foreign code: the callers are in this module.
        f(unsafe { &mut *self.bindings.get() })
    }

    fn with_rng<R>(&self, f: impl FnOnce(&mut Option<Generator>) -> R) -> R {
        // SAFETY: (C1), and `f` runs no foreign code: the callers are in this module.
        f(unsafe { &mut *self.rng.get() })
    }

    /// Is there nothing in it that anybody could miss?
    fn is_empty(&self) -> bool {
        self.with_rng(|rng| rng.is_none())
            && self.number.get() == 0
            && self.borrows.get() == 0
            && std::ptr::eq(self.head.cancel_record.get(), self.head.record.get())
            && self.with_bindings(|bindings| bindings.is_none())
            && self.with_locals(|locals| locals.is_empty())
    }

    /// It stays until it is ended, even if it is empty: it stands for the context of a task that
    /// has one already.
    fn keep(&self) {
        self.borrows.set(self.borrows.get() + 1);
    }

    /// Ends a [`keep`](Self::keep).
    fn keep_no_more(&self) {
        self.borrows.set(self.borrows.get() - 1);
    }

    /// Drops what is in it: the task-locals, the newest first; then the scoped values; then the
    /// task-locals that their destructors have made. A panic is reported like that of a detached
    /// task. They run as the task, or as the thread, which is not cancelled in them.
    fn clear(&self, w: Option<Role>) -> Option<Role> {
        // So that a destructor which binds something and ends that does not end the whole context.
        self.keep();
        let mut w = w;
        loop {
            while let Some(value) = self.with_locals(Locals::bury_newest) {
                w = self.drop_value(w, "a task-local", value);
            }
            match self.with_bindings(Option::take) {
                Some(bindings) => w = self.drop_value(w, "a scoped value", bindings),
                None => return w,
            }
        }
    }

    fn drop_value<V>(&self, w: Option<Role>, what: &str, value: V) -> Option<Role> {
        let (w, dropped) = user_code::call_as(w, || drop(value));
        match dropped {
            Ok(()) => w,
            // SAFETY: the task's record lives: it has not ended yet.
            Err(payload) => unsafe { unhandled::report_destructor(w, self.head.record.get(), what, payload) },
        }
    }
}

/// The calling task's context, or, where no task runs, the thread's own; null if there is none.
#[inline]
pub(crate) fn find() -> *mut Context {
    let Some(w) = worker::current() else { return OWN.try_with(|own| own.0.get()).unwrap_or(null_mut()) };
    let word = w.running.get();
    if word.has_context() {
        return whole(word);
    }
    if word == CurrentTask::NOTHING { OWN.try_with(|own| own.0.get()).unwrap_or(null_mut()) } else { null_mut() }
}

/// The calling task's or thread's context; makes one if there is none. Null only where a thread
/// that is about to end has dropped its own.
#[cold]
#[inline(never)]
pub(crate) fn find_or_make() -> *mut Context {
    let found = find();
    if !found.is_null() {
        if let Some(w) = worker::current() {
            // A thread's own may be older than its role.
            w.meet_context();
        }
        return found;
    }
    match worker::current() {
        Some(w) if w.running.get() != CurrentTask::NOTHING => make(&w),
        w => OWN
            .try_with(|own| {
                if let Some(w) = &w {
                    // What is spawned here inherits, too.
                    w.meet_context();
                }
                own.0.set(Context::fresh(w.as_deref(), null_mut()).into_raw());
                own.0.get()
            })
            .unwrap_or(null_mut()),
    }
}

/// For the running task, which has none.
fn make(w: &Worker) -> *mut Context {
    attach(w, Context::fresh(Some(w), null_mut()))
}

/// The running task, which has none, gets this context.
fn attach(w: &Worker, context: UnusedContext) -> *mut Context {
    context.set_record(w.running_record().cast_mut());
    enter(w, context)
}

/// From here on this context's task runs.
#[inline]
pub(crate) fn enter(w: &Worker, context: UnusedContext) -> *mut Context {
    let context = context.into_raw();
    w.meet_context();
    w.running.set(CurrentTask::of_context(context.cast()));
    context
}

/// The running task ends, or what ran as a task of its own: so does its context. Afterwards the
/// worker runs the bare record.
#[cold]
#[inline(never)]
pub(crate) fn end(w: Role) -> Role {
    let context = whole(w.running.get());
    // SAFETY: the running task's context (C1), which stands until `leave`, whatever its destructors
    // do.
    unsafe {
        let w = (*context).clear(Some(w)).expect("a task ends on a worker");
        leave(&w, context);
        w
    }
}

/// Ends the running task's context, as [`end`] does, for a caller that has its registers full:
/// hands back what it is given.
#[cold]
#[inline(never)]
pub(crate) fn end_then(w: Role, ended: Ended) -> (Role, Ended) {
    let w = end(w);
    // A compiler that sees through this keeps the value itself, in a register that every caller
    // would have to save.
    (w, std::hint::black_box(ended))
}

/// # Safety
/// `context` is that of the task which `w` runs, it has been cleared, and nobody uses it
/// afterwards.
unsafe fn leave(w: &Worker, context: *mut Context) {
    // SAFETY: the context is the running task's (this function's contract), so its record lives:
    // the task has not ended. Nobody uses the context afterwards.
    unsafe {
        w.running.set(CurrentTask::of_task((*context).head.record.get()));
        w.forget();
        Context::free(context, Some(w));
    }
}

/// A scoped value or the like has gone: perhaps the running task needs no context any more.
pub(crate) fn end_if_empty() {
    if let Some(w) = worker::current() {
        let word = w.running.get();
        // SAFETY: a context in `running` is that of the running task, which is the caller; an empty
        // one is not in use, because a use is a borrow, a binding or a task-local.
        unsafe {
            if word.has_context() && (*whole(word)).is_empty() {
                leave(&w, whole(word));
            }
        }
    }
}

/// A thread's own context: of a foreign thread, and of a worker's thread where no task runs.
struct Own(Cell<*mut Context>);

thread_local! {
    static OWN: Own = const { Own(Cell::new(null_mut())) };
}

/// Calls `f` with this context, or with none, as the thread's own; returns what is the thread's own
/// after that. Not on a worker.
///
/// In a destructor of a thread-local the thread may have none any more: then `f` sees none, and the
/// context comes back as it is.
fn with_own<T>(
    context: Option<UnusedContext>,
    f: impl FnOnce() -> T,
) -> (Result<T, unwind::Payload>, Option<UnusedContext>) {
    let mut context = context;
    let give = |own: &Own| own.0.replace(context.take().map_or(null_mut(), UnusedContext::into_raw));
    let before = OWN.try_with(give);
    let result = user_code::body(f).map_err(|mut payload| {
        // It goes to the task that waits.
        cancel::end_cancellation(&mut payload);
        payload
    });
    let Ok(before) = before else { return (result, context) };
    let after = OWN.try_with(|own| own.0.replace(before)).unwrap_or(null_mut());
    // SAFETY: what was the thread's own is nobody's now.
    (result, (!after.is_null()).then(|| unsafe { UnusedContext::from_raw(after) }))
}

impl Drop for Own {
    fn drop(&mut self) {
        let context = self.0.get();
        if !context.is_null() {
            // SAFETY: this thread's own, which ends. From here on `try_with` says so, and
            // destructors find nothing.
            unsafe { UnusedContext::from_raw(context) }.end(worker::current());
        }
    }
}
