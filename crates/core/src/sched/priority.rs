//! Priorities: what is begun first, what last, and that nothing is forgotten.
//!
//! ```text
//!  interactive ──> queue of the pool ─ the next counted turn of any worker; all that are awake are told to count
//!  default     ──> deques, injector ── as in `run_loop.rs`
//!  background  ──> queue of the pool ─ who finds nothing else, not even at others; and every so many looks
//! ```
//! Two queues beside the injector, under its lock. The default class pays nothing: a worker looks
//! at the first queue in its counted turn only (each 61st, [`super::run_loop`]), and who puts a
//! task there makes the next turn of every worker a counted one, by the word that counts them, as
//! the monitor does. (An owner may overwrite that; then it is the 61st after all.) It looks at the
//! second queue where it would find nothing else, and in a counted turn.
//!
//! **Bounds.** Of [`IN_A_ROW`] + 1 turns of a worker one at least is for the default class, however
//! many interactive tasks come; of two such turns one takes what is ready or newest, the other by
//! turns the oldest and the newest. Of [`BACKGROUND_EVERY`] counted turns without interactive tasks
//! one begins a background task.
//!
//! **Pinned.** Tasks that only one worker may begin, those of groups ([`crate::task::Group`]),
//! wait in a queue of that worker, which it looks at in the same places. While there are any, every
//! fourth turn is theirs; a third of those that interactive tasks leave.
//!
//! **What is ordered** is what has not begun: closures, and each poll of a future. A closure that
//! has waited goes on in the order of wakes, before all that has not begun, whatever its class.
//!
//! **Sleeping.** A priority queue that is not empty is counted (in the pool) as an injected task
//! is, and by the same protocol a worker that falls asleep sees the count, or is woken. The monitor
//! knows nothing of background tasks: no spare worker begins for them.
//!
//! **Rejected.** A queue for each class in each worker: thieves would look at three times as many
//! places. A priority number: it begs the question what 7 means; and a total order starves. To let
//! children inherit the class: what somebody answers with `interactive` haste may well start work
//! that is not.

use super::worker::Worker;
use crate::record::task::Runnable;
use crate::sched::pool::Pool;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::cell::Cell;

/// So many interactive tasks begin on a worker before others have a turn.
pub(crate) const IN_A_ROW: u32 = 8;
/// One in so many counted turns begins a background task.
pub(crate) const BACKGROUND_EVERY: u32 = 4;

/// When a task begins, among those that wait in the same pool: see
/// [`Builder::priority`](crate::task::Builder::priority).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Priority {
    /// Before all others that have not begun: for what somebody waits for, and what is short. Of 9
    /// turns of a worker one is for others all the same.
    Interactive,
    /// As [`spawn`](crate::spawn) does it.
    #[default]
    Default,
    /// When a worker has nothing else to do; and one in some 250 turns of a worker, so that nothing
    /// is forgotten.
    Background,
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PriorityQueue {
    /// Of interactive tasks.
    Interactive,
    /// Of background tasks.
    Background,
}

impl Priority {
    /// Its queue; the default class has none.
    pub(crate) fn queue(self) -> Option<PriorityQueue> {
        match self {
            Priority::Interactive => Some(PriorityQueue::Interactive),
            Priority::Default => None,
            Priority::Background => Some(PriorityQueue::Background),
        }
    }
}

/// What a worker remembers of its turns.
#[derive(Debug, Default)]
pub(crate) struct PriorityState {
    /// Interactive tasks that it has begun since others had a turn.
    in_a_row: Cell<u32>,
    /// Turns that others had in between.
    between: Cell<u32>,
    /// Counted turns that found background tasks.
    tick_count: Cell<u32>,
}

/// What a worker does in a counted turn.
pub(crate) enum NextTask {
    /// It begins this task.
    Task(Runnable),
    /// It takes what is ready, or newest, as in other turns.
    Skip,
    /// It takes what it always takes in a counted turn.
    Default,
}

impl PriorityState {
    /// May it begin an interactive task?
    pub(crate) fn may_begin_interactive(&self) -> bool {
        self.in_a_row.get() < IN_A_ROW
    }

    /// It begins one, or another one.
    pub(crate) fn begins(&self, interactive: bool) {
        self.in_a_row.set(if interactive { self.in_a_row.get() + 1 } else { 0 });
    }
}

/// Decides in a counted turn of `w`.
pub(super) fn next_task(w: &Worker) -> NextTask {
    let workers = &w.pool.workers;
    if workers.has_interactive() {
        let task = if w.priority_state.may_begin_interactive() { w.pool.take_interactive(w) } else { None };
        if workers.has_interactive() {
            // The next turn is a counted one too.
            w.request_tick();
        }
        if let Some(task) = task {
            return NextTask::Task(task);
        }
        w.priority_state.begins(false);
        let between = w.priority_state.between.get();
        w.priority_state.between.set(between.wrapping_add(1));
        let ways = if w.shared.has_pinned() { 3 } else { 2 };
        return match between % ways {
            0 => NextTask::Skip,
            1 => NextTask::Default,
            _ => next_pinned(w),
        };
    }
    w.priority_state.begins(false);
    if w.shared.has_pinned() {
        let between = w.priority_state.between.get();
        w.priority_state.between.set(between.wrapping_add(1));
        // Then a turn for others, then the next counted one.
        w.window_cut.store(true, Relaxed);
        w.tick_countdown.store(1, Relaxed);
        return if between.is_multiple_of(2) { next_pinned(w) } else { NextTask::Default };
    }
    if workers.has_background() {
        let tick_count = w.priority_state.tick_count.get().wrapping_add(1);
        w.priority_state.tick_count.set(tick_count);
        if tick_count.is_multiple_of(BACKGROUND_EVERY)
            && let Some(task) = w.pool.take_background()
        {
            return NextTask::Task(task);
        }
    }
    NextTask::Default
}

/// A task that only this worker may begin.
fn next_pinned(w: &Worker) -> NextTask {
    w.pool.take_pinned(w).map_or(NextTask::Default, NextTask::Task)
}

impl Pool {
    /// An interactive task was queued: the next turn of each worker that is awake is a counted one.
    pub(crate) fn hurry(&self) {
        for w in self.all_workers().filter(|w| w.shared.remote.sleeping.word.load(Relaxed) == 0) {
            w.request_tick();
        }
    }
}
