//! What is kept for agents, and how long: actions of any size in queues, agents that something is
//! held for, values that somebody reads.

use super::*;

/// Stands at addresses of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned(usize);

/// Sends actions that have captured nothing, little, much, and what is aligned; each counts.
fn send_all(agent: &Agent<usize>, drops: &Arc<Counted>) {
    let (few, many, aligned) = ([1_u8; 3], [1_usize; 100], Aligned(1));
    agent.send(|n| *n += 1).unwrap();
    let held = drops.clone();
    agent.send(move |n| *n += usize::from(few[2]) * Arc::strong_count(&held).min(1)).unwrap();
    let held = drops.clone();
    agent.send(move |n| *n += many[99] * Arc::strong_count(&held).min(1)).unwrap();
    let held = drops.clone();
    agent
        .send(move |n| {
            assert_eq!(std::ptr::from_ref(&aligned).addr() % 64, 0);
            *n += aligned.0 * Arc::strong_count(&held).min(1);
        })
        .unwrap();
}

#[test]
fn actions_of_any_size_run_or_are_dropped() {
    common::quiet();
    each_runtime(|| {
        let (counted, _drops) = Counted::new();
        let (agent, counted) = (Agent::new(0), Arc::new(counted));
        (0..100).for_each(|_| send_all(&agent, &counted));
        agent.wait().unwrap();
        assert_eq!(agent.get(), 400);
        // Held, and sent.
        let (sender, to, captured) = (Agent::new(()), agent.clone(), counted.clone());
        sender.send(move |()| (0..100).for_each(|_| send_all(&to, &captured))).unwrap();
        sender.wait().unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 800);
        // Held, and dropped.
        let (to, captured) = (agent.clone(), counted.clone());
        let fails = move |(): &mut ()| {
            (0..100).for_each(|_| send_all(&to, &captured));
            panic!("planned: an action");
        };
        sender.send(fails).unwrap();
        assert!(sender.wait().is_err());
        // In the queue of an agent that has failed.
        let (agent, go) = held_up(0);
        agent.send(|_| panic!("planned: an action")).unwrap();
        (0..100).for_each(|_| send_all(&agent, &counted));
        go.set();
        assert!(agent.wait().is_err());
        assert_eq!((agent.queued(), Arc::strong_count(&counted)), (400, 301));
        agent.restart(0, Queued::Run).unwrap();
        agent.wait().unwrap();
        assert_eq!((agent.get(), Arc::strong_count(&counted)), (400, 1));
    });
}

#[test]
fn an_agent_stays_as_long_as_something_is_held_for_it() {
    common::quiet();
    each_runtime(|| {
        let sender = Agent::new(0);
        for fails in [false, true] {
            let (value, drops) = Counted::new();
            let (tx, rx) = unbounded();
            let seen = drops.clone();
            let sends = move |n: &mut i32| {
                let value = Arc::new(value);
                for round in 0..3 {
                    let agent = Agent::new(value.clone());
                    for _ in 0..=round {
                        let tx = tx.clone();
                        agent.send(move |value| tx.send(Arc::strong_count(value)).unwrap()).unwrap();
                    }
                }
                drop(value);
                assert_eq!(seen.load(SeqCst), 0);
                *n += 1;
                assert!(!fails, "planned: an action");
            };
            // (A `Counted` is no `Clone`, and so the action runs once.)
            sender.send(sends).unwrap();
            assert_eq!(sender.wait().is_err(), fails);
            assert_eq!(rx.into_iter().count(), if fails { 0 } else { 6 });
            until(|| drops.load(SeqCst) == 1);
        }
    });
}

#[test]
fn handles_that_many_copy_and_drop_at_once_are_all_counted() {
    each_runtime(|| {
        let (value, drops) = Counted::new();
        let (agent, left) = (Agent::new((0, Arc::new(value))), Arc::new(AtomicUsize::new(0)));
        let copies = {
            let left = left.clone();
            move |agent: &Agent<(usize, Arc<Counted>)>| {
                for _ in 0..500 {
                    let copies = [agent.clone(), agent.clone()];
                    assert!(copies[0] == copies[1]);
                    copies[1].send(|(n, _)| *n += 1).unwrap();
                }
                left.fetch_add(1, SeqCst);
            }
        };
        // On workers, which have the lock by its bias now and then, and on threads without one.
        for _ in 0..4 {
            let (agent, copies) = (agent.clone(), copies.clone());
            drop(myriad::spawn(move || copies(&agent)));
        }
        let threads = [(); 2].map(|()| {
            let (agent, copies) = (agent.clone(), copies.clone());
            std::thread::spawn(move || copies(&agent))
        });
        until(|| left.load(SeqCst) == 6);
        agent.wait().unwrap();
        assert_eq!((agent.get().0, drops.load(SeqCst)), (3_000, 0));
        drop(agent);
        until(|| drops.load(SeqCst) == 1);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn what_was_read_stays_as_it_was() {
    each_runtime(|| {
        let agent = Agent::new(vec![0]);
        let count = |n: usize| {
            (0..n).for_each(|_| agent.send(|all| all[0] += 1).unwrap());
            agent.wait().unwrap();
        };
        let first = agent.snapshot();
        let weak = Arc::downgrade(&first);
        count(300);
        let second = agent.snapshot();
        let strong = weak.upgrade();
        drop(first);
        count(300);
        assert_eq!((strong.unwrap()[0], second[0], agent.get()[0]), (0, 300, 600));
        assert!(weak.upgrade().is_none());
        // Who has a weak reference to the value of now may ask for it as long as it is that.
        let weak = Arc::downgrade(&agent.snapshot());
        assert_eq!(weak.upgrade().unwrap()[0], 600);
        count(300);
        assert!(weak.upgrade().is_none());
        assert_eq!(agent.get()[0], 900);
    });
}

/// A value of which it is known how many there are. Its copies are made by `copies`.
struct Live {
    number: usize,
    copies: Arc<dyn Fn() + Send + Sync>,
    live: Arc<AtomicUsize>,
}

impl Live {
    fn new(number: usize, copies: impl Fn() + Send + Sync + 'static) -> Live {
        let live = Arc::new(AtomicUsize::new(1));
        Live { number, copies: Arc::new(copies), live }
    }

    fn next(&self) -> Live {
        self.live.fetch_add(1, SeqCst);
        Live { number: self.number + 1, copies: self.copies.clone(), live: self.live.clone() }
    }
}

impl Clone for Live {
    fn clone(&self) -> Live {
        (self.copies)();
        let mut copy = self.next();
        copy.number = self.number;
        copy
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.live.fetch_sub(1, SeqCst);
    }
}

#[test]
fn a_value_stays_while_it_is_copied() {
    each_runtime(|| {
        let (begun, go) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (begins, goes) = (begun.clone(), go.clone());
        let value = Live::new(0, move || {
            begins.set();
            goes.wait();
        });
        let live = value.live.clone();
        let agent = Agent::new(value);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let agent = agent.clone();
                myriad::spawn(move || agent.get())
            })
            .collect();
        begun.wait();
        for _ in 0..300 {
            agent.swap(Live::next).unwrap();
        }
        agent.wait().unwrap();
        assert!(live.load(SeqCst) <= 4, "the value of now, and those of readers");
        go.set();
        readers.into_iter().for_each(|reader| assert!(reader.join().unwrap().number <= 300));
        assert_eq!(agent.get().number, 300);
        assert_eq!(live.load(SeqCst), 1);
        drop(agent);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn a_copy_that_panics_leaves_the_value() {
    common::quiet();
    each_runtime(|| {
        let value = Live::new(0, || panic!("planned: a copy"));
        let live = value.live.clone();
        let agent = Agent::new(value);
        for n in 1..=300 {
            let reader = agent.clone();
            assert!(myriad::spawn(move || reader.get()).join().is_err());
            agent.swap(Live::next).unwrap();
            agent.wait().unwrap();
            assert_eq!((agent.snapshot().number, live.load(SeqCst)), (n, 1));
        }
        // In the middle of an action, whose copy it is.
        assert!(agent.send(|_| ()).and_then(|()| agent.wait().map_err(|_| AgentError::Refused)).is_err());
        drop(agent);
        until(|| live.load(SeqCst) == 0);
    });
}

#[test]
fn who_reads_beside_a_writer_sees_whole_values() {
    each_runtime(|| {
        let value = Live::new(0, || ());
        let live = value.live.clone();
        let agent = Agent::new((value, vec![0]));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let agent = agent.clone();
                myriad::spawn(move || {
                    let mut last = 0;
                    while last < 2_000 {
                        let (value, numbers) = agent.get();
                        assert_eq!((value.number, numbers[0] >= last), (numbers[0], true));
                        last = numbers[0];
                        myriad::yield_now();
                    }
                })
            })
            .collect();
        for n in 1..=2_000 {
            agent.swap(move |(value, _)| (value.next(), vec![n])).unwrap();
            if n % 10 == 0 {
                agent.wait().unwrap();
            }
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        drop(agent);
        until(|| live.load(SeqCst) == 0);
    });
}
