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

use super::line::{Placed, Rank, is_in_line};
use super::spec::{Handover, JobId, State, Time};
use super::table::{NONE, Record};
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
        let (rank, class) = group.ready.only().filter(|_| group.lacking.first().is_none())?;
        let key = &self.classes.get(class).key;
        // (Capacity may have shrunk.)
        let is_too_much =
            key.demand.parts().iter().any(|part| self.used[part.0 as usize] > self.capacity[part.0 as usize]);
        if is_too_much || key.wall.is_some() {
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
}
