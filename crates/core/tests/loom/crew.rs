//! A crew of workers for scripts, and what a worker does that has nothing to do.

use super::tasks::{Tasks, start};
use crate::queue::policy::Policy;
use crate::record::header::Header;
use crate::sched::idle::{Crew, Member};
use loom::thread;
use std::ptr::null_mut;
use std::sync::Arc;

/// Workers from 0, and tasks from 1.
pub struct Workers {
    pub crew: &'static Crew,
    pub tasks: Tasks,
}

impl Workers {
    pub fn new(workers: usize, tasks: usize) -> Arc<Workers> {
        Workers::under(Policy::WorkStealing, workers, tasks)
    }
    /// The same under another policy.
    pub fn under(policy: Policy, workers: usize, tasks: usize) -> Arc<Workers> {
        let crew: &'static Crew = Box::leak(Box::default());
        if let Some(queues) = policy.queues(workers) {
            crew.set_queues(queues);
        }
        crew.set_members((0..workers).map(|i| &*Box::leak(Box::new(Member::new(crew, i, 4)))).collect(), 0);
        Arc::new(Workers { crew, tasks: Tasks::new(tasks) })
    }
    pub fn member(&self, worker: usize) -> &'static Member {
        self.crew.members()[worker]
    }

    /// Worker `w` spawns: pushes a task, and answers when somebody asks.
    pub fn spawn(&self, w: usize, number: usize) {
        let (member, task) = (self.member(w), self.tasks.get(number));
        task.write();
        // SAFETY: only the part of a script that plays worker `w` calls this.
        unsafe {
            if member.deque.push(task.pointer()) {
                self.crew.answer(member);
            }
        }
    }
    /// The same behind all other tasks.
    pub fn spawn_oldest(&self, w: usize, number: usize) {
        let (member, task) = (self.member(w), self.tasks.get(number));
        task.write();
        // SAFETY: as above.
        unsafe {
            if member.deque.push_oldest(task.pointer()) {
                self.crew.answer(member);
            }
        }
    }
    /// Pushes without a look at who asks.
    pub fn push(&self, w: usize, number: usize) {
        let (member, task) = (self.member(w), self.tasks.get(number));
        task.write();
        // SAFETY: as above.
        unsafe { member.deque.push(task.pointer()) };
    }
    /// Worker `w` runs its newest task. False: it has none.
    pub fn pop_and_run(&self, w: usize) -> bool {
        // SAFETY: as above.
        let task = unsafe { self.member(w).deque.pop() };
        if !task.is_null() {
            start(task);
        }
        !task.is_null()
    }

    /// Worker `w` looks for one task of the others until it has one, and sleeps in between. Null:
    /// there is something in its inbox or in the injector, or all is to end.
    pub fn find(&self, w: usize) -> *mut Header {
        let me = self.member(w);
        loop {
            if !me.door.inbox.is_empty() || self.crew.has_injected() || self.crew.stops() {
                return null_mut();
            }
            for victim in self.crew.others(me) {
                let mut room = [null_mut()];
                let taken = victim.deque.steal(&mut room);
                let task = if taken > 0 { room[0] } else { victim.deque.steal_forced() };
                if !task.is_null() {
                    self.crew.found(victim);
                    return task;
                }
            }
            if !self.crew.sleep(me, || None) {
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
        assert!(self.crew.fall_asleep(self.member(w)));
    }
    /// Worker `w` sleeps until it is woken, then finds a task and runs it.
    pub fn sleep_on(&self, w: usize) {
        self.crew.stay_asleep(self.member(w), None);
        self.find_and_run(w);
    }
}

impl Workers {
    /// With all threads joined: if somebody still sleeps, all tasks have run.
    pub fn assert_none_forgotten(&self) {
        if self.crew.has_sleepers() {
            self.tasks.assert_all_ran();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let members: Vec<_> = self.crew.members().to_vec();
        for member in members {
            // SAFETY: leaked in `new`; the script is over, so nobody looks at it any more.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(member).cast_mut()) });
        }
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self.crew).cast_mut()) });
    }
}

/// Runs a part of a script on a thread of its own.
pub fn spawn_part<W: 'static>(world: &Arc<W>, part: impl FnOnce(&W) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || part(&world))
}
