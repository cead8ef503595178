//! The end of a time limit: *timeout* is said of what was not possible, though others are slow to
//! wake or to come.

use crate::lock_common::*;
use myriad::sync::{
    Arc, Barrier, Condvar, Event, Latch, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Semaphore, WaitGroup,
};
use myriad::time::{Instant, now as clock};
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock as Told;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::{Wake, Waker};
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(30);

/// More than are woken at a time.
const MANY: usize = 40;

type Waits<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A waker that does not return before the one behind it has answered.
#[derive(Default)]
struct Slow {
    called: Told<Instant>,
    answered: AtomicBool,
}

impl Wake for Slow {
    fn wake(self: Arc<Self>) {
        self.called.get_or_init(clock);
        wait_until(|| self.answered.load(SeqCst));
    }
}

/// Many futures stand in line, the first with a slow waker, and behind them one with a time limit:
/// `let_go` lets all of them go. The last one, to whom the wakes come only when its time is over,
/// has to hear that it may go on.
///
/// The last one is given some time to come. If it comes later, nothing is shown, and nothing fails.
fn answers_truly<O: Send + Sync + 'static>(
    make: impl Fn() -> O,
    stands: for<'a> fn(&'a O) -> Waits<'a>,
    waits: fn(&O, Duration) -> bool,
    let_go: fn(&O),
) {
    answers_truly_behind(MANY, make, stands, waits, let_go);
}

/// The same behind so many.
fn answers_truly_behind<O: Send + Sync + 'static>(
    many: usize,
    make: impl Fn() -> O,
    stands: for<'a> fn(&'a O) -> Waits<'a>,
    waits: fn(&O, Duration) -> bool,
    let_go: fn(&O),
) {
    each_runtime(|rt| {
        for kind in [Kind::Closure, Kind::Thread] {
            loop {
                let (object, slow) = (Arc::new(make()), Arc::new(Slow::default()));
                let waker = Waker::from(slow.clone());
                let mut line: Vec<_> = (0..many).map(|_| stands(&object)).collect();
                assert!(poll_with(line[0].as_mut(), &waker).is_pending());
                line[1..].iter_mut().for_each(|waits| assert!(poll_once(waits.as_mut()).is_pending()));
                let until = Arc::new(Told::new());
                let (o, s, u) = (object.clone(), slow.clone(), until.clone());
                let last = move || {
                    u.set(clock() + LIMIT).unwrap();
                    let done = waits(&o, LIMIT);
                    s.answered.store(true, SeqCst);
                    done
                };
                let last = start(rt, kind, last, async { false });
                wait_until(|| until.get().is_some());
                std::thread::sleep(LIMIT / 6);
                let_go(&object);
                let done = last.join();
                if done {
                    break;
                }
                let late = slow.called.get().is_none_or(|called| called > until.get().unwrap());
                assert!(late, "{kind:?}: it might have gone on before its time was over");
            }
        }
    });
}

/// Nobody is claimed behind a slow waker, also among those who are woken at a time: whose wake has
/// been decided is not let go by the end of the time.
#[test]
fn right_behind_a_slow_waker() {
    answers_truly_behind(
        1,
        Event::new,
        |e| Box::pin(e.wait_async()),
        |e, limit| e.wait_timeout(limit).is_ok(),
        Event::set,
    );
    answers_truly_behind(
        2,
        || Latch::new(1),
        |l| Box::pin(l.wait_async()),
        |l, limit| l.wait_timeout(limit).is_ok(),
        Latch::count_down,
    );
}

#[test]
fn an_event_that_was_set() {
    answers_truly(Event::new, |e| Box::pin(e.wait_async()), |e, limit| e.wait_timeout(limit).is_ok(), Event::set);
}

#[test]
fn a_latch_that_has_opened() {
    answers_truly(
        || Latch::new(1),
        |l| Box::pin(l.wait_async()),
        |l, limit| l.wait_timeout(limit).is_ok(),
        Latch::count_down,
    );
}

#[test]
fn a_group_that_was_done() {
    let make = || {
        let group = WaitGroup::new();
        group.add(1);
        group
    };
    answers_truly(make, |g| Box::pin(g.wait_async()), |g, limit| g.wait_timeout(limit).is_ok(), WaitGroup::done);
}

#[test]
fn a_barrier_at_which_all_have_met() {
    answers_truly(
        || Barrier::new(MANY + 2),
        |b| Box::pin(async { _ = b.wait_async().await }),
        |b, limit| b.wait_timeout(limit).is_ok(),
        |b| {
            // The other one stands there, or has given up: whoever comes last wakes, and this is to
            // be the one.
            let until = clock() + LIMIT;
            wait_until(|| b.arrived() == MANY + 1 || clock() > until);
            if b.arrived() == MANY + 1 {
                _ = b.wait_timeout(LIMIT);
            }
        },
    );
}

#[test]
fn a_once_that_is_done() {
    answers_truly(
        Once::new,
        |o| Box::pin(o.wait_async()),
        |o, limit| o.wait_timeout(limit).is_ok(),
        |o| o.call_once(|| ()),
    );
    answers_truly(
        OnceLock::new,
        |o| Box::pin(async { _ = o.wait_async().await }),
        |o, limit| o.wait_timeout(limit).is_ok(),
        |o| o.set(1).unwrap(),
    );
}

#[test]
fn a_notification_of_all() {
    answers_truly(
        || (Mutex::new(false), Condvar::new()),
        |(mutex, condvar)| Box::pin(async { drop(condvar.wait_async(mutex.lock_async().await.unwrap()).await) }),
        |(mutex, condvar), limit| {
            let mut guard = mutex.lock().unwrap();
            *guard = true;
            !condvar.wait_timeout(guard, limit).unwrap().1.timed_out()
        },
        |(mutex, condvar)| {
            // Who comes later is not meant.
            wait_until(|| *mutex.lock().unwrap());
            condvar.notify_all();
        },
    );
}

#[test]
fn permits_that_were_given() {
    let make = || {
        let semaphore = Semaphore::new(MANY);
        std::mem::forget(semaphore.acquire_many(MANY));
        semaphore
    };
    answers_truly(
        make,
        |s| Box::pin(async { std::mem::forget(s.acquire_async().await) }),
        |s, limit| s.acquire_timeout(limit).is_ok(),
        |s| s.add_permits(MANY + 1),
    );
}

#[test]
fn a_lock_that_is_read() {
    type Held = (&'static RwLock<()>, std::sync::Mutex<Option<RwLockWriteGuard<'static, ()>>>);
    let make = || {
        let lock: &'static RwLock<()> = Box::leak(Box::new(RwLock::new(())));
        (lock, std::sync::Mutex::new(Some(lock.write().unwrap())))
    };
    answers_truly(
        make,
        |(lock, _): &Held| Box::pin(async { drop(lock.read_async().await) }),
        |(lock, _), limit| lock.read_timeout(limit).is_ok(),
        |(_, held)| {
            let guard = held.lock().unwrap().take();
            drop(guard);
        },
    );
}

/// Who stands first was woken and does not come: the mutex is free, and whoever stands behind it
/// gets it when its time is over.
#[test]
fn a_mutex_that_is_free() {
    each_runtime(|rt| {
        for kind in [Kind::Closure, Kind::Thread] {
            loop {
                let lock = Arc::new(Mutex::new(()));
                let guard = lock.lock().unwrap();
                let mut first = Box::pin(lock.lock_async());
                assert!(poll_once(first.as_mut()).is_pending());
                let until = Arc::new(Told::new());
                let (l, u) = (lock.clone(), until.clone());
                let second = move || {
                    u.set(clock() + LIMIT).unwrap();
                    l.lock_timeout(LIMIT).is_ok()
                };
                let second = start(rt, kind, second, async { false });
                wait_until(|| until.get().is_some());
                std::thread::sleep(LIMIT / 6);
                drop(guard);
                let free = clock();
                if second.join() {
                    // And it has left the lock to the first.
                    drop(now(poll_once(first.as_mut())));
                    break;
                }
                assert!(free > *until.get().unwrap(), "{kind:?}: the lock was free before its time was over");
            }
        }
    });
}
