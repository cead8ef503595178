//! A panic because of a wrong call names the line of the call, not one of the library.

use crate::common::{MODES, assert_ok, case, in_child, wait_until};
use myriad::channel::{bounded_drop_newest, bounded_drop_oldest, broadcast, tick};
use myriad::sync::{Barrier, Latch, Mutex, MutexGuard, Once, ReentrantLock, RwLock, Semaphore, WaitGroup};
use myriad::sync::{Condition, Permit, RwLockReadGuard, RwLockWriteGuard};
use myriad::task::{Group, dispatch, map_concurrent, map_concurrent_unordered, try_map_concurrent};
use myriad::{Builder, JoinError, Runtime, par, rng, spawn, task_local, time};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

task_local! {
    static WORDS: RefCell<Vec<u32>> = RefCell::new(Vec::new());
}

thread_local! {
    /// Where the last panic on this thread came from.
    static PLACE: Cell<(String, u32)> = const { Cell::new((String::new(), 0)) };
}

/// Panics that come from elsewhere.
static WRONG: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

/// Calls it, which has to panic in the line in which this is called.
#[track_caller]
fn panics<R>(call: impl FnOnce() -> R) {
    let here = Location::caller();
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "no panic: {here}");
    let (file, line) = PLACE.take();
    if file != here.file() || line != here.line() {
        WRONG.lock().unwrap().push(format!("{here}: the panic comes from {file}:{line}"));
    }
}

#[test]
fn a_panic_names_the_call() {
    let output = in_child(&[], || {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().unwrap();
            PLACE.set((place.file().to_owned(), place.line()));
            if info.payload_as_str().is_some_and(|text| text.starts_with("[") || text.starts_with("no panic")) {
                eprintln!("{info}");
            }
        }));
        for mode in MODES {
            case(
                mode,
                2,
                |b| b,
                |rt| {
                    runtimes(rt);
                    rt.run(|| {
                        tasks();
                        locks();
                        others();
                    });
                },
            );
        }
        let wrong = std::mem::take(&mut *WRONG.lock().unwrap());
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
    assert_ok(&output);
}

fn runtimes(rt: &Runtime) {
    panics(|| rt.advance(Duration::ZERO));
    rt.run(|| panics(|| myriad::spawn_on("none", || ())));
    rt.run(|| panics(|| myriad::spawn_async_on("none", async {})));
    let ended = Builder::new().workers(1).build().unwrap();
    let handle = ended.handle();
    handle.run(|| panics(|| ended.shutdown(Duration::ZERO)));
    drop(Builder::new().workers(1).build());
    // (A runtime that one of its own tasks drops is ended by a thread of its own.)
    wait_until(|| catch_unwind(AssertUnwindSafe(|| handle.run(|| ()))).is_err());
    panics(|| handle.run(|| ()));
    panics(|| handle.block_on(async {}));
}

/// That of a task that was cancelled.
fn error() -> JoinError {
    let h = spawn(|| time::sleep(Duration::from_secs(3600)));
    h.cancel();
    h.join().unwrap_err()
}

fn tasks() {
    let error_of_a_task = error();
    panics(|| error_of_a_task.into_panic());
    let error_of_a_task = error();
    panics(|| error_of_a_task.resume());
    panics(|| map_concurrent(0, [1], |n| n));
    panics(|| map_concurrent_unordered(0, [1], |n| n, drop));
    panics(|| try_map_concurrent(0, [1], Ok::<i32, ()>));
    let mut taken = spawn(|| 1);
    assert_eq!(myriad::block_on(&mut taken).unwrap(), 1);
    panics(|| taken.id());
    panics(|| taken.name());
    panics(|| taken.spawned_at());
    panics(|| taken.canceller());
    Group::new(0).spawn(|local| panics(|| local.with(|_| local.with(|_| ())))).join().unwrap();
    _ = dispatch(|| ());
}

fn locks() {
    panics(|| Barrier::new(0));
    let latch = Latch::new(1);
    latch.count_down();
    panics(|| latch.count_down());
    panics(|| latch.count_down_by(2));
    panics(|| WaitGroup::new().done());
    let (mine, other) = (Mutex::new(0), Arc::new(Mutex::new(0)));
    // SAFETY: it is not locked, which is refused.
    panics(|| unsafe { mine.force_unlock() });
    panics(|| MutexGuard::into_owned(mine.lock().unwrap(), &other));
    let reentrant = ReentrantLock::new(0);
    // SAFETY: it is not locked, which is refused.
    panics(|| unsafe { reentrant.force_unlock() });
    let (mine, other) = (RwLock::new(0), Arc::new(RwLock::new(0)));
    panics(|| RwLockReadGuard::into_owned(mine.read().unwrap(), &other));
    panics(|| RwLockWriteGuard::into_owned(mine.write().unwrap(), &other));
    let (mine, other) = (Semaphore::new(2), Arc::new(Semaphore::new(2)));
    panics(|| mine.acquire().split(2));
    panics(|| mine.acquire().merge(other.acquire()));
    panics(|| Permit::into_owned(mine.acquire(), &other));
    panics(|| mine.add_permits(usize::MAX));
    let once = Once::new();
    panics(|| once.call_once(|| once.call_once(|| ())));
    panics(|| once.call_once(|| ()));
    panics(|| once.wait());
    let condition = Condition::<()>::new();
    let (_first, second) = (reentrant.lock(), reentrant.lock());
    panics(|| condition.wait_with_reentrant(second));
}

fn others() {
    panics(|| bounded_drop_oldest::<u32>(0));
    panics(|| bounded_drop_newest::<u32>(0));
    panics(|| broadcast::<u32>(0));
    panics(|| tick(Duration::ZERO));
    panics(|| rng().fork().range(1..1));
    let last = 1;
    panics(|| rng().range(2_u8..=last));
    panics(|| WORDS.with_borrow(|_| WORDS.with_borrow_mut(Vec::clear)));
    panics(|| WORDS.with_borrow_mut(|_| WORDS.with_borrow(|_| ())));
    panics(|| WORDS.with_borrow_mut(|_| WORDS.take()));
    panics(|| WORDS.with_borrow_mut(|_| WORDS.replace(Vec::new())));
    panics(|| par::Loop::new(0..9).grain(0));
    panics(|| par::Loop::new(0..9).tasks(0));
    panics(|| par::for_each_chunk(&[1], 0, |_, _| ()));
    panics(|| par::scan_inclusive_to(&[1], &mut [], |a, b| a + b));
}
