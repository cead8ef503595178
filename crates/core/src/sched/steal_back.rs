//! Stealing back: what a closure does that waits for its own tasks.
//!
//! The owner of a scope has run what stood in its own queue, and other workers have taken the rest.
//! It steals a task back, and runs that on its own stack, instead of blocking: the end of the scope
//! cannot come before the end of that task. So the worker stays where it is. To block would cost a
//! hand-over to another thread in threads mode, which takes 10 µs and more, and a task that a
//! worker begins on an empty stack costs more than one on top of another. (Figures: "What may run
//! on top of a waiting task?" in `docs/dev/DECISIONS.md`.)
//!
//! The owner blocks when its worker has something else to do, and when it has found nothing for as
//! long as a thief waits before it uses force. What it has stolen may be another scope's: then it
//! blocks as well, and its worker runs that task next.
//!
//! **Rejected.** To run any task that is found: the scope's end would wait for a stranger's, and a
//! stranger may wait for what the owner does after the scope.

use super::busy::{self, Looking};
use super::run_loop::{FORCE_US, has_stolen, steal_one};
use super::worker::Worker;
use crate::record::task::Runnable;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::relax;

/// A task of another worker, for one who waits until `is_over` and has nothing in its own queue.
/// `None`: it is over, or is to be waited for by blocking.
#[cold]
#[inline(never)]
pub(crate) fn steal_back(w: &Worker, is_over: impl Fn() -> bool) -> Option<Runnable> {
    let workers = &w.pool.workers;
    // (What others have is in the policy's queues. A spare is there for what blocks.)
    if workers.queues().is_some() || w.spare || workers.all().len() < 2 {
        return None;
    }
    let (mut until, mut looking) = (None, None);
    while !is_over() && !has_other_work(w) {
        for victim in workers.others(&w.shared) {
            let task = steal_one(victim, false);
            if task.is_some() {
                has_stolen(w, victim, 1);
                return task;
            }
            victim.deque.request();
        }
        // (What it looks for may come from a worker that waits for a lock which this one leases.)
        w.end_leases();
        _ = looking.get_or_insert_with(Looking::begin);
        let until = *until.get_or_insert_with(|| ticks() + FORCE_US * ticks_per_us());
        if busy::others_fill_processors() || ticks() >= until {
            return None;
        }
        relax();
    }
    None
}

/// Has the worker something to do that only its run loop does?
fn has_other_work(w: &Worker) -> bool {
    let (workers, me) = (&w.pool.workers, &w.shared);
    w.as_static().ready().0 > 0
        || !me.remote.inbox.is_empty()
        || me.has_pinned()
        || workers.has_injected_for(me)
        || workers.stops()
}
