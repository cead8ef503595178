//! Waits with a time limit as futures: the lock decides, not the poll. What was done before the
//! poll that comes after the limit is done; after a timeout nothing is.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::lock_common::*;
use myriad::sync::*;
use myriad::time::{Instant, now as clock};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};
use std::time::Duration;

type Waits<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

const SHORTEST: Duration = Duration::from_millis(2);

/// Makes a future with a time limit that stands in line, and says when its time is over. (The limit
/// grows until it is not over before the first poll.)
#[track_caller]
fn stands<F: Future>(waker: &Waker, make: impl FnMut(Duration) -> F) -> (Pin<Box<F>>, Instant) {
    stands_from(SHORTEST, waker, make)
}

/// The same with a limit that is no shorter than this one.
#[track_caller]
fn stands_from<F: Future>(
    least: Duration,
    waker: &Waker,
    mut make: impl FnMut(Duration) -> F,
) -> (Pin<Box<F>>, Instant) {
    for limit in (0..13).map(|n| least * (1 << n)) {
        let mut waits = Box::pin(make(limit));
        if poll_with(waits.as_mut(), waker).is_pending() {
            return (waits, clock() + limit);
        }
    }
    panic!("it does not wait");
}

/// Waits until then.
fn passes(until: Instant) {
    wait_until(|| clock() >= until);
}

/// A future that waits: `let_go` comes before its time is over, the next poll afterwards. Then
/// another one, for which nothing comes.
#[track_caller]
fn decided_by<'a>(mut waits: impl FnMut(Duration) -> Waits<'a>, let_go: impl FnOnce(), back: impl FnOnce()) {
    let (mut done, until) = stands(Waker::noop(), &mut waits);
    let_go();
    passes(until);
    assert!(now(poll_once(done.as_mut())), "it was done before its time was over");
    drop(done);
    back();
    let (mut none, until) = stands(Waker::noop(), &mut waits);
    passes(until);
    assert!(!now(poll_once(none.as_mut())), "nothing was done");
}

#[test]
fn done_before_the_limit_and_polled_after_it() {
    let (lock, held) = (&Mutex::new(()), std::cell::Cell::new(None));
    held.set(Some(lock.lock()));
    let waits = |limit| -> Waits<'_> { Box::pin(async move { lock.lock_timeout_async(limit).await.is_ok() }) };
    decided_by(waits, || drop(held.take()), || held.set(Some(lock.lock())));

    let (lock, held) = (&RwLock::new(()), std::cell::Cell::new(None));
    held.set(Some(lock.write()));
    let waits = |limit| -> Waits<'_> { Box::pin(async move { lock.read_timeout_async(limit).await.is_ok() }) };
    decided_by(waits, || drop(held.take()), || held.set(Some(lock.write())));
    let waits = |limit| -> Waits<'_> { Box::pin(async move { lock.write_timeout_async(limit).await.is_ok() }) };
    decided_by(waits, || drop(held.take()), || held.set(Some(lock.write())));

    let semaphore = &Semaphore::new(2);
    let held = std::cell::Cell::new(Some(semaphore.acquire()));
    let waits =
        |limit| -> Waits<'_> { Box::pin(async move { semaphore.acquire_many_timeout_async(2, limit).await.is_ok() }) };
    decided_by(waits, || drop(held.take()), || held.set(Some(semaphore.acquire())));
    held.set(None);
    held.set(Some(semaphore.acquire_many(2)));
    let waits = |limit| -> Waits<'_> { Box::pin(async move { semaphore.acquire_timeout_async(limit).await.is_ok() }) };
    decided_by(waits, || drop(held.take()), || held.set(Some(semaphore.acquire_many(2))));

    for event in &[Event::new(), Event::auto_reset()] {
        let waits = |limit| -> Waits<'_> { Box::pin(async move { event.wait_timeout_async(limit).await.is_ok() }) };
        decided_by(waits, || event.set(), || _ = event.reset());
    }

    let group = &WaitGroup::new();
    group.add(1);
    let waits = |limit| -> Waits<'_> { Box::pin(async move { group.wait_timeout_async(limit).await.is_ok() }) };
    // It was zero, and is not any more: who stood there has been let go.
    let done_and_more = || {
        group.done();
        group.add(1);
    };
    decided_by(waits, done_and_more, || ());

    let barrier = &Barrier::new(2);
    let waits = |limit| -> Waits<'_> { Box::pin(async move { barrier.wait_timeout_async(limit).await.is_ok() }) };
    decided_by(waits, || assert!(now(poll_once(Box::pin(barrier.wait_async()).as_mut())).is_leader()), || ());
    assert_eq!(barrier.arrived(), 0, "who hears of a timeout has not come");

    let condition = &Condition::new();
    let waits = |limit| -> Waits<'_> { Box::pin(async move { condition.wait_timeout_async(limit).await == Ok(7) }) };
    decided_by(waits, || condition.notify_one(7).unwrap(), || ());
    let waits =
        |limit| -> Waits<'_> { Box::pin(async move { condition.first().wait_timeout_async(limit).await == Ok(7) }) };
    decided_by(waits, || assert_eq!(condition.notify_all(7), 1), || ());
    assert_eq!(condition.notify_one(8), Err(8), "nobody waits any more");

    let (lock, condvar) = (&Mutex::new(()), &Condvar::new());
    let waits = |limit| -> Waits<'_> {
        let guard = lock.lock().unwrap();
        Box::pin(async move { !condvar.wait_timeout_async(guard, limit).await.unwrap().1.timed_out() })
    };
    decided_by(waits, || condvar.notify_one(), || ());
    decided_by(waits, || condvar.notify_all(), || ());
    assert!(lock.try_lock().is_ok());
    let waits = |limit| -> Waits<'_> {
        let guard = lock.lock().unwrap();
        Box::pin(async move { condition.wait_with_timeout_async(guard, limit).await.unwrap().1 == Some(9) })
    };
    decided_by(waits, || condition.notify_one(9).unwrap(), || ());
    assert!(lock.try_lock().is_ok());
}

/// What stays as it is: once done, waits end.
#[test]
fn what_is_done_for_good() {
    fn both<'a>(mut waits: impl FnMut(Duration) -> Waits<'a>, does: impl FnOnce()) {
        let (mut none, until) = stands(Waker::noop(), &mut waits);
        passes(until);
        assert!(!now(poll_once(none.as_mut())));
        let (mut done, until) = stands(Waker::noop(), &mut waits);
        does();
        passes(until);
        assert!(now(poll_once(done.as_mut())));
    }
    let latch = &Latch::new(1);
    both(|limit| Box::pin(async move { latch.wait_timeout_async(limit).await.is_ok() }), || latch.count_down());
    let once = &Once::new();
    both(|limit| Box::pin(async move { once.wait_timeout_async(limit).await.is_ok() }), || once.call_once(|| ()));
    let cell = &OnceLock::new();
    both(|limit| Box::pin(async move { cell.wait_timeout_async(limit).await == Ok(&5) }), || cell.set(5).unwrap());
    let lock = ReentrantLock::new(());
    let held = lock.lock();
    assert!(now(poll_once(Box::pin(lock.lock_timeout_async(LONG)).as_mut())).is_ok(), "the owner's");
    drop(held);
}

/// Woken to compete, and its time is over: whoever stands behind it is woken by the next who
/// unlocks.
#[test]
fn a_mutex_that_was_taken_by_another() {
    // (Its time must not be over before the mutex is unlocked.)
    let in_time = (0..10).any(|n| {
        let least = SHORTEST * (1 << n);
        let lock = Mutex::new(());
        let guard = lock.lock().unwrap();
        let (wakes, waker) = Wakes::new();
        let (behind, behind_waker) = Wakes::new();
        let begins = clock();
        let (mut first, until) = stands_from(least, &waker, |limit| lock.lock_timeout_async(limit));
        let mut second = Box::pin(lock.lock_timeout_async(LONG));
        assert!(poll_with(second.as_mut(), &behind_waker).is_pending());
        drop(guard);
        let woken = wakes.count();
        if clock() >= begins + least {
            return false;
        }
        assert_eq!(woken, 1);
        let guard = lock.try_lock().unwrap();
        passes(until);
        assert!(now(poll_with(first.as_mut(), &waker)).is_err_and(|error| error.is_timeout()));
        let before = behind.count();
        drop(guard);
        assert_eq!(behind.count(), before + 1, "the next in line is woken");
        assert!(now(poll_with(second.as_mut(), &behind_waker)).is_ok());
        true
    });
    assert!(in_time);
}

/// Before it is polled nothing has begun; dropped at any time, nothing is held.
#[test]
fn dropped_in_every_state() {
    let (lock, condvar) = (Mutex::new(()), Condvar::new());
    drop(condvar.wait_timeout_async(lock.lock().unwrap(), LONG));
    assert!(lock.try_lock().is_ok(), "never polled: given back");
    let mut waits = Box::pin(condvar.wait_timeout_async(lock.lock().unwrap(), LONG));
    assert!(poll_once(waits.as_mut()).is_pending());
    assert!(lock.try_lock().is_ok(), "given back by the wait");
    let mut next = Box::pin(condvar.wait_async(lock.lock().unwrap()));
    assert!(poll_once(next.as_mut()).is_pending());
    condvar.notify_one();
    drop(waits);
    assert!(poll_once(next.as_mut()).is_ready(), "the notification goes to the next");

    let condition = Condition::new();
    drop(condition.wait_with_timeout_async(lock.lock().unwrap(), LONG));
    let mut waits = Box::pin(condition.wait_with_timeout_async(lock.lock().unwrap(), LONG));
    assert!(poll_once(waits.as_mut()).is_pending());
    // It has the value, and not the lock.
    let guard = lock.try_lock().unwrap();
    condition.notify_one(5).unwrap();
    assert!(poll_once(waits.as_mut()).is_pending());
    let mut next = Box::pin(condition.wait_async());
    assert!(poll_once(next.as_mut()).is_pending());
    drop(waits);
    assert_eq!(now(poll_once(next.as_mut())), 5, "the value goes to the next");
    drop(guard);

    let semaphore = Semaphore::new(1);
    let held = semaphore.acquire();
    let mut waits = Box::pin(semaphore.acquire_timeout_async(LONG));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    assert_eq!(semaphore.available(), 0, "it was given the permit");
    drop(waits);
    assert_eq!(semaphore.available(), 1);
}

/// A limit that is over when it begins: what is possible is done.
#[test]
fn a_limit_of_nothing() {
    let zero = Duration::ZERO;
    assert!(now(poll_once(Box::pin(Mutex::new(()).lock_timeout_async(zero)).as_mut())).is_ok());
    let semaphore = Semaphore::new(1);
    let permit = now(poll_once(Box::pin(semaphore.acquire_timeout_async(zero)).as_mut())).unwrap();
    assert!(now(poll_once(Box::pin(semaphore.acquire_timeout_async(zero)).as_mut())).is_err());
    // The semaphore may shrink below what a wait asks for: that is a timeout, too.
    let (mut waits, until) = stands(Waker::noop(), |limit| semaphore.acquire_timeout_async(limit));
    permit.forget();
    passes(until);
    assert_eq!(now(poll_once(waits.as_mut())).err(), Some(TimeoutError));
}

/// A future that has used up its task's share of operations lets others go first, also when its
/// time is over before it has begun: what it does then, it does as at any other time.
#[test]
fn when_others_are_to_run_first() {
    each_runtime(|rt| {
        let both = Arc::new((Mutex::new(0), Condvar::new(), Semaphore::new(1)));
        let b = both.clone();
        rt.spawn_async(async move {
            let (lock, condvar, semaphore) = &*b;
            for _ in 0..1000 {
                let guard = lock.lock_timeout_async(Duration::ZERO).await.unwrap();
                let (mut guard, result) = condvar.wait_timeout_async(guard, Duration::ZERO).await.unwrap();
                assert!(result.timed_out());
                *guard += semaphore.acquire_timeout_async(Duration::ZERO).await.unwrap().count();
            }
        })
        .join()
        .unwrap();
        assert_eq!(*both.0.try_lock().unwrap(), 1000);
    });
}

/// Two meet with a limit: both, or none. (As a future under `timeout_async` one may have met the
/// other and not know.)
#[test]
fn both_meet_or_none() {
    each_runtime(|rt| {
        let met = AtomicUsize::new(0);
        for i in 0..500 {
            let barrier = Arc::new(Barrier::new(2));
            let (a, b) = (barrier.clone(), barrier.clone());
            let limit = Duration::from_micros(i % 4 * 5);
            let a = rt.spawn_async(async move { a.wait_timeout_async(limit).await });
            let b = rt.spawn_async(async move { b.wait_timeout_async(limit).await });
            match (a.join().unwrap(), b.join().unwrap()) {
                (Ok(a), Ok(b)) => {
                    assert_ne!(a.is_leader(), b.is_leader());
                    met.fetch_add(1, SeqCst);
                }
                (Err(_), Err(_)) => {}
                (a, b) => panic!("one has met the other: {a:?}, {b:?}"),
            }
            assert_eq!(barrier.arrived(), 0);
        }
    });
}

/// Permits come and go, waits run out: none is lost, none is given twice.
#[test]
fn no_permit_is_lost() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(2));
        let tasks: Vec<_> = (0..4_u64)
            .map(|i| {
                let semaphore = semaphore.clone();
                rt.spawn_async(async move {
                    let mut got = 0;
                    for round in 0..200 {
                        let limit = Duration::from_micros((round * 7 + i) % 30);
                        if let Ok(permit) = semaphore.acquire_timeout_async(limit).await {
                            got += permit.count();
                            myriad::time::sleep_async(Duration::from_micros(1)).await;
                        }
                    }
                    got
                })
            })
            .collect();
        let got: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        assert!(got > 0);
        assert_eq!((semaphore.available(), semaphore.total()), (2, 2));
    });
}

/// Runs a closure when it is called.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

type Answers<T> = Pin<Box<dyn Future<Output = Result<T, TimeoutError>> + Send>>;

/// Many wait, then one with a time limit. While they are woken, by the waker of the first, this
/// limit passes. What does the last one hear?
fn told_while_they_are_woken<T: Send + 'static, W>(
    waits: impl Fn() -> W,
    last: impl FnMut(Duration) -> Answers<T>,
    let_go: impl FnOnce(),
    meanwhile: impl Fn() + Send + Sync + 'static,
) -> Result<T, TimeoutError>
where
    W: Future,
{
    let mut line: Vec<_> = (0..40).map(|_| Box::pin(waits())).collect();
    let limited = Arc::new(std::sync::Mutex::new(None::<(Pin<Box<Answers<T>>>, Instant)>));
    let answer = Arc::new(std::sync::Mutex::new(None));
    let (l, a) = (limited.clone(), answer.clone());
    let waker = Waker::from(Arc::new(Calls(move || {
        meanwhile();
        let (mut last, until) = l.lock().unwrap().take().unwrap();
        passes(until);
        *a.lock().unwrap() = Some(now(poll_once(last.as_mut())));
    })));
    assert!(poll_with(line[0].as_mut(), &waker).is_pending());
    line[1..].iter_mut().for_each(|waits| assert!(poll_once(waits.as_mut()).is_pending()));
    *limited.lock().unwrap() = Some(stands(Waker::noop(), last));
    let_go();
    let told = answer.lock().unwrap().take();
    told.expect("the first was woken")
}

/// An event is set, and reset again while those that waited are woken: the last, whose turn has not
/// come, was let go all the same.
#[test]
fn set_and_reset_while_they_are_woken() {
    static EVENT: Event = Event::new();
    let event = &EVENT;
    let last = |limit| -> Answers<()> { Box::pin(event.wait_timeout_async(limit)) };
    let told = told_while_they_are_woken(|| event.wait_async(), last, || event.set(), move || _ = event.reset());
    assert_eq!(told, Ok(()));
    assert!(!event.is_set());
}

/// Permits are given for all, while another one comes to stand behind: the last of those that stood
/// there has its own, and that one none.
#[test]
fn given_while_they_are_woken() {
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    let semaphore = &SEMAPHORE;
    std::mem::forget(semaphore.acquire());
    let behind = Arc::new(std::sync::Mutex::new(Box::pin(semaphore.acquire_async())));
    let b = behind.clone();
    let last = |limit| -> Answers<Permit<'static>> { Box::pin(semaphore.acquire_timeout_async(limit)) };
    let comes = move || assert!(poll_once(b.lock().unwrap().as_mut()).is_pending());
    let told = told_while_they_are_woken(|| semaphore.acquire_async(), last, || semaphore.add_permits(41), comes);
    let permit = told.expect("there was one for it");
    drop(permit);
    assert!(poll_once(behind.lock().unwrap().as_mut()).is_ready(), "after it");
}
