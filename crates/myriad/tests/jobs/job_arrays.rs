//! What an array that did not end well says.

use crate::common::{PLANNED, in_both_modes};
use crate::job_engine::until;
use myriad::jobs::{Job, JobId, Local, State};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// 10, 16: the text is that of an element that did not end well; one that did so at last says
/// nothing.
#[test]
fn r10_the_reason_is_of_an_element_that_failed() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().start();
            let tries = AtomicUsize::new(0);
            let list = Job::array(3, move |element| {
                let first = element == 2 && tries.fetch_add(1, Relaxed) == 0;
                assert!(element != 1 && !first, "{PLANNED}: here");
            });
            let list = q.submit(list.at_once(1).retries(1)).unwrap();
            let id = list.id();
            let error = list.join().unwrap_err().to_string();
            assert_eq!(error, format!("job {id} failed: element 1: panicked: {PLANNED}: here"));
        });
    });
}

/// 8, 9: so is that of one whose time was over, or that was cancelled.
#[test]
fn r09_the_reason_is_a_wall_time_or_a_cancellation() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let waits = |element| {
                if element == 1 {
                    myriad::time::sleep(LONG);
                }
            };
            let list = q.submit(Job::array(2, waits).wall_time(Duration::from_millis(2))).unwrap();
            let error = list.join().unwrap_err().to_string();
            assert!(error.ends_with("element 1: its wall time was over"), "{error}");

            let list = q.submit(Job::array(2, waits)).unwrap();
            let element = JobId::from_u64(list.id().as_u64() + 2);
            until(|| q.state(element) == Ok(State::Running));
            q.cancel(element).unwrap();
            let error = list.join().unwrap_err().to_string();
            assert!(error.ends_with("element 1 was cancelled"), "{error}");
            q.wait_all();
        });
    });
}
