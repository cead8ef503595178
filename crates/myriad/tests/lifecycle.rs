//! Runtimes that come and go leave nothing behind. Each test in a process of its own: it counts threads, files, memory.
#![cfg(target_os = "linux")]

mod common;

use common::{MODES, Mode, assert_ok, in_child, wait_until};
use myriad::channel::bounded;
use myriad::{scope, spawn, spawn_async};
use std::time::Duration;

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

fn start_use_and_stop(mode: Mode, workers: usize) {
    let rt = mode.runtime(workers);
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
    let report = rt.shutdown(common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_thousand_starts_and_stops() {
    let output = in_child(&[], || {
        for mode in MODES {
            let rounds = |n: usize| (0..n).for_each(|i| start_use_and_stop(mode, 1 + i % 3));
            rounds(60);
            let look = || {
                // The harness, this test, the watchdog.
                wait_until(|| threads() <= 3);
                (entries("/proc/self/fd"), mappings(), memory())
            };
            let mut seen = vec![look()];
            // What leaks, leaks in each batch. What is made once, and late, as a spare worker on a busy machine, does not.
            loop {
                rounds(440);
                let (before, after) = (*seen.last().unwrap(), look());
                seen.push(after);
                if after.0 == before.0 && after.1 <= before.1 + 10 && after.2 <= before.2 + 1024 {
                    break;
                }
                assert!(seen.len() < 6, "files, mappings, memory: {seen:?}");
            }
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
            // Either worker may come to have all 333 stacks of the closures that block at a time, of some three pages each:
            // 4 MB that the first batches need not have seen. A leak of the smallest record, 64 bytes, is 19 MB.
            assert!(after <= before + (9 << 10), "{mode}: {before} kB, then {after} kB");
            assert!(rt.shutdown(common::PATIENCE).is_clean());
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
            assert!(rt.shutdown(common::PATIENCE).is_clean());
        }
    });
    assert_ok(&output);
}
