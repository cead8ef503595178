//! The end of a deadlock: which tasks a panic ends, and their marks (`cancel::deadlocked`).
//!
//! First all are marked, then told: nothing moves before. So the records of the dump are those of
//! the same tasks. (Who moves in a certain deadlock is the handler of a signal or another process.
//! Then the task that has a record by now may be ended in vain: memory for records is nothing else,
//! and what stands in a frame is looked up among those who are in `run`.)
//!
//! **Rejected.** To end all that wait: a join would bring no error to a task, for the one who joins
//! would be ended, too.

use super::Deadlock;
use crate::queue::reason::WaitReason;
use crate::record::memory;
use crate::record::task::{HeapRecord, TaskRef};
use crate::runtime::dump::{Activity, Dump, TaskState, doing};
use crate::sched::cancel::deadlocked::{self, DoomedTask};
use crate::sched::cancel::request::{self, Marked};
use crate::sched::pool::{Handle, Pool, TaskId};
use crate::sched::rescue::quiet;
use crate::sched::unwind::{self, Payload};
use myriad_base::sys::thread::abort_with;
use std::any::Any;
use std::collections::{HashMap, HashSet};

/// Ends tasks of these runtimes, so that the rest goes on. False: there are tasks to be ended, and
/// none can be, for all are marked.
pub(super) fn end_tasks(found: &Deadlock, runtimes: &[Handle]) -> bool {
    if cfg!(panic = "abort") {
        abort_with(
            "no task can ever go on, and this program was compiled with panic = \"abort\": see the report above",
        );
    }
    unwind::knows_text(text);
    let records = Records::now(runtimes);
    let chosen = choose(&found.dump, |task| records.are_of_runtimes(task));
    if chosen.is_empty() {
        return true;
    }
    let alive = found.dump.tasks().iter().filter_map(TaskState::id).map(|id| DoomedTask::Heap(id.as_u64()));
    let alive: HashSet<_> = alive.collect();
    deadlocked::begin(|task| alive.contains(&task) || matches!(task, DoomedTask::Frame(_)));
    for &task in &chosen {
        records.leave_joined(task);
    }
    let marked: Vec<_> = chosen.iter().filter_map(|task| records.mark(task, found.of(task))).collect();
    let any = !marked.is_empty();
    marked.into_iter().for_each(Marked::tell);
    if any {
        quiet::look_whether_it_ends();
    }
    any
}

impl Deadlock {
    /// The payload for this task's panic.
    fn of(&self, task: &TaskState) -> Payload {
        let text = format!("deadlock: it {}, and nobody can wake it", doing(task));
        Box::new(Deadlock { dump: self.dump.clone(), text })
    }
}

fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<Deadlock>().map(|deadlock| deadlock.text.as_str())
}

/// The tasks that are to end: those of ours that wait for something else than an end; those that
/// wait for each other's ends in a cycle; or else all of ours that wait.
fn choose(dump: &Dump, is_ours: impl Fn(&TaskState) -> bool) -> Vec<&TaskState> {
    let waiting: HashMap<usize, &TaskState> =
        dump.tasks().iter().filter(|task| task.activity == Activity::Waits).map(|task| (task.record, task)).collect();
    let joined = |task: &TaskState| task.joins().and_then(|record| waiting.get(&record)).copied();
    let ends_by_another = |task: &TaskState| task.reason == Some(WaitReason::Scope) || joined(task).is_some();
    let mut chosen: HashSet<usize> =
        waiting.values().filter(|task| !ends_by_another(task)).map(|task| task.record).collect();
    // (Each task is walked over once.)
    let mut walked = HashSet::new();
    for &task in waiting.values() {
        let (mut path, mut at) = (Vec::new(), Some(task));
        while let Some(task) = at.filter(|task| walked.insert(task.record)) {
            path.push(task.record);
            at = joined(task);
        }
        let end = at.and_then(|task| path.iter().position(|&record| record == task.record));
        chosen.extend(path.drain(end.unwrap_or(path.len())..));
    }
    let ours = || dump.tasks().iter().filter(|task| task.activity == Activity::Waits && is_ours(task));
    let tasks: Vec<_> = ours().filter(|task| chosen.contains(&task.record)).collect();
    if tasks.is_empty() { ours().collect() } else { tasks }
}

/// Where the tasks of a dump stand.
struct Records {
    pools: Vec<&'static Pool>,
    ours: HashSet<u8>,
    heap: HashMap<usize, (HeapRecord, u8)>,
    frames: HashMap<usize, u8>,
}

impl Records {
    fn now(runtimes: &[Handle]) -> Records {
        let mut heap = HashMap::new();
        memory::for_each(|_, record, pool| _ = heap.insert(record.as_ptr().addr(), (record, pool)));
        let pools = Pool::all_in_use();
        let in_frames = |pool: &&'static Pool| {
            let number = pool.number;
            pool.keep_frames().runs().map(|task| (task.addr(), number)).collect::<Vec<_>>()
        };
        let frames = pools.iter().flat_map(in_frames).collect();
        let pools_of = |runtime: &Handle| runtime.inner().runtime_pools().pools();
        let ours = runtimes.iter().flat_map(pools_of).map(|pool| pool.number).collect();
        Records { pools, ours, heap, frames }
    }

    fn pool(&self, number: u8) -> Option<&'static Pool> {
        self.pools.iter().copied().find(|pool| pool.number == number)
    }

    fn are_of_runtimes(&self, task: &TaskState) -> bool {
        let in_heap = self.heap.get(&task.record).map(|(_, pool)| pool);
        in_heap.or_else(|| self.frames.get(&task.record)).is_some_and(|pool| self.ours.contains(pool))
    }

    /// The task that this one joins has to go without the join: for that is in a cycle, or the
    /// joined one cannot be ended.
    fn leave_joined(&self, task: &TaskState) {
        if let Some(&(record, pool)) = task.joins().and_then(|joined| self.heap.get(&joined))
            && let Some(pool) = self.pool(pool)
        {
            deadlocked::leave(DoomedTask::Heap(pool.id_of(record.header(), TaskId::next).as_u64()));
        }
    }

    /// Marks a task, which is to end by this panic. `None`: it is marked already, or is not there.
    fn mark(&self, task: &TaskState, payload: Payload) -> Option<Marked> {
        if let Some(&(record, pool)) = self.heap.get(&task.record) {
            let pool = self.pool(pool)?;
            let id = pool.id_of(record.header(), TaskId::next);
            let mark = || pool.look_at(record, id, request::mark).flatten();
            return mark_with(DoomedTask::Heap(id.as_u64()), payload, mark);
        }
        let stays = self.pool(*self.frames.get(&task.record)?)?.keep_frames();
        let record = stays.runs().find(|run| run.addr() == task.record)?;
        // SAFETY: who is in `run` stays there while the frames are kept.
        let framed = unsafe { TaskRef::from_raw(record.cast_mut()) };
        mark_with(DoomedTask::Frame(record.addr()), payload, || request::mark(framed))
    }
}

fn mark_with(task: DoomedTask, payload: Payload, mark: impl FnOnce() -> Option<Marked>) -> Option<Marked> {
    let is_new = deadlocked::put(task, payload);
    let marked = mark();
    if marked.is_none() && is_new {
        drop(deadlocked::take(task));
    }
    marked
}
