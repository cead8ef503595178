//! Jobs that wait for jobs: how they go on, and how they stop.

use crate::common::in_both_modes;
use crate::job_engine::until;
use myriad::jobs::{Job, JobHandle, Local, State};
use myriad::sync::Event as Signal;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Cancels a job where the one that has made it is left.
struct Cancels<'a>(&'a JobHandle<()>);

impl Drop for Cancels<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// 8, 9: a job that waits for another one, and is to stop, does so while that one holds the only
/// processor.
#[test]
fn r08_who_waits_stops_at_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            for wall in [None, Some(Duration::from_millis(2))] {
                let q = Local::new().cpus(1).start();
                let (inner, begun) = (q.clone(), Arc::new(Signal::new()));
                let begins = begun.clone();
                let parent = Job::new(move || {
                    let child = Job::new(move || {
                        begins.set();
                        myriad::time::sleep(LONG);
                    });
                    let child = inner.submit(child).unwrap();
                    let _cancels = Cancels(&child);
                    child.wait();
                });
                match wall {
                    Some(wall) => {
                        let parent = q.submit(parent.wall_time(wall)).unwrap();
                        assert_eq!(parent.wait(), State::TimedOut);
                    }
                    None => {
                        let parent = q.submit(parent).unwrap();
                        begun.wait();
                        parent.cancel();
                        assert_eq!(parent.wait(), State::Cancelled);
                    }
                }
                q.wait_all();
                assert_eq!((q.len(), q.cpus().0), (0, 0.0));
            }
        });
    });
}

/// 7: a job that has to wait for its place in its group, which was taken meanwhile, stops none that
/// leave what it wants.
#[test]
fn r07_who_cannot_go_on_stops_nobody_else() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(8).group("net", 1).start();
            let (go, child_ends) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
            let (inner, ends) = (q.clone(), child_ends.clone());
            let parent = Job::new(move || inner.submit(Job::new(move || ends.wait())).unwrap().wait());
            let parent = q.submit(parent.group("net")).unwrap();
            until(|| parent.state() == State::Suspended);
            let waits = go.clone();
            let other = q.submit(Job::new(move || waits.wait()).group("net")).unwrap();
            until(|| other.state() == State::Running);
            child_ends.set();
            until(|| q.len() == 2);
            assert_eq!(q.submit(Job::new(|| 7)).unwrap().join(), Ok(7));
            assert_eq!(parent.state(), State::Suspended);
            go.set();
            assert_eq!(parent.join(), Ok(State::Done));
            q.wait_all();
        });
    });
}
