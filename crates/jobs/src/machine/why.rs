//! What a waiting job waits for. It is computed from what the scheduler itself looks at, and not
//! stored; so it says what the scheduler does next.

use super::line::{ClassKey, Placed, is_first};
use super::spec::{JobId, Refused, State};
use super::table::{DEPENDS, HELD, TIME};
use super::{Machine, Time, When, submit::amount};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a job has not begun. Of several reasons the first in this list.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local, Waiting, When};
/// let q = Local::new().start();
/// let first = q.submit(Job::new(|| ()).held())?;
/// let second = q.submit(Job::new(|| ()).after_any(&first))?;
/// let why = q.why(&second)?;
/// assert!(matches!(why, Some(Waiting::Dependency { when: When::Ended, .. })));
/// first.cancel();
/// second.join().unwrap();
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// It is held, and has to be released.
    Held,
    /// Another job has to begin or to end.
    Dependency {
        /// That job: the first of them that is open.
        on: JobId,
        /// What has to become of that job.
        when: When,
    },
    /// Its start time comes so much later, or its next attempt.
    Time {
        /// From now.
        left: Duration,
    },
    /// It wants more than there is, since the capacity shrank.
    Infeasible {
        /// The resource.
        resource: Arc<str>,
        /// What the job asks for.
        wants: Arc<str>,
        /// What there is.
        there: Arc<str>,
    },
    /// As many of its array run as may run at a time.
    ArrayFull {
        /// So many.
        limit: u64,
    },
    /// As many of its group run as may run at a time.
    GroupFull {
        /// The group.
        group: Arc<str>,
        /// So many.
        limit: u64,
    },
    /// As many jobs run as may run at a time.
    QueueFull {
        /// So many.
        limit: u64,
        /// The job that starts first when there is a place.
        first: JobId,
    },
    /// It is the first in line, and there is too little of a resource.
    Resources {
        /// The resource.
        resource: Arc<str>,
        /// What the job asks for.
        wants: Arc<str>,
        /// What is free.
        free: Arc<str>,
        /// Jobs that hold of that resource: five at most.
        held_by: Vec<JobId>,
    },
    /// This job is before it. (Behind that job only those may start that do not keep it waiting.)
    Behind {
        /// The job that starts first.
        first: JobId,
    },
    /// What it wants is kept for suspended jobs, which go on first: this is the first of them.
    Resuming {
        /// That job.
        first: JobId,
    },
    /// Nothing: it starts at once.
    Nothing,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waiting::Held => write!(f, "held"),
            Waiting::Dependency { on, when } => {
                let what = match when {
                    When::Done => "is done",
                    When::Ended => "has ended",
                    When::Failed => "fails",
                    When::Started => "has begun",
                };
                write!(f, "until job {on} {what}")
            }
            Waiting::Time { left } => write!(f, "for its time, in {left:?}"),
            Waiting::Infeasible { resource, wants, there } => {
                write!(f, "wants {wants} of {resource}, there are {there}")
            }
            Waiting::ArrayFull { limit } => write!(f, "{limit} of its array run"),
            Waiting::GroupFull { group, limit } => write!(f, "{limit} of group {group} run"),
            Waiting::QueueFull { limit, first } => write!(f, "{limit} jobs run, job {first} is next"),
            Waiting::Resources { resource, wants, free, held_by } => {
                write!(f, "first in line, wants {wants} of {resource}, {free} free")?;
                for (at, id) in held_by.iter().enumerate() {
                    write!(f, "{}{id}", if at == 0 { ", held by " } else { " " })?;
                }
                Ok(())
            }
            Waiting::Behind { first } => write!(f, "behind job {first}"),
            Waiting::Resuming { first } => write!(f, "job {first} goes on first"),
            Waiting::Nothing => write!(f, "nothing"),
        }
    }
}

impl<P: Clone> Machine<P> {
    /// Why this job has not begun; `None` of one that has.
    pub(crate) fn why(&mut self, now: Time, id: JobId) -> Result<Option<Waiting>, Refused> {
        self.now = self.now.max(now);
        if self.state(id)? != State::Pending {
            return Ok(None);
        }
        // An element that has not begun waits as its array does.
        let mut at = id.0;
        if self.table.get(at).is_none_or(|job| job.array != 0 && job.waits & DEPENDS != 0)
            && let Some((array, _)) = self.array_of(at)
        {
            at = array;
        }
        // (Of an array whose elements have all begun nothing waits.)
        let elements = self.table.at(at).elements();
        if elements.is_some_and(|elements| elements.each_of == 0 && elements.next == elements.len) {
            return Ok(None);
        }
        Ok(Some(self.why_pending(at)))
    }

    fn why_pending(&mut self, id: u64) -> Waiting {
        let job = self.table.at(id);
        let (waits, class) = (job.waits, job.class);
        if waits & HELD != 0 {
            return Waiting::Held;
        }
        if waits & DEPENDS != 0 {
            let after = job.rare().map_or(Vec::new(), |rare| rare.after.to_vec());
            let open = after.iter().find(|after| self.is_open(id, **after));
            return open.map_or(Waiting::Nothing, |open| Waiting::Dependency { on: open.job, when: open.when });
        }
        if waits & TIME != 0 {
            let begin = self.begin_of(id);
            return Waiting::Time { left: Duration::from_nanos(begin.saturating_sub(self.now)) };
        }
        if let Some(elements) = job.elements().filter(|elements| !elements.can_begin()) {
            let (each_of, limit) = (elements.each_of, u64::from(elements.at_once));
            return match elements.alive < elements.at_once && each_of != 0 {
                true => Waiting::Dependency { on: JobId(each_of), when: When::Done },
                false => Waiting::ArrayFull { limit },
            };
        }
        let key = self.classes.get(class).key.clone();
        if let Some(resource) = self.never_fits(class) {
            let wants = amount(resource, key.demand.of(resource)).into();
            let there = amount(resource, self.capacity[resource as usize]).into();
            return Waiting::Infeasible { resource: self.names[resource as usize].clone(), wants, there };
        }
        let group = &self.groups[key.group as usize];
        if group.running >= group.limit {
            return Waiting::GroupFull { group: group.name.clone(), limit: group.limit };
        }
        if let Some(first) = self.kept_for(|other| group.is_full() && other.group == key.group) {
            return Waiting::Resuming { first };
        }
        let Some(first) = self.first_in_line() else { return Waiting::Nothing };
        if self.running >= self.rules.at_once {
            return Waiting::QueueFull { limit: self.rules.at_once, first };
        }
        if let Some(first) = self.kept_for(|_| self.places() == 0) {
            return Waiting::Resuming { first };
        }
        if first.0 != id {
            return Waiting::Behind { first };
        }
        let Some(resource) = self.lacks(class) else { return Waiting::Nothing };
        let free = self.capacity[resource as usize].saturating_sub(self.used[resource as usize]);
        if let Some(first) = self.kept_for(|other| key.demand.of(resource) <= free && other.demand.of(resource) > 0) {
            return Waiting::Resuming { first };
        }
        let holds = |job: &super::table::Record<P>| {
            matches!(job.state, State::Running | State::Overdue)
                && self.classes.get(job.class).key.demand.of(resource) > 0
        };
        Waiting::Resources {
            resource: self.names[resource as usize].clone(),
            wants: amount(resource, key.demand.of(resource)).into(),
            free: amount(resource, self.free(resource)).into(),
            held_by: self.table.iter().filter(|(_, job)| holds(job)).map(|(id, _)| JobId(id)).take(5).collect(),
        }
    }

    /// The first suspended job that goes on, and asks for this.
    fn kept_for(&self, is_meant: impl Fn(&ClassKey) -> bool) -> Option<JobId> {
        let class = |id| self.table.get(id).map(|job| &self.classes.get(job.class).key);
        self.resuming.iter().find(|id| class(**id).is_some_and(&is_meant)).map(|id| JobId(*id))
    }

    /// The job that starts before all others that are ready, once there is room for it.
    pub(crate) fn first_in_line(&mut self) -> Option<JobId> {
        loop {
            let each = (0..self.groups.len() as u32).filter_map(|at| self.next_of(at, None, true));
            let look = each.min_by_key(|look| self.order(look))?;
            if !is_first(&self.table, look.class, look.rank, self.rules.ageing) {
                self.place(look.class);
            } else if let Some(resource) = self.never_fits(look.class) {
                self.put(look.class, Placed::Hopeless(look.rank, resource));
            } else {
                return Some(JobId(look.rank.id));
            }
        }
    }
}
