//! What is done to jobs from outside, and by the time.

use super::line::ClassKey;
use super::pick::counts;
use super::spec::{After, Afters, Decision, JobId, OfDay, Refused, Request, State, Stop, Time};
use super::submit::Known;
use super::table::{DEPENDS, HELD, Record, TIME};
use super::{Machine, Resource};
use std::sync::Arc;

/// What is to be different about a job that has not begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub name: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    pub priority: Option<i32>,
    /// Of these resources so much.
    pub demand: Vec<(Resource, u64)>,
    pub group: Option<u32>,
    /// A wall time, or none.
    pub wall: Option<Option<Time>>,
    /// Not before that. What is over is now.
    pub begin: Option<Time>,
    /// And not before this time of day.
    pub at: Option<OfDay>,
    /// In place of what the job waited for: these, or one of these.
    pub after: Option<(Vec<After>, bool)>,
    /// One of those that the job waits for is enough.
    pub any: bool,
}

impl Change {
    /// To what was asked for, as far as it is asked for again when the job is submitted again.
    pub(crate) fn apply(&self, request: &mut Request) {
        request.name = self.name.clone().or(request.name.take());
        request.user = self.user.clone().or(request.user.take());
        request.priority = self.priority.unwrap_or(request.priority);
        self.demand.iter().for_each(|&(resource, amount)| request.demand.set(resource, amount));
        request.group = self.group.unwrap_or(request.group);
        request.wall = self.wall.unwrap_or(request.wall);
    }
}

impl<P: Clone> Machine<P> {
    /// The record of a job that has not begun.
    fn pending(&mut self, id: JobId) -> Result<(), Refused> {
        let state = self.state(id)?;
        let shown = self.shown(id, state);
        match (shown, self.table.get(id.0)) {
            (State::Pending, Some(job)) if job.array == 0 => Ok(()),
            (State::Pending, _) => Err(Refused::InArray(id)),
            _ => Err(Refused::Begun(id, shown)),
        }
    }

    /// The job does not start until it is released. (Of an array no more elements do.)
    pub(crate) fn hold(&mut self, id: JobId) -> Result<(), Refused> {
        let is_array = self.arrays.contains_key(&id.0) && self.state(id)? == State::Pending;
        if !is_array {
            self.pending(id)?;
        }
        let job = self.table.at(id.0);
        let (was, class) = (job.waits, job.class);
        job.waits |= HELD;
        if was == 0 {
            self.stale += 1;
            self.place(class);
            self.look = true;
        }
        Ok(())
    }

    /// The job may start; it stands at the end of its line. False: it was not held.
    pub(crate) fn release(&mut self, now: Time, id: JobId) -> Result<bool, Refused> {
        self.now = self.now.max(now);
        self.state(id)?;
        let Some(job) = self.table.get_mut(id.0).filter(|job| job.waits & HELD != 0) else { return Ok(false) };
        job.waits &= !HELD;
        job.seq = 0;
        self.ready(id.0);
        Ok(true)
    }

    /// Changes a job that has not begun. It keeps its place among those of its priority.
    pub(crate) fn change(&mut self, now: Time, id: JobId, change: Change, known: Known<'_>) -> Result<(), Refused> {
        self.now = self.now.max(now);
        self.pending(id)?;
        let job = self.table.at(id.0);
        let (old, was_in_line) = (job.class, job.waits == 0);
        let priority = change.priority.unwrap_or(job.priority);
        let mut key: ClassKey = self.classes.get(old).key.clone();
        change.demand.iter().for_each(|&(resource, amount)| key.demand.set(resource, amount));
        key.group = change.group.unwrap_or(key.group);
        key.wall = change.wall.unwrap_or(key.wall);
        self.accept_plain(priority, &key.demand)?;
        for after in change.after.iter().flat_map(|after| &after.0) {
            self.accept_after(*after, known)?;
            if self.waits_for(after.job, id) {
                return Err(Refused::Circle(id, after.job));
            }
        }
        let class = self.classes.of(key);
        let job = self.table.at(id.0);
        (job.class, job.priority) = (class, priority);
        if change.name.is_some() || change.user.is_some() {
            let rare = job.rare_mut();
            rare.name = change.name.or(rare.name.take());
            rare.user = change.user.or(rare.user.take());
        }
        if let Some(begin) = change.begin {
            self.change_begin(id.0, begin, change.at);
        }
        let never = change.after.and_then(|(after, any)| self.change_after(id.0, after, any, known));
        if change.any {
            self.change_any(id.0);
        }
        self.stale += usize::from(was_in_line);
        self.place(old);
        self.leave_class(old);
        self.look = true;
        match never {
            Some(by) => self.finish(id.0, State::Skipped(by)),
            None => self.ready(id.0),
        }
        Ok(())
    }
    /// Another start time, or one for the first time.
    fn change_begin(&mut self, id: u64, begin: Time, at: Option<OfDay>) {
        let begin = at.map_or(begin, |at| self.next_look(at));
        let now = self.now;
        let job = self.table.at(id);
        if job.waits & TIME != 0 {
            let rare = job.rare_mut();
            rare.at = at;
            if rare.begin == begin {
                return;
            }
            (rare.begin, rare.at) = (0, None);
            job.waits &= !TIME;
            self.armed -= 1;
        }
        if begin > now {
            let rare = self.table.at(id).rare_mut();
            (rare.begin, rare.at) = (begin, at);
            self.set_timer(id, begin);
        }
    }
    /// One of the jobs that it waits for is enough. Those that are open no more have ended as was
    /// asked: else the job would have been skipped.
    fn change_any(&mut self, id: u64) {
        let job = self.table.at(id);
        let (waits, open) = (job.waits & DEPENDS != 0, job.open as usize);
        let Some(rare) = job.rare.as_deref_mut().filter(|rare| waits && !rare.any) else { return };
        rare.any = true;
        if open < rare.after.len() {
            (job.open, job.waits) = (0, job.waits & !DEPENDS);
        }
    }
    /// Other jobs to wait for. Returns the one because of which the job never runs.
    fn change_after(&mut self, id: u64, after: Vec<After>, any: bool, known: Known<'_>) -> Option<JobId> {
        let job = self.table.at(id);
        (job.open, job.waits) = (0, job.waits & !DEPENDS);
        let rare = job.rare_mut();
        rare.any = any;
        let old = std::mem::replace(&mut rare.after, Afters::Many(after));
        for on in old.iter() {
            if let Some(on) = self.table.get_mut(on.job.0) {
                on.dependents = self.edges.without(on.dependents, id);
            }
        }
        self.depend(id, known)
    }

    /// Ends a job that has not begun; asks one that runs to stop. An array of which elements have
    /// begun ends with the last of them. Returns the state before.
    pub(crate) fn cancel(&mut self, now: Time, id: JobId) -> Result<State, Refused> {
        self.now = self.now.max(now);
        let state = self.state(id)?;
        let Some(job) = self.table.get_mut(id.0) else { return Err(Refused::InArray(id)) };
        if job.array != 0 && state == State::Pending && job.waits & DEPENDS != 0 {
            return Err(Refused::InArray(id));
        }
        if state == State::Pending
            && let Some(elements) = job.elements()
        {
            elements.closed = true;
            job.rare_mut().stopping = Some(Stop::Cancelled);
            let class = job.class;
            self.stale += usize::from(job.waits == 0);
            self.place(class);
            self.look = true;
            let (from, to) = (id.0 + 1, id.0 + u64::from(self.arrays[&id.0]));
            let has_begun = |job: &Record<P>| job.waits & DEPENDS == 0;
            let begun = self.table.between(from, to).filter(|(_, job)| has_begun(job));
            let begun: Vec<u64> = begun.map(|element| element.0).collect();
            for element in begun {
                self.cancel_one(element);
            }
            self.settle_array(id.0);
        } else {
            self.cancel_one(id.0);
        }
        Ok(state)
    }

    /// Cancels all that have not ended. The last come first: so what waits for another is cancelled
    /// before that has an end.
    pub(crate) fn cancel_all(&mut self, now: Time) {
        let all = self.table.iter().filter(|(_, job)| !job.state.is_final());
        let all: Vec<u64> = all.map(|(id, _)| id).collect();
        for id in all.into_iter().rev() {
            // (It may have ended meanwhile, or be an element of an array that was cancelled.)
            _ = self.cancel(now, JobId(id));
        }
    }

    fn cancel_one(&mut self, id: u64) {
        let Some(job) = self.table.get_mut(id) else { return };
        match job.state {
            State::Pending => self.finish(id, State::Cancelled),
            State::Running | State::Suspended | State::Overdue => {
                if job.stopping() == Some(Stop::Cancelled) {
                    return;
                }
                let (until, before) = (std::mem::take(&mut job.until), job.stopping());
                job.rare_mut().stopping = Some(Stop::Cancelled);
                if until > 0 {
                    match before {
                        None => _ = self.ends.remove(&(until, id)),
                        Some(_) => self.armed -= 1,
                    }
                }
                self.out.push_back(Decision::Stop { id: JobId(id), why: Stop::Cancelled });
                self.resume_to_stop(id);
            }
            _ => {}
        }
    }

    /// The job that has just started does not run yet: its wall time begins by
    /// [`really_begins`](Self::really_begins).
    pub(crate) fn begins_later(&mut self, id: JobId) {
        let Some(job) = self.table.get_mut(id.0).filter(|job| job.until > 0) else { return };
        let until = std::mem::take(&mut job.until);
        self.ends.remove(&(until, id.0));
    }
    /// It runs from now on. (If it was told to stop meanwhile, that has no end.)
    pub(crate) fn really_begins(&mut self, now: Time, id: JobId) {
        self.now = self.now.max(now);
        let Some(job) = self.table.get_mut(id.0).filter(|job| job.state == State::Running) else { return };
        job.started = self.now;
        let wall = self.classes.get(job.class).key.wall.filter(|_| job.stopping().is_none());
        if let Some(wall) = wall {
            job.until = self.now.saturating_add(wall);
            self.ends.insert((job.until, id.0));
        }
    }

    /// From now on there is so much of a resource. Jobs that run keep what they have.
    pub(crate) fn set_capacity(&mut self, resource: Resource, amount: u64) {
        self.capacity[resource as usize] = amount;
        self.look = true;
        let all: Vec<u32> = self.lacking.iter().flatten().map(|entry| entry.1).collect();
        for class in all {
            self.look_again(class);
        }
    }

    /// What happens by the time alone.
    pub(super) fn fire(&mut self) {
        let now = self.now;
        while let Some(&(until, id)) = self.ends.first().filter(|end| end.0 <= now) {
            self.ends.remove(&(until, id));
            let overdue = now.saturating_add(self.rules.grace);
            let job = self.table.at(id);
            job.rare_mut().stopping = Some(Stop::WallTime);
            job.until = overdue;
            self.arm(id, overdue);
            self.out.push_back(Decision::Stop { id: JobId(id), why: Stop::WallTime });
            self.resume_to_stop(id);
        }
        while self.timers.peek().is_some_and(|timer| timer.0.0 <= now) {
            let Some(timer) = self.pop_timer() else { break };
            if !counts(&self.table, timer) {
                continue;
            }
            self.armed -= 1;
            let job = self.table.at(timer.1);
            if job.state == State::Pending {
                let at = std::mem::take(&mut job.rare_mut().at);
                job.waits &= !TIME;
                // (The time of day may not have come.)
                self.change_begin(timer.1, now, at);
                self.ready(timer.1);
            } else {
                job.until = 0;
                if job.state == State::Running {
                    job.state = State::Overdue;
                    self.out.push_back(Decision::Overdue { id: JobId(timer.1) });
                }
            }
        }
        self.forget_old();
    }
}
