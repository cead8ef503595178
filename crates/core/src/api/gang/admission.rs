//! Who may begin: gangs come in one after the other, each with all the threads that it wants.
//!
//! ```text
//!  free: processors that no gang has      line: gangs that wait, first come, first served
//! ```
//! A gang takes one place for each job, at once, or waits in line; one that is larger than the
//! machine takes all, and is alone. So jobs that spin until another one goes on have processors, as
//! far as gangs are concerned; and two gangs of which each had half of what it needs cannot be.
//!
//! **Invariants.** `free` plus what the admitted gangs took is the number of processors. The first
//! in line does not fit, else it would not be in line. A line's entry stands in the frame of one
//! who waits, and goes when it is admitted or cancelled.
//!
//! **A runtime that ends** may leave a task blocked that waits in line, or has been admitted and
//! does not go on: what it has, or would get, is for others ([`leave_all`]).
//!
//! **fork.** In a child none of these gangs exist: the state is that of one process ([`fork`]).

use crate::queue::parked::Parked;
use crate::queue::reason::WaitReason;
use crate::sched::fork;
use crate::sched::pool::Pool;
use crate::sched::wait::{Wait, Waiter};
use crate::sched::worker::{self, Worker};
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::thread::processors;
use std::collections::VecDeque;

static STATE: Mutex<AdmissionState> =
    Mutex::new(AdmissionState { era: 0, most: 0, free: 0, line: VecDeque::new(), taken: Vec::new() });

pub(crate) struct AdmissionState {
    era: u32,
    most: usize,
    free: usize,
    line: VecDeque<Waiting>,
    /// Who was admitted from the line, and has not been gone on with yet.
    taken: Vec<Admitted>,
}

/// A gang that was admitted while its caller was set aside.
#[derive(Debug, PartialEq)]
struct Admitted {
    want: usize,
    node: usize,
    home: Home,
}

/// The pool of the waiting task, to compare; `None` for a thread.
type Home = Option<usize>;

fn home_of(w: &Worker) -> usize {
    std::ptr::from_ref(w.pool).addr()
}

struct Waiting {
    want: usize,
    home: Home,
    waiter: Waiter,
    /// The address of its wait, to find it by.
    node: usize,
}

/// For `fork`: nobody else changes the state meanwhile.
pub(crate) type Lock = MutexGuard<'static, AdmissionState>;

pub(super) fn lock() -> Lock {
    STATE.lock()
}

fn locked() -> Lock {
    let mut state = lock();
    let era = fork::era();
    if state.era != era {
        let most = processors().workers.max(1);
        // (Targets of another process: forgotten, for their owners are not here.)
        std::mem::forget(std::mem::take(&mut state.line));
        *state = AdmissionState { era, most, free: most, line: VecDeque::new(), taken: Vec::new() };
    }
    state
}

/// Places that a gang has; given back when dropped.
#[derive(Debug)]
pub(super) struct GangPermits(usize);

impl GangPermits {
    /// Waits until there are places for `n` jobs, and takes them. A task that is cancelled while it
    /// waits unwinds.
    ///
    /// # Errors
    /// There is no memory for a stack on which the worker could go on meanwhile.
    pub(super) fn take(n: usize) -> Result<GangPermits, NoStack> {
        let wait = Wait::new(WaitReason::Gang);
        {
            let mut state = locked();
            let want = n.min(state.most);
            if state.line.is_empty() && state.free >= want {
                state.free -= want;
                return Ok(GangPermits(want));
            }
        }
        wait.prepare()?;
        // SAFETY: `leave` compares the address, and reads nothing there.
        unsafe { wait.on_cancel(leave) };
        let mut state = locked();
        let want = n.min(state.most);
        let home = worker::current().map(|w| home_of(&w));
        state.line.push_back(Waiting { want, home, waiter: wait.waiter(), node: address(&wait) });
        // Somebody may have left meanwhile.
        let admitted = state.admit();
        drop(state);
        wake(admitted);
        // SAFETY: prepared; the target is in the line, and whoever takes it out wakes it, once.
        unsafe { Wait::block(&raw const wait) };
        let here = address(&wait);
        locked().taken.retain(|admitted| admitted.node != here);
        if wait.was_cancelled() {
            let admitted = locked().admit();
            wake(admitted);
            wait.unwind_if_cancelled();
        }
        Ok(GangPermits(want))
    }
}

impl Drop for GangPermits {
    fn drop(&mut self) {
        let mut state = locked();
        state.free = (state.free + self.0).min(state.most);
        let admitted = state.admit();
        drop(state);
        wake(admitted);
    }
}

impl AdmissionState {
    /// Lets in as many as fit, in order.
    fn admit(&mut self) -> Vec<Waiter> {
        let mut admitted = Vec::new();
        while self.line.front().is_some_and(|first| first.want <= self.free) {
            let Some(first) = self.line.pop_front() else { break };
            self.free -= first.want;
            self.taken.push(Admitted { want: first.want, node: first.node, home: first.home });
            admitted.push(first.waiter);
        }
        admitted
    }
}

/// The workers of this pool have ended: its tasks that wait, or were admitted and do not go on,
/// never begin.
pub(crate) fn leave_all(pool: &Pool) {
    let home = Some(std::ptr::from_ref(pool).addr());
    let mut state = locked();
    // (Targets in frames that stay.)
    state.line.retain(|waiter| waiter.home != home);
    let places =
        state.taken.extract_if(.., |admitted| admitted.home == home).map(|admitted| admitted.want).sum::<usize>();
    state.free += places;
    let admitted = state.admit();
    drop(state);
    wake(admitted);
}

fn wake(admitted: Vec<Waiter>) {
    for waiter in admitted {
        // SAFETY: taken out of the line, so woken once; a wait without a limit needs no claim.
        unsafe { waiter.wake() };
    }
}

fn address(wait: &Wait) -> usize {
    std::ptr::from_ref(wait).addr()
}

/// Takes a wait that is cancelled out of the line. (A [`CancelFn`](crate::sched::wait::CancelFn),
/// which uses the node's address alone.)
fn leave(node: *const Parked) -> bool {
    let mut state = locked();
    let index = state.line.iter().position(|waiter| waiter.node == node.addr());
    index.map(|i| state.line.remove(i)).is_some()
}
