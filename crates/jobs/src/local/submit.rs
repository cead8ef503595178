//! A job comes into the queue.

use super::cell::Slot;
use super::counted::Counted;
use super::event::Event;
use super::job::{Asks, JobRef};
use super::shared::{Payload, Shared, Turn};
use crate::machine::{After, CPU, Demand, JobId, MEMORY, Plain, Refused, When};
use std::sync::Arc;

impl Shared {
    /// Takes a job that asks for nothing but what is plain, and perhaps depends on one job.
    #[inline]
    pub(super) fn submit_plain(
        self: &Arc<Self>,
        plain: &Plain,
        after: Option<&(JobRef, When)>,
        body: Payload,
    ) -> Result<JobId, Refused> {
        if let Some((job, _)) = after {
            job.in_queue(self.number)?;
        }
        let (now, demand) = (self.now(), Demand::of_plain(plain));
        let mut turn = Turn::default();
        // (The handle has the body, too: so nothing of the user's is dropped under the lock.)
        let id = self.locked(|inner| {
            if inner.closed {
                return Err(Refused::Closed);
            }
            inner.machine.accept_plain(plain.priority, &demand)?;
            let id = match after {
                None => inner.machine.submit_plain(now, plain, demand, body),
                Some((job, when)) => {
                    let (after, known) = (After { job: job.id, when: *when }, job.ended());
                    inner.machine.accept_after(after, known.as_slice())?;
                    inner.machine.submit_after(now, plain, demand, (after, known.as_slice()), body)
                }
            };
            self.turn(inner, now, &mut turn);
            Ok(id)
        })?;
        self.carry_out(&mut turn);
        self.listeners.tell([Event::Submitted { id }]);
        Ok(id)
    }

    /// Takes any job.
    pub(super) fn submit<T: 'static>(
        self: &Arc<Self>,
        plain: &Plain,
        mut asks: Box<Asks>,
        again: bool,
        slot: &Counted<dyn Slot<T>>,
    ) -> Result<JobId, Refused> {
        if let Some(wrong) = asks.wrong.take() {
            return Err(wrong);
        }
        if asks.request.retry.times > 0 && !again {
            return Err(Refused::OnlyOnce);
        }
        for job in &asks.named_jobs {
            job.in_queue(self.number)?;
        }
        let now = self.now();
        let asks = &mut *asks;
        let request = &mut asks.request;
        (request.priority, request.held) = (plain.priority, plain.held);
        request.demand.set(CPU, plain.cpu);
        request.demand.set(MEMORY, plain.memory);
        (request.begin, request.at) = (asks.begin.time(now), asks.begin.at());
        let mut turn = Turn::default();
        let id = self.locked(|inner| {
            if inner.closed {
                return Err(Refused::Closed);
            }
            // (Under the lock: a job that the machine has forgotten has noted its end.)
            let mut known: Vec<_> = asks.named_jobs.iter().filter_map(JobRef::ended).collect();
            known.sort_unstable_by_key(|known| known.id);
            for (name, amount) in &asks.named {
                request.demand.set(inner.machine.resource(name)?, *amount);
            }
            if let Some(name) = &asks.group {
                request.group = inner.machine.group(name)?;
            }
            inner.machine.accept(request, &known)?;
            slot.limit(&request.demand);
            if again {
                slot.keep(request);
            }
            let id = inner.machine.submit(now, request, &known, slot.clone().into_body());
            slot.note_submitted(id);
            self.turn(inner, now, &mut turn);
            Ok(id)
        })?;
        self.carry_out(&mut turn);
        self.listeners.tell([Event::Submitted { id }]);
        Ok(id)
    }
}
