//! Which actor runs here.
//!
//! Whoever runs code of an actor does so within a *frame*, which stands on the stack, and is in a
//! list of its OS thread. An actor is known by the frame whose task is the calling one: the newest,
//! for a call in place puts the frame of the called actor above that of the caller.
//!
//! **Why a list of the thread.** A closure that blocks stays on its OS thread, and so does a poll:
//! so a frame is entered and left on one thread, in either mode. A task-local would cost each
//! spawn 50 ns, for what most actors never ask; the list costs two.
//!
//! **Invariants.** A frame is in the list of the thread that entered it, from `enter` to the end of
//! that call, and does not move meanwhile. The list is used by its thread alone, and no user code
//! runs in between. Frames of tasks that are set aside stand in it, too.

use crate::life::Life;
use crate::pid::{Pid, Process, this};
use myriad_core::engine::running::UnderWay;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ptr::null;

thread_local! {
    static NEWEST: Cell<*const Frame> = const { Cell::new(null()) };
}

/// See the module's header.
pub(crate) struct Frame {
    process: *const dyn Process,
    task: UnderWay,
    older: Cell<*const Frame>,
    newer: Cell<*const Frame>,
    /// What a panic has dropped, and is dropped for good when it is known why the actor ends, or
    /// that it goes on.
    put_off: RefCell<Vec<Box<dyn Any>>>,
}

/// What a panic has dropped within a frame: see [`put_off`].
pub(crate) type PutOff = Vec<Box<dyn Any>>;

/// In the list until this is dropped.
struct Entered<'a>(&'a Frame);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let (older, newer) = (self.0.older.get(), self.0.newer.get());
        // SAFETY: both are null or in the list of this thread, so they stand.
        unsafe {
            match newer.is_null() {
                true => NEWEST.set(older),
                false => (*newer).older.set(older),
            }
            if !older.is_null() {
                (*older).newer.set(newer);
            }
        }
    }
}

/// Runs `f` as code of this actor. With the result comes what a panic has put off.
#[inline]
pub(crate) fn enter<R>(process: &(dyn Process + 'static), task: UnderWay, f: impl FnOnce() -> R) -> (R, PutOff) {
    let older = NEWEST.get();
    let frame =
        Frame { process, task, older: Cell::new(older), newer: Cell::new(null()), put_off: RefCell::new(Vec::new()) };
    NEWEST.set(&raw const frame);
    // SAFETY: it is null or in the list of this thread, so it stands.
    if let Some(older) = unsafe { older.as_ref() } {
        older.newer.set(&raw const frame);
    }
    let entered = Entered(&frame);
    let result = f();
    drop(entered);
    let put_off = frame.put_off.into_inner();
    if !put_off.is_empty() {
        process.life().set_put_off(false);
    }
    (result, put_off)
}

/// Calls `f` with each frame of the calling task, the newest first, until that says so.
fn find<R>(mut f: impl FnMut(&Frame) -> Option<R>) -> Option<R> {
    // (At the very end of a thread there is no list any more.)
    let mut at = NEWEST.try_with(Cell::get).unwrap_or(null());
    if at.is_null() {
        return None;
    }
    let here = UnderWay::here();
    // SAFETY: what is in the list of this thread stands, and nothing leaves it here: `f` is code of
    // this crate, which does not wait.
    while let Some(frame) = unsafe { at.as_ref() } {
        if frame.task == here
            && let Some(found) = f(frame)
        {
            return Some(found);
        }
        at = frame.older.get();
    }
    None
}

impl Frame {
    fn process(&self) -> &(dyn Process + 'static) {
        // SAFETY: the caller of `enter` keeps it until the frame is left.
        unsafe { &*self.process }
    }

    fn pid(&self) -> Pid {
        this(self.process())
    }

    fn life(&self) -> &Life {
        self.process().life()
    }
}

/// The actor that runs here; `None` where none does.
///
/// Also in a handler that runs in place, on the stack of its caller: there it is the handler's.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid};
/// assert!(actor::current().is_none());
/// let (_, end) = actor::Builder::new().spawn_monitor(|mail: actor::Mailbox<()>| {
///     assert_eq!(actor::current(), Some(mail.pid()));
/// });
/// assert!(end.wait().reason.is_normal());
/// ```
pub fn current() -> Option<Pid> {
    find(|frame| Some(frame.pid()))
}

/// Is the calling task in this actor, in the innermost or below a handler that runs in place?
pub(crate) fn runs_here(actor: &Pid) -> bool {
    find(|frame| (frame.life().id() == actor.id()).then_some(())).is_some()
}

/// Keeps a value that a panic would drop until it is known why the actor ends, or that it has
/// caught the panic. Where no actor runs the value comes back.
pub(crate) fn put_off<T: 'static>(value: T) -> Result<(), T> {
    let mut value = Some(value);
    find(|frame| {
        let value: Box<dyn Any> = Box::new(value.take()?);
        frame.put_off.borrow_mut().push(value);
        frame.life().set_put_off(true);
        Some(())
    });
    value.map_or(Ok(()), Err)
}

/// The actor of this life takes its next message: what panics have put off is dropped, for it has
/// caught them.
#[inline(always)]
pub(crate) fn goes_on(life: &Life) {
    if life.has_put_off() {
        drop_put_off(life);
    }
}

#[cold]
#[inline(never)]
fn drop_put_off(life: &Life) {
    // (A destructor that receives while a panic unwinds has caught nothing.)
    if std::thread::panicking() {
        return;
    }
    let put_off = find(|frame| {
        (frame.life().id() == life.id()).then(|| {
            life.set_put_off(false);
            frame.put_off.take()
        })
    });
    // (Here: what is dropped may wake others, and frames are looked at no longer.)
    drop(put_off);
}
