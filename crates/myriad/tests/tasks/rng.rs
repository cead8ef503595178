//! Random numbers: below a seed they depend on nothing but the program.

use crate::common::{MODES, case, in_both_modes, quiet, watch};
use myriad::channel::bounded;
use myriad::rng::{Generator, seed};
use myriad::task::Builder;
use myriad::{join, rng, scope, spawn, spawn_async, yield_now};

fn take(n: usize) -> Vec<u64> {
    (0..n).map(|_| rng().next_u64()).collect()
}

/// A tree of tasks of all kinds. Now and then, as the schedule would, a task lets others go first;
/// `shake` says when, and draws from elsewhere.
fn tree(depth: u32, shake: u64) -> u64 {
    let pause = |n: u64| {
        if (shake.wrapping_mul(n + u64::from(depth) + 3) >> 7).is_multiple_of(3) {
            yield_now();
        }
    };
    let first = rng().next_u64();
    if depth == 0 {
        return first;
    }
    let shake = shake.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(u64::from(depth));
    let a = spawn(move || tree(depth - 1, shake));
    pause(1);
    let b = spawn_async(async move {
        let before = rng().next_u64();
        if shake.is_multiple_of(2) {
            myriad::time::sleep_async(std::time::Duration::from_nanos(10)).await;
        }
        before ^ tree(depth - 1, shake + 1).rotate_left(3) ^ rng().next_u64()
    });
    pause(2);
    let (c, d) = join(
        || {
            pause(3);
            rng().next_u64()
        },
        || tree(depth - 1, shake + 2),
    );
    let mut e = [0; 3];
    scope(|s| {
        for e in &mut e {
            s.spawn(move || *e = tree(depth - 1, shake + 3));
        }
    });
    pause(4);
    let all = [first, a.join().unwrap(), b.join().unwrap(), c, d, e[0], e[1], e[2], rng().next_u64()];
    all.into_iter().enumerate().fold(0, |sum, (i, x)| sum ^ x.rotate_left(i as u32 * 7))
}

#[test]
fn the_schedule_does_not_matter() {
    quiet();
    let mut answers = Vec::new();
    for mode in MODES {
        for workers in [1, 2, 4] {
            for shake in 0..5 {
                case(
                    mode,
                    workers,
                    |b| b,
                    |rt| {
                        let by_call = rt.run(|| {
                            seed(42);
                            tree(4, shake)
                        });
                        answers.push(by_call);
                        answers
                            .push(rt.run(|| Builder::new().rng_seed(42).spawn(move || tree(4, shake)).join().unwrap()));
                    },
                );
            }
        }
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:x?}");
    // Another seed, another answer.
    case(
        crate::common::Mode::Threads,
        2,
        |b| b,
        |rt| {
            let other = rt.run(|| {
                seed(43);
                tree(4, 0)
            });
            assert_ne!(other, answers[0]);
        },
    );
}

/// Points in a quarter of a disc.
fn monte_carlo(tasks: u64, points: u64) -> u64 {
    fn part(tasks: u64, points: u64) -> u64 {
        if tasks == 1 {
            return (0..points).filter(|_| rng().f64().hypot(rng().f64()) < 1.0).count() as u64;
        }
        let (a, b) = join(|| part(tasks / 2, points), || part(tasks - tasks / 2, points));
        a + b
    }
    part(tasks, points)
}

#[test]
fn a_parallel_monte_carlo_sum() {
    let mut answers = Vec::new();
    for mode in MODES {
        for workers in [1, 2, 4] {
            case(
                mode,
                workers,
                |b| b,
                |rt| {
                    answers.push(rt.run(|| {
                        seed(7);
                        monte_carlo(100, 1_000)
                    }));
                },
            );
        }
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:?}");
    let pi = 4.0 * answers[0] as f64 / 100_000.0;
    assert!((3.12..3.16).contains(&pi), "{pi}");
}

#[test]
fn a_spawn_does_not_disturb_the_spawner() {
    in_both_modes(|rt| {
        rt.run(|| {
            seed(1);
            let alone = take(10);
            seed(1);
            let mut with_children = Vec::new();
            for _ in 0..10 {
                spawn(|| rng().next_u64()).join().unwrap();
                _ = join(|| (), || rng().next_u64());
                drop(spawn_async(async { rng().next_u64() }));
                with_children.extend(take(1));
            }
            assert_eq!(alone, with_children);
            // As the generator itself does, fork by fork.
            let mut by_hand = Generator::from_seed(9);
            seed(9);
            assert_eq!(rng().next_u64(), by_hand.next_u64());
            let mut child = by_hand.fork();
            assert_eq!(spawn(|| take(3)).join().unwrap(), [(); 3].map(|()| child.next_u64()));
            assert_eq!(rng().fork(), by_hand.fork());
            assert_eq!(rng().next_u64(), by_hand.next_u64());
        });
    });
}

#[test]
fn siblings_differ_and_so_do_their_children() {
    in_both_modes(|rt| {
        rt.run(|| {
            seed(0);
            let mut seen = std::collections::HashSet::new();
            let tasks: Vec<_> = (0..300)
                .map(|_| {
                    spawn(|| {
                        let (a, b) = join(|| rng().next_u64(), || rng().next_u64());
                        let c = spawn(|| rng().next_u64()).join().unwrap();
                        [a, b, c, rng().next_u64()]
                    })
                })
                .collect();
            tasks.into_iter().flat_map(|t| t.join().unwrap()).for_each(|x| assert!(seen.insert(x)));
            assert_eq!(seen.len(), 1200);
        });
    });
}

#[test]
fn a_seed_stays_with_its_task() {
    in_both_modes(|rt| {
        rt.run(|| {
            // Nothing of the kind here: a child's seed is its own, on whatever stack it runs.
            let (a, b) = (spawn(|| (seed(5), take(2)).1).join().unwrap(), take(2));
            let (_, c) = join(|| (), || (seed(5), take(2)).1);
            assert_eq!(a, c);
            assert_ne!(a, b);
            assert_ne!(take(2), take(2));
            assert_ne!(spawn(|| take(1)).join().unwrap(), spawn(|| take(1)).join().unwrap());
            // A child that seeds itself does not change what its siblings draw.
            seed(6);
            let plain = (spawn(|| take(1)).join().unwrap(), spawn(|| take(1)).join().unwrap());
            seed(6);
            let first = spawn(|| (take(1), seed(1), spawn(|| ()).join().unwrap()).0).join().unwrap();
            assert_eq!((first, spawn(|| take(1)).join().unwrap()), plain);
        });
    });
}

#[test]
fn a_future_keeps_its_stream_over_workers() {
    in_both_modes(|rt| {
        let expected = {
            let mut g = Generator::from_seed(11).fork();
            [(); 50].map(|()| g.next_u64())
        };
        rt.run(|| {
            seed(11);
            let (tx, rx) = bounded::<()>(1);
            let future = spawn_async(async move {
                let mut all = Vec::new();
                while rx.recv_async().await.is_ok() {
                    all.push(rng().next_u64());
                }
                all
            });
            // Woken from here and from others.
            for _ in 0..25 {
                tx.send(()).unwrap();
                let tx = tx.clone();
                spawn(move || tx.send(()).unwrap()).join().unwrap();
            }
            drop(tx);
            assert_eq!(future.join().unwrap(), expected);
        });
    });
}

#[test]
fn recursion_over_many_stacks() {
    fn down(depth: u32) -> u64 {
        let frame = std::hint::black_box([depth as u8; 256]);
        let here = rng().next_u64();
        if depth == 0 {
            return here ^ u64::from(frame[7]);
        }
        let (a, b) = join(|| down(depth - 1), || rng().next_u64());
        a.rotate_left(1) ^ b ^ here ^ rng().next_u64()
    }
    let mut answers = Vec::new();
    quiet();
    for mode in MODES {
        for (workers, stack) in [(1, 128 << 10), (2, 128 << 10), (2, 1 << 20)] {
            case(
                mode,
                workers,
                |b| b.stack_size(stack),
                |rt| {
                    answers.push(rt.run(|| {
                        seed(3);
                        down(1500)
                    }));
                    // With a reference to a task-local in use, which other stacks must not see.
                    myriad::task_local! { static HELD: std::cell::Cell<u8> = std::cell::Cell::new(0); }
                    answers.push(rt.run(|| {
                        seed(3);
                        HELD.with(|_| down(1500))
                    }));
                },
            );
        }
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:x?}");
}

#[test]
fn foreign_threads_seed_what_they_start() {
    in_both_modes(|rt| {
        let draw = || {
            seed(8);
            let own = take(2);
            (own, rt.run(|| take(2)), rt.spawn(|| take(2)).join().unwrap(), take(2))
        };
        let twice = (draw(), draw());
        assert_eq!(twice.0, twice.1);
        assert_ne!(twice.0.1, twice.0.2);
    });
    // A thread that was never seeded.
    let _watch = watch("foreign threads");
    let two = [(); 2].map(|()| std::thread::spawn(|| take(2)).join().unwrap());
    assert_ne!(two[0], two[1]);
}

#[test]
fn all_methods_draw_from_the_tasks_stream() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut g = Generator::from_seed(2);
            seed(2);
            let mut bytes = ([0; 11], [0; 11]);
            let mut cards: (Vec<_>, Vec<_>) = ((0..52).collect(), (0..52).collect());
            assert_eq!(rng().f64(), g.f64());
            assert_eq!(rng().range(-5..5_i32), g.range(-5..5_i32));
            rng().fill(&mut bytes.0);
            g.fill(&mut bytes.1);
            assert_eq!(bytes.0, bytes.1);
            rng().shuffle(&mut cards.0);
            g.shuffle(&mut cards.1);
            assert_eq!(cards.0, cards.1);
            assert!(cards.0 != (0..52).collect::<Vec<_>>());
        });
    });
}

#[test]
fn blocking_calls_draw_as_their_caller() {
    use myriad::{block_on, blocking, blocking_async};
    in_both_modes(|rt| {
        rt.run(|| {
            let mut g = Generator::from_seed(4);
            seed(4);
            assert_eq!(blocking(|| rng().next_u64()), g.next_u64());
            myriad::task_local! { static HELD: u8 = 0; }
            assert_eq!(HELD.with(|_| blocking(|| rng().next_u64())), g.next_u64());
            let mut child = g.fork();
            assert_eq!(block_on(blocking_async(|| rng().next_u64())), child.next_u64());
            assert_eq!(rng().next_u64(), g.next_u64());
        });
    });
}
