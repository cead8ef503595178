//! Which task a worker starts next: the policies, and the seam at which they stand.
//!
//! ```text
//!  work stealing   push -> own deque -> pop | claim | steal                              nothing of this module
//!  any other       push -> own deque -> (somebody asks for work) -> put -> take | claim
//!                          for one moment     always true            a policy's queues
//! ```
//! **Where the seam lies.** Only unstarted tasks and woken futures are concerned. A blocked closure
//! has a stack, and goes on on its own worker, first come, first served, under every policy.
//!
//! **Whose policy.** What stands at this seam is called in pushes and wakes, so it is the engine's:
//! the queues of its own policies, and a [`table`] of tasks for which a [`scheduler`] of the
//! program's has tickets.
//!
//! **What it costs who does not use it:** nothing. Each push looks at `steal_request` of its own
//! deque anyway: does somebody ask for work? Under another policy that word is set for good, so the
//! slow path of the push (`Worker::answer`) takes the task out of the deque again, at once, and
//! puts it into the queues. All other steps are in slow paths as well: a deque that is empty (for a
//! pop, a claim, a thief) and an injector that always says that there may be something
//! (`Workers::has_injected`).
//!
//! **Invariants.** (P1) Between two operations the deque of each worker is empty, and nobody steals
//! from it. (P2) A task is in at most one queue, and is taken out of it once, under that queue's
//! lock. (P3) Who finds a task in a slot by identity may take it: what stands in a slot is queued,
//! and its record lives.
//!
//! **Sleeping.** Put | LIGHT | sleepers? against sleepers + 1 | HEAVY | queues empty? (see
//! [`crate::sched::idle`]).
//!
//! Tests: `tests/loom/policy.rs`, `test.rs` beside each queue,
//! `crates/myriad/tests/scheduling/policies.rs`; and every other test of behaviour, under
//! `MYRIAD_POLICY`.

mod claim_list;
mod heap;
mod label;
mod locked;
mod multiqueue;
pub(crate) mod ready_task;
mod round_robin;
pub(crate) mod scheduler;
mod shared;
pub(crate) mod table;

use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};
use std::fmt;
use std::str::FromStr;

/// Which of the tasks that can start a worker starts next. Chosen by
/// [`Builder::policy`](crate::Builder::policy).
///
/// Whatever the policy: a task that is joined while it has not been started may be run by its
/// joiner, out of turn; blocked closures that are ready come before tasks that have not begun; and
/// nothing waits for ever. `docs/SCHEDULERS.md` compares the policies.
///
/// # Examples
/// ```
/// use myriad::{Builder, Policy};
/// let rt = Builder::new().workers(1).policy(Policy::SharedQueue).build()?;
/// assert_eq!(rt.policy(), Policy::SharedQueue);
/// assert_eq!("depth-first".parse(), Ok(Policy::DepthFirst));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Each worker starts its newest task first; who has none takes the oldest of another. The
    /// fastest by far, and the default.
    #[default]
    WorkStealing,
    /// The task that the serial program would come to first: so few tasks are begun at a time, and
    /// workers stay close to each other, with data that they share in a cache.
    ///
    /// After the parallel depth-first order of Blelloch, Gibbons and Matias ("Provably efficient
    /// scheduling for languages with fine-grained parallelism", J. ACM 46, 1999; for caches Chen
    /// and others, SPAA 2007), on a multiqueue (Rihani, Sanders and Dementiev, SPAA 2015), as
    /// Julia's partr has it: two heaps for each worker, a task goes into any, a worker takes the
    /// better of the first ones of two. With one worker there is one heap, and the order is exact
    /// for 16 generations of up to seven children; below that, and on several workers, nearly.
    DepthFirst,
    /// One queue for all workers, first in, first out. Fair, and in trees of tasks it begins very
    /// many before it ends any.
    SharedQueue,
    /// New tasks are dealt to the workers in turn, and each starts its own in their order; who has
    /// none takes the oldest of another. (Boost.Fiber's `round_robin` deals nothing, and takes
    /// nothing from others: there a thread that is stuck holds up all that it was given.)
    RoundRobin,
    /// What a [`Scheduler`](crate::scheduler::Scheduler) of the program's own says:
    /// [`Builder::scheduler`](crate::Builder::scheduler).
    Custom,
}

impl Policy {
    /// All that Myriad has itself.
    pub const ALL: [Policy; 4] = [Policy::WorkStealing, Policy::DepthFirst, Policy::SharedQueue, Policy::RoundRobin];

    /// Its name: `work-stealing`, `depth-first`, `shared-queue`, `round-robin`; and `custom`, which
    /// nothing can be chosen by.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::WorkStealing => "work-stealing",
            Policy::DepthFirst => "depth-first",
            Policy::SharedQueue => "shared-queue",
            Policy::RoundRobin => "round-robin",
            Policy::Custom => "custom",
        }
    }

    /// The queues of so many workers; `None` where their deques are all.
    pub(crate) fn queues(self, workers: usize) -> Option<Box<dyn PolicyQueues>> {
        match self {
            Policy::WorkStealing => None,
            Policy::DepthFirst => Some(Box::new(multiqueue::MultiQueue::new(workers))),
            Policy::SharedQueue => Some(Box::new(shared::SharedQueue::new())),
            Policy::RoundRobin => Some(Box::new(round_robin::RoundRobin::new(workers))),
            Policy::Custom => Some(Box::new(&*Box::leak(Box::new(table::Table::new())))),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Policy, UnknownPolicy> {
        Policy::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| UnknownPolicy(name.into()))
    }
}

/// There is no policy of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no policy `{}`; there are: {}", self.0, Policy::ALL.map(Policy::name).join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

/// How a task comes to the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Spawned by the task with this record (perhaps one that has just ended: it is an address, no
    /// more), null if none runs.
    Spawned(*const Header),
    /// Spawned from outside of the runtime.
    Outside,
    /// A future that was woken.
    Woken,
    /// What runs on the calling worker goes on in it, and waits for it: before all others.
    Next,
    /// A future that has woken itself: behind all others.
    Last,
}

/// What a policy is: some queues. For any thread; all calls are short, and call nothing foreign.
pub(crate) trait PolicyQueues: fmt::Debug + Send + Sync {
    /// Adds a task. Returns the worker that is to start it, if it should be a certain one.
    ///
    /// `worker` is the calling one, `None` on any other thread.
    fn put(&self, worker: Option<usize>, task: Runnable, arrival: Arrival) -> Option<usize>;

    /// Takes the task that this worker is to start next. `None`: there is none (or others took all
    /// meanwhile).
    ///
    /// `look`: the worker has done many turns since the last look, and counts them; then it is the
    /// turn of what might else never be.
    fn take(&self, worker: usize, look: Option<u32>) -> Option<Runnable>;

    /// Takes out this very closure, to be run by its joiner. `None`: it is not here any more.
    fn claim(&self, task: &Header) -> Option<Unstarted>;

    /// Takes a task of which `ours` holds, if it is one that can be found at once: for a scope's
    /// end.
    fn take_ours(&self, worker: usize, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable>;

    /// Is there nothing? True of the moment of a heavy fence before it.
    fn is_empty(&self) -> bool;

    /// How many tasks there are, queue by queue.
    fn len(&self) -> usize;

    /// Is there something for a worker which was given nothing at this version? As true as
    /// [`is_empty`](Self::is_empty).
    fn has_new(&self, _declined: u64) -> bool {
        !self.is_empty()
    }

    /// The tasks of a scheduler of the program's own, which is to be asked instead of
    /// [`take`](Self::take).
    fn table(&self) -> Option<&'static table::Table> {
        None
    }
}

#[cfg(all(test, not(loom)))]
mod test;
