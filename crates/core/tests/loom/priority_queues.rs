//! Scripts of what waits beside the deques: tasks with a priority, and those that only one worker
//! may begin. When only sleepers are left, none of them waits.
//!
//! The queues themselves stand under a lock of the system's, and are no part of the protocol: here
//! they are numbers.

use super::pool::{TestPool, spawn_part};
use super::{SCRIPT, Script};
use crate::sched::idle::Workers;
use loom::thread;
use std::sync::{Arc, Mutex};

/// How many tasks wait in the injector, in the queue of the interactive, and in that of the
/// background.
#[derive(Default)]
struct Queues {
    injected: usize,
    interactive: usize,
    background: usize,
}

struct World {
    w: Arc<TestPool>,
    queues: Mutex<Queues>,
}

fn world(workers: usize) -> Arc<World> {
    Arc::new(World { w: TestPool::new(workers, 0), queues: Mutex::default() })
}

impl World {
    fn put(&self, into: impl FnOnce(&mut Queues) -> &mut usize, count: fn(&Workers)) {
        // As in `Pool::inject_into`, but for the lock over the count, which hides nothing that is
        // asked here.
        *into(&mut self.queues.lock().unwrap()) += 1;
        count(self.w.workers);
    }
    /// Takes one task, in the order of the loop of a worker. False: there is none.
    fn take(&self) -> bool {
        let workers = self.w.workers;
        let mut queues = self.queues.lock().unwrap();
        let Queues { injected, interactive, background } = &mut *queues;
        let (from, uncount): (_, fn(&Workers)) = if *interactive > 0 && workers.has_interactive() {
            (interactive, |workers| workers.take_interactive(1))
        } else if *injected > 0 && workers.may_have_injected() {
            (injected, |workers| workers.uninject(1))
        } else if *background > 0 && workers.has_background() {
            (background, |workers| workers.take_background(1))
        } else {
            return false;
        };
        *from -= 1;
        drop(queues);
        uncount(workers);
        true
    }
    /// A worker that sleeps until it has taken one, which it then runs for long.
    fn take_one(&self, worker: usize) {
        while !self.take() {
            if !self.w.workers.sleep(self.w.shared(worker), || None).has_slept() {
                thread::yield_now();
            }
        }
    }
}

/// A background task comes while the only worker is going to sleep.
fn background() {
    let world = world(1);
    let worker = spawn_part(&world, |world| world.take_one(0));
    world.put(|queues| &mut queues.background, Workers::inject_background);
    worker.join().unwrap();
    assert!(!world.w.workers.has_background());
}

/// The same of an interactive task.
fn interactive() {
    let world = world(1);
    let worker = spawn_part(&world, |world| world.take_one(0));
    world.put(|queues| &mut queues.interactive, Workers::inject_interactive);
    worker.join().unwrap();
    assert!(!world.w.workers.has_interactive() && !world.w.workers.may_have_injected());
}

/// A task that only worker 0 may begin comes while that is going to sleep; worker 1 sleeps already,
/// and is no help.
fn pinned() {
    let world = world(2);
    world.w.put_to_sleep(1);
    let worker = spawn_part(&world, |world| {
        let me = world.w.shared(0);
        while !me.has_pinned() {
            if !world.w.workers.sleep(me, || None).has_slept() {
                thread::yield_now();
            }
        }
    });
    world.w.workers.pin(world.w.shared(0));
    worker.join().unwrap();
    assert!(world.w.workers.has_sleepers(), "the wrong one is woken");
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "priority.background",
        run: background,
        foreign: true,
        bound: (Some(4), None),
        mutants: &["inject-light", "sleep-skips-background", "sleep-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "priority.interactive",
        run: interactive,
        foreign: true,
        mutants: &["inject-light", "sleep-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "priority.pinned",
        run: pinned,
        owners: 2,
        foreign: true,
        mutants: &["pin-light", "sleep-skips-pinned", "sleep-no-heavy"],
        ..SCRIPT
    },
];
