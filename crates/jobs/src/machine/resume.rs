//! Jobs that wait for others of their queue: they are suspended, and go on.
//!
//! A suspended job holds nothing. Once its wait is over it goes on as soon as there is room, before
//! all jobs that have not begun. Until then what the job wants is *kept*: the resources, a place of
//! its group and one of the queue. Nobody else takes what is kept, so the job goes on at the latest
//! when all have ended that run now. All else is there for others: a place that is taken for hours
//! stops nobody who does not want it.
//!
//! **A job that is to stop** goes on at once, and for the time of its unwinding more may be held
//! than there is. For what it waits may end by that only: a guard of the job cancels it.

use super::Machine;
use super::spec::{Decision, JobId, State};
use super::table::Record;

/// For so many jobs something is kept at most; those behind them wait. So the end of a job costs
/// the same however many want to go on.
const KEPT_FOR: usize = 64;

impl<P: Clone> Machine<P> {
    /// A running job waits for others of its queue: it gives its resources back. False: it does not
    /// run.
    pub(crate) fn suspend(&mut self, id: JobId) -> bool {
        let runs = |job: &&mut Record<P>| matches!(job.state, State::Running | State::Overdue);
        let Some(job) = self.table.get_mut(id.0).filter(runs) else { return false };
        job.state = State::Suspended;
        let (class, passed) = (job.class, std::mem::take(&mut job.passed));
        self.give_back(class, passed);
        true
    }

    /// The suspended job wants to go on: [`Decision::Resume`] says when. False: it does so now.
    pub(crate) fn resume(&mut self, id: JobId) -> bool {
        let Some(job) = self.table.get(id.0).filter(|job| job.state == State::Suspended) else { return false };
        if job.stopping().is_some() {
            self.go_on(id.0);
            return false;
        }
        self.resuming.push_back(id.0);
        self.look = true;
        true
    }

    /// This job is to stop. If it wants to go on, it waits for room no more.
    pub(super) fn resume_to_stop(&mut self, id: u64) {
        let is_suspended = self.table.get(id).is_some_and(|job| job.state == State::Suspended);
        if is_suspended && self.resuming.contains(&id) {
            self.resuming.retain(|other| *other != id);
            self.go_on(id);
            self.look = true; // (What was kept for it is free.)
        }
    }

    /// All go on for which there is room; for the others it is kept.
    pub(super) fn resume_all(&mut self) {
        if self.kept_places > 0 {
            self.kept_places = 0;
            self.kept.fill(0);
            self.groups.iter_mut().for_each(|group| group.kept = 0);
        }
        let mut left = KEPT_FOR;
        let mut resuming = std::mem::take(&mut self.resuming);
        resuming.retain(|&id| left == 0 || self.still_waits(id, &mut left));
        self.resuming = resuming;
    }

    /// False: the job goes on, or has ended.
    fn still_waits(&mut self, id: u64, left: &mut usize) -> bool {
        let suspended = self.table.get(id).filter(|job| job.state == State::Suspended);
        let Some(class) = suspended.map(|job| job.class) else { return false };
        let group = &self.groups[self.classes.get(class).key.group as usize];
        if !group.is_full() && self.places() > 0 && self.has_room_again(class) {
            self.go_on(id);
            return false;
        }
        self.keep(class);
        *left -= 1;
        true
    }

    fn keep(&mut self, class: u32) {
        let key = &self.classes.get(class).key;
        let group = &mut self.groups[key.group as usize];
        if group.kept >= group.limit {
            return; // As many as may run at a time come before it.
        }
        group.kept += 1;
        self.kept_places += 1;
        for &(resource, amount) in key.demand.parts() {
            let kept = &mut self.kept[resource as usize];
            *kept = kept.saturating_add(amount.min(self.capacity[resource as usize]));
        }
    }

    /// May a suspended job of this class go on? One that wants more than there is, since the
    /// capacity shrank, takes all that there is.
    fn has_room_again(&self, class: u32) -> bool {
        let wants = |part: &(super::Resource, u64)| part.1.min(self.capacity[part.0 as usize]);
        self.classes.get(class).key.demand.parts().iter().all(|part| wants(part) <= self.free(part.0))
    }

    fn go_on(&mut self, id: u64) {
        let job = self.table.at(id);
        job.state = State::Running;
        let class = job.class;
        self.hold_resources(class);
        self.out.push_back(Decision::Resume { id: JobId(id) });
    }
}
