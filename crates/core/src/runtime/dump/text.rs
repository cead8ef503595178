//! A dump for people: alike tasks in one entry, the most frequent first.

use super::{Activity, Doing, Dump, PoolState, TaskState, WorkerState};
use crate::queue::reason::WaitReason;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::panic::Location;

/// Lines of a dump, at most.
const LINES: usize = 40;
/// Columns, unless a place or a name is longer.
const COLUMNS: usize = 80;
/// Workers and threads that are named one by one; of more, only how many.
const NAMED: usize = 4;

/// What alike tasks have in common.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    pool: u8,
    activity: Activity,
    is_future: bool,
    reason: Option<WaitReason>,
    file: &'static str,
    line: u32,
    column: u32,
}

/// Alike tasks.
struct AlikeTasks<'a> {
    first: &'a TaskState,
    tasks: usize,
    /// For the longest time.
    since: u32,
    /// What the first waits for is what all wait for.
    one_object: bool,
    /// Where that was made is where all of it was.
    one_place: bool,
}

impl Dump {
    fn groups(&self) -> Vec<AlikeTasks<'_>> {
        let mut groups: HashMap<Alike, AlikeTasks<'_>> = HashMap::new();
        for task in &self.tasks {
            let at = task.location;
            let alike = Alike {
                pool: task.pool,
                activity: task.activity,
                is_future: task.is_future,
                reason: task.reason,
                file: at.file(),
                line: at.line(),
                column: at.column(),
            };
            let new = || AlikeTasks { first: task, tasks: 0, since: 0, one_object: true, one_place: true };
            let group = groups.entry(alike).or_insert_with(new);
            group.tasks += 1;
            group.since = group.since.max(task.since);
            group.one_object &= group.first.object == task.object;
            group.one_place &= group.first.made_at() == task.made_at();
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        // (The place last: so two dumps of one state have one order.)
        groups.sort_by_key(|group| {
            let at = group.first.location;
            (group.first.pool, std::cmp::Reverse(group.tasks), at.file(), at.line(), at.column())
        });
        groups
    }

    /// Short numbers for what is waited for by more than one entry, or by a thread too.
    fn objects(&self, groups: &[AlikeTasks<'_>]) -> HashMap<usize, usize> {
        let mut seen = HashSet::new();
        let mut numbers = HashMap::new();
        let of_groups = groups.iter().filter(|group| group.one_object).map(|group| group.first);
        let of_groups = of_groups.filter(|task| task.joins().is_none()).map(|task| task.object);
        for object in of_groups.chain(self.threads.iter().map(|thread| thread.object)) {
            if object != 0 && !seen.insert(object) {
                let next = numbers.len() + 1;
                numbers.entry(object).or_insert(next);
            }
        }
        numbers
    }
}

/// What is waited for, in a word.
fn noun(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Recv | WaitReason::Send => "channel",
        WaitReason::News => "promise, watch or broadcast",
        WaitReason::Lock | WaitReason::ReadLock | WaitReason::WriteLock => "lock",
        WaitReason::Input | WaitReason::Output => "socket",
        WaitReason::Join => "task",
        WaitReason::Scope => "scope",
        WaitReason::Node => "node",
        _ => "object",
    }
}

/// What many wait for.
fn plural(reason: WaitReason) -> String {
    let one = reason.to_string();
    let (verb, rest) = one.split_once(' ').unwrap_or((&one, ""));
    let verb = if verb == "has" { "have" } else { verb.trim_end_matches('s') };
    format!("{verb} {rest}").trim_end().to_owned()
}

/// 10,002.
fn thousands(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", thousands(n / 1000), n % 1000) }
}

pub(crate) fn count(n: usize, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {more}", thousands(n)) }
}

/// The end of a place that is too long for a line.
fn place(at: &Location<'_>, room: usize) -> String {
    let whole = at.to_string();
    let skip = whole.chars().count().saturating_sub(room.max(24));
    if skip == 0 { whole } else { format!("…{}", whole.chars().skip(skip + 1).collect::<String>()) }
}

/// A task by its name or number and its place.
pub(crate) fn describe(task: &TaskState) -> String {
    let what = if task.is_future { "future" } else { "task" };
    let name = task.name().map(|name| format!(" '{name}'")).unwrap_or_default();
    let id = task.id.map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{what}{name}{id} spawned at {}", place(task.location, COLUMNS / 2))
}

/// Who could end the wait, and what of them is known besides.
fn others(reason: WaitReason, ends: Option<usize>, besides: &str) -> String {
    let (one, more) = match reason {
        WaitReason::Send => ("receiver", "receivers"),
        _ => ("sender", "senders"),
    };
    ends.map(|ends| format!(" ({}{besides})", count(ends, one, more))).unwrap_or_default()
}

/// A line on where the channel was made that alike tasks, or one of them, wait for.
fn made(reason: WaitReason, at: &Location<'_>, ends: Option<usize>, many: bool, one_object: bool) -> String {
    let (at, others) = (place(at, 38), others(reason, ends, ""));
    match (reason, many, one_object) {
        (WaitReason::News, ..) => format!("made at {at}"),
        (WaitReason::Node, ..) => format!("spawned at {at}"),
        (WaitReason::Join, ..) => format!("the second closure of the join at {at}"),
        (_, false, _) => format!("the channel was made at {at}{others}"),
        (_, true, true) => format!("all of the channel made at {at}{others}"),
        (_, true, false) => format!("of channels made at {at}"),
    }
}

/// What one task does, with the place of what it waits for.
pub(crate) fn doing(task: &TaskState) -> String {
    let (Some(reason), Some(at)) = (task.reason, task.made_at()) else { return does(task) };
    waits_for(reason, at, task.other_ends(), "")
}

/// What is waited for, with the place where that was made, and with what is known of the other side
/// besides the number of its ends.
pub(super) fn waits_for(reason: WaitReason, at: &Location<'_>, ends: Option<usize>, besides: &str) -> String {
    let (at, others) = (place(at, 26), others(reason, ends, besides));
    match reason {
        WaitReason::Recv => format!("waits for a message of the channel made at {at}{others}"),
        WaitReason::Send => format!("waits for room in the channel made at {at}{others}"),
        WaitReason::Node => format!("waits for the node of a dataflow spawned at {at}"),
        WaitReason::Join => format!("waits for the second closure of the join at {at}"),
        _ => format!("{reason}, made at {at}"),
    }
}

/// What one task does.
fn does(task: &TaskState) -> String {
    match (task.activity, task.reason) {
        (Activity::Waits, Some(reason)) => match task.socket() {
            Some(socket) => format!("{reason}: {socket}"),
            None => reason.to_string(),
        },
        (Activity::Waits, None) => "waits to be woken".into(),
        (Activity::Runs, _) => "runs".into(),
        (Activity::Queued, _) => "is queued".into(),
        (Activity::Dedicated, _) => "has a thread of its own".into(),
    }
}

/// What many do that do the same.
fn many_do(task: &TaskState) -> String {
    match (task.activity, task.reason) {
        (Activity::Waits, Some(reason)) => plural(reason),
        (Activity::Waits, None) => "wait to be woken".into(),
        (Activity::Runs, _) => "run".into(),
        (Activity::Queued, _) => "are queued".into(),
        (Activity::Dedicated, _) => "have threads of their own".into(),
    }
}

/// What a task does, with its time, for one or (true) for many.
fn activity(dump: &Dump, group: &AlikeTasks<'_>, numbers: &HashMap<usize, usize>) -> String {
    let (task, many) = (group.first, group.tasks > 1);
    let mut text = if many { many_do(task) } else { does(task) };
    if let (Some(reason), true) = (task.reason, task.object != 0) {
        let joined = dump.joined_by(task).filter(|_| group.one_object);
        let number = numbers.get(&task.object).filter(|_| group.one_object);
        _ = match (joined, number) {
            (Some(joined), _) => write!(text, ": {}", describe(joined)),
            (None, Some(number)) => write!(text, ", {} {number}", noun(reason)),
            (None, None) if many && group.one_object && task.made_at().is_none() => {
                write!(text, ", all of one {}", noun(reason))
            }
            (None, None) => Ok(()),
        };
        if reason == WaitReason::Scope && group.one_object {
            text += &dump.of_scope(task.object);
        }
    }
    if group.since >= 100 {
        _ = write!(text, ", for {} s or more", thousands(group.since as usize / 100));
    }
    text
}

/// Writes the parts into one line, or where they do not fit into two.
fn fit(f: &mut Lines<'_, '_>, head: &str, tail: &str) -> fmt::Result {
    if head.chars().count() + 2 + tail.chars().count() <= COLUMNS {
        return f.line(format_args!("{head}: {tail}"));
    }
    f.line(format_args!("{head}:"))?;
    f.line(format_args!("      {tail}"))
}

/// Counts lines.
struct Lines<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    left: usize,
}

impl Lines<'_, '_> {
    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.left = self.left.saturating_sub(1);
        self.f.write_fmt(text)?;
        self.f.write_char('\n')
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.groups();
        let numbers = self.objects(&groups);
        let mut out = Lines { f, left: LINES };
        let pools = count(self.pools.len(), "pool", "pools");
        let waits = self.tasks.iter().filter(|task| task.activity == Activity::Waits).count();
        let tasks = count(self.tasks.len(), "task", "tasks");
        out.line(format_args!("myriad: {tasks} in {pools}, {} wait (seen in {:.1?})", thousands(waits), self.took))?;
        // The pools with tasks, or with workers that do something.
        let (mut left_groups, mut left_tasks, mut left_pools) = (0, 0, 0);
        for (i, pool) in self.pools.iter().enumerate() {
            let mine = || groups.iter().filter(|group| usize::from(group.first.pool) == i);
            // Room for the threads and the last line.
            if out.left < 12 {
                left_pools += 1;
                mine().for_each(|group| {
                    left_groups += 1;
                    left_tasks += group.tasks;
                });
                continue;
            }
            pool.show(&mut out)?;
            for group in mine() {
                if out.left < 10 {
                    left_groups += 1;
                    left_tasks += group.tasks;
                    continue;
                }
                let head = match group.tasks {
                    1 => format!("  {}", describe(group.first)),
                    n => {
                        let what = if group.first.is_future { "futures" } else { "tasks" };
                        format!("  {} {what} spawned at {}", thousands(n), place(group.first.location, 54))
                    }
                };
                fit(&mut out, &head, &activity(self, group, &numbers))?;
                if let (Some(reason), Some(at), true) = (group.first.reason, group.first.made_at(), group.one_place) {
                    let made = made(reason, at, group.first.other_ends(), group.tasks > 1, group.one_object);
                    out.line(format_args!("      {made}"))?;
                }
            }
        }
        if left_groups > 0 {
            let kinds = count(left_groups, "kind", "kinds");
            out.line(format_args!("  and {} of {kinds} more", count(left_tasks, "task", "tasks")))?;
        }
        if left_pools > 0 {
            out.line(format_args!("  (with those of {} that are not shown)", count(left_pools, "pool", "pools")))?;
        }
        self.show_threads(&mut out, &numbers)
    }
}

impl Dump {
    /// How many tasks this scope has, where that is known.
    fn of_scope(&self, scope: usize) -> String {
        let tasks = self.tasks.iter().filter(|task| task.scope == scope).count();
        if tasks > 0 { format!(": {}", count(tasks, "task", "tasks")) } else { String::new() }
    }

    fn show_threads(&self, out: &mut Lines<'_, '_>, numbers: &HashMap<usize, usize>) -> fmt::Result {
        for thread in self.threads.iter().take(NAMED) {
            let name = thread.name.as_deref().unwrap_or("without a name");
            let limit = if thread.timed { ", with a time limit" } else { "" };
            let task = self.tasks.iter().find(|task| thread.reason == WaitReason::Join && task.record == thread.object);
            let on = match (task, numbers.get(&thread.object)) {
                (Some(task), _) => format!(": {}", describe(task)),
                (None, Some(number)) => format!(", {} {number}", noun(thread.reason)),
                (None, None) if thread.reason == WaitReason::Scope => self.of_scope(thread.object),
                (None, None) => String::new(),
            };
            fit(out, &format!("thread '{name}'"), &format!("{}{on}{limit}", thread.reason))?;
            if let Some(at) = thread.made_at() {
                out.line(format_args!("      {}", made(thread.reason, at, thread.other_ends(), false, true)))?;
            }
        }
        if self.threads.len() > NAMED {
            out.line(format_args!("and {} more that wait", count(self.threads.len() - NAMED, "thread", "threads")))?;
        }
        for calls in &self.calls {
            let threads = count(calls.threads, "thread", "threads");
            let text = format_args!("{}: {threads}, {} idle, {} calls queued", calls.name, calls.idle, calls.queued);
            out.line(text)?;
        }
        Ok(())
    }
}

impl PoolState {
    fn show(&self, out: &mut Lines<'_, '_>) -> fmt::Result {
        let mode = if self.fibers { "fibers" } else { "threads" };
        let regular = self.workers.iter().filter(|w| !w.spare).count();
        let pool = if &*self.name == "default" { String::new() } else { format!(", pool '{}'", self.name) };
        let ended = if self.ended == 0 {
            String::new()
        } else {
            format!(", {} not taken", count(self.ended, "result", "results"))
        };
        let workers = count(regular, "worker", "workers");
        out.line(format_args!("runtime '{}'{pool}: {workers}, {mode}{ended}", self.runtime))?;
        let mut told = 0;
        let mut asleep = 0;
        let mut others = 0;
        for (i, w) in self.workers.iter().enumerate() {
            match w.doing {
                Doing::Sleeps | Doing::Rests => asleep += 1,
                _ if told < NAMED => {
                    told += 1;
                    w.show(out, i)?;
                }
                _ => others += 1,
            }
        }
        if others > 0 {
            out.line(format_args!("  and {} more", count(others, "worker works", "workers work")))?;
        }
        let timer = self.workers.iter().filter_map(WorkerState::next_timer).min();
        let timer = timer.map(|left| format!("; next timer within {left:.1?}")).unwrap_or_default();
        match asleep {
            0 if timer.is_empty() => Ok(()),
            0 => out.line(format_args!("  {}", &timer[2..])),
            n if told + others == 0 && n > 1 => out.line(format_args!("  all workers sleep{timer}")),
            n => out.line(format_args!("  {}{timer}", count(n, "worker sleeps", "workers sleep"))),
        }
    }
}

impl WorkerState {
    fn show(&self, out: &mut Lines<'_, '_>, index: usize) -> fmt::Result {
        let spare = if self.spare { " (spare)" } else { "" };
        let does = if self.doing == Doing::Stuck { "is stuck in" } else { "runs" };
        let head = format!("  worker {index}{spare} {does}");
        let Some(at) = self.location else {
            let what =
                if self.doing == Doing::Stuck { "a part of a task" } else { "a part of a task, or looks for work" };
            return out.line(format_args!("{head} {what}"));
        };
        let name = self.name.as_deref().map_or("the task".into(), |name| format!("task '{name}'"));
        let head = format!("{head} {name} spawned at ");
        let room = COLUMNS.saturating_sub(head.chars().count());
        out.line(format_args!("{head}{}", place(at, room)))
    }
}
