//! Which actor runs here.
//!
//! Whoever runs code of an actor does so within a *frame*, which stands on the stack, and is in a
//! table of its OS thread. An actor is known by the frame whose task is the calling one: the
//! newest, for a call in place puts the frame of the called actor above that of the caller.
//!
//! **Why a table of the thread.** A closure that blocks stays on its OS thread, and so does a poll:
//! so a frame is entered and left on one thread, in either mode. A task-local would cost each
//! spawn 50 ns, for what most actors never ask; the table costs two.
//!
//! **Invariants.** A frame is in the table of the thread that entered it, from `enter` to the end
//! of that call, and does not move meanwhile. The table is used by its thread alone, and no user
//! code runs in between. Frames of tasks that are set aside stand in it, too: so it is one by task
//! (`frame/table.rs`), and a spawn or a call does not look at those of all actors that wait.

mod table;

use crate::life::{Life, PUT_OFF};
use crate::lineage::Lineage;
use crate::pid::{Pid, Process, this};
use myriad_core::engine::running::UnderWay;
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::ptr::null;
use std::sync::Arc;
use table::{FRAMES, Frames};

/// See the module's header.
pub(crate) struct Frame {
    process: *const dyn Process,
    task: UnderWay,
    older: Cell<*const Frame>,
    newer: Cell<*const Frame>,
    /// What a panic has dropped, and is dropped for good when it is known why the actor ends, or
    /// that it goes on.
    put_off: Cell<PutOff>,
    /// That of the actors which it spawns, once it has spawned one here.
    lineage: OnceCell<Arc<Lineage>>,
}

/// What a panic has dropped within a frame: see [`put_off`].
pub(crate) type PutOff = Option<Box<Values>>;

/// See [`PutOff`].
#[derive(Default)]
pub(crate) struct Values(Vec<Box<dyn Any>>);

/// In the table of this thread until this is dropped.
struct Entered<'a>(&'a Frame, *const Frames);

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `enter` has put it into that table, of this thread, which it does not leave.
        unsafe { (*self.1).remove(self.0) };
    }
}

/// Runs `f` as code of this actor. With the result comes what a panic has put off.
#[inline]
pub(crate) fn enter<R>(process: &(dyn Process + 'static), task: UnderWay, f: impl FnOnce() -> R) -> (R, PutOff) {
    let (result, put_off) = enter_and_leave(process, task, f);
    if put_off.is_some() {
        process.life().set_mark(PUT_OFF, false);
    }
    (result, put_off)
}

/// The same where `f` may give the actor up, whose memory may be gone then. If something was put
/// off, the mark of that stays.
#[inline]
pub(crate) fn enter_and_leave<R>(
    process: *const (dyn Process + 'static),
    task: UnderWay,
    f: impl FnOnce() -> R,
) -> (R, PutOff) {
    let (older, newer) = (Cell::new(null()), Cell::new(null()));
    let (put_off, lineage) = (Cell::new(None), OnceCell::new());
    let frame = Frame { process, task, older, newer, put_off, lineage };
    // SAFETY: it is taken out below, before it goes or moves.
    let entered = FRAMES.with(|frames| unsafe {
        frames.insert(&frame);
        Entered(&frame, frames)
    });
    let result = f();
    drop(entered);
    (result, frame.put_off.into_inner())
}

/// Does no code of actors run on this thread, nor is set aside there?
#[inline(always)]
pub(crate) fn is_free_of_actors() -> bool {
    // (At the very end of a thread there is no table any more.)
    FRAMES.try_with(Frames::is_empty).unwrap_or(true)
}

/// Calls `f` with each frame of the calling task, the newest first, until that says so.
#[inline]
fn find<R>(f: impl FnMut(&Frame) -> Option<R>) -> Option<R> {
    if is_free_of_actors() {
        return None;
    }
    let here = UnderWay::here();
    // SAFETY: `f` is code of this crate: it takes what it needs of a frame.
    FRAMES.with(|frames| unsafe { frames.find(here, f) })
}

/// The lineage that was [kept](keep_lineage) in the frame here, if an actor runs here.
#[inline]
pub(crate) fn lineage() -> Option<Option<Arc<Lineage>>> {
    find(|frame| Some(frame.lineage.get().cloned()))
}

/// Keeps the lineage of the actor that runs here, as long as this frame stands.
pub(crate) fn keep_lineage(lineage: &Arc<Lineage>) {
    find(|frame| frame.lineage.set(lineage.clone()).ok());
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
        let mut values = frame.put_off.take().unwrap_or_default();
        values.0.push(value);
        frame.put_off.set(Some(values));
        frame.life().set_mark(PUT_OFF, true);
        Some(())
    });
    value.map_or(Ok(()), Err)
}

/// The actor of this life takes its next message: what panics have put off is dropped, for it has
/// caught them.
#[inline(always)]
pub(crate) fn goes_on(life: &Life) {
    if life.has_mark(PUT_OFF) {
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
            life.set_mark(PUT_OFF, false);
            frame.put_off.take()
        })
    });
    // (Here: what is dropped may wake others, and frames are looked at no longer.)
    drop(put_off);
}
