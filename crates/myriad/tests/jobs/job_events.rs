//! What is told of jobs: streams of events.

use crate::common::in_both_modes;
use crate::job_engine::until;
use myriad::channel::{BroadcastReceiver, Heard};
use myriad::jobs::{Edit, Event, Job, JobId, Local, State};
use std::time::Duration;

fn all_of(events: &mut BroadcastReceiver<Event>) -> Vec<Event> {
    let next = || events.try_recv().ok();
    std::iter::from_fn(next).map(|heard| *heard.message().expect("none is missed")).collect()
}

/// What is done to jobs by calls.
#[test]
fn events_of_calls() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let mut events = q.events();
            let job = q.submit(Job::new(|| ()).delay(Duration::from_secs(3600))).unwrap();
            let id = job.id();
            q.hold(&job).unwrap();
            assert!(q.release(&job).unwrap() && !q.release(&job).unwrap());
            q.edit(&job, Edit::new().priority(1)).unwrap();
            job.cancel();
            let ended = Event::Ended { id, state: State::Cancelled };
            let expected =
                [Event::Submitted { id }, Event::Held { id }, Event::Released { id }, Event::Edited { id }, ended];
            assert_eq!(all_of(&mut events), expected);
            assert!(q.hold(&job).is_err() && all_of(&mut events).is_empty(), "what is refused is no event");
        });
    });
}

/// A job that waits for another one of its queue; one that is stopped; a program that is paused.
#[test]
fn events_of_runs() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let mut events = q.events();
            let inner = q.clone();
            let outer = q.submit(Job::new(move || inner.submit(Job::new(|| ())).unwrap().join().unwrap())).unwrap();
            let id = outer.id();
            outer.join().unwrap();
            until(|| events.len() >= 8);
            let of_outer = |event: &Event| match *event {
                Event::Started { id: other, .. } | Event::Suspended { id: other } | Event::Resumed { id: other } => {
                    other == id
                }
                Event::Ended { id: other, .. } => other == id,
                _ => false,
            };
            let mut outers = all_of(&mut events);
            outers.retain(of_outer);
            let expected = [
                Event::Started { id, attempt: 1 },
                Event::Suspended { id },
                Event::Resumed { id },
                Event::Ended { id, state: State::Done },
            ];
            assert_eq!(outers, expected);

            let sleeps = q.submit(Job::command(["sleep", "3600"])).unwrap();
            let id = sleeps.id();
            until(|| q.pause(&sleeps).is_ok());
            q.resume(&sleeps).unwrap();
            sleeps.cancel();
            assert_eq!(sleeps.wait(), State::Cancelled);
            until(|| events.len() >= 6);
            let mut all = all_of(&mut events);
            all.retain(|event| !matches!(event, Event::Submitted { .. } | Event::Started { .. }));
            let ended = Event::Ended { id, state: State::Cancelled };
            assert_eq!(all[..2], [Event::Paused { id }, Event::Resumed { id }]);
            assert!(all[2..].contains(&Event::Stopping { id }) && all[2..].contains(&ended), "{all:?}");
        });
    });
}

/// Nobody waits for a receiver that does not come: it is told how many it has missed.
#[test]
fn events_that_are_missed_are_counted() {
    let q = Local::new().start();
    let (mut events, mut late) = (q.events(), q.events());
    for _ in 0..3000 {
        drop(q.submit(Job::new(|| ()).held()).unwrap());
    }
    q.cancel_all();
    q.wait_all();
    until(|| late.len() == 6000);
    let Ok(Heard::Missed(missed)) = events.recv() else { panic!("6,000 events are more than are kept") };
    assert_eq!((missed, all_of(&mut events).len()), (6000 - 4096, 4096));
    drop(q);
    assert_eq!(late.try_recv(), Ok(Heard::Missed(missed)));
    let last = std::iter::from_fn(|| late.recv().ok()).last().unwrap().message();
    // (All are cancelled in one turn, the last one first.)
    assert_eq!(last.as_deref(), Some(&Event::Ended { id: JobId::from_u64(1), state: State::Cancelled }));
}
