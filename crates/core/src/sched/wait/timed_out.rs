//! What the last wait on this thread was for that a time limit has ended: for messages, and only
//! where the places of channels are known (`queue::made`).
//!
//! A wait with a limit of its own is noted where it ends, by who waited. Of a limit around code
//! ([`CancelScope`](crate::sched::cancel::cancel_scope::CancelScope)) who ends the wait notes it in
//! the scope, for that may be another thread, and the owner takes it from there.
//!
//! **Rejected.** To say it in the errors: they are one byte or none, are compared, and say what is
//! true for ever. In the task: eight bytes of each.

use crate::queue::look::{self, WaitsFor};
use crate::queue::made;
use crate::queue::parked::Parked;
use crate::queue::reason::WaitReason;
use crate::record::position;
use crate::sched::cancel::cancel_scope::Key;
use crate::sched::worker;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    /// With the task or thread that it was.
    static LAST: Cell<Option<(Key, WaitsFor)>> = const { Cell::new(None) };
}

/// The wait of the caller that a time limit has ended was for this.
#[cold]
pub(crate) fn note(waits: WaitsFor) {
    let me = Key::current();
    // (None at the end of the thread.)
    _ = LAST.try_with(|last| last.set(Some((me, waits))));
}

/// That of the calling task or thread, if no other one on this thread has had one since.
pub(crate) fn last() -> Option<WaitsFor> {
    let me = Key::current();
    let (whose, waits) = LAST.try_with(Cell::get).ok()??;
    (whose == me).then_some(waits)
}

/// The same of the wait of this node.
///
/// # Safety
/// The node is that of a wait which stands.
#[cold]
pub(super) unsafe fn note_node(node: *const Parked) {
    // SAFETY: the wait stands (this function's contract).
    note(unsafe { look::read(node) });
}

/// A future is given up because its time is over: the poll before has noted what it was for.
#[inline]
pub fn note_timed_out() {
    if made::is_on() {
        note_awaited();
    }
}

#[cold]
fn note_awaited() {
    let Some(w) = worker::current() else { return };
    if let Some((reason, object)) = position::awaited(w.awaits.load(Relaxed)) {
        note(WaitsFor { reason: WaitReason::of_number(reason), object });
    }
}
