//! Asking a task's home to look at it; in threads mode, looking at it (see
//! [`crate::record::position`]).
//!
//! A blocked task goes on only through its home, so only the home can look at a wait without a
//! race: what it finds blocked stays so until it is done. The request goes through the worker's
//! inbox, as a node without a home, and so by the protocol that wakes sleepers.
//!
//! **Lifetime.** A request may arrive when its task has ended. So it brings an address to look at,
//! not a right: a record of the heap is type-stable, and another task in it has marks of its own; a
//! record in a frame is looked up among the worker's [frames](super::scoped_tasks).

use super::{cancel_scope, checkpoint};
use crate::queue::parked::{Parked, Resumable};
use crate::record::header::{Header, Kind, Marks};
use crate::record::position;
use crate::record::position::Position;
use crate::sched::pool::Pool;
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::sys::atomic::{Ordering::*, fence};
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutant::{on, ord};
use std::cell::RefCell;

/// What a worker is asked.
#[derive(Debug, Clone, Copy)]
enum What {
    /// To look at this record of the heap.
    Record(*const Header),
    /// To look at this record, if it is among the frames.
    Frame(*const Header),
    /// To look at all frames.
    ScopedTasks,
    /// To look at more of them.
    Sweep,
}

/// A request on its way. The node comes first: the inbox knows it by that.
#[repr(C)]
struct Request {
    node: Parked,
    what: What,
}

// `serve` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(Request, node) == 0);

/// Cancels a task for good.
///
/// # Safety
/// The record is alive until this returns.
pub(crate) unsafe fn cancel(task: *const Header) {
    // SAFETY: the record is alive until this returns (this function's contract), and a woken future
    // is queued by `wake_cancelled` alone.
    unsafe {
        // Release: what the canceller did before is visible to the task that finds out. SeqCst:
        // before the look at the state of a future that may be in its first poll: see
        // `task::state`.
        if (*task).marks.fetch_or(Marks::CANCELLED, SeqCst) & Marks::CANCELLED != 0 {
            return;
        }
        if (*task).kind.has(Kind::FUTURE) {
            crate::sched::waker::wake_cancelled(task.cast_mut());
        }
        ask(task, (*task).kind.has(Kind::ON_STACK), Pool::of((*task).runtime));
    }
}

/// Makes the home of a marked task look at it, wherever that is.
///
/// # Safety
/// `task` is alive until this returns, is marked as cancelled, and is of this pool. `on_stack` says
/// whether its record is in a frame.
unsafe fn ask(task: *const Header, on_stack: bool, pool: &'static Pool) {
    // SAFETY: `on_stack` says whether the record is in a frame (this function's contract); if not,
    // it is of the heap.
    let request = |home| unsafe { request_home(task, on_stack, home) };
    // SAFETY: the record is alive (this function's contract), and `idx` is atomic.
    match position::read(unsafe { (*task).idx.load(Relaxed) }) {
        _ if !pool.regular_workers()[0].are_fibers() => request(pool.regular_workers()[0]),
        // Once it is started it stays there. (Perhaps with a spare worker.)
        Position::Waits(home, _) | Position::Under(home, _) => {
            // (None: a task that was left when its runtime ended, whose number another pool has
            // now.)
            if let Some(home) = pool.of_home_number(home) {
                request(home);
            }
        }
        // It runs, or is about to begin or to block: its home looks when it comes to its loop. (Or
        // it finds the mark itself, but nothing orders the two.)
        Position::Unknown | Position::On(_) => pool.all_workers().for_each(request),
    }
}

/// Makes this worker look at a task that is marked, if it is one of its own.
///
/// # Safety
/// Where `on_stack` is false, `task` is record memory of the heap. (A record in a frame is looked
/// up among the frames, so its address may be stale.)
pub(crate) unsafe fn request_home(task: *const Header, on_stack: bool, home: &'static Peer) {
    let what = if on_stack { What::Frame(task) } else { What::Record(task) };
    if on_stack && !home.are_fibers() {
        // Its frame is in the list of the worker that it began with.
        home.pool.all_workers().for_each(|w| send(w, what));
    } else {
        send(home, what);
    }
}

/// Makes all workers of a runtime look for tasks of cancelled scopes.
pub(crate) fn request_all(pool: &'static Pool) {
    pool.all_workers().for_each(|w| send(w, What::ScopedTasks));
}

/// Are requests to wait? While the caller panics no wait can be ended ([`spares`]), and nobody
/// would look a second time. The inbox is looked at when the destructors are through (which do not
/// wait: the contract of fiber mode).
fn must_wait(w: &Worker) -> bool {
    w.are_fibers() && cancel_scope::panics_here()
}

/// Serves the requests that are in the inbox of the calling task's worker.
pub(super) fn serve_now(w: &Worker) {
    if !must_wait(w) {
        w.drain_inbox();
    }
}

fn send(to: &'static Peer, what: What) {
    let me = worker::current();
    if let Some(w) = me.as_deref()
        && std::ptr::eq(w.as_static(), to)
        && !must_wait(w)
    {
        // SAFETY: we are the worker; what runs is not blocked.
        return unsafe { answer(to, what) };
    }
    if !to.are_fibers() {
        // SAFETY: threads mode: from anywhere.
        return unsafe { answer(to, what) };
    }
    post(to, what, me.as_deref().map(|w| &**w));
}

/// Puts a request into a worker's inbox. `me` is the calling worker.
fn post(to: &'static Peer, what: What, me: Option<&Peer>) {
    let request = Box::into_raw(Box::new(Request { node: Parked::new(None), what }));
    let fence = me.map_or(Fence::foreign(), |w| w.shared.deque.fence);
    // SAFETY: a request's node of our own, in no list, for that worker, which frees it.
    unsafe { to.shared.workers.send(&to.shared, Resumable::from_raw(request.cast()), &fence) };
}

/// A request has come out of the inbox.
///
/// # Safety
/// `node` is one that [`post`] has sent, and has come out of the inbox once; the caller is the
/// worker `w`.
#[cold]
pub(crate) unsafe fn serve(w: &Worker, node: *mut Parked) {
    // SAFETY: `post` has sent this node (this function's contract), so it is the first field of a
    // boxed `Request`, which the inbox has given to us alone.
    let what = unsafe { Box::from_raw(node.cast::<Request>()) }.what;
    // SAFETY: the worker `w` is calling (this function's contract); `what` was made by
    // `request_home`, `request_all` or `sweep`, which know whether a record is of the heap.
    unsafe { answer(w.as_static(), what) };
}

thread_local! {
    /// What is to be answered after what is being answered on this thread.
    static LATER: RefCell<Option<Vec<(&'static Peer, What)>>> = const { RefCell::new(None) };
}

/// Looks at the list. `None`: the thread is about to end, and has none any more.
fn later<R>(f: impl FnOnce(&mut Option<Vec<(&'static Peer, What)>>) -> R) -> Option<R> {
    LATER.try_with(|later| f(&mut later.borrow_mut())).ok()
}

/// Answers a request, and those that come of it one after the other: a join passes its cancellation
/// on, and joins may be a hundred thousand deep, on as many stacks.
///
/// # Safety
/// The caller is the worker `w`, or in threads mode anybody. A [`What::Record`] is record memory of
/// the heap.
unsafe fn answer(w: &'static Peer, what: What) {
    let nested = later(|later| match later {
        Some(later) => {
            later.push((w, what));
            true
        }
        None => {
            *later = Some(Vec::new());
            false
        }
    });
    if nested == Some(true) {
        return;
    }
    // (In a destructor of a thread-local there is no list any more: all is answered at once.)
    // SAFETY: the worker is calling, or it is threads mode, and a record is of the heap: the
    // contract of both functions.
    unsafe { answer_one(w, what) };
    answer_later();
}

/// What is asked from now on is answered by [`answer_later`], if the result is true; if not,
/// somebody further up does it.
///
/// For who holds a task's place: to answer takes the lock of a list of frames, and who has that
/// waits for places.
pub(super) fn put_off() -> bool {
    // (Not in a model: all its threads are one, and nobody asks there.)
    !cfg!(loom) && later(|later| later.is_none() && later.insert(Vec::new()).is_empty()) == Some(true)
}

/// Answers what was put off, until there is nothing more.
pub(super) fn answer_later() {
    loop {
        let next = later(|later| {
            let next = later.as_mut().and_then(Vec::pop);
            if next.is_none() {
                *later = None;
            }
            next
        });
        let Some(Some((w, what))) = next else { return };
        // SAFETY: `answer` has put this on the list of the calling thread, under a contract that is
        // this one's: in fiber mode the thread, which has one worker for good, is that worker.
        unsafe { answer_one(w, what) };
    }
}

/// # Safety
/// The conditions of [`answer`], on `w` and `what`.
unsafe fn answer_one(w: &'static Peer, what: What) {
    // SAFETY: the worker is calling, or it is threads mode (this function's contract). A
    // `Record` is of the heap; what `look_at` and `each_cancelled` look at stands in a frame that
    // is in the worker's list, or is a record of the heap. A sweep is begun by the worker alone,
    // for that arm is fiber mode's.
    unsafe {
        match what {
            What::Record(task) => look(w, task),
            What::Frame(task) => w.scoped.look_at(w, task),
            What::ScopedTasks if !w.are_fibers() => w.scoped.each_cancelled(w, |task| look(w, task)),
            What::ScopedTasks => {
                w.scoped.begin_sweep();
                if !w.scoped.sweep.asked.get() {
                    sweep(w);
                }
            }
            What::Sweep => sweep(w),
        }
    }
}

/// Goes on with the sweep; asks this worker for the rest, if there is any.
///
/// # Safety
/// The caller is the worker `w`, or in threads mode anybody; no other request for a sweep of this
/// worker is in its inbox.
unsafe fn sweep(w: &'static Peer) {
    // (In threads mode, what a runtime in fiber mode has left: there is nothing to be found.)
    // SAFETY: the worker is calling (this function's contract), and it was asked first whether
    // it is in fiber mode.
    let more = w.are_fibers() && unsafe { w.scoped.sweep(w.own()) };
    w.scoped.sweep.asked.set(more);
    if more {
        post(w, What::Sweep, Some(w));
    }
}

/// Ends the wait of a task that is cancelled, if it is blocked on this worker.
///
/// # Safety
/// The caller is the worker `w`, or in threads mode anybody. `task` is record memory of the heap,
/// or, in fiber mode, a record in a frame of this worker that stands.
pub(super) unsafe fn look(w: &'static Peer, mut task: *const Header) {
    if !w.are_fibers() {
        // SAFETY: `task` is record memory of the heap in threads mode (this function's contract).
        return unsafe { look_anywhere(task) };
    }
    // SAFETY: `task` is record memory, or stands in a frame of this worker (this function's
    // contract), so its words, which are atomic, may be read: the record may be another task's by
    // now. If it says that its task is blocked here, then it is, for this worker alone writes its
    // number, in fiber mode from one thread, which is the calling one; and it stays so until we
    // return.
    unsafe {
        loop {
            match position::read((*task).idx.load(Relaxed)) {
                Position::Waits(home, node) if home == w.home_number => {
                    let node: *const Parked = node.cast();
                    debug_assert!((*node).home.is_some_and(|home| std::ptr::eq(home.shared(), &w.shared)));
                    let key = cancel_scope::Key::of(&*task);
                    if !cancel_scope::is_cancelled(key) || spares(&*task) {
                        return;
                    }
                    if checkpoint::end(node) {
                        w.own().make_ready(Resumable::from_raw(node.cast_mut()));
                    }
                    return;
                }
                // It waits for the end of the other one, which is what a join passes its
                // cancellation on to.
                Position::Under(home, other) if home == w.home_number => {
                    if !cancel_scope::is_cancelled(cancel_scope::Key::of(&*task)) {
                        return;
                    }
                    (*other).marks.fetch_or(Marks::CANCELLED, AcqRel);
                    task = other;
                }
                _ => return,
            }
        }
    }
}

/// Ends the wait of a task that is cancelled, in threads mode: from any thread.
///
/// # Safety
/// `task` is record memory of the heap.
pub(super) unsafe fn look_anywhere(task: *const Header) {
    if !on("look-fence") {
        // SeqCst: pairs with those of a task that blocks: the mark against the place.
        fence(SeqCst);
    }
    // SAFETY: `task` is record memory (this function's contract), which is never unmapped, and the
    // words that `hold` touches are atomic.
    if let Some(word) = checkpoint::hold(unsafe { &*task }) {
        // SAFETY: `hold` has just taken the place of `task`, which was `word`.
        unsafe { look_at_held(task, word) };
    }
}

/// # Safety
/// `task` is held by the calling thread, and `word` is its place: it does not go on, nor does what
/// its place names.
pub(super) unsafe fn look_at_held(mut task: *const Header, mut word: usize) {
    // SAFETY: `task` is held (this function's contract), so it is alive, and so is the node at
    // which it waits, or the task on top of it, which cannot end before it takes this place back.
    // After the last store to its place only a node is touched whose wait was ended here, and which
    // therefore stands until it is woken below.
    unsafe {
        let ended = loop {
            let Some(extent) = cancel_scope::cancelled(cancel_scope::Key::of(&*task)) else { break None };
            match position::read(word) {
                Position::Waits(_, node) => {
                    let node: *const Parked = node.cast();
                    break (!spares_thread(extent, node) && checkpoint::end(node)).then_some(node);
                }
                Position::Under(_, other) => {
                    (*other).marks.fetch_or(Marks::CANCELLED, AcqRel);
                    // SeqCst: as in `look_anywhere`.
                    fence(SeqCst);
                    // It cannot end meanwhile: what is below it takes its place back first.
                    let Some(above) = checkpoint::hold(&*other) else { break None };
                    // Release: we are through with the lower one.
                    (*task).idx.store(word, Release);
                    (task, word) = (other, above);
                }
                _ => break None,
            }
        };
        // Release: we are through.
        (*task).idx.store(word, ord(Release, "held-release"));
        if let Some(node) = ended {
            worker::wake_node(worker::current().as_deref(), Resumable::from_raw(node.cast_mut()));
        }
    }
}

/// As `spares`, in threads mode.
unsafe fn spares_thread(extent: cancel_scope::Extent, node: *const Parked) -> bool {
    // SAFETY: the wait stands.
    checkpoint::nothing_unwinds() || extent.leaves_panic(unsafe { (*node).panicking.get() } != 0)
}

/// Must this wait not be ended, because its thread is panicking? (A panic in a destructor then
/// would abort.)
fn spares(task: &Header) -> bool {
    if checkpoint::nothing_unwinds() {
        return true;
    }
    if task.marks.load(Relaxed) & Marks::UNWINDING != 0 {
        // Because of a cancellation: that is known exactly, see `cancel_scope`.
        return false;
    }
    // This cannot be told from another task's panic on this thread.
    cancel_scope::panics_here()
}
