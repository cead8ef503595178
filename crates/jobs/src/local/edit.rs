//! What is to be different about a job that waits.

use super::event::Event;
use super::job::{Begin, Bytes, JobRef, amount_of, nanos};
use super::queue::Queue;
use crate::machine::{After, Change, Refused, When};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What [`Queue::edit`] changes. What is not said stays as it is.
///
/// # Examples
/// ```
/// use myriad::jobs::{Edit, Job, Local, Refused};
/// use std::time::Duration;
/// let q = Local::new().cpus(4).resource("gpu", 1).group("net", 2).start();
/// let report = q.submit(Job::new(|| 7).delay(Duration::from_secs(3600)))?;
/// // A step that was forgotten.
/// let check = q.submit(Job::new(|| ()))?;
/// let edit = Edit::new().name("report").priority(10).cpus(2).memory("1 GB").resource("gpu", 1).group("net");
/// q.edit(&report, edit.after(&check).delay(Duration::ZERO))?;
/// assert_eq!(report.join().unwrap(), 7);
///
/// let held = q.submit(Job::new(|| ()).held())?;
/// let last = q.submit(Job::new(|| ()).after(&held))?;
/// let circle = q.edit(&held, Edit::new().after(&last));
/// assert_eq!(circle, Err(Refused::Circle(held.id(), last.id())));
/// q.edit(&last, Edit::new().independent().wall_time(Duration::from_secs(5)))?;
/// last.join().unwrap();
///
/// // Other ends than a good one; and a time of day.
/// let alarm = q.submit(Job::new(|| ()).held())?;
/// q.edit(&alarm, Edit::new().after_failed(&held).at(std::time::SystemTime::now()))?;
/// let either = Edit::new().after_any(&held).after_started(&alarm).any_is_enough();
/// let next = q.submit(Job::new(|| ()).held())?;
/// q.edit(&next, either.user("ada"))?;
/// q.release(&next)?;
/// held.cancel();
/// next.join().unwrap();
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Edit {
    change: Change,
    /// By name: the queue knows their places.
    amounts: Vec<(Arc<str>, u64)>,
    group: Option<Arc<str>>,
    begin: Option<Begin>,
    after: Option<Vec<(JobRef, When)>>,
    any: bool,
    /// What was found wrong on the way.
    wrong: Option<Refused>,
}

impl Edit {
    /// Changes nothing.
    pub fn new() -> Edit {
        Edit::default()
    }
    /// Another name.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Edit {
        self.change.name = Some(name.into());
        self
    }
    /// Another [user](super::Job::user).
    pub fn user(mut self, user: impl Into<Arc<str>>) -> Edit {
        self.change.user = Some(user.into());
        self
    }
    /// Another priority.
    pub fn priority(mut self, priority: i32) -> Edit {
        self.change.priority = Some(priority);
        self
    }
    /// So many processors.
    pub fn cpus(self, cpus: impl Into<f64>) -> Edit {
        self.resource("cpu", cpus)
    }
    /// So much memory: bytes, or a text as "2 GB".
    pub fn memory(self, memory: impl Into<Bytes>) -> Edit {
        self.add(memory.into().amount().map(|bytes| ("memory".into(), bytes)))
    }
    /// So much of a resource.
    pub fn resource(self, name: impl Into<Arc<str>>, amount: impl Into<f64>) -> Edit {
        self.add(amount_of(name.into(), amount.into()))
    }
    fn add(mut self, amount: Result<(Arc<str>, u64), Refused>) -> Edit {
        match amount {
            Ok(amount) => self.amounts.push(amount),
            Err(wrong) => self.wrong = Some(wrong),
        }
        self
    }
    /// Another group; none by an empty name.
    pub fn group(mut self, name: impl Into<Arc<str>>) -> Edit {
        self.group = Some(name.into());
        self
    }
    /// Another wall time, or none.
    pub fn wall_time(mut self, time: impl Into<Option<Duration>>) -> Edit {
        self.change.wall = Some(time.into().map(|time| nanos(time).max(1)));
        self
    }
    /// Not before so much time has passed from now. With none, a job that waits for its time, or
    /// for its next attempt, waits for that no more.
    pub fn delay(mut self, time: Duration) -> Edit {
        self.begin = Some(Begin::After(time));
        self
    }
    /// Not before this time of day, as [`Job::at`](super::Job::at) reckons.
    pub fn at(mut self, time: SystemTime) -> Edit {
        self.begin = Some(Begin::At(time));
        self
    }

    /// In place of all that it waited for, the job waits for none.
    pub fn independent(mut self) -> Edit {
        self.after = Some(Vec::new());
        self
    }
    /// In place of all that it waited for, the job waits until that job is done; and for the others
    /// that this edit names. (To have one more, name the old ones, too.)
    pub fn after(self, job: impl Into<JobRef>) -> Edit {
        self.depends(job, When::Done)
    }
    /// The same, until that job has ended, in whatever way.
    pub fn after_any(self, job: impl Into<JobRef>) -> Edit {
        self.depends(job, When::Ended)
    }
    /// The same, until that job has failed, or its time is over.
    pub fn after_failed(self, job: impl Into<JobRef>) -> Edit {
        self.depends(job, When::Failed)
    }
    /// The same, until that job has begun.
    pub fn after_started(self, job: impl Into<JobRef>) -> Edit {
        self.depends(job, When::Started)
    }
    /// One of the dependencies is enough: of those that this edit names, or else of those that the
    /// job has.
    pub fn any_is_enough(mut self) -> Edit {
        self.any = true;
        self
    }
    fn depends(mut self, job: impl Into<JobRef>, when: When) -> Edit {
        self.after.get_or_insert_default().push((job.into(), when));
        self
    }
}

impl Queue {
    /// Changes a job that has not begun, all at once or not at all. It keeps its place among those
    /// of its priority. If it can no longer run, because of how a job ended that it is to wait for,
    /// it is skipped.
    ///
    /// # Errors
    /// It has begun, or ended, or is an element of an array; what is asked for would be refused at
    /// a submission; the job would wait for one that waits for it.
    pub fn edit(&self, id: impl Into<JobRef>, edit: Edit) -> Result<(), Refused> {
        let id = self.own(id)?;
        let Edit { mut change, amounts, group, begin, after, any, wrong } = edit;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        for (job, _) in after.iter().flatten() {
            job.in_queue(self.0.number)?;
        }
        self.0.call(|machine, now| {
            let mut known: Vec<_> = after.iter().flatten().filter_map(|(job, _)| job.ended()).collect();
            known.sort_unstable_by_key(|known| known.id);
            for (name, amount) in &amounts {
                change.demand.push((machine.resource(name)?, *amount));
            }
            change.group = group.as_ref().map(|name| machine.group(name)).transpose()?;
            change.begin = begin.map(|begin| begin.time(now));
            change.at = begin.and_then(Begin::at);
            let afters = after.as_ref().map(|after| after.iter().map(|(job, when)| After { job: job.id, when: *when }));
            change.after = afters.map(|after| (after.collect(), any));
            change.any = any && change.after.is_none();
            machine.change(now, id, change.clone(), &known)?;
            if let (Some(body), Some(demand)) = (machine.payload(id), machine.demand(id)) {
                body.limit(demand);
                // (What the job is if it is submitted again.)
                body.change_kept(&|kept| change.apply(kept));
            }
            Ok(())
        })?;
        self.0.listeners.tell([Event::Edited { id }]);
        Ok(())
    }
}
