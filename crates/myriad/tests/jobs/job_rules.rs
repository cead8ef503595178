//! What is refused, and what is said of jobs that wait.

use crate::common::in_both_modes;
use myriad::jobs::{Edit, Job, JobId, Local, Refused, State, Waiting};
use myriad::sync::Event as Signal;
use std::sync::Arc;

/// 3: more than there is is refused, with the limit named; a capacity that shrinks later is said.
#[test]
fn r03_more_than_there_is() {
    let q = Local::new().cpus(8).memory("2 GB").resource("gpu", 2).start();
    let refused = |job: Job<()>| q.submit(job).unwrap_err().to_string();
    assert!(refused(Job::new(|| ()).cpus(16)).contains("16 cpus of cpu, and there are 8 cpus"));
    assert!(refused(Job::new(|| ()).memory("2.1 GB")).contains("2.1 GB of memory, and there are 2.0 GB"));
    assert!(refused(Job::new(|| ()).resource("gpu", 2.5)).contains("2.5 of gpu, and there are 2"));
    assert!(refused(Job::new(|| ()).resource("disk", 1)).contains("no resource disk"));
    assert!(refused(Job::new(|| ()).memory("much")).contains("much"));
    assert!(refused(Job::new(|| ()).group("net")).contains("no group net"));
    assert!(refused(Job::new(|| ()).priority(10_000)).contains("priority 10000"));
    assert!(refused(Job::array(0, |_| ())).contains("at least one element"));
    let held = q.submit(Job::new(|| ()).cpus(6).held()).unwrap();
    q.set_cpus(4);
    held.release().unwrap();
    assert!(matches!(held.why(), Some(Waiting::Infeasible { .. })), "{:?}", held.why());
    let small = q.submit(Job::new(|| 1)).unwrap();
    assert_eq!(small.join().unwrap(), 1, "it holds up nobody");
    q.set_cpus(6);
    assert_eq!(held.wait(), State::Done);
}

/// 4: a dependency on a job that is not there is refused; one that has ended is decided at once.
#[test]
fn r04_unknown_and_ended_dependencies() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let unknown = JobId::from_u64(99);
            assert_eq!(q.submit(Job::new(|| ()).after(unknown)).unwrap_err(), Refused::Unknown(unknown));
            let bad = q.submit(Job::fallible(|| Err::<(), _>("no"))).unwrap();
            assert_eq!(bad.wait(), State::Failed);
            let skipped = q.submit(Job::new(|| ()).after(&bad)).unwrap();
            assert_eq!(skipped.state(), State::Skipped(bad.id()));
            assert_eq!(q.submit(Job::new(|| 2).after_failed(&bad)).unwrap().join().unwrap(), 2);
            assert_eq!(q.submit(Job::new(|| 3).after_any(&bad)).unwrap().join().unwrap(), 3);
            let either = Job::new(|| 4).after(&bad).after_failed(&bad).any_is_enough();
            assert_eq!(q.submit(either).unwrap().join().unwrap(), 4);
        });
    });
}

/// 5: who depends on a job that failed is skipped, and who depends on that one, each told once.
#[test]
fn r05_a_chain_is_skipped() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let gate = Arc::new(Signal::new());
            let waits = gate.clone();
            let first = q
                .submit(Job::fallible(move || {
                    waits.wait();
                    Err::<(), _>("no")
                }))
                .unwrap();
            let mut chain = vec![q.submit(Job::new(|| ()).after(&first)).unwrap()];
            for _ in 0..10_000 {
                chain.push(q.submit(Job::new(|| ()).after(chain.last().unwrap())).unwrap());
            }
            gate.set();
            q.wait_all();
            assert_eq!(chain[0].wait(), State::Skipped(first.id()));
            assert_eq!(chain[10_000].wait(), State::Skipped(chain[9_999].id()));
        });
    });
}

/// 18: `why` says what the job waits for, and names who is first.
#[test]
fn r18_why() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).group("net", 1).start();
            let gate = Arc::new(Signal::new());
            let (a, b) = (gate.clone(), gate.clone());
            let holds = q.submit(Job::new(move || a.wait()).group("net")).unwrap();
            let wide = q.submit(Job::new(move || b.wait()).cpus(2)).unwrap();
            let behind = q.submit(Job::new(|| ())).unwrap();
            let grouped = q.submit(Job::new(|| ()).group("net")).unwrap();
            let text = |job: &myriad::jobs::JobHandle<()>| job.why().unwrap().to_string();
            assert_eq!(text(&wide), "first in line, wants 2 cpus of cpu, 1 cpus free, held by 1");
            assert_eq!(text(&behind), format!("behind job {}", wide.id()));
            assert_eq!(text(&grouped), "1 of group net run");
            assert_eq!(holds.why(), None);
            gate.set();
            q.wait_all();
            assert_eq!(behind.why(), None);
        });
    });
}

/// A handle is of its own queue: another one does not take the handle for a number of its own.
#[test]
fn a_handle_of_another_queue_is_refused() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (q, other) = (Local::new().start(), Local::new().start());
            let own = q.submit(Job::new(|| ()).held()).unwrap();
            let list = other.submit(Job::array(2, |_| ()).held()).unwrap();
            assert_eq!(own.id(), list.id(), "the same number");
            let refused = Err(Refused::OtherQueue(list.id()));
            assert_eq!(q.submit(Job::new(|| ()).after(&list)).map(|_| ()), refused);
            assert_eq!(q.submit(Job::array(2, |_| ()).after_each(&list)).map(|_| ()), refused);
            assert_eq!(q.cancel(&list).map(|_| ()), refused);
            assert_eq!(q.release(&list).map(|_| ()), refused);
            assert_eq!(q.hold(&list), refused);
            assert_eq!((q.edit(&list, Edit::new()), q.state(&list).map(|_| ())), (refused.clone(), refused));
            assert!(q.job(&list).is_none() && q.job(list.id()).is_some());
            assert_eq!((own.state(), list.state()), (State::Pending, State::Pending));
            own.cancel();
            list.cancel();
        });
    });
}

/// 2: with the longest step of ageing the priorities decide, as without ageing.
#[test]
fn r02_the_longest_step_of_ageing() {
    in_both_modes(|rt| {
        rt.run(|| {
            let order = Arc::new(myriad::sync::Mutex::new(Vec::new()));
            let q = Local::new().cpus(1).ageing(std::time::Duration::MAX).start();
            let gate = q.submit(Job::new(|| ()).priority(9999).held()).unwrap();
            let all: Vec<_> = [-9999, -1, 0, 1, 2, 9999]
                .into_iter()
                .map(|priority| {
                    let order = order.clone();
                    let job = Job::new(move || order.lock().unwrap().push(priority));
                    q.submit(job.priority(priority).after(&gate)).unwrap()
                })
                .collect();
            gate.release().unwrap();
            q.wait_all();
            assert!(all.iter().all(|job| job.state() == State::Done));
            assert_eq!(*order.lock().unwrap(), [9999, 2, 1, 0, -1, -9999]);
        });
    });
}
