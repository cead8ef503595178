//! The tasks of a pool whose scheduler the program has written.
//!
//! ```text
//!  put ─> fresh ── deliver ──> given ── redeem ──> a worker runs it
//!                 (a ticket)     │ ▲
//!       any of both: claim, take ┘ └ a changed property: back to fresh, the ticket is stale
//! ```
//! The engine owns the tasks from beginning to end; the scheduler has tickets
//! ([`ReadyTask`]). *Fresh* are those of which it does not know yet: a spawn or a wake only puts
//! the task here, in a few steps under a spin lock, for it may be in the middle of anything. A
//! worker that asks for work delivers them, and calls the scheduler, without any lock.
//!
//! **Invariants.** (T1) A task stands in one slot of one of both lists, and is taken out of it
//! once, under the lock. (T2) A ticket is valid as long as its slot holds the task for which it was
//! made: a slot has a new stamp for each. (A stamp comes again after 2^32; a ticket that is older
//! takes another task then, out of its turn.) (T3) No value of a user's is dropped under the lock.
//!
//! **Sleeping.** As for other queues ([`super`]), but that the word that is looked at without the
//! lock is a *version*: it changes with each arrival, change and return, and a worker that the
//! scheduler has given nothing may sleep until it changes.
//!
//! Tests: `test.rs`, `tests/loom/policy.rs`, `crates/myriad/tests/scheduling/own_scheduler.rs`.

use super::claim_list::{self, ClaimList};
use super::locked::{EMPTY, LockedQueue, Ranked};
use super::ready_task::{PropertyValue, ReadyTask, Ticket};
use super::scheduler::{Cause, Hosted};
use super::{Arrival, PolicyQueues};
use crate::record::header::{Header, TaskFlags};
use crate::record::task::{Runnable, Unstarted};
use myriad_base::hash::Numbers;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// So many tasks are delivered at a time.
const BATCH: usize = 8;

/// Tasks on their way to the scheduler.
pub(crate) type Batch = [Option<(ReadyTask, Cause)>; BATCH];

/// The property of a task, and where the task stands.
#[derive(Debug)]
struct Property {
    value: PropertyValue,
    at: Option<(Filed, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filed {
    Fresh,
    Given,
}

/// By the notes of fresh tasks.
const CAUSES: [Cause; 5] = [Cause::Spawned, Cause::Woken, Cause::Yielded, Cause::Continues, Cause::Changed];

struct TableState {
    /// The note of a task is its cause.
    fresh: ClaimList,
    /// The note of a task is the stamp of its ticket.
    given: ClaimList,
    /// Tickets that were dropped: their tasks go first. Some may be stale by now.
    returned: VecDeque<Ticket>,
    /// Of tasks that have one, from before they are queued until their records are free.
    properties: Numbers<usize, Property>,
    hosted: Option<Arc<Hosted>>,
    stamp: u32,
    version: u64,
}

impl Ranked for TableState {
    fn first(&self) -> u64 {
        if self.fresh.len() + self.given.len() == 0 { EMPTY } else { self.version }
    }
}

impl TableState {
    /// Puts a task into a list, and remembers where, if it has a property.
    fn put(&mut self, list: Filed, task: Runnable, oldest: bool, note: u32) -> u32 {
        let (address, claimable) = (task.address().addr(), !task.is_future());
        let known = task.header().has_flags(TaskFlags::NAMED);
        let to = if list == Filed::Fresh { &mut self.fresh } else { &mut self.given };
        let at = to.put(task, oldest, claimable);
        to.set_note(at, note);
        if known && let Some(property) = self.properties.get_mut(&address) {
            property.at = Some((list, at));
        }
        at
    }

    /// Takes out what stands there.
    fn take(&mut self, list: Filed, at: u32) -> Option<Runnable> {
        let task = if list == Filed::Fresh { self.fresh.take(at) } else { self.given.take(at) }?;
        if task.header().has_flags(TaskFlags::NAMED)
            && let Some(property) = self.properties.get_mut(&task.address().addr())
        {
            property.at = None;
        }
        Some(task)
    }

    fn holds(&self, ticket: Ticket) -> bool {
        self.given.has(ticket.at) && self.given.note(ticket.at) == ticket.stamp
    }

    fn redeem(&mut self, ticket: Ticket) -> Option<Runnable> {
        if self.holds(ticket) { self.take(Filed::Given, ticket.at) } else { None }
    }

    fn take_returned(&mut self) -> Option<Runnable> {
        while let Some(ticket) = self.returned.pop_front() {
            let task = self.redeem(ticket);
            if task.is_some() {
                return task;
            }
        }
        None
    }

    /// Those of which the scheduler knows have come first.
    fn take_oldest(&mut self) -> Option<Runnable> {
        self.take_returned().or_else(|| match (self.given.oldest(), self.fresh.oldest()) {
            (Some(at), _) => self.take(Filed::Given, at),
            (None, Some(at)) => self.take(Filed::Fresh, at),
            (None, None) => None,
        })
    }
}

/// What a worker finds that asks.
pub(crate) enum Found {
    /// A task that the scheduler has dropped, or any, where there is no scheduler.
    Task(Runnable),
    /// The scheduler is to say, as of this version.
    Ask(Arc<Hosted>, u64),
    /// There is no task.
    Nothing,
}

/// See the module's header.
pub(crate) struct Table {
    state: LockedQueue<TableState>,
    /// Wakes a worker, if one sleeps.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Table {
    pub(crate) fn new() -> Table {
        let state = TableState {
            fresh: ClaimList::new(0),
            given: ClaimList::new(1),
            returned: VecDeque::new(),
            properties: Numbers::default(),
            hosted: None,
            stamp: 0,
            version: 0,
        };
        Table { state: LockedQueue::new(state), wake: OnceLock::new() }
    }

    /// What wakes a worker: set once, before there are tasks.
    pub(crate) fn set_wake(&self, wake: impl Fn() + Send + Sync + 'static) {
        assert!(self.wake.set(Box::new(wake)).is_ok(), "set once");
    }

    /// Another scheduler from now on; the one before, to be dropped where user code may run.
    pub(crate) fn set_scheduler(&self, hosted: Option<Arc<Hosted>>) -> Option<Arc<Hosted>> {
        self.state.with(|state| std::mem::replace(&mut state.hosted, hosted))
    }

    /// For a worker that asks for a task.
    pub(crate) fn find(&self) -> Found {
        if self.state.is_empty() {
            return Found::Nothing;
        }
        self.state.with(|state| match (state.take_returned(), &state.hosted) {
            (Some(task), _) => Found::Task(task),
            (None, Some(hosted)) => Found::Ask(hosted.clone(), state.version),
            (None, None) => state.take_oldest().map_or(Found::Nothing, Found::Task),
        })
    }

    /// As [`find`](Self::find) tells it.
    #[cfg(all(test, loom))]
    pub(crate) fn version(&self) -> u64 {
        self.state.with(|state| state.version)
    }

    /// Gives tickets for the oldest fresh tasks. False: these were the last. `delivered`: the
    /// caller has delivered some before, which count from now on for those who were given nothing
    /// meanwhile.
    pub(crate) fn deliver(&'static self, batch: &mut Batch, delivered: bool) -> bool {
        self.state.with(|state| {
            state.version += u64::from(delivered);
            for place in batch {
                let Some(at) = state.fresh.oldest() else { return false };
                let cause = CAUSES[state.fresh.note(at) as usize];
                let Some(task) = state.fresh.take(at) else { return false };
                state.stamp = state.stamp.checked_add(1).unwrap_or(1);
                let (stamp, future, address) = (state.stamp, task.is_future(), task.address().addr());
                let known = task.header().has_flags(TaskFlags::NAMED);
                let at = state.put(Filed::Given, task, false, stamp);
                let property = if known { state.properties.get(&address) } else { None };
                let value = property.map(|property| property.value.clone());
                *place = Some((ReadyTask::new(self, Ticket { at, stamp }, future, value), cause));
            }
            true
        })
    }

    pub(super) fn is_valid(&self, ticket: Ticket) -> bool {
        self.state.with(|state| state.holds(ticket))
    }

    pub(super) fn redeem(&self, ticket: Ticket) -> Option<Runnable> {
        self.state.with(|state| state.redeem(ticket))
    }

    /// A ticket was dropped: its task goes first.
    pub(super) fn give_back(&self, ticket: Ticket) {
        let valid = self.state.with(|state| {
            let valid = state.holds(ticket);
            if valid {
                state.returned.push_back(ticket);
                state.version += 1;
            }
            valid
        });
        if valid && let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// The scheduler may say something else from now on.
    pub(crate) fn changed(&self) {
        self.state.with(|state| state.version += 1);
    }

    /// Gives a task a property, or another one, and files it anew if it is queued (true). The
    /// property that it had until now is to be dropped where user code may run.
    pub(crate) fn set_property(&self, task: &Header, value: PropertyValue) -> (Option<PropertyValue>, bool) {
        self.state.with(|state| {
            let address = std::ptr::from_ref(task).addr();
            let Some(property) = state.properties.get_mut(&address) else {
                state.properties.insert(address, Property { value, at: None });
                return (None, false);
            };
            let before = std::mem::replace(&mut property.value, value);
            let given = match property.at {
                Some((Filed::Given, at)) => state.take(Filed::Given, at),
                // It has none, or waits to be delivered, and is so with the new one.
                _ => None,
            };
            let Some(task) = given else { return (Some(before), false) };
            let changed = CAUSES.iter().position(|cause| *cause == Cause::Changed).unwrap_or(0);
            state.put(Filed::Fresh, task, false, changed as u32);
            state.version += 1;
            (Some(before), true)
        })
    }

    /// The task's record goes: its property, to be dropped where user code may run.
    pub(crate) fn forget(&self, task: usize) -> Option<PropertyValue> {
        self.state.with(|state| state.properties.remove(&task).map(|property| property.value))
    }
}

impl PolicyQueues for &'static Table {
    fn put(&self, _worker: Option<usize>, task: Runnable, arrival: Arrival) -> Option<usize> {
        let cause = Cause::of(arrival);
        let note = CAUSES.iter().position(|known| *known == cause).unwrap_or(0) as u32;
        self.state.with(|state| {
            state.put(Filed::Fresh, task, arrival == Arrival::Next, note);
            state.version += 1;
        });
        None
    }

    /// The oldest: where nobody may ask the scheduler.
    fn take(&self, _worker: usize, _look: Option<u32>) -> Option<Runnable> {
        if self.state.is_empty() { None } else { self.state.with(TableState::take_oldest) }
    }

    fn claim(&self, task: &Header) -> Option<Unstarted> {
        claim_list::queue_of(task)?;
        // Which list is asked under the lock: the task may be delivered at any moment.
        let claimed = self.state.with(|state| match (state.fresh.find(task), state.given.find(task)) {
            (Some(at), _) => state.take(Filed::Fresh, at),
            (None, Some(at)) => state.take(Filed::Given, at),
            (None, None) => None,
        });
        claimed?.into_unstarted().ok()
    }

    fn take_ours(&self, _worker: usize, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable> {
        if self.state.is_empty() {
            return None;
        }
        self.state.with(|state| {
            let newest = [(Filed::Fresh, &state.fresh), (Filed::Given, &state.given)];
            let found =
                newest.into_iter().find_map(|(list, tasks)| tasks.newest().map(|at| (list, at, tasks.task(at))));
            match found {
                Some((list, at, Some(task))) if ours(task) => state.take(list, at),
                _ => None,
            }
        })
    }

    fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    fn len(&self) -> usize {
        self.state.with(|state| state.fresh.len() + state.given.len())
    }

    fn has_new(&self, declined: u64) -> bool {
        let first = self.state.first();
        first != EMPTY && first != declined
    }

    fn table(&self) -> Option<&'static Table> {
        Some(*self)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("empty", &self.state.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod test;
