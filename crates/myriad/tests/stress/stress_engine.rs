//! Random trees of tasks of every kind, with sums that are known beforehand; both modes, any number
//! of workers.
//!
//! ```text
//!  MYRIAD_STRESS_SECONDS=60   as long (2 by default)
//!  MYRIAD_STRESS_SEED=123     the trees of a run that has failed; the seed of each run is printed
//! ```

use crate::common::{MODES, Rng, locked, plan, watch};
use myriad::channel::{bounded, unbounded};
use myriad::{JoinHandle, Runtime, Unhandled, block_on, join, scope, spawn, spawn_async, yield_now};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// What a node does with its children.
const KINDS: u64 = 16;
/// What a task brings that panics.
const PANICKED: u64 = 1_000_003;

/// What each node decides, before anything runs: so the sum does not depend on the schedule.
struct Node {
    kind: u64,
    own: u64,
    children: Vec<Rng>,
    /// For this and that.
    dice: Rng,
}

fn node(mut rng: Rng, depth: u32) -> Node {
    let kind = rng.below(KINDS);
    let n = if depth == 0 { 0 } else { 1 + rng.below(4) };
    Node { kind, own: rng.below(1000), children: (0..n).map(|_| rng.fork()).collect(), dice: rng.fork() }
}

/// The sum of a tree, without tasks.
fn expected(rng: Rng, depth: u32) -> u64 {
    let node = node(rng, depth);
    let children: u64 = node.children.into_iter().map(|child| expected(child, depth.saturating_sub(1))).sum();
    node.own + children + if node.kind == 12 { PANICKED } else { 0 }
}

/// The same sum, with tasks.
fn run(rng: Rng, depth: u32) -> u64 {
    let Node { kind, own, mut children, mut dice } = node(rng, depth);
    let down = depth.saturating_sub(1);
    let child = move |rng: Rng| move || run(rng, down);
    let sum = |handles: Vec<JoinHandle<u64>>| handles.into_iter().map(|h| h.join().unwrap()).sum::<u64>();
    own + match kind {
        // Spawned, and joined in order.
        0 | 1 => sum(children.into_iter().map(|c| spawn(child(c))).collect()),
        // In another order, with closures that do not fit into a record.
        2 => {
            let mut handles: Vec<_> = children
                .into_iter()
                .map(|c| {
                    let padding = [1u8; 600];
                    spawn(move || run(c, down) + u64::from(black_box(padding)[7]) - 1)
                })
                .collect();
            let n = handles.len().max(1);
            handles.rotate_left(dice.below(n as u64) as usize);
            sum(handles)
        }
        3 => {
            let total = AtomicU64::new(0);
            scope(|s| {
                for c in children {
                    let total = &total;
                    s.spawn(move || total.fetch_add(run(c, down), Relaxed));
                }
            });
            total.into_inner()
        }
        4 => {
            let last = children.pop();
            let (a, b) =
                join(|| children.into_iter().map(|c| run(c, down)).sum::<u64>(), || last.map_or(0, |c| run(c, down)));
            a + b
        }
        5 => sum(children.into_iter().map(|c| spawn_async(run_async(c, down))).collect()),
        6 => block_on(async move {
            let handles: Vec<_> = children.into_iter().map(|c| spawn_async(run_async(c, down))).collect();
            let mut sum = 0;
            for h in handles {
                sum += h.await.unwrap();
            }
            sum
        }),
        7 => {
            (0..dice.below(5)).for_each(|_| yield_now());
            sum(children.into_iter().map(|c| spawn(child(c))).collect())
        }
        8 => {
            myriad::time::sleep(Duration::from_micros(dice.below(100)));
            children.into_iter().map(|c| run(c, down)).sum()
        }
        // Each child sends its sum.
        9 | 10 => {
            let (tx, rx) = bounded(dice.below(3) as usize);
            for c in children {
                let tx = tx.clone();
                if dice.below(2) == 0 {
                    drop(spawn(move || tx.send(run(c, down)).unwrap()));
                } else {
                    drop(spawn_async(async move { tx.send_async(run_async(c, down).await).await.unwrap() }));
                }
            }
            drop(tx);
            rx.iter().sum()
        }
        // The handles are joined by somebody else.
        11 => {
            let handles: Vec<_> = children.into_iter().map(|c| spawn(child(c))).collect();
            (0..dice.below(3)).for_each(|_| yield_now());
            spawn(move || sum(handles)).join().unwrap()
        }
        12 => {
            let handles: Vec<_> = children.into_iter().map(|c| spawn(child(c))).collect();
            let wait = dice.below(2) == 0;
            let panics = spawn(move || {
                if wait {
                    yield_now();
                }
                plan("a branch of the tree")
            });
            assert!(panics.join().is_err_and(|e| e.is_panic()));
            drop(spawn(|| plan("a branch that nobody joins")));
            sum(handles) + PANICKED
        }
        // A scope in which children meet in pairs.
        13 => {
            let (tx, rx) = bounded::<u64>(0);
            let total = AtomicU64::new(0);
            scope(|s| {
                for c in children {
                    let (tx, rx, total) = (&tx, &rx, &total);
                    s.spawn(move || tx.send(run(c, down)).unwrap());
                    s.spawn(move || total.fetch_add(rx.recv().unwrap(), Relaxed));
                }
            });
            total.into_inner()
        }
        // A join of a task under way on the one side and a wait on the other.
        14 => {
            let (tx, rx) = unbounded();
            let (a, b) = join(
                || rx.iter().sum::<u64>(),
                || {
                    let (mut ours, mut even) = (0, false);
                    for c in children {
                        even = !even;
                        if even { tx.send(run(c, down)).unwrap() } else { ours += run(c, down) }
                    }
                    drop(tx);
                    ours
                },
            );
            a + b
        }
        _ => {
            let named = myriad::task::Builder::new().name("named");
            named.spawn(move || children.into_iter().map(|c| spawn(child(c)).join().unwrap()).sum()).join().unwrap()
        }
    }
}

/// The same tree again: by a future, as long as its nodes are.
fn run_async(rng: Rng, depth: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        let Node { kind, own, children, mut dice } = node(rng.clone(), depth);
        let down = depth.saturating_sub(1);
        if kind == 12 || dice.below(3) == 0 {
            // Blocks in its poll.
            return run(rng, depth);
        }
        if dice.below(4) == 0 {
            myriad::time::sleep_async(Duration::from_micros(dice.below(50))).await;
        }
        let handles: Vec<_> = children.into_iter().map(|c| spawn_async(run_async(c, down))).collect();
        let mut sum = own;
        for h in handles {
            sum += h.await.unwrap();
        }
        sum
    })
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_trees() {
    crate::common::quiet();
    let seconds = number("MYRIAD_STRESS_SECONDS").unwrap_or(2);
    let seed = number("MYRIAD_STRESS_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64 & 0xffff_ffff
    });
    eprintln!("MYRIAD_STRESS_SEED={seed}");
    let mut rng = Rng(seed);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut trees = 0;
    while Instant::now() < until {
        for mode in MODES {
            let workers = 1 + rng.below(4) as usize;
            let _watch = watch(&format!("{mode}, {workers} workers, MYRIAD_STRESS_SEED={seed}, tree {trees}"));
            if mode == crate::common::Mode::Fibers && !crate::common::fibers_supported() {
                continue;
            }
            let rt = mode.builder().workers(workers).on_unhandled_panic(Unhandled::Ignore).build().unwrap();
            for _ in 0..5 {
                trees += 1;
                two_trees(&rt, &mut rng);
            }
            let report = rt.shutdown(crate::common::PATIENCE);
            assert!(report.is_clean(), "{report}");
        }
    }
    eprintln!("{trees} pairs of trees");
}

/// One from here, one from another thread, at the same time.
fn two_trees(rt: &Runtime, rng: &mut Rng) {
    let depth = 3 + rng.below(3) as u32;
    let (a, b) = (rng.fork(), rng.fork());
    let (want_a, want_b) = (expected(a.clone(), depth), expected(b.clone(), depth));
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        s.spawn(|| {
            let got = rt.run(|| run(b, depth));
            if got != want_b {
                locked(&failed).push((got, want_b));
            }
        });
        let got = rt.spawn(move || run(a, depth)).join().unwrap();
        if got != want_a {
            locked(&failed).push((got, want_a));
        }
    });
    assert!(locked(&failed).is_empty(), "(got, expected): {:?}", locked(&failed));
}
