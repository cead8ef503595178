//! Numbers at the edge, what they are told, and many things at a time.

use crate::common::{catch, each, in_both_modes};
use crate::job_engine::until;
use myriad::jobs::{Edit, Event, Job, JobError, Local, Queue, Refused, State, Waiting};
use myriad::sync::Event as Signal;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// All are cancelled at once: no end of one of them starts another.
#[test]
fn cancelling_all_starts_none() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (q, ran) = (Local::new().cpus(1).start(), Arc::new(AtomicUsize::new(0)));
            let (go, begun) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
            let (waits, begins) = (go.clone(), begun.clone());
            let first = q.submit(Job::new(move || (begins.set(), waits.wait()))).unwrap();
            begun.wait();
            let rest: Vec<_> = (0..10_0000)
                .map(|_| {
                    let ran = ran.clone();
                    q.submit(Job::new(move || _ = ran.fetch_add(1, Relaxed))).unwrap()
                })
                .collect();
            let after = q.submit(Job::new(|| ()).after(&rest[0])).unwrap();
            q.cancel_all();
            q.wait_all();
            assert!(rest.into_iter().all(|job| matches!(job.join(), Err(JobError::Cancelled(_)))));
            assert_eq!((after.wait(), ran.load(Relaxed)), (State::Cancelled, 0));
            assert_eq!(first.wait(), State::Cancelled);
        });
    });
}

/// What a listener causes is told after it: ten thousand ends are no ten thousand frames.
#[test]
fn a_listener_that_cancels_is_told_of_that_afterwards() {
    each(&[1], |rt| {
        rt.run(|| {
            let queue = Arc::new(OnceLock::<Queue>::new());
            let (told, depth) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
            let (in_listener, counts) = (queue.clone(), told.clone());
            let q = Local::new()
                .on_event(move |event| {
                    let Event::Ended { id, .. } = event else { return };
                    assert_eq!(depth.fetch_add(1, Relaxed), 0, "one at a time");
                    counts.fetch_add(1, Relaxed);
                    _ = in_listener.get().unwrap().cancel(myriad::jobs::JobId::from_u64(id.as_u64() + 1));
                    depth.fetch_sub(1, Relaxed);
                })
                .start();
            queue.set(q.clone()).unwrap();
            let all: Vec<_> = (0..10_000).map(|_| q.submit(Job::new(|| ()).held()).unwrap()).collect();
            all[0].cancel();
            q.wait_all();
            assert_eq!(told.load(Relaxed), 10_000);
        });
    });
}

/// A start time beyond all clocks hides nothing: the end of the runtime is heard of.
#[test]
fn a_time_that_never_comes_ends_with_the_runtime() {
    crate::common::each_owned(|_, rt| {
        let (never, held) = rt.run(|| {
            let q = Local::new().start();
            let never = q.submit(Job::new(|| ()).delay(Duration::MAX)).unwrap();
            let held = q.submit(Job::new(|| ()).held()).unwrap();
            (never, held)
        });
        _ = rt.shutdown(Duration::ZERO);
        assert!(matches!(never.join(), Err(JobError::RuntimeEnded(_))));
        assert!(matches!(held.join(), Err(JobError::RuntimeEnded(_))));
    });
}

/// Amounts that are none are refused with what was given; a queue in which nothing could run is not
/// made.
#[test]
fn amounts_that_are_none() {
    let q = Local::new().resource("gpu", 2).resource("gpu", 1).group("g", 3).group("g", 1).start();
    let gpu = q.submit(Job::new(|| ()).resource("gpu", -1)).unwrap_err();
    assert_eq!(gpu, Refused::NoAmount("gpu".into(), "-1".into()));
    assert!(gpu.to_string().starts_with("-1 is no amount of gpu: say"), "{gpu}");
    let memory = q.submit(Job::new(|| ()).memory("2,5 GB")).unwrap_err();
    assert!(memory.to_string().starts_with("\"2,5 GB\" is no amount of memory"), "{memory}");
    assert!(matches!(q.submit(Job::new(|| ()).cpus(f64::NAN)), Err(Refused::NoAmount(..))));
    // The last one said of a name counts.
    assert!(matches!(q.submit(Job::new(|| ()).resource("gpu", 2)), Err(Refused::Infeasible { .. })));
    // These have another unit than other resources.
    let all = q.memory().1;
    assert!(matches!(q.submit(Job::new(|| ()).resource("memory", all as f64 * 2.0)), Err(Refused::Infeasible { .. })));
    let least = q.submit(Job::new(|| ()).cpus(1e-9).held()).unwrap();
    least.release().unwrap();
    least.join().unwrap();
    for (what, make) in [
        ("no amount of processors", (|| Local::new().cpus(f64::INFINITY)) as fn() -> Local),
        ("no amount of processors", || Local::new().cpus(-1)),
        ("no amount of gpu", || Local::new().resource("gpu", f64::NAN)),
        ("Local::memory", || Local::new().resource("memory", 2)),
        ("a limit of at least 1", || Local::new().group("z", 0)),
        ("a group has a name", || Local::new().group("", 1)),
        ("at least one job", || Local::new().at_once(0)),
    ] {
        let payload = catch(make);
        let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        assert!(text.unwrap().contains(what), "{what}: {text:?}");
    }
}

/// Memory without a limit is added up without an overflow.
#[test]
fn memory_that_is_all_there_can_be() {
    let q = Local::new().cpus(4).memory(u64::MAX).start();
    let hold = Arc::new(Signal::new());
    let waits = hold.clone();
    let one = q.submit(Job::new(move || waits.wait()).memory(1)).unwrap();
    let all = q.submit(Job::new(|| ()).memory(u64::MAX)).unwrap();
    let two = q.submit(Job::new(|| ()).memory(2)).unwrap();
    hold.set();
    one.join().unwrap();
    all.join().unwrap();
    two.join().unwrap();
}

/// An attempt counts also of a job without a name.
#[test]
fn attempts_of_jobs_without_names() {
    let q = Local::new().start();
    let fails = q.submit(Job::fallible(|| Err::<(), _>("no"))).unwrap();
    fails.wait();
    assert_eq!(q.job(&fails).unwrap().attempts, 1);
}

/// A job that is submitted again is as it was changed.
#[test]
fn what_was_changed_is_kept() {
    let q = Local::new().cpus(3).memory(1 << 20).start();
    let job = q.submit(Job::again(|| Ok::<_, &str>(7)).priority(1).held()).unwrap();
    q.edit(&job, Edit::new().priority(7).cpus(2).memory(1024).wall_time(LONG).name("seven").user("ada")).unwrap();
    q.release(&job).unwrap();
    job.wait();
    let again = q.submit(job.into_job().unwrap().held()).unwrap();
    let info = q.job(&again).unwrap();
    assert_eq!((info.priority, info.cpus, info.memory, info.wall_time), (7, 2.0, 1024, Some(LONG)));
    assert_eq!((info.name.as_deref(), info.user.as_deref()), (Some("seven"), Some("ada")));
    let echo = q.submit(Job::command(["true"]).held()).unwrap();
    q.edit(&echo, Edit::new().priority(8)).unwrap();
    q.release(&echo).unwrap();
    echo.wait();
    let echo = q.submit(echo.into_job().unwrap().held()).unwrap();
    assert_eq!(q.job(&echo).unwrap().priority, 8);
    echo.cancel();
    q.set_cpus(1);
    q.release(&again).unwrap();
    assert!(matches!(q.why(&again).unwrap(), Some(Waiting::Infeasible { .. })));
    q.set_cpus(3);
    assert_eq!(again.join(), Ok(7));
}

/// Texts with several lines are one line where a line is promised.
#[test]
fn a_line_is_one_line() {
    let q = Local::new().keep_unnamed().start();
    let job = q.submit(Job::fallible(|| Err::<(), _>("first\n  second\r\n")).name("two\nlines")).unwrap();
    let id = job.id();
    assert_eq!(job.join().unwrap_err().to_string(), format!("job {id} failed: first second"));
    assert_eq!((q.table().lines().count(), q.gantt(10).lines().count()), (2, 1));
    assert!(q.gantt(usize::MAX).lines().count() == 1, "as many columns as it has");
    q.submit(Job::new(|| ()).name("\u{FFFE}\u{FFFF}")).unwrap().join().unwrap();
    assert!(!q.gantt_svg().contains(['\u{FFFE}', '\u{FFFF}']), "XML has no such characters");
}

/// The history forgets by age also where nothing happens.
#[test]
fn an_idle_history_grows_old() {
    let q = Local::new().history(100, Duration::from_millis(20)).start();
    q.submit(Job::new(|| ()).name("old")).unwrap().join().unwrap();
    until(|| q.jobs().is_empty());
}

/// Of an array of which all elements run nothing waits; one whose partner was cancelled is skipped.
#[test]
fn arrays_that_have_begun_or_never_will() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let (go, begun) = (Arc::new(Signal::new()), Arc::new(AtomicUsize::new(0)));
            let (waits, counts) = (go.clone(), begun.clone());
            let body = move |_| {
                counts.fetch_add(1, Relaxed);
                waits.wait();
            };
            let array = q.submit(Job::array(2, body)).unwrap();
            until(|| begun.load(Relaxed) == 2);
            assert_eq!(q.why(&array), Ok(None));
            go.set();
            array.join().unwrap();
            let leader = q.submit(Job::array(3, |_| ()).held()).unwrap();
            let follower = q.submit(Job::array(3, |_| ()).after_each(&leader)).unwrap();
            leader.cancel();
            assert_eq!(follower.wait(), State::Skipped(leader.id()));
        });
    });
}

/// A table of many jobs that wait for one looks at each of them once.
#[test]
fn a_table_of_many_that_wait_for_one() {
    let q = Local::new().start();
    let first = q.submit(Job::new(|| ()).held()).unwrap();
    let jobs = 20_000;
    (0..jobs).for_each(|_| drop(q.submit(Job::new(|| ()).after(&first)).unwrap()));
    let table = q.table();
    assert_eq!(table.lines().count(), jobs + 2);
    assert_eq!(table.matches("until job 1 is done").count(), jobs);
    q.cancel_all();
}
