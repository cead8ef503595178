//! A pool of workers for scripts, and what a worker does that has nothing to do.

use super::tasks::{Tasks, start};
use crate::queue::policy::Policy;
use crate::record::header::Header;
use crate::sched::idle::{WorkerShared, Workers};
use loom::thread;
use std::ptr::null_mut;
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

    /// Worker `w` spawns: pushes a task, and answers when somebody asks.
    pub fn spawn(&self, w: usize, number: usize) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        // SAFETY: only the part of a script that plays worker `w` calls this.
        unsafe {
            if shared.deque.push(task.pointer()) {
                self.workers.answer(shared);
            }
        }
    }
    /// The same behind all other tasks.
    pub fn spawn_oldest(&self, w: usize, number: usize) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        // SAFETY: only the part of a script that plays worker `w` calls this, so it is the deque's
        // owner; the record is the script's, and in no queue.
        unsafe {
            if shared.deque.push_oldest(task.pointer()) {
                self.workers.answer(shared);
            }
        }
    }
    /// Pushes without a look at who asks.
    pub fn push(&self, w: usize, number: usize) {
        let (shared, task) = (self.shared(w), self.tasks.get(number));
        task.write();
        // SAFETY: only the part of a script that plays worker `w` calls this, so it is the deque's
        // owner; the record is the script's, and in no queue.
        unsafe { shared.deque.push(task.pointer()) };
    }
    /// Worker `w` runs its newest task. False: it has none.
    pub fn pop_and_run(&self, w: usize) -> bool {
        // SAFETY: only the part of a script that plays worker `w` calls this, so it is the deque's
        // owner.
        let task = unsafe { self.shared(w).deque.pop() };
        if !task.is_null() {
            start(task);
        }
        !task.is_null()
    }

    /// Worker `w` looks for one task of the others until it has one, and sleeps in between. Null:
    /// there is something in its inbox or in the injector, or all is to end.
    pub fn find(&self, w: usize) -> *mut Header {
        let me = self.shared(w);
        loop {
            if !me.remote.inbox.is_empty() || self.workers.has_injected() || self.workers.stops() {
                return null_mut();
            }
            for victim in self.workers.others(me) {
                let mut room = [null_mut()];
                let taken = victim.deque.steal(&mut room);
                let task = if taken > 0 { room[0] } else { victim.deque.steal_forced() };
                if !task.is_null() {
                    self.workers.found(victim);
                    return task;
                }
            }
            if !self.workers.sleep(me, || None) {
                thread::yield_now();
            }
        }
    }
    /// Finds a task and runs it.
    pub fn find_and_run(&self, w: usize) {
        let task = self.find(w);
        assert!(!task.is_null());
        start(task);
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
