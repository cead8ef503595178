//! Prints: earliest deadline first has met all 2000 deadlines, no other policy has
//!
//! A scheduler of one's own: of the jobs that can begin, the one with the earliest deadline begins
//! first. Time is counted, not measured: a job takes so many steps of a clock that only jobs move,
//! and there is one worker. So the order alone decides who is late.

use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
use myriad::{Builder, Policy, Runtime, task};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const JOBS: usize = 2000;

/// The tasks that can begin, by deadline; of equals, which has none of its own, in any order.
#[derive(Default)]
struct EarliestDeadline(Mutex<BTreeMap<u64, Vec<ReadyTask>>>);

impl Scheduler for EarliestDeadline {
    fn enqueue(&self, task: ReadyTask, _: Cause) {
        // What has no deadline is in no hurry.
        let deadline = task.property().copied().unwrap_or(u64::MAX);
        self.0.lock().unwrap().entry(deadline).or_default().push(task);
    }
    fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
        let mut waiting = self.0.lock().unwrap();
        let mut first = waiting.first_entry()?;
        let task = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        task
    }
}

/// The jobs that have not come yet, (arrival, steps, deadline) with the last one first; the clock;
/// and of each job that has ended, whether it was late.
struct World {
    to_come: Vec<(u64, u64, u64)>,
    now: u64,
    late: Vec<bool>,
}

/// Spawns the jobs that have come; if none waits, the clock moves on to the next one.
fn arrive(shared: &Arc<Mutex<World>>) {
    let mut world = shared.lock().unwrap();
    while let Some(&(arrival, steps, deadline)) = world.to_come.last() {
        let waiting = JOBS - world.to_come.len() - world.late.len();
        if arrival > world.now && waiting > 0 {
            return;
        }
        world.now = world.now.max(arrival);
        world.to_come.pop();
        let shared = shared.clone();
        drop(task::Builder::new().property(deadline).spawn(move || {
            let mut world = shared.lock().unwrap();
            world.now += steps;
            let late = world.now > deadline;
            world.late.push(late);
            drop(world);
            arrive(&shared);
        }));
    }
}

/// How many jobs of the same list are late.
fn late(rt: Runtime) -> usize {
    let (mut generator, mut arrival) = (myriad::rng::Generator::from_seed(1), 0u64);
    let mut job = |_| {
        arrival += generator.range(0..20u64);
        let steps = generator.range(1..=18u64);
        (arrival, steps, arrival + steps + generator.range(80..880u64))
    };
    let mut to_come: Vec<_> = (0..JOBS).map(&mut job).collect();
    to_come.reverse();
    let world = Arc::new(Mutex::new(World { to_come, now: 0, late: Vec::new() }));
    let begin = world.clone();
    rt.run(move || arrive(&begin));
    assert!(rt.shutdown(std::time::Duration::from_secs(60)).is_clean());
    let world = world.lock().unwrap();
    assert!(world.to_come.is_empty() && world.late.len() == JOBS, "each job has run once");
    world.late.iter().filter(|late| **late).count()
}

fn main() {
    let alone = || Builder::new().workers(1).spare_workers(0);
    let ours = late(alone().scheduler(|_| EarliestDeadline::default()).build().unwrap());
    println!("{:>24}   late of {JOBS}\n{:>24}   {ours}", "order", "earliest deadline first");
    for policy in [Policy::WorkStealing, Policy::SharedQueue, Policy::RoundRobin, Policy::DepthFirst] {
        let late = late(alone().policy(policy).build().unwrap());
        println!("{:>24}   {late}", policy.name());
        assert!(ours == 0 && late > 0, "{ours}, {late}");
    }
    println!("earliest deadline first has met all {JOBS} deadlines, no other policy has");
}
