//! Jobs from closures: results, failures, handles, waiting, cancelling.

use crate::common::{PATIENCE, PLANNED, each, each_owned, in_both_modes};
use myriad::jobs::{Event, Job, JobError, JobId, Local, Refused, State, Waiting};
use myriad::sync::{Event as Signal, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Waits until this holds.
pub(super) fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        myriad::time::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_result_comes_back_typed() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let text = q.submit(Job::new(|| "text".to_owned())).unwrap();
            let number = q.submit(Job::new(|| 6 * 7)).unwrap();
            assert_eq!((number.join().unwrap(), text.join().unwrap()), (42, "text".to_owned()));
            q.wait_all();
            assert!(q.is_empty());
        });
    });
}

#[test]
fn a_foreign_thread_submits_and_waits() {
    let q = Local::new().cpus(2).start();
    let jobs: Vec<_> = (0..100).map(|i| q.submit(Job::new(move || i)).unwrap()).collect();
    let sum: i32 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    assert_eq!(sum, 4950);
    q.wait_all();
}

/// 16: a panic of a job is its failure, with its text; one in a callback is not the job's.
#[test]
fn r16_panics_of_jobs_and_of_listeners() {
    in_both_modes(|rt| {
        rt.run(|| {
            let told = Arc::new(AtomicUsize::new(0));
            let in_listener = told.clone();
            let q = Local::new()
                .on_event(move |event| {
                    if let Event::Ended { .. } = event {
                        in_listener.fetch_add(1, Relaxed);
                        panic!("{PLANNED}: a listener");
                    }
                })
                .start();
            let bad = q.submit(Job::new(|| -> u32 { panic!("{PLANNED}: a job") })).unwrap();
            let id = bad.id();
            let error = bad.join().unwrap_err();
            assert_eq!(error, JobError::Failed(id, format!("panicked: {PLANNED}: a job").into()));
            let good = q.submit(Job::new(|| 1)).unwrap();
            assert_eq!(good.join().unwrap(), 1);
            until(|| told.load(Relaxed) == 2);
            assert_eq!(q.cpus().0, 0.0, "what it held is given back");
        });
    });
}

/// Destructors of closures and results that panic change nothing for the queue.
#[test]
fn panics_of_destructors() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("{PLANNED}: a destructor");
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let captured = Bad;
            let first = q.submit(Job::new(move || _ = &captured)).unwrap();
            let second = q.submit(Job::new(|| Bad)).unwrap();
            let gate = Arc::new(Signal::new());
            let waits = gate.clone();
            let holds = q.submit(Job::new(move || waits.wait())).unwrap();
            let never = Bad;
            let cancelled = q.submit(Job::new(move || _ = &never)).unwrap();
            cancelled.cancel();
            assert_eq!(cancelled.wait(), State::Cancelled);
            drop(second);
            gate.set();
            holds.join().unwrap();
            assert!(first.wait().is_final());
            assert_eq!(q.submit(Job::new(|| 5)).unwrap().join().unwrap(), 5);
            q.wait_all();
        });
    });
}

/// 7: a job that waits for a job of its queue gives its processor back: depth 100 on one.
#[test]
fn r07_jobs_wait_for_jobs_on_one_processor() {
    fn deep(q: &myriad::jobs::Queue, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let inner = q.clone();
        let job = q.submit(Job::new(move || deep(&inner, depth - 1))).unwrap();
        assert!(q.cpus().0 <= 1.0, "never more than there is");
        job.join().unwrap() + 1
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            assert_eq!(deep(&q, 100), 100);
            q.wait_all();
            assert_eq!(q.cpus().0, 0.0);
        });
    });
}

/// 8: cancelled before it begins: it never runs. While it runs: it holds its processor until it has
/// really ended.
#[test]
fn r08_cancel() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let (begun, cleaned) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
            let (b, c) = (begun.clone(), cleaned.clone());
            struct Cleans(Arc<Signal>);
            impl Drop for Cleans {
                fn drop(&mut self) {
                    self.0.set();
                }
            }
            let runs = q
                .submit(Job::new(move || {
                    let _cleans = Cleans(c);
                    b.set();
                    myriad::time::sleep(LONG);
                }))
                .unwrap();
            let waits = q.submit(Job::new(|| unreachable!("it was cancelled before"))).unwrap();
            begun.wait();
            waits.cancel();
            let id = waits.id();
            assert_eq!(waits.join().unwrap_err(), JobError::Cancelled(id));
            assert_eq!(q.len(), 1);
            runs.cancel();
            let id = runs.id();
            assert_eq!(runs.join().unwrap_err(), JobError::Cancelled(id));
            assert!(cleaned.is_set(), "it has unwound before its end is said");
            // One that ends well in spite of that is done.
            let slow = Arc::new(Signal::new());
            let (s, b) = (slow.clone(), Arc::new(Signal::new()));
            let begun = b.clone();
            let stubborn = q
                .submit(Job::new(move || {
                    b.set();
                    myriad::cancel::shield(|| s.wait());
                    7
                }))
                .unwrap();
            begun.wait();
            stubborn.cancel();
            assert_eq!((q.cpus().0, stubborn.state()), (1.0, State::Running));
            slow.set();
            assert_eq!(stubborn.join().unwrap(), 7);
        });
    });
}

/// 9: the wall time has a state of its own; who does not stop is overdue, and holds what it has.
#[test]
fn r09_wall_time() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).grace(Duration::from_millis(1)).start();
            let job = q.submit(Job::new(|| myriad::time::sleep(LONG)).wall_time(Duration::from_millis(2))).unwrap();
            let id = job.id();
            assert_eq!(job.join().unwrap_err(), JobError::TimedOut(id, None));
            let gate = Arc::new(Signal::new());
            let stubborn = loop {
                let waits = gate.clone();
                let job = Job::new(move || myriad::cancel::shield(|| waits.wait()));
                let job = q.submit(job.wall_time(Duration::from_millis(1))).unwrap();
                until(|| job.state() == State::Overdue || job.state().is_final());
                // (Else the time was over before the body had come to its shield.)
                if job.state() == State::Overdue {
                    break job;
                }
                assert_eq!(job.state(), State::TimedOut);
            };
            assert_eq!(q.cpus().0, 1.0);
            gate.set();
            assert_eq!(stubborn.wait(), State::Done);
        });
    });
}

/// 10: dependents see the last attempt only.
#[test]
fn r10_retries() {
    in_both_modes(|rt| {
        rt.run(|| {
            let events = Arc::new(Mutex::new(Vec::new()));
            let noted = events.clone();
            let q = Local::new().on_event(move |event| noted.lock().unwrap().push(*event)).start();
            let mut tries = 0;
            let job = Job::again(move || {
                tries += 1;
                if tries < 3 { Err(format!("try {tries}")) } else { Ok(tries) }
            });
            let job = q.submit(job.retries(2).backoff(Duration::from_micros(10)..Duration::from_millis(1))).unwrap();
            let after = q.submit(Job::new(|| "after").after(&job)).unwrap();
            let failed = q.submit(Job::new(|| "never").after_failed(&job)).unwrap();
            let id = job.id();
            assert_eq!(after.join().unwrap(), "after");
            assert_eq!(failed.wait(), State::Skipped(id));
            assert_eq!(job.join().unwrap(), 3);
            q.wait_all();
            let of_job = |event: &&Event| matches!(event, Event::Started { id: other, .. } | Event::Retrying { id: other, .. } if *other == id);
            // (Three starts, two pauses. Another thread may be telling them still.)
            until(|| events.lock().unwrap().iter().filter(of_job).count() == 5);
            // One that always fails, and one that is cancelled while it pauses.
            let bad = q.submit(Job::again(|| Err::<(), _>("no")).retries(1)).unwrap();
            let id = bad.id();
            assert_eq!(bad.join().unwrap_err(), JobError::Failed(id, "no".into()));
            let pauses = q.submit(Job::again(|| Err::<(), _>("no")).retries(1).backoff(LONG..LONG)).unwrap();
            until(|| matches!(pauses.why(), Some(Waiting::Time { .. })));
            assert_eq!(q.cpus().0, 0.0, "a pause holds nothing");
            pauses.cancel();
            assert_eq!(pauses.wait(), State::Cancelled);
            assert_eq!(q.submit(Job::new(|| ()).retries(1)).unwrap_err(), Refused::OnlyOnce);
        });
    });
}

/// A job that has ended, and that the queue has forgotten, counts as it ended for whoever has its
/// handle, also if it was named as a dependency before that.
#[test]
fn a_dependency_that_is_forgotten_when_the_job_is_submitted() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let first = q.submit(Job::new(|| ()).held()).unwrap();
            let after = Job::new(|| "after").after(&first);
            let failed = Job::new(|| "never").after_failed(&first);
            first.release().unwrap();
            assert_eq!(first.wait(), State::Done);
            assert_eq!(q.state(first.id()), Err(Refused::Forgotten(first.id())));
            assert_eq!(q.submit(after).unwrap().join().unwrap(), "after");
            assert_eq!(q.submit(failed).unwrap().wait(), State::Skipped(first.id()));
        });
    });
}

/// 15: jobs that jobs submit are waited for, by any number of waiters.
#[test]
fn r15_wait_all_waits_for_jobs_of_jobs() {
    fn tree(q: &myriad::jobs::Queue, depth: u32, count: &Arc<AtomicUsize>) {
        count.fetch_add(1, Relaxed);
        if depth > 0 {
            for _ in 0..2 {
                let (q2, count) = (q.clone(), count.clone());
                q.submit(Job::new(move || tree(&q2, depth - 1, &count))).unwrap();
            }
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let (q, count) = (Local::new().start(), Arc::new(AtomicUsize::new(0)));
            let (q2, count2) = (q.clone(), count.clone());
            q.submit(Job::new(move || tree(&q2, 8, &count2))).unwrap();
            let (other, seen) = (q.clone(), count.clone());
            let second = myriad::spawn(move || {
                other.wait_all();
                seen.load(Relaxed)
            });
            q.wait_all();
            assert_eq!((count.load(Relaxed), second.join().unwrap()), (511, 511));
        });
    });
}

/// 17: the result is kept as long as there is a handle, whatever the history does; jobs without a
/// name that are done leave nothing.
#[test]
fn r17_results_and_history() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).history(2, LONG).start();
            let jobs: Vec<_> = (0..50).map(|i| q.submit(Job::new(move || i)).unwrap()).collect();
            q.wait_all();
            let ids: Vec<JobId> = jobs.iter().map(|job| job.id()).collect();
            // A handle can be depended on; a number that is forgotten is refused.
            assert_eq!(q.submit(Job::new(|| "well").after(&jobs[0])).unwrap().join().unwrap(), "well");
            assert_eq!(q.submit(Job::new(|| ()).after(ids[0])).unwrap_err(), Refused::Forgotten(ids[0]));
            assert_eq!(jobs.into_iter().map(|job| job.join().unwrap()).sum::<i32>(), 1225);
            let named: Vec<_> = (0..4).map(|_| q.submit(Job::new(|| ()).name("named")).unwrap().id()).collect();
            q.wait_all();
            assert_eq!(q.state(named[1]), Err(Refused::Forgotten(named[1])));
            assert_eq!(q.state(named[3]), Ok(State::Done));
        });
    });
}

/// 19: from many tasks at a time no job is lost, and none starts twice.
#[test]
fn r19_submissions_from_a_hundred_tasks() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..10_000).map(|_| AtomicUsize::new(0)).collect());
            let tasks: Vec<_> = (0..100)
                .map(|at| {
                    let (q, runs) = (q.clone(), runs.clone());
                    myriad::spawn(move || {
                        let mut last = None;
                        for i in 0..100 {
                            let runs = runs.clone();
                            let job = Job::new(move || _ = runs[at * 100 + i].fetch_add(1, Relaxed));
                            let id = q.submit(job.priority((i % 3) as i32)).unwrap().id();
                            assert!(last < Some(id), "numbers grow");
                            last = Some(id);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            q.wait_all();
            assert!(runs.iter().all(|count| count.load(Relaxed) == 1));
        });
    });
}

/// 19: the numbers of one submitter are without gaps; those of an array follow its own.
#[test]
fn r19_numbers_without_gaps() {
    let q = Local::new().start();
    let ids: Vec<_> = (0..100).map(|_| q.submit(Job::new(|| ())).unwrap().id().as_u64()).collect();
    assert_eq!(ids, Vec::from_iter(1..=100));
    let list = q.submit(Job::array(10, |_| ())).unwrap();
    let next = q.submit(Job::new(|| ())).unwrap();
    assert_eq!((list.id().as_u64(), next.id().as_u64()), (101, 112));
    q.wait_all();
}

/// A job that has ended can be submitted again, with what it asked for; one that can be called once
/// cannot, and one that has not ended.
#[test]
fn a_job_is_submitted_again() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let mut runs = 0;
            let job = Job::again(move || {
                runs += 1;
                if runs < 2 { Err("no".to_owned()) } else { Ok(runs) }
            });
            let job = q.submit(job.name("again").priority(7).cpus(2).held()).unwrap();
            let job = job.into_job().unwrap_err();
            job.release().unwrap();
            assert_eq!(job.wait(), State::Failed);
            let other = Local::new().start();
            let id = job.id();
            let again = job.into_job().unwrap();
            let again = q.submit(again.cpus(1)).unwrap();
            let info = q.job(&again).map(|info| (info.name.unwrap(), info.priority));
            assert!(info.is_none_or(|info| info == ("again".into(), 7)));
            assert_eq!(again.wait(), State::Done);
            assert_eq!(q.state(id), Ok(State::Failed), "the first stays in the history");
            let refused = other.submit(again.into_job().unwrap()).unwrap_err();
            assert!(matches!(refused, Refused::OtherQueue(_)));
            let count = Arc::new(AtomicUsize::new(0));
            let in_list = count.clone();
            let list = q.submit(Job::array(10, move |_| _ = in_list.fetch_add(1, Relaxed))).unwrap();
            assert_eq!(list.wait(), State::Done);
            q.submit(list.into_job().unwrap()).unwrap().join().unwrap();
            assert_eq!(count.load(Relaxed), 20);
            let once = q.submit(Job::new(|| 5)).unwrap();
            assert_eq!(once.wait(), State::Done);
            assert_eq!(once.into_job().unwrap_err().join().unwrap(), 5);
        });
    });
}

/// 13: an array is one job to depend on, to hold and to cancel; 1,000,000 elements take no memory
/// until they begin.
#[test]
fn r13_arrays() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(4).start();
            let huge = q.submit(Job::array(1_000_000, |_| unreachable!("it is held")).held()).unwrap();
            let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (n, m) = (now.clone(), most.clone());
            let array = Job::array(200, move |_| {
                m.fetch_max(n.fetch_add(1, Relaxed) + 1, Relaxed);
                myriad::yield_now();
                n.fetch_sub(1, Relaxed);
            });
            let array = q.submit(array.at_once(2)).unwrap();
            let done = Arc::new(AtomicUsize::new(0));
            let count = done.clone();
            let each = q.submit(Job::array(200, move |_| _ = count.fetch_add(1, Relaxed)).after_each(&array)).unwrap();
            array.join().unwrap();
            // By now the history has no array without a name, and the handle says enough.
            let again = Job::array(200, |_| ()).after_each(&each);
            let late = Job::array(100, |_| ()).after_each(&each);
            let named = Job::array(200, |_| ()).after_each(each.id());
            each.wait();
            let again = q.submit(again).unwrap();
            assert_eq!(again.wait(), State::Done);
            q.submit(again.into_job().unwrap()).unwrap().join().unwrap();
            assert_eq!(q.submit(late).unwrap_err(), Refused::NotAlike(each.id()));
            assert_eq!(q.submit(named).unwrap_err(), Refused::Forgotten(each.id()));
            each.join().unwrap();
            assert!(most.load(Relaxed) <= 2, "at most two at once: {most:?}");
            assert_eq!(done.load(Relaxed), 200);
            huge.cancel();
            assert_eq!(huge.wait(), State::Cancelled);
            let fails = Job::array(100, |i| assert!(i != 3, "{PLANNED}: element 3")).at_once(1).max_failures(1);
            let fails = q.submit(fails).unwrap();
            let error = fails.join().unwrap_err().to_string();
            assert!(error.contains("element 3"), "{error}");
            q.wait_all();
            assert_eq!(q.cpus().0, 0.0);
        });
    });
}

/// A job whose task is cancelled before its first instruction has ended, too.
#[test]
fn cancelled_just_when_it_starts() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            for _ in 0..300 {
                let job = q.submit(Job::new(myriad::yield_now)).unwrap();
                job.cancel();
                // 8: one of both, and the result says the same.
                let state = job.wait();
                assert!(matches!(state, State::Cancelled | State::Done));
                assert_eq!(job.join().is_ok(), state == State::Done);
            }
            q.wait_all();
            assert_eq!(q.cpus().0, 0.0);
        });
    });
}

#[test]
fn start_times_and_closing() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            // 12: one in the past is now.
            let past = q.submit(Job::new(|| 1).at(std::time::SystemTime::UNIX_EPOCH)).unwrap();
            assert_eq!(past.join().unwrap(), 1);
            let before = myriad::time::now();
            let late = q.submit(Job::new(myriad::time::now).delay(Duration::from_millis(3))).unwrap();
            assert!(late.join().unwrap().duration_since(before) >= Duration::from_millis(3));
            let time = std::time::SystemTime::now() + Duration::from_millis(3);
            let late = q.submit(Job::new(std::time::SystemTime::now).at(time)).unwrap();
            assert!(late.join().unwrap() >= time);
            q.close();
            assert_eq!(q.submit(Job::new(|| ())).unwrap_err(), Refused::Closed);
        });
    });
}

/// 8, 13: a cancelled array has ended when its elements have.
#[test]
fn r08_a_cancelled_array_ends_with_its_elements() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let (begun, gate) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
            let (b, g) = (begun.clone(), gate.clone());
            let list = Job::array(2, move |_| {
                b.set();
                myriad::cancel::shield(|| g.wait());
                myriad::cancel::check();
            });
            let list = q.submit(list).unwrap();
            begun.wait();
            list.cancel();
            assert!(!list.is_finished() && q.cpus().0 == 1.0, "an element runs");
            gate.set();
            assert_eq!(list.wait(), State::Cancelled);
            assert_eq!(q.cpus().0, 0.0);
        });
    });
}

/// A listener may wait for a job that starts with the one of which it is told.
#[test]
fn a_listener_waits_for_a_job_that_starts_later() {
    in_both_modes(|rt| {
        rt.run(|| {
            let last: Arc<Mutex<Option<myriad::jobs::JobHandle<()>>>> = Arc::default();
            let (in_listener, waited) = (last.clone(), Arc::new(Signal::new()));
            let is_waited = waited.clone();
            let q = Local::new()
                .cpus(2)
                .on_event(move |event| {
                    let Event::Started { id, .. } = event else { return };
                    let job = in_listener.lock().unwrap().take_if(|job| job.id() > *id);
                    if let Some(job) = job {
                        assert_eq!(job.wait(), State::Done);
                        is_waited.set();
                    }
                })
                .start();
            let (begun, open) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
            let (b, o) = (begun.clone(), open.clone());
            let gate = Job::new(move || {
                b.set();
                o.wait();
            });
            let gate = q.submit(gate.cpus(2)).unwrap();
            begun.wait();
            let _first = q.submit(Job::new(|| ()).after(&gate)).unwrap();
            *last.lock().unwrap() = Some(q.submit(Job::new(|| ()).after(&gate)).unwrap());
            open.set();
            waited.wait();
            q.wait_all();
        });
    });
}

/// Who waits has one waker there, however often the future is polled, and none after it is dropped.
#[test]
fn a_future_that_is_polled_often_is_woken_once() {
    struct Counts(AtomicUsize);
    impl std::task::Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let job = q.submit(Job::new(|| 5).held()).unwrap();
            let id = job.id();
            let other = q.submit(Job::new(|| 6).after(&job)).unwrap();
            let (mut one, mut dropped) = (Box::pin(job.join_async()), Box::pin(other.join_async()));
            let [first, second, third] = [0; 3].map(|_| Arc::new(Counts(AtomicUsize::new(0))));
            for _ in 0..100 {
                for counts in [&first, &second] {
                    let waker = counts.clone().into();
                    assert!(one.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
                    assert!(one.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
                }
                let waker = third.clone().into();
                assert!(dropped.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
            }
            assert_eq!(Arc::strong_count(&first), 1, "the last waker is the one that counts");
            assert_eq!((Arc::strong_count(&second), Arc::strong_count(&third)), (2, 2));
            drop(dropped);
            assert_eq!(Arc::strong_count(&third), 1);
            q.release(id).unwrap();
            q.wait_all();
            until(|| second.0.load(Relaxed) == 1);
            assert_eq!((first.0.load(Relaxed), third.0.load(Relaxed)), (0, 0));
            assert_eq!(myriad::block_on(one).unwrap(), 5);
        });
    });
}

/// 12: a queue whose last job was cancelled before its time keeps no runtime from its end.
#[test]
fn r12_a_cancelled_delay_is_no_sleeping_task() {
    each_owned(|_, rt| {
        let q = rt.run(|| {
            let q = Local::new().start();
            let late = q.submit(Job::new(|| ()).delay(LONG)).unwrap();
            late.cancel();
            assert_eq!(late.wait(), State::Cancelled);
            q
        });
        assert!(rt.shutdown(PATIENCE).is_clean());
        assert!(q.is_empty());
    });
}
