//! A dump for programs.

use super::{Activity, CallThreads, Doing, Dump, PoolState, TaskState, ThreadState, WorkerState};
use crate::queue::reason::WaitReason;
use myriad_base::json::{OrNull, Quoted};
use std::fmt;
use std::panic::Location;

impl Dump {
    /// The dump as one JSON object, with a line for each task:
    ///
    /// ```text
    /// {"took_ns": .., "pools": [{"runtime": "..", "pool": "..", "fibers": true, "results_not_taken": 0,
    ///    "workers": [{"doing": "works", "spare": false, "task": null | "..", "at": null | "FILE:LINE:COLUMN",
    ///                 "next_timer_ns": null | 0}]}],
    ///  "tasks": [{"id": null | 0, "name": null | "..", "at": "..", "future": false, "pool": 0, "activity": "waits",
    ///             "waits_for": null | "recv", "object": null | 0, "socket": null | "..", "joins": null | 0,
    ///             "waits_ms": 0}],
    ///  "threads": [{"name": null | "..", "waits_for": "join", "object": null | 0, "limit": false}],
    ///  "calls": [{"name": "..", "threads": 0, "idle": 0, "queued": 0}]}
    /// ```
    /// `pool` is an index; `joins` that of the task that is waited for, where it is in the list; an
    /// `object` is an address. `activity` is one of `waits`, `runs`, `queued`, `dedicated`; `doing`
    /// of `sleeps`, `rests`, `works`, `stuck`; `waits_for` a [`WaitReason`](crate::WaitReason) in
    /// lower case.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).name("one").build()?;
    /// assert!(myriad::dump().to_json().contains(r#""runtime": "one", "pool": "default""#));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        _ = self.write_json(&mut out);
        out
    }

    /// Writes it bit by bit: a dump of many tasks is long.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let at = self.by_record();
        write!(out, "{{\"took_ns\": {}, \"pools\": [", self.took.as_nanos())?;
        list(out, &self.pools, PoolState::json)?;
        out.write_str("],\n\"tasks\": [")?;
        list(out, &self.tasks, |task, out| task.json(out, task.joins().and_then(|record| at.get(&record).copied())))?;
        out.write_str("],\n\"threads\": [")?;
        list(out, &self.threads, ThreadState::json)?;
        out.write_str("],\n\"calls\": [")?;
        list(out, &self.calls, CallThreads::json)?;
        out.write_str("]}\n")
    }
}

fn list<T, W: fmt::Write>(out: &mut W, items: &[T], mut each: impl FnMut(&T, &mut W) -> fmt::Result) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        out.write_str(if i == 0 { "\n" } else { ",\n" })?;
        each(item, out)?;
    }
    Ok(())
}

/// A place, which has no characters of its own in JSON but those of its file.
fn at(at: &Location<'_>) -> impl fmt::Display {
    Quoted(&at.to_string()).to_string()
}

fn reason(reason: WaitReason) -> String {
    format!("\"{}\"", format!("{reason:?}").to_lowercase())
}

impl PoolState {
    fn json<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        let (runtime, name) = (Quoted(&self.runtime), Quoted(&self.name));
        let (fibers, ended) = (self.fibers, self.ended);
        write!(
            out,
            "{{\"runtime\": {runtime}, \"pool\": {name}, \"fibers\": {fibers}, \"results_not_taken\": {ended}, \"workers\": ["
        )?;
        list(out, &self.workers, WorkerState::json)?;
        out.write_str("]}")
    }
}

impl WorkerState {
    fn json<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        let doing = match self.doing {
            Doing::Sleeps => "sleeps",
            Doing::Rests => "rests",
            Doing::Works => "works",
            Doing::Stuck => "stuck",
        };
        let (task, place) = (OrNull(self.task_name().map(Quoted)), OrNull(self.location.map(at)));
        let (spare, timer) = (self.spare, OrNull(self.timer.map(|left| left.as_nanos())));
        write!(
            out,
            "{{\"doing\": \"{doing}\", \"spare\": {spare}, \"task\": {task}, \"at\": {place}, \"next_timer_ns\": {timer}}}"
        )
    }
}

impl TaskState {
    fn json<W: fmt::Write>(&self, out: &mut W, joins: Option<usize>) -> fmt::Result {
        let activity = match self.activity {
            Activity::Waits => "waits",
            Activity::Runs => "runs",
            Activity::Queued => "queued",
            Activity::Dedicated => "dedicated",
        };
        let (id, name) = (OrNull(self.id.map(|id| id.as_u64())), OrNull(self.name().map(Quoted)));
        let (future, pool, place) = (self.is_future, self.pool, at(self.location));
        write!(
            out,
            "{{\"id\": {id}, \"name\": {name}, \"at\": {place}, \"future\": {future}, \"pool\": {pool}, \"activity\": \"{activity}\""
        )?;
        let (waits, object, joins) = (OrNull(self.reason.map(reason)), OrNull(self.object()), OrNull(joins));
        let (socket, ms) = (OrNull(self.socket().map(Quoted)), self.waits_since().as_millis());
        let scope = OrNull(self.scope());
        write!(
            out,
            ", \"waits_for\": {waits}, \"object\": {object}, \"scope\": {scope}, \"socket\": {socket}, \"joins\": {joins}"
        )?;
        let (made, ends) = (OrNull(self.made_at().map(at)), OrNull(self.other_ends()));
        write!(out, ", \"made_at\": {made}, \"other_ends\": {ends}, \"waits_ms\": {ms}}}")
    }
}

impl ThreadState {
    fn json<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        let (name, waits, object) = (OrNull(self.name().map(Quoted)), reason(self.reason), OrNull(self.object()));
        let (made, ends, timed) = (OrNull(self.made_at().map(at)), OrNull(self.other_ends()), self.timed);
        write!(out, "{{\"name\": {name}, \"waits_for\": {waits}, \"object\": {object}, \"made_at\": {made}, ")?;
        write!(out, "\"other_ends\": {ends}, \"limit\": {timed}}}")
    }
}

impl CallThreads {
    fn json<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        let CallThreads { name, threads, idle, queued } = self;
        write!(out, "{{\"name\": {}, \"threads\": {threads}, \"idle\": {idle}, \"queued\": {queued}}}", Quoted(name))
    }
}
