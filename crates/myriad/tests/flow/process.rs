//! Networks of processes: what they do.

use crate::common::{each, wait_until};
use crate::each_runtime;
use myriad::channel::{bounded, unbounded};
use myriad::flow::process::*;
use myriad::sync::Event;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(50);

/// How many there are, and how many there were at most.
#[derive(Default)]
struct Count {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One that is counted as long as it lives.
struct Item(usize, Arc<Count>);

impl Item {
    fn new(number: usize, count: &Arc<Count>) -> Item {
        let now = count.now.fetch_add(1, SeqCst) + 1;
        count.most.fetch_max(now, SeqCst);
        Item(number, count.clone())
    }
}

impl Clone for Item {
    fn clone(&self) -> Item {
        Item::new(self.0, &self.1)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.1.now.fetch_sub(1, SeqCst);
    }
}

/// A sink, and what has come there.
fn collected<T: Send + 'static>(net: &mut NetworkBuilder, name: &str) -> (In<T>, Arc<Mutex<Vec<T>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let inside = all.clone();
    (net.sink(name, move |message| inside.lock().unwrap().push(message)), all)
}

#[test]
fn each_start_is_a_run_of_its_own() {
    each_runtime(|| {
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..100);
        let (number, square) = net.flat_map("square", |n: u64| (n & 1 == 0).then_some(n * n));
        let (sum, sums) = net.process(
            "sum",
            || 0,
            |p| {
                let sums = p.output("sums");
                p.on_transition(move |sum, transition, out| {
                    if transition == Transition::InputsEnded {
                        out.give(sums, *sum);
                    }
                });
                (p.input("each", |sum, n: u64, _| *sum += n), sums)
            },
        );
        let (total, totals) = collected(&mut net, "total");
        net.connect(numbers, number).connect(square, sum).connect(sums, total);
        let net = net.build().unwrap();
        // Two at the same time, and another one.
        let runs = [net.start(), net.start_paused()];
        runs[1].resume();
        for run in runs.into_iter().chain([net.start()]) {
            let ended = run.join();
            assert!(ended.is_complete(), "{ended:?}");
            let counts: Vec<_> = ended.processes.iter().map(|end| (&*end.name, end.steps, end.given)).collect();
            // (A source asks once more, and hears that there is nothing.)
            assert_eq!(counts, [("numbers", 101, 100), ("square", 100, 50), ("sum", 50, 1), ("total", 1, 0)]);
        }
        assert_eq!(*totals.lock().unwrap(), [161_700; 3]);
    });
}

/// Source of a million, a slow sink: what is under way is what the buffers hold, and what is in
/// hand.
#[test]
fn memory_is_bounded_from_end_to_end() {
    each_runtime(|| {
        let (count, slow) = (Arc::new(Count::default()), Arc::new(AtomicUsize::new(0)));
        let mut net = Network::builder();
        let made = count.clone();
        let items = net.source("items", move || {
            let count = made.clone();
            (0..1_000_000).map(move |n| Item::new(n, &count))
        });
        let (item, same) = net.flat_map("same", |item: Item| Some(item));
        let seen = slow.clone();
        let sink = net.sink("slow", move |_: Item| {
            seen.fetch_add(1, SeqCst);
            myriad::time::sleep(Duration::from_millis(1));
        });
        let fast = net.sink("fast", |_: Item| ());
        net.connect(items, item).connect_each(same, [sink, fast]);
        for (input, room) in [(item, 2), (sink, 3), (fast, 4)] {
            net.buffer(input, Buffer::Bounded(room));
        }
        let run = net.build().unwrap().start();
        wait_until(|| slow.load(SeqCst) >= 50);
        run.stop();
        let ended = run.join();
        // Each process has one in hand, and `same` a copy of it.
        let most = count.most.load(SeqCst);
        assert!(most <= (2 + 3 + 4) + 4 + 1, "{most}");
        assert_eq!(count.now.load(SeqCst), 0);
        assert!(ended.process("items").unwrap().steps < 200, "{ended:?}");
    });
}

#[test]
fn a_pause_in_the_middle_loses_nothing() {
    each_runtime(|| {
        const ALL: usize = 3000;
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..ALL);
        let (number, twice) = net.flat_map("twice", |n: usize| [n, n]);
        let (one, ones) = collected(&mut net, "one");
        let (other, others) = collected(&mut net, "other");
        net.connect(numbers, number).connect_each(twice, [one, other]).buffer(one, Buffer::Bounded(1));
        let run = net.build().unwrap().start_paused();
        let names = ["numbers", "twice", "one", "other"];
        for round in 0..300 {
            let process = run.process(names[round % 4]).unwrap();
            match round % 3 {
                0 => {
                    run.pause();
                    let first = run.ping(LONG);
                    assert!(first.iter().all(|pong| matches!(pong.activity, Activity::Paused | Activity::Ended)));
                    // Nothing is done by what is paused.
                    let next = run.ping(LONG);
                    let steps = |pongs: &[Pong]| pongs.iter().map(|pong| pong.steps).collect::<Vec<_>>();
                    assert_eq!(steps(&first), steps(&next));
                }
                1 => process.pause(),
                _ => process.resume(),
            }
            run.resume();
            myriad::yield_now();
        }
        assert!(run.join().is_complete());
        for seen in [ones, others] {
            assert!(seen.lock().unwrap().iter().copied().eq((0..ALL).flat_map(|n| [n, n])));
        }
    });
}

#[test]
fn a_ping_finds_who_is_stuck() {
    each_runtime(|| {
        let (gate, entered) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..100);
        let waits = (gate.clone(), entered.clone());
        let stuck = net.process(
            "stuck",
            || 7,
            move |p| {
                p.show(|state| format!("state {state}"));
                p.input("each", move |_, _: i32, _| {
                    waits.1.set();
                    waits.0.wait();
                })
            },
        );
        net.connect(numbers, stuck).buffer(stuck, Buffer::Bounded(4));
        let run = net.build().unwrap().start();
        entered.wait();
        let giving = run.process("numbers").unwrap();
        wait_until(|| giving.ping(LONG).activity == Activity::Giving("out".into()));
        let pong = giving.ping(LONG);
        assert!(pong.answered && pong.inputs.is_empty());
        let output = OutputState { name: "out".into(), given: 5, in_hand: 1, readers: 1 };
        assert_eq!((pong.outputs, pong.steps), (vec![output], 6));
        for pong in
            [run.process("stuck").unwrap().ping(Duration::from_millis(5)), run.ping(Duration::from_millis(5)).remove(1)]
        {
            assert!(!pong.answered && pong.state.is_none());
            assert_eq!((pong.activity, pong.steps), (Activity::InStep("each".into()), 1));
            let input = InputState { name: "each".into(), waiting: 4, capacity: 4, is_closed: false };
            assert_eq!(pong.inputs, [input]);
        }
        // A pause and a stop wait for it, too.
        run.pause();
        gate.set();
        let pong = run.process("stuck").unwrap().ping(LONG);
        assert_eq!((pong.activity, pong.state.as_deref(), pong.steps), (Activity::Paused, Some("state 7"), 1));
        run.resume();
        let ended = run.join();
        assert!(ended.is_complete() && ended.process("stuck").unwrap().steps == 100);
    });
}

#[test]
fn one_that_has_ended_or_has_nothing_to_do() {
    each_runtime(|| {
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..3);
        let each = net.sink("each", |_: i32| ());
        let idle = net.sink("idle", |_: i32| ());
        net.connect(numbers, each);
        let run = net.build().unwrap().start();
        wait_until(|| run.process("each").unwrap().ping(LONG).activity == Activity::Ended);
        let pongs = run.ping(LONG);
        let states: Vec<_> = pongs.iter().map(|pong| (pong.answered, pong.activity.clone(), pong.steps)).collect();
        assert_eq!(states, [(true, Activity::Ended, 4), (true, Activity::Ended, 3), (true, Activity::Waiting, 0)]);
        assert!(pongs[1].inputs[0].is_closed && !pongs[2].inputs[0].is_closed);
        assert!(run.process("nobody").is_none() && !run.is_finished());
        run.close(idle);
        wait_until(|| run.is_finished());
        assert!(run.join().is_complete());
    });
}

#[test]
fn messages_from_outside() {
    each_runtime(|| {
        let mut net = Network::builder();
        let (number, same) = net.flat_map("same", |n: i32| Some(n));
        let (one, ones) = collected(&mut net, "one");
        let (other, others) = collected(&mut net, "other");
        net.connect_each(same, [one, other]);
        let lonely = net.process(
            "lonely",
            || (),
            |p| {
                let lonely = p.output::<i32>("out");
                p.input("in", |(), (), _| ());
                lonely
            },
        );
        let net = net.build().unwrap();
        let run = net.start();
        run.inject(number, 0..100).unwrap();
        let tx = run.sender(number).unwrap();
        run.close(number);
        tx.send(100).unwrap();
        drop(tx);
        wait_until(|| ones.lock().unwrap().len() == 101 && others.lock().unwrap().len() == 101);
        // `same` has ended, so nobody gives to those behind it, and they have ended, too.
        let error = run.inject(number, [101]).unwrap_err();
        assert_eq!(error, InjectError::NotRead { port: "same.in".into(), given: 0 });
        wait_until(|| run.inject(same, [0]).is_err());
        assert!(run.inject(lonely, [1]).is_err() && run.sender(one).is_err());
        assert!(run.join().is_complete());

        // To an output: as if its process had given it. It goes to both.
        let run = net.start();
        run.inject(same, [7, 8]).unwrap();
        wait_until(|| ones.lock().unwrap().ends_with(&[7, 8]) && others.lock().unwrap().ends_with(&[7, 8]));
        let ended = run.join();
        assert_eq!(ended.process("same").unwrap().steps, 0);

        let mut other_net = Network::builder();
        let foreign = other_net.sink("foreign", |_: i32| ());
        let run = net.start();
        assert_eq!(run.inject(foreign, [1]), Err(InjectError::OtherNetwork));
        run.close(foreign);
    });
}

#[test]
fn two_inputs_and_two_outputs_of_different_types() {
    each_runtime(|| {
        let mut net = Network::builder();
        let texts = net.source("texts", || ["1", "x", "3"].map(str::to_owned));
        let numbers = net.source("numbers", || [10, 20]);
        let (text, number, good, bad) = net.process(
            "both",
            || 0,
            |p| {
                let (good, bad) = (p.output("good"), p.output("bad"));
                let text = p.input("text", move |_, text: String, out| match text.parse::<i32>() {
                    Ok(n) => out.give(good, n),
                    Err(_) => out.give(bad, text),
                });
                let number = p.input("number", move |count, n, out| {
                    *count += 1;
                    out.give(good, n);
                    out.report(format!("{count} numbers"));
                });
                (text, number, good, bad)
            },
        );
        let (good_in, goods) = collected(&mut net, "good");
        let (bad_in, bads) = collected(&mut net, "bad");
        net.connect(texts, text).connect(numbers, number).connect(good, good_in).connect(bad, bad_in);
        let run = net.build().unwrap().start();
        let reports: Vec<_> = run.reports().iter().map(|report| (report.process.to_string(), report.text)).collect();
        assert!(run.join().is_complete());
        goods.lock().unwrap().sort();
        assert_eq!(*goods.lock().unwrap(), [1, 3, 10, 20]);
        assert_eq!(*bads.lock().unwrap(), ["x"]);
        let expected = ["1 numbers", "2 numbers"].map(|text| ("both".to_owned(), text.to_owned()));
        assert_eq!(reports, expected);
    });
}

/// Of several inputs that have always something each has its turn.
#[test]
fn no_input_holds_up_the_others() {
    each_runtime(|| {
        let mut net = Network::builder();
        let inputs = net.process("turns", Vec::new, |p| {
            p.show(|turns: &Vec<usize>| format!("{turns:?}"));
            [0, 1, 2].map(|at| p.input(["a", "b", "c"][at], move |turns: &mut Vec<usize>, (), _| turns.push(at)))
        });
        let run = net.build().unwrap().start_paused();
        inputs.iter().for_each(|input| run.inject(*input, [(); 3]).unwrap());
        run.resume();
        wait_until(|| run.ping(LONG)[0].steps == 9);
        assert_eq!(run.ping(LONG)[0].state.as_deref(), Some("[0, 1, 2, 0, 1, 2, 0, 1, 2]"));
        assert!(run.join().is_complete());
    });
}

/// Many to one, one to many.
#[test]
fn fan_in_and_fan_out() {
    each_runtime(|| {
        let mut net = Network::builder();
        let sources =
            [0, 1, 2, 3].map(|at| net.source(["w", "x", "y", "z"][at], move || (0..250).map(move |n| n * 4 + at)));
        let (number, same) = net.flat_map("same", |n: usize| Some(n));
        sources.iter().for_each(|source| _ = net.connect(*source, number));
        let sinks = ["a", "b", "c"].map(|name| collected(&mut net, name));
        net.connect_each(same, sinks.iter().map(|(sink, _)| *sink));
        assert!(net.build().unwrap().start().join().is_complete());
        for (_, seen) in sinks {
            let mut seen = seen.lock().unwrap();
            // Those of one source are in order.
            for at in 0..4 {
                assert!(seen.iter().filter(|n| **n % 4 == at).is_sorted());
            }
            seen.sort();
            assert!(seen.iter().copied().eq(0..1000));
        }
    });
}

/// In a circle: a message goes round until it is small, and the network ends when it is stopped.
#[test]
fn a_circle() {
    each_runtime(|| {
        let (tx, rx) = unbounded();
        let mut net = Network::builder();
        let (number, less) = net.process(
            "less",
            || (),
            move |p| {
                let less = p.output("less");
                let each = p.input(
                    "each",
                    move |(), n: u32, out| if n > 0 { out.give(less, n - 1) } else { tx.send(()).unwrap() },
                );
                (each, less)
            },
        );
        net.connect(less, number);
        let run = net.build().unwrap().start();
        run.inject(less, [1000]).unwrap();
        rx.recv().unwrap();
        run.stop();
        let end = &run.join().processes[0];
        assert_eq!((end.steps, end.given, &end.why), (1001, 1000, &EndReason::Stopped));
    });
}

#[test]
fn work_of_all_kinds() {
    each_runtime(|| {
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..20_u64);
        let ends = [Workload::Mixed, Workload::Io, Workload::Compute].map(|workload| {
            net.process(
                ["mixed", "io", "compute"][workload as usize],
                || 0,
                |p| {
                    p.workload(workload);
                    p.restore_on_panic();
                    let sums = p.output("sums");
                    (
                        p.input("each", move |sum, n: u64, out| {
                            *sum += n;
                            assert!(n != 10, "planned: ten");
                            out.give(sums, *sum);
                        }),
                        sums,
                    )
                },
            )
        });
        let (all, sums) = collected(&mut net, "all");
        net.connect_each(numbers, ends.map(|(each, _)| each));
        ends.iter().for_each(|(_, out)| _ = net.connect(*out, all));
        let run = net.build().unwrap().start();
        let errors: Vec<_> = run.errors().iter().map(|error| error.outcome).collect();
        assert_eq!(errors, [Outcome::Restored; 3]);
        run.join();
        assert_eq!(sums.lock().unwrap().iter().filter(|sum| **sum == 190 - 10).count(), 3);
    });
}

#[test]
fn in_pools_and_from_threads_outside() {
    each(&[1, 2], |rt| {
        let pools = myriad::Builder::new().workers(1).pool("files", 1).build().unwrap();
        let pool = pools.handle().pool("files").unwrap();
        let (tx, rx) = unbounded();
        let mut net = Network::builder();
        let each = net.process(
            "files",
            || (),
            |p| {
                p.pool(pool);
                p.input("each", move |(), n: i32, _| {
                    tx.send((n, myriad::Handle::current().unwrap().workers())).unwrap()
                })
            },
        );
        let (number, same) = net.flat_map("same", |n: i32| Some(n));
        net.connect(same, each);
        let net = net.build().unwrap();
        // Started on the runtime, used from here.
        let run = rt.run(|| net.start());
        run.inject(number, 0..50).unwrap();
        assert!(run.ping(LONG).iter().all(|pong| pong.answered));
        assert!(run.join().is_complete());
        assert!(rx.try_iter().eq((0..50).map(|n| (n, 1))));
    });
}

#[test]
fn from_futures() {
    each(&[1, 2], |rt| {
        rt.block_on(async {
            let mut net = Network::builder();
            let (number, twice) = net.flat_map("twice", |n: i32| Some(myriad::block_on(async { n * 2 })));
            let (all, seen) = collected(&mut net, "all");
            net.connect(twice, all);
            let run = net.build().unwrap().start();
            run.inject_async(number, 0..100).await.unwrap();
            assert!(run.ping_async(LONG).await.iter().all(|pong| pong.answered));
            assert_eq!(&*run.process("all").unwrap().ping_async(LONG).await.process, "all");
            assert!(run.await.is_complete());
            assert!(seen.lock().unwrap().iter().copied().eq((0..100).map(|n| n * 2)));
        });
    });
}

/// Transitions come in order, and the last one always comes.
#[test]
fn transitions() {
    each_runtime(|| {
        use Transition::*;
        let (tx, rx) = unbounded();
        let mut net = Network::builder();
        let each = net.process(
            "each",
            || (),
            |p| {
                p.on_transition(move |(), transition, _| tx.send(transition).unwrap());
                p.input("each", |(), (), _| ())
            },
        );
        let net = net.build().unwrap();
        let run = net.start_paused();
        assert_eq!(run.ping(LONG)[0].activity, Activity::Paused);
        run.resume();
        assert_eq!(run.ping(LONG)[0].activity, Activity::Waiting);
        run.pause();
        assert_eq!(run.ping(LONG)[0].activity, Activity::Paused);
        run.stop();
        wait_until(|| run.is_finished());
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [Start, Pause, Resume, Pause, Stop]);
        let run = net.start();
        run.inject(each, [()]).unwrap();
        run.join();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [Start, InputsEnded, Stop]);
        let run = net.start();
        wait_until(|| run.ping(LONG)[0].activity == Activity::Waiting);
        run.cancel();
        // (`join` closes the input, which is an end, too.)
        wait_until(|| run.is_finished());
        assert_eq!(run.join().processes[0].why, EndReason::Cancelled);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [Start, Stop]);
    });
}

/// A buffer that drops never makes anybody wait.
#[test]
fn buffers_that_drop() {
    each_runtime(|| {
        for (buffer, expected) in [(Buffer::DropOldest(2), [8, 9]), (Buffer::DropNewest(2), [0, 1])] {
            let mut net = Network::builder();
            let (all, seen) = collected(&mut net, "all");
            net.buffer(all, buffer);
            let run = net.build().unwrap().start_paused();
            run.inject(all, 0..10).unwrap();
            run.resume();
            run.join();
            assert_eq!(*seen.lock().unwrap(), expected);
        }
    });
}

/// A log: levels are counted, in two networks at once whose processes are all shared.
#[test]
fn a_source_from_a_channel() {
    each_runtime(|| {
        let (tx, rx) = bounded(4);
        let mut net = Network::builder();
        let lines = net.source("lines", move || rx.clone());
        let counts = Arc::new(Mutex::new(BTreeMap::new()));
        let inside = counts.clone();
        let each = net.sink("count", move |line: String| *inside.lock().unwrap().entry(line).or_insert(0) += 1);
        net.connect(lines, each);
        let net = net.build().unwrap();
        let runs = [net.start(), net.start()];
        (0..100).for_each(|n| tx.send(["INFO", "WARN"][n % 2].to_owned()).unwrap());
        wait_until(|| counts.lock().unwrap().values().sum::<i32>() == 100);
        assert_eq!(
            counts.lock().unwrap().clone().into_iter().collect::<Vec<_>>(),
            [("INFO".into(), 50), ("WARN".into(), 50)]
        );
        // They wait for more, which a stop ends.
        for run in runs {
            run.stop();
            assert_eq!(run.join().process("lines").unwrap().why, EndReason::Stopped);
        }
        assert!(tx.try_send("left".into()).is_ok());
    });
}
