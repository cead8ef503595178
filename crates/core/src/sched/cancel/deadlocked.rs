//! Tasks that a deadlock ends: each is marked as cancelled, and the unwinding that comes of the
//! mark is a panic, with the payload that stands here.
//!
//! ```text
//!  floor above   put: payload, then mark ... tell
//!  task          its wait is ended, or its next one: takes the payload, and the mark back; panics
//! ```
//! **The mark is used once.** So a task that catches the panic goes on as any other, and its
//! destructors may wait. (A cancellation by somebody else that comes between the mark and the panic
//! is lost with it: the panic ends the task as well.) A time limit or a token that ends the same
//! wait comes first; the mark stays for the next wait. A task that ends before leaves its payload
//! here until the next deadlock.
//!
//! **Joins in a cycle** never end by a mark: each passes it on to the next one. So a task that is
//! joined in a cycle is [left](leave): who waits for its end stops waiting.
//!
//! Tasks are known by their numbers, which no other task ever has; what stands in a frame, by its
//! address, until `run` takes that out. (Here is the table alone. Who marks is
//! `runtime::deadlock`, and who takes is [`super`].)

use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::unwind::Payload;
use std::collections::{BTreeMap, BTreeSet};
// Not through `sys`: a hint beside the lock, which orders all.
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Which task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum DoomedTask {
    /// By its number.
    Heap(u64),
    /// By its address.
    Frame(usize),
}

/// See the module's header.
pub(crate) struct Doomed {
    tasks: BTreeMap<DoomedTask, Payload>,
    left: BTreeSet<DoomedTask>,
}

static DOOMED: Mutex<Doomed> = Mutex::new(Doomed { tasks: BTreeMap::new(), left: BTreeSet::new() });
/// Was there ever one?
static EVER: AtomicBool = AtomicBool::new(false);

/// For `fork`.
pub(crate) fn lock() -> MutexGuard<'static, Doomed> {
    DOOMED.lock()
}

/// Has a deadlock ended tasks in this process?
pub(crate) fn ever() -> bool {
    // Relaxed: who is marked has been told after this was set.
    EVER.load(Relaxed)
}

/// A deadlock begins to end tasks. Those of the last one whose payloads are still here, and that
/// `stays` says no to, have ended. (No user code is in a payload of ours.)
pub(crate) fn begin(stays: impl Fn(DoomedTask) -> bool) {
    EVER.store(true, Relaxed);
    let mut doomed = lock();
    doomed.left.clear();
    doomed.tasks.retain(|&task, _| stays(task));
}

/// This task is to end by a panic: before it is marked, for who sees the mark finds the payload.
/// One that is there already stays (false).
pub(crate) fn put(task: DoomedTask, payload: Payload) -> bool {
    let mut doomed = lock();
    !doomed.tasks.contains_key(&task) && doomed.tasks.insert(task, payload).is_none()
}

/// The panic of this task, if a deadlock ends it.
pub(crate) fn take(task: DoomedTask) -> Option<Payload> {
    lock().tasks.remove(&task)
}

/// Who waits for the end of this task, and is marked, waits no longer.
pub(crate) fn leave(task: DoomedTask) {
    lock().left.insert(task);
}

/// Does who joins this task, and is marked, wait no longer?
pub(crate) fn is_left(task: DoomedTask) -> bool {
    lock().left.contains(&task)
}

/// The task of this frame has ended.
pub(crate) fn forget_framed(address: usize) {
    if ever() {
        drop(take(DoomedTask::Frame(address)));
    }
}
