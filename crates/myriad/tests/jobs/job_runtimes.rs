//! The end of the runtime: what becomes of jobs that run, wait or come later, and who hears of it.

use crate::common::{PATIENCE, each_owned, in_both_modes};
use crate::job_engine::until;
use myriad::jobs::{Job, JobError, Local, Refused, State, Waiting};
use myriad::sync::Event as Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// A runtime that has ended takes no more jobs: the first that is submitted then is cancelled at
/// once, also one that is held; it closes the queue.
#[test]
fn jobs_of_a_runtime_that_has_ended() {
    for held in [false, true] {
        each_owned(|_, rt| {
            let q = rt.run(|| Local::new().cpus(1).start());
            assert!(rt.shutdown(PATIENCE).is_clean(), "a queue without jobs has no task");
            let job = Job::new(|| ());
            let first = q.submit(if held { job.held() } else { job }).unwrap();
            assert_eq!(first.wait(), State::Cancelled);
            q.wait_all();
            assert_eq!((q.submit(Job::new(|| ())).unwrap_err(), q.cpus().0), (Refused::Closed, 0.0));
        });
    }
}

/// 8, 12: jobs that have not begun when their runtime ends never do, whatever they wait for, and
/// who waits for them on a foreign thread is told.
#[test]
fn jobs_of_a_runtime_that_ends() {
    each_owned(|_, rt| {
        let (q, held) = rt.run(|| {
            let q = Local::new().cpus(2).group("one", 1).start();
            let held = q.submit(Job::new(|| ()).held()).unwrap();
            (q, held)
        });
        let late = q.submit(Job::new(|| ()).delay(LONG)).unwrap();
        let (begun, in_job) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
        let (begins, never) = (begun.clone(), in_job.clone());
        let left = q.submit(Job::new(move || (begins.set(), never.wait())).group("one")).unwrap();
        begun.wait();
        let grouped = q.submit(Job::new(|| ()).group("one")).unwrap();
        let paused = q.submit(Job::again(|| Err::<(), _>("no")).retries(1).backoff(LONG..LONG)).unwrap();
        until(|| matches!(paused.why(), Some(Waiting::Time { .. })));
        let infeasible = q.submit(Job::new(|| ()).cpus(2).held()).unwrap();
        q.set_cpus(1);
        infeasible.release().unwrap();
        // (Many of them: none of the ends is on top of another one.)
        let behind: Vec<_> = (0..20_000).map(|_| q.submit(Job::new(|| ()).after_any(&held)).unwrap()).collect();
        let list = q.submit(Job::array(20_000, |_| ()).after_any(&held)).unwrap();
        let after = q.submit(Job::new(|| ()).after(&held)).unwrap();
        let (other, told) = (q.clone(), std::sync::mpsc::channel());
        let waits = std::thread::spawn(move || {
            told.0.send(()).unwrap();
            let state = held.wait();
            other.wait_all();
            state
        });
        told.1.recv().unwrap();
        _ = rt.shutdown(Duration::ZERO);
        assert_eq!(waits.join().unwrap(), State::Cancelled);
        assert!(matches!(left.join(), Err(JobError::RuntimeEnded(_))));
        let all = [&late, &grouped, &paused, &infeasible, &list, &after];
        all.iter().for_each(|job| assert_eq!(job.wait(), State::Cancelled, "{job:?}"));
        assert!(behind.iter().all(|job| job.wait() == State::Cancelled));
        assert_eq!((q.submit(Job::new(|| ())).unwrap_err(), q.cpus().0, q.len()), (Refused::Closed, 0.0, 0));
    });
}

/// A runtime that waits for its tasks lets jobs go on, also those that begin then; a queue without
/// jobs takes none any more.
#[test]
fn jobs_go_on_while_a_runtime_waits_for_its_tasks() {
    each_owned(|_, rt| {
        let (begun, open) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
        let (is_begun, is_open) = (begun.clone(), open.clone());
        let (q, other) = rt.run(|| (Local::new().cpus(1).start(), Local::new().cpus(1).start()));
        let blocks = Job::new(move || {
            is_begun.set();
            is_open.wait();
        });
        let first = q.submit(blocks).unwrap();
        let list = q.submit(Job::array(3, |_| ())).unwrap();
        let last = q.submit(Job::new(|| 5).after(&list)).unwrap();
        begun.wait();
        let behind = q.clone();
        let others = std::thread::spawn(move || {
            // (A queue without jobs is closed by the first that is refused: so the runtime ends.)
            while let Ok(job) = other.submit(Job::new(|| ())) {
                job.wait();
            }
            let late = behind.submit(Job::new(|| 6)).unwrap();
            open.set();
            late.join()
        });
        let report = rt.shutdown(PATIENCE);
        assert_eq!(others.join().unwrap(), Ok(6));
        assert!(report.is_clean(), "{report}");
        assert_eq!((first.wait(), list.wait(), last.join()), (State::Done, State::Done, Ok(5)));
    });
}

/// The same of jobs behind one that runs, and is left by its runtime: a foreign thread that waits
/// is told.
#[test]
fn jobs_behind_one_that_its_runtime_leaves() {
    each_owned(|_, rt| {
        let begun = Arc::new(Signal::new());
        let is_begun = begun.clone();
        let q = rt.run(move || {
            let q = Local::new().cpus(1).start();
            let blocks = Job::new(move || {
                is_begun.set();
                Signal::new().wait();
            });
            q.submit(blocks).unwrap();
            begun.wait();
            q
        });
        let waits = q.submit(Job::new(|| ())).unwrap();
        let (begin, begun) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            begin.send(()).unwrap();
            waits.wait()
        });
        begun.recv().unwrap();
        _ = rt.shutdown(Duration::ZERO);
        assert_eq!(waiter.join().unwrap(), State::Cancelled);
    });
}

/// 8: who waits outside of the runtime for a job that is blocked when its runtime ends is told,
/// however that one waits, and whenever: also a job's parent, an array, and all that is behind
/// them.
#[test]
fn who_waits_outside_for_a_job_that_its_runtime_leaves() {
    each_owned(|_, rt| {
        let begun = Arc::new(AtomicUsize::new(0));
        let blocks = || {
            let begun = begun.clone();
            move || {
                begun.fetch_add(1, SeqCst);
                Signal::new().wait();
            }
        };
        let q = rt.run(|| Local::new().cpus(8).start());
        let job = || q.submit(Job::new(blocks())).unwrap();
        let array = q.submit(Job::array(2, move |_| Signal::new().wait())).unwrap();
        let behind = q.submit(Job::new(|| ()).after_any(&array)).unwrap();
        let (inside, child) = (q.clone(), blocks());
        let parent = q.submit(Job::new(move || inside.submit(Job::new(child)).unwrap().join())).unwrap();
        let (waits, joins, polls, late) = (job(), job(), job(), job());
        let all = q.clone();
        let (told, is_told) = std::sync::mpsc::channel();
        let begins = move || told.send(()).unwrap();
        std::thread::scope(|s| {
            let id = joins.id();
            let waits = s.spawn({
                let begins = begins.clone();
                move || (begins(), waits.wait()).1
            });
            let joins = s.spawn({
                let begins = begins.clone();
                move || (begins(), joins.join()).1
            });
            let polls = s.spawn({
                let begins = begins.clone();
                move || (begins(), myriad::block_on(polls.join_async())).1
            });
            let all = s.spawn({
                let begins = begins.clone();
                move || (begins(), all.wait_all()).1
            });
            let parent = s.spawn({
                let begins = begins.clone();
                move || (begins(), parent.join()).1
            });
            let array = s.spawn(move || (begins(), array.join()).1);
            (0..6).for_each(|_| is_told.recv().unwrap());
            until(|| begun.load(SeqCst) == 5 && q.running() == 7);
            assert!(!rt.shutdown(Duration::ZERO).is_clean());
            assert_eq!(waits.join().unwrap(), State::Cancelled);
            assert_eq!(joins.join().unwrap(), Err(JobError::RuntimeEnded(id)));
            assert!(matches!(polls.join().unwrap(), Err(JobError::RuntimeEnded(_))));
            assert!(matches!(parent.join().unwrap(), Err(JobError::RuntimeEnded(_))));
            assert!(matches!(array.join().unwrap(), Err(JobError::RuntimeEnded(_))));
            all.join().unwrap();
        });
        let why = late.join().unwrap_err();
        assert_eq!(why.to_string(), format!("job {} has no result: its runtime has ended", why.id()));
        assert!(matches!(behind.join(), Err(JobError::RuntimeEnded(_))));
        assert_eq!((q.len(), q.running(), q.cpus().0), (0, 0, 0.0));
    });
}

/// The same of one who begins to wait when the runtime has ended, and of one who does so while the
/// runtime waits for its tasks.
#[test]
fn who_waits_outside_when_the_runtime_ends_or_has_ended() {
    for in_the_middle in [true, false] {
        each_owned(|_, rt| {
            let (begun, is_begun) = std::sync::mpsc::channel();
            let q = rt.run(|| Local::new().cpus(1).start());
            let blocks = Job::new(move || {
                begun.send(()).unwrap();
                Signal::new().wait();
            });
            let left = q.submit(blocks).unwrap();
            is_begun.recv().unwrap();
            let (other, ending) = (q.clone(), rt.handle());
            let waits = std::thread::spawn(move || {
                if in_the_middle {
                    // (A runtime that ends takes nothing from outside.)
                    while !ending.spawn(|| ()).join().is_err_and(|error| error.is_shutdown()) {
                        std::thread::yield_now();
                    }
                }
                let held = other.submit(Job::array(2, |_| ()).held());
                (left.join(), held.map(|held| held.join()))
            });
            if !in_the_middle {
                _ = rt.shutdown(Duration::ZERO);
            } else {
                // (Long enough for that one; if it comes too late it waits for one that was left.)
                _ = rt.shutdown(Duration::from_millis(50));
            }
            let (left, held) = waits.join().unwrap();
            assert!(matches!(left, Err(JobError::RuntimeEnded(_))), "{left:?}");
            assert!(matches!(held, Ok(Err(JobError::RuntimeEnded(_))) | Err(Refused::Closed)), "{held:?}");
            q.wait_all();
            assert_eq!(q.len(), 0);
        });
    }
}

/// A job or an array that is cancelled while its runs are on their way was cancelled, and its
/// runtime has not ended.
#[test]
fn a_cancelled_job_does_not_say_that_its_runtime_has_ended() {
    in_both_modes(|rt| {
        for round in 0..200 {
            let q = rt.run(|| Local::new().cpus(4).start());
            let jobs: Vec<_> = (0..4).map(|_| q.submit(Job::new(myriad::cancel::check)).unwrap()).collect();
            let (all, inner) = (q.clone(), q.clone());
            let array = q.submit(Job::array(4, move |at| {
                if at == round % 4 {
                    inner.cancel_all();
                }
            }));
            all.cancel_all();
            let array = array.unwrap();
            let (id, ended) = (array.id(), array.join());
            assert!(matches!(ended, Ok(()) | Err(JobError::Cancelled(_) | JobError::Failed(..))), "{id}: {ended:?}");
            for job in jobs {
                let ended = job.join();
                assert!(matches!(ended, Ok(()) | Err(JobError::Cancelled(_))), "{ended:?}");
            }
        }
    });
}

/// What ends while somebody waits outside has ended, and was not left: none of these is cancelled.
#[test]
fn who_waits_outside_for_jobs_that_end() {
    each_owned(|_, rt| {
        let q = rt.run(|| Local::new().cpus(4).start());
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for n in 0..500 {
                        assert_eq!(q.submit(Job::new(move || n)).unwrap().join(), Ok(n));
                    }
                });
            }
            let tree = q.clone();
            let jobs = Job::new(move || {
                (0..500).for_each(|_| _ = tree.submit(Job::new(|| ())).unwrap());
            });
            q.submit(jobs).unwrap().join().unwrap();
        });
        q.wait_all();
        assert!(rt.shutdown(PATIENCE).is_clean());
    });
}

/// A job that is late, or is held, and is submitted when the runtime has ended.
#[test]
fn late_jobs_of_a_runtime_that_has_ended() {
    for job in [|| Job::new(|| ()).delay(LONG), || Job::new(|| ()).held()] {
        each_owned(|_, rt| {
            let q = rt.run(|| Local::new().cpus(1).start());
            let first = q.submit(job()).unwrap();
            _ = rt.shutdown(Duration::ZERO);
            assert!(matches!(first.join(), Err(JobError::RuntimeEnded(_))));
            assert_eq!(q.submit(job()).unwrap_err(), Refused::Closed);
        });
        each_owned(|_, rt| {
            let q = rt.run(|| Local::new().cpus(1).start());
            assert!(rt.shutdown(PATIENCE).is_clean());
            assert!(matches!(q.submit(job()).unwrap().join(), Err(JobError::RuntimeEnded(_))));
            assert_eq!(q.submit(job()).unwrap_err(), Refused::Closed);
        });
    }
}

/// Jobs that are submitted while the runtime ends have ended, too.
#[test]
fn a_runtime_ends_while_jobs_are_submitted() {
    each_owned(|_, rt| {
        let q = rt.run(|| Local::new().cpus(2).start());
        let in_thread = q.clone();
        let (begun, is_begun) = std::sync::mpsc::channel();
        let submits = std::thread::spawn(move || {
            let mut handles = Vec::new();
            // (More and more of them wait.)
            while let Ok(handle) = in_thread.submit(Job::new(|| ())) {
                handles.push(handle);
                _ = begun.send(());
            }
            handles
        });
        is_begun.iter().take(100).for_each(drop);
        _ = rt.shutdown(Duration::ZERO);
        let handles = submits.join().unwrap();
        assert!(handles.iter().all(|job| matches!(job.wait(), State::Done | State::Cancelled)));
        q.wait_all();
        assert_eq!((q.running(), q.cpus().0), (0, 0.0));
    });
}
