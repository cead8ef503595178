//! Random kills, exits, links, monitors and names on many actors at a time: nobody is forgotten,
//! told twice, or left with a name.

use crate::*;
use myriad::actor::{Builder, exit, link, register, resume, suspend, unlink, whereis_pid};

/// A small generator.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

#[test]
fn a_storm_forgets_nobody() {
    let rounds = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
    static STORM: AtomicUsize = AtomicUsize::new(0);
    in_both_modes(|rt| {
        let storm = STORM.fetch_add(1, SeqCst);
        let name = |n: usize| format!("storm-{storm}-{n}");
        rt.run(|| {
            let (state, drops) = Counted::new();
            let (told, started) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
            let start = |of: Builder, blocks: bool| {
                let state = state.clone();
                started.fetch_add(1, SeqCst);
                if blocks {
                    of.spawn(move |mut mail: Mailbox<()>| {
                        let _state = state;
                        mail.receive()
                    })
                } else {
                    of.spawn_async(async move |mut mail: Mailbox<()>| {
                        let _state = state;
                        mail.receive_async().await
                    })
                }
            };
            let shared: Vec<_> = (0..64).map(|n| start(Builder::new(), n % 2 == 0)).collect();
            let ran = |seed: u64| {
                let (mut random, mut own, mut all, mut monitors) = (Random(seed * 7919), shared.clone(), Vec::new(), 0);
                for round in 0..rounds {
                    let (a, b) = (random.next(own.len()), random.next(own.len()));
                    match random.next(10) {
                        0 => actor::kill(&own[a]),
                        1 => exit(&own[a], Reason::of("storm")),
                        2 => drop(link(&own[a], &own[b])),
                        3 => drop(unlink(&own[a], &own[b])),
                        4 => drop(register(&name(random.next(8)), &own[a])),
                        5 => own[a].cast(()),
                        6 => _ = suspend(&own[a]),
                        7 => _ = resume(&own[a]),
                        8 => {
                            monitors += 1;
                            let (told, monitor) = (told.clone(), actor::monitor(&own[a]));
                            drop(myriad::spawn_async(async move {
                                monitor.wait_async().await;
                                told.fetch_add(1, SeqCst);
                            }));
                        }
                        _ => {
                            own[a] = start(Builder::new().link(&own[b]), false);
                            all.push(own[a].pid());
                        }
                    }
                    if round % 16 == 0 {
                        myriad::yield_now();
                    }
                }
                all.extend(own.iter().map(AsPid::pid));
                (all, monitors)
            };
            let ran = &ran;
            let (pids, monitors) = myriad::scope(|s| {
                let runs: Vec<_> = (1..=4).map(|seed| s.spawn(move || ran(seed))).collect();
                let ends = runs.into_iter().map(|run| run.join().unwrap());
                ends.fold((Vec::new(), 0), |(mut pids, monitors), (more, of)| {
                    pids.extend(more);
                    (pids, monitors + of)
                })
            });
            shared.iter().for_each(actor::kill);
            pids.iter().for_each(actor::kill);
            pids.iter().for_each(|pid| drop(end_of(pid)));
            shared.iter().for_each(|actor| drop(end_of(actor)));
            assert_eq!(drops.load(SeqCst), started.load(SeqCst));
            while told.load(SeqCst) < monitors {
                myriad::yield_now();
            }
            assert_eq!(told.load(SeqCst), monitors);
            assert!((0..8).all(|n| whereis_pid(&name(n)).is_none()));
        });
    });
}
