//! What is known of jobs, as data and as text: tables and graphs. (Charts: `chart`.)

use super::chart::{has_begun, ran};
use super::error::one_line;
use super::job::JobRef;
use super::queue::Queue;
use crate::machine::{JobId, Row, State, Time, WHOLE, memory};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// What a queue knows of a job: one that has not ended, or one of the history. Example:
/// [`Queue::table`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobInfo {
    /// Its number.
    pub id: JobId,
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Whose it is, if that was [said](super::Job::user).
    pub user: Option<Arc<str>>,
    /// Where it stands.
    pub state: State,
    /// Its priority.
    pub priority: i32,
    /// Its group; empty if it has none.
    pub group: Arc<str>,
    /// How many processors it asks for.
    pub cpus: f64,
    /// How many bytes of memory it asks for.
    pub memory: u64,
    /// What else it asks for: the resources, and how much.
    pub resources: Vec<(Arc<str>, f64)>,
    /// How long it may run.
    pub wall_time: Option<Duration>,
    /// How long it still waits for its start time, or for its next attempt.
    pub starts_in: Option<Duration>,
    /// How often it has begun.
    pub attempts: u32,
    /// How many attempts it may have after the first.
    pub retries: u32,
    /// The jobs that it depends on.
    pub after: Vec<JobId>,
    /// Of an array: how many elements have ended, and how many there are.
    pub elements: Option<(u32, u32)>,
    /// Of an element: its array.
    pub array: Option<JobId>,
    /// How long it stood in the queue before it began last, or stands there by now.
    pub waited: Duration,
    /// How long its last run took, or takes by now.
    pub ran: Duration,
    /// Why it did not end well.
    pub reason: Option<Arc<str>>,
    /// Of a command: the most memory that it had, in bytes.
    pub peak_memory: u64,
    /// Of a command: the processor time that it took.
    pub cpu_time: Duration,
}

impl JobInfo {
    fn of(row: Row, now: Time) -> JobInfo {
        let until = match (has_begun(&row), row.state.is_final()) {
            (true, _) => row.started,
            (false, true) => row.ended,
            (false, false) => now,
        };
        let whole = |units| units as f64 / WHOLE as f64;
        JobInfo {
            waited: Duration::from_nanos(until.saturating_sub(row.submitted)),
            ran: Duration::from_nanos(ran(&row, now)),
            id: row.id,
            name: row.name,
            user: row.user,
            state: row.state,
            priority: row.priority,
            group: row.group,
            cpus: whole(row.cpu),
            memory: row.memory,
            resources: row.resources.into_iter().map(|(name, units)| (name, whole(units))).collect(),
            wall_time: row.wall.map(Duration::from_nanos),
            starts_in: row.begin.map(|begin| Duration::from_nanos(begin.saturating_sub(now))),
            attempts: row.attempts,
            retries: row.retries,
            after: row.after.iter().map(|after| after.job).collect(),
            elements: row.elements,
            array: row.array,
            reason: row.report.text,
            peak_memory: row.report.peak_memory,
            cpu_time: Duration::from_nanos(row.report.cpu_time),
        }
    }
}

impl Queue {
    /// All jobs that the queue knows, by number: those that have not ended, and the history.
    ///
    /// It takes time and memory for each of them, and the queue stands still meanwhile. Any other
    /// query is a filter of these.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, State};
    /// use std::time::Duration;
    /// let q = Local::new().start();
    /// let limits = Job::fallible(|| Err::<(), _>("no")).cpus(0.5).memory("1 KB").wall_time(Duration::from_secs(9));
    /// q.submit(limits.name("night-1"))?.wait();
    /// let is_night = |name: &str| name.starts_with("night");
    /// let mut failed = q.jobs();
    /// failed.retain(|job| job.state == State::Failed && job.name.as_deref().is_some_and(is_night));
    /// assert_eq!((failed[0].cpus, failed[0].memory), (0.5, 1024));
    /// assert_eq!(failed[0].wall_time, Some(Duration::from_secs(9)));
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn jobs(&self) -> Vec<JobInfo> {
        let (rows, now) = self.rows();
        rows.into_iter().map(|row| JobInfo::of(row, now)).collect()
    }
    /// Those of this [user](super::Job::user).
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, State};
    /// let q = Local::new().start();
    /// q.submit(Job::new(|| ()).name("index the mail").user("ada").held())?;
    /// q.submit(Job::new(|| ()).name("mail a report").user("bob").held())?;
    /// let of_ada = q.jobs_of("ada");
    /// assert_eq!((of_ada.len(), of_ada[0].state), (1, State::Pending));
    /// assert_eq!((q.find("mail").len(), q.find("report").len()), (2, 1));
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn jobs_of(&self, user: &str) -> Vec<JobInfo> {
        let (rows, now) = self.rows_of(|_, of| of == Some(user));
        rows.into_iter().map(|row| JobInfo::of(row, now)).collect()
    }
    /// Those whose names contain this text; as it stands, capital letters too.
    pub fn find(&self, text: &str) -> Vec<JobInfo> {
        let (rows, now) = self.rows_of(|name, _| name.is_some_and(|name| name.contains(text)));
        rows.into_iter().map(|row| JobInfo::of(row, now)).collect()
    }
    /// One of them; `None` if it is not known (any more).
    pub fn job(&self, id: impl Into<JobRef>) -> Option<JobInfo> {
        let (row, now) = self.row(self.own(id).ok()?);
        row.map(|row| JobInfo::of(row, now))
    }

    /// The jobs as a table, one a line.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().start();
    /// q.submit(Job::new(|| ()).name("prep").held())?;
    /// let table = q.table();
    /// assert!(table.starts_with("   id  state"), "{table}");
    /// assert!(table.contains("    1  pending"), "{table}");
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn table(&self) -> String {
        let mut text =
            String::from("   id  state      prio  cpus tries    waited       ran    memory  name, and why\n");
        for job in self.jobs() {
            let memory = if job.peak_memory > 0 { memory(job.peak_memory) } else { "-".into() };
            let name = one_line(job.name.as_deref().unwrap_or("-"));
            let reason = match (&job.reason, job.state) {
                (Some(reason), _) => format!(": {}", one_line(reason)),
                (None, State::Skipped(by)) => format!(": because of job {by}"),
                (None, State::Pending) => {
                    self.why(job.id).ok().flatten().map_or(String::new(), |why| format!(": {why}"))
                }
                _ => String::new(),
            };
            let elements = job.elements.map_or(String::new(), |(ended, all)| format!(" {ended}/{all}"));
            _ = writeln!(
                text,
                "{:>5}  {:<9} {:>5} {:>5} {:>5} {:>9} {:>9} {memory:>9}  {name}{elements}{reason}",
                job.id.as_u64(),
                job.state.word(),
                job.priority,
                job.cpus,
                job.attempts,
                seconds(job.waited),
                seconds(job.ran),
            );
        }
        text
    }

    /// The jobs and their dependencies as a graph, in the language DOT of Graphviz.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph jobs {\n  rankdir=LR;\n");
        for job in self.jobs() {
            let name = job.name.as_deref().unwrap_or("").replace('\\', "\\\\").replace('"', "\\\"");
            _ = writeln!(text, "  {} [label=\"{} {name}\\n{}\"];", job.id, job.id, job.state.word());
            for on in &job.after {
                _ = writeln!(text, "  {on} -> {};", job.id);
            }
        }
        text + "}\n"
    }
}

/// "0.42 s".
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
