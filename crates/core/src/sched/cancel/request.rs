//! Requests to a task's home, which deliver a cancellation; in threads mode anybody delivers it
//! (see [`crate::record::position`]).
//!
//! A blocked task goes on only through its home, so only the home can look at a wait without a
//! race: what it finds blocked stays so until it is done. The request goes through the worker's
//! inbox, as a node without a home, and so by the protocol that wakes sleepers.
//!
//! **Lifetime.** A request may arrive when its task has ended. So it brings an address to look at,
//! not a right: a record of the heap is type-stable, and another task in it has flags of its own; a
//! record in a frame is looked up among the worker's [frames](super::scoped_tasks).

use super::checkpoint::HeldPosition;
use super::scoped_tasks::ScopedTasks;
use super::{cancel_scope, checkpoint, scan};
use crate::queue::parked::{Parked, Resumable};
use crate::record::header::{Header, Kind, TaskFlags};
use crate::record::position;
use crate::record::position::Position;
use crate::record::task::{RecordAddress, Runnable, TaskRef};
use crate::sched::pool::Pool;
use crate::sched::waker;
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::sys::atomic::{Ordering::*, fence};
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutant::{on, ord};
use std::cell::RefCell;

/// What a worker is to do.
#[derive(Debug, Clone, Copy)]
enum RequestKind {
    /// To look at this record; if it is in a frame, among its own.
    Record(RecordAddress),
    /// To look at all frames.
    ScopedTasks,
    /// To look at more of them.
    Scan,
}

/// A request on its way. The node comes first: the inbox knows it by that.
#[repr(C)]
struct Request {
    node: Parked,
    kind: RequestKind,
}

// `receive` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(Request, node) == 0);

/// Cancels a task for good.
pub(crate) fn cancel(task: TaskRef<'_>) {
    if let Some(marked) = mark(task) {
        marked.tell();
    }
}

/// A task that was marked as cancelled just now, and has not been told: of a future that waited,
/// the right to queue it, and for the task's home where it was. It may end meanwhile.
#[derive(Debug)]
#[must_use = "a blocked task does not see the mark by itself"]
pub(crate) struct Marked {
    woken: Option<Runnable>,
    /// Its next poll sees the mark.
    seen: bool,
    record: RecordAddress,
    pool: &'static Pool,
    position: Position,
}

/// Marks a task as cancelled, for good; `None` if it was marked before. No lock is taken, and
/// nobody is woken.
pub(crate) fn mark(task: TaskRef<'_>) -> Option<Marked> {
    // Release: what the canceller did before is visible to the task that finds out. SeqCst: before
    // the look at the state of a future that may be in its first poll: see `task::state`.
    if task.flags().fetch_or(TaskFlags::CANCELLED, SeqCst) & TaskFlags::CANCELLED != 0 {
        return None;
    }
    let (woken, seen) = if task.kind().has(Kind::FUTURE) { waker::woken_by_cancellation(task) } else { (None, false) };
    Some(Marked {
        woken,
        seen,
        record: task.record_address(),
        pool: Pool::of_task(task),
        position: position::read(task.idx().load(Relaxed)),
    })
}

impl Marked {
    /// Makes the task look at its mark, wherever it is.
    pub(crate) fn tell(self) {
        if let Some(task) = self.woken {
            worker::schedule(task);
        }
        // A future between two polls is blocked nowhere, so no home has to look at it: a request to
        // each worker, as for what may run, is memory and a wake for each cancelled future.
        if !self.seen {
            send_to_home(self.record, self.pool, self.position);
        }
    }
}

/// Makes the home of a marked task look at it, wherever that is.
fn send_to_home(record: RecordAddress, pool: &'static Pool, position: Position) {
    let request = |home| request_home(record, home);
    match position {
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
        // it finds the flag itself, but nothing orders the two.)
        Position::Unknown | Position::On(_) => pool.all_workers().for_each(request),
    }
}

/// Makes this worker look at a task that is marked, if it is one of its own.
pub(crate) fn request_home(record: RecordAddress, home: &'static Peer) {
    match record {
        // Its frame is in the list of the worker that it began with.
        RecordAddress::Frame(_) if !home.are_fibers() => {
            home.pool.all_workers().for_each(|w| send(w, RequestKind::Record(record)));
        }
        _ => send(home, RequestKind::Record(record)),
    }
}

/// Makes all workers of a runtime look for tasks of cancelled scopes.
pub(crate) fn request_all(pool: &'static Pool) {
    pool.all_workers().for_each(|w| send(w, RequestKind::ScopedTasks));
}

/// Are requests to wait? While the caller panics no wait can be ended ([`must_not_cancel`]), and
/// nobody would look a second time. The inbox is looked at when the destructors are through (which
/// do not wait: the contract of fiber mode).
fn must_wait(w: &Worker) -> bool {
    w.are_fibers() && cancel_scope::panics_here()
}

/// Serves the requests that are in the inbox of the calling task's worker.
pub(super) fn serve_now(w: &Worker) {
    if !must_wait(w) {
        w.drain_inbox();
    }
}

fn send(to: &'static Peer, kind: RequestKind) {
    let me = worker::current();
    if let Some(home) = HomeAccess::threads(to) {
        return serve(home, kind);
    }
    match me.as_deref() {
        Some(w) if std::ptr::eq(w.as_static(), to) && !must_wait(w) => serve(HomeAccess::here(w), kind),
        w => post(to, kind, w.map(|w| &**w)),
    }
}

/// Where a task is looked at: in fiber mode on the calling worker, in threads mode on any one, for
/// there who looks holds the positions of the tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct HomeAccess<'a>(Access<'a>);

#[derive(Debug, Clone, Copy)]
enum Access<'a> {
    Fibers(&'a Worker),
    Threads(&'static Peer),
}

impl<'a> HomeAccess<'a> {
    /// The calling worker.
    fn here(w: &'a Worker) -> HomeAccess<'a> {
        HomeAccess(if w.are_fibers() { Access::Fibers(w) } else { Access::Threads(w.as_static()) })
    }

    /// Any worker, in threads mode.
    fn threads(w: &'static Peer) -> Option<HomeAccess<'a>> {
        (!w.are_fibers()).then_some(HomeAccess(Access::Threads(w)))
    }

    /// The worker, as others see it.
    pub(super) fn peer(self) -> &'static Peer {
        match self.0 {
            Access::Fibers(w) => w.as_static(),
            Access::Threads(w) => w,
        }
    }

    /// The calling worker, in fiber mode.
    pub(super) fn own(self) -> Option<&'a Worker> {
        match self.0 {
            Access::Fibers(w) => Some(w),
            Access::Threads(_) => None,
        }
    }
}

/// Puts a request into a worker's inbox. `me` is the calling worker.
fn post(to: &'static Peer, kind: RequestKind, me: Option<&Peer>) {
    let request = Box::into_raw(Box::new(Request { node: Parked::new(None), kind }));
    let fence = me.map_or(Fence::foreign(), |w| w.shared.deque.fence);
    // SAFETY: a request's node of our own, in no list, for that worker, which frees it.
    unsafe { to.shared.workers.send(&to.shared, Resumable::from_raw(request.cast()), &fence) };
    // What is left on a worker that has ended never goes on, and nobody takes the request out.
    to.pool.discard_requests(to);
}

/// Frees the requests in the inbox of a worker that has ended. (A task that was woken too late
/// stays there.)
pub(crate) fn discard(to: &Peer) {
    let inbox = &to.shared.remote.inbox;
    inbox.take(|node| match node.home() {
        Some(_) => inbox.push(node),
        // SAFETY: a node without a home is a request, which the inbox has given to us alone.
        None => drop(unsafe { from_inbox(node.into_raw()) }),
    });
}

/// One that finds nothing.
#[cfg(all(test, not(loom)))]
pub(crate) fn post_of_test(to: &'static Peer) {
    post(to, RequestKind::ScopedTasks, None);
}

/// A request has come out of the inbox.
///
/// # Safety
/// `node` is one that [`post`] has sent, and has come out of the inbox once; the caller is the
/// worker `w`.
#[cold]
pub(crate) unsafe fn receive(w: &Worker, node: *mut Parked) {
    // SAFETY: the contract is `from_inbox`'s as well.
    let kind = unsafe { from_inbox(node) }.kind;
    serve(HomeAccess::here(w), kind);
}

/// # Safety
/// `node` is one that [`post`] has sent, and has come out of the inbox once.
unsafe fn from_inbox(node: *mut Parked) -> Box<Request> {
    // SAFETY: `post` has sent this node (this function's contract), so it is the first field of a
    // boxed `Request`, which the inbox has given to the caller alone.
    unsafe { Box::from_raw(node.cast()) }
}

/// The same by any thread, for a worker in threads mode.
///
/// # Safety
/// `node` is one that [`post`] has sent, and has come out of the inbox once.
#[cold]
pub(crate) unsafe fn receive_for(w: &'static Peer, node: *mut Parked) {
    // SAFETY: `post` has sent this node (this function's contract), so it is the first field of a
    // boxed `Request`, which is ours alone.
    let kind = unsafe { Box::from_raw(node.cast::<Request>()) }.kind;
    HomeAccess::threads(w).into_iter().for_each(|home| serve(home, kind));
}

thread_local! {
    /// What is to be served after what is being served on this thread.
    static LATER: RefCell<Option<Vec<(&'static Peer, RequestKind)>>> = const { RefCell::new(None) };
}

/// Looks at the list. `None`: the thread is about to end, and has none any more.
fn later<R>(f: impl FnOnce(&mut Option<Vec<(&'static Peer, RequestKind)>>) -> R) -> Option<R> {
    LATER.try_with(|later| f(&mut later.borrow_mut())).ok()
}

/// Serves a request, and those that come of it one after the other: a join passes its cancellation
/// on, and joins may be a hundred thousand deep, on as many stacks.
fn serve(home: HomeAccess<'_>, kind: RequestKind) {
    let nested = later(|later| match later {
        Some(later) => {
            later.push((home.peer(), kind));
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
    // (In a destructor of a thread-local there is no list any more: all is served at once.)
    serve_one(home, kind);
    serve_later();
}

/// What is sent from now on is served by [`serve_later`], if the result is true; if not,
/// somebody further up does it.
///
/// For who holds a task's position: to serve a request takes the lock of a list of frames, and who
/// has that waits for positions.
pub(super) fn put_off() -> bool {
    // (Not in a model: all its threads are one, and nobody sends one there.)
    !cfg!(loom) && later(|later| later.is_none() && later.insert(Vec::new()).is_empty()) == Some(true)
}

/// Serves what was put off, until there is nothing more.
pub(super) fn serve_later() {
    loop {
        let next = later(|later| {
            let next = later.as_mut().and_then(Vec::pop);
            if next.is_none() {
                *later = None;
            }
            next
        });
        let Some(Some((w, kind))) = next else { return };
        if let Some(home) = HomeAccess::threads(w) {
            serve_one(home, kind);
            continue;
        }
        // (In fiber mode a thread has one worker for good: the one whose request `serve` has put
        // on the list of the calling thread.)
        match worker::current() {
            Some(me) if std::ptr::eq(me.as_static(), w) => serve_one(HomeAccess::here(&me), kind),
            me => post(w, kind, me.as_deref().map(|me| &**me)),
        }
    }
}

fn serve_one(home: HomeAccess<'_>, kind: RequestKind) {
    let scoped = &home.peer().scoped;
    match (kind, home.own()) {
        (RequestKind::Record(RecordAddress::Heap(task)), Some(w)) => deliver(w, task.header()),
        (RequestKind::Record(RecordAddress::Heap(task)), None) => deliver_anywhere(task.header()),
        (RequestKind::Record(RecordAddress::Frame(task)), _) => ScopedTasks::deliver_to(home, task),
        (RequestKind::ScopedTasks, None) => ScopedTasks::each_cancelled(home),
        (RequestKind::ScopedTasks, Some(w)) => {
            scoped.begin_scan();
            if !scoped.scan.requested.get() {
                continue_scan(w);
            }
        }
        (RequestKind::Scan, Some(w)) => continue_scan(w),
        // What a runtime in fiber mode has left: there is nothing to be found.
        (RequestKind::Scan, None) => scoped.scan.requested.set(false),
    }
}

/// Goes on with the scan; sends this worker, in fiber mode, a request for the rest, if there is
/// any. No other request for a scan of it is in its inbox.
fn continue_scan(w: &Worker) {
    let more = scan::scan(w);
    w.scoped.scan.requested.set(more);
    if more {
        post(w.as_static(), RequestKind::Scan, Some(w));
    }
}

/// Ends the wait of a task that is cancelled, if it is blocked on this worker, in fiber mode. (The
/// record may be another task's by now.)
pub(super) fn deliver(w: &Worker, mut task: &Header) {
    if !w.are_fibers() {
        return deliver_anywhere(task);
    }
    loop {
        match position::read(task.idx().load(Relaxed)) {
            Position::Waits(home, node) if home == w.home_number => {
                let node: *const Parked = node.cast();
                let key = cancel_scope::Key::of(task);
                if !cancel_scope::is_cancelled(key) || must_not_cancel(task) {
                    return;
                }
                // SAFETY: the record says that its task is blocked here, so it is: this worker
                // alone writes its number, in fiber mode from one thread, which is the calling one;
                // and it stays so until we return. Who ends its wait is the one who wakes it.
                unsafe {
                    debug_assert!((*node).home.is_some_and(|home| std::ptr::eq(home.shared(), &w.shared)));
                    if checkpoint::end(key, node) {
                        w.make_ready(Resumable::from_raw(node.cast_mut()));
                    }
                }
                return;
            }
            // It waits for the end of the other one, which is what a join passes its cancellation
            // on to.
            Position::Under(home, other) if home == w.home_number => {
                if !cancel_scope::is_cancelled(cancel_scope::Key::of(task)) {
                    return;
                }
                // SAFETY: as above, the task is set aside here until we return, and so is the one
                // on top of it.
                task = unsafe { &*other };
                task.flags().fetch_or(TaskFlags::CANCELLED, AcqRel);
            }
            _ => return,
        }
    }
}

/// Ends the wait of a task that is cancelled, in threads mode: from any thread.
pub(super) fn deliver_anywhere(task: &Header) {
    if !on("deliver-fence") {
        // SeqCst: pairs with those of a task that blocks: the flag against the position.
        fence(SeqCst);
    }
    if let Some(held) = checkpoint::hold(task) {
        deliver_held(held);
    }
}

/// The same of a task that is held: it does not go on, nor does what its position names.
pub(super) fn deliver_held(mut held: HeldPosition<'_>) {
    let ended = loop {
        let Some(extent) = cancel_scope::cancelled(cancel_scope::Key::of(held.task())) else { break None };
        match held.position() {
            Position::Waits(_, node) => {
                let node: *const Parked = node.cast();
                let key = cancel_scope::Key::of(held.task());
                // SAFETY: the task is held, so it is alive, and so is the node at which it waits.
                let ends = unsafe { !must_not_cancel_thread(extent, &*node) && checkpoint::end(key, node) };
                break ends.then_some(node);
            }
            Position::Under(_, other) => {
                // SAFETY: the task is held, so the one on top of it cannot end: what is below it
                // takes its position back first.
                let other = unsafe { &*other };
                other.flags().fetch_or(TaskFlags::CANCELLED, AcqRel);
                // SeqCst: as in `deliver_anywhere`.
                fence(SeqCst);
                let Some(above) = checkpoint::hold(other) else { break None };
                // Release: we are through with the lower one.
                std::mem::replace(&mut held, above).give_back(Release);
            }
            _ => break None,
        }
    };
    // Release: we are through.
    held.give_back(ord(Release, "held-release"));
    if let Some(node) = ended {
        // SAFETY: its wait was ended here, so it stands until it is woken, and nobody else wakes
        // it.
        worker::wake_node(worker::current().as_deref(), unsafe { Resumable::from_raw(node.cast_mut()) });
    }
}

/// As `must_not_cancel`, in threads mode.
fn must_not_cancel_thread(extent: cancel_scope::Extent, node: &Parked) -> bool {
    checkpoint::nothing_unwinds() || extent.leaves_panic(node.panicking.get() != 0)
}

/// Must this wait not be ended, because its thread is panicking? (A panic in a destructor then
/// would abort.)
fn must_not_cancel(task: &Header) -> bool {
    if checkpoint::nothing_unwinds() {
        return true;
    }
    if task.is_spared() {
        // Because of a cancellation: that is known exactly, see `cancel_scope`.
        return false;
    }
    // This cannot be told from another task's panic on this thread.
    cancel_scope::panics_here()
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::time::Duration;

    /// A request to a worker that has ended goes when the last worker ends, or at once.
    #[test]
    fn requests_after_the_end() {
        let rt = crate::Builder::new().workers(2).build().unwrap();
        let (says, begun) = mpsc::channel();
        let goes_on = std::sync::Arc::new(AtomicBool::new(false));
        let waits = goes_on.clone();
        let task = rt.handle().spawn(move || {
            says.send(worker::current().unwrap().as_static()).unwrap();
            while !waits.load(Acquire) {
                std::thread::yield_now();
            }
        });
        drop(task);
        let busy = begun.recv().unwrap();
        let pool = busy.pool;
        let ended = *pool.regular_workers().iter().find(|w| !std::ptr::eq(**w, busy)).unwrap();
        let is_empty = || pool.regular_workers().iter().all(|w| w.shared.remote.inbox.is_empty());
        std::thread::scope(|scope| {
            scope.spawn(|| drop(rt.shutdown(Duration::ZERO)));
            assert!(pool.wait_ended(1, None));
            post_of_test(ended);
            assert!(!is_empty());
            goes_on.store(true, Release);
            assert!(pool.wait_ended(2, None));
            assert!(is_empty());
            post_of_test(ended);
            assert!(is_empty());
        });
    }
}
