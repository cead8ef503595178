//! Runtimes that come and go leave nothing behind. Each test in a process of its own: it counts
//! threads, files, memory.
#![cfg(target_os = "linux")]

use crate::common::{MODES, Mode, assert_ok, in_child, wait_until};
use myriad::channel::bounded;
use myriad::{Builder, scope, spawn, spawn_async};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// How many blocks of memory are in use.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's, which keeps the contract; the count touches no block.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Relaxed);
        // SAFETY: the contract is that of the system's allocator, which this calls.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Relaxed);
        // SAFETY: the contract is that of the system's allocator, which gave the block.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn entries(of: &str) -> usize {
    std::fs::read_dir(of).unwrap().count()
}

fn threads() -> usize {
    entries("/proc/self/task")
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// Kilobytes of memory.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What a process has that a runtime could leave behind.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Left {
    files: usize,
    mappings: usize,
    kilobytes: usize,
    blocks: usize,
}

fn look() -> Left {
    // The harness, this test, the watchdog.
    wait_until(|| threads() <= 3);
    let (files, mappings) = (entries("/proc/self/fd"), mappings());
    Left { files, mappings, kilobytes: memory(), blocks: BLOCKS.load(Relaxed) }
}

/// glibc keeps the stacks of 20 threads that have ended, and one arena for each thread that ever
/// allocated beside others, up to 16. So how many mappings it has follows the most threads that
/// ever were at a time, which is luck: a thread more, once, makes four.
const NO_CACHES: [(&str, &str); 1] = [("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=0:glibc.malloc.arena_max=1")];

/// Workers live for ever, and each makes some blocks when it first needs them, which may be late:
/// for each of eight classes of records a chunk and two magazines, a wheel of timers, some queues.
const ONCE: usize = 32;

fn start_use_and_stop(settings: Builder) {
    let rt = settings.build().unwrap();
    let n = rt.run(|| {
        let (tx, rx) = bounded(1);
        let sends = spawn(move || (0..5).for_each(|i| tx.send(i).unwrap()));
        let sums = spawn_async(async move {
            let mut sum = 0;
            while let Ok(i) = rx.recv_async().await {
                sum += i;
            }
            sum
        });
        sends.join().unwrap();
        myriad::time::sleep(Duration::from_micros(1));
        scope(|s| s.spawn(|| sums.join().unwrap()).join().unwrap())
    });
    assert_eq!(n, 10);
    let report = rt.shutdown(crate::common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

/// So many runtimes with 1, 2 and 3 workers by turns. A spare, which comes if the machine is busy,
/// would be one more worker.
fn rounds(mode: Mode, n: usize) {
    (0..n).for_each(|i| start_use_and_stop(mode.builder().workers(1 + i % 3).spare_workers(0)));
}

/// No file, and of the heap not one block for each runtime of even one of the three sizes.
#[test]
fn a_thousand_starts_and_stops() {
    let output = in_child(&[], || {
        for mode in MODES {
            rounds(mode, 60);
            let before = look();
            rounds(mode, 600);
            let after = look();
            assert_eq!(before.files, after.files, "{mode}: {before:?}, then {after:?}");
            const { assert!((1 + 2 + 3) * ONCE < 600 / 3) };
            assert!(after.blocks <= before.blocks + (1 + 2 + 3) * ONCE, "{mode}: {before:?}, then {after:?}");
        }
    });
    assert_ok(&output);
}

/// No mapping either; and the memory in use, of which fragments of the heap are a part, stays.
///
/// Not under a leak checker: LeakSanitizer remembers each thread that ever was, in 0.2 kB, and maps
/// memory for that.
#[test]
fn a_thousand_starts_and_stops_in_the_same_memory() {
    let output = in_child(&NO_CACHES, || {
        for mode in MODES {
            rounds(mode, 60);
            let before = look();
            rounds(mode, 200);
            let after = look();
            assert_eq!(before.mappings, after.mappings, "{mode}: {before:?}, then {after:?}");
            assert!(after.kilobytes <= before.kilobytes + 1024, "{mode}: {before:?}, then {after:?}");
            (0..5).for_each(|_| start_get_stuck_and_stop(mode));
            let before = look();
            (0..30).for_each(|_| start_get_stuck_and_stop(mode));
            let after = look();
            assert_eq!(before.mappings, after.mappings, "with a spare worker, {mode}: {before:?}, then {after:?}");
        }
    });
    assert_ok(&output);
}

/// A runtime whose one worker is stuck until a spare has come.
fn start_get_stuck_and_stop(mode: Mode) {
    let rt = mode.builder().workers(1).spare_workers(1).build().unwrap();
    rt.run(|| {
        let (tx, rx) = mpsc::channel();
        let behind = spawn(move || tx.send(7).unwrap());
        // A wait that knows nothing of tasks.
        assert_eq!(rx.recv(), Ok(7));
        behind.join().unwrap();
    });
    let report = rt.shutdown(crate::common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

/// The spare workers of a pool are made once.
#[test]
fn starts_and_stops_with_a_spare_worker() {
    let output = in_child(&[], || {
        for mode in MODES {
            (0..10).for_each(|_| start_get_stuck_and_stop(mode));
            let before = look();
            (0..100).for_each(|_| start_get_stuck_and_stop(mode));
            let after = look();
            assert_eq!(before.files, after.files, "{mode}: {before:?}, then {after:?}");
            const { assert!(2 * ONCE < 100) };
            assert!(after.blocks <= before.blocks + 2 * ONCE, "{mode}: {before:?}, then {after:?}");
        }
    });
    assert_ok(&output);
}

/// Memory of tasks is used again: after the first million there is no growth.
#[test]
fn millions_of_tasks_in_the_same_memory() {
    let output = in_child(&[], || {
        for mode in MODES {
            let rt = mode.runtime(2);
            let batch = || {
                rt.run(|| {
                    for _ in 0..20 {
                        let (tx, rx) = bounded(100);
                        let handles: Vec<_> = (0..500)
                            .map(|i| {
                                let tx = tx.clone();
                                let padding = [i as u8; 300];
                                match i % 3 {
                                    0 => spawn(move || tx.send(padding[0]).unwrap()),
                                    1 => spawn(move || {
                                        myriad::yield_now();
                                        tx.send(0).unwrap();
                                    }),
                                    _ => spawn_async(async move { tx.send_async(0).await.unwrap() }),
                                }
                            })
                            .collect();
                        drop(tx);
                        let received = rx.iter().count();
                        handles.into_iter().for_each(|h| h.join().unwrap());
                        assert_eq!(received, 500);
                    }
                });
            };
            (0..5).for_each(|_| batch());
            let before = memory();
            (0..30).for_each(|_| batch());
            let after = memory();
            // Either worker may come to have all 333 stacks of the closures that block at a time,
            // of some three pages each: 4 MB that the first batches need not have seen. A leak of
            // the smallest record, 64 bytes, is 19 MB.
            assert!(after <= before + (9 << 10), "{mode}: {before} kB, then {after} kB");
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    });
    assert_ok(&output);
}

/// An idle runtime sleeps: it uses no processor, and wakes when something comes.
#[test]
fn an_idle_runtime_sleeps() {
    let output = in_child(&[], || {
        fn ticks() -> u64 {
            let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
            let after_name = stat.rsplit(')').next().unwrap();
            let fields: Vec<_> = after_name.split_ascii_whitespace().collect();
            fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
        }
        for mode in MODES {
            let rt = mode.runtime(4);
            let (tx, rx) = bounded::<u32>(1);
            let h = rt.spawn(move || rx.recv().unwrap());
            rt.run(|| (0..100).map(|i| spawn(move || i)).for_each(|h| _ = h.join().unwrap()));
            // It takes the time of a clock to see that no time is used. 10 ms are one tick.
            std::thread::sleep(Duration::from_millis(20));
            let before = ticks();
            std::thread::sleep(Duration::from_millis(400));
            let used = ticks() - before;
            assert!(used <= 4, "{mode}: {used} ticks of 10 ms in 400 ms");
            tx.send(7).unwrap();
            assert_eq!(h.join().unwrap(), 7);
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    });
    assert_ok(&output);
}
