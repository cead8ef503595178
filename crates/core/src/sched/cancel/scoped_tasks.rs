//! A worker's tasks that are found through whoever waits for them: those of scopes, and those whose
//! record stands in a frame (`join`, `run`).
//!
//! A list of frames on the tasks' own stacks. A scope that is cancelled asks all workers to look
//! through theirs. A task comes into the list when it blocks for the first time; until then its
//! record knows the frame. So one that never blocks pays some plain stores, and nobody takes a
//! lock. *Price:* a cancelled scope looks at all such tasks that have blocked and not ended.
//!
//! **Rejected.** To enter each task when it begins: 20.9 instead of 14.6 ns for a task of a scope.
//!
//! **Who may touch what.** The worker alone; a fiber ends on the worker on which it began. In
//! threads mode under a lock, by anybody.

use super::request::HomeAccess;
use super::scan::Scan;
use super::{checkpoint, request};
use crate::record::current::{CurrentTask, RunsHere};
use crate::record::header::{Header, TaskFlags};
use crate::record::peek;
use crate::record::position;
use crate::record::position::Position;
use crate::record::task::{RecordAddress, TaskRef};
use crate::sched::pool::Handle;
use crate::sched::worker::{Peer, Role, Worker};
use myriad_base::sys::atomic::{AtomicBool, Ordering::*, fence};
use myriad_base::sys::mutant::fault;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::null_mut;

/// See the module's header.
#[derive(Debug)]
pub struct ScopedTasks {
    first: UnsafeCell<*mut Frame>,
    lock: Mutex<()>,
    pub(super) scan: Scan,
}

// SAFETY: owner only, or under the lock.
unsafe impl Sync for ScopedTasks {}

impl Default for ScopedTasks {
    fn default() -> Self {
        ScopedTasks { first: UnsafeCell::new(null_mut()), lock: Mutex::new(()), scan: Scan::default() }
    }
}

/// What the frames of a scope's tasks know of the scope.
#[derive(Debug)]
pub(crate) struct ScopeHead {
    /// Its tasks are cancelled, and no more begin.
    pub(crate) cancelled: AtomicBool,
    /// The pool of its owner; where the owner is no worker, the pool that it spawns into.
    pub(crate) home: Handle,
    /// The owner is a thread that is no worker.
    pub(crate) foreign: bool,
}

/// A task that has begun; stands on its stack.
///
/// It is in the list once the record's flag `UNLISTED` has gone; until then its links mean nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    links: MaybeUninit<Links>,
    task: *mut Header,
    /// Of a scope: whether it is cancelled.
    scope: *const ScopeHead,
    /// What was in the record's `idx`: a position, or on top of which task it runs.
    before: usize,
}

// A record, or a context, is no frame: what stands there is no address of a record (`look_below`).
const _: () = assert!(offset_of!(Frame, task) == Header::KIND_AT || cfg!(loom));

#[derive(Debug, Clone, Copy)]
struct Links {
    next: *mut Frame,
    prev: *mut Frame,
    /// In whose list the frame is.
    worker: &'static Peer,
}

impl ScopedTasks {
    /// Runs `f` with a frame for the task. `scope` says whether its scope is cancelled; null if it
    /// has none.
    ///
    /// Afterwards nothing says any more that the task has a frame: what else the task runs, a
    /// destructor say, may block as any task does. Where the task never blocked, that takes one
    /// store: its position says that it runs, and the flag [`TaskFlags::UNLISTED`] alone means
    /// nothing. (To take the flag back would be a read-modify-write for each task of a scope.)
    ///
    /// # Safety
    /// The task has begun on this worker; `scope` and the record stand until this returns; `f` does
    /// not unwind.
    #[inline(always)]
    pub(crate) unsafe fn with<R>(
        w: Role,
        task: *mut Header,
        scope: *const ScopeHead,
        f: impl FnOnce() -> R,
    ) -> (Role, R) {
        // SAFETY: the task's position is its runner's. The frame names the list that it is in: that
        // of the worker on which the task blocked for the first time. (That need not be the worker
        // on which it began: what ran on top of it may have blocked before, and gone on elsewhere.)
        unsafe {
            let began = w.as_static();
            let before = (*task).idx().load(Relaxed);
            let mut frame = Frame { links: MaybeUninit::uninit(), task, scope, before };
            let this = &raw mut frame;
            (*task).idx().store(position::framed(this), Relaxed);
            let result = f();
            // Relaxed: of our own.
            if (*task).flags().load(Relaxed) & TaskFlags::UNLISTED == 0 {
                ScopedTasks::unlink(this);
                // Those below forget the task before its record may go.
                if let Position::On(below) = position::read(before) {
                    checkpoint::forget_top(began, CurrentTask::exposed(below));
                }
            } else if !fault("frame-left") {
                (*task).idx().store(position::RUNS, Relaxed);
            }
            (w.refresh(), result)
        }
    }

    /// A task that bears the flag `UNLISTED` blocks for the first time: its frame comes into the
    /// list, if the task is still in it. Returns what was in the task's position before the frame;
    /// `None` for a task without the flag.
    #[cold]
    pub(super) fn link(w: &Worker, task: RunsHere<'_>) -> Option<usize> {
        if task.header().flags().load(Relaxed) & TaskFlags::UNLISTED == 0 {
            return None;
        }
        let this = Frame::of(task);
        let (list, task) = (&w.scoped, task.header());
        if this.is_null() {
            // Its frame was left, without a wait.
            task.flags().fetch_and(!TaskFlags::UNLISTED, Relaxed);
            return Some(position::RUNS);
        }
        let _guard = list.lock(w);
        // SAFETY: where the position of what runs here is a frame's, the frame stands, and is in no
        // list yet. The list is the calling worker's, or locked.
        unsafe {
            let next = *list.first.get();
            (*this).links.write(Links { next, prev: null_mut(), worker: w.as_static() });
            if !next.is_null() {
                (*Frame::links(next)).prev = this;
            }
            *list.first.get() = this;
            task.flags().fetch_and(!TaskFlags::UNLISTED, Relaxed);
            (*this).flag_if_cancelled();
            Some((*this).before)
        }
    }

    /// # Safety
    /// The frame is in a list, and its task runs here.
    #[cold]
    unsafe fn unlink(this: *mut Frame) {
        // SAFETY: the frame is in this worker's list, and frames in a list stand. In fiber mode a
        // task never leaves its worker, which is the caller; in threads mode there is the lock.
        unsafe {
            let w = (*Frame::links(this)).worker;
            let list = &w.scoped;
            let _guard = list.lock(w);
            let Links { next, prev, .. } = *Frame::links(this);
            list.scan.leaves(this, next);
            if !next.is_null() {
                (*Frame::links(next)).prev = prev;
            }
            let before = if prev.is_null() { list.first.get() } else { &raw mut (*Frame::links(prev)).next };
            debug_assert!(std::ptr::eq(*before, this), "the frame is in the list that it names");
            *before = next;
            if cfg!(debug_assertions) {
                // In no list: nobody is behind itself.
                (*this).links.write(Links { next: this, prev: this, worker: w });
            }
        }
    }

    /// Shows the tasks of scopes in the list, each with what says whether its scope is cancelled.
    ///
    /// # Safety
    /// The worker has ended, so that nobody changes the list.
    pub(crate) unsafe fn for_each_scoped(&self, mut each: impl FnMut(TaskRef<'_>, &ScopeHead)) {
        // SAFETY: the worker has ended (this function's contract), so the list does not change.
        for frame in unsafe { self.frames() } {
            if let Some(scope) = frame.scope() {
                each(frame.task(), scope);
            }
        }
    }

    /// The frames of the list. They stand while they are in it, and so do their tasks and scopes.
    ///
    /// # Safety
    /// The list is the calling worker's, or locked; it does not change while the frames are looked
    /// at.
    unsafe fn frames(&self) -> impl Iterator<Item = &Frame> {
        let mut next = self.first();
        std::iter::from_fn(move || {
            // SAFETY: the list does not change meanwhile (this function's contract), and frames in
            // it stand, with their links.
            unsafe {
                let frame = next.as_ref()?;
                next = Frame::next(next);
                Some(frame)
            }
        })
    }

    /// The first of the list.
    pub(super) fn first(&self) -> *mut Frame {
        // SAFETY: owner only, or under the lock.
        unsafe { *self.first.get() }
    }

    #[inline(always)]
    fn lock(&self, w: &Peer) -> Option<MutexGuard<'_, ()>> {
        if w.are_fibers() { None } else { Some(self.lock.lock()) }
    }

    /// Looks at a task whose record stands in a frame, if it is in the list, which is that of the
    /// home.
    pub(super) fn deliver_to(home: HomeAccess<'_>, task: *const Header) {
        let list = &home.peer().scoped;
        let guard = list.lock(home.peer());
        // SAFETY: the list is the calling worker's, or locked (`HomeAccess`), and nothing begins or
        // ends meanwhile.
        let Some(frame) = unsafe { list.frames() }.find(|frame| std::ptr::eq(frame.task, task)) else { return };
        if let Some(w) = home.own() {
            return request::deliver(w, frame.task().header());
        }
        // SeqCst: as in `request::deliver`.
        fence(SeqCst);
        // Held under the lock: so it does not go before we have looked.
        let held = checkpoint::hold(frame.task().header());
        drop(guard);
        if let Some(held) = held {
            request::deliver_held(held);
        }
    }

    /// Marks the tasks of cancelled scopes, and looks at all that are marked: in threads mode,
    /// where a wait costs microseconds anyway. In fiber mode it is the [scan](super::scan) that
    /// does it.
    pub(super) fn each_cancelled(home: HomeAccess<'_>) {
        let list = &home.peer().scoped;
        let mut found = Vec::new();
        {
            let _guard = list.lock(home.peer());
            // SAFETY: the list is the calling worker's, or locked (`HomeAccess`), and nothing
            // begins or ends meanwhile.
            let frames = unsafe { list.frames() }.filter(|frame| frame.flag_if_cancelled());
            found.extend(frames.map(|frame| frame.task().record_address()));
        }
        for task in found {
            // (The record of a scope's task is of the heap.)
            if let RecordAddress::Heap(task) = task {
                request::deliver_anywhere(task.header());
            }
        }
    }
}

impl Frame {
    /// Its links.
    ///
    /// # Safety
    /// The frame stands, and has come into a list.
    unsafe fn links(this: *mut Frame) -> *mut Links {
        // SAFETY: the frame stands (this function's contract); its links were written when it came
        // into the list.
        unsafe { (&raw mut (*this).links).cast() }
    }

    /// The frame of a running task that is `UNLISTED`; null once the frame was left. It stands
    /// until the running task leaves it.
    fn of(task: RunsHere<'_>) -> *mut Frame {
        match position::read(task.header().idx().load(Relaxed)) {
            Position::On(frame) => std::ptr::with_exposed_provenance_mut(frame),
            Position::Unknown => null_mut(),
            other => unreachable!("a framed task is at {other:?}"),
        }
    }

    /// What a task that runs, or ran, runs on top of, for whoever is not its worker: a word to be
    /// compared, true if `stands` says so afterwards. `position` was read in the record of `task`.
    ///
    /// # Safety
    /// What this position names is mapped: a frame, a record or a context.
    pub(crate) unsafe fn look_below(task: *const Header, position: usize) -> Option<usize> {
        let Position::On(at) = position::read(position) else { return None };
        let frame: *const Frame = std::ptr::with_exposed_provenance(at);
        // (A worker's word for a task with a context is tagged.)
        if !frame.is_aligned() {
            return Some(at);
        }
        // SAFETY: mapped (this function's contract), and aligned.
        let (of, before) =
            unsafe { (peek::word((&raw const (*frame).task).cast()), peek::word(&raw const (*frame).before)) };
        if of != task.addr() {
            // No frame: it has not come so far, or has none.
            return Some(at);
        }
        match position::read(before) {
            Position::On(below) => Some(below),
            _ => None,
        }
    }

    /// The next one of the list.
    ///
    /// # Safety
    /// The frame is in a list that nobody else changes meanwhile.
    pub(super) unsafe fn next(this: *mut Frame) -> *mut Frame {
        // SAFETY: the frame is in a list that nobody changes meanwhile (this function's contract),
        // so it stands, and its links are written.
        let next = unsafe { (*Frame::links(this)).next };
        debug_assert!(next != this, "a frame that has left the list");
        next
    }

    /// Its task.
    pub(super) fn task(&self) -> TaskRef<'_> {
        // SAFETY: a frame is made by `with`, whose caller has a record that stands as long.
        unsafe { TaskRef::from_raw(self.task) }
    }

    /// What its scope says, if it has one.
    #[inline(always)]
    fn scope(&self) -> Option<&ScopeHead> {
        // SAFETY: a frame is made by `with`, whose caller has a scope, or null, that stands as
        // long.
        unsafe { self.scope.as_ref() }
    }

    /// Is its scope cancelled?
    #[inline(always)]
    pub(super) fn is_cancelled(&self) -> bool {
        // Acquire: pairs with `Scope::cancel`.
        self.scope().is_some_and(|scope| scope.cancelled.load(Acquire))
    }

    /// If its scope is cancelled, so is the task. True: it was not marked before.
    fn flag_if_cancelled(&self) -> bool {
        self.is_cancelled() && self.task().flags().fetch_or(TaskFlags::CANCELLED, AcqRel) & TaskFlags::CANCELLED == 0
    }
}

/// Is the scope of the running task, which is `UNLISTED`, cancelled? A few loads, at each of the
/// task's checks: so the position is not decoded as anywhere else.
#[inline(always)]
pub(super) fn is_scope_cancelled(task: RunsHere<'_>) -> bool {
    let Some(frame) = position::frame(task.header().idx().load(Relaxed)) else { return false };
    debug_assert_eq!(frame, Frame::of(task).addr());
    // SAFETY: a frame that the position of what runs here names stands until that leaves it.
    unsafe { (*std::ptr::with_exposed_provenance::<Frame>(frame)).is_cancelled() }
}

/// The running task looks whether it is cancelled: its scope may be, and is not asked about tasks
/// that never blocked.
pub(super) fn check_scope(task: RunsHere<'_>) {
    if task.header().has_flags(TaskFlags::UNLISTED) {
        // SAFETY: a frame that the position of what runs here names stands until that leaves it.
        if let Some(frame) = unsafe { Frame::of(task).as_ref() } {
            frame.flag_if_cancelled();
        }
    }
}
