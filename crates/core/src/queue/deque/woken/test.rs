//! Which of the woken is next, the move of a run, and many threads, counting.

use crate::queue::deque::{BATCH, Deque, OwnDeque};
use crate::queue::records::{Random, TestRecord, futures, pointer, records, runnable, taken, task_ref, unstarted};
use crate::record::header::Header;
use crate::record::task::Runnable;
use myriad_base::sys::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use myriad_base::sys::fence::Fence;
use std::collections::VecDeque;
use std::ptr::null_mut;

fn owner(deque: &Deque) -> OwnDeque<'_> {
    // SAFETY: the calling thread is the owner, in these tests.
    unsafe { deque.owner() }
}

fn pop(deque: &Deque) -> *mut Header {
    taken(owner(deque).pop())
}

#[test]
fn of_several_the_oldest_is_next_and_one_alone_follows_at_once() {
    let (deque, woken, spawned) = (Deque::new(Fence::new(0), 2), futures(6), records(2));
    let wake = |i: usize| owner(&deque).push_woken(runnable(&woken[i]));
    owner(&deque).push(unstarted(&spawned[0]));
    (0..3).for_each(|i| _ = wake(i));
    assert_eq!(pop(&deque), pointer(&woken[0]));
    // This turn wakes one: it is next; its turn wakes none.
    wake(3);
    assert_eq!([pop(&deque), pop(&deque)], [pointer(&woken[3]), pointer(&woken[1])]);
    // Two; then what is spawned comes first, and the run goes on.
    wake(4);
    wake(5);
    owner(&deque).push(unstarted(&spawned[1]));
    assert_eq!(pop(&deque), pointer(&spawned[1]));
    assert_eq!([pop(&deque), pop(&deque), pop(&deque)], [2, 4, 5].map(|i| pointer(&woken[i])));
    assert_eq!([pop(&deque), pop(&deque)], [pointer(&spawned[0]), null_mut()]);
}

/// Tasks that always wake two more than they are: the ring stays small, and what lies below the run
/// stays.
#[test]
fn a_run_that_goes_on_for_long_needs_no_more_room() {
    let (deque, woken, spawned) = (Deque::new(Fence::new(0), 2), futures(10), records(1));
    owner(&deque).push(unstarted(&spawned[0]));
    let mut next = 0..;
    let mut wake = || _ = owner(&deque).push_woken(runnable(&woken[next.next().unwrap() % 10]));
    (0..10).for_each(|_| wake());
    for i in (0..10_000).step_by(2) {
        assert_eq!(pop(&deque), pointer(&woken[i % 10]));
        assert_eq!(pop(&deque), pointer(&woken[(i + 1) % 10]));
        wake();
        wake();
    }
    assert!(owner(&deque).capacity() <= 64, "{}", owner(&deque).capacity());
    (0..10).for_each(|i| assert_eq!(pop(&deque), pointer(&woken[i])));
    assert_eq!([pop(&deque), pop(&deque)], [pointer(&spawned[0]), null_mut()]);
}

/// Short runs, each followed by two closures that are claimed later, below others; and a future
/// that always goes back to the oldest end: so `top` never comes down to the tombstones, nor `head`
/// up.
#[test]
fn tombstones_of_short_runs_need_no_more_room() {
    let (deque, woken, spawned, yields) = (Deque::new(Fence::new(0), 2), futures(8), records(4), futures(1));
    let number = |task: *mut Header| woken.iter().position(|w| pointer(w) == task).expect("a woken future");
    let wake = |i: usize| _ = owner(&deque).push_woken(runnable(&woken[i]));
    let spawn = |i: usize| _ = owner(&deque).push(unstarted(&spawned[i]));
    owner(&deque).push_oldest(runnable(&yields[0]));
    let (mut free, mut turn) = (VecDeque::from_iter(1..8), 0);
    spawn(0);
    spawn(1);
    wake(0);
    for round in 0..2_000 {
        for pops in 1.. {
            turn += 1;
            if turn % 61 == 0 {
                assert_eq!(taken(owner(&deque).pop_oldest()), pointer(&yields[0]));
                owner(&deque).push_oldest(runnable(&yields[0]));
            }
            free.push_front(number(pop(&deque)));
            if pops < 60 && free.len() > 6 {
                (0..2).for_each(|_| wake(free.pop_back().unwrap()));
            } else if free.len() == 8 {
                break;
            }
        }
        let (old, new) = if round % 2 == 0 { (0, 2) } else { (2, 0) };
        (new..new + 2).for_each(spawn);
        (old..old + 2).for_each(|i| assert!(owner(&deque).claim(task_ref(&spawned[i])).is_some(), "{round}"));
        wake(free.pop_back().unwrap());
    }
    assert!(owner(&deque).capacity() <= 64, "{}", owner(&deque).capacity());
}

/// A closure among tombstones has another place when they are gone, and is found there.
#[test]
fn who_moves_down_is_claimed() {
    let (deque, woken, spawned) = (Deque::new(Fence::new(0), 8), futures(6), records(20));
    woken[..3].iter().for_each(|record| _ = owner(&deque).push_woken(runnable(record)));
    owner(&deque).push(unstarted(&spawned[0]));
    owner(&deque).push(unstarted(&spawned[1]));
    woken[3..].iter().for_each(|record| _ = owner(&deque).push_woken(runnable(record)));
    assert!([pop(&deque), pop(&deque)].iter().all(|task| !task.is_null()), "of eight, none is above");
    assert!(owner(&deque).claim(task_ref(&spawned[0])).is_some());
    (2..15).for_each(|i| _ = owner(&deque).push(unstarted(&spawned[i])));
    for i in (1..15).step_by(2).chain((2..15).step_by(2)) {
        assert!(owner(&deque).claim(task_ref(&spawned[i])).is_some(), "{i}");
    }
    assert_eq!(std::iter::from_fn(|| owner(&deque).pop()).count(), 4);
}

#[test]
fn each_woken_task_is_taken_once() {
    const TASKS: usize = 200_000;
    let woken = futures(TASKS);
    let closures = records(TASKS);
    let counts: Vec<AtomicU32> = (0..2 * TASKS).map(|_| AtomicU32::new(0)).collect();
    let (drained, size) = (AtomicBool::new(false), size_of::<TestRecord>());
    let (bases, deque) = ([&woken, &closures].map(|all| all.as_ptr().addr()), Deque::new(Fence::new(0), 2));
    let take = |task: Runnable| {
        let is_closure = !task.is_future();
        let number = (task.into_raw().addr() - bases[usize::from(is_closure)]) / size;
        // Relaxed: read again after the threads were joined.
        counts[number + if is_closure { TASKS } else { 0 }].fetch_add(1, Relaxed);
    };
    std::thread::scope(|s| {
        for thief in 0..2 {
            let (deque, take, drained) = (&deque, &take, &drained);
            s.spawn(move || {
                let mut room = [const { None }; BATCH];
                while !drained.load(Relaxed) {
                    deque.request();
                    let n = deque.steal(&mut room[..1 + thief * 20]);
                    room[..n].iter_mut().filter_map(Option::take).for_each(take);
                    if n == 0 {
                        deque.steal_forced().map_or_else(std::thread::yield_now, take);
                    }
                }
            });
        }
        let (mut random, owner) = (Random(1), owner(&deque));
        let shares = |asked, random: &mut Random| {
            if asked {
                deque.take_request();
                _ = if random.below(2) == 0 { owner.publish() } else { owner.publish_lone() };
            }
        };
        let (mut futures, mut unstarted_ones) = (woken.iter(), closures.iter());
        let mut left = 2 * TASKS;
        while left > 0 {
            for _ in 0..random.below(12) {
                let asked = match random.below(8) {
                    0 => unstarted_ones.next().map(|record| owner.push(unstarted(record))),
                    _ => futures.next().map(|record| owner.push_woken(runnable(record))),
                };
                let asked = asked.or_else(|| unstarted_ones.next().map(|record| owner.push(unstarted(record))));
                left -= usize::from(asked.is_some());
                shares(asked == Some(true), &mut random);
            }
            for _ in 0..random.below(12) {
                match random.below(20) {
                    0 => owner.pop_oldest().into_iter().for_each(take),
                    1 => owner.pop_between().into_iter().for_each(take),
                    _ => owner.pop().into_iter().for_each(take),
                }
            }
        }
        std::iter::from_fn(|| owner.pop()).for_each(take);
        drained.store(true, Relaxed);
    });
    assert!(!deque.is_busy());
    assert_eq!(counts.iter().position(|n| n.load(Relaxed) != 1), None, "a task taken twice, or not at all");
}
