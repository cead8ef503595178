//! Who starts next.
//!
//! Jobs start in order. The first that does not fit has the *reservation*: a job behind it starts
//! only if that does not keep the reserved job from starting (*backfill*). One of these must hold:
//!
//! - the job ends in time: its wall time is over before the reserved job could start, as the wall
//!   times of running jobs say. Where these say nothing, nothing ends in time;
//! - the job leaves enough: with all jobs that have passed so (`passed`) and still run, there is
//!   room for the reserved job on the machine as a whole. So that one starts at the latest when
//!   all have ended that ran when the reservation began.
//!
//! Neither may take the last free place of the reserved job's group, or of the machine.
//!
//! Jobs of a full group are passed over; jobs that do not fit and have no reservation wait in
//! `lacking`, by the resource of which there is too little and by how much they need, until so much
//! of that is free. So the end of a job costs the same however many others do not fit.

use super::Machine;
use super::line::{Placed, Rank, is_first};
use super::spec::{Decision, JobId, State, Time};
use super::table::TIME;

/// The job for which resources are kept.
#[derive(Debug)]
pub(super) struct Reservation {
    /// It; 0: none yet.
    pub job: u64,
    /// Counts reservations: a record says in which one its job passed.
    pub number: u32,
    /// Of each resource what is held by jobs that have passed.
    pub passed: Vec<u64>,
}

impl Reservation {
    pub(super) fn new(resources: usize) -> Reservation {
        Reservation { job: 0, number: 1, passed: vec![0; resources] }
    }
}

/// A class at which `pick` looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub group: u32,
    pub class: u32,
    pub rank: Rank,
    pub lacks: bool,
}

/// The order between groups: the priority that a job counts as now; the reserved job before others;
/// the group of which fewer jobs run; the one that was served longer ago; rank.
///
/// (Without the second one a reserved job is behind another group as soon as more of its own have
/// passed it. Then that group's jobs start before it, and do not count as passed.)
pub(super) type Order = (i64, bool, u64, u64, Rank);

impl<P: Clone> Machine<P> {
    /// Starts all that can start.
    pub(super) fn fill(&mut self) {
        self.look = false;
        if self.stale > 1024 && self.stale as u64 > self.alive / 2 {
            self.stale = 0;
            for class in self.classes.iter() {
                class.tidy(&self.table);
            }
        }
        self.resume_all();
        while let Some((look, passes)) = self.pick() {
            self.start(look.class, look.rank, passes);
        }
    }

    /// The job that starts now, the first of its class, and whether it passes a reserved one.
    fn pick(&mut self) -> Option<(Look, bool)> {
        if self.places() == 0 {
            return None;
        }
        self.find_room();
        // (Mostly all jobs that are ready are of one class: then there is nobody to pass it.)
        if let Some((rank, class)) = self.only_class() {
            #[cfg(test)]
            {
                self.looks += 1;
            }
            match self.lacks(class) {
                None if is_first(&self.table, class, rank, self.rules.ageing) => {
                    return Some((Look { group: 0, class, rank, lacks: false }, false));
                }
                Some(_) if self.never_fits(class).is_none() => {
                    self.reserve(rank.id);
                    return None;
                }
                _ => {}
            }
        }
        let [group] = &*self.groups else { return self.pick_of_many() };
        if group.ready.first().is_none() && group.lacking.first().is_none() { None } else { self.pick_of_many() }
    }

    /// The same if it is not so simple.
    fn pick_of_many(&mut self) -> Option<(Look, bool)> {
        let mut head: Option<Look> = None;
        let mut seen: Option<Look> = None;
        let single = self.groups.len() == 1;
        // (With several groups, each has its own place up to which it was seen.)
        let mut cursors: Vec<Option<Look>> = if single { Vec::new() } else { vec![None; self.groups.len()] };
        loop {
            let look = if single {
                self.next_of(0, seen, head.is_none())
            } else {
                let each = (0..self.groups.len() as u32)
                    .filter_map(|at| self.next_of(at, cursors[at as usize], head.is_none()));
                each.min_by_key(|look| self.order(look))
            }?;
            #[cfg(test)]
            {
                self.looks += 1;
            }
            if !is_first(&self.table, look.class, look.rank, self.rules.ageing) {
                self.place(look.class);
                continue;
            }
            if look.lacks {
                head = Some(look);
                self.reserve(look.rank.id);
                continue;
            }
            let lacks = self.lacks(look.class);
            if lacks.is_some()
                && let Some(resource) = self.never_fits(look.class)
            {
                self.put(look.class, Placed::Hopeless(look.rank, resource));
                continue;
            }
            match lacks {
                None => match head {
                    None => return Some((look, false)),
                    Some(head) => {
                        if let Some(passes) = self.may_pass(look.class, head.class) {
                            return Some((look, passes));
                        }
                    }
                },
                Some(resource) if head.is_some() => {
                    self.put(look.class, Placed::Lacking(look.rank, resource));
                    continue;
                }
                Some(_) => {
                    head = Some(look);
                    self.reserve(look.rank.id);
                }
            }
            if single { seen = Some(look) } else { cursors[look.group as usize] = Some(look) }
        }
    }

    /// The class of all jobs that are ready, if it is one.
    #[inline]
    fn only_class(&self) -> Option<(Rank, u32)> {
        let [group] = &*self.groups else { return None };
        group.ready.only().filter(|_| group.lacking.first().is_none())
    }

    /// The next class of a group to look at.
    pub(super) fn next_of(&self, at: u32, seen: Option<Look>, no_head: bool) -> Option<Look> {
        let group = &self.groups[at as usize];
        if group.is_full() {
            return None;
        }
        let ready = match seen {
            None => group.ready.first(),
            Some(seen) => group.ready.after((seen.rank, seen.class)),
        };
        let lacking = if no_head { group.lacking.first() } else { None };
        let look = |&(rank, class): &(Rank, u32), lacks| Look { group: at, class, rank, lacks };
        match (ready, lacking) {
            (Some(ready), Some(lacking)) if lacking < ready => Some(look(lacking, true)),
            (Some(ready), _) => Some(look(ready, false)),
            (None, lacking) => lacking.map(|lacking| look(lacking, true)),
        }
    }
    pub(super) fn order(&self, look: &Look) -> Order {
        let group = &self.groups[look.group as usize];
        let counts_as = look.rank.effective(self.now, self.rules.ageing);
        (-counts_as, look.rank.id != self.reservation.job, group.running, group.served, look.rank)
    }

    /// Classes for which there may be enough now are looked at again.
    #[inline]
    fn find_room(&mut self) {
        for resource in 0..self.lacking.len() {
            while let Some(&(need, class)) = self.lacking[resource].first() {
                if need > self.free(resource as u16) {
                    break;
                }
                self.look_again(class);
            }
        }
    }

    /// A class that lacked something may fit now.
    pub(super) fn look_again(&mut self, class: u32) {
        if let Placed::Lacking(rank, _) | Placed::Hopeless(rank, _) = self.classes.get(class).placed {
            self.put(class, Placed::Ready(rank));
        }
    }
    /// A resource of which this class wants more than there is. (Capacity may shrink.)
    pub(super) fn never_fits(&self, class: u32) -> Option<super::Resource> {
        let demand = &self.classes.get(class).key.demand;
        demand.parts().iter().find(|part| part.1 > self.capacity[part.0 as usize]).map(|part| part.0)
    }

    fn reserve(&mut self, job: u64) {
        if self.reservation.job != job {
            self.reservation.job = job;
            self.reservation.number = self.reservation.number.wrapping_add(1).max(1);
            self.reservation.passed.fill(0);
        }
    }

    /// May a job of this class start before the reserved one? `Some(true)`: it will hold what
    /// counts as passed; `Some(false)`: it ends in time.
    fn may_pass(&self, class: u32, head: u32) -> Option<bool> {
        let (mine, theirs) = (&self.classes.get(class).key, &self.classes.get(head).key);
        let group = &self.groups[mine.group as usize];
        let takes_last = mine.group == theirs.group && group.limit.saturating_sub(group.running + group.kept) < 2;
        if takes_last || self.places() < 2 {
            return None;
        }
        let leaves_enough = mine.demand.parts().iter().all(|&(resource, amount)| {
            let reserved = theirs.demand.of(resource);
            let passed = self.reservation.passed[resource as usize];
            reserved == 0 || passed.saturating_add(amount).saturating_add(reserved) <= self.capacity[resource as usize]
        });
        if leaves_enough {
            return Some(true);
        }
        let ends_at = self.now.checked_add(mine.wall?)?;
        (ends_at <= self.start_of(head)?).then_some(false)
    }

    /// When there is room for this class, as far as wall times say.
    pub(super) fn start_of(&self, class: u32) -> Option<Time> {
        let demand = &self.classes.get(class).key.demand;
        // (More may be held than there is: so what is held counts down, and not what is free up.)
        let taken =
            |part: &(super::Resource, u64)| self.used[part.0 as usize].saturating_add(self.kept[part.0 as usize]);
        let mut taken: Vec<u64> = demand.parts().iter().map(taken).collect();
        let is_enough = |taken: &[u64]| {
            let free = |part: &(super::Resource, u64), taken| self.capacity[part.0 as usize].saturating_sub(taken);
            demand.parts().iter().zip(taken).all(|(part, taken)| part.1 <= free(part, *taken))
        };
        for &(at, id) in &self.ends {
            let job = self.table.get(id)?;
            if job.state == State::Running {
                let held = &self.classes.get(job.class).key.demand;
                demand.parts().iter().zip(&mut taken).for_each(|(part, taken)| *taken -= held.of(part.0));
                if is_enough(&taken) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// The first job of this class starts.
    fn start(&mut self, class: u32, rank: Rank, passes: bool) {
        let (mut id, mut element) = (rank.id, None);
        // (An array stays in its line, and its next element is first by no more than its rank.)
        if self.reservation.job == rank.id {
            self.reservation.job = 0;
        }
        let number = self.reservation.number;
        let job = self.table.at(id);
        let goes_on = match job.elements() {
            Some(elements) => {
                element = Some(elements.take().expect("an array in a line has elements that can begin"));
                elements.alive += 1;
                elements.can_begin()
            }
            None => false,
        };
        let begins = element;
        if begins.is_none() {
            element = job.element(id);
        }
        // (Before anything takes a place in this class, which may be before this one's.)
        if !goes_on {
            self.classes.at(class).take_first(rank);
        }
        if let Some(element) = begins {
            id = self.begin_element(rank.id, element);
        }
        self.place(class);
        self.hold_resources(class);
        let key = &self.classes.get(class).key;
        let wall = key.wall;
        self.starts += 1;
        self.groups[key.group as usize].served = self.starts;
        if passes {
            for &(resource, amount) in key.demand.parts() {
                self.reservation.passed[resource as usize] += amount;
            }
        }
        let now = self.now;
        let job = self.table.at(id);
        job.state = State::Running;
        job.started = now;
        job.passed = if passes { number } else { 0 };
        job.until = wall.map_or(0, |wall| now.saturating_add(wall));
        let until = job.until;
        let attempt = match job.rare.as_deref_mut() {
            Some(rare) => {
                rare.attempts += 1;
                rare.attempts
            }
            None => 1,
        };
        let has_dependents = job.dependents != super::table::NONE;
        if let Some(payload) = &job.payload {
            self.out.push_back(Decision::Start { id: JobId(id), element, attempt, payload: payload.clone() });
        }
        if until > 0 {
            self.ends.insert((until, id));
        }
        if has_dependents {
            self.tell_dependents(id);
        }
    }

    /// A job of this class runs from now on.
    pub(super) fn hold_resources(&mut self, class: u32) {
        let key = &self.classes.get(class).key;
        for &(resource, amount) in key.demand.parts() {
            self.used[resource as usize] += amount;
        }
        self.groups[key.group as usize].running += 1;
        self.running += 1;
    }
    /// It runs no more; it had passed the reserved job in this reservation.
    #[inline]
    pub(super) fn give_back(&mut self, class: u32, passed: u32) {
        let key = &self.classes.get(class).key;
        for &(resource, amount) in key.demand.parts() {
            self.used[resource as usize] -= amount;
            if passed == self.reservation.number {
                self.reservation.passed[resource as usize] -= amount;
            }
        }
        self.groups[key.group as usize].running -= 1;
        self.running -= 1;
        self.look = true;
    }

    /// A pending job that waits for nothing but resources takes its place. (An array takes its
    /// place again when an element of it can begin.)
    pub(super) fn line_up(&mut self, id: u64) {
        let seq = match self.table.at(id).seq {
            0 => self.next_seq(),
            seq => seq,
        };
        let job = self.table.at(id);
        job.seq = seq;
        let (class, priority) = (job.class, job.priority);
        let own = self.classes.at(class);
        let rank = own.push(priority, (seq, id), self.rules.ageing);
        // (Behind the first of its class nothing changes.)
        if own.placed.rank().is_none_or(|first| rank < first) {
            self.place(class);
            self.look = true;
        }
    }

    /// Puts a class where its first job belongs.
    #[inline]
    pub(super) fn place(&mut self, class: u32) {
        let own = self.classes.at(class);
        let first = own.first(&self.table, self.rules.ageing);
        let to = match (first, own.placed) {
            (None, _) => Placed::Nowhere,
            (Some(now), Placed::Ready(before)) => {
                if now != before {
                    own.placed = Placed::Ready(now);
                    self.groups[own.key.group as usize].ready.replace((before, class), (now, class));
                }
                return;
            }
            (Some(rank), Placed::Lacking(_, resource)) => Placed::Lacking(rank, resource),
            (Some(rank), Placed::Hopeless(_, resource)) => Placed::Hopeless(rank, resource),
            (Some(rank), _) => Placed::Ready(rank),
        };
        self.put(class, to);
    }

    pub(super) fn put(&mut self, class: u32, to: Placed) {
        let own = self.classes.at(class);
        if own.placed == to {
            return;
        }
        let from = std::mem::replace(&mut own.placed, to);
        let group = &mut self.groups[own.key.group as usize];
        match from {
            Placed::Nowhere => {}
            Placed::Ready(rank) => group.ready.remove((rank, class)),
            Placed::Lacking(rank, resource) => {
                group.lacking.remove((rank, class));
                self.lacking[resource as usize].remove(&(own.key.demand.of(resource), class));
            }
            Placed::Hopeless(_, resource) => {
                self.lacking[resource as usize].remove(&(own.key.demand.of(resource), class));
            }
        }
        match to {
            Placed::Nowhere => {}
            Placed::Ready(rank) => group.ready.insert((rank, class)),
            Placed::Lacking(rank, resource) => {
                group.lacking.insert((rank, class));
                self.lacking[resource as usize].insert((own.key.demand.of(resource), class));
            }
            Placed::Hopeless(_, resource) => {
                self.lacking[resource as usize].insert((own.key.demand.of(resource), class));
            }
        }
    }

    /// It becomes ready at this time.
    pub(super) fn set_timer(&mut self, id: u64, at: Time) {
        self.table.at(id).waits |= TIME;
        self.arm(id, at);
    }
    pub(super) fn arm(&mut self, id: u64, at: Time) {
        self.timers.push(std::cmp::Reverse((at, id)));
        self.armed += 1;
        if self.timers.len() > 2 * self.armed + 64 {
            let table = &self.table;
            self.timers.retain(|entry| counts(table, entry.0));
            self.armed = self.timers.len();
            self.timers.shrink_to(2 * self.armed + 64);
        }
    }
}

/// Is this a timer of a job that waits for it?
pub(super) fn counts<P>(table: &super::table::Table<P>, (at, id): (Time, u64)) -> bool {
    table.get(id).is_some_and(|job| match job.state {
        State::Pending => job.waits & TIME != 0 && job.rare().is_some_and(|rare| rare.begin == at),
        // overdue at the end of grace, which `until` says then
        State::Running | State::Suspended => job.stopping().is_some() && job.until == at,
        _ => false,
    })
}
