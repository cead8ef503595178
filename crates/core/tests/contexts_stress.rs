//! Tasks with and without contexts that wait on workers that are held up, in threads mode: what
//! each finds in its task-locals and scoped values is its own, whatever worker it goes on with.
//! (The engine asserts that this worker knows of the context.)

use myriad_core::task::ScopedValue;
use myriad_core::{Builder, join, scope, spawn, task_local, time};
use std::cell::Cell;
use std::time::{Duration, Instant};

task_local! {
    static MINE: Cell<u64> = const { Cell::new(0) };
}
static USER: ScopedValue<u64> = ScopedValue::new(0);

fn rng(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *seed >> 33
}

fn node(depth: u32, mut seed: u64, user: u64) {
    let uses = rng(&mut seed).is_multiple_of(4);
    assert_eq!(MINE.try_with(|m| m.get()).unwrap(), 0, "fresh");
    assert_eq!(USER.get(), user);
    let me = 1 + rng(&mut seed);
    if uses {
        MINE.set(me);
    }
    let check = |what: &str| assert_eq!(MINE.get(), if uses { me } else { 0 }, "{what}");
    match rng(&mut seed) % 6 {
        0 => time::sleep(Duration::from_micros(rng(&mut seed) % 2000)),
        1 if rng(&mut seed).is_multiple_of(4) => std::thread::sleep(Duration::from_millis(15)),
        _ => {}
    }
    check("after a wait");
    if depth == 0 {
        return;
    }
    let (s1, s2) = (rng(&mut seed), rng(&mut seed));
    match rng(&mut seed) % 6 {
        5 => {
            // A future, which blocks in a poll, too.
            let h = myriad_core::spawn_async(async move {
                assert_eq!(MINE.get(), 0);
                MINE.set(s1);
                time::sleep_async(Duration::from_micros(s1 % 300)).await;
                assert_eq!(MINE.get(), s1);
                node_in_poll(depth, s2, user);
                assert_eq!(MINE.get(), s1);
            });
            h.join().unwrap();
        }
        0 => {
            // The first closure is the caller's task: its locals are the caller's.
            join(
                || {
                    check("in a");
                    time::sleep(Duration::from_micros(s1 % 1000));
                    check("in a, later");
                },
                || node(depth - 1, s2, user),
            );
        }
        1 => {
            let h = spawn(move || node(depth - 1, s1, user));
            let u = 1 + s2;
            let g = USER.with_value(u, || spawn(move || node(depth - 1, s2, u)));
            h.join().unwrap();
            g.join().unwrap();
        }
        2 => scope(|s| {
            s.spawn(|| node(depth - 1, s1, user));
            s.spawn(|| node(depth - 1, s2, user));
        }),
        3 => {
            let u = 1 + s1;
            USER.with_value(u, || {
                join(|| time::sleep(Duration::from_micros(s1 % 500)), || node(depth - 1, s2, u));
            });
        }
        _ => {
            join(|| (), || node(depth - 1, s2, user));
            myriad_core::blocking(|| check("on another thread"));
        }
    }
    check("at the end");
}

fn node_in_poll(depth: u32, s: u64, user: u64) {
    join(|| time::sleep(Duration::from_micros(s % 700)), || node(depth - 1, s, user));
}

#[test]
fn each_has_its_own() {
    let mut seed =
        std::env::var("MYRIAD_TEST_SEED").map_or(1, |seed| seed.parse().expect("MYRIAD_TEST_SEED must be a number"));
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        println!("MYRIAD_TEST_SEED={seed}");
        // (On small stacks a join goes on on another one.)
        for (workers, stack) in [(1, 256 << 10), (2, 256 << 10), (1, 144 << 10), (2, 144 << 10)] {
            let rt = Builder::new().stack_size(stack).workers(workers).build().unwrap();
            let tasks: Vec<_> = (0..20)
                .map(|_| {
                    let seed = rng(&mut seed);
                    rt.spawn(move || node(6, seed, 0))
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            assert!(rt.shutdown(Duration::from_secs(60)).is_clean());
        }
    }
}
