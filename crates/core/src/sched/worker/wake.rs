//! Waking and blocking, for workers and foreign threads alike: a node goes to its home, and a task
//! to the worker that wakes it, or to its pool.

use super::{Peer, Role, Worker, current};
use crate::queue::parked::{Home, Parked, Resumable};
use crate::record::task::Runnable;
use crate::sched::lifecycle;
use crate::sched::pool::{Origin, Pool};
use crate::sched::wait::foreign;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::fence::Fence;

/// Wakes a blocked task or thread. `worker` is the calling thread's, if it is one.
#[inline(always)]
pub(crate) fn wake_node(worker: Option<&Worker>, node: Resumable) {
    let home = node.home().map(Home::shared);
    lifecycle::woken(node.address());
    match (home, worker) {
        // SAFETY: the node's home is `worker`, the calling one.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_ready(node) },
        _ => wake_elsewhere(worker, node),
    }
}

/// Wakes a blocked task or thread to which the caller has handed what it will work on: if it is on
/// this worker, it goes on next.
#[inline(always)]
pub(crate) fn wake_node_next(worker: Option<&Worker>, node: Resumable) {
    let home = node.home().map(Home::shared);
    lifecycle::woken(node.address());
    match (home, worker) {
        // SAFETY: the node's home is `worker`, the calling one.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_next(node) },
        _ => wake_elsewhere(worker, node),
    }
}

#[inline(never)]
fn wake_elsewhere(worker: Option<&Worker>, node: Resumable) {
    match node.home().map(Home::shared) {
        Some(home) => {
            if home.ready.is_measured() {
                Peer::of(home).pool.latency.iter().for_each(|latency| latency.ready(node.address()));
            }
            let fence = worker.map_or(Fence::foreign(), |worker| worker.shared.deque.fence);
            // SAFETY: `home` is the node's home.
            unsafe { home.workers.send(home, node, &fence) }
        }
        // SAFETY: the node has no home, so a foreign thread waits at its parker, which stands until
        // it is open; only this caller wakes the node, so nobody else opens it.
        None => unsafe { foreign::open(&raw const (*node.into_raw()).parker) },
    }
}

/// Blocks what calls, a task of this worker or a foreign thread, until its node is woken. Returns
/// the role with which a task goes on.
///
/// # Safety
/// Of a task, the conditions of [`Role::suspend`]; of a thread, those of [`block_thread`].
#[inline]
pub(crate) unsafe fn block(w: Option<Role>, node: *const Parked) -> Option<Role> {
    // SAFETY: this function's contract is that of either.
    unsafe {
        match w {
            Some(w) => Some(w.suspend(node)),
            None => {
                block_thread(node);
                None
            }
        }
    }
}

/// Blocks the calling foreign thread until its node is woken.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`CancelFn`](crate::queue::parked::CancelFn) looks at.
pub(crate) unsafe fn block_thread(node: *const Parked) {
    // SAFETY: what `block` asks for is this function's contract.
    if unsafe { crate::sched::cancel::thread::block(node, myriad_base::sys::clock::Instant::NEVER) }.is_some() {
        return;
    }
    // SAFETY: the wait stands.
    let parker = unsafe { &(*node).parker };
    while !foreign::is_open(parker) {
        // SAFETY: the same wait.
        unsafe { foreign::wait_at(node, None) };
    }
}

/// Queues a task that was woken, or comes from a foreign thread.
#[inline]
pub(crate) fn schedule(task: Runnable) {
    match current() {
        Some(worker) if worker.pool.number == task.header().runtime() => {
            if worker.wakes_in_order.load(Relaxed) {
                worker.push_last(task);
            } else {
                worker.push_woken(task);
            }
        }
        _ => Pool::of_task(task.task_ref()).inject(task, Origin::Wake),
    }
}
