//! Blocking points: what a task does about its own cancellation.
//!
//! The usual way is two stores and one look at the record's marks, which others set. All else is here, and cold.
//!
//! **Ordering.** A canceller marks a task, then asks its home to look. The home does so after the task has blocked, in program
//! order, and sees where; or before, and then the task sees the mark. So the blocking point needs no fence.

use super::place::{self, Place};
use super::{Cancelled, frames, region};
use crate::sched::node::Node;
use crate::sched::worker::{self, Worker};
use crate::sys::atomic::Ordering::*;
use crate::sys::mutant::on;
use crate::task::header::{Header, Marks};
use crate::unwind;

/// The running task is about to be set aside. True: it is not, because it is cancelled: the wait has ended.
///
/// # Safety
/// `task` is the task that runs on this worker (or nobody's record); the node is its wait.
#[inline(always)]
pub(crate) unsafe fn enter(w: &Worker, task: *const Header, node: *const Node) -> bool {
    // SAFETY: the caller.
    unsafe { begin_wait(&*task, place::at(w.here, node)) && enter_marked(w, task, node) }
}

/// Says in the record where its task waits; or (true) does not, for there is a mark to look at first.
#[inline(always)]
pub(super) fn begin_wait(task: &Header, place: usize) -> bool {
    // Relaxed, both: see the header.
    if task.marks.load(Relaxed) & Marks::LOOK != 0 && !on("mark-not-seen") {
        return true;
    }
    task.idx.store(place, Relaxed);
    false
}

/// # Safety
/// As for `enter`.
#[cold]
#[inline(never)]
unsafe fn enter_marked(w: &Worker, task: *const Header, node: *const Node) -> bool {
    // SAFETY: the caller.
    unsafe {
        if (*task).marks.load(Relaxed) & (Marks::ON_TOP | Marks::FRAMED) != 0 {
            first_block(w, task);
        }
        (*task).idx.store(place::at(w.here, node), Relaxed);
        let ended = must_end(&*task) && end(node);
        if ended {
            leave(task);
        }
        ended
    }
}

/// A task that has a frame, or runs on top of others, blocks for the first time. Its frame is linked; and those below get to know
/// it, and whether they are cancelled is its affair too. (Those further down know already, if one in between has blocked
/// before.)
///
/// # Safety
/// As for `enter`.
unsafe fn first_block(w: &Worker, task: *const Header) {
    let mut top = task;
    let mut chain = Vec::new();
    // SAFETY: the tasks of this stack, each waiting in its join for the one above it.
    unsafe {
        loop {
            let mut word = (*top).idx.load(Relaxed);
            if (*top).marks.load(Relaxed) & Marks::FRAMED != 0 {
                word = w.frames.link(w, top);
            }
            let Place::On(below) = place::read(word) else { break };
            (*top).marks.fetch_and(!Marks::ON_TOP, Relaxed);
            chain.push((below, top));
            top = below;
        }
        // From the lowest: its cancellation goes all the way up.
        for (below, top) in chain.into_iter().rev() {
            (*below).idx.store(place::under(w.here, top), Relaxed);
            if region::is_cancelled(region::Key::of(&*below)) {
                (*top).marks.fetch_or(Marks::CANCELLED, AcqRel);
            }
        }
    }
}

/// A task that was claimed by its joiner is about to run on top of it.
///
/// # Safety
/// `below` is the task that ran on this worker until now; `task` was claimed, and runs next.
#[inline(always)]
pub(crate) unsafe fn put_on_top(below: *const Header, task: *const Header) {
    // SAFETY: the caller. Relaxed: nobody else has the record: its handle is the caller's, and it is in no queue. (So the mark
    // needs no read-modify-write either.)
    unsafe {
        (*task).idx.store(place::on(below), Relaxed);
        (*task).marks.store((*task).marks.load(Relaxed) | Marks::ON_TOP, Relaxed);
    }
}

/// The same of a task of a scope, at its end: others may have its handle. It has a frame, so it needs no mark.
///
/// # Safety
/// As there, but it was taken out of the queue.
#[inline(always)]
pub(crate) unsafe fn put_framed_on_top(below: *const Header, task: *const Header) {
    // SAFETY: the caller. Relaxed: only the home follows it.
    unsafe { (*task).idx.store(place::on(below), Relaxed) };
}

/// It goes on.
///
/// # Safety
/// As for `enter`.
#[inline(always)]
pub(crate) unsafe fn leave(task: *const Header) {
    if on("place-not-cleared") {
        return;
    }
    // SAFETY: the caller. Relaxed: only the home follows it.
    unsafe { (*task).idx.store(place::RUNS, Relaxed) };
}

/// What ran on top of this task has ended.
///
/// # Safety
/// The task runs on this worker.
#[inline(always)]
pub(crate) unsafe fn take_off_top(task: *const Header) {
    // SAFETY: the caller. Relaxed: only the home follows it.
    unsafe {
        if place::may_be_under((*task).idx.load(Relaxed)) {
            leave(task);
        }
    }
}

/// Ends a wait, if that is possible. True: nobody will wake it any more.
///
/// # Safety
/// Called by its home (or by a foreign thread of its own), while its owner cannot go on.
pub(super) unsafe fn end(node: *const Node) -> bool {
    // SAFETY: the caller: it stands.
    unsafe {
        let Some(end) = (*node).end.get() else { return false };
        let over = end(node);
        if over {
            (*node).cancelled.set(1);
        }
        over
    }
}

/// Is the task, which runs here, to be unwound?
fn must_end(task: &Header) -> bool {
    // Where a panic aborts nothing is unwound. While the thread panics (but for a cancellation, which `region` knows) a
    // second panic would abort.
    !cfg!(panic = "abort")
        && region::is_cancelled(region::Key::of(task))
        && (task.marks.load(Relaxed) & Marks::UNWINDING != 0 || !region::panics_here())
}

/// A blocking point without a wait: unwinds if the running task is cancelled.
#[inline(always)]
pub(crate) fn check(w: &Worker) {
    let task = w.current.get();
    // SAFETY: the running task.
    if unsafe { (*task).marks.load(Relaxed) } & Marks::LOOK != 0 {
        check_marked(task);
    }
}

/// Is the running task cancelled?
#[inline(always)]
pub(crate) fn is_cancelled(w: &Worker) -> bool {
    let task = w.current.get();
    // SAFETY: the running task.
    unsafe {
        (*task).marks.load(Relaxed) & (Marks::CANCELLED | Marks::ASKED) != 0
            && region::is_cancelled(region::Key::of(&*task))
    }
}

#[cold]
#[inline(never)]
fn check_marked(task: *const Header) {
    // SAFETY: the running task.
    unsafe { frames::look_at_scope(task) };
    // SAFETY: the running task.
    if must_end(unsafe { &*task }) {
        arrive();
    }
}

/// The same on any thread.
pub(crate) fn check_anywhere() {
    match worker::current() {
        Some(w) => check(w),
        None if super::thread::is_cancelled() && !std::thread::panicking() && !cfg!(panic = "abort") => arrive(),
        None => {}
    }
}

/// A cancellation arrives: unwinds to whoever catches it.
#[cold]
pub(crate) fn arrive() -> ! {
    unwind::resume(Box::new(Cancelled::new()))
}
