//! Scripts of the policies' seam: a task is put into a queue while a worker falls asleep; a joiner
//! claims its task while a worker takes it.
//!
//! The queues themselves are sequential code under a lock. What is explored is what stands outside
//! of it: the look without the lock, the fences, and the record's word that says where it is.

use super::pool::{TestPool, spawn_part};
use super::tasks::start;
use super::{SCRIPT, Script};
use crate::queue::policy::{Arrival, Policy};
use loom::thread;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::ptr::null_mut;

/// Worker `w` looks for a task until it has run one, and sleeps in between.
fn take_and_run(world: &TestPool, w: usize) {
    let queues = world.workers.queues().unwrap();
    loop {
        let task = if world.workers.has_injected() { queues.take(w, None) } else { None };
        if let Some(task) = task {
            return start(task);
        }
        if !world.workers.sleep(world.shared(w), || None).has_slept() {
            thread::yield_now();
        }
    }
}

/// A foreign thread spawns while the only worker is going to sleep.
fn put_from_outside(policy: Policy) {
    let w = TestPool::under(policy, 1, 1);
    let sleeper = spawn_part(&w, |w| take_and_run(w, 0));
    w.tasks.get(1).write();
    w.workers.put(w.workers.queues().unwrap(), None, w.tasks.get(1).unstarted().into(), Arrival::Outside);
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A worker spawns, and then computes, while the other is going to sleep: the push comes to the
/// policy.
fn put_by_a_worker(policy: Policy) {
    let w = TestPool::under(policy, 2, 1);
    let sleeper = spawn_part(&w, |w| take_and_run(w, 1));
    let (me, task) = (w.shared(0), w.tasks.get(1));
    task.write();
    assert!(w.deque(0).push(task.unstarted()), "each push is to come to the policy");
    let pushed = w.deque(0).pass_on().expect("what was pushed");
    assert_eq!(pushed.address(), task.pointer());
    w.workers.put(w.workers.queues().unwrap(), Some(me), pushed, Arrival::Spawned(null_mut()));
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A joiner claims one of two tasks while a worker takes what it finds: each runs once.
fn claim_or_take(policy: Policy) {
    let w = TestPool::under(policy, 1, 2);
    let queues = w.workers.queues().unwrap();
    for number in 1..=2 {
        w.tasks.get(number).write();
        queues.put(None, w.tasks.get(number).unstarted().into(), Arrival::Outside);
    }
    let taker = spawn_part(&w, |w| {
        for _ in 0..2 {
            w.workers.queues().unwrap().take(0, None).into_iter().for_each(start);
        }
    });
    let task = w.tasks.get(1);
    queues.claim(&task.header).into_iter().for_each(start);
    taker.join().unwrap();
    w.tasks.assert_all_ran();
    assert!(queues.is_empty() && queues.claim(&task.header).is_none());
}

/// A scheduler keeps one task back, so its only worker is given nothing and goes to sleep, while a
/// foreign thread spawns another task, which the worker is to run.
fn put_beside_what_is_kept() {
    let w = TestPool::under(Policy::Custom, 1, 2);
    let queues = w.workers.queues().unwrap();
    w.tasks.get(1).write();
    queues.put(None, w.tasks.get(1).unstarted().into(), Arrival::Outside);
    let sleeper = spawn_part(&w, |w| {
        let (me, queues) = (w.shared(0), w.workers.queues().unwrap());
        let table = w.workers.table().unwrap();
        loop {
            if w.workers.has_injected_for(me) {
                let version = table.version();
                // (A claim, for it leaves the first one alone.)
                match queues.claim(&w.tasks.get(2).header) {
                    Some(task) => return start(task),
                    None => me.declined.store(version, Relaxed),
                }
            }
            if !w.workers.sleep(me, || None).has_slept() {
                thread::yield_now();
            }
        }
    });
    w.tasks.get(2).write();
    w.workers.put(queues, None, w.tasks.get(2).unstarted().into(), Arrival::Outside);
    sleeper.join().unwrap();
    queues.take(0, None).into_iter().for_each(start);
    w.tasks.assert_all_ran();
}

const SLEEP: &[&str] = &["put-light", "sleep-no-heavy", "sleep-no-recheck"];
const LOCK: &[&str] = &["spin-acquire", "spin-release"];

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "policy.shared.put_from_outside",
        run: || put_from_outside(Policy::SharedQueue),
        foreign: true,
        bound: (Some(4), Some(6)),
        mutants: SLEEP,
        ..SCRIPT
    },
    Script {
        name: "policy.depth.put_by_a_worker",
        run: || put_by_a_worker(Policy::DepthFirst),
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: SLEEP,
        ..SCRIPT
    },
    Script {
        name: "policy.dealt.put_by_a_worker",
        run: || put_by_a_worker(Policy::RoundRobin),
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: SLEEP,
        ..SCRIPT
    },
    Script {
        name: "policy.own.put_beside_what_is_kept",
        run: put_beside_what_is_kept,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: SLEEP,
        ..SCRIPT
    },
    Script {
        name: "policy.own.claim_or_take",
        run: || claim_or_take(Policy::Custom),
        bound: (Some(4), Some(6)),
        mutants: LOCK,
        ..SCRIPT
    },
    Script {
        name: "policy.shared.claim_or_take",
        run: || claim_or_take(Policy::SharedQueue),
        bound: (Some(4), Some(6)),
        mutants: LOCK,
        ..SCRIPT
    },
    Script {
        name: "policy.depth.claim_or_take",
        run: || claim_or_take(Policy::DepthFirst),
        bound: (Some(4), Some(6)),
        mutants: LOCK,
        ..SCRIPT
    },
];
