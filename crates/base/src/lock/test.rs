use super::bias_owner::{self, BiasOwner};
use super::biased::BiasedLock;
use crate::sys::fence::membarrier_works;

/// Makes the lock biased, or nearly so, to this worker.
fn use_alone(lock: &BiasedLock, me: &'static BiasOwner) {
    for _ in 0..4 {
        // SAFETY: the test's thread has the right; nothing is done inside.
        drop(unsafe { lock.lock(Some(me)) });
    }
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
    // SAFETY: taken above, on this thread, which is in no lock.
    unsafe { bias_owner::give_back(me) };
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
