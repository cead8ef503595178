//! The same rules, written as plainly as possible: all jobs in one list, all sorted anew for each
//! start. It shares with the machine the words (`spec`), and nothing else.
//!
//! (Over 600 lines: it is read as one text, beside the rules.)

use crate::machine::spec::{Stop, verdict};
use crate::machine::{After, Change, Decision, Demand, JobId, Outcome, Request, Rules, State, Time};

#[derive(Debug, Clone)]
struct ModelJob {
    request: Request,
    state: State,
    held: bool,
    /// Open dependencies, or none.
    open: Vec<After>,
    waits_until: Option<Time>,
    seq: u64,
    attempts: u32,
    stopping: Option<Stop>,
    /// The end of its wall time.
    ends: Option<Time>,
    overdue: Option<Time>,
    /// It has passed the reserved job.
    passed: bool,
    /// An element's array, and its index.
    array: Option<(usize, u32)>,
    /// Of an element: it has begun.
    begun: bool,
    /// Of an element: others have depended on it before it began.
    has_record: bool,
    /// Of an array: no more begin.
    closed: bool,
    /// Of an element: its partner in another array is done.
    is_free: bool,
    /// Of an element: that one never will be.
    is_skipped: bool,
    /// Of an array whose elements wait for others: those that may begin, in that order.
    queue: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Model {
    rules: Rules,
    pub(super) now: Time,
    capacity: Vec<u64>,
    /// Limit, and the count of starts when one of the group started last.
    groups: Vec<(u64, u64)>,
    /// By number, from 1.
    jobs: Vec<ModelJob>,
    reserved: usize,
    resuming: Vec<usize>,
    /// Those of them that lack something, which is kept for them.
    kept_for: Vec<usize>,
    seq: u64,
    starts: u64,
    /// Who ends because of others, in that order.
    ending: Vec<(usize, State)>,
    pub(super) out: Vec<Decision<u32>>,
}

/// See [`Model::waits_for`].
#[derive(Debug)]
pub(super) enum WaitsFor {
    Release,
    Jobs(Vec<After>),
    Time,
    Room,
}

type Key = (i64, u64, usize);

impl Model {
    pub(super) fn new(rules: Rules, capacity: &[u64], groups: &[u64]) -> Model {
        let groups = std::iter::once(u64::MAX).chain(groups.iter().copied()).map(|limit| (limit, 0)).collect();
        Model {
            rules,
            now: 0,
            capacity: capacity.to_vec(),
            groups,
            jobs: Vec::new(),
            reserved: 0,
            resuming: Vec::new(),
            kept_for: Vec::new(),
            seq: 0,
            starts: 0,
            ending: Vec::new(),
            out: Vec::new(),
        }
    }
    fn at(&mut self, id: usize) -> &mut ModelJob {
        &mut self.jobs[id - 1]
    }
    pub(super) fn groups(&self) -> u64 {
        self.groups.len() as u64
    }
    pub(super) fn all(&self) -> impl Iterator<Item = (JobId, State)> {
        (1..=self.jobs.len()).map(|id| (JobId(id as u64), self.jobs[id - 1].state))
    }
    pub(super) fn state(&self, id: usize) -> State {
        self.jobs[id - 1].state
    }
    /// Not an element that has not begun.
    pub(super) fn is_known(&self, id: usize) -> bool {
        let job = &self.jobs[id - 1];
        job.array.is_none() || job.begun
    }

    /// Has each element of this array begun, or its array for this element?
    pub(super) fn has_all_begun(&self, id: usize) -> bool {
        let array = self.jobs[id - 1].array.map_or(id, |array| array.0);
        let Some(request) = self.jobs[array - 1].request.array else { return false };
        self.jobs[array..array + request.len as usize].iter().all(|job| job.begun)
    }

    /// The first reason why a pending job has not begun, as far as it is the job's own.
    pub(super) fn waits_for(&self, id: usize) -> WaitsFor {
        let job = &self.jobs[id - 1];
        if job.held {
            WaitsFor::Release
        } else if !job.open.is_empty() {
            WaitsFor::Jobs(job.open.clone())
        } else if job.waits_until.is_some() {
            WaitsFor::Time
        } else {
            WaitsFor::Room
        }
    }
    /// Do as many of the group run as may?
    pub(super) fn is_full(&self, id: usize) -> bool {
        let group = self.jobs[id - 1].request.group;
        self.running(Some(group)) >= self.groups[group as usize].0
    }

    fn is_held_by(&self, job: &ModelJob) -> bool {
        matches!(job.state, State::Running | State::Overdue) && !self.is_array(job)
    }
    fn is_array(&self, job: &ModelJob) -> bool {
        job.request.array.is_some() && job.array.is_none()
    }
    /// Held, or kept.
    fn used(&self, resource: usize) -> u64 {
        let held =
            self.jobs.iter().filter(|job| self.is_held_by(job)).map(|job| job.request.demand.of(resource as u16));
        let kept = self.kept_for.iter().map(|id| self.wants(*id).of(resource as u16));
        held.sum::<u64>() + kept.sum::<u64>()
    }
    /// What a suspended job wants: of what is more than there is, all that there is.
    fn wants(&self, id: usize) -> Demand {
        let mut demand = self.jobs[id - 1].request.demand.clone();
        for (resource, amount) in self.jobs[id - 1].request.demand.parts() {
            demand.set(*resource, (*amount).min(self.capacity[*resource as usize]));
        }
        demand
    }
    fn fits(&self, demand: &Demand) -> bool {
        demand
            .parts()
            .iter()
            .all(|&(resource, amount)| self.used(resource as usize) + amount <= self.capacity[resource as usize])
    }
    fn running(&self, group: Option<u32>) -> u64 {
        self.jobs
            .iter()
            .filter(|job| self.is_held_by(job) && group.is_none_or(|group| job.request.group == group))
            .count() as u64
    }
    fn kept(&self, group: u32) -> u64 {
        self.kept_for.iter().filter(|id| self.jobs[**id - 1].request.group == group).count() as u64
    }
    fn full(&self, group: u32) -> bool {
        self.running(Some(group)) + self.kept(group) >= self.groups[group as usize].0
    }
    fn places(&self) -> u64 {
        self.rules.at_once.saturating_sub(self.running(None) + self.kept_for.len() as u64)
    }
    /// Is this a suspended job that wants to go on?
    pub(super) fn resumes(&self, id: usize) -> bool {
        self.resuming.contains(&id) && self.state(id) == State::Suspended
    }

    pub(super) fn submit(&mut self, now: Time, request: Request) {
        self.now = self.now.max(now);
        let id = self.jobs.len() + 1;
        let new = |request: &Request, array: Option<(usize, u32)>| ModelJob {
            request: request.clone(),
            state: State::Pending,
            held: request.held && array.is_none(),
            open: Vec::new(),
            waits_until: None,
            seq: 0,
            attempts: 0,
            stopping: None,
            ends: None,
            overdue: None,
            passed: false,
            array,
            begun: false,
            has_record: false,
            closed: false,
            is_free: true,
            is_skipped: false,
            queue: Vec::new(),
        };
        self.jobs.push(new(&request, None));
        if request.begin > self.now {
            self.at(id).waits_until = Some(request.begin);
        }
        for index in 0..request.array.map_or(0, |array| array.len) {
            self.jobs.push(new(&request, Some((id, index))));
        }
        if self.never_runs(id) {
            return;
        }
        if let Some(other) = request.array.and_then(|array| array.each_of) {
            for index in 0..request.array.map_or(0, |array| array.len) {
                let own = id + 1 + index as usize;
                self.at(own).is_free = false;
                let (theirs, leader) =
                    (self.state(other.0 as usize + 1 + index as usize), self.state(other.0 as usize));
                match theirs {
                    State::Done => {
                        self.at(own).is_free = true;
                        self.at(id).queue.push(index);
                    }
                    theirs if theirs.is_final() || leader.is_final() => {
                        self.at(own).state = State::Cancelled;
                        self.at(own).is_skipped = true;
                    }
                    _ => {}
                }
            }
        }
        self.ready(id);
        self.array_moved(id);
    }

    /// Looks at what the job depends on. Has it ended, because it never can run?
    fn never_runs(&mut self, id: usize) -> bool {
        let request = self.at(id).request.clone();
        let verdicts: Vec<_> =
            request.after.iter().map(|after| verdict(after.when, self.seen(after.job.0 as usize))).collect();
        let is_any = request.any && verdicts.contains(&Some(true));
        let impossible = verdicts.iter().position(|verdict| *verdict == Some(false));
        let all_impossible = verdicts.iter().all(|verdict| *verdict == Some(false));
        if let Some(at) = impossible
            && !is_any
            && (!request.any || all_impossible)
        {
            self.finish(id, State::Skipped(request.after[at].job));
            return true;
        }
        if !is_any {
            let open = request.after.iter().zip(&verdicts).filter(|(_, verdict)| verdict.is_none());
            let open: Vec<_> = open.map(|(after, _)| *after).collect();
            open.iter().for_each(|after| self.at(after.job.0 as usize).has_record = true);
            self.at(id).open = open;
        }
        false
    }

    /// Does the first one wait for the second, over others too?
    pub(super) fn waits_for_job(&self, id: usize, other: usize) -> bool {
        let job = &self.jobs[id - 1];
        let array = job.array.filter(|_| !job.begun && !job.state.is_final()).map(|array| array.0);
        let leader = job.request.array.filter(|_| job.array.is_none()).and_then(|array| array.each_of);
        let leader = leader.map(|leader| leader.0 as usize).filter(|leader| !self.state(*leader).is_final());
        let open = job.open.iter().map(|after| after.job.0 as usize);
        id == other || open.chain(array).chain(leader).any(|on| self.waits_for_job(on, other))
    }

    /// The state that dependents see.
    fn seen(&self, id: usize) -> State {
        let job = &self.jobs[id - 1];
        let begun = || {
            (id..id + job.request.array.unwrap().len as usize)
                .any(|at| self.jobs[at].begun || self.jobs[at].state.is_final())
        };
        if job.state == State::Pending && self.is_array(job) && begun() { State::Running } else { job.state }
    }

    fn can_begin(&self, id: usize) -> bool {
        let job = &self.jobs[id - 1];
        if !self.is_array(job) {
            return job.array.is_none() || job.begun;
        }
        let array = job.request.array.unwrap();
        let elements = || &self.jobs[id..id + array.len as usize];
        let alive = elements().iter().filter(|job| job.begun && !job.state.is_final()).count();
        !job.closed && alive < array.at_once as usize && self.next_element(id).is_some()
    }
    fn next_element(&self, id: usize) -> Option<usize> {
        let job = &self.jobs[id - 1];
        let array = job.request.array.unwrap();
        if array.each_of.is_some() {
            return job.queue.first().map(|index| id + 1 + *index as usize);
        }
        (id + 1..=id + array.len as usize).find(|at| !self.jobs[at - 1].begun)
    }

    fn is_ready(&self, id: usize) -> bool {
        let job = &self.jobs[id - 1];
        job.state == State::Pending
            && !job.held
            && job.open.is_empty()
            && job.waits_until.is_none()
            && self.can_begin(id)
    }
    fn ready(&mut self, id: usize) {
        if self.is_ready(id) && self.at(id).seq == 0 {
            self.seq = (self.seq + 1).max(self.now);
            self.at(id).seq = self.seq;
        }
    }

    // Starts.

    fn key(&self, id: usize) -> Key {
        let job = &self.jobs[id - 1];
        let level = match self.rules.ageing {
            Some(step) => job.seq as i64 - i64::from(job.request.priority) * step as i64,
            None => -i64::from(job.request.priority),
        };
        (level, job.seq, id)
    }
    fn order(&self, id: usize) -> (i64, bool, u64, u64, Key) {
        let key = self.key(id);
        let counts_as = match self.rules.ageing {
            Some(step) => (self.now as i64 - key.0).div_euclid(step as i64),
            None => -key.0,
        };
        let group = self.jobs[id - 1].request.group;
        (-counts_as, id != self.reserved, self.running(Some(group)), self.groups[group as usize].1, key)
    }

    /// The job that starts next, and whether it passes.
    fn pick(&mut self) -> Option<(usize, bool)> {
        if self.places() == 0 {
            return None;
        }
        let mut ready: Vec<usize> = (1..=self.jobs.len()).filter(|id| self.is_ready(*id)).collect();
        ready.sort_by_key(|id| self.key(*id));
        // Of jobs that ask for the same only the first one.
        let mut seen = Vec::new();
        ready.retain(|id| {
            let request = &self.jobs[id - 1].request;
            let kind = (request.group, request.wall, request.demand.clone());
            !seen.contains(&kind) && {
                seen.push(kind);
                true
            }
        });
        ready.retain(|id| !self.full(self.jobs[id - 1].request.group));
        ready.retain(|id| {
            self.jobs[id - 1].request.demand.parts().iter().all(|part| part.1 <= self.capacity[part.0 as usize])
        });
        // Each group in its order; of the first ones of all groups always the first.
        let mut in_order = Vec::new();
        while !ready.is_empty() {
            let group = |id: usize| self.jobs[id - 1].request.group;
            let is_first = |at: &usize| !ready[..*at].iter().any(|before| group(*before) == group(ready[*at]));
            let next = (0..ready.len()).filter(is_first).min_by_key(|at| self.order(ready[*at])).unwrap();
            in_order.push(ready.remove(next));
        }
        let mut head = None;
        for id in in_order {
            let fits = self.fits(&self.jobs[id - 1].request.demand);
            match head {
                None if fits => return Some((id, false)),
                None => {
                    head = Some(id);
                    if self.reserved != id {
                        self.reserved = id;
                        self.jobs.iter_mut().for_each(|job| job.passed = false);
                    }
                }
                Some(head) if fits => {
                    if let Some(passes) = self.may_pass(id, head) {
                        return Some((id, passes));
                    }
                }
                Some(_) => {}
            }
        }
        None
    }

    fn may_pass(&self, id: usize, head: usize) -> Option<bool> {
        let (mine, theirs) = (&self.jobs[id - 1].request, &self.jobs[head - 1].request);
        let taken = self.running(Some(mine.group)) + self.kept(mine.group);
        if mine.group == theirs.group && taken + 2 > self.groups[mine.group as usize].0 || self.places() < 2 {
            return None;
        }
        let leaves = (0..self.capacity.len() as u16).all(|resource| {
            let passed: u64 =
                self.jobs.iter().filter(|job| job.passed).map(|job| job.request.demand.of(resource)).sum();
            let (mine, theirs) = (mine.demand.of(resource), theirs.demand.of(resource));
            mine == 0 || theirs == 0 || passed + mine + theirs <= self.capacity[resource as usize]
        });
        if leaves {
            return Some(true);
        }
        // The first end of a running job at which there is room for the reserved one.
        let mut ends: Vec<(Time, usize)> = Vec::new();
        for (at, job) in self.jobs.iter().enumerate() {
            if let (State::Running, Some(end)) = (job.state, job.ends) {
                ends.push((end, at));
            }
        }
        ends.sort_unstable();
        let wall = mine.wall?;
        let start = (0..ends.len()).find(|last| {
            (0..self.capacity.len()).all(|resource| {
                let released: u64 =
                    ends[..=*last].iter().map(|end| self.jobs[end.1].request.demand.of(resource as u16)).sum();
                theirs.demand.of(resource as u16)
                    <= self.capacity[resource].saturating_sub(self.used(resource) - released)
            })
        })?;
        (self.now + wall <= ends[start].0).then_some(false)
    }

    pub(super) fn decide(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.fire();
        self.kept_for.clear();
        for id in std::mem::take(&mut self.resuming) {
            if self.state(id) != State::Suspended {
                continue;
            }
            let group = self.at(id).request.group;
            if self.fits(&self.wants(id)) && !self.full(group) && self.places() > 0 {
                self.go_on(id);
                continue;
            }
            self.resuming.push(id);
            if self.kept(group) < self.groups[group as usize].0 {
                self.kept_for.push(id);
            }
        }
        let mut starts = 0;
        while let Some((id, passes)) = self.pick() {
            self.start(id, passes);
            starts += 1;
            assert!(starts < 1000);
        }
    }

    fn go_on(&mut self, id: usize) {
        self.at(id).state = State::Running;
        self.out.push(Decision::Resume { id: JobId(id as u64) });
    }
    /// Who is to stop waits for no room.
    fn go_on_to_stop(&mut self, id: usize) {
        if self.resumes(id) {
            self.resuming.retain(|other| *other != id);
            self.go_on(id);
        }
    }

    fn start(&mut self, id: usize, passes: bool) {
        let now = self.now;
        if self.reserved == id {
            self.reserved = 0;
        }
        let started = if self.is_array(&self.jobs[id - 1]) {
            let element = self.next_element(id).unwrap();
            let seq = self.at(id).seq;
            if self.at(id).request.array.unwrap().each_of.is_some() {
                self.at(id).queue.remove(0);
            }
            self.at(element).begun = true;
            self.at(element).seq = seq;
            self.tell(id, State::Running);
            element
        } else {
            id
        };
        let group = self.at(started).request.group as usize;
        self.starts += 1;
        self.groups[group].1 = self.starts;
        let job = self.at(started);
        job.begun = true;
        job.state = State::Running;
        job.passed = passes;
        job.attempts += 1;
        job.ends = job.request.wall.map(|wall| now + wall);
        let (attempt, element) = (job.attempts, job.array.map(|array| array.1));
        self.out.push(Decision::Start { id: JobId(started as u64), element, attempt, payload: 7 });
        self.tell(started, State::Running);
    }

    // Ends.

    pub(super) fn ended(&mut self, now: Time, id: usize, outcome: Outcome) {
        self.now = self.now.max(now);
        let now = self.now;
        let job = self.at(id);
        let end = match (outcome, job.stopping) {
            (Outcome::Done, _) => State::Done,
            (_, Some(Stop::WallTime)) => State::TimedOut,
            (Outcome::Failed | Outcome::Lost, None) => State::Failed,
            _ => State::Cancelled,
        };
        (job.ends, job.overdue, job.passed) = (None, None, false);
        let is_failure = matches!(end, State::Failed | State::TimedOut) && outcome != Outcome::Lost;
        if is_failure && job.attempts <= job.request.retry.times {
            job.state = State::Pending;
            job.stopping = None;
            let mut pause = job.request.retry.first;
            (1..job.attempts).for_each(|_| pause = (2 * pause).min(job.request.retry.most));
            let at = now + pause.min(job.request.retry.most);
            job.waits_until = Some(at);
            self.out.push(Decision::Again { id: JobId(id as u64), at });
            return;
        }
        self.finish(id, end);
    }

    fn finish(&mut self, id: usize, end: State) {
        self.ending.push((id, end));
        if self.ending.len() == 1 {
            while let Some(&(id, end)) = self.ending.first() {
                self.finish_one(id, end);
                self.ending.remove(0);
            }
        }
    }
    fn finish_one(&mut self, id: usize, end: State) {
        if self.state(id).is_final() {
            return;
        }
        let job = self.at(id);
        job.state = end;
        job.closed = true;
        (job.held, job.waits_until, job.passed) = (false, None, false);
        job.open.clear();
        let array = job.array;
        if self.is_known(id) || self.at(id).has_record {
            self.out.push(Decision::Ended { id: JobId(id as u64), state: end, payload: None });
        }
        self.tell(id, end);
        if let Some((array, index)) = array {
            // (With the end of an array all is said about its elements, also of those that still
            // run.)
            if !self.state(array).is_final() {
                for follower in self.followers(array) {
                    self.partner_ended(follower, index, end == State::Done);
                }
            }
            self.array_moved(array);
        } else if self.is_array(&self.jobs[id - 1]) {
            let len = self.at(id).request.array.unwrap().len as usize;
            (id + 1..=id + len).for_each(|element| self.never_begins(element));
            for follower in self.followers(id) {
                for index in 0..len {
                    let own = follower + 1 + index;
                    if !self.at(own).begun && !self.state(own).is_final() && !self.at(own).is_free {
                        self.partner_ended(follower, index as u32, false);
                    }
                }
            }
        }
    }

    fn followers(&self, array: usize) -> Vec<usize> {
        let follows =
            |job: &ModelJob| self.is_array(job) && job.request.array.unwrap().each_of == Some(JobId(array as u64));
        (1..=self.jobs.len()).filter(|id| follows(&self.jobs[id - 1])).collect()
    }
    fn partner_ended(&mut self, array: usize, index: u32, done: bool) {
        if self.state(array).is_final() {
            return;
        }
        let own = array + 1 + index as usize;
        if done {
            self.at(own).is_free = true;
            self.at(array).queue.push(index);
            self.ready(array);
        } else {
            let job = self.at(own);
            job.is_skipped |= !job.begun && !job.state.is_final();
            self.never_begins(own);
            for follower in self.followers(array) {
                self.partner_ended(follower, index, false);
            }
            self.array_moved(array);
        }
    }

    /// This element does not begin any more. One on which others depend has an end of its own.
    fn never_begins(&mut self, element: usize) {
        let job = self.at(element);
        if job.begun || job.state.is_final() {
            return;
        }
        match job.has_record {
            true => self.ending.push((element, State::Cancelled)),
            false => job.state = State::Cancelled,
        }
    }

    fn array_moved(&mut self, id: usize) {
        if !self.is_array(&self.jobs[id - 1]) || self.state(id).is_final() {
            return;
        }
        let array = self.at(id).request.array.unwrap();
        let elements = &self.jobs[id..id + array.len as usize];
        let failed = elements.iter().filter(|job| job.state.is_final() && job.state != State::Done).count();
        let skipped = elements.iter().filter(|job| job.is_skipped && job.state.is_final()).count();
        let ended = elements.iter().filter(|job| job.state.is_final()).count();
        let alive = elements.iter().any(|job| job.begun && !job.state.is_final());
        if array.max_failures > 0 && failed >= array.max_failures as usize {
            self.at(id).closed = true;
        }
        if !alive && (self.at(id).closed || ended == array.len as usize) {
            let is_done = failed == 0 && ended == array.len as usize;
            let end = match self.at(id).stopping {
                Some(_) if !is_done => State::Cancelled,
                _ if failed == 0 => State::Done,
                _ if failed == skipped => State::Skipped(array.each_of.unwrap()),
                _ => State::Failed,
            };
            self.finish(id, end);
        } else {
            self.ready(id);
        }
    }

    fn tell(&mut self, id: usize, state: State) {
        for other in 1..=self.jobs.len() {
            let open: Vec<_> = self.at(other).open.iter().filter(|after| after.job.0 as usize == id).copied().collect();
            for after in open {
                if self.at(other).open.is_empty() {
                    break;
                }
                let Some(is_met) = verdict(after.when, state) else { continue };
                let job = self.at(other);
                let at = job.open.iter().position(|open| *open == after).unwrap();
                job.open.remove(at);
                let any = job.request.any;
                if is_met && any {
                    job.open.clear();
                }
                let is_last = job.open.is_empty();
                if is_met && is_last {
                    self.ready(other);
                } else if !is_met && (!any || is_last) {
                    self.finish(other, State::Skipped(JobId(id as u64)));
                }
            }
        }
    }

    // From outside.

    pub(super) fn hold(&mut self, id: usize) {
        self.at(id).held = true;
    }
    pub(super) fn release(&mut self, now: Time, id: usize) {
        self.now = self.now.max(now);
        if self.at(id).held {
            self.at(id).held = false;
            self.at(id).seq = 0;
            self.ready(id);
        }
    }
    pub(super) fn change(&mut self, now: Time, id: usize, change: &Change) {
        self.now = self.now.max(now);
        let len = self.at(id).request.array.map_or(0, |array| array.len as usize);
        for job in &mut self.jobs[id - 1..id + len] {
            let request = &mut job.request;
            request.priority = change.priority.unwrap_or(request.priority);
            change.demand.iter().for_each(|&(resource, amount)| request.demand.set(resource, amount));
            request.group = change.group.unwrap_or(request.group);
            request.wall = change.wall.unwrap_or(request.wall);
        }
        if let Some(begin) = change.begin {
            self.at(id).waits_until = (begin > self.now).then_some(begin);
        }
        if let Some((after, any)) = &change.after {
            let job = self.at(id);
            (job.request.after, job.request.any) = (after.clone(), *any);
            job.open.clear();
            if self.never_runs(id) {
                return;
            }
        }
        let job = self.at(id);
        if change.any && !job.request.any && !job.open.is_empty() {
            job.request.any = true;
            if job.open.len() < job.request.after.len() {
                job.open.clear();
            }
        }
        self.ready(id);
    }
    pub(super) fn cancel(&mut self, now: Time, id: usize) {
        self.now = self.now.max(now);
        if self.is_array(&self.jobs[id - 1]) && !self.state(id).is_final() {
            let len = self.at(id).request.array.unwrap().len as usize;
            self.at(id).closed = true;
            self.at(id).stopping = Some(Stop::Cancelled);
            (id + 1..=id + len)
                .filter(|at| self.at(*at).begun)
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|element| self.cancel_one(element));
            self.array_moved(id);
        } else {
            self.cancel_one(id);
        }
    }
    fn cancel_one(&mut self, id: usize) {
        match self.state(id) {
            State::Pending => self.finish(id, State::Cancelled),
            State::Running | State::Suspended | State::Overdue if self.at(id).stopping != Some(Stop::Cancelled) => {
                let job = self.at(id);
                job.stopping = Some(Stop::Cancelled);
                (job.ends, job.overdue) = (None, None);
                self.out.push(Decision::Stop { id: JobId(id as u64), why: Stop::Cancelled });
                self.go_on_to_stop(id);
            }
            _ => {}
        }
    }
    pub(super) fn suspend(&mut self, id: usize) {
        if matches!(self.state(id), State::Running | State::Overdue) {
            self.at(id).state = State::Suspended;
            self.at(id).passed = false;
        }
    }
    pub(super) fn resume(&mut self, id: usize) {
        if self.state(id) == State::Suspended {
            self.resuming.push(id);
            if self.at(id).stopping.is_some() {
                self.go_on_to_stop(id);
            }
        }
    }
    pub(super) fn set_capacity(&mut self, resource: usize, amount: u64) {
        self.capacity[resource] = amount;
    }

    fn fire(&mut self) {
        let now = self.now;
        let mut over: Vec<_> =
            (1..=self.jobs.len()).filter_map(|id| Some((self.at(id).ends.filter(|end| *end <= now)?, id))).collect();
        over.sort_unstable();
        for (_, id) in over {
            let grace = self.rules.grace;
            let job = self.at(id);
            (job.stopping, job.ends, job.overdue) = (Some(Stop::WallTime), None, Some(now + grace));
            self.out.push(Decision::Stop { id: JobId(id as u64), why: Stop::WallTime });
            self.go_on_to_stop(id);
        }
        let mut due: Vec<_> = (1..=self.jobs.len())
            .filter_map(|id| Some((self.at(id).waits_until.or(self.at(id).overdue).filter(|at| *at <= now)?, id)))
            .collect();
        due.sort_unstable();
        for (_, id) in due {
            let job = self.at(id);
            if job.waits_until.take().is_some() {
                self.ready(id);
            } else {
                job.overdue = None;
                if job.state == State::Running {
                    job.state = State::Overdue;
                    self.out.push(Decision::Overdue { id: JobId(id as u64) });
                }
            }
        }
    }
}
