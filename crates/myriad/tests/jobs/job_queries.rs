//! Jobs that are looked for: by their users, by their names; and all of them as JSON.

use crate::common::in_both_modes;
use myriad::jobs::{Job, JobInfo, Local, State};
use serde_json::Value;

fn ids(jobs: &[JobInfo]) -> Vec<u64> {
    jobs.iter().map(|job| job.id.as_u64()).collect()
}

#[test]
fn jobs_are_found_by_user_and_by_name() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let gate = q.submit(Job::new(|| ()).name("gate").held()).unwrap();
            let mail = q.submit(Job::new(|| ()).name("index the mail").user("ada").after(&gate)).unwrap();
            let report = q.submit(Job::new(|| ()).name("mail a report").user("bob").after(&gate)).unwrap();
            let unnamed = q.submit(Job::new(|| ()).user("ada").after(&gate)).unwrap();
            let array = q.submit(Job::array(3, |_| ()).name("parts").user("bob").after(&gate)).unwrap();
            assert_eq!(ids(&q.jobs_of("ada")), [mail.id().as_u64(), unnamed.id().as_u64()]);
            assert_eq!(ids(&q.find("mail")), [mail.id().as_u64(), report.id().as_u64()]);
            assert!(q.find("Mail").is_empty() && q.jobs_of("ad").is_empty() && q.jobs_of("").is_empty());
            assert_eq!(q.find("").len(), 4, "the text is in each name");
            assert_eq!(q.job(&report).unwrap().user.as_deref(), Some("bob"));
            gate.release().unwrap();
            q.wait_all();
            // In the history, too: with the elements of the array, which are its user's. (One
            // without a name that is done is not kept.)
            assert_eq!(ids(&q.jobs_of("ada")), [mail.id().as_u64()]);
            let parts = q.find("parts");
            assert!(parts.iter().all(|job| job.user.as_deref() == Some("bob") && job.state == State::Done));
            assert!(ids(&parts).contains(&array.id().as_u64()));
            assert!(q.jobs().iter().all(|job| job.name.as_deref() != Some("gate") || job.user.is_none()));
        });
    });
}

/// A program is submitted again with its user, and an element that is tried again has it.
#[test]
fn a_job_keeps_its_user() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let job = q.submit(Job::again(|| Err::<(), _>("no")).name("once").user("ada")).unwrap();
            assert_eq!(job.wait(), State::Failed);
            let again = q.submit(job.into_job().unwrap()).unwrap();
            assert_eq!(again.wait(), State::Failed);
            assert_eq!(q.jobs_of("ada").len(), 2);
            let array = Job::array(2, |_| panic!("{}: an element", crate::common::PLANNED)).user("bob").retries(1);
            let array = q.submit(array).unwrap();
            assert_eq!(array.wait(), State::Failed);
            let of_bob = q.jobs_of("bob");
            assert_eq!(of_bob.iter().filter(|job| job.array == Some(array.id())).count(), 2, "{of_bob:?}");
            assert!(of_bob.iter().all(|job| job.array.is_none() || job.attempts == 2));
        });
    });
}

#[test]
fn a_queue_says_itself_as_json() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).memory("1 GB").group("net", 1).start();
            let json = || -> Value { serde_json::from_str(&q.to_json()).unwrap() };
            assert_eq!((json()["jobs"].as_array().map(Vec::len), json()["cpus"]["all"].as_f64()), (Some(0), Some(2.0)));
            let odd = "a \"name\"\\\n\u{1} ä";
            let fails = q.submit(Job::fallible(|| Err::<(), _>("no \"disk\"\t")).name(odd).user("ada")).unwrap();
            let done = q.submit(Job::new(|| ()).name("done").group("net").priority(-7)).unwrap();
            let list = q.submit(Job::array(3, |_| ()).name("list")).unwrap();
            assert_eq!((fails.wait(), done.wait(), list.wait()), (State::Failed, State::Done, State::Done));
            let skipped = q.submit(Job::new(|| ()).after(&fails)).unwrap();
            let held = q.submit(Job::new(|| ()).held()).unwrap();
            let behind = q.submit(Job::new(|| ()).after(&held)).unwrap();
            let all = json();
            let job = |id: myriad::jobs::JobId| -> Value {
                let jobs = all["jobs"].as_array().unwrap();
                jobs.iter().find(|job| job["id"].as_u64() == Some(id.as_u64())).unwrap().clone()
            };
            let of = job(fails.id());
            assert_eq!(
                (of["name"].as_str(), of["user"].as_str(), of["state"].as_str()),
                (Some(odd), Some("ada"), Some("failed"))
            );
            assert_eq!(
                (of["reason"].as_str(), of["attempts"].as_u64(), of["why"].is_null()),
                (Some("no \"disk\"\t"), Some(1), true)
            );
            let of = job(done.id());
            assert_eq!(
                (of["group"].as_str(), of["priority"].as_i64(), of["user"].is_null()),
                (Some("net"), Some(-7), true)
            );
            assert_eq!(job(list.id())["elements"]["ended"].as_u64(), Some(3));
            let of = job(skipped.id());
            assert_eq!((of["state"].as_str(), of["because_of"].as_u64()), (Some("skipped"), Some(fails.id().as_u64())));
            let of = job(behind.id());
            assert_eq!((of["state"].as_str(), of["after"][0].as_u64()), (Some("pending"), Some(held.id().as_u64())));
            assert_eq!((job(held.id())["why"].as_str(), of["group"].is_null()), (Some("held"), true));
            assert_eq!(all["jobs"].as_array().map(Vec::len), Some(q.jobs().len()));
            q.cancel_all();
            q.wait_all();
        });
    });
}
