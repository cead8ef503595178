use super::bias_owner::{self, BiasOwner};
use super::biased::BiasedLock;
use crate::sys::fence::membarrier_works;
use std::sync::atomic::Ordering::Relaxed;

/// So many acquisitions by this worker, in one turn.
fn use_for_a_turn(lock: &BiasedLock, me: &'static BiasOwner, times: u32) {
    (0..times).for_each(|_| use_in_turn(lock, me));
    // SAFETY: this thread plays that worker, and is in no lock.
    unsafe { me.end_turn() };
}

/// Makes the lock biased to this worker. (In two turns, if the worker has no debts.)
fn use_alone(lock: &BiasedLock, me: &'static BiasOwner) {
    while !lock.is_biased_to(me) {
        use_for_a_turn(lock, me, 2);
    }
}

/// A lock that goes from worker to worker, for a turn each: all but the first acquisitions of a
/// turn are by a lease, and nobody pays a fence.
#[test]
fn leases_end_with_the_turn() {
    if !membarrier_works() {
        return;
    }
    let workers = [(); 2].map(|()| bias_owner::take().expect("a number for this thread"));
    let lock = BiasedLock::new();
    let debts = workers.map(BiasOwner::debt);
    for turn in 0..100 {
        let me = workers[turn % 2];
        for time in 0..10 {
            // Two in a row make the first lease; where one has ended by itself, one makes the next.
            let before = if turn == 0 { 2 } else { 1 };
            assert_eq!(lock.is_leased_to(me), time >= before, "turn {turn}, acquisition {time}");
            use_in_turn(&lock, me);
        }
        assert!(lock.is_leased_to(me) && !lock.is_biased_to(me));
        // SAFETY: this thread plays that worker, and is in no lock.
        unsafe { me.end_turn() };
        assert!(!lock.is_leased_to(me), "the turn is over");
    }
    assert_eq!(workers.map(BiasOwner::debt), debts, "nobody revokes what is over");
    // The only user after all: it is biased for good, in time.
    use_alone(&lock, workers[0]);
    // SAFETY: taken above, on this thread, which is in no lock.
    workers.into_iter().for_each(|me| unsafe { bias_owner::give_back(me) });
}

/// A turn that lasts: its lock is biased for good, in the end.
#[test]
fn a_long_turn_makes_a_bias() {
    if !membarrier_works() {
        return;
    }
    let me = bias_owner::take().expect("a number for this thread");
    let lock = BiasedLock::new();
    (0..1100).for_each(|_| use_in_turn(&lock, me));
    assert!(lock.is_leased_to(me) && !lock.is_biased_to(me), "nobody has looked");
    // (Only this worker: other tests count what theirs do.) The second look finds the turn of the
    // first.
    me.sample_long_turn();
    use_in_turn(&lock, me);
    assert!(lock.is_leased_to(me) && !lock.is_biased_to(me), "one look is not two");
    me.sample_long_turn();
    use_in_turn(&lock, me);
    assert!(lock.is_biased_to(me));
    // SAFETY: taken above, on this thread, which is in no lock.
    unsafe { bias_owner::give_back(me) };
}

/// A lease that is revoked in the middle of its turn is not made so soon again.
#[test]
fn a_revoked_lease_takes_longer() {
    if !membarrier_works() {
        return;
    }
    let me = bias_owner::take().expect("a number for this thread");
    let (lock, debt) = (BiasedLock::new(), me.debt());
    (0..2).for_each(|_| use_in_turn(&lock, me));
    assert!(lock.is_leased_to(me));
    // SAFETY: a foreign thread needs no right.
    drop(unsafe { lock.lock(None) });
    assert!(me.debt() > debt && !lock.is_leased_to(me));
    for time in 0..8 {
        assert!(!lock.is_leased_to(me), "acquisition {time}");
        use_in_turn(&lock, me);
    }
    assert!(lock.is_leased_to(me));
    // (The number is not given back: its debts are no other test's.)
}

/// Where others hardly come, a lock does not count what they have cost.
#[test]
fn alone_a_worker_has_its_locks_at_once() {
    if !membarrier_works() {
        return;
    }
    let me = bias_owner::take().expect("a number for this thread");
    let lock = BiasedLock::new();
    for _ in 0..5 {
        while !lock.is_leased_to(me) {
            use_in_turn(&lock, me);
        }
        // SAFETY: a foreign thread needs no right.
        drop(unsafe { lock.lock(None) });
    }
    use_for_a_turn(&lock, me, 10);
    assert!(!lock.is_biased_to(me), "it has cost five fences");
    me.set_alone(true);
    let turns = (0..).take_while(|_| {
        use_for_a_turn(&lock, me, 2);
        !lock.is_biased_to(me)
    });
    assert!(turns.count() < 5);
    me.set_alone(false);
    // (The number is not given back: its debts are no other test's.)
}

/// Who waits for the end of a lease waits in vain, for which the owner owes, or finds it over.
#[test]
fn the_end_of_a_lease_is_waited_for() {
    if !membarrier_works() {
        return;
    }
    // (So that the cost of a fence is known, which is the bound.)
    crate::sys::fence::heavy();
    let me = bias_owner::take().expect("a number for this thread");
    let lock = BiasedLock::new();
    (0..2).for_each(|_| use_in_turn(&lock, me));
    let (first, debt) = (me.lease.load(Relaxed), me.debt());
    assert!(!me.wait_for_end(first) && me.debt() > debt, "in vain");
    let debt = me.debt();
    // SAFETY: this thread plays that worker, and is in no lock.
    unsafe { me.end_turn() };
    assert!(!me.wait_for_end(first) && me.debt() == debt, "there was nothing to wait for");
    // (The number is not given back: its debts are no other test's.)
}

/// One acquisition.
fn use_in_turn(lock: &BiasedLock, me: &'static BiasOwner) {
    // SAFETY: the test's thread has the right; nothing is done inside.
    drop(unsafe { lock.lock(Some(me)) });
}

/// A worker has used many locks, and another thread takes each: a few fences do it, not one for
/// each lock.
#[test]
fn many_biases_end_together() {
    if !membarrier_works() {
        return;
    }
    let me = bias_owner::take().expect("a number for this thread");
    let locks: Vec<BiasedLock> = (0..10_000).map(|_| BiasedLock::new()).collect();
    locks.iter().for_each(|lock| use_alone(lock, me));
    assert!(locks.iter().all(|lock| lock.is_biased_to(me)));
    let mut fences = 0;
    for lock in &locks {
        fences += u32::from(lock.is_biased_to(me));
        // SAFETY: a foreign thread needs no right.
        drop(unsafe { lock.lock(None) });
    }
    assert!((1..1_000).contains(&fences), "{fences} fences for 10,000 locks");
    // (The number is not given back: its debts are no other test's.)
}

/// What a worker that has ended left biased is free without a fence, also for the next one with its
/// number.
#[test]
fn biases_end_with_their_worker() {
    if !membarrier_works() {
        return;
    }
    let lock = BiasedLock::new();
    let me = bias_owner::take().expect("a number for this thread");
    use_alone(&lock, me);
    assert!(lock.is_biased_to(me));
    // SAFETY: taken above, on this thread, which is in no lock.
    unsafe { bias_owner::give_back(me) };
    assert!(!lock.is_biased_to(me));
    use_alone(&lock, bias_owner::take().expect("a number for this thread"));
}
