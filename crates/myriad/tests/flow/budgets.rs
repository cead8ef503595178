//! Values of nodes that go to files: a bound on memory, right results, each value and file gone in
//! the end.

use crate::checkpoints::Folder;
use crate::common::{PLANNED, Rng, each};
use crate::each_runtime;
use myriad::channel::rendezvous;
use myriad::flow::graph::Cause;
use myriad::flow::{self, Budget, Checkpoints, Handle, NodeError, Spillable, StoreError, Stored, Value};
use myriad::sync::Event;
use std::fs;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

/// A list that is counted while it is in memory, and whose file is written and read as the test
/// says.
pub(crate) struct Part {
    pub(crate) numbers: Vec<u64>,
    /// Of this one in memory.
    serial: usize,
    test: Arc<Test>,
}

#[derive(Default)]
pub(crate) struct Test {
    number: usize,
    there: AtomicUsize,
    made: AtomicUsize,
    pub(crate) writes: AtomicUsize,
    /// So many writes fail, from now on.
    fail_writes: AtomicUsize,
    panic_writes: AtomicUsize,
    fail_reads: AtomicUsize,
    panic_reads: AtomicUsize,
    /// A write waits for this one.
    slow: Option<Mutex<Receiver<()>>>,
}

/// One of so many, if there are any left.
fn one_of(counter: &AtomicUsize) -> bool {
    counter.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok()
}

impl Part {
    pub(crate) fn new(test: &Arc<Test>, numbers: Vec<u64>) -> Part {
        test.there.fetch_add(1, SeqCst);
        Part { numbers, serial: test.made.fetch_add(1, SeqCst), test: test.clone() }
    }

    fn sum(&self) -> u64 {
        self.numbers.iter().fold(0, |sum, n| sum.wrapping_mul(31).wrapping_add(*n))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.test.there.fetch_sub(1, SeqCst);
    }
}

impl Test {
    pub(crate) fn new(slow: Option<Receiver<()>>) -> Arc<Test> {
        let mut tests = TESTS.lock().unwrap();
        let test = Arc::new(Test { number: tests.len(), slow: slow.map(Mutex::new), ..Test::default() });
        tests.push(Arc::downgrade(&test));
        test
    }
}

/// By their numbers, which are in files.
static TESTS: Mutex<Vec<Weak<Test>>> = Mutex::new(Vec::new());

impl Stored for Part {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let test = &self.test;
        test.writes.fetch_add(1, SeqCst);
        if let Some(slow) = &test.slow {
            slow.lock().unwrap().recv().unwrap();
        }
        test.number.write(to)?;
        assert!(!one_of(&test.panic_writes), "{PLANNED}write");
        if one_of(&test.fail_writes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.numbers.write(to)
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        let number = usize::read(from)?;
        let test = TESTS.lock().unwrap()[number].upgrade().unwrap();
        assert!(!one_of(&test.panic_reads), "{PLANNED}read");
        if one_of(&test.fail_reads) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Part::new(&test, Vec::read(from)?))
    }

    fn bytes(&self) -> usize {
        self.numbers.len() * 8
    }
}

fn kind(error: &NodeError) -> io::ErrorKind {
    let Cause::Error(error) = error.cause() else { panic!("{error}") };
    error.downcast_ref::<StoreError>().unwrap().kind()
}

/// In each runtime with a folder, which is empty in the end, as is memory.
#[track_caller]
pub(crate) fn each_test(body: impl Fn(&Arc<Test>, &Folder) + Send + Sync) {
    each_runtime(|| {
        let (test, folder) = (Test::new(None), Folder::new());
        body(&test, &folder);
        // (What runs on may drop the last reference to a value after its end was told.)
        while Arc::strong_count(&test) > 1 || folder.files() > 0 {
            myriad::yield_now();
        }
        assert_eq!(test.there.load(SeqCst), 0);
    });
}

const LENGTH: usize = 512;
const BYTES: usize = LENGTH * 8;

pub(crate) fn part(budget: &Budget, test: &Arc<Test>, n: u64) -> Spillable<Part> {
    let test = test.clone();
    budget.spawn(move || Part::new(&test, vec![n; LENGTH]), ())
}

/// 64 times the budget: what is in memory is the budget, and what bodies hold.
#[test]
fn much_more_than_the_budget() {
    for workers in [1, 2] {
        each(&[workers], |rt| {
            rt.run(|| {
                let (test, folder) = (Test::new(None), Folder::new());
                let parts = 512;
                let budget = Budget::in_folder(parts * BYTES / 64, &folder.0);
                let mut level: Vec<_> = (0..parts as u64).map(|n| part(&budget, &test, n)).collect();
                while level.len() > 1 {
                    let add = |a: &Part, b: &Part| {
                        let numbers = a.numbers.iter().zip(&b.numbers).map(|(a, b)| a + b);
                        Part::new(&a.test, numbers.collect())
                    };
                    level = level.chunks(2).map(|pair| budget.spawn(add, (&pair[0], &pair[1]))).collect();
                }
                let total = level.remove(0).join().unwrap();
                assert_eq!(total.numbers, [511 * 512 / 2; LENGTH]);
                let stats = budget.stats();
                // Two that are lent and one that was made; and of one node that fetches.
                let held = (workers + 1) * 3 * BYTES;
                assert!(stats.most_memory <= parts * BYTES / 64 + held, "{stats:?}");
                assert!(stats.spilled >= (parts * BYTES - parts * BYTES / 64 - held) as u64, "{stats:?}");
                assert_eq!((stats.failed_writes, stats.last_failure), (0, None));
                drop((total, budget));
                while Arc::strong_count(&test) > 1 || folder.files() > 0 {
                    myriad::yield_now();
                }
            });
        });
    }
}

/// Random graphs, lent and moved, in the budget and not: as a serial run, whatever the budget.
#[test]
fn random_graphs_equal_a_serial_run() {
    each_test(|test, folder| {
        for seed in 0..12 {
            let mut rng = Rng(seed);
            let mut below = |n: usize| rng.below(n as u64) as usize;
            let budget = Budget::in_folder(below(5) * BYTES, &folder.0);
            let mut there: Vec<(u64, Spillable<Part>)> = Vec::new();
            let mut ends: Vec<(u64, Handle<u64>)> = Vec::new();
            for n in 0..60_u64 {
                let mut pick = |there: &Vec<_>| if there.is_empty() { None } else { Some(below(there.len())) };
                let (a, b) = (pick(&there), pick(&there));
                let test = test.clone();
                let make = move |sums: &[u64]| {
                    let all = sums.iter().fold(n, |all, sum| all.rotate_left(9) ^ sum);
                    Part::new(&test, (0..LENGTH as u64).map(|k| all.wrapping_mul(k)).collect())
                };
                let sum_of = |sums: &[u64]| make(sums).sum();
                match (a, b, below(6)) {
                    (Some(a), Some(b), 0..3) => {
                        let expected = sum_of(&[there[a].0, there[b].0]);
                        let body = move |a: &Part, b: &Part| make(&[a.sum(), b.sum()]);
                        let node = budget.spawn(body, (&there[a].1, &there[b].1));
                        there.push((expected, node));
                    }
                    (Some(a), _, 3) => {
                        let (sum, a) = there.swap_remove(a);
                        let expected = sum_of(&[sum]);
                        there.push((expected, budget.spawn(move |a: Part| make(&[a.sum()]), (a,))));
                    }
                    (Some(a), Some(b), 4) => {
                        let body = |list: Vec<&Part>, three: u64| list[0].sum() ^ list[1].sum().rotate_left(7) ^ three;
                        let expected = there[a].0 ^ there[b].0.rotate_left(7) ^ 3;
                        ends.push((expected, flow::spawn(body, (vec![&there[a].1, &there[b].1], 3_u64))));
                    }
                    (Some(a), _, 5) => assert_eq!(there[a].1.get().unwrap().sum(), there[a].0),
                    _ => there.push((sum_of(&[]), budget.spawn(move || make(&[]), ()))),
                }
            }
            for (expected, node) in ends {
                assert_eq!(node.join().unwrap(), expected);
            }
            for (expected, node) in there {
                assert_eq!(node.join().unwrap().sum(), expected);
            }
            while budget.stats().disk > 0 {
                myriad::yield_now();
            }
            let stats = budget.stats();
            assert_eq!((stats.memory, stats.failed_writes), (0, 0), "{seed}");
        }
    });
}

/// A value that a body reads stays where it is, whatever the others need; it goes after.
#[test]
fn what_is_lent_stays() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(2 * BYTES, &folder.0);
        let (go_on, (began, has_began)) = (Arc::new(Event::new()), rendezvous());
        let x = part(&budget, test, 7);
        let waits = go_on.clone();
        let reader = flow::spawn(
            move |x: &Part| {
                let serial = x.serial;
                began.send(()).unwrap();
                waits.wait();
                assert_eq!(x.numbers, [7; LENGTH]);
                x.serial == serial
            },
            (&x,),
        );
        has_began.recv().unwrap();
        let loan = x.get().unwrap();
        for n in 0..10 {
            assert_eq!(part(&budget, test, n).get().unwrap().numbers, [n; LENGTH]);
        }
        let others: Vec<_> = (0..10).map(|n| part(&budget, test, n)).collect();
        others.iter().for_each(|part| drop(part.get().unwrap()));
        assert_eq!((loan.serial, loan.sum()), (0, Part::new(test, vec![7; LENGTH]).sum()));
        drop(loan);
        go_on.set();
        assert!(reader.join().unwrap());
        // Not lent any more, it is the oldest.
        others.iter().for_each(|part| drop(part.get().unwrap()));
        assert_ne!(x.get().unwrap().serial, 0);
        assert_eq!(x.get().unwrap().numbers, [7; LENGTH]);
    });
}

/// What nobody has used the longest goes first; what was written once is not written again.
#[test]
fn the_least_recently_used_goes_and_is_written_once() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(2 * BYTES, &folder.0);
        let parts: Vec<_> = (0..3).map(|n| part(&budget, test, n)).collect();
        parts.iter().for_each(|part| drop(part.get().unwrap()));
        for round in 0..5 {
            parts.iter().for_each(|part| drop(part.get().unwrap()));
            let stats = budget.stats();
            assert!(test.writes.load(SeqCst) <= 3 && stats.memory <= 2 * BYTES, "{round}: {stats:?}");
        }
        let stats = budget.stats();
        assert_eq!((test.writes.load(SeqCst), stats.memory), (3, 2 * BYTES));
        assert_eq!(stats.disk, stats.spilled);
        assert!(stats.read >= 5 * (stats.spilled / 3), "{stats:?}");
        // The two that were read last are in memory.
        let read = budget.stats().read;
        drop((parts[1].get().unwrap(), parts[2].get().unwrap()));
        assert_eq!(budget.stats().read, read);
        drop(parts[0].get().unwrap());
        assert!(budget.stats().read > read);
    });
}

/// A value in a file is read back, then moved, and counts no more.
#[test]
fn moved_values() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(0, &folder.0);
        let x = part(&budget, test, 5);
        let reader = flow::spawn(|x: &Part| x.sum(), (&x,));
        let mover = flow::spawn(|mut x: Part| std::mem::take(&mut x.numbers), (x,));
        assert_eq!(mover.join().unwrap(), [5; LENGTH]);
        reader.join().unwrap();
        let list: Vec<_> = (0..5).map(|n| part(&budget, test, n)).collect();
        let lists = flow::spawn(|all: Vec<Part>| all.iter().map(|part| part.numbers[0]).collect::<Vec<_>>(), (list,));
        assert_eq!(lists.join().unwrap(), [0, 1, 2, 3, 4]);
        let joined = part(&budget, test, 6);
        assert_eq!(joined.join().unwrap().numbers, [6; LENGTH]);
        let awaited = part(&budget, test, 8);
        assert_eq!(myriad::block_on(async { awaited.await.unwrap().numbers[0] }), 8);
        let elsewhere = part(&budget, test, 9);
        let (first, all) = thread::scope(|s| {
            let reads = move || {
                let first = elsewhere.get().unwrap().numbers[0];
                (first, elsewhere.join().unwrap().numbers.clone())
            };
            s.spawn(reads).join().unwrap()
        });
        assert_eq!((first, all), (9, vec![9; LENGTH]));
        let stats = budget.stats();
        assert_eq!(stats.memory, 0);
    });
}

/// Nothing can be written: all stays in memory, all is right, and it is told.
#[test]
fn a_full_disk() {
    each_test(|test, folder| {
        test.fail_writes.store(usize::MAX, SeqCst);
        let budget = Budget::in_folder(BYTES, &folder.0);
        let parts: Vec<_> = (0..20).map(|n| part(&budget, test, n)).collect();
        let sums: Vec<_> = parts.iter().map(|part| flow::spawn(|part: &Part| part.numbers[9], (part,))).collect();
        assert_eq!(flow::all(sums).join().unwrap(), Vec::from_iter(0..20));
        let stats = budget.stats();
        assert_eq!((stats.memory, stats.disk, stats.spilled, stats.read), (20 * BYTES, 0, 0, 0));
        assert_eq!(stats.last_failure, Some(io::ErrorKind::StorageFull));
        // Each that needs room tries one more, before its body and after, and gives up.
        assert!((10..=40).contains(&stats.failed_writes), "{stats:?}");
        assert_eq!(fs::read_dir(fs::read_dir(&folder.0).unwrap().next().unwrap().unwrap().path()).unwrap().count(), 0);
        // There is room again; and a panic is a failure, too.
        test.fail_writes.store(0, SeqCst);
        test.panic_writes.store(1, SeqCst);
        (0..3).for_each(|n| drop(part(&budget, test, n).get().unwrap()));
        let stats = budget.stats();
        assert_eq!(stats.last_failure, Some(io::ErrorKind::Other));
        assert!(stats.memory <= BYTES, "{stats:?}");
        for (n, part) in parts.into_iter().enumerate() {
            assert_eq!(part.join().unwrap().numbers, [n as u64; LENGTH]);
        }
        // No folder can be made there.
        let nowhere = Budget::in_folder(0, "/dev/null/nowhere");
        assert_eq!(nowhere.spawn(|| vec![1_u8; 9], ()).join().unwrap(), [1; 9]);
        assert_eq!(nowhere.stats().failed_writes, 1);
    });
}

/// Who needs a value that cannot be read fails, and says so; others do not.
#[test]
fn what_cannot_be_read_back() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(0, &folder.0);
        let test_ = test.clone();
        let x = flow::named("x").spawn_in(&budget, move || Part::new(&test_, vec![3; LENGTH]), ());
        while !x.is_done() {
            myriad::yield_now();
        }
        let read = |name: &str| flow::named(name).spawn(|x: &Part| x.numbers[0], (&x,));
        test.fail_reads.store(2, SeqCst);
        let error = read("reader").join().unwrap_err();
        assert_eq!(kind(&error), io::ErrorKind::Unsupported);
        assert!(
            error
                .to_string()
                .starts_with("the node 'reader' failed: cannot read back the value of 'x', which was spilled ("),
            "{error}"
        );
        assert!(error.to_string().ends_with("; give the budget more memory, or another folder"), "{error}");
        assert_eq!(kind(&x.get().err().unwrap()), io::ErrorKind::Unsupported);
        test.panic_reads.store(1, SeqCst);
        assert!(matches!(read("reader").join().unwrap_err().cause(), Cause::Panicked(_)));
        // It is there again.
        assert_eq!(read("reader").join().unwrap(), 3);
        let after = flow::named("after").spawn(|n: &u64| *n, (&read("reader"),));
        assert_eq!(after.join().unwrap(), 3);
        // A file that is gone; the one who has moved it has the error, too.
        let spilled = fs::read_dir(&folder.0).unwrap().next().unwrap().unwrap().path();
        fs::read_dir(spilled).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
        assert_eq!(kind(&read("reader").join().unwrap_err()), io::ErrorKind::NotFound);
        let moved = flow::named("moves").spawn(|x: Part| x.sum(), (x,));
        let error = flow::named("after").spawn(|n: &u64| *n, (&moved,)).join().unwrap_err();
        assert_eq!(
            (error.path(), kind(&error)),
            (vec!["moves".to_owned(), "after".to_owned()], io::ErrorKind::NotFound)
        );
    });
}

/// Bodies that fail, panic, are cancelled, or take long; nodes that wait for their turn.
#[test]
fn ends_of_nodes() {
    each_test(|test, folder| {
        for round in 0..30 {
            let budget = Budget::in_folder(BYTES, &folder.0);
            let parts: Vec<_> = (0..8).map(|n| part(&budget, test, n)).collect();
            let bad: Vec<Spillable<Part>> = (0..8)
                .map(|n| {
                    let body = move |a: &Part, b: &Part| match n % 4 {
                        0 => Err("planned"),
                        1 => panic!("{PLANNED}a body"),
                        2 => Ok(Part::new(&a.test, b.numbers.clone())),
                        _ => {
                            myriad::time::sleep(Duration::from_secs(3600));
                            unreachable!("it was cancelled")
                        }
                    };
                    let node = flow::Options::new().try_spawn_in(&budget, body, (&parts[n], &parts[(n + 1) % 8]));
                    if n % 4 == 3 {
                        (0..round).for_each(|_| myriad::yield_now());
                        node.cancel();
                    }
                    node
                })
                .collect();
            if round % 3 == 0 {
                parts[round % 8].cancel();
                bad[2].cancel();
            }
            if round % 5 == 0 {
                drop(budget);
            }
            if round % 2 == 0 {
                drop(parts);
            }
            for (n, node) in bad.into_iter().enumerate() {
                match node.join() {
                    Ok(part) => assert_eq!((n % 4, part.numbers[0]), (2, (n as u64 + 1) % 8)),
                    Err(error) => assert!(n % 4 != 2 || round % 3 == 0, "{error}"),
                }
            }
        }
    });
}

/// A body that holds values may make nodes of the same budget, and wait for these.
#[test]
fn nodes_within_nodes() {
    each_test(|test, folder| {
        let budget = Budget::in_folder(BYTES, &folder.0);
        let parts: Vec<_> = (0..6).map(|n| part(&budget, test, n)).collect();
        let outer: Vec<_> = parts
            .iter()
            .map(|part| {
                let budget = budget.clone();
                let body = move |outer: &Part| {
                    let test = outer.test.clone();
                    let n = outer.numbers[0];
                    let inner = budget.spawn(move || Part::new(&test, vec![n + 1; LENGTH]), ());
                    let more = budget
                        .spawn(|inner: &Part| Part::new(&inner.test, vec![inner.numbers[0] + 1; LENGTH]), (&inner,));
                    more.join().unwrap().numbers[0] + inner.get().unwrap().numbers[0]
                };
                flow::spawn(body, (part,))
            })
            .collect();
        assert_eq!(flow::all(outer).join().unwrap(), [3, 5, 7, 9, 11, 13]);
    });
}

/// While a file is slow, nodes of the budget wait without a task, and all other nodes run.
#[test]
fn a_slow_disk_holds_up_nobody_else() {
    each_runtime(|| {
        let (go_on, waits) = mpsc::channel();
        let (test, folder) = (Test::new(Some(waits)), Folder::new());
        let budget = Budget::in_folder(0, &folder.0);
        let begun = Arc::new(AtomicUsize::new(0));
        let parts: Vec<_> = (0..300_u64)
            .map(|n| {
                let (test, begun) = (test.clone(), begun.clone());
                let body = move || {
                    begun.fetch_add(1, SeqCst);
                    Part::new(&test, vec![n; 8])
                };
                budget.spawn(body, ())
            })
            .collect();
        while test.writes.load(SeqCst) == 0 {
            myriad::yield_now();
        }
        for n in 0..100 {
            assert_eq!(flow::spawn(|n: u32| n + 1, (n,)).join().unwrap(), n + 1);
        }
        // One for each worker, and one more that another has let in before.
        assert!(begun.load(SeqCst) <= 3, "{}", begun.load(SeqCst));
        parts[7].cancel();
        for _ in 0..1000 {
            go_on.send(()).unwrap();
        }
        for (n, part) in parts.into_iter().enumerate() {
            match part.join() {
                Ok(part) => assert_eq!(part.numbers, [n as u64; 8]),
                Err(error) => assert!(n == 7, "{error}"),
            }
        }
        while Arc::strong_count(&test) > 1 {
            myriad::yield_now();
        }
    });
}

/// Retries lend the value again; a checkpoint's value is spilled as any other.
#[test]
fn with_other_options() {
    each_test(|test, folder| {
        let saved = Folder::new();
        let budget = Budget::in_folder(0, &folder.0);
        let x = part(&budget, test, 4);
        let calls = Arc::new(AtomicUsize::new(0));
        let counts = calls.clone();
        let third = flow::Options::new().retries(2).try_spawn_in(
            &budget,
            move |x: &Part, add: u64| {
                let n = counts.fetch_add(1, SeqCst);
                if n < 2 { Err("planned") } else { Ok(vec![x.numbers[0] + add]) }
            },
            (&x, Value(3_u64)),
        );
        assert_eq!((third.join().unwrap(), calls.load(SeqCst)), (vec![7], 3));
        let checkpoints = Checkpoints::new(&saved.0);
        let node = || {
            let counts = calls.clone();
            let options = flow::Options::new().checkpoint(&checkpoints, "key");
            let body = move || {
                counts.fetch_add(1, SeqCst);
                vec![5_u8; 1000]
            };
            options.spawn_in(&budget, body, ())
        };
        let (one, other) = (node(), node());
        assert!(flow::spawn(|a: &Vec<u8>, b: &Vec<u8>| a == b, (&one, &other)).join().unwrap());
        assert_eq!(calls.load(SeqCst), 4);
        let late = flow::Options::new().time_limit_in_all(Duration::from_millis(5)).spawn_in(
            &budget,
            || {
                myriad::time::sleep(Duration::from_secs(3600));
                1
            },
            (),
        );
        assert!(matches!(late.join().unwrap_err().cause(), Cause::TimedOut(_)));
    });
}
