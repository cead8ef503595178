//! Blocking points: what a task does about its own cancellation.
//!
//! The usual way is two stores and one look at the record's marks, which others set. All else is
//! here, and cold.
//!
//! **Ordering.** A canceller marks a task, then asks its home to look. The home does so after the
//! task has blocked, in program order, and sees where; or before, and then the task sees the mark.
//! So the blocking point needs no fence. In threads mode anybody looks, and both sides have one.

use super::{Cancelled, cancel_scope, request, scoped_tasks};
use crate::queue::parked::Parked;
use crate::record::current::CurrentTask;
use crate::record::header::{Header, Marks};
use crate::record::position;
use crate::record::position::Position;
use crate::sched::unwind::Payload;
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::lock::bias_owner::pause;
use myriad_base::sys::atomic::{Ordering::*, Peek, fence};
use myriad_base::sys::mutant::{on, ord, ord_to};
use myriad_base::sys::say::say;
// Not through `sys`: nothing of a protocol.
use std::sync::atomic::AtomicBool;

/// The running task is about to be set aside, in fiber mode. True: it is not, because it is
/// cancelled: the wait has ended.
///
/// # Safety
/// `task` is the [record whose cancellation counts](CurrentTask::cancel_record) for what runs on
/// `w`, which is the calling worker; `node` is that of its wait, and stands until `task` has left
/// it.
#[inline(always)]
pub(crate) unsafe fn enter(w: &Worker, task: *const Header, node: *const Parked) -> bool {
    // SAFETY: `task` is the record of what runs here, so it lives and its place is ours to write;
    // `enter_marked` has this function's contract.
    unsafe { begin_wait(&*task, position::at(w.here, node)) && enter_marked(w, task, node) }
}

/// Says in the record where its task waits; or (true) does not, for there is a mark to look at
/// first.
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
/// The conditions of [`enter`], on `w`, `task` and `node`.
#[cold]
#[inline(never)]
unsafe fn enter_marked(w: &Worker, task: *const Header, node: *const Parked) -> bool {
    // SAFETY: `task` is the record of what runs here, and `node` that of its wait (this function's
    // contract): so the record lives, its place is ours to write, and the node stands while its
    // `End` is called.
    unsafe {
        if (*task).marks.load(Relaxed) & (Marks::ON_TOP | Marks::FRAMED) != 0 {
            first_block(w, task);
        }
        (*task).idx.store(position::at(w.here, node), Relaxed);
        let ended = must_end(&*task, true) && end(node);
        if ended {
            leave_fiber(task);
        }
        ended
    }
}

/// A task is about to be set aside, in threads mode. True: it is not, because it is cancelled: the
/// wait has ended.
///
/// # Safety
/// The conditions of [`enter`], on `w`, `task` and `node`.
pub(crate) unsafe fn enter_thread(w: &Worker, task: *const Header, node: *const Parked) -> bool {
    // SAFETY: `task` is the record of what runs here, and `node` that of its wait (this function's
    // contract): so the record lives, and the node stands. Its `panicking` is read by whoever holds
    // the place of the task, and that place is stored afterwards.
    unsafe {
        if (*task).marks.load(Relaxed) & (Marks::ON_TOP | Marks::FRAMED) != 0 {
            first_block(w, task);
        }
        (*node).panicking.set(std::thread::panicking().into());
        enter_held(&*task, position::at(w.here, node), node)
    }
}

/// The rest of it, once all know what stands on this stack.
///
/// # Safety
/// `task` is that of what runs on the calling thread; `node` is that of its wait, and stands until
/// `task` has left it; `place` names that node.
pub(super) unsafe fn enter_held(task: &Header, place: usize, node: *const Parked) -> bool {
    // Release: the node, for who holds the place.
    task.idx.store(place, ord(Release, "place-release"));
    if !on("place-fence") {
        // SeqCst: pairs with that in `look_anywhere`: the place against the mark.
        fence(SeqCst);
    }
    if task.marks.load(Relaxed) & Marks::LOOK == 0 || !must_end(task, false) {
        return false;
    }
    // Whoever holds it has seen the mark too.
    let Some(word) = hold(task) else { return false };
    // A join passes the cancellation on; not while its own place is held, see there. (What it asks
    // about stands in frames of this task or is kept by its handles, so it stands afterwards too.)
    let put_off = request::put_off();
    // SAFETY: the node stands, because `task` has not left it (this function's contract), and
    // `task` is held by this thread: nobody else calls the node's `End`.
    let ended = unsafe { end(node) };
    task.idx.store(if ended { position::RUNS } else { word }, Release);
    if put_off {
        request::answer_later();
    }
    ended
}

/// Threads mode: keeps a task that is set aside from going on; returns its place. `None`: it runs,
/// or its record is by now that of a task in fiber mode, whose place its home alone may touch.
pub(super) fn hold(task: &Header) -> Option<usize> {
    let mut spins = 0;
    loop {
        let word = task.idx.peek(Relaxed);
        if word == position::HELD {
            pause(&mut spins);
            continue;
        }
        match position::read(word) {
            Position::Waits(position::THREADS, _) | Position::Under(position::THREADS, _) => {}
            _ => return None,
        }
        // Acquire: what the task did before it blocked.
        if task.idx.compare_exchange(word, position::HELD, ord(Acquire, "hold-acquire"), Relaxed).is_ok() {
            return Some(word);
        }
    }
}

/// A task that has a frame, or runs on top of others, blocks for the first time. Its frame is
/// linked; and those below get to know it, and whether they are cancelled is its affair too. (Those
/// further down know already, if one in between has blocked before.)
///
/// # Safety
/// The conditions of [`enter`], on `w` and `task`.
unsafe fn first_block(w: &Worker, task: *const Header) {
    let mut top = task;
    let mut chain = Vec::new();
    // SAFETY: the tasks of this stack, each waiting in its join for the one above it.
    unsafe {
        loop {
            let mut word = (*top).idx.load(Relaxed);
            if (*top).marks.load(Relaxed) & Marks::FRAMED != 0 {
                word = w.scoped.link(w, top);
            }
            let Position::On(below) = position::read(word) else { break };
            let below = CurrentTask::exposed(below).cancel_record();
            (*top).marks.fetch_and(!Marks::ON_TOP, Relaxed);
            chain.push((below, top));
            top = below;
        }
        for (below, top) in &chain {
            (**below).idx.store(position::under(w.here, *top), Release);
        }
        if !w.are_fibers() {
            // SeqCst: pairs with that in `look_anywhere`: the places against the marks.
            fence(SeqCst);
        }
        // From the lowest: its cancellation goes all the way up.
        for (below, top) in chain.into_iter().rev() {
            if cancel_scope::is_cancelled(cancel_scope::Key::of(&*below)) {
                (*top).marks.fetch_or(Marks::CANCELLED, AcqRel);
            }
        }
    }
}

/// A task that was claimed by its joiner is about to run on top of it.
///
/// # Safety
/// `below` is what ran on this worker until now. `task` is a live record, was claimed by `below`,
/// and runs next; its handle is the caller's.
#[inline(always)]
pub(crate) unsafe fn put_on_top(below: CurrentTask, task: *const Header) {
    // SAFETY: `task` is live and was claimed (this function's contract). Relaxed: nobody else has
    // the record: its handle is the caller's, and it is in no queue. (So the mark needs no
    // read-modify-write either.)
    unsafe {
        (*task).idx.store(position::on(below), Relaxed);
        (*task).marks.store((*task).marks.load(Relaxed) | Marks::ON_TOP, Relaxed);
    }
}

/// A task of a scope, at its end, is about to run on top of what ran here until now; others may
/// have the task's handle. The task has a frame, so it needs no mark.
///
/// # Safety
/// `below` is what ran on this worker until now. `task` is a live record, was taken out of its
/// queue by this worker, and runs next.
#[inline(always)]
pub(crate) unsafe fn put_framed_on_top(below: CurrentTask, task: *const Header) {
    // SAFETY: `task` is live, and runs next on this worker (this function's contract), which is
    // therefore the one that writes its place. Relaxed: only the home follows it.
    unsafe { (*task).idx.store(position::on(below), Relaxed) };
}

/// It goes on, in fiber mode.
///
/// # Safety
/// `task` is the record whose cancellation counts for what goes on here, on its home; it lives.
#[inline(always)]
pub(crate) unsafe fn leave_fiber(task: *const Header) {
    if on("place-not-cleared") {
        return;
    }
    // SAFETY: `task` lives and goes on here (this function's contract), so its place is ours to
    // write. Relaxed: only the home follows it.
    unsafe { (*task).idx.store(position::RUNS, Relaxed) };
}

/// It goes on, in either mode.
///
/// # Safety
/// `task` is the record whose cancellation counts for what goes on on `w`, the calling worker; it
/// lives.
pub(crate) unsafe fn leave(w: &Peer, task: *const Header) {
    if w.are_fibers() {
        // SAFETY: `task` lives and goes on on this worker (this function's contract), as
        // `leave_fiber` demands.
        return unsafe { leave_fiber(task) };
    }
    // SAFETY: `task` lives and goes on on this worker (this function's contract).
    leave_held(unsafe { &*task });
}

/// It goes on, in threads mode: when nobody holds its place any more.
pub(super) fn leave_held(task: &Header) {
    let mut spins = 0;
    loop {
        let word = task.idx.peek(Relaxed);
        // Acquire: those who held the place are through with what it names.
        let free = word != position::HELD || on("leave-while-held");
        if free
            && task
                .idx
                .compare_exchange(word, position::RUNS, ord_to(AcqRel, Release, "leave-acquire"), Relaxed)
                .is_ok()
        {
            return;
        }
        pause(&mut spins);
    }
}

/// A task has ended that [was put on top](put_on_top) of this one.
///
/// # Safety
/// Both are the running one's: `below` goes on, and the record of `task` is still there.
#[inline(always)]
pub(crate) unsafe fn take_off_top(w: &Worker, below: CurrentTask, task: *const Header) {
    // SAFETY: the record of `task` is still there, and `below` is what goes on here (this
    // function's contract). The mark has gone if `below` was told.
    unsafe {
        if (*task).marks.load(Relaxed) & Marks::ON_TOP == 0 {
            forget_top(w, below);
        }
    }
}

/// What ran on top of this has ended, or is about to.
///
/// # Safety
/// `below` is what runs on `w`, the calling worker, or waits on the same stack for what runs.
#[cold]
#[inline(never)]
pub(crate) unsafe fn forget_top(w: &Peer, below: CurrentTask) {
    // SAFETY: `below` stands on the stack of what runs here (this function's contract), so
    // `cancel_record` may be asked; what stood on top of it has ended, so its record is that of
    // what goes on.
    unsafe { leave(w, below.cancel_record()) };
}

/// Ends a wait, if that is possible. True: nobody will wake it any more.
///
/// # Safety
/// The wait of `node` stands. The caller is its home (or the foreign thread that waits, or holds
/// the task's place in threads mode), and the owner of the wait cannot go on meanwhile.
pub(super) unsafe fn end(node: *const Parked) -> bool {
    // SAFETY: the wait stands, and its owner cannot go on (this function's contract), which is when
    // an `End` may be called; `end_by` vouches for the rest.
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
fn must_end(task: &Header, fibers: bool) -> bool {
    let Some(extent) = cancel_scope::cancelled(cancel_scope::Key::of(task)) else { return false };
    if nothing_unwinds() {
        return false;
    }
    // While the thread panics an unwinding that leaves the destructor would abort.
    if fibers {
        // Perhaps it is another task's panic: see `cancel_scope`.
        return task.marks.load(Relaxed) & Marks::UNWINDING != 0 || !cancel_scope::panics_here();
    }
    !extent.leaves_panic(std::thread::panicking())
}

/// Where a panic aborts nothing is unwound, and a wait that is cancelled goes on. The first one
/// says so.
pub(super) fn nothing_unwinds() -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !cfg!(panic = "abort") {
        return false;
    }
    // Relaxed: whether it was said is all there is.
    if !SAID.swap(true, Relaxed) {
        say!(
            "myriad: a task was cancelled at a blocking point, and goes on, as soon as what it waits for comes: this program was \
             compiled with panic = \"abort\", and to end a wait takes an unwinding. Give such waits a time limit of their own \
             (`recv_timeout`), close what they wait for, or look at `cancel::is_cancelled`. (This is said once.)"
        );
    }
    true
}

/// A blocking point without a wait: unwinds if the running task is cancelled.
#[inline(always)]
pub(crate) fn check(w: &Worker) {
    // SAFETY: `running` names the record of what runs here.
    unsafe { check_of(running(w)) };
}

/// A blocking point without a wait, where the record of what runs is known: unwinds if that is
/// cancelled.
///
/// # Safety
/// `task` is the record whose cancellation counts for what runs here ([`running`]).
#[inline(always)]
pub(crate) unsafe fn check_of(task: *const Header) {
    // SAFETY: `task` belongs to what runs here (this function's contract), which has not ended, so
    // the record lives.
    if unsafe { (*task).marks.load(Relaxed) } & Marks::LOOK != 0 {
        check_marked(task);
    }
}

/// The record whose cancellation counts for what runs on this worker.
#[inline(always)]
pub(crate) fn running(w: &Worker) -> *const Header {
    // SAFETY: the word is that of what runs here, which has not ended.
    unsafe { w.running.get().cancel_record() }
}

/// Is the running task cancelled?
///
/// # Safety
/// `task` is the record whose cancellation counts for what runs here ([`running`]).
#[inline(always)]
pub(crate) unsafe fn is_cancelled(task: *const Header) -> bool {
    // SAFETY: `task` belongs to what runs here (this function's contract), which has not ended, so
    // the record lives.
    unsafe {
        (*task).marks.load(Relaxed) & (Marks::CANCELLED | Marks::ASKED) != 0
            && cancel_scope::is_cancelled(cancel_scope::Key::of(&*task))
    }
}

#[cold]
#[inline(never)]
fn check_marked(task: *const Header) {
    // SAFETY: `check_of`, the only caller, was given the record of what runs here.
    unsafe { scoped_tasks::look_at_scope(task) };
    // SAFETY: `check_of`, the only caller, was given the record of what runs here.
    if must_end(unsafe { &*task }, worker::current().is_some_and(|w| w.are_fibers())) {
        arrive();
    }
}

/// A blocking point without a wait, on any thread.
pub(crate) fn check_anywhere() {
    match worker::current() {
        Some(w) => check(&w),
        None if super::thread::must_end() => arrive(),
        None => {}
    }
}

/// A cancellation arrives: unwinds to whoever catches it. (No frame of its own: the unwinder goes
/// through each of them twice.)
#[inline(always)]
pub(crate) fn arrive() -> ! {
    std::panic::resume_unwind(begin())
}

/// The payload; the task is spared from here on. (A function of its own: it is gone before the
/// unwinder begins, and what calls it is short.)
#[cold]
#[inline(never)]
fn begin() -> Payload {
    if std::thread::panicking() {
        warn_of_second_panic();
    }
    Box::new(Cancelled::new())
}

/// A wait in a destructor that runs because of a panic is ended, by a limit that the destructor
/// itself has entered. If the wait is in the destructor of a second panic, within that limit, the
/// unwinding leaves that one, and the process aborts. How many panics are under way nobody can ask;
/// so this is said before it happens.
#[cold]
fn warn_of_second_panic() {
    static SAID: AtomicBool = AtomicBool::new(false);
    let ends_in_destructor = cancel_scope::cancelled(cancel_scope::Key::current())
        == Some(cancel_scope::Extent::CancelScope { in_panic: true });
    // Relaxed: whether it was said is all there is.
    if ends_in_destructor && !SAID.swap(true, Relaxed) {
        say!(
            "myriad: a time limit or a token ends a wait in a destructor that runs because of a panic. That is well, unless a second panic is \
             under way within the limit, whose destructor waits: then the process aborts now ('panic in a destructor during cleanup'). If it \
             does, put a limit around that wait itself, or none around code that panics. (This is said once.)"
        );
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::queue::records::records;

    /// A record that is looked at late may be that of a task in fiber mode by now. Whoever held its
    /// place would follow the place of a task that goes on meanwhile.
    #[test]
    fn only_places_of_threads_mode_are_held() {
        let node = 0u64;
        let task = &records(1)[0];
        let fiber = position::here(position::numbers(1).expect("a few"));
        for word in [position::at(fiber, &node), position::under(fiber, &raw const **task), position::RUNS] {
            task.idx.store(word, Relaxed);
            assert_eq!(hold(task), None);
            assert_eq!(task.idx.load(Relaxed), word);
        }
        let word = position::at(position::here(position::THREADS), &node);
        task.idx.store(word, Relaxed);
        assert_eq!(hold(task), Some(word));
        assert_eq!(task.idx.load(Relaxed), position::HELD);
    }
}
