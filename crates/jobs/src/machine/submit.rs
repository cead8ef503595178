//! What is accepted, and what is refused with the limit named.

use super::line::ClassKey;
use super::spec::{
    After, Afters, ArrayRequest, CPU, Demand, JobId, MEMORY, Plain, Refused, Request, State, WHOLE, verdict,
};
use super::table::{DEPENDS, Edge, Elements, HELD, NONE, Rare, Record};
use super::{Machine, Resource, Time};
use myriad_base::pieces::Boxed;

/// A job of which a handle says how it ended: the machine may have forgotten the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedJob {
    pub id: JobId,
    pub state: State,
    /// Of an array: how many elements it had.
    pub elements: u32,
}
/// The ended jobs that a request names by their handles, sorted by number.
pub(crate) type Known<'a> = &'a [EndedJob];

impl<P: Clone> Machine<P> {
    /// Would this be accepted?
    pub(crate) fn accept(&self, request: &Request, known: Known<'_>) -> Result<(), Refused> {
        self.accept_plain(request.priority, &request.demand)?;
        for after in &request.after {
            self.accept_after(*after, known)?;
        }
        if let Some(array) = request.array {
            if array.len == 0 || array.at_once == 0 {
                return Err(Refused::EmptyArray);
            }
            if let Some(other) = array.each_of {
                let len = match self.table.get(other.0) {
                    Some(job) => job.rare().and_then(|rare| rare.elements.as_ref()).map_or(0, |other| other.len),
                    // Each element of an array that is done was done. Of another one that is
                    // forgotten nobody knows which were.
                    None => match ended(known, other) {
                        Some(EndedJob { state: State::Done, elements, .. }) => elements,
                        Some(_) => return Err(Refused::Forgotten(other)),
                        None => self.state(other).map(|_| 0)?,
                    },
                };
                if len != array.len {
                    return Err(Refused::NotAlike(other));
                }
            }
        }
        Ok(())
    }

    /// The same of a job that asks for nothing else.
    #[inline]
    pub(crate) fn accept_plain(&self, priority: i32, demand: &Demand) -> Result<(), Refused> {
        if !(-9999..=9999).contains(&priority) {
            return Err(Refused::Priority(priority));
        }
        self.fits_at_all(demand)
    }

    /// Is that a job to wait for?
    pub(crate) fn accept_after(&self, after: After, known: Known<'_>) -> Result<(), Refused> {
        self.state_of(after.job, known).map(|_| ())
    }

    /// Does the demand fit the machine as a whole?
    #[inline]
    pub(super) fn fits_at_all(&self, demand: &Demand) -> Result<(), Refused> {
        match demand.parts().iter().find(|part| part.1 > self.capacity[part.0 as usize]) {
            None => Ok(()),
            Some(&(resource, wants)) => Err(Refused::Infeasible {
                resource: self.names[resource as usize].clone(),
                wants: amount(resource, wants).into(),
                there: amount(resource, self.capacity[resource as usize]).into(),
            }),
        }
    }

    fn state_of(&self, id: JobId, known: Known<'_>) -> Result<State, Refused> {
        ended(known, id).map_or_else(|| self.state(id), |known| Ok(known.state))
    }

    /// Takes what [`accept`](Self::accept) has just accepted, out of the request.
    pub(crate) fn submit(&mut self, now: Time, request: &mut Request, known: Known<'_>, payload: P) -> JobId {
        self.now = self.now.max(now);
        let begin = request.at.map_or(request.begin, |at| self.next_look(at));
        let Request { name, user, at, after, retry, .. } = request;
        let (priority, any, held, array) = (request.priority, request.any, request.held, request.array);
        let demand = std::mem::take(&mut request.demand);
        let key = ClassKey { group: request.group, wall: request.wall, demand };
        let is_late = begin > self.now;
        if name.is_none() && user.is_none() && !is_late && after.is_empty() && retry.times == 0 && array.is_none() {
            return self.submit_in_class(key, priority, held, payload);
        }
        let id = self.table.reserve(1 + u64::from(array.map_or(0, |array| array.len)));
        let elements = array.map(|array| Box::new(self.elements(id, array)));
        let rare = Rare {
            name: name.take(),
            user: user.take(),
            retry: *retry,
            after: Afters::Many(std::mem::take(after)),
            any,
            elements,
            begin: if is_late { begin } else { 0 },
            at: at.filter(|_| is_late),
            ..Rare::default()
        };
        self.put_in(id, key, priority, held, payload, Some(Boxed::new(rare)));
        if let Some(array) = array {
            self.arrays.insert(id, array.len);
        }
        if is_late {
            self.set_timer(id, begin);
        }
        match self.depend(id, known) {
            Some(by) => self.finish(id, State::Skipped(by)),
            None => self.ready(id),
        }
        if self.table.get(id).is_some_and(|job| job.rare().is_some_and(|rare| rare.elements.is_some())) {
            self.settle_array(id);
        }
        JobId(id)
    }

    /// The same of a job that asks for nothing else than a priority, processors and memory.
    #[inline]
    pub(crate) fn submit_plain(&mut self, now: Time, plain: &Plain, demand: Demand, payload: P) -> JobId {
        self.now = self.now.max(now);
        self.submit_in_class(ClassKey { group: 0, wall: None, demand }, plain.priority, plain.held, payload)
    }
    /// The same of one that has one dependency, too, which was accepted.
    pub(crate) fn submit_after(
        &mut self,
        now: Time,
        plain: &Plain,
        demand: Demand,
        (after, known): (After, Known<'_>),
        payload: P,
    ) -> JobId {
        self.now = self.now.max(now);
        let key = ClassKey { group: 0, wall: None, demand };
        let verdict = self.verdict_of(after, known);
        let id = self.table.reserve(1);
        let rare = Rare { after: Afters::One(after), ..Rare::default() };
        self.put_in(id, key, plain.priority, plain.held, payload, Some(Boxed::new(rare)));
        match verdict {
            Some(true) => self.ready(id),
            Some(false) => self.finish(id, State::Skipped(after.job)),
            None => {
                self.add_edge(id, after);
                let job = self.table.at(id);
                job.open = 1;
                job.waits |= DEPENDS;
            }
        }
        JobId(id)
    }
    fn submit_in_class(&mut self, key: ClassKey, priority: i32, held: bool, payload: P) -> JobId {
        let id = self.table.reserve(1);
        self.put_in(id, key, priority, held, payload, None);
        if !held {
            self.line_up(id);
        }
        JobId(id)
    }
    #[inline]
    fn put_in(&mut self, id: u64, key: ClassKey, priority: i32, held: bool, payload: P, rare: Option<Boxed<Rare>>) {
        let class = self.classes.of(key);
        self.alive += 1;
        self.table.insert(
            id,
            Record {
                state: State::Pending,
                waits: if held { HELD } else { 0 },
                class,
                priority,
                seq: 0,
                dependents: NONE,
                open: 0,
                passed: 0,
                note: 0,
                array: 0,
                submitted: self.now,
                started: 0,
                ended: 0,
                until: 0,
                payload: Some(payload),
                rare,
            },
        );
    }

    /// Notes the open dependencies. Returns the one because of which the job never runs.
    pub(super) fn depend(&mut self, id: u64, known: Known<'_>) -> Option<JobId> {
        let rare = self.table.at(id).rare_mut();
        let (after, any) = (std::mem::take(&mut rare.after), rare.any);
        let never = self.depend_on(id, &after, any, known);
        self.table.at(id).rare_mut().after = after;
        never
    }
    fn depend_on(&mut self, id: u64, after: &[After], any: bool, known: Known<'_>) -> Option<JobId> {
        let (mut is_met, mut open, mut never) = (after.is_empty(), 0, None);
        for after in after {
            match self.verdict_of(*after, known) {
                Some(true) => is_met |= any,
                Some(false) => never = never.or(Some(after.job)),
                None => open += 1,
            }
        }
        if is_met {
            return None;
        }
        if never.is_some() && (!any || open == 0) {
            return never;
        }
        for after in after {
            if self.verdict_of(*after, known).is_none() {
                self.add_edge(id, *after);
            }
        }
        if open > 0 {
            let job = self.table.at(id);
            job.open = open;
            job.waits |= DEPENDS;
        }
        None
    }
    /// This job waits for that one, which may be an element that has no record yet.
    fn add_edge(&mut self, id: u64, after: After) {
        let on = after.job.0;
        if self.table.get(on).is_none() {
            self.make_element(on);
        }
        let dependents = &mut self.table.at(on).dependents;
        *dependents = self.edges.add(Edge { job: id, when: after.when, next: *dependents });
    }
    /// Of a dependency of a job that is submitted.
    fn verdict_of(&self, after: After, known: Known<'_>) -> Option<bool> {
        match self.state_of(after.job, known) {
            Ok(state) => verdict(after.when, self.shown(after.job, state)),
            Err(_) => Some(false),
        }
    }

    fn elements(&mut self, id: u64, request: ArrayRequest) -> Elements {
        let ArrayRequest { len, at_once, max_failures, each_of } = request;
        let mut elements = Elements { len, at_once, max_failures, ..Elements::default() };
        // (One that is forgotten was done, as `accept` saw: nothing is to be waited for.)
        if let Some(other) = each_of
            && let Some(theirs) = self.table.get_mut(other.0)
        {
            elements.each_of = other.0;
            let is_over = theirs.state.is_final();
            let Some(theirs) = theirs.elements() else { return elements };
            if !is_over {
                theirs.followers.push(id);
            }
            for at in 0..len {
                match theirs.end_of(at) {
                    Some(true) => elements.ready.push_back(at),
                    None if !is_over => {}
                    _ => {
                        elements.set_end(at, false);
                        elements.skipped += 1;
                        elements.ended += 1;
                        elements.failed += 1;
                    }
                }
            }
        }
        elements
    }
}

fn ended(known: Known<'_>, id: JobId) -> Option<EndedJob> {
    known.binary_search_by_key(&id, |known| known.id).ok().map(|at| known[at])
}

/// As a person reads it: "2.5", "2.0 GB".
pub(crate) fn amount(resource: Resource, amount: u64) -> String {
    if resource == MEMORY {
        return memory(amount);
    }
    let text = format!("{}.{:04}", amount / WHOLE, amount % WHOLE);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if resource == CPU { format!("{text} cpus") } else { text.to_owned() }
}

/// Bytes, as a person reads them.
pub(crate) fn memory(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit < UNITS.len() - 1 {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}
