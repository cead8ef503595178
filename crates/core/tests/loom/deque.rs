//! Scripts of the split deque: every task is started exactly once, by somebody who sees its record.

use super::tasks::{Life, Tasks, start};
use super::{SCRIPT, Script};
use crate::queue::deque::{Deque, Keeps, OwnDeque};
use crate::record::task::{Runnable, Unstarted};
use loom::thread;
use myriad_base::sys::fence::Fence;
use std::sync::Arc;

/// One deque and its tasks.
struct World {
    deque: Deque,
    tasks: Tasks,
}

impl World {
    /// Tasks 1 to n, none pushed yet, and room for `capacity` before the ring grows.
    fn new(capacity: usize, n: usize) -> Arc<World> {
        Arc::new(World { deque: Deque::new(Fence::new(0), capacity), tasks: Tasks::new(n) })
    }

    /// The same of futures that were woken, all but the last queued in this order.
    fn woken(capacity: usize, n: usize) -> Arc<World> {
        let world = World { deque: Deque::new(Fence::new(0), capacity), tasks: Tasks::woken(n) };
        (1..n).for_each(|number| world.wake(number));
        Arc::new(world)
    }

    // -------------------------------------------------------------------------------------------------
    // owner

    fn owner(&self) -> OwnDeque<'_> {
        // SAFETY: only the owner's part of a script calls what calls this.
        unsafe { self.deque.owner() }
    }
    fn push(&self, number: usize) {
        let task = self.tasks.get(number);
        task.write();
        self.owner().push(task.unstarted());
    }
    fn wake(&self, number: usize) {
        let task = self.tasks.get(number);
        task.write();
        self.owner().push_woken(task.future());
    }
    fn push_oldest(&self, number: usize) {
        let task = self.tasks.get(number);
        task.write();
        self.owner().push_oldest(task.unstarted().into());
    }
    /// The running future lets others go first, where all that is woken is kept.
    fn yield_kept(&self, number: usize) {
        let task = self.tasks.get(number);
        task.write();
        self.owner().set_keeps(Keeps::All);
        self.owner().push_yielded(task.future(), true);
    }
    fn pop(&self) -> Option<Runnable> {
        self.owner().pop()
    }
    /// Pops, and runs what it got. False: "empty".
    fn pop_and_run(&self) -> bool {
        run(self.pop())
    }
    fn pop_oldest_and_run(&self) -> bool {
        run(self.owner().pop_oldest())
    }
    /// Joins: runs the task here if nobody has started it.
    fn claim_and_run(&self, number: usize) -> bool {
        let task = self.tasks.get(number);
        run(self.owner().claim(task.task_ref()).map(Unstarted::into))
    }
    /// Writes to the newest task, in its queue, if it is still there.
    fn change_newest(&self, number: usize) -> bool {
        let task = self.tasks.get(number);
        self.owner().change_newest(task.task_ref(), || task.change(Life::Ready, Life::Ready)).is_some()
    }
    fn publish(&self) {
        self.owner().publish();
    }

    fn publish_lone(&self) {
        self.owner().publish_lone();
    }

    // -------------------------------------------------------------------------------------------------
    // thieves

    fn steal(&self) -> bool {
        let mut room = [None, None];
        let taken = self.deque.steal(&mut room);
        room.into_iter().flatten().for_each(start);
        taken > 0
    }
    fn steal_forced(&self) -> bool {
        run(self.deque.steal_forced())
    }
}

fn run(task: Option<Runnable>) -> bool {
    task.map(start).is_some()
}

/// Runs `owner` on this thread and each of `thieves` on its own; then the owner drains, and all
/// tasks must have run.
fn play(world: &Arc<World>, thieves: &[fn(&World)], owner: impl FnOnce(&World)) {
    play_and_check(world, thieves, owner, |()| ());
}

/// The same; `check` has what `owner` returned, before the owner drains.
fn play_and_check<R>(
    world: &Arc<World>,
    thieves: &[fn(&World)],
    owner: impl FnOnce(&World) -> R,
    check: impl FnOnce(R),
) {
    let threads: Vec<_> = thieves
        .iter()
        .map(|&thief| {
            let world = world.clone();
            thread::spawn(move || thief(&world))
        })
        .collect();
    let result = owner(world);
    threads.into_iter().for_each(|t| t.join().unwrap());
    check(result);
    world.deque.assert_at_rest();
    while world.pop_and_run() {}
    world.tasks.assert_all_ran();
}

fn forced(w: &World) {
    w.steal_forced();
}
fn forced_twice(w: &World) {
    w.steal_forced();
    w.steal_forced();
}
fn ordinary(w: &World) {
    w.steal();
}
fn either(w: &World) {
    if !w.steal() {
        w.steal_forced();
    }
}

/// The newest task is joined while it is forced away.
fn forced_newest() {
    play(&World::new(4, 1), &[forced], |w| {
        w.push(1);
        w.claim_and_run(1);
    });
}

/// The newest task is written to, by who has just queued it, while it is forced away.
fn forced_change() {
    play(&World::new(4, 2), &[forced], |w| {
        w.push(1);
        w.change_newest(1);
        w.push(2);
        w.change_newest(2);
    });
}

/// The same while all that is private becomes public, and is stolen.
fn public_change() {
    play(&World::new(4, 2), &[ordinary], |w| {
        w.push(1);
        assert!(w.change_newest(1));
        w.publish_lone();
        assert!(!w.change_newest(1));
        w.push(2);
        assert!(w.change_newest(2));
    });
}

/// The same by `pop`, from the worker's loop.
fn forced_pop() {
    play(&World::new(4, 2), &[forced_twice], |w| {
        w.push(1);
        w.push(2);
        w.pop_and_run();
    });
}

/// A task is joined out of the middle while it is forced away.
fn forced_middle() {
    play(&World::new(4, 2), &[forced_twice], |w| {
        w.push(1);
        w.push(2);
        w.claim_and_run(1);
    });
}

/// A tombstone lies below the newest task. The owner takes that, drops the tombstone and pushes two
/// more tasks while the thief is between its guess and its fence: the older of the two must not
/// stay below `head`.
fn forced_tombstone() {
    let w = World::new(4, 4);
    w.push(1);
    w.push(2);
    assert!(w.claim_and_run(1));
    play(&w, &[forced], |w| {
        w.claim_and_run(2);
        w.push(3);
        w.push(4);
    });
}

/// The thief reads a `top` that a claim has written: it must still see the pushes before it.
fn forced_after_claim() {
    let w = World::new(4, 3);
    w.push(1);
    play(&w, &[forced], |w| {
        w.claim_and_run(1);
        w.push(2);
        w.push(3);
        w.claim_and_run(3);
    });
}

/// `pop` says "empty" only when nothing is left, also after a forced steal that backed out.
fn forced_pop_not_empty() {
    let w = World::new(4, 2);
    w.push(1);
    let owner = |w: &World| {
        w.claim_and_run(1);
        w.push(2);
        w.pop_and_run()
    };
    play_and_check(&w, &[forced], owner, |popped| {
        assert!(popped || w.tasks.get(2).life() == Life::Ran, "pop says empty beside task 2");
    });
}

/// Publishing, the ordinary steal, the owner's exchange in the public part, reclaiming.
fn public_part() {
    play(&World::new(4, 4), &[ordinary], |w| {
        w.push(1);
        w.push(2);
        w.push(3);
        w.push(4);
        w.publish();
        w.claim_and_run(1);
        w.pop_and_run();
        w.pop_and_run();
        w.pop_and_run();
    });
}

/// A lone task is made public, and its owner wants it back: by a claim, then (another one) by a
/// pop.
fn lone_public() {
    play(&World::new(4, 2), &[ordinary], |w| {
        w.push(1);
        w.publish_lone();
        w.claim_and_run(1);
        w.push(2);
        w.publish_lone();
        w.pop_and_run();
    });
}

/// Two thieves, both kinds of steal, an owner that publishes and pops.
fn two_thieves() {
    play(&World::new(4, 2), &[either, either], |w| {
        w.push(1);
        w.push(2);
        w.publish();
        w.pop_and_run();
    });
}

/// Positions wrap around a ring of two slots while a thief empties the public part: either slot 0
/// is used again, or the ring grows.
fn wrap_around() {
    let w = World::new(2, 4);
    w.push(1);
    w.push(2);
    w.publish();
    play(&w, &[either], |w| {
        w.push(3);
        w.claim_and_run(3);
        w.push(4);
    });
}

/// A task is started by the loop while the frame that pushed it is blocked, and its position is
/// used again: the frame must not take the newcomer for its own. (One thread is enough.)
fn position_reused() {
    play(&World::new(4, 2), &[], |w| {
        w.push(1);
        assert!(w.pop_and_run());
        w.push(2);
        assert!(!w.claim_and_run(1));
    });
}

/// A task was stolen in a batch and lies in another deque, at a position that here is below `head`.
/// Its record had been popped here in an earlier life, so the slot that the position is masked to
/// still holds its address as garbage: the owner must not claim that. (One thread is enough.)
fn moved_away() {
    const MOVED: usize = 13;
    let (home, other) = (World::new(4, 13), World::new(4, 2));
    // Four times one task is stolen and one popped: positions 0 to 3 are history.
    for pair in 0..4 {
        home.push(2 * pair + 1);
        home.push(2 * pair + 2);
        home.publish();
        assert!(home.steal() && home.pop_and_run());
    }
    // Its first life, at position 6.
    home.push(9);
    home.push(10);
    home.push(MOVED);
    assert!(home.pop_and_run() && home.pop_and_run() && home.pop_and_run());
    let moved = home.tasks.get(MOVED);
    moved.change(Life::Ran, Life::Unused);
    // Its second life, at 4; it is stolen, and goes to position 2 of the other deque.
    home.push(MOVED);
    home.push(11);
    home.publish();
    let mut room = [None];
    assert_eq!(home.deque.steal(&mut room), 1);
    let [Some(stolen)] = room else { unreachable!("one was taken") };
    assert_eq!(stolen.address(), moved.pointer());
    other.push(1);
    other.push(2);
    other.owner().push(stolen.into_unstarted().expect("a closure"));
    assert!(!home.claim_and_run(MOVED), "a task is claimed that lies in another deque");
    assert!(other.pop_and_run() && moved.life() == Life::Ran);
}

/// A task is added behind all others, and the oldest is taken, while a thief takes what it finds.
fn oldest_in_and_out() {
    let w = World::new(4, 3);
    w.push(1);
    play(&w, &[either], |w| {
        w.push_oldest(2);
        w.push(3);
        w.pop_oldest_and_run();
    });
}

/// The oldest task is private, and forced away at the same time.
fn oldest_forced() {
    play(&World::new(4, 3), &[forced_twice], |w| {
        w.push(1);
        w.push(2);
        w.pop_oldest_and_run();
        w.push(3);
        w.pop_oldest_and_run();
    });
}

/// Adding the oldest task wraps around a ring of two slots, or makes it grow, while a thief empties
/// it.
fn oldest_wraps_around() {
    let w = World::new(2, 4);
    w.push(1);
    w.push(2);
    w.publish();
    play(&w, &[either], |w| {
        w.push_oldest(3);
        w.push(4);
        w.claim_and_run(3);
    });
}

/// The oldest task is a private one that yields, while the oldest is forced away.
fn yielded_forced() {
    play(&World::woken(4, 3), &[forced_twice], |w| {
        w.yield_kept(3);
        w.pop_and_run();
    });
}

/// Of several that were woken the oldest is taken while it is forced away.
fn woken_forced() {
    play(&World::woken(4, 4), &[forced], |w| {
        w.pop_and_run();
        w.pop_and_run();
        w.wake(4);
    });
}

/// What was woken is shared while it is taken.
fn woken_shared() {
    play(&World::woken(4, 4), &[either], |w| {
        w.pop_and_run();
        w.publish();
        w.pop_and_run();
        w.wake(4);
    });
}

/// The ring is full of tombstones, and what is left moves down while some are forced away.
fn compacted() {
    play(&World::woken(4, 5), &[forced_twice], |w| {
        w.pop_and_run();
        w.pop_and_run();
        w.wake(5);
    });
}

/// A closure that has moved down is found in its new place.
fn compacted_and_claimed() {
    play(&World::new(4, 5), &[], |w| {
        (1..=4).for_each(|number| w.push(number));
        assert!(w.claim_and_run(1) && w.claim_and_run(2));
        w.push(5);
        assert!(w.claim_and_run(3) && w.claim_and_run(4), "it is in the deque, and has not begun");
    });
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "deque.woken_forced",
        run: woken_forced,
        bound: (Some(3), Some(4)),
        mutants: &["woken-load-store"],
        ..SCRIPT
    },
    Script { name: "deque.woken_shared", run: woken_shared, bound: (Some(3), Some(4)), ..SCRIPT },
    Script {
        name: "deque.compacted",
        run: compacted,
        bound: (Some(3), Some(4)),
        mutants: &["compact-without-lock"],
        ..SCRIPT
    },
    Script {
        name: "deque.compacted_and_claimed",
        run: compacted_and_claimed,
        threads: 1,
        mutants: &["compact-keeps-places"],
        ..SCRIPT
    },
    Script { name: "deque.lone_public", run: lone_public, bound: (Some(4), None), ..SCRIPT },
    Script {
        name: "deque.forced_newest",
        run: forced_newest,
        bound: (Some(4), None),
        mutants: &["newest-light", "forced-no-heavy", "forced-no-split", "forced-no-top-check", "push-top-release"],
        ..SCRIPT
    },
    Script {
        name: "deque.forced_change",
        run: forced_change,
        bound: (Some(3), Some(4)),
        mutants: &["change-light", "forced-no-heavy", "forced-no-split", "forced-no-top-check", "push-top-release"],
        ..SCRIPT
    },
    Script { name: "deque.public_change", run: public_change, bound: (Some(4), None), ..SCRIPT },
    Script {
        name: "deque.forced_pop",
        run: forced_pop,
        bound: (Some(3), Some(4)),
        mutants: &["pop-light", "forced-no-heavy", "forced-no-split", "forced-no-top-check"],
        ..SCRIPT
    },
    Script {
        name: "deque.forced_middle",
        run: forced_middle,
        bound: (Some(3), Some(4)),
        mutants: &["middle-light", "forced-no-heavy", "forced-no-split", "forced-no-stolen-flag"],
        ..SCRIPT
    },
    Script {
        name: "deque.forced_tombstone",
        run: forced_tombstone,
        bound: (Some(3), Some(4)),
        mutants: &["forced-no-rescan", "tombstone-light", "newest-light", "forced-no-heavy", "push-top-release"],
        ..SCRIPT
    },
    Script {
        name: "deque.forced_after_claim",
        run: forced_after_claim,
        bound: (Some(3), Some(4)),
        mutants: &["claim-top-release", "forced-top-acquire"],
        ..SCRIPT
    },
    Script {
        name: "deque.forced_pop_not_empty",
        run: forced_pop_not_empty,
        bound: (Some(3), Some(4)),
        mutants: &["reclaim-no-recheck"],
        ..SCRIPT
    },
    Script {
        name: "deque.public_part",
        run: public_part,
        bound: (Some(4), None),
        mutants: &["steal-load-store", "lock-acquire", "unlock-release"],
        ..SCRIPT
    },
    Script {
        name: "deque.two_thieves",
        run: two_thieves,
        threads: 3,
        bound: (Some(2), Some(2)),
        mutants: &["pop-light", "forced-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "deque.wrap_around",
        run: wrap_around,
        mutants: &["head-acquire", "head-release", "grow-without-lock"],
        ..SCRIPT
    },
    Script {
        name: "deque.position_reused",
        run: position_reused,
        threads: 1,
        mutants: &["claim-newest-unchecked"],
        ..SCRIPT
    },
    Script { name: "deque.moved_away", run: moved_away, threads: 1, mutants: &["claim-below-head"], ..SCRIPT },
    Script {
        name: "deque.oldest_in_and_out",
        run: oldest_in_and_out,
        bound: (Some(4), None),
        mutants: &["push-oldest-unlocked", "pop-oldest-unlocked"],
        ..SCRIPT
    },
    Script {
        name: "deque.oldest_forced",
        run: oldest_forced,
        bound: (Some(3), Some(4)),
        mutants: &["pop-oldest-unlocked", "pop-oldest-keeps-split"],
        ..SCRIPT
    },
    Script {
        name: "deque.yielded_forced",
        run: yielded_forced,
        bound: (Some(3), Some(4)),
        mutants: &["push-oldest-unlocked"],
        ..SCRIPT
    },
    Script {
        name: "deque.oldest_wraps_around",
        run: oldest_wraps_around,
        mutants: &["push-oldest-unlocked"],
        ..SCRIPT
    },
];
