//! Ends: of runs, of jobs, of elements; and who is told.

use super::spec::{After, Decision, JobId, Outcome, State, Stop, Time, verdict};
use super::table::{DEPENDS, NONE, Rare, Record};
use super::{Machine, table};
use myriad_base::pieces::Boxed;
use std::collections::VecDeque;
use std::time::Duration;

/// Where a final state stands in what is kept by state.
fn place_of(end: State) -> usize {
    match end {
        State::Failed => 1,
        State::TimedOut => 2,
        State::Cancelled => 3,
        State::Skipped(_) => 4,
        _ => 0,
    }
}

impl<P: Clone> Machine<P> {
    /// The run of a job has ended so.
    pub(crate) fn ended(&mut self, now: Time, id: JobId, outcome: Outcome) {
        self.now = self.now.max(now);
        let now = self.now;
        let id = id.0;
        let Some(job) = self.table.get(id).filter(|job| !job.state.is_final() && job.state != State::Pending) else {
            return;
        };
        let (stopping, until, class) = (job.stopping(), job.until, job.class);
        if job.state != State::Suspended {
            self.give_back(class, job.passed);
        }
        self.look = true; // (Also of a suspended one: it may have been the next to go on.)
        if outcome == Outcome::Done && until == 0 {
            self.finish(id, State::Done);
            return;
        }
        if until > 0 {
            match stopping {
                None => _ = self.ends.remove(&(until, id)),
                Some(_) => self.armed -= 1,
            }
        }
        let job = self.table.at(id);
        (job.until, job.passed) = (0, 0);
        let end = match (outcome, stopping) {
            (Outcome::Done, _) => State::Done,
            (_, Some(Stop::WallTime)) => State::TimedOut,
            (_, Some(Stop::Cancelled)) | (Outcome::Stopped, None) => State::Cancelled,
            (Outcome::Failed | Outcome::Lost, None) => State::Failed,
        };
        if end == State::TimedOut
            && let Some(wall) = self.classes.get(job.class).key.wall
        {
            // (What the run says of itself is how it was stopped.)
            let text = &mut job.rare_mut().report.get_or_insert_default().text;
            let wall = Duration::from_nanos(wall);
            *text = Some(match text.take() {
                Some(how) => format!("timed out after {wall:?}: {how}").into(),
                None => format!("timed out after {wall:?}").into(),
            });
        }
        let is_failure = matches!(end, State::Failed | State::TimedOut) && outcome != Outcome::Lost;
        if let Some(rare) =
            job.rare.as_deref_mut().filter(|rare| is_failure && (1..=rare.retry.times).contains(&rare.attempts))
        {
            rare.stopping = None;
            let at = now.saturating_add(rare.retry.pause(rare.attempts));
            rare.begin = at;
            job.state = State::Pending;
            self.out.push_back(Decision::Again { id: JobId(id), at });
            self.set_timer(id, at);
            return;
        }
        self.finish(id, end);
    }

    /// A job ends for good; others that can never run because of that end with it.
    pub(super) fn finish(&mut self, id: u64, end: State) {
        // (No recursion: a chain of dependents may be as long as memory allows.)
        let mut ending = VecDeque::new();
        self.finish_one(id, end, &mut ending);
        while let Some((id, end)) = ending.pop_front() {
            self.finish_one(id, end, &mut ending);
        }
    }
    fn finish_one(&mut self, id: u64, end: State, ending: &mut VecDeque<(u64, State)>) {
        let now = self.now;
        // (It may be here twice, because of two others; and forgotten after the first time.)
        let Some(job) = self.table.get_mut(id).filter(|job| !job.state.is_final()) else { return };
        if job.state == State::Pending && job.waits == 0 {
            self.stale += 1;
        }
        let timer = job.waits & table::TIME != 0;
        // (An element that had dependents, and never began.)
        let never_began = job.array != 0 && job.state == State::Pending && job.waits & DEPENDS != 0;
        job.state = end;
        job.waits = 0;
        job.ended = now;
        let payload = job.payload.take();
        let (array, element, class) = (job.array, job.element(id), job.class);
        let (has_dependents, is_kept) =
            (job.dependents != NONE, end != State::Done || self.rules.unnamed || job.rare.is_some());
        let was_array = job.elements().map(|elements| {
            elements.closed = true;
            std::mem::take(&mut elements.followers)
        });
        self.armed -= usize::from(timer);
        if array == 0 {
            self.alive -= 1;
            self.ended[place_of(end)] += 1;
        }
        self.out.push_back(Decision::Ended { id: JobId(id), state: end, payload });
        self.place_if_first(class, id);
        if has_dependents {
            self.tell(id, end, ending);
        }
        if let Some(element) = element.filter(|_| !never_began) {
            self.element_ended(array, element, end == State::Done, ending);
        }
        if let Some(followers) = was_array {
            let last = id + u64::from(self.arrays[&id]);
            let waits = |job: &Record<P>| job.state == State::Pending && job.waits & DEPENDS != 0;
            let orphans = self.table.between(id + 1, last).filter(|(_, job)| waits(job));
            ending.extend(orphans.map(|orphan| (orphan.0, State::Cancelled)));
            for follower in followers {
                self.leader_ended(follower, ending);
            }
        }
        if is_kept {
            self.remember(id, end);
        } else {
            self.table.remove(id);
            self.leave_class(class);
        }
    }

    /// (A class whose first job has left is put where its next one belongs; of others in the middle
    /// of a line nothing has to be known.)
    fn place_if_first(&mut self, class: u32, id: u64) {
        if self.classes.get(class).placed.rank().is_some_and(|first| first.id == id) {
            self.place(class);
            self.look = true;
        }
    }

    /// A job has begun: who waits for that is told.
    pub(super) fn tell_dependents(&mut self, id: u64) {
        let mut ending = VecDeque::new();
        self.tell(id, State::Running, &mut ending);
        for (id, end) in ending {
            self.finish(id, end);
        }
    }

    /// Those who depend on a job that is in this state now.
    fn tell(&mut self, id: u64, state: State, ending: &mut VecDeque<(u64, State)>) {
        let newest_first = std::mem::replace(&mut self.table.at(id).dependents, NONE);
        let mut at = self.edges.reverse(newest_first);
        let mut kept = NONE;
        while at != NONE {
            let edge = self.edges.get(at);
            let here = std::mem::replace(&mut at, edge.next);
            let Some(is_met) = verdict(edge.when, state) else {
                self.edges.keep(here, &mut kept);
                continue;
            };
            self.edges.remove(here);
            let Some(job) = self.table.get_mut(edge.job) else { continue };
            if job.state != State::Pending || job.waits & DEPENDS == 0 {
                continue;
            }
            let any = job.rare().is_some_and(|rare| rare.any);
            job.open -= 1;
            if is_met && (any || job.open == 0) {
                job.waits &= !DEPENDS;
                self.ready(edge.job);
            } else if !is_met && (!any || job.open == 0) {
                ending.push_back((edge.job, State::Skipped(JobId(id))));
            }
        }
        self.table.at(id).dependents = kept;
    }

    /// A pending job takes its place if it waits for nothing else.
    pub(super) fn ready(&mut self, id: u64) {
        let job = self.table.at(id);
        let can_begin = job.elements().is_none_or(|elements| elements.can_begin());
        let job = self.table.at(id);
        if job.state == State::Pending && job.waits == 0 && can_begin {
            self.line_up(id);
        }
    }

    // Arrays.

    /// The array that this number is an element of, and whether the element has ended.
    pub(super) fn array_of(&self, id: u64) -> Option<(u64, bool)> {
        let (&array, &len) = self.arrays.range(..id).next_back()?;
        if id > array + u64::from(len) {
            return None;
        }
        let elements = self.table.get(array)?.rare()?.elements.as_ref()?;
        Some((array, elements.closed || elements.end_of((id - array - 1) as u32).is_some()))
    }

    /// The record of an element.
    pub(super) fn make_element(&mut self, id: u64) {
        let Some((array, _)) = self.array_of(id) else { return };
        let now = self.now;
        let job = self.table.at(array);
        let (class, priority, seq, submitted, payload) =
            (job.class, job.priority, job.seq, job.submitted, job.payload.clone());
        let rare = job.rare_mut();
        let (name, user, retry) = (rare.name.clone(), rare.user.clone(), rare.retry);
        let has_some = name.is_some() || user.is_some() || retry.times > 0;
        let rare = has_some.then(|| Boxed::new(Rare { name, user, retry, ..Rare::default() }));
        self.classes.at(class).jobs += 1;
        self.table.insert(
            id,
            Record {
                state: State::Pending,
                waits: DEPENDS, // on its array, which begins it
                class,
                priority,
                seq,
                dependents: NONE,
                open: 0,
                passed: 0,
                note: 0,
                array,
                submitted: submitted.min(now),
                started: 0,
                ended: 0,
                until: 0,
                payload,
                rare,
            },
        );
    }

    /// An element of an array begins. Returns its number.
    pub(super) fn begin_element(&mut self, array: u64, element: u32) -> u64 {
        let id = array + 1 + u64::from(element);
        if self.table.get(id).is_none() {
            self.make_element(id);
        }
        // (The array may have been changed since the element has a record.)
        let job = self.table.at(array);
        let (class, priority, seq) = (job.class, job.priority, job.seq);
        let job = self.table.at(id);
        (job.waits, job.priority, job.seq) = (0, priority, seq);
        let old = std::mem::replace(&mut job.class, class);
        if old != class {
            self.classes.at(class).jobs += 1;
            self.leave_class(old);
        }
        if self.table.at(array).dependents != NONE {
            self.tell_dependents(array);
        }
        id
    }

    fn element_ended(&mut self, array: u64, element: u32, done: bool, ending: &mut VecDeque<(u64, State)>) {
        let Some(elements) = self.table.get_mut(array).and_then(Record::elements) else { return };
        elements.alive -= 1;
        let followers = elements.note_end(element, done);
        for follower in followers {
            self.leader_element(follower, element, done, ending);
        }
        self.array_moved(array, ending);
    }

    /// An element that this array's element waits for has ended.
    fn leader_element(&mut self, array: u64, element: u32, done: bool, ending: &mut VecDeque<(u64, State)>) {
        let mut told = vec![(array, done)];
        while let Some((array, done)) = told.pop() {
            let Some(elements) = self.table.get_mut(array).and_then(Record::elements) else { continue };
            if done {
                elements.ready.push_back(element);
            } else {
                elements.skipped += 1;
                told.extend(elements.note_end(element, false).into_iter().map(|follower| (follower, false)));
                // (It has a record if others depend on it: they hear of it now.)
                ending.push_back((array + 1 + u64::from(element), State::Cancelled));
            }
            self.array_moved(array, ending);
        }
    }

    /// The whole array that this array's elements wait for has ended: those of which nothing was
    /// heard never run.
    fn leader_ended(&mut self, array: u64, ending: &mut VecDeque<(u64, State)>) {
        let Some(elements) = self.table.get_mut(array).and_then(Record::elements) else { return };
        let ready: std::collections::HashSet<u32> = elements.ready.iter().copied().collect();
        let unheard: Vec<u32> =
            (0..elements.len).filter(|at| elements.end_of(*at).is_none() && !ready.contains(at)).collect();
        let first = array + 1;
        for element in unheard {
            let begun = self.table.get(first + u64::from(element)).is_some_and(|job| job.waits & DEPENDS == 0);
            if !begun {
                self.leader_element(array, element, false, ending);
            }
        }
    }

    /// An element has ended, or may begin: perhaps the array is over, or goes on.
    fn array_moved(&mut self, array: u64, ending: &mut VecDeque<(u64, State)>) {
        // (Or it has ended, and is perhaps forgotten.)
        let Some(job) = self.table.get_mut(array).filter(|job| job.state == State::Pending) else { return };
        let Some(elements) = job.elements() else { return };
        let closes = elements.max_failures > 0 && elements.failed >= elements.max_failures && !elements.closed;
        elements.closed |= closes;
        if elements.alive == 0 && (elements.closed || elements.ended == elements.len) {
            let (failed, open) = (elements.failed > 0, elements.ended < elements.len);
            // (No element of its own has failed.)
            let (skipped, leader) = (elements.failed == elements.skipped, JobId(elements.each_of));
            let end = match job.stopping() {
                Some(_) if failed || open => State::Cancelled,
                _ if failed && skipped => State::Skipped(leader),
                _ if failed => State::Failed,
                _ => State::Done,
            };
            ending.push_back((array, end));
        } else if closes {
            let class = job.class;
            self.place(class);
            self.look = true; // (The element may not have run, but have been cancelled in line.)
        } else {
            self.ready(array);
        }
    }
    /// The same of an array that was just submitted.
    pub(super) fn settle_array(&mut self, array: u64) {
        let mut ending = VecDeque::new();
        self.array_moved(array, &mut ending);
        for (id, end) in ending {
            self.finish(id, end);
        }
    }

    // History.

    fn remember(&mut self, id: u64, end: State) {
        let at = place_of(end);
        let job = self.table.at(id);
        let is_kept = match end {
            State::Done => self.rules.unnamed || job.array == 0 && job.rare().is_some_and(|rare| rare.name.is_some()),
            _ => true,
        };
        if !is_kept {
            self.forget(id);
            return;
        }
        self.history[at].push_back((self.now, id));
        if self.history[at].len() > self.rules.kept {
            self.forget_first(at);
        }
        self.forget_old();
    }
    /// The same by this time. (The queue looks at the time when a job that is kept ends, and when
    /// somebody looks at the history.)
    pub(crate) fn forget_older(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.forget_old();
    }
    /// What is older than the history keeps is forgotten.
    pub(super) fn forget_old(&mut self) {
        let Some(before) = self.now.checked_sub(self.rules.kept_for) else { return };
        for at in 0..self.history.len() {
            while self.history[at].front().is_some_and(|first| first.0 < before) {
                self.forget_first(at);
            }
        }
    }
    fn forget_first(&mut self, at: usize) {
        if let Some((_, id)) = self.history[at].pop_front() {
            self.forget(id);
        }
    }
    fn forget(&mut self, id: u64) {
        let Some(job) = self.table.get(id) else { return };
        let class = job.class;
        if job.rare().is_some_and(|rare| rare.elements.is_some()) {
            self.arrays.remove(&id);
        }
        self.table.remove(id);
        self.leave_class(class);
    }
    /// A record of this class is gone, or of another class now.
    pub(super) fn leave_class(&mut self, class: u32) {
        if self.classes.leave(class) {
            self.put(class, super::line::Placed::Nowhere);
            self.classes.sweep();
        }
    }

    /// The state that dependents see: an array of which an element has begun runs.
    pub(super) fn shown(&self, id: JobId, state: State) -> State {
        let elements = self.table.get(id.0).and_then(|job| job.rare()?.elements.as_ref());
        match elements {
            Some(elements) if state == State::Pending && elements.alive + elements.ended > 0 => State::Running,
            _ => state,
        }
    }
    /// Does the job still wait for that one?
    pub(super) fn is_open(&self, id: u64, after: After) -> bool {
        let Some(on) = self.table.get(after.job.0) else { return false };
        if after.when != super::When::Started {
            return !on.state.is_final();
        }
        // (Here the state does not tell: a job that has begun, and is tried again, is pending once
        // more.)
        let first = on.dependents;
        let mut edges = std::iter::successors(self.edges.known(first), |edge| self.edges.known(edge.next));
        edges.any(|edge| (edge.job, edge.when) == (id, after.when))
    }
}
