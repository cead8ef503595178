//! Takeover: going on with the ready tasks of a worker that is stuck in a task. Threads mode only.
//!
//! ```text
//!  monitor: allows_takeover = true; HEAVY; ready tasks? -> wake a helper
//!  helper (any worker with nothing to do): allows_takeover? -> under the ring's lock: inbox into the ring,
//!          take one; give it *its own* role
//!  waker:   push on the inbox; LIGHT (or on the ring, under its lock); allows_takeover? sleepers? -> wake one
//!  sleeper: sleepers+1; sleeping=1; HEAVY; a takeover, and a task ready? -> do not sleep
//! ```
//! In threads mode a blocked task is a parked OS thread, and a worker is a role that threads hand
//! to each other. So a helper gives such a thread its own role: the task goes on, on its own
//! thread, as the helper's; the stuck thread keeps the role of the stuck worker. In fiber mode a
//! blocked task is a stack that only its home's thread may run: there are no takeovers.
//!
//! **Invariants.** Each ready node is taken once: by the swap of the inbox, or under the ring's
//! lock. Whose tasks are taken over need not *be* stuck: all this is right at any time; the flag
//! only says when it is worth while.
//!
//! **Taken before its thread has parked.** A helper may take a node whose task is still on its way
//! to hand its worker's role over. The node has the thread's address from the start
//! (`Parked::saved`), and a turn that is given early waits for the thread
//! ([`myriad_base::stack::threads`]): it hands over the old role, finds its turn, and goes on with
//! the new one.
//!
//! Tests: `tests/loom/takeover.rs`.

use crate::queue::parked::Resumable;
use crate::sched::cancel::request;
use crate::sched::idle::{WorkerShared, Workers};
use crate::sched::stacks::is_pinned;
use crate::sched::worker::Peer;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::fence::{Fence, heavy};
use myriad_base::sys::mutant::on;
use std::time::Duration;

impl WorkerShared {
    /// May others go on with its ready tasks?
    #[inline(always)]
    pub(crate) fn allows_takeover(&self) -> bool {
        self.remote.allows_takeover.load(Relaxed)
    }

    /// Is a blocked task of it ready? For its own last look before it sleeps.
    pub(crate) fn has_ready(&self) -> bool {
        // First the inbox: a helper moves what is in it to the ring, under the lock.
        if !self.remote.inbox.is_empty() {
            return true;
        }
        self.ready.is_shared() && !on("sleep-no-ring") && !self.ready.locked(|ring| ring.is_all_empty())
    }

    /// Could another worker go on with one? (Perhaps, if the inbox is not empty; who tries moves it
    /// to the ring.)
    pub(crate) fn has_free_ready(&self) -> bool {
        !self.remote.inbox.is_empty()
            || self.ready.is_shared() && !on("sleep-no-ring") && self.ready.locked(|ring| ring.has_free(is_pinned))
    }

    /// Takes a ready task of this worker, for another one; those of groups
    /// stay ([`crate::task::Group`]).
    pub(crate) fn take_ready(&'static self) -> Option<Resumable> {
        if !self.has_free_ready() {
            return None;
        }
        let mut requests = Vec::new();
        let node = self.ready.locked(|ring| {
            let node = ring.pop_free(is_pinned);
            if node.is_some() {
                return node;
            }
            self.remote.inbox.take(|node| match node.home() {
                // What was for a runtime in fiber mode, which has ended, and had this worker
                // before. (In a model no node has a home.)
                None if !cfg!(loom) => requests.push(node),
                _ => ring.push(node),
            });
            ring.pop_free(is_pinned)
        });
        for request in requests {
            // SAFETY: it has come out of the inbox, where what has no home is a request. In threads
            // mode, in which alone others take from a worker, anybody serves those.
            unsafe { request::receive_for(Peer::of(self), request.into_raw()) };
        }
        node
    }

    /// In threads mode: one of this worker's tasks is ready.
    ///
    /// No fence: a monitor that sets our flag, or a sleeper, looks at the ring under its lock,
    /// before our push (then the lock shows us what it did before) or after it.
    ///
    /// The worker goes on with it, or lets another do so.
    pub(crate) fn push_ready(&self, node: Resumable) {
        self.ready.locked(|ring| ring.push(node));
        if self.allows_takeover() {
            self.workers.tell_helper();
        }
    }

    /// The same for one that goes on before the others.
    pub(crate) fn push_next(&self, node: Resumable) {
        self.ready.locked(|ring| ring.push_next(node));
        if self.allows_takeover() {
            self.workers.tell_helper();
        }
    }
}

impl Workers {
    /// A worker is stuck: its ready tasks are for all from now on. True: it has some.
    pub(crate) fn allow_takeover(&self, shared: &WorkerShared) -> bool {
        shared.remote.allows_takeover.store(true, Relaxed);
        if !on("takeover-no-heavy") {
            // Pairs with a waker's light fence: its push against our look, its look at the flag
            // against our store.
            heavy();
        }
        let ready = shared.has_free_ready();
        if ready {
            self.tell_helper();
        }
        ready
    }

    /// It is well again.
    pub(crate) fn end_takeover(&self, shared: &WorkerShared) {
        shared.remote.allows_takeover.store(false, Relaxed);
    }

    /// A task is ready of a worker that allows takeovers: somebody goes on with it.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_helper(&self) {
        if self.has_sleepers() && !on("helper-not-told") {
            self.wake_one();
        }
    }

    /// Takes a ready task of a worker that is stuck, and says whose it was.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_over(&self, me: &WorkerShared) -> Option<(&'static WorkerShared, Resumable)> {
        self.others(me).filter(|other| other.allows_takeover()).find_map(|other| {
            let node = other.take_ready()?;
            Some((other, node))
        })
    }

    /// A spare that is off duty rests until its inbox, a stop, or new duty wakes it, or for so long
    /// (its own timers: the others look at them only when they have nothing to do). What it is
    /// woken for besides it passes on.
    pub(crate) fn rest(
        &self,
        me: &WorkerShared,
        on_duty: impl Fn() -> bool,
        timeout: impl FnOnce() -> Option<Duration>,
    ) {
        self.announce_rest(me);
        // Pairs with the light fences of those who push on its inbox, stop the runtime, or call it
        // to duty.
        heavy();
        let stays = !me.has_ready() && !self.stops() && !on_duty();
        // It may have been woken, as a sleeper, for something that it does not do any more.
        // (Or it was in the reactor, and whoever came to sleep meanwhile does so elsewhere.)
        let busy = self.has_injected()
            || self.reactor.get().is_some()
            || self.others(me).any(|m| m.deque.is_busy() || m.allows_takeover() && m.has_free_ready());
        if busy && self.has_sleepers() {
            self.wake_one();
        }
        if stays {
            self.stay_asleep(me, timeout());
        } else {
            self.retract(me);
        }
    }

    /// Calls a spare to duty: it looks for work again.
    pub(crate) fn call(&self, shared: &WorkerShared) {
        Fence::foreign().light();
        self.unpark(shared);
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::sched::worker;

    /// A request that was meant for a runtime in fiber mode may come when a runtime in threads mode
    /// has its worker; and whoever takes over from that one finds it among the tasks.
    #[test]
    fn a_late_request_is_no_task() {
        let rt = crate::Builder::new().workers(2).build().unwrap();
        rt.run(|| {
            let stuck = worker::current().unwrap().as_static();
            request::post_of_test(stuck);
            // Until another worker has looked.
            while !stuck.shared.remote.inbox.is_empty() {
                std::hint::spin_loop();
            }
        });
    }
}
