//! The end of a job, and the start of the next one of its kind.
//!
//! Mostly a queue is full, all that is ready is of one class, and one of that class ends well: then
//! the next one of the class starts, and nothing else. It holds what the other one held. That is
//! decided here at once; all else by [`ended`](Machine::ended) and [`decide`](Machine::decide),
//! which come to the same.
//!
//! **Why nothing else can start.** Before the end nothing could (`look` says so), although all that
//! is ready is of this class: so its first job lacked something, or a place. After the end there is
//! as much free as this class wants more than before, and one place more. Its next job takes both.
//!
//! **A chain.** Or nothing is ready, and one job of the class waits for that end alone: then that
//! one starts. It passes through no line, as nobody else could see it there.

use super::line::{Placed, Rank, is_in_line};
use super::spec::{Handover, JobId, State, Time, When, verdict};
use super::table::{DEPENDS, NONE, Record};
use super::{Machine, Outcome, Report};

impl<P: Clone> Machine<P> {
    /// The run of a job has ended so, with this report; and what can start starts. Returned is what
    /// is decided by that, or it is noted as other decisions are.
    #[inline]
    pub(crate) fn end_and_decide(
        &mut self,
        now: Time,
        id: JobId,
        outcome: Outcome,
        report: Option<Box<Report>>,
    ) -> Option<Handover<P>> {
        self.now = self.now.max(now);
        let is_simple = outcome == Outcome::Done && report.is_none() && self.out.is_empty();
        if is_simple && let Some(handover) = self.hand_over(id.0) {
            return Some(handover);
        }
        self.report(id, report);
        self.ended(now, id, outcome);
        self.decide(now);
        None
    }

    /// See the module's header. `None`: it is not so simple, and nothing has changed.
    fn hand_over(&mut self, id: u64) -> Option<Handover<P>> {
        if self.look || !self.resuming.is_empty() || self.rules.unnamed || self.has_come() {
            return None;
        }
        let [group] = &*self.groups else { return None };
        if group.ready.first().is_none() {
            return self.hand_on(id);
        }
        let (rank, class) = group.ready.only().filter(|_| group.lacking.first().is_none())?;
        if !self.can_repeat(class) {
            return None;
        }
        let is_plain =
            |job: &&Record<P>| job.class == class && job.rare.is_none() && job.dependents == NONE && job.array == 0;
        let job = self.table.get(id).filter(is_plain)?;
        if job.state != State::Running || job.passed != 0 {
            return None;
        }
        let next = self.table.get_mut(rank.id).filter(|job| is_plain(&&**job))?;
        if Rank::new(next.priority, (next.seq, rank.id), self.rules.ageing) != rank || !is_in_line(next, class) {
            return None;
        }
        let payload = next.payload.clone()?;

        (next.state, next.started) = (State::Running, self.now);
        let ended = self.table.remove(id);
        (self.alive, self.starts, self.ended[0]) = (self.alive - 1, self.starts + 1, self.ended[0] + 1);
        self.groups[0].served = self.starts;
        let own = self.classes.at(class);
        own.jobs -= 1; // (The next one is there.)
        own.take_first(rank);
        debug_assert_eq!(own.placed, Placed::Ready(rank));
        self.place(class);
        // (The next one would have the reservation now; nobody passes it before that is looked at.)
        if self.running < self.rules.at_once && self.groups[0].ready.first().is_some() {
            self.reservation.job = 0;
        }
        Some(Handover { ended, next: JobId(rank.id), payload })
    }

    /// What a job of this class gives back is enough for the next one. (Capacity may have shrunk.)
    fn can_repeat(&self, class: u32) -> bool {
        let key = &self.classes.get(class).key;
        let is_there = |part: &(super::Resource, u64)| self.used[part.0 as usize] <= self.capacity[part.0 as usize];
        key.wall.is_none() && key.demand.parts().iter().all(is_there)
    }

    /// Nothing is ready: does the only job that waits for this one start? `None`: it is not so
    /// simple, and nothing has changed.
    fn hand_on(&mut self, id: u64) -> Option<Handover<P>> {
        if self.groups[0].lacking.first().is_some() || self.running > self.rules.at_once {
            return None;
        }
        let is_plain = |job: &&Record<P>| {
            let is_simple = |rare: &super::table::Rare| {
                rare.name.is_none() && rare.elements.is_none() && rare.stopping.is_none() && rare.report.is_none()
            };
            job.array == 0 && job.until == 0 && job.passed == 0 && job.rare().is_none_or(is_simple)
        };
        let job = self.table.get(id).filter(is_plain).filter(|job| job.state == State::Running)?;
        let (class, at) = (job.class, job.dependents);
        let only = |at: u32| self.edges.known(at).filter(|edge| edge.next == NONE);
        let edge = only(at).filter(|edge| verdict(edge.when, State::Done) == Some(true))?;
        let next = self.table.get(edge.job).filter(is_plain)?;
        let waits_for_this = next.state == State::Pending && next.waits == DEPENDS && next.open == 1;
        let is_first = next.rare().is_none_or(|rare| rare.attempts == 0);
        // (Those who wait for its start would be ready by that.)
        let tells_nobody = next.dependents == NONE || only(next.dependents)?.when != When::Started;
        if !waits_for_this || !is_first || !tells_nobody || next.class != class || !self.can_repeat(class) {
            return None;
        }
        let payload = next.payload.clone()?;

        let seq = if next.seq == 0 { self.next_seq() } else { next.seq };
        self.edges.remove(at);
        let ended = self.table.remove(id);
        self.classes.at(class).jobs -= 1; // (The next one is there.)
        let next = self.table.at(edge.job);
        (next.state, next.started, next.waits, next.open, next.seq) = (State::Running, self.now, 0, 0, seq);
        next.rare.iter_mut().for_each(|rare| rare.attempts = 1);
        (self.alive, self.starts, self.ended[0]) = (self.alive - 1, self.starts + 1, self.ended[0] + 1);
        self.groups[0].served = self.starts;
        Some(Handover { ended, next: JobId(edge.job), payload })
    }
}
