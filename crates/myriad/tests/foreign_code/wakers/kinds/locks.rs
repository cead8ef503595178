//! Futures of locks and of what else tasks meet at.

use super::*;

pub(in crate::wakers) fn mutex(rt: &Runtime) -> Case {
    let mutex = Arc::new(Mutex::new(()));
    let theirs = mutex.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.lock().unwrap();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let mutex = mutex.clone();
            async move { drop(mutex.lock_async().await.unwrap()) }
        },
        go,
    )
}

fn rwlock(rt: &Runtime, write: bool) -> Case {
    let lock = Arc::new(RwLock::new(()));
    let theirs = lock.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.write().unwrap();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let lock = lock.clone();
            async move {
                if write {
                    drop(lock.write_async().await.unwrap());
                } else {
                    drop(lock.read_async().await.unwrap());
                }
            }
        },
        go,
    )
}
pub(in crate::wakers) fn rwlock_read(rt: &Runtime) -> Case {
    rwlock(rt, false)
}
pub(in crate::wakers) fn rwlock_write(rt: &Runtime) -> Case {
    rwlock(rt, true)
}

pub(in crate::wakers) fn reentrant(rt: &Runtime) -> Case {
    let lock = Arc::new(ReentrantLock::new(()));
    let theirs = lock.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.lock();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let lock = lock.clone();
            async move { drop(lock.lock_async().await) }
        },
        go,
    )
}

pub(in crate::wakers) fn semaphore(_: &Runtime) -> Case {
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = semaphore.acquire().into_owned(&semaphore);
    let theirs = semaphore.clone();
    case(
        move |_| {
            let semaphore = semaphore.clone();
            async move { drop(semaphore.acquire_async().await) }
        },
        move || {
            theirs.add_permits(2);
            drop(permit);
        },
    )
}

fn events(event: Event, go: impl FnOnce(&Event) + 'static) -> Case {
    let event = Arc::new(event);
    let theirs = event.clone();
    case(
        move |_| {
            let event = event.clone();
            async move { event.wait_async().await }
        },
        move || go(&theirs),
    )
}
pub(in crate::wakers) fn event(_: &Runtime) -> Case {
    events(Event::new(), Event::set)
}
pub(in crate::wakers) fn event_auto(_: &Runtime) -> Case {
    events(Event::auto_reset(), |event| (0..3).for_each(|_| event.set()))
}

pub(in crate::wakers) fn latch(_: &Runtime) -> Case {
    let latch = Arc::new(Latch::new(1));
    let theirs = latch.clone();
    case(
        move |_| {
            let latch = latch.clone();
            async move { latch.wait_async().await }
        },
        move || theirs.count_down(),
    )
}
pub(in crate::wakers) fn wait_group(_: &Runtime) -> Case {
    let group = Arc::new(WaitGroup::new());
    group.add(1);
    let theirs = group.clone();
    case(
        move |_| {
            let group = group.clone();
            async move { group.wait_async().await }
        },
        move || theirs.done(),
    )
}
/// (Those who are not there any more do not keep it waiting.)
pub(in crate::wakers) fn barrier(_: &Runtime) -> Case {
    let barrier = Arc::new(Barrier::new(4));
    let theirs = barrier.clone();
    case(
        move |_| {
            let barrier = barrier.clone();
            async move { _ = barrier.wait_async().await }
        },
        move || _ = theirs.wait_timeout(if theirs.arrived() == 3 { Duration::MAX } else { Duration::ZERO }),
    )
}

fn condvar(go: impl FnOnce(&Condvar) + 'static) -> Case {
    let condvar = Arc::new((Mutex::new(()), Condvar::new()));
    let theirs = condvar.clone();
    case(
        move |_| {
            let condvar = condvar.clone();
            async move {
                let guard = condvar.0.lock_async().await.unwrap();
                drop(condvar.1.wait_async(guard).await.unwrap());
            }
        },
        move || go(&theirs.1),
    )
}
pub(in crate::wakers) fn condvar_all(_: &Runtime) -> Case {
    condvar(Condvar::notify_all)
}
pub(in crate::wakers) fn condvar_one(_: &Runtime) -> Case {
    condvar(|condvar| (0..3).for_each(|_| condvar.notify_one()))
}

fn condition(go: impl FnOnce(&Condition<u32>) + 'static) -> Case {
    let condition = Arc::new(Condition::new());
    let theirs = condition.clone();
    case(
        move |_| {
            let condition = condition.clone();
            async move { condition.wait_async().await }
        },
        move || go(&theirs),
    )
}
pub(in crate::wakers) fn condition_all(_: &Runtime) -> Case {
    condition(|condition| _ = condition.notify_all(1))
}
pub(in crate::wakers) fn condition_one(_: &Runtime) -> Case {
    condition(|condition| (0..3).for_each(|i| _ = condition.notify_one(i)))
}
pub(in crate::wakers) fn condition_with(_: &Runtime) -> Case {
    let condition = Arc::new((Mutex::new(()), Condition::<u32>::new()));
    let theirs = condition.clone();
    case(
        move |_| {
            let condition = condition.clone();
            async move {
                let guard = condition.0.lock_async().await.unwrap();
                drop(condition.1.wait_with_async(guard).await.unwrap());
            }
        },
        move || _ = theirs.1.notify_all(1),
    )
}

pub(in crate::wakers) fn once(_: &Runtime) -> Case {
    let once = Arc::new(Once::new());
    let theirs = once.clone();
    case(
        move |_| {
            let once = once.clone();
            async move { once.wait_async().await }
        },
        move || theirs.call_once(|| ()),
    )
}
pub(in crate::wakers) fn once_lock(_: &Runtime) -> Case {
    let cell = Arc::new(OnceLock::new());
    let theirs = cell.clone();
    case(
        move |_| {
            let cell = cell.clone();
            async move { _ = cell.wait_async().await }
        },
        move || theirs.set(Box::new(1)).unwrap(),
    )
}
pub(in crate::wakers) fn once_lock_init(rt: &Runtime) -> Case {
    let cell = Arc::new(OnceLock::new());
    let theirs = cell.clone();
    let go = held(rt, move |go, held| {
        theirs.get_or_init(|| {
            held();
            go.recv().unwrap();
            1
        });
    });
    case(
        move |_| {
            let cell = cell.clone();
            async move { *cell.get_or_init_async(|| async { 2 }).await }
        },
        go,
    )
}
pub(in crate::wakers) fn single_flight(rt: &Runtime) -> Case {
    let flights = Arc::new(SingleFlight::new());
    let theirs = flights.clone();
    let go = held(rt, move |go, held| {
        theirs.run("key", || {
            held();
            go.recv().unwrap();
            1
        });
    });
    case(
        move |_| {
            let flights = flights.clone();
            async move { flights.run_async("key", || async { 2 }).await }
        },
        go,
    )
}
