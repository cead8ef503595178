//! Values of nodes that go to files, and runtimes that end meanwhile.

use crate::budgets::{Part, Test, each_test, part};
use crate::checkpoints::Folder;
use crate::common::wait_until;
use crate::each_runtime;
use myriad::flow::graph::Cause;
use myriad::flow::{self, Budget, Spillable};
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A runtime ends while nodes wait for their turn: they have it. Nodes of a runtime that has ended
/// are cancelled, and keep nobody else from the gate.
#[test]
fn a_runtime_ends_before_the_turn_of_its_nodes() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(0, &folder.0);
        let other = myriad::Builder::new().workers(1).build().unwrap();
        let pool = other.handle();
        let nodes = |ends: &[Spillable<Part>]| -> Vec<_> {
            let make = |n| {
                let test = test.clone();
                let options = flow::Options::new().pool(pool);
                options.spawn_in(&budget, move || Part::new(&test, vec![n; 8]), ())
            };
            assert!(ends.iter().all(Spillable::is_done));
            (0..50).map(make).collect()
        };
        let there = nodes(&[]);
        assert!(other.shutdown(Duration::from_secs(60)).is_clean());
        for node in nodes(&there) {
            assert!(matches!(node.join().err().unwrap().cause(), Cause::Cancelled));
        }
        for (n, node) in there.into_iter().enumerate() {
            assert_eq!(node.join().unwrap().numbers, [n as u64; 8]);
        }
        assert_eq!(part(&budget, test, 3).join().unwrap().numbers[0], 3);
    });
}

/// A runtime is dropped while a node of it writes: it waits for that write, and nodes that wait
/// behind it are cancelled. Nobody waits for ever, and no file is left.
#[test]
fn a_runtime_is_dropped_while_a_file_is_written() {
    each_runtime(|| {
        let (go_on, waits) = mpsc::channel();
        let (test, folder) = (Test::new(Some(waits)), Folder::new());
        let budget = Budget::in_folder(0, &folder.0);
        let other = myriad::Builder::new().workers(1).build().unwrap();
        let pool = other.handle();
        let there: Vec<_> = (0..50)
            .map(|n| {
                let test = test.clone();
                let options = flow::Options::new().pool(pool);
                options.spawn_in(&budget, move || Part::new(&test, vec![n; 8]), ())
            })
            .collect();
        wait_until(|| test.writes.load(SeqCst) > 0);
        let ends = thread::spawn(|| drop(other));
        // (What others spawn is refused from the begin of that.)
        wait_until(|| pool.spawn(|| ()).join().is_err());
        let here = part(&budget, &test, 3);
        (0..1000).for_each(|_| go_on.send(()).unwrap());
        myriad::blocking(|| ends.join()).unwrap();
        wait_until(|| there.iter().all(Spillable::is_done));
        let cancelled = there.into_iter().filter_map(|node| node.join().err());
        let cancelled = cancelled.inspect(|error| assert!(matches!(error.cause(), Cause::Cancelled), "{error}"));
        assert!(cancelled.count() > 0);
        assert_eq!(here.join().unwrap().numbers[0], 3);
        drop(budget);
        wait_until(|| Arc::strong_count(&test) == 1 && folder.files() == 0);
    });
}
