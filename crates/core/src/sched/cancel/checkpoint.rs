//! Blocking points: what a task does about its own cancellation.
//!
//! The usual way is two stores and one look at the record's flags, which others set. All else is
//! here, and cold.
//!
//! **Ordering.** A canceller marks a task, then asks its home to look. The home does so after the
//! task has blocked, in program order, and sees where; or before, and then the task sees the flag.
//! So the blocking point needs no fence. In threads mode anybody looks, and both sides have one.

use super::cancel_scope::Key;
use super::scoped_tasks::{self, ScopedTasks};
use super::{Cancelled, cancel_scope, request};
use crate::queue::look;
use crate::queue::made;
use crate::queue::parked::Parked;
use crate::record::current::{CurrentTask, RunsHere};
use crate::record::header::{Header, Kind, TaskFlags};
use crate::record::position;
use crate::record::position::Position;
use crate::record::task::TaskRef;
use crate::sched::unwind::Payload;
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::lock::bias_owner::pause;
use myriad_base::sys::atomic::{AtomicU8, Ordering, Ordering::*, Overwrite, Peek, fence};
use myriad_base::sys::mutant::{on, ord, ord_to};
use myriad_base::sys::say::say;
// Not through `sys`: nothing of a protocol.
use std::sync::atomic::AtomicBool;

/// Without one of these no cancellation is meant.
const CANCEL_FLAGS: u8 = TaskFlags::CANCELLED | TaskFlags::SCOPE_CANCELLED;

/// A task that is set aside: its position names the node of its wait. Who has this is the task
/// itself, when it goes on.
#[derive(Debug)]
#[must_use = "who goes on says so"]
pub(crate) struct SetAside<'a, const FIBER: bool>(RunsHere<'a>);

impl SetAside<'_, true> {
    /// It goes on, in fiber mode.
    #[inline(always)]
    pub(crate) fn goes_on(self) {
        leave_fiber(self.0.header());
    }
}

impl SetAside<'_, false> {
    /// It goes on, in threads mode.
    pub(crate) fn goes_on(self) {
        leave_held(self.0.header());
    }
}

/// The running task is about to be set aside, in fiber mode. `None`: it is not, because it is
/// cancelled: the wait has ended.
///
/// # Safety
/// `task` is that of what runs on `w`; `node` is that of its wait, and stands until `task` has left
/// it.
#[inline(always)]
pub(crate) unsafe fn enter<'a>(w: &Worker, task: RunsHere<'a>, node: *const Parked) -> Option<SetAside<'a, true>> {
    // SAFETY: `enter_slow` has this function's contract.
    let ended = begin_wait(task.header(), position::at(w.here, node)) && unsafe { enter_slow(w, task, node) };
    (!ended).then_some(SetAside(task))
}

/// Says in the record where its task waits; or (true) does not, for there is a flag to look at
/// first.
#[inline(always)]
pub(super) fn begin_wait(task: &Header, position: usize) -> bool {
    // Relaxed: see the header.
    if task.has_flags(TaskFlags::SLOW_PATH) && !on("flag-not-seen") {
        return true;
    }
    // Release: the node, for who looks from outside (`queue::look`).
    task.idx().overwrite(position, ord(Release, "wait-published"));
    false
}

/// # Safety
/// The conditions of [`enter`], on `w`, `task` and `node`.
#[cold]
#[inline(never)]
unsafe fn enter_slow(w: &Worker, task: RunsHere<'_>, node: *const Parked) -> bool {
    first_block(w, task);
    let task = task.header();
    // Release: as in `begin_wait`.
    task.idx().store(position::at(w.here, node), Release);
    // SAFETY: `node` is that of the wait of what runs here, and stands (this function's contract).
    let ended = must_end(task, true) && unsafe { end(Key::of(task), node) };
    if ended {
        leave_fiber(task);
    }
    ended
}

/// A task is about to be set aside, in threads mode. `None`: it is not, because it is cancelled:
/// the wait has ended.
///
/// # Safety
/// The conditions of [`enter`], on `w`, `task` and `node`.
pub(crate) unsafe fn enter_thread<'a>(
    w: &Worker,
    task: RunsHere<'a>,
    node: *const Parked,
) -> Option<SetAside<'a, false>> {
    first_block(w, task);
    // SAFETY: `node` is that of the wait of what runs here, and stands (this function's contract).
    // Its `panicking` is read by whoever holds the position of the task, and that position is
    // stored afterwards.
    let ended = unsafe {
        (*node).panicking.set(std::thread::panicking().into());
        enter_held(task.header(), position::at(w.here, node), node)
    };
    (!ended).then_some(SetAside(task))
}

/// The rest of it, once all know what stands on this stack.
///
/// # Safety
/// `task` is that of what runs on the calling thread; `node` is that of its wait, and stands until
/// `task` has left it; `position` names that node.
pub(super) unsafe fn enter_held(task: &Header, position: usize, node: *const Parked) -> bool {
    // Release: the node, for who holds the position.
    task.idx().store(position, ord(Release, "position-release"));
    if !on("position-fence") {
        // SeqCst: pairs with that in `deliver_anywhere`: the position against the flag.
        fence(SeqCst);
    }
    if task.flags().load(Relaxed) & TaskFlags::SLOW_PATH == 0 || !must_end(task, false) {
        return false;
    }
    // Whoever holds it has seen the flag too.
    let Some(held) = hold(task) else { return false };
    // A join passes the cancellation on; not while its own position is held, see there. (What it
    // asks about stands in frames of this task or is kept by its handles, so it stands afterwards
    // too.)
    let put_off = request::put_off();
    // SAFETY: the node stands, because `task` has not left it (this function's contract), and
    // `task` is held by this thread: nobody else calls the node's `CancelFn`.
    let ended = unsafe { end(Key::of(task), node) };
    if ended {
        held.let_go(Release);
    } else {
        held.give_back(Release);
    }
    if put_off {
        request::serve_later();
    }
    ended
}

/// A task that is set aside, in threads mode, and kept from going on: what its position names
/// stands.
#[derive(Debug)]
#[must_use = "who goes on waits until the position is given back"]
pub(super) struct HeldPosition<'a> {
    task: &'a Header,
    word: usize,
}

impl<'a> HeldPosition<'a> {
    /// The record of the task.
    pub(super) fn task(&self) -> &'a Header {
        self.task
    }

    /// Its position.
    pub(super) fn position(&self) -> Position {
        position::read(self.word)
    }

    /// It may go on, when it is woken.
    pub(super) fn give_back(self, order: Ordering) {
        self.task.idx().store(self.word, order);
    }

    /// It goes on, for its wait has ended: it is the caller.
    fn let_go(self, order: Ordering) {
        self.task.idx().store(position::RUNS, order);
    }
}

/// Threads mode: keeps a task that is set aside from going on. `None`: it runs, or its record is by
/// now that of a task in fiber mode, whose position its home alone may touch.
pub(super) fn hold(task: &Header) -> Option<HeldPosition<'_>> {
    let mut spins = 0;
    loop {
        let word = task.idx().peek(Relaxed);
        if word == position::HELD {
            pause(&mut spins);
            continue;
        }
        match position::read(word) {
            Position::Waits(position::THREADS, _) | Position::Under(position::THREADS, _) => {}
            _ => return None,
        }
        // Acquire: what the task did before it blocked.
        if task.idx().compare_exchange(word, position::HELD, ord(Acquire, "hold-acquire"), Relaxed).is_ok() {
            return Some(HeldPosition { task, word });
        }
    }
}

/// A task that has a frame, or runs on top of others, blocks for the first time. Its frame is
/// linked; and those below get to know it, and whether they are cancelled is its affair too. (Those
/// further down know already, if one in between has blocked before.) For any other task, nothing.
#[inline(always)]
fn first_block(w: &Worker, task: RunsHere<'_>) {
    if task.header().has_flags(TaskFlags::ON_TOP | TaskFlags::UNLISTED) {
        tell_those_below(w, task);
    }
}

#[cold]
#[inline(never)]
fn tell_those_below(w: &Worker, task: RunsHere<'_>) {
    let mut top = task;
    let mut chain = Vec::new();
    loop {
        let word = ScopedTasks::link(w, top).unwrap_or_else(|| top.header().idx().load(Relaxed));
        let Position::On(below) = position::read(word) else { break };
        // SAFETY: `on` has written the word, of what waits on this stack for the end of `top`: so
        // it stands as long as that.
        let below = unsafe { CurrentTask::exposed(below).runs_here() };
        top.header().flags().fetch_and(!TaskFlags::ON_TOP, Relaxed);
        chain.push((below, top));
        top = below;
    }
    for (below, top) in &chain {
        below.header().idx().store(position::under(w.here, top.as_ptr()), Release);
    }
    if !w.are_fibers() {
        // SeqCst: pairs with that in `deliver_anywhere`: the positions against the flags.
        fence(SeqCst);
    }
    // From the lowest: its cancellation goes all the way up.
    for (below, top) in chain.into_iter().rev() {
        if cancel_scope::is_cancelled(cancel_scope::Key::of(below.header())) {
            top.header().flags().fetch_or(TaskFlags::CANCELLED, AcqRel);
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
    // SAFETY: `task` is live and was claimed (this function's contract). Relaxed: its handle is
    // the caller's, and it is in no queue. So nobody else writes its flags, which need no
    // read-modify-write, unless it has a number: then somebody may have a way to cancel it.
    unsafe {
        (*task).idx().store(position::on(below), Relaxed);
        if (*task).flags().load(Relaxed) == 0 {
            (*task).flags().store(TaskFlags::ON_TOP, Relaxed);
        } else {
            add_on_top((*task).flags());
        }
    }
}

/// The mark beside others.
#[cold]
#[inline(never)]
fn add_on_top(flags: &AtomicU8) {
    flags.fetch_or(TaskFlags::ON_TOP, Relaxed);
}

/// A task of a scope, at its end, is about to run on top of what ran here until now; others may
/// have the task's handle. The task has a frame, so it needs no flag.
///
/// # Safety
/// `below` is what ran on this worker until now. `task` is a live record, was taken out of its
/// queue by this worker, and runs next.
#[inline(always)]
pub(crate) unsafe fn put_framed_on_top(below: CurrentTask, task: *const Header) {
    // SAFETY: `task` is live, and runs next on this worker (this function's contract), which is
    // therefore the one that writes its position. Relaxed: only the home follows it.
    unsafe { (*task).idx().store(position::on(below), Relaxed) };
}

/// It goes on, in fiber mode.
#[inline(always)]
pub(super) fn leave_fiber(task: &Header) {
    if on("position-not-cleared") {
        return;
    }
    // Relaxed: only the home follows it.
    task.idx().overwrite(position::RUNS, Relaxed);
    wait_is_over();
}

/// Comes before all that becomes of the node of a wait, whose position was overwritten: who looks
/// from outside sees that, if it has read what comes later.
#[inline(always)]
fn wait_is_over() {
    if !on("wait-left") {
        // Release: pairs with the Acquire fence in `queue::look`. (No instruction on x86.)
        fence(Release);
    }
}

/// It goes on, in either mode.
fn leave(w: &Peer, task: RunsHere<'_>) {
    if w.are_fibers() { leave_fiber(task.header()) } else { leave_held(task.header()) }
}

/// It goes on, in threads mode: when nobody holds its position any more.
pub(super) fn leave_held(task: &Header) {
    let mut spins = 0;
    loop {
        let word = task.idx().peek(Relaxed);
        // Acquire: those who held the position are through with what it names.
        let free = word != position::HELD || on("leave-while-held");
        if free
            && task
                .idx()
                .compare_exchange(word, position::RUNS, ord_to(AcqRel, Release, "leave-acquire"), Relaxed)
                .is_ok()
        {
            return wait_is_over();
        }
        pause(&mut spins);
    }
}

/// A task has ended that [was put on top](put_on_top) of this one.
///
/// # Safety
/// `below` is what goes on on `w`, the calling worker.
#[inline(always)]
pub(crate) unsafe fn take_off_top(w: &Worker, below: CurrentTask, task: TaskRef<'_>) {
    // The flag has gone if `below` was told.
    if task.flags().load(Relaxed) & TaskFlags::ON_TOP == 0 {
        // SAFETY: `below` goes on here (this function's contract).
        unsafe { forget_top(w, below) };
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
    leave(w, unsafe { below.runs_here() });
}

/// Ends a wait of this task or thread, if that is possible. True: nobody will wake it any more.
///
/// # Safety
/// The wait of `node` stands. The caller is its home (or the foreign thread that waits, or holds
/// the task's position in threads mode), and the owner of the wait cannot go on meanwhile.
pub(super) unsafe fn end(key: Key, node: *const Parked) -> bool {
    // SAFETY: the wait stands, and its owner cannot go on (this function's contract), which is when
    // a `CancelFn` may be called; `on_cancel` vouches for the rest.
    unsafe {
        let Some(end) = (*node).cancel_fn.get() else { return false };
        let over = end(node);
        if over {
            (*node).cancelled.set(1);
            if made::is_on() {
                cancel_scope::note_waited(key, look::read(node));
            }
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
        return task.is_spared() || !cancel_scope::panics_here();
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

/// A blocking point without a wait: unwinds if the running task is cancelled. (So what only a wait
/// makes known, as that a task runs on top of another one, is not looked at.)
#[inline(always)]
pub(crate) fn check(w: &Worker) {
    let task = w.runs_here();
    let header = task.header();
    // (A task in a frame comes by at each of its checks; only one of a scope has a scope to ask.)
    if header.has_flags(CANCEL_FLAGS | TaskFlags::UNLISTED)
        && (header.has_flags(CANCEL_FLAGS) || header.kind().has(Kind::SCOPED) && scoped_tasks::is_scope_cancelled(task))
    {
        check_slow(task);
    }
}

/// Is the running task cancelled?
#[inline(always)]
pub(crate) fn is_cancelled(task: RunsHere<'_>) -> bool {
    task.header().has_flags(CANCEL_FLAGS) && cancel_scope::is_cancelled(cancel_scope::Key::of(task.header()))
}

#[cold]
#[inline(never)]
fn check_slow(task: RunsHere<'_>) {
    scoped_tasks::check_scope(task);
    if task.header().has_flags(CANCEL_FLAGS)
        && must_end(task.header(), worker::current().is_some_and(|w| w.are_fibers()))
    {
        unwind_cancelled();
    }
}

/// A blocking point without a wait, on any thread.
pub(crate) fn check_anywhere() {
    match worker::current() {
        Some(w) => check(&w),
        None if super::thread::must_end() => unwind_cancelled(),
        None => {}
    }
}

/// A cancellation arrives: unwinds to whoever catches it. (No frame of its own: the unwinder goes
/// through each of them twice.)
#[inline(always)]
pub(crate) fn unwind_cancelled() -> ! {
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
    super::deadlock_of_current().unwrap_or_else(|| Box::new(Cancelled::new()))
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
    /// position would follow the position of a task that goes on meanwhile.
    #[test]
    fn only_places_of_threads_mode_are_held() {
        let node = 0u64;
        let task = &records(1)[0];
        let fiber = position::here(position::numbers(1).expect("a few"));
        for word in [position::at(fiber, &node), position::under(fiber, &raw const **task), position::RUNS] {
            task.idx().store(word, Relaxed);
            assert!(hold(task).is_none());
            assert_eq!(task.idx().load(Relaxed), word);
        }
        let word = position::at(position::here(position::THREADS), &node);
        task.idx().store(word, Relaxed);
        assert_eq!(hold(task).map(|held| held.word), Some(word));
        assert_eq!(task.idx().load(Relaxed), position::HELD);
    }
}
