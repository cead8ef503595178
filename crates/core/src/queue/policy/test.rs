//! The queues without workers: their orders, that each task is taken once, and that a joiner finds
//! its own.

use super::claim_list::ClaimList;
use super::heap::{Heap, HeapEntry};
use super::multiqueue::MultiQueue;
use super::round_robin::RoundRobin;
use super::shared::SharedQueue;
use super::*;
use crate::queue::records::{Random, TestRecord, pointer, records, runnable, taken};
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::collections::{HashSet, VecDeque};
use std::ptr::null_mut;
use std::sync::atomic::AtomicUsize as Count;

fn put(queues: &dyn PolicyQueues, worker: usize, task: &TestRecord, arrival: Arrival) -> Option<usize> {
    queues.put(Some(worker), runnable(task), arrival)
}

/// Which of the records this is.
fn index(all: &[TestRecord], task: Option<Runnable>) -> Option<usize> {
    task.map(|task| all.iter().position(|record| pointer(record) == task.address()).expect("one of ours"))
}

#[test]
fn a_shelf_against_a_list() {
    let all = records(40);
    let (mut claim_list, mut list, mut random) = (ClaimList::new(3), VecDeque::new(), Random(7));
    for _ in 0..20_000 {
        let task = &all[random.below(all.len())];
        let here = list.iter().position(|&other| other == pointer(task));
        assert_eq!(claim_list.find(task).is_some(), here.is_some());
        match (random.below(3), here) {
            (0, _) => assert_eq!(taken(claim_list.take_oldest()), list.pop_front().unwrap_or(null_mut())),
            (1, Some(here)) => {
                let at = claim_list.find(task).unwrap();
                assert_eq!((taken(claim_list.take(at)), list.remove(here)), (pointer(task), Some(pointer(task))));
            }
            (_, None) => {
                let oldest = random.below(4) == 0;
                claim_list.put(runnable(task), oldest, true);
                if oldest { list.push_front(pointer(task)) } else { list.push_back(pointer(task)) }
            }
            _ => {}
        }
        assert_eq!(claim_list.len(), list.len());
        let ends = [claim_list.oldest(), claim_list.newest()]
            .map(|at| at.and_then(|at| claim_list.task(at)).map(|task| std::ptr::from_ref(task).cast_mut()));
        assert_eq!(ends, [list.front().copied(), list.back().copied()]);
    }
}

#[test]
fn a_heap_against_a_sorted_list() {
    let all = records(300);
    let (mut claim_list, mut heap, mut sorted, mut random) =
        (ClaimList::new(0), Heap::default(), Vec::new(), Random(9));
    for number in 0..30_000 {
        if !sorted.is_empty() && (sorted.len() == all.len() || random.below(2) == 0) {
            // The first, or any.
            let which = if random.below(2) == 0 { 0 } else { random.below(sorted.len()) };
            let entry: HeapEntry = sorted.remove(which);
            assert_eq!(heap.first().is_some_and(|first| *first == entry), which == 0);
            let place = claim_list.note(entry.at) as usize;
            assert_eq!(heap.remove(&mut claim_list, place), entry);
            assert!(claim_list.take(entry.at).is_some());
        } else {
            let task = all.iter().find(|task| claim_list.find(task).is_none()).unwrap();
            let at = claim_list.put(runnable(task), false, true);
            let entry = HeapEntry { rank: random.below(20) as u64, number, at };
            heap.push(&mut claim_list, entry);
            sorted.insert(sorted.partition_point(|other| *other < entry), entry);
        }
    }
}

/// One worker runs a tree of tasks: which order do they begin in, and how many are queued at a
/// time?
fn run_tree(queues: &dyn PolicyQueues, depth: usize, fan_out: usize) -> (Vec<usize>, usize) {
    let total = (0..=depth).map(|level| fan_out.pow(level as u32)).sum();
    let all = records(total);
    let mut depths = vec![0; total];
    let (mut order, mut spawned, mut most) = (Vec::new(), 1, 0);
    queues.put(None, runnable(&all[0]), Arrival::Outside);
    while let Some(task) = index(&all, queues.take(0, None)) {
        order.push(task);
        if depths[task] < depth {
            for _ in 0..fan_out {
                depths[spawned] = depths[task] + 1;
                put(queues, 0, &all[spawned], Arrival::Spawned(pointer(&all[task])));
                spawned += 1;
            }
        }
        most = most.max(spawned - order.len());
    }
    assert_eq!((spawned, order.len()), (total, total));
    (order, most)
}

#[test]
fn depth_first_begins_few_and_the_shared_queue_begins_a_level() {
    for (depth, fan_out) in [(3, 10), (10, 2), (600, 1), (5, 6)] {
        let (_, most) = run_tree(&MultiQueue::new(1), depth, fan_out);
        assert!(most <= depth * (fan_out - 1) + 1, "{most} at a time in a tree {depth} deep, {fan_out} wide");
    }
    let (order, most) = run_tree(&SharedQueue::new(), 3, 10);
    assert_eq!((order.is_sorted(), most), (true, 1_000));
}

/// The order is that of the serial program, whatever the shape: each task after its parent and its
/// earlier siblings' subtrees.
#[test]
fn depth_first_on_one_worker_is_the_serial_order() {
    let queues = MultiQueue::new(1);
    let all = records(2_000);
    let mut random = Random(5);
    let mut path = vec![Vec::new(); all.len()];
    let (mut order, mut spawned) = (Vec::new(), 1);
    put(&queues, 0, &all[0], Arrival::Spawned(null_mut()));
    while let Some(task) = index(&all, queues.take(0, None)) {
        order.push(path[task].clone());
        let children = if path[task].len() < 9 { random.below(5) } else { 0 };
        for child in 0..children.max(usize::from(task == 0) * 3).min(all.len() - spawned) {
            path[spawned] = path[task].clone();
            path[spawned].push(child);
            put(&queues, 0, &all[spawned], Arrival::Spawned(pointer(&all[task])));
            spawned += 1;
        }
    }
    assert!(order.len() > 100, "the seed makes a small tree");
    assert!(order.is_sorted());
}

/// Woken futures come before what is fresh, and what lets all go first behind it; looks turn that
/// round, so that nothing starves.
#[test]
fn depth_first_parts() {
    let queues = MultiQueue::new(1);
    let all = records(8);
    let arrivals = [Arrival::Last, Arrival::Outside, Arrival::Woken, Arrival::Outside, Arrival::Woken, Arrival::Next];
    let fill = || arrivals.iter().zip(&all).for_each(|(&arrival, task)| _ = put(&queues, 0, task, arrival));
    let drain = |look| {
        let first = index(&all, queues.take(0, look));
        std::iter::once(first).chain(std::iter::repeat_with(|| index(&all, queues.take(0, None)))).map_while(|i| i)
    };
    for (look, expected) in [
        (None, [5, 2, 4, 1, 3, 0]),
        (Some(2), [1, 5, 2, 4, 3, 0]),
        (Some(3), [0, 5, 2, 4, 1, 3]),
        (Some(1024), [1, 5, 2, 4, 3, 0]),
    ] {
        fill();
        assert!(!queues.is_empty());
        assert_eq!(drain(look).collect::<Vec<_>>(), expected, "{look:?}");
        assert!(queues.is_empty());
    }
    // The oldest of all, though its rank is the worst; once it has waited from one such look to the
    // next.
    put(&queues, 0, &all[0], Arrival::Outside);
    put(&queues, 0, &all[1], Arrival::Outside);
    assert_eq!(index(&all, queues.take(0, None)), Some(0));
    put(&queues, 0, &all[2], Arrival::Spawned(pointer(&all[0])));
    put(&queues, 0, &all[3], Arrival::Spawned(pointer(&all[0])));
    put(&queues, 0, &all[4], Arrival::Spawned(pointer(&all[0])));
    assert_eq!(index(&all, queues.take(0, Some(1024))), Some(2));
    assert_eq!(index(&all, queues.take(0, Some(1026))), Some(3));
    assert_eq!(index(&all, queues.take(0, Some(2048))), Some(1));
    assert_eq!(index(&all, queues.take(0, None)), Some(4));
}

/// New tasks are dealt evenly, whoever spawns them; what is woken stays where it is woken.
#[test]
fn round_robin_deals_evenly() {
    let queues = RoundRobin::new(3);
    let all = records(30);
    let dealt: Vec<_> = all[..9].iter().map(|task| put(&queues, 1, task, Arrival::Outside).unwrap()).collect();
    assert_eq!(dealt, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(put(&queues, 1, &all[9], Arrival::Woken), Some(1));
    assert_eq!(put(&queues, 1, &all[10], Arrival::Last), Some(1));
    // From a spare, and from outside.
    assert_eq!(put(&queues, 7, &all[11], Arrival::Woken), Some(0));
    assert_eq!(queues.put(None, runnable(&all[12]), Arrival::Woken), Some(1));
    assert_eq!(put(&queues, 2, &all[13], Arrival::Next), Some(2));
    let taken = |worker| index(&all, queues.take(worker, None));
    // Its own in their order, then the oldest of the next one.
    assert_eq!([(); 6].map(|()| taken(1)), [Some(1), Some(4), Some(7), Some(9), Some(10), Some(12)]);
    assert_eq!([(); 4].map(|()| taken(1)), [Some(13), Some(2), Some(5), Some(8)]);
    assert_eq!([(); 5].map(|()| taken(1)), [Some(0), Some(3), Some(6), Some(11), None]);
    assert!(queues.is_empty());
}

/// Any task can be claimed as long as it is queued, and only then; a scope's end finds its newest,
/// or first.
#[test]
fn claims() {
    for policy in Policy::ALL {
        let Some(queues) = policy.queues(2) else { continue };
        let all = records(100);
        assert!(queues.claim(&all[0]).is_none(), "{policy}: it was never here");
        all.iter().enumerate().for_each(|(i, task)| _ = put(&*queues, i % 2, task, Arrival::Outside));
        for task in all.iter().skip(1).step_by(3) {
            assert!(queues.claim(task).is_some() && queues.claim(task).is_none(), "{policy}");
        }
        let ours: HashSet<_> = all.iter().map(pointer).collect();
        assert!(queues.take_ours(0, &|_| false).is_none());
        let found = taken(queues.take_ours(1, &|task| ours.contains(&std::ptr::from_ref(task).cast_mut())));
        let mut left: HashSet<_> = std::iter::from_fn(|| queues.take(0, None)).map(Runnable::into_raw).collect();
        assert_eq!(left.len(), 66, "{policy}");
        assert!(left.insert(found) && left.iter().all(|task| ours.contains(task)), "{policy}");
        assert!(all.iter().all(|task| queues.claim(task).is_none()) && queues.is_empty(), "{policy}");
    }
}

/// Threads put, take and claim at a time: each task is had once.
#[test]
fn each_is_taken_once() {
    for policy in Policy::ALL {
        let Some(queues) = policy.queues(2) else { continue };
        let (queues, taken, theirs) = (&*queues, Count::new(0), [(); 3].map(|()| records(64)));
        std::thread::scope(|scope| {
            for (worker, all) in theirs.iter().enumerate() {
                let taken = &taken;
                scope.spawn(move || {
                    let mut random = Random(worker as u64 + 1);
                    for _ in 0..200 {
                        // Taken ones of others are not put again: who took one marks it.
                        for task in all {
                            if task.flags().swap(1, Relaxed) != 1 {
                                put(queues, worker, task, Arrival::Spawned(null_mut()));
                            }
                        }
                        for _ in 0..64 {
                            let claimed = &all[random.below(all.len())];
                            if random.below(2) == 0 && queues.claim(claimed).is_some() {
                                assert_eq!(claimed.flags().swap(2, Relaxed), 1);
                                taken.fetch_add(1, Relaxed);
                            }
                            let task = queues.take(worker, (random.below(8) == 0).then_some(random.below(2048) as u32));
                            if let Some(task) = task {
                                assert_eq!(task.header().flags().swap(2, Relaxed), 1);
                                taken.fetch_add(1, Relaxed);
                            }
                        }
                    }
                });
            }
        });
        while queues.take(0, None).is_some() {
            taken.fetch_add(1, Relaxed);
        }
        assert!(taken.load(Relaxed) >= 3 * 64 && queues.is_empty());
    }
}

#[test]
fn names() {
    for policy in Policy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    let error = "fifo".parse::<Policy>().unwrap_err().to_string();
    assert_eq!(error, "there is no policy `fifo`; there are: work-stealing, depth-first, shared-queue, round-robin");
}
