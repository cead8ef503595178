//! The wait for the end of a task: a stack is parked until then, and a cancellation is passed on.

use crate::queue::parked::{BEHIND_NODE, Parked};
use crate::queue::reason::WaitReason;
use crate::record::held::Awaited;
use crate::record::task::TaskRef;
use crate::sched::cancel::{is_left_in_deadlock, request};
use crate::sched::waker;
use crate::sched::worker::{self, Role, Worker};
use myriad_base::stack::pool::NoStack;

/// A wait for the end of a task: who is cancelled meanwhile passes that on.
#[repr(C)]
pub(crate) struct JoinWait<'a> {
    node: Parked,
    task: TaskRef<'a>,
}

// `pass_on` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(JoinWait<'_>, node) == 0);

// `queue::look` finds the task there.
const _: () = assert!(std::mem::offset_of!(JoinWait<'_>, task) == BEHIND_NODE);

impl<'a> JoinWait<'a> {
    /// Of the caller.
    pub(crate) fn new(w: Option<&Worker>, task: TaskRef<'a>) -> JoinWait<'a> {
        let wait =
            JoinWait { node: w.map_or_else(|| Parked::foreign(WaitReason::Join), |w| w.node(WaitReason::Join)), task };
        wait.node.cancel_fn.set(Some(pass_on));
        wait
    }

    /// The node, as part of the whole wait: `pass_on` looks behind it.
    pub(crate) fn node(&self) -> *const Parked {
        std::ptr::from_ref(self).cast()
    }
}

/// The waiting task is cancelled: so is the one that it waits for.
///
/// # Safety
/// `node` is the node of a `JoinWait`, and points into the whole. The owner of that is blocked, and
/// does not go on before this returns.
unsafe fn pass_on(node: *const Parked) -> bool {
    // SAFETY: `node` is that of a `JoinWait`, which stands because its owner is blocked
    // (this function's contract).
    request::cancel(unsafe { (*node.cast::<JoinWait<'_>>()).task });
    false
}

/// The same of a wait that a deadlock may end.
///
/// # Safety
/// As for [`pass_on`].
unsafe fn pass_on_or_leave(node: *const Parked) -> bool {
    // SAFETY: as in `pass_on` (this function's contract).
    unsafe {
        let task = (*node.cast::<JoinWait<'_>>()).task;
        match is_left_in_deadlock(&task) {
            true => task.wait_no_longer(node.cast_mut().cast()),
            false => pass_on(node),
        }
    }
}

/// Waits until a task has ended. If the caller is cancelled meanwhile, so is that task.
///
/// # Errors
/// There is no memory for a stack on which the worker could go on meanwhile.
pub(crate) fn wait_done(w: Option<Role>, task: Awaited<'_>) -> Result<Option<Role>, NoStack> {
    if task.task_ref().is_done() {
        return Ok(w);
    }
    // First: what is dropped here is user code, after which the worker may be another one.
    let (w, _) = take_back_waiter(w, task);
    wait_unwatched::<false>(w, task)
}

/// The same, for who has looked for a waker that an earlier poll of the handle has left: nobody
/// waits for the end of `task`, but it may have come. `LEAVES`: a deadlock may end the wait, too.
/// (Inlined: else `worker::block` is, in each of the two, and a future that is joined pays for it.)
///
/// # Errors
/// As [`wait_done`].
#[inline(always)]
pub(super) fn wait_unwatched<const LEAVES: bool>(w: Option<Role>, task: Awaited<'_>) -> Result<Option<Role>, NoStack> {
    if let Some(w) = &w {
        w.ensure_stack()?;
    }
    let wait = JoinWait::new(w.as_deref(), task.task_ref());
    if LEAVES {
        wait.node.cancel_fn.set(Some(pass_on_or_leave));
    }
    if task.task_ref().wait(wait.node().cast_mut().cast()) {
        // SAFETY: a stack is ensured; the node is published, and woken once by the task's end.
        return Ok(unsafe { worker::block(w, wait.node()) });
        // The result is ordered by the inbox or the parker, or by program order.
    }
    Ok(w)
}

/// Takes the waker back that an earlier poll of the handle has left, and drops it. True: none is
/// left now; false: the task has ended.
pub(super) fn take_back_waiter(w: Option<Role>, task: Awaited<'_>) -> (Option<Role>, bool) {
    let (left, none_left) = task.take_waker();
    let Some(left) = left else { return (w, none_left) };
    waker::drop_waiter(left);
    (w.map(Role::refresh), none_left)
}
