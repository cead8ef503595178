//! Jobs that are changed before they begin.

use crate::common::in_both_modes;
use crate::job_engine::until;
use myriad::jobs::{Edit, Job, Local, Queue, Refused, State, Waiting};
use myriad::sync::Event as Signal;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const LONG: Duration = Duration::from_secs(3600);

fn why(q: &Queue, job: &myriad::jobs::JobHandle<()>) -> String {
    q.why(job).unwrap().unwrap().to_string()
}

/// Each field, seen by what the scheduler says of the job after it.
#[test]
fn edits_are_what_the_scheduler_looks_at() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(4).memory("1 GB").resource("gpu", 1).group("net", 1).start();
            let go = Arc::new(Signal::new());
            let waits = go.clone();
            let first = Job::new(move || waits.wait()).cpus(3).memory("1 GB").resource("gpu", 1).group("net");
            let first = q.submit(first).unwrap();
            until(|| first.state() == State::Running);
            let job = q.submit(Job::new(|| ()).delay(LONG)).unwrap();
            assert!(why(&q, &job).starts_with("for its time, in "));
            let edit = |edit| q.edit(&job, edit).unwrap();
            edit(Edit::new().delay(Duration::ZERO).cpus(2));
            assert_eq!(why(&q, &job), "first in line, wants 2 cpus of cpu, 1 cpus free, held by 1");
            edit(Edit::new().cpus(0).memory(1));
            assert_eq!(why(&q, &job), "first in line, wants 1 B of memory, 0 B free, held by 1");
            edit(Edit::new().memory(0).resource("gpu", 0.5));
            assert_eq!(why(&q, &job), "first in line, wants 0.5 of gpu, 0 free, held by 1");
            edit(Edit::new().resource("gpu", 0).group("net"));
            assert_eq!(why(&q, &job), "1 of group net run");
            edit(Edit::new().group("").at(SystemTime::now() + LONG).wall_time(LONG).priority(-5).name("n").user("u"));
            assert!(why(&q, &job).starts_with("for its time, in "));
            let info = q.job(&job).unwrap();
            assert_eq!((info.cpus, info.memory, info.resources, &*info.group), (0.0, 0, vec![], ""));
            assert_eq!((info.priority, info.wall_time, info.name.as_deref()), (-5, Some(LONG), Some("n")));
            assert!(info.starts_in.unwrap() > LONG / 2 && info.user.as_deref() == Some("u"));
            edit(Edit::new().after(&first).at(SystemTime::UNIX_EPOCH));
            assert_eq!(why(&q, &job), "until job 1 is done");
            edit(Edit::new().independent().wall_time(None));
            job.join().unwrap();
            go.set();
            first.join().unwrap();
        });
    });
}

/// What a job waits for is replaced: ends of what it waited for before are not its own any more.
#[test]
fn edits_of_dependencies() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let held = |q: &Queue| q.submit(Job::new(|| ()).held()).unwrap();
            let (old, new) = (held(&q), held(&q));
            let job = q.submit(Job::new(|| 7).after(&old)).unwrap();
            q.edit(&job, Edit::new().after(&new)).unwrap();
            old.cancel();
            assert_eq!(job.state(), State::Pending);
            new.release().unwrap();
            assert_eq!(job.join(), Ok(7));
            // One that has ended, and is forgotten, is known by its handle.
            let job = q.submit(Job::new(|| 8).held()).unwrap();
            assert_eq!(q.state(&new), Err(Refused::Forgotten(new.id())));
            q.edit(&job, Edit::new().after(&new)).unwrap();
            job.release().unwrap();
            assert_eq!(job.join(), Ok(8));
            // One of those that it has is enough.
            let (first, second) = (held(&q), held(&q));
            let job = q.submit(Job::new(|| 9).after(&first).after(&second)).unwrap();
            q.edit(&job, Edit::new().any_is_enough()).unwrap();
            second.release().unwrap();
            assert_eq!((job.join(), first.state()), (Ok(9), State::Pending));
            // One of those that it has is done, and forgotten.
            let (first, second) = (held(&q), held(&q));
            let job = q.submit(Job::new(|| 10).after(&first).after(&second)).unwrap();
            second.release().unwrap();
            assert_eq!(second.wait(), State::Done);
            assert_eq!(q.state(&second), Err(Refused::Forgotten(second.id())));
            q.edit(&job, Edit::new().any_is_enough()).unwrap();
            assert_eq!((job.join(), first.state()), (Ok(10), State::Pending));
            // One that never will be, and one of two that is.
            let job = held(&q);
            q.edit(&job, Edit::new().after(&old).after(&new).any_is_enough()).unwrap();
            assert_eq!(q.why(&job).unwrap(), Some(Waiting::Held));
            q.edit(&job, Edit::new().after(&old)).unwrap();
            assert_eq!(job.wait(), State::Skipped(old.id()));
        });
    });
}

/// What is refused changes nothing, also not what could have been changed.
#[test]
fn edits_that_are_refused_change_nothing() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let first = q.submit(Job::new(|| ()).held()).unwrap();
            let list = q.submit(Job::array(3, |_| ()).after(&first)).unwrap();
            let follows = q.submit(Job::array(3, |_| ()).after_each(&list)).unwrap();
            let last = q.submit(Job::new(|| ()).after(&follows)).unwrap();
            let element = myriad::jobs::JobId::from_u64(list.id().as_u64() + 2);
            let edit = |edit: Edit| q.edit(&first, edit.priority(9)).unwrap_err();
            let circle = |on| Refused::Circle(first.id(), on);
            assert_eq!(edit(Edit::new().after_started(&first)), circle(first.id()));
            assert_eq!(edit(Edit::new().after_any(&last)), circle(last.id()));
            assert_eq!(edit(Edit::new().after_any(element)), circle(element));
            assert_eq!(
                edit(Edit::new().after(myriad::jobs::JobId::from_u64(99))).to_string(),
                "there is no job 99 in this queue"
            );
            assert!(matches!(edit(Edit::new().cpus(3)), Refused::Infeasible { .. }));
            assert!(matches!(edit(Edit::new().cpus(-1)), Refused::NoAmount(..)));
            assert!(matches!(edit(Edit::new().memory("much")), Refused::NoAmount(..)));
            assert!(matches!(edit(Edit::new().resource("tape", 1)), Refused::NoResource(_)));
            assert!(matches!(edit(Edit::new().group("tape")), Refused::NoGroup(_)));
            assert_eq!(q.edit(&first, Edit::new().cpus(1).priority(10_000)), Err(Refused::Priority(10_000)));
            let info = q.job(&first).unwrap();
            assert_eq!((info.priority, info.cpus, info.after.len()), (0, 1.0, 0));
            assert_eq!(q.edit(element, Edit::new()), Err(Refused::InArray(element)));
            // What would be a circle the other way round is none.
            q.edit(&last, Edit::new().after(&first)).unwrap();
            q.edit(&list, Edit::new().independent()).unwrap();
            follows.join().unwrap();
            first.release().unwrap();
            assert_eq!(last.wait(), State::Done);
            let begun = q.edit(&last, Edit::new()).unwrap_err();
            assert!(matches!(begun, Refused::Forgotten(_)), "{begun}");
        });
    });
}

/// A job that waits for its next attempt, or for its time, is told to wait for none.
#[test]
fn edits_of_a_pause_between_attempts() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let mut tries = 0;
            let job = Job::again(move || {
                tries += 1;
                if tries == 1 { Err("once") } else { Ok(tries) }
            });
            let job = q.submit(job.retries(1).backoff(LONG..LONG)).unwrap();
            until(|| q.job(&job).is_some_and(|job| job.attempts == 1 && job.state == State::Pending));
            assert!(q.job(&job).unwrap().starts_in.unwrap() > LONG / 2);
            q.edit(&job, Edit::new().delay(Duration::ZERO)).unwrap();
            assert_eq!(job.join(), Ok(2));
        });
    });
}
