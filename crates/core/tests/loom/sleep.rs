//! Scripts of idling: when only sleepers are left, no task is unstarted, no inbox filled, and
//! nothing injected.
//!
//! Worker 0 spawns and does not run what it pushed, as one that computes for long; a sleeper that
//! is forgotten panics.

use super::pool::{TestPool, spawn_part};
use super::tasks::start;
use super::{SCRIPT, Script};
use crate::queue::deque::Keeps;
use crate::queue::parked::{Home, Parked, Resumable};
use crate::record::task::Runnable;
use crate::sched::driver::reactor::Reactor;
use myriad_base::sys::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use myriad_base::sys::futex::Parker;
use myriad_base::sys::mutant::on;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

/// A reactor whose only events are interrupts.
struct Interrupted {
    entered: AtomicBool,
    /// 0: interrupted.
    word: Parker,
}

impl Interrupted {
    /// That of this pool, from now on.
    fn of(w: &TestPool) {
        let reactor = Interrupted { entered: AtomicBool::new(false), word: Parker::new(1) };
        w.workers.reactor.get_or_set(Box::new(reactor));
    }
}

impl Reactor for Interrupted {
    fn poll(&self, _: bool) -> bool {
        false
    }
    fn poll_for_blocked(&self) -> bool {
        false
    }
    fn has_events(&self) -> bool {
        false
    }
    fn enter(&self) -> bool {
        !self.entered.swap(true, Acquire)
    }
    fn wait(&self, timeout: Option<Duration>) {
        while self.word.word.load(Acquire) != 0 && timeout.is_none() {
            self.word.wait(1, None);
        }
        self.word.word.store(1, Relaxed);
    }
    fn leave(&self) -> bool {
        self.entered.store(false, Release);
        false
    }
    fn interrupt(&self) {
        self.word.word.store(0, Release);
        // SAFETY: a reference: the parker stands.
        unsafe { Parker::wake(&self.word) };
    }
    fn end(&self) {}
    fn describe(&self, _: usize) -> Option<String> {
        None
    }
    fn is_here(&self) -> bool {
        true
    }
}

const MOMENT: Option<Duration> = Some(Duration::from_millis(1));

/// A lone task is pushed by a worker that then computes; the other is going to sleep.
fn lone_task() {
    let w = TestPool::new(2, 1);
    let sleeper = spawn_part(&w, |w| w.find_and_run(1));
    w.spawn(0, 1);
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// The same with a task that goes behind all others.
fn lone_oldest() {
    let w = TestPool::new(2, 1);
    let sleeper = spawn_part(&w, |w| w.find_and_run(1));
    w.spawn_oldest(0, 1);
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A worker wakes a lone task, which it keeps while another one sleeps, and runs it; then it
/// spawns one, which is for the sleeper.
fn kept_then_spawned() {
    let w = TestPool::new(2, 2);
    w.put_to_sleep(1);
    let sleeper = spawn_part(&w, |w| w.sleep_on(1));
    w.wake(0, 1);
    assert!(w.pop_and_run(0), "nobody else was woken for it");
    w.spawn(0, 2);
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A worker keeps the task that it has woken, and computes; the monitor sees that.
fn kept_too_long() {
    let w = TestPool::new(2, 1);
    w.put_to_sleep(1);
    let sleeper = spawn_part(&w, |w| w.sleep_on(1));
    w.wake(0, 1);
    assert!(w.workers.has_sleepers(), "somebody was woken for a lone task");
    assert!(w.shared(0).deque.release_kept());
    w.workers.wake_one();
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// The same with all that it has woken; then its turns are long.
fn all_kept_too_long() {
    let w = TestPool::new(2, 2);
    w.put_to_sleep(1);
    let sleeper = spawn_part(&w, |w| w.sleep_on(1));
    w.wake_kept(0, 1);
    w.wake_kept(0, 2);
    assert!(w.workers.has_sleepers(), "somebody was woken for what is kept");
    w.deque(0).set_keeps(Keeps::Nothing);
    if w.shared(0).deque.should_share() {
        w.workers.serve_requests(w.shared(0), w.deque(0));
    }
    sleeper.join().unwrap();
    while w.pop_and_run(0) {}
    w.tasks.assert_all_ran();
}

/// A blocked task is woken from elsewhere while its worker is going to sleep.
fn remote_wake() {
    let w = TestPool::new(2, 0);
    let home = w.shared(1);
    // In a box that outlives the sleeper's thread.
    let node = Box::into_raw(Box::new(Parked::new(Some(Home::of(home)))));
    let sleeper = spawn_part(&w, |w| {
        assert!(w.find(1).is_none());
        let mut woken = 0;
        w.shared(1).remote.inbox.take(|_| woken += 1);
        assert_eq!(woken, 1);
    });
    // SAFETY: the node is in no list, and this is its only waker.
    unsafe { w.workers.send(home, Resumable::from_raw(node), &w.shared(0).deque.fence) };
    sleeper.join().unwrap();
    // SAFETY: the box from above, which nobody uses any more.
    drop(unsafe { Box::from_raw(node) });
}

/// A foreign thread injects a task while the only worker is going to sleep.
fn injected() {
    let w = TestPool::new(1, 1);
    let injector = Arc::new(AtomicPtr::new(null_mut()));
    let sleeper = spawn_part(&w, {
        let injector = injector.clone();
        move |w| {
            assert!(w.find(0).is_none());
            w.workers.uninject(1);
            // SAFETY: what the other thread has put there, which nobody else takes.
            start(unsafe { Runnable::from_raw(injector.swap(null_mut(), Acquire)) });
        }
    });
    w.tasks.get(1).write();
    injector.store(w.tasks.get(1).pointer(), Release);
    w.workers.inject();
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// The same where the worker sleeps in the reactor.
fn injected_beside_a_reactor() {
    let w = TestPool::new(1, 0);
    Interrupted::of(&w);
    let sleeper = spawn_part(&w, |w| assert!(w.find(0).is_none()));
    w.workers.inject();
    sleeper.join().unwrap();
}

/// A worker sleeps, and another one goes to sleep in the reactor; two things are injected, and each
/// wakes one.
fn injected_beside_two() {
    let w = TestPool::new(2, 0);
    Interrupted::of(&w);
    w.put_to_sleep(1);
    let in_reactor = spawn_part(&w, |w| assert!(w.find(0).is_none()));
    let asleep = spawn_part(&w, |w| w.workers.stay_asleep(w.shared(1), None));
    w.workers.inject();
    w.workers.inject();
    in_reactor.join().unwrap();
    asleep.join().unwrap();
}

/// Two tasks are injected; worker 1 sleeps, and 0 is going to. A wake shows worker 0 what it is
/// for: else it would sleep again, be woken for the second task too, and take only one.
fn injected_twice() {
    let w = TestPool::new(2, 0);
    w.put_to_sleep(1);
    let sleeper = spawn_part(&w, |w| {
        _ = w.workers.sleep(w.shared(0), || None);
        assert!(w.find(0).is_none());
        w.workers.uninject(1);
    });
    w.workers.inject();
    w.workers.inject();
    sleeper.join().unwrap();
    assert!(!w.workers.has_sleepers() || !w.workers.has_injected(), "worker 1 is forgotten beside a task");
}

/// The runtime stops while a worker is going to sleep.
fn stopped() {
    let w = TestPool::new(1, 0);
    let sleeper = spawn_part(&w, |w| assert!(w.find(0).is_none()));
    w.workers.set_stop(true);
    sleeper.join().unwrap();
}

/// The spawner answers an older request while another worker makes a new one and falls asleep; it
/// takes everything back, and spawns again.
fn request_cleared() {
    let w = TestPool::new(2, 2);
    w.shared(0).deque.request_reliably(); // somebody asked before
    w.push(0, 1);
    let sleeper = spawn_part(&w, |w| {
        _ = w.workers.sleep(w.shared(1), || None);
        w.find_and_run(1);
    });
    w.workers.serve_requests(w.shared(0), w.deque(0));
    while w.pop_and_run(0) {}
    w.spawn(0, 2);
    sleeper.join().unwrap();
    while w.pop_and_run(0) {}
    w.tasks.assert_all_ran();
}

/// The same while a thief that finds nothing asks: its request may come after the sleeper's, and
/// must not hide that one from the spawner who clears both.
fn asked_meanwhile() {
    let w = TestPool::new(2, 1);
    let sleeper = spawn_part(&w, |w| _ = w.workers.fall_asleep(w.shared(1)));
    let thief = spawn_part(&w, |w| w.shared(0).deque.request());
    w.workers.serve_requests(w.shared(0), w.deque(0));
    w.spawn(0, 1);
    sleeper.join().unwrap();
    thief.join().unwrap();
    w.assert_none_forgotten();
}

/// Two sleepers, two tasks; who has one does not come back for the other.
fn two_sleepers() {
    let w = TestPool::new(3, 2);
    w.put_to_sleep(1);
    w.put_to_sleep(2);
    let sleeper = spawn_part(&w, |w| w.sleep_on(1));
    w.spawn(0, 1);
    w.spawn(0, 2);
    sleeper.join().unwrap();
    w.assert_none_forgotten();
}

/// Worker 2 sleeps. Worker 1 was woken for task 1, and may hold the lock when the spawner answers
/// for task 2.
fn lock_taken() {
    let w = TestPool::new(3, 2);
    w.put_to_sleep(2);
    w.push(0, 1);
    let thief = spawn_part(&w, |w| w.find_and_run(1));
    w.spawn(0, 2);
    thief.join().unwrap();
    w.assert_none_forgotten();
}

/// Worker 2 sleeps. Worker 1 was woken for task 1, found the lock taken, and is about to sleep: it
/// will find task 1 by itself, so a wake for task 2 that is given to it must be passed on.
fn wake_passed_on() {
    let w = TestPool::new(3, 2);
    w.put_to_sleep(2);
    w.push(0, 1);
    let searcher = spawn_part(&w, |w| {
        _ = w.workers.sleep(w.shared(1), || None);
        w.find_and_run(1);
    });
    w.spawn(0, 2);
    searcher.join().unwrap();
    w.assert_none_forgotten();
}

/// Two wakers choose the same sleeper of two: the slower one must try the other.
fn two_wakers() {
    let w = TestPool::new(3, 0);
    w.workers.announce(w.shared(1));
    w.workers.announce(w.shared(2));
    let other = spawn_part(&w, |w| w.workers.wake_one());
    w.workers.wake_one();
    other.join().unwrap();
    assert!(!w.workers.has_sleepers(), "two wakers, two sleepers, and one still sleeps");
}

/// Worker 1 sleeps; 2 says that it will, and is woken at once: the count must still show 1.
fn count() {
    let w = TestPool::new(3, 0);
    w.workers.announce(w.shared(1));
    let other = spawn_part(&w, |w| w.workers.announce(w.shared(2)));
    if w.workers.unpark(w.shared(2)) {
        assert!(w.workers.has_sleepers(), "a sleeper is hidden");
    }
    other.join().unwrap();
}

/// A sleep with a time limit ends just when somebody wakes the sleeper: it is uncounted once.
fn timed() {
    let w = TestPool::new(2, 0);
    let sleeper = spawn_part(&w, |w| {
        assert!(w.workers.sleep(w.shared(1), || MOMENT).has_slept());
        assert!(w.workers.sleep(w.shared(1), || MOMENT).has_slept());
    });
    w.workers.unpark(w.shared(1));
    w.workers.wake_one();
    sleeper.join().unwrap();
    assert!(!w.workers.has_sleepers());
}

/// A thief moves a task to its own deque and then computes: a sleeper that looked while it was in
/// flight hears of it.
fn batch_in_flight() {
    let w = TestPool::new(3, 2);
    w.push(0, 1);
    w.push(0, 2);
    w.deque(0).publish();
    assert!(w.pop_and_run(0)); // 2, so that only 1 is left, and public
    let sleeper = spawn_part(&w, |w| w.find_and_run(1));
    let thief = spawn_part(&w, |w| {
        let mut room = [None];
        w.shared(0).deque.steal(&mut room);
        if let Some(task) = room[0].take() {
            let task = task.into_unstarted().expect("a closure");
            if w.deque(2).push(task) && !on("batch-not-asked") {
                w.workers.serve_requests(w.shared(2), w.deque(2));
            }
        }
    });
    thief.join().unwrap();
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A spare takes a job out of a deque, passes it over, and puts it into the injector: a worker that
/// is going to sleep, and has looked while the job was in neither, hears of it. (As `sched::spare`
/// and `Pool::put_aside` do it.)
fn passed_over() {
    let w = TestPool::new(3, 1);
    w.push(0, 1);
    let injector = Arc::new(AtomicPtr::new(null_mut()));
    let sleeper = spawn_part(&w, {
        let injector = injector.clone();
        move |w| {
            let task = w.find(1).unwrap_or_else(|| {
                w.workers.uninject(1);
                // SAFETY: what the spare has put there, which nobody else takes.
                unsafe { Runnable::from_raw(injector.swap(null_mut(), Acquire)) }
            });
            start(task);
        }
    });
    let spare = spawn_part(&w, move |w| {
        if let Some(job) = w.shared(0).deque.steal_forced() {
            injector.store(job.into_raw(), Release);
            w.workers.inject();
        }
    });
    spare.join().unwrap();
    sleeper.join().unwrap();
    w.tasks.assert_all_ran();
}

/// A deque with nothing but a tombstone does not keep anybody awake. (One thread is enough.)
fn tombstone() {
    let w = TestPool::new(2, 3);
    (1..=3).for_each(|number| w.push(0, number));
    let deque = w.deque(0);
    assert!(deque.claim(w.tasks.get(2).task_ref()).is_some());
    deque.publish();
    assert_eq!(deque.steal(&mut [None]), 1);
    assert!(w.pop_and_run(0));
    assert!(w.workers.sleep(w.shared(1), || MOMENT).has_slept(), "a tombstone is taken for a task");
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "sleep.lone_task",
        run: lone_task,
        owners: 2,
        bound: (Some(4), Some(6)),
        mutants: &["push-light", "sleep-no-heavy", "sleep-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "sleep.lone_oldest",
        run: lone_oldest,
        owners: 2,
        bound: (Some(4), Some(6)),
        mutants: &["push-light"],
        ..SCRIPT
    },
    Script {
        name: "sleep.remote_wake",
        run: remote_wake,
        owners: 2,
        mutants: &["inbox-light", "sleep-no-heavy", "sleep-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "sleep.injected",
        run: injected,
        foreign: true,
        mutants: &["inject-light", "sleep-no-heavy", "sleep-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "sleep.injected_beside_a_reactor",
        run: injected_beside_a_reactor,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["inject-light", "interrupt-forgotten", "reactor-word-stored", "sleep-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "sleep.injected_beside_two",
        run: injected_beside_two,
        threads: 3,
        owners: 2,
        foreign: true,
        bound: (Some(2), Some(3)),
        mutants: &["interrupt-forgotten", "reactor-passed-over"],
        ..SCRIPT
    },
    Script {
        name: "sleep.injected_twice",
        run: injected_twice,
        owners: 2,
        foreign: true,
        spins: true,
        bound: (Some(4), Some(5)),
        mutants: &["unpark-release", "woken-acquire"],
        ..SCRIPT
    },
    Script {
        name: "sleep.stopped",
        run: stopped,
        foreign: true,
        mutants: &["stop-light", "sleep-no-heavy", "sleep-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "sleep.request_cleared",
        run: request_cleared,
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: &["clear-by-store", "clear-acquire", "request-release"],
        ..SCRIPT
    },
    Script {
        name: "sleep.asked_meanwhile",
        run: asked_meanwhile,
        threads: 3,
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: &["request-by-store"],
        ..SCRIPT
    },
    Script {
        name: "sleep.two_sleepers",
        run: two_sleepers,
        owners: 3,
        bound: (Some(3), Some(4)),
        mutants: &["request-not-kept"],
        ..SCRIPT
    },
    Script {
        name: "sleep.lock_taken",
        run: lock_taken,
        owners: 3,
        bound: (Some(3), Some(4)),
        mutants: &["serve-gives-up"],
        ..SCRIPT
    },
    Script {
        name: "sleep.wake_passed_on",
        run: wake_passed_on,
        owners: 3,
        bound: (Some(3), Some(4)),
        mutants: &["wake-not-passed-on", "retract-acquire"],
        ..SCRIPT
    },
    Script { name: "sleep.count", run: count, owners: 3, mutants: &["flag-before-count", "flag-release"], ..SCRIPT },
    Script { name: "sleep.two_wakers", run: two_wakers, owners: 3, mutants: &["wake-gives-up"], ..SCRIPT },
    Script {
        name: "sleep.kept_then_spawned",
        run: kept_then_spawned,
        owners: 2,
        mutants: &["kept-for-good"],
        ..SCRIPT
    },
    Script { name: "sleep.kept_too_long", run: kept_too_long, owners: 2, mutants: &["woken-is-spawned"], ..SCRIPT },
    Script {
        name: "sleep.all_kept_too_long",
        run: all_kept_too_long,
        owners: 2,
        mutants: &["woken-is-spawned"],
        ..SCRIPT
    },
    Script { name: "sleep.timed", run: timed, owners: 2, mutants: &["retract-uncounts"], ..SCRIPT },
    Script {
        name: "sleep.batch_in_flight",
        run: batch_in_flight,
        threads: 3,
        owners: 3,
        bound: (Some(3), Some(4)),
        mutants: &["batch-not-asked"],
        ..SCRIPT
    },
    Script {
        name: "sleep.passed_over",
        run: passed_over,
        threads: 3,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["inject-light"],
        ..SCRIPT
    },
    Script {
        name: "sleep.tombstone",
        run: tombstone,
        threads: 1,
        owners: 2,
        mutants: &["tombstones-are-tasks"],
        ..SCRIPT
    },
];
