//! The scheduler as a state machine: events and the time come in, decisions go out. No threads, no
//! clock, no locks; so a simulation, a model in a test and the queue of a process use the same one.
//!
//! ```text
//! spec.rs     the words: what is asked for, states, decisions, refusals
//! table.rs    records by number; edges of dependencies
//! entries.rs  the jobs of a line, in order
//! line.rs     who is ready: classes, lines, ranks, groups
//! pick.rs     who starts next: fit, reservation, passing
//! submit.rs   what is accepted
//! end.rs      ends, dependents, retries, arrays
//! handover.rs an end, and what starts by that
//! change.rs   hold, release, change, cancel, capacity, time
//! resume.rs   suspended jobs, and what is kept for them
//! clock.rs    the time of day
//! circle.rs   who waits for whom, over others
//! why.rs      what a waiting job waits for
//! ```
//!
//! A call changes the state and notes decisions; [`decide`](Machine::decide) starts what can start
//! by now, and hands all decisions over. The time never goes back: an earlier one counts as the
//! latest that was seen.
//!
//! **Invariants.** `used` is the sum of the demands of jobs that run (suspended ones hold nothing).
//! A pending job that waits for nothing (`waits == 0`) has an entry in the line of its class. A
//! class with such jobs stands in one set of its group, with a rank at least as good as that of its
//! first job.

mod change;
mod circle;
mod clock;
mod end;
mod entries;
mod handover;
mod line;
mod pick;
mod resume;
mod spec;
mod submit;
mod table;
#[cfg(test)]
mod test;
mod why;

pub(crate) use change::Change;
pub(crate) use spec::{
    After, ArrayRequest, CPU, Decision, Demand, Handover, MEMORY, OfDay, Outcome, Plain, Request, Resource, Retry,
    Time, WHOLE,
};
pub use spec::{JobId, Refused, State, When};
pub(crate) use submit::{EndedJob, memory};
pub use why::Waiting;

use line::{Classes, Group};
use pick::Reservation;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
pub(crate) use table::Report;
use table::{Edges, Record, Table};

/// The settings of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// So many jobs run at a time at most.
    pub at_once: u64,
    /// A job's priority grows by one for each such time that the job is ready.
    pub ageing: Option<Time>,
    /// How long a job may take to stop after its wall time, before it is overdue.
    pub grace: Time,
    /// The history: so many of each final state at most ...
    pub kept: usize,
    /// ... and for so long at most.
    pub kept_for: Time,
    /// Also jobs without a name that are done?
    pub unnamed: bool,
    /// What time of day it is.
    pub clock: fn() -> OfDay,
}

impl Default for Rules {
    fn default() -> Rules {
        let clock = || 0;
        Rules { at_once: u64::MAX, ageing: None, grace: 0, kept: 10_000, kept_for: Time::MAX, unnamed: false, clock }
    }
}

#[derive(Debug)]
pub(crate) struct Machine<P> {
    rules: Rules,
    now: Time,
    table: Table<P>,
    edges: Edges,
    /// The arrays among the records, with their lengths.
    arrays: BTreeMap<u64, u32>,
    /// Of each resource its name, how much there is, and how much is held.
    names: Vec<Arc<str>>,
    capacity: Vec<u64>,
    used: Vec<u64>,
    classes: Classes,
    groups: Vec<Group>,
    /// Of each resource the classes that lack it, by how much they need.
    lacking: Vec<BTreeSet<(u64, u32)>>,
    reservation: Reservation,
    /// Suspended jobs that go on as soon as there is room.
    resuming: VecDeque<u64>,
    /// What is kept for these: of each resource, and places of the queue.
    kept: Vec<u64>,
    kept_places: u64,
    running: u64,
    /// How many have begun.
    starts: u64,
    /// Not ended.
    alive: u64,
    /// How many have ended: done, failed, timed out, cancelled, skipped. (No elements of arrays.)
    ended: [u64; 5],
    /// The last place that was given: places grow, and are about the time.
    seq: u64,
    /// Running jobs by the end of their wall time.
    ends: BTreeSet<(Time, u64)>,
    /// When jobs become ready, or overdue. An entry counts if the job says so.
    timers: BinaryHeap<Reverse<(Time, u64)>>,
    /// How many of these count.
    armed: usize,
    /// Entries of lines that do not count any more, about.
    stale: usize,
    /// Has something changed so that a job may start?
    look: bool,
    out: VecDeque<Decision<P>>,
    /// How often `pick` has looked at a class.
    #[cfg(test)]
    looks: u64,
    /// Jobs that have ended and are kept, by state, the oldest first.
    history: [VecDeque<(Time, u64)>; 5],
}

impl<P: Clone> Machine<P> {
    /// A machine with these resources, the first two of which are processors and memory.
    pub(crate) fn new(rules: Rules, resources: &[(Arc<str>, u64)], groups: &[(Arc<str>, u64)]) -> Machine<P> {
        let named = groups.iter().map(|(name, limit)| Group::new(name.clone(), *limit));
        Machine {
            rules,
            now: 0,
            table: Table::new(),
            edges: Edges::new(),
            arrays: BTreeMap::new(),
            names: resources.iter().map(|resource| resource.0.clone()).collect(),
            capacity: resources.iter().map(|resource| resource.1).collect(),
            used: vec![0; resources.len()],
            classes: Classes::new(),
            groups: std::iter::once(Group::new("".into(), u64::MAX)).chain(named).collect(),
            lacking: vec![BTreeSet::new(); resources.len()],
            reservation: Reservation::new(resources.len()),
            resuming: VecDeque::new(),
            kept: vec![0; resources.len()],
            kept_places: 0,
            running: 0,
            starts: 0,
            alive: 0,
            ended: [0; 5],
            seq: 0,
            ends: BTreeSet::new(),
            timers: BinaryHeap::new(),
            armed: 0,
            stale: 0,
            look: false,
            out: VecDeque::new(),
            #[cfg(test)]
            looks: 0,
            history: Default::default(),
        }
    }

    /// Lets the time come, starts what can start, and notes it. Decisions are taken by
    /// [`next_decision`](Self::next_decision).
    #[inline]
    pub(crate) fn decide(&mut self, now: Time) {
        // (Which group is first changes with the time where jobs age.)
        self.look |= self.groups.len() > 1 && self.rules.ageing.is_some();
        self.now = self.now.max(now);
        if self.has_come() {
            self.fire();
        }
        if self.look {
            self.fill();
        }
    }
    #[inline]
    pub(crate) fn next_decision(&mut self) -> Option<Decision<P>> {
        let next = self.out.pop_front();
        if next.is_none() && self.out.capacity() > 1024 {
            self.out = VecDeque::new();
        }
        next
    }
    /// The next time at which something happens by itself.
    #[inline]
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        while self.timers.peek().is_some_and(|timer| !pick::counts(&self.table, timer.0)) {
            self.pop_timer();
        }
        let wall = self.ends.first().map(|end| end.0);
        let timer = self.timers.peek().map(|timer| timer.0.0);
        match (wall, timer) {
            (Some(wall), Some(timer)) => Some(wall.min(timer)),
            (wall, timer) => wall.or(timer),
        }
    }

    /// Is there something to be done by the time?
    #[inline]
    fn has_come(&mut self) -> bool {
        self.next_time().is_some_and(|at| at <= self.now)
    }

    fn pop_timer(&mut self) -> Option<(Time, u64)> {
        let timer = self.timers.pop()?.0;
        if self.timers.is_empty() && self.timers.capacity() > 1024 {
            self.timers = BinaryHeap::new();
        }
        Some(timer)
    }

    /// How many have not ended.
    pub(crate) fn alive(&self) -> u64 {
        self.alive
    }
    pub(crate) fn running(&self) -> u64 {
        self.running
    }
    /// How many have ended: done, failed, timed out, cancelled, skipped.
    pub(crate) fn ended_by_state(&self) -> [u64; 5] {
        self.ended
    }
    pub(crate) fn used(&self, resource: Resource) -> u64 {
        self.used[resource as usize]
    }
    pub(crate) fn capacity(&self, resource: Resource) -> u64 {
        self.capacity[resource as usize]
    }
    /// The place of a resource.
    pub(crate) fn resource(&self, name: &Arc<str>) -> Result<Resource, Refused> {
        let at = self.names.iter().position(|other| other == name);
        at.map(|at| at as Resource).ok_or_else(|| Refused::NoResource(name.clone()))
    }
    /// The place of a group.
    pub(crate) fn group(&self, name: &Arc<str>) -> Result<u32, Refused> {
        let at = self.groups.iter().position(|group| group.name == *name);
        at.map(|at| at as u32).ok_or_else(|| Refused::NoGroup(name.clone()))
    }

    /// What has become of a job.
    pub(crate) fn state(&self, id: JobId) -> Result<State, Refused> {
        if let Some(job) = self.table.get(id.0) {
            return Ok(job.state);
        }
        if id.0 == 0 || id.0 >= self.table.next() {
            return Err(Refused::Unknown(id));
        }
        // (An element that has not begun has no record, but its array has.)
        match self.array_of(id.0) {
            Some((_, false)) => Ok(State::Pending),
            _ => Err(Refused::Forgotten(id)),
        }
    }

    /// What was submitted with a job that has not ended.
    pub(crate) fn payload(&self, id: JobId) -> Option<&P> {
        self.table.get(id.0)?.payload.as_ref()
    }
    /// What was submitted with the job that starts after the next one, if that is easily said.
    #[inline]
    pub(crate) fn likely_second(&self) -> Option<&P> {
        let [group] = &*self.groups else { return None };
        let second = self.classes.get(group.ready.first()?.1).second()?;
        self.table.get(second)?.payload.as_ref()
    }
    /// What a job asks for.
    pub(crate) fn demand(&self, id: JobId) -> Option<&Demand> {
        Some(&self.classes.get(self.table.get(id.0)?.class).key.demand)
    }

    /// Notes a number for the engine, of a job that runs.
    pub(crate) fn note(&mut self, id: JobId, note: u32) {
        self.table.get_mut(id.0).into_iter().for_each(|job| job.note = note);
    }
    /// The number that was noted last. (Or any, of one that never ran.)
    pub(crate) fn noted(&self, id: JobId) -> u32 {
        self.table.get(id.0).map_or(0, |job| job.note)
    }

    /// What is to be known of an attempt beside how it ended, before that is said.
    pub(crate) fn report(&mut self, id: JobId, report: Option<Box<Report>>) {
        let Some(job) = self.table.get_mut(id.0) else { return };
        if job.rare.is_some() || report.is_some() {
            job.rare_mut().report = report;
        }
    }

    /// A place among equal jobs: unique, and about the time, which ageing reckons with.
    fn next_seq(&mut self) -> u64 {
        self.seq = (self.seq + 1).max(self.now);
        self.seq
    }

    /// How much of a resource a job may take that has not begun.
    fn free(&self, resource: Resource) -> u64 {
        let at = resource as usize;
        self.capacity[at].saturating_sub(self.used[at]).saturating_sub(self.kept[at])
    }
    /// How many more jobs may run.
    fn places(&self) -> u64 {
        self.rules.at_once.saturating_sub(self.running).saturating_sub(self.kept_places)
    }
    /// The first resource of which there is not enough for this class, now.
    #[inline]
    fn lacks(&self, class: u32) -> Option<Resource> {
        let demand = &self.classes.get(class).key.demand;
        demand.parts().iter().find(|part| part.1 > self.free(part.0)).map(|part| part.0)
    }

    /// For how many entries there is room in all tables together.
    #[cfg(test)]
    pub(crate) fn room(&mut self) -> usize {
        let lines: usize = self.classes.iter().map(|class| class.room()).sum();
        let history: usize = self.history.iter().map(VecDeque::capacity).sum();
        lines + history + self.table.room() + self.edges.room() + self.timers.capacity() + self.out.capacity()
    }
    #[cfg(test)]
    pub(crate) fn classes_in_use(&mut self) -> usize {
        self.classes.iter().count()
    }

    /// For tests, and for what must hold after each call.
    #[cfg(test)]
    pub(crate) fn check(&mut self) {
        let mut used = vec![0; self.used.len()];
        let mut running = 0;
        for (_, job) in self.table.iter() {
            if matches!(job.state, State::Running | State::Overdue) {
                running += 1;
                for (resource, amount) in self.classes.get(job.class).key.demand.parts() {
                    used[*resource as usize] += amount;
                }
            }
        }
        assert_eq!((used, running), (self.used.clone(), self.running), "what is held");
        assert_eq!(running, self.groups.iter().map(|group| group.running).sum::<u64>(), "groups");
    }
}

/// What a table of jobs shows of one.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub id: JobId,
    pub name: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub state: State,
    pub priority: i32,
    pub attempts: u32,
    pub submitted: Time,
    pub started: Time,
    pub ended: Time,
    pub after: Vec<After>,
    pub array: Option<JobId>,
    pub elements: Option<(u32, u32)>,
    pub group: Arc<str>,
    /// In units, and bytes; of all other resources the names and units.
    pub cpu: u64,
    pub memory: u64,
    pub resources: Vec<(Arc<str>, u64)>,
    pub wall: Option<Time>,
    /// Of a job that waits for its time: when that comes.
    pub begin: Option<Time>,
    /// After the first attempt.
    pub retries: u32,
    pub report: Report,
}

impl<P: Clone> Machine<P> {
    fn row(&self, id: u64, job: &Record<P>) -> Row {
        let class = &self.classes.get(job.class).key;
        let rare = job.rare();
        let others = class.demand.parts().iter().filter(|part| part.0 > MEMORY);
        Row {
            id: JobId(id),
            name: rare.and_then(|rare| rare.name.clone()),
            user: rare.and_then(|rare| rare.user.clone()),
            state: job.state,
            priority: job.priority,
            attempts: rare.map_or(u32::from(job.started > 0), |rare| rare.attempts),
            submitted: job.submitted,
            started: job.started,
            ended: job.ended,
            after: rare.map_or(Vec::new(), |rare| rare.after.to_vec()),
            array: (job.array != 0).then_some(JobId(job.array)),
            elements: rare.and_then(|rare| rare.elements.as_ref()).map(|elements| (elements.ended, elements.len)),
            group: self.groups[class.group as usize].name.clone(),
            cpu: class.demand.of(CPU),
            memory: class.demand.of(MEMORY),
            resources: others.map(|part| (self.names[part.0 as usize].clone(), part.1)).collect(),
            wall: class.wall,
            begin: (job.waits & table::TIME != 0).then(|| self.begin_of(id)),
            retries: rare.map_or(0, |rare| rare.retry.times),
            report: rare.and_then(|rare| rare.report.as_deref().cloned()).unwrap_or_default(),
        }
    }
    /// All jobs that are known, by number.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        self.table.iter().map(|(id, job)| self.row(id, job))
    }
    /// Those of them whose name and user are wanted.
    pub(crate) fn rows_of(&self, is_wanted: impl Fn(Option<&str>, Option<&str>) -> bool) -> impl Iterator<Item = Row> {
        let jobs = self.table.iter().filter(move |(_, job)| {
            let rare = job.rare();
            is_wanted(rare.and_then(|rare| rare.name.as_deref()), rare.and_then(|rare| rare.user.as_deref()))
        });
        jobs.map(|(id, job)| self.row(id, job))
    }
    /// One of them.
    pub(crate) fn one(&self, id: JobId) -> Option<Row> {
        self.table.get(id.0).map(|job| self.row(id.0, job))
    }
}
