//! A pool of workers for scripts, and what a worker does that has nothing to do.

use super::tasks::{Tasks, start};
use crate::queue::deque::{Keeps, OwnDeque};
use crate::queue::policy::Policy;
use crate::record::task::Runnable;
use crate::sched::idle::{WorkerShared, Workers};
use loom::thread;
use std::sync::Arc;

/// Workers from 0, and tasks from 1.
pub struct TestPool {
    pub workers: &'static Workers,
    pub tasks: Tasks,
}

impl TestPool {
    pub fn new(workers: usize, tasks: usize) -> Arc<TestPool> {
        TestPool::under(Policy::WorkStealing, workers, tasks)
    }
    /// The same under another policy.
    pub fn under(policy: Policy, n: usize, tasks: usize) -> Arc<TestPool> {
        let workers: &'static Workers = Box::leak(Box::default());
        if let Some(queues) = policy.queues(n) {
            workers.set_queues(queues);
        }
        // SAFETY: a model asks for no peer of it.
        let worker = |i| &*Box::leak(Box::new(unsafe { WorkerShared::new(workers, i, 4) }));
        workers.set_all((0..n).map(worker).collect(), 0);
        Arc::new(TestPool { workers, tasks: Tasks::new(tasks) })
    }
    pub fn shared(&self, worker: usize) -> &'static WorkerShared {
        self.workers.all()[worker]
    }
    pub fn deque(&self, worker: usize) -> OwnDeque<'static> {
        // SAFETY: only the part of a script that plays this worker calls what calls this.
        unsafe { self.shared(worker).deque.owner() }
    }

    /// Worker `w` spawns: pushes a task, and answers when somebody asks.
    pub fn spawn(&self, w: usize, number: usize) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        if self.deque(w).push(task.unstarted()) {
            self.workers.serve_requests(shared, self.deque(w));
        }
    }
    /// The same behind all other tasks.
    pub fn spawn_oldest(&self, w: usize, number: usize) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        if self.deque(w).push_oldest(task.unstarted().into()) {
            self.workers.serve_requests(shared, self.deque(w));
        }
    }
    /// Worker `w`, whose turns are short, wakes a task.
    pub fn wake(&self, w: usize, number: usize) {
        self.wake_and_keep(w, number, Keeps::Lone);
    }
    /// The same where futures are gathered at it.
    pub fn wake_kept(&self, w: usize, number: usize) {
        self.wake_and_keep(w, number, Keeps::All);
    }
    fn wake_and_keep(&self, w: usize, number: usize, keeps: Keeps) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        self.deque(w).set_keeps(keeps);
        if self.deque(w).push_woken(task.unstarted().into()) {
            self.workers.serve_requests(shared, self.deque(w));
        }
    }
    /// Pushes without a look at who asks.
    pub fn push(&self, w: usize, number: usize) {
        let task = self.tasks.get(number);
        task.write();
        self.deque(w).push(task.unstarted());
    }
    /// Worker `w` runs its newest task. False: it has none.
    pub fn pop_and_run(&self, w: usize) -> bool {
        self.deque(w).pop().map(start).is_some()
    }

    /// Worker `w` looks for one task of the others until it has one, and sleeps in between. `None`:
    /// there is something in its inbox or in the injector, or all is to end.
    pub fn find(&self, w: usize) -> Option<Runnable> {
        let me = self.shared(w);
        loop {
            if !me.remote.inbox.is_empty() || self.workers.has_injected() || self.workers.stops() {
                return None;
            }
            for victim in self.workers.others(me) {
                let mut room = [None];
                let task = match victim.deque.steal(&mut room) {
                    0 if victim.deque.looks_stealable() => victim.deque.steal_forced(),
                    _ => room[0].take(),
                };
                if task.is_some() {
                    self.workers.found(victim);
                    return task;
                }
            }
            if !self.workers.sleep(me, || None).has_slept() {
                thread::yield_now();
            }
        }
    }
    /// Finds a task and runs it.
    pub fn find_and_run(&self, w: usize) {
        start(self.find(w).expect("a task"));
    }
    /// Worker `w` sleeps: a directed start, for a thread that goes on with [`Workers::sleep_on`],
    /// or for none, where it is enough to look at the end whether it was forgotten.
    pub fn put_to_sleep(&self, w: usize) {
        assert!(self.workers.fall_asleep(self.shared(w)));
    }
    /// Worker `w` sleeps until it is woken, then finds a task and runs it.
    pub fn sleep_on(&self, w: usize) {
        self.workers.stay_asleep(self.shared(w), None);
        self.find_and_run(w);
    }
}

impl TestPool {
    /// With all threads joined: if somebody still sleeps, all tasks have run.
    pub fn assert_none_forgotten(&self) {
        if self.workers.has_sleepers() {
            self.tasks.assert_all_ran();
        }
    }
}

impl Drop for TestPool {
    fn drop(&mut self) {
        let all: Vec<_> = self.workers.all().to_vec();
        for shared in all {
            // SAFETY: leaked in `under`; the script is over, so nobody looks at it any more.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(shared).cast_mut()) });
        }
        // SAFETY: leaked in `under`; its workers, which refer to it, are gone; the script is over.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self.workers).cast_mut()) });
    }
}

/// Runs a part of a script on a thread of its own.
pub fn spawn_part<W: 'static>(world: &Arc<W>, part: impl FnOnce(&W) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || part(&world))
}
