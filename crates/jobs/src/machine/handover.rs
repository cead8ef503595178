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
//! **Behind one that does not fit.** Or there are two classes: the first job of one has the
//! reservation, and lacks what the other class does not want; that other one goes on as above. The
//! next job passes the reserved one as the one that has ended did: it takes nothing that is kept.
//!
//! **A chain.** Or nothing is ready, and one job of the class waits for that end alone: then that
//! one starts. It passes through no line, as nobody else could see it there.

use super::line::{Rank, is_first, is_in_line};
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
        // (A job that went on to stop is one more than may run: then an end gives no place.)
        let is_over = self.running > self.rules.at_once;
        if self.look || is_over || !self.resuming.is_empty() || self.rules.unnamed || self.has_come() {
            return None;
        }
        let [group] = &*self.groups else { return None };
        if group.ready.first().is_none() && group.lacking.first().is_none() {
            return self.hand_on(id);
        }
        let is_plain = |job: &&Record<P>| job.rare.is_none() && job.dependents == NONE && job.array == 0;
        let job = self.table.get(id).filter(is_plain).filter(|job| job.state == State::Running)?;
        let (class, passed) = (job.class, job.passed);
        let rank = self.next_of_class(class, passed).filter(|_| self.can_repeat(class))?;
        let next = self.table.get_mut(rank.id).filter(|job| is_plain(&&**job))?;
        if Rank::new(next.priority, (next.seq, rank.id), self.rules.ageing) != rank || !is_in_line(next, class) {
            return None;
        }
        let payload = next.payload.clone()?;

        (next.state, next.started, next.passed) = (State::Running, self.now, passed);
        let ended = self.table.remove(id);
        (self.alive, self.starts, self.ended[0]) = (self.alive - 1, self.starts + 1, self.ended[0] + 1);
        self.groups[0].served = self.starts;
        let own = self.classes.at(class);
        own.jobs -= 1; // (The next one is there.)
        own.take_first(rank);
        debug_assert_eq!(own.placed.rank(), Some(rank));
        self.place(class);
        // (The next one would have the reservation now; nobody passes it before that is looked at.)
        if passed == 0 && self.running < self.rules.at_once && self.groups[0].ready.first().is_some() {
            self.reservation.job = 0;
        }
        Some(Handover { ended, next: JobId(rank.id), payload })
    }

    /// The job of this class that starts, and nothing else, once one of the class has ended, which
    /// has passed the reserved job or (0) has not.
    fn next_of_class(&self, class: u32, passed: u32) -> Option<Rank> {
        let group = &self.groups[0];
        if let Some((rank, only)) = group.ready.only().filter(|_| group.lacking.first().is_none()) {
            return (only == class && passed == 0).then_some(rank);
        }
        let [head, (rank, other)] = group.pair()?;
        let (mine, theirs) = (&self.classes.get(class).key.demand, &self.classes.get(head.1).key.demand);
        let is_behind = other == class && passed == self.reservation.number && self.reservation.job == head.0.id;
        let is_apart = mine.parts().iter().all(|part| theirs.of(part.0) == 0);
        let has_place = self.running < self.rules.at_once;
        let is_stuck = is_first(&self.table, head.1, head.0, self.rules.ageing) && self.lacks(head.1).is_some();
        (is_behind && is_apart && has_place && is_stuck).then_some(rank)
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
