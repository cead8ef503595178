//! The scan: a worker goes through its [frames](super::scoped_tasks) and ends the waits of those
//! tasks whose scope is cancelled; in fiber mode, a portion at a time.
//!
//! A portion is as many tasks as the worker goes on with until it comes to its inbox again, where
//! the request for the next portion waits. What was touched of a task to end its wait is then still
//! in the cache when it unwinds, and others on this worker have their turns meanwhile. Within a
//! portion each cold line is asked for before it is needed: a hundred thousand blocked tasks are in
//! no cache. (Measured for 100,000 tasks, one worker: 0.65 µs each to mark all of them first; and
//! all of their lines, cold a second time, to unwind them.)
//!
//! A task that blocks for the first time comes into the list before where the scan is, and looks
//! at its scope itself. A scope that is cancelled while a scan is under way is looked for in
//! another one, from the front; one for all of them, for tasks that wait in scopes of their own
//! cancel these in turn.

use super::request;
use super::scoped_tasks::{Frame, ScopedTasks};
use crate::queue::parked::Parked;
use crate::queue::ready::prefetch_line;
use crate::record::header::{Header, TaskFlags};
use crate::record::position;
use crate::record::position::Position;
use crate::sched::worker::{SELDOM, Worker};
use myriad_base::stack::pool::{COLOURS, MIN_STACK};
use myriad_base::sys::atomic::Ordering::*;
use std::cell::Cell;
use std::ptr::null_mut;

/// Tasks in a portion, at most.
const MOST: usize = SELDOM as usize;
/// Frames that are gone through for a portion, at most: some 10 µs if none is of a cancelled scope.
const WALK: usize = 1024;
/// So many frames ahead memory is asked for: as far as stacks have the same colour again.
const AHEAD: usize = COLOURS;
/// What a task touches when it goes on: so many bytes, from its saved registers upwards.
const GOES_ON: usize = 8 * LINE;
const LINE: usize = 64;

/// Where a worker's scan is. The worker's alone; in threads mode there is none.
#[derive(Debug)]
pub(super) struct Scan {
    next: Cell<*mut Frame>,
    /// From the front once more.
    again: Cell<bool>,
    /// A request for the next portion is in the worker's inbox. (Nobody empties that but the
    /// worker, so this holds from one runtime to the next.)
    pub(super) requested: Cell<bool>,
}

impl Default for Scan {
    fn default() -> Self {
        Scan { next: Cell::new(null_mut()), again: Cell::new(false), requested: Cell::new(false) }
    }
}

impl Scan {
    /// A frame is about to leave the list.
    #[inline(always)]
    pub(super) fn leaves(&self, frame: *mut Frame, next: *mut Frame) {
        if std::ptr::eq(self.next.get(), frame) {
            self.next.set(next);
        }
    }
}

impl ScopedTasks {
    /// A scope was cancelled: the scan is to see all that are in the list now.
    pub(super) fn begin_scan(&self) {
        self.scan.again.set(true);
    }

    /// The next tasks of cancelled scopes.
    ///
    /// # Safety
    /// The caller is the worker, in fiber mode. Nothing begins or ends on the worker until the
    /// caller is through with what was found.
    unsafe fn find<'a, 't>(&'t self, found: &'a mut [Option<&'t Header>]) -> &'a mut [Option<&'t Header>] {
        let mut frame = self.scan.next.get();
        let mut n = 0;
        let mut walk = WALK;
        while n < found.len() && walk > 0 {
            if frame.is_null() {
                if !self.scan.again.replace(false) {
                    break;
                }
                frame = self.first();
                continue;
            }
            walk -= 1;
            // SAFETY: `frame` is the list's first or where the last scan stopped, which `leaves`
            // moves on when that frame leaves the list: so it is in the list, and frames in the
            // list stand. The list is the calling worker's alone (this function's contract).
            unsafe {
                let next = Frame::next(frame);
                // Tasks that began one after the other stand on neighbouring stacks: most often
                // this is a guess that is right, and a line that nobody needs if not. The list
                // itself is known only one by one, as slowly as memory is.
                let step = next.addr().wrapping_sub(frame.addr()).wrapping_add(MIN_STACK / 2) & !(MIN_STACK - 1);
                prefetch_line(next.cast::<u8>().wrapping_add(step.wrapping_mul(AHEAD)));
                if (*frame).is_cancelled() {
                    let task = (*frame).task().as_ptr();
                    found[n] = Some(&*task);
                    prefetch_line(task.cast());
                    n += 1;
                }
                frame = next;
            }
        }
        self.scan.next.set(frame);
        &mut found[..n]
    }
}

/// Ends the waits of the next portion of this worker's tasks whose scope is cancelled, in fiber
/// mode. True: there may be more.
pub(super) fn scan(w: &Worker) -> bool {
    if !w.are_fibers() {
        return false;
    }
    let mut found = [None; MOST];
    // SAFETY: the worker is calling, in fiber mode; nothing begins or ends before all that was
    // found has been looked at.
    let found = unsafe { w.scoped.find(&mut found[..MOST.min(w.tick_interval.get() as usize)]) };
    for task in found.iter_mut() {
        // Acquire, Release: as in `request::cancel`.
        if task.is_some_and(|task| task.flags().fetch_or(TaskFlags::CANCELLED, AcqRel) & TaskFlags::CANCELLED != 0) {
            *task = None;
        } else if let Some(node) = task.and_then(waits_at) {
            prefetch_line(node.cast::<u8>().cast_mut());
            prefetch_line(node.cast::<u8>().cast_mut().wrapping_add(LINE));
        }
    }
    for task in found.iter().flatten() {
        let node = waits_at(task);
        request::deliver(w, task);
        if let Some(node) = node {
            // SAFETY: the task has been set aside, and goes on later: so its node stands.
            let saved = unsafe { (*node).saved.with(|saved| *saved) };
            for at in (0..GOES_ON).step_by(LINE) {
                prefetch_line(saved.wrapping_add(at));
            }
        }
    }
    w.scoped.scan.again.get() || !w.scoped.scan.next.get().is_null()
}

/// Where it waits, if it does.
fn waits_at(task: &Header) -> Option<*const Parked> {
    // Relaxed: its home has written it.
    match position::read(task.idx().load(Relaxed)) {
        Position::Waits(_, node) => Some(node.cast()),
        _ => None,
    }
}
