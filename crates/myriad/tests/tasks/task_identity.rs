//! Who a task is: numbers, names, places, keys.

use crate::common::in_both_modes;
use myriad::task::{Builder, current};
use myriad::{join, scope, spawn, spawn_async, yield_now};
use std::collections::HashSet;

#[test]
fn the_handle_and_the_task_agree() {
    in_both_modes(|rt| {
        rt.run(|| {
            for ask_first in [true, false] {
                let task = spawn(|| current().unwrap().id());
                let asked = ask_first.then(|| task.id());
                yield_now();
                let id = task.id();
                assert_eq!(task.join().unwrap(), id);
                assert!(asked.is_none_or(|asked| asked == id));
                let future = spawn_async(async {
                    let before = current().unwrap().id();
                    myriad::time::sleep_async(std::time::Duration::from_micros(1)).await;
                    (before, current().unwrap().id())
                });
                let id = future.id();
                assert_eq!(future.join().unwrap(), (id, id));
            }
        });
    });
}

#[test]
fn numbers_are_never_used_again() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut seen = HashSet::new();
            assert!(seen.insert(current().unwrap().id()));
            for _ in 0..1000 {
                // The same record, again and again.
                let task = spawn(|| current().unwrap().id());
                assert!(seen.insert(task.join().unwrap()));
                let (a, b) = join(|| current().unwrap().id(), || current().unwrap().id());
                assert!(!seen.insert(a), "the first side is the caller");
                assert!(seen.insert(b));
                let unasked = spawn(|| ());
                unasked.join().unwrap();
            }
            scope(|s| {
                for task in (0..10).map(|_| s.spawn(|| current().unwrap().id())).collect::<Vec<_>>() {
                    assert!(seen.insert(task.join().unwrap()));
                }
            });
        });
    });
}

#[test]
fn names_and_places() {
    in_both_modes(|rt| {
        rt.run(|| {
            let h = Builder::new().name("relay").spawn(|| current().unwrap());
            let line = line!() - 1;
            let task = h.join().unwrap();
            assert_eq!((task.name(), task.spawned_at().line()), (Some("relay"), line));
            assert_eq!(task.to_string(), format!("task 'relay' ({}) spawned at {}", task.id(), task.spawned_at()));
            assert_eq!(spawn(|| current().unwrap().name().map(str::to_owned)).join().unwrap(), None);
        });
    });
    assert!(current().is_none());
}

/// A lock that its owner may take again knows the second side of a `join` as somebody else,
/// wherever it runs; and the task itself on whatever stack or thread it goes on.
#[test]
fn owners_of_locks() {
    use myriad::sync::ReentrantLock;
    fn down(lock: &ReentrantLock<()>, depth: u32) -> bool {
        let frame = std::hint::black_box([depth as u8; 256]);
        let mine = lock.try_lock().is_some();
        mine && (depth == 0 || join(|| down(lock, depth - 1), || ()).0) && frame[0] == frame[255]
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let lock = ReentrantLock::new(());
            for _ in 0..20 {
                assert!(join(|| (), || lock.try_lock().is_some()).1);
            }
            let guard = lock.lock();
            for _ in 0..20 {
                let (a, b) = join(|| lock.try_lock().is_some(), || lock.try_lock().is_some());
                assert_eq!((a, b), (true, false));
            }
            assert!(myriad::blocking(|| lock.try_lock().is_some()));
            assert!(down(&lock, 1_000));
            scope(|s| assert!(!s.spawn(|| lock.try_lock().is_some()).join().unwrap()));
            drop(guard);
            scope(|s| assert!(s.spawn(|| lock.try_lock().is_some()).join().unwrap()));
        });
    });
}
