//! Groups: tasks that never run at the same time, in both modes, also when workers are stuck.

use crate::common::{
    Drops, MODES, Mode, PATIENCE, case, each, fibers_supported, in_both_modes, locked, plan, quiet, watch,
};
use myriad::channel::{bounded, unbounded};
use myriad::task::{Builder, Group, Local, Priority};
use myriad::{Handle, JoinHandle, State, blocking, compute, join, scope, spawn, yield_now};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Between two waits nobody else may be inside.
#[derive(Default)]
struct Alone(AtomicBool);

impl Alone {
    fn enter(&self) {
        assert!(!self.0.swap(true, SeqCst), "two tasks of a group run at the same time");
    }
    fn leave(&self) {
        assert!(self.0.swap(false, SeqCst));
    }
    /// A wait, during which others may be.
    fn outside<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.leave();
        let result = wait();
        self.enter();
        result
    }
}

#[test]
fn one_at_a_time_over_every_wait() {
    in_both_modes(|rt| {
        let group = Group::on(rt.handle(), (Alone::default(), Cell::new(0_u64)));
        let (tx, rx) = bounded::<u64>(1);
        let lock = Arc::new(myriad::sync::Mutex::new(()));
        let task = |n: u64| {
            let (tx, rx, lock) = (tx.clone(), rx.clone(), lock.clone());
            move |local: &Local<(Alone, Cell<u64>)>| {
                // The flag is the state's, so it is looked at through a pointer that outlives
                // `with`.
                let state: *const (Alone, Cell<u64>) = local.with(|state| &raw const *state);
                // SAFETY: only shared references are made, and the group lives as long as its task.
                let (alone, sum) = unsafe { &*state };
                alone.enter();
                for i in 0..20 {
                    let before = sum.get();
                    sum.set(before + 1);
                    match (n + i) % 8 {
                        0 => alone.outside(yield_now),
                        1 => alone.outside(|| myriad::time::sleep(Duration::from_micros(50))),
                        2 => alone.outside(|| spawn(yield_now).join().unwrap()),
                        3 => alone.outside(|| drop(lock.lock().unwrap())),
                        4 => alone.outside(|| _ = join(yield_now, yield_now)),
                        5 => alone.outside(|| scope(|s| _ = s.spawn(yield_now))),
                        6 => alone.outside(|| blocking(std::thread::yield_now)),
                        _ => alone.outside(|| compute(std::thread::yield_now)),
                    }
                    // One sends, one receives.
                    match n % 2 {
                        0 => alone.outside(|| tx.send(i).unwrap()),
                        _ => _ = alone.outside(|| rx.recv().unwrap()),
                    }
                }
                alone.leave();
            }
        };
        let all: Vec<_> = (0..30)
            .map(|n| match n % 3 {
                // From a foreign thread, and from tasks anywhere.
                0 => group.spawn(task(n)),
                _ => rt.run(|| group.spawn(task(n))),
            })
            .collect();
        all.into_iter().for_each(|h| h.join().unwrap());
        let sum = group.spawn(|local| local.with(|state| state.1.get())).join().unwrap();
        assert_eq!(sum, 600);
    });
}

/// In threads mode others go on with the ready tasks of a worker that is stuck. Not with those of a
/// group.
#[test]
fn a_stuck_group_is_not_helped_out() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let group = Group::on(rt.handle(), ());
                let alone = Arc::new(Alone::default());
                let (to_member, member_waits) = bounded::<()>(1);
                let (to_other, other_waits) = bounded::<()>(1);
                let (free, is_stuck) = std::sync::mpsc::channel::<()>();
                // Blocked on the only worker: one of the group, and one that is not.
                let (begun, has_begun) = unbounded::<()>();
                let (says, inside) = (begun.clone(), alone.clone());
                let member = group.spawn(move |_| {
                    says.send(()).unwrap();
                    member_waits.recv().unwrap();
                    inside.enter();
                    inside.leave();
                });
                has_begun.recv().unwrap();
                let other = rt.spawn(move || {
                    begun.send(()).unwrap();
                    other_waits.recv().unwrap();
                    // Whoever helps has time to do wrong; in this very time nobody wakes it.
                    // (Nothing is waited *for*: so a sleep.)
                    myriad::time::sleep(Duration::from_millis(30));
                    free.send(()).unwrap();
                });
                has_begun.recv().unwrap();
                if mode == Mode::Fibers {
                    // There nobody can help a closure that has begun, in a group or not.
                    to_other.send(()).unwrap();
                    other.join().unwrap();
                    to_member.send(()).unwrap();
                    member.join().unwrap();
                    return;
                }
                let (inside, unstarted) = (alone.clone(), alone.clone());
                let again = group.clone();
                let stuck = group.spawn(move |_| {
                    inside.enter();
                    let next = again.spawn(move |_| {
                        unstarted.enter();
                        unstarted.leave();
                    });
                    to_member.send(()).unwrap();
                    to_other.send(()).unwrap();
                    // A wait that knows nothing of tasks: it ends only if the other one is helped
                    // out.
                    is_stuck.recv().unwrap();
                    inside.leave();
                    next
                });
                stuck.join().unwrap().join().unwrap();
                member.join().unwrap();
                other.join().unwrap();
            },
        );
    }
}

/// A task of a group lets another one run on top of it, as rayon's `yield_now` does. Afterwards it
/// is one of the group still: when its worker is stuck in another task of the group, nobody helps
/// it out.
#[test]
fn a_task_below_another_one_goes_on_as_one_of_the_group() {
    case(
        Mode::Threads,
        1,
        |b| b.spare_workers(1),
        |rt| {
            let group = Group::on(rt.handle(), ());
            let (to_member, member_waits) = bounded::<()>(1);
            let (to_other, other_waits) = bounded::<()>(1);
            let (begun, has_begun) = unbounded::<()>();
            let (went_on, who_went_on) = std::sync::mpsc::channel();
            let (says, goes_on) = (begun.clone(), went_on.clone());
            let member = group.spawn(move |local| {
                let on_top = local.group().spawn(|_| ());
                let seat = myriad_core::engine::guest::worker().expect("on a worker");
                assert!(seat.run_one(myriad_core::engine::guest::Queues::Own), "the other one runs on top");
                on_top.join().unwrap();
                says.send(()).unwrap();
                member_waits.recv().unwrap();
                // (Nobody listens any more, if all is well.)
                _ = goes_on.send("member");
            });
            has_begun.recv().unwrap();
            let other = rt.spawn(move || {
                begun.send(()).unwrap();
                other_waits.recv().unwrap();
                went_on.send("other").unwrap();
            });
            has_begun.recv().unwrap();
            // It begins when both are blocked on the only worker, and makes both ready, the member
            // first.
            let stuck = group.spawn(move |_| {
                to_member.send(()).unwrap();
                to_other.send(()).unwrap();
                // A wait that knows nothing of tasks: until somebody was helped out.
                who_went_on.recv().unwrap()
            });
            assert_eq!(stuck.join().unwrap(), "other", "was helped out while another task of the group ran");
            member.join().unwrap();
            other.join().unwrap();
        },
    );
}

#[test]
fn groups_run_at_the_same_time() {
    each(&[2, 4], |rt| {
        let groups: Vec<_> = (0..rt.workers()).map(|_| Group::on(rt.handle(), ())).collect();
        // A barrier of threads: all of them are there at once, or nobody goes on.
        let barrier = Arc::new(std::sync::Barrier::new(groups.len()));
        let all: Vec<_> = groups
            .iter()
            .map(|group| {
                let barrier = barrier.clone();
                group.spawn(move |_| _ = barrier.wait())
            })
            .collect();
        all.into_iter().for_each(|h| h.join().unwrap());
    });
}

#[test]
fn results_panics_and_names() {
    quiet();
    in_both_modes(|rt| {
        let group = Group::on(rt.handle(), vec![1, 2]);
        let h = group.spawn_with(Builder::new().name("g").priority(Priority::Background), |local| {
            local.with(|list| list.push(3));
            let group = local.group().clone();
            // A task of a group joins another one: which then has its turn.
            group.spawn(|local| local.with(|list| list.iter().sum::<i32>())).join().unwrap()
        });
        assert_eq!((h.name().as_deref(), h.join().unwrap()), (Some("g"), 6));
        let h: JoinHandle<()> = group.spawn(|local| local.with(|_| plan("in the group")));
        assert!(h.join().unwrap_err().is_panic());
        let after = rt.run(|| group.spawn(|local| local.with(|list| list.len())).join().unwrap());
        assert_eq!(after, 3);
    });
}

#[test]
fn a_state_in_use_is_told() {
    quiet();
    in_both_modes(|rt| {
        let group = Group::on(rt.handle(), 0);
        let said = |h: JoinHandle<()>| h.join().unwrap_err().to_string();
        let twice = said(group.spawn(|local| local.with(|_| local.with(|_| plan("unreachable")))));
        assert!(twice.contains("the state of this group is in use"), "{twice}");
        let (tx, rx) = bounded::<()>(1);
        let (begun, has_begun) = bounded::<()>(1);
        let waits = group.spawn(move |local| {
            local.with(|n| {
                begun.send(()).unwrap();
                rx.recv().unwrap();
                *n += 1;
            })
        });
        has_begun.recv().unwrap();
        let other = said(group.spawn(|local| local.with(|n| *n += 1)));
        assert!(other.contains("waits inside of its own"), "{other}");
        tx.send(()).unwrap();
        waits.join().unwrap();
        assert_eq!(group.spawn(|local| local.with(|n| *n)).join().unwrap(), 1);
    });
}

#[test]
fn the_state_goes_with_the_last() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        let group = Group::on(rt.handle(), drops.one());
        let h = group.spawn(|local| {
            yield_now();
            local.with(|_| ());
        });
        drop(group);
        h.join().unwrap();
        drops.wait_all(1);
    });
}

/// Nobody sleeps over a task of a group.
#[test]
fn its_worker_is_woken() {
    in_both_modes(|rt| {
        let group = Group::on(rt.handle(), 0);
        for i in 0..300 {
            group.spawn(|local| local.with(|n| *n += 1)).join().unwrap();
            if i % 10 == 0 {
                // All go to sleep.
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        assert_eq!(rt.run(|| group.spawn(|local| local.with(|n| *n)).join().unwrap()), 300);
    });
}

/// Whatever else there is: a group has its turns, and others have theirs. Counted on one worker.
#[test]
fn turns_are_shared() {
    fn endless(priority: Priority, stop: Arc<AtomicBool>, turns: Arc<AtomicUsize>) {
        turns.fetch_add(1, SeqCst);
        if !stop.load(SeqCst) {
            Builder::new().priority(priority).spawn(move || endless(priority, stop, turns));
        }
    }
    for mode in MODES {
        for priorities in [&[Priority::Default][..], &[Priority::Default, Priority::Interactive, Priority::Interactive]]
        {
            case(
                mode,
                1,
                |b| b.spare_workers(0),
                |rt| {
                    let group = Group::on(rt.handle(), ());
                    let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
                    let began = Arc::new(Mutex::new(Vec::new()));
                    rt.run(|| {
                        for &priority in priorities {
                            let (stop, turns) = (stop.clone(), turns.clone());
                            Builder::new().priority(priority).spawn(move || endless(priority, stop, turns));
                        }
                        for i in 0..40 {
                            let (stop, turns, began) = (stop.clone(), turns.clone(), began.clone());
                            group.spawn(move |_| {
                                locked(&began).push(turns.load(SeqCst));
                                stop.fetch_or(i == 39, SeqCst);
                            });
                        }
                    });
                    crate::common::wait_until(|| locked(&began).len() == 40);
                    for pair in locked(&began).windows(2) {
                        let between = pair[1] - pair[0];
                        // Others have turns too; and no more than a few.
                        assert!((1..=36).contains(&between), "{priorities:?}: {:?}", locked(&began));
                    }
                },
            );
        }
    }
}

#[test]
fn in_a_pool() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.pool("a", 2),
            |rt| {
                let a = rt.handle().pool("a").unwrap();
                let pool = || Handle::current().unwrap().pool_name().to_string();
                assert_eq!(Group::on(a, ()).spawn(move |_| pool()).join().unwrap(), "a");
                let inside = a.run(|| Group::new(()));
                assert_eq!(
                    inside.spawn(move |_| (pool(), spawn(pool).join().unwrap())).join().unwrap(),
                    ("a".into(), "a".into())
                );
            },
        );
    }
}

#[test]
fn shutdown_waits_or_drops() {
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() {
            continue;
        }
        let _watch = watch(&mode.to_string());
        let rt = mode.builder().workers(2).build().unwrap();
        let group = Group::on(rt.handle(), 0);
        let all: Vec<_> = (0..100)
            .map(|_| {
                group.spawn(|local| {
                    yield_now();
                    local.with(|n| *n += 1)
                })
            })
            .collect();
        assert!(rt.shutdown(PATIENCE).is_clean());
        assert!(all.into_iter().all(|h| h.join().is_ok()));
        // Over: it is dropped.
        assert!(group.spawn(|_| ()).join().unwrap_err().is_shutdown());
        let rt = mode.builder().workers(1).spare_workers(0).build().unwrap();
        let group = Group::on(rt.handle(), ());
        let drops = Drops::new();
        let (begun, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (begins, goes) = (begun.clone(), go.clone());
        let busy = group.spawn(move |_| {
            begins.store(true, SeqCst);
            while !goes.load(SeqCst) {
                std::thread::yield_now();
            }
        });
        crate::common::wait_until(|| begun.load(SeqCst));
        let one = drops.one();
        let left = group.spawn(move |_| drop(one));
        let report = rt.shutdown(Duration::ZERO);
        assert!(report.dropped().iter().map(|t| t.state()).eq([State::Unstarted]), "{report}");
        drops.assert_all(1);
        assert!(left.join().unwrap_err().is_shutdown());
        go.store(true, SeqCst);
        busy.join().unwrap();
    }
}
