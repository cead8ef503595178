//! Each task that is created begins and ends, once, whatever way it takes through the engine; and
//! what is set aside is woken.

use crate::record::step::{Step, observer};
use crate::runtime::{Builder, Runtime};
use myriad_base::stack::switch::FIBERS_SUPPORTED;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NAME: &str = "observed";

/// The steps of `body`, on the one worker of a runtime.
fn steps(rt: &Runtime, body: impl FnOnce() + Send) -> Vec<(Step, usize)> {
    rt.run(|| {
        _ = observer::watch(NAME);
        body();
        observer::watch("")
    })
}

fn in_both_modes(body: impl Fn(&Runtime)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let build = |builder: Builder| builder.workers(1).spare_workers(0).name(NAME).build().unwrap();
    body(&build(Builder::new()));
    if FIBERS_SUPPORTED {
        // SAFETY: the tasks below keep no thread-local over a wait.
        body(&build(unsafe { Builder::fibers() }));
    }
}

/// How often each step came, of the tasks or of the nodes.
fn count(steps: &[(Step, usize)], step: Step) -> usize {
    steps.iter().filter(|(seen, _)| *seen == step).count()
}

/// Records are used again, so what counts is the order at each address.
fn assert_lives(steps: &[(Step, usize)], tasks: usize) {
    let mut at: HashMap<usize, Step> = HashMap::new();
    for &(step, of) in steps {
        let before = match step {
            Step::Created => None,
            Step::Begins => Some(Step::Created),
            Step::Ends => Some(Step::Begins),
            Step::SetAside | Step::Woken => continue,
        };
        let found = at.insert(of, step).filter(|last| *last != Step::Ends);
        assert_eq!(found, before, "{step:?} at {of:#x} in {steps:?}");
    }
    assert_eq!(count(steps, Step::Created), tasks, "{steps:?}");
    assert!(at.values().all(|last| *last == Step::Ends), "{steps:?}");
}

#[test]
fn a_task_that_its_joiner_claims() {
    in_both_modes(|rt| {
        assert_lives(&steps(rt, || assert_eq!(crate::spawn(|| 7).join().unwrap(), 7)), 1);
        assert_lives(&steps(rt, || drop(crate::spawn(panic_quietly).join().unwrap_err())), 1);
    });
}

#[test]
fn both_ways_of_a_join() {
    in_both_modes(|rt| {
        assert_lives(&steps(rt, || assert_eq!(crate::join(|| 1, || 2), (1, 2))), 1);
        // The second one is taken by the loop, while the first one is set aside.
        let seen = steps(rt, || assert_eq!(crate::join(crate::yield_now, || 2), ((), 2)));
        assert_lives(&seen, 1);
        let seen = steps(rt, || {
            assert!(std::panic::catch_unwind(|| crate::join(|| (), panic_quietly)).is_err());
        });
        assert_lives(&seen, 1);
    });
}

#[test]
fn tasks_of_a_scope_and_detached_ones() {
    in_both_modes(|rt| {
        let seen = steps(rt, || {
            crate::scope(|s| {
                (0..3).for_each(|_| _ = s.spawn(|| ()));
            });
            let ran = Arc::new(AtomicBool::new(false));
            let runs = ran.clone();
            drop(crate::spawn(move || runs.store(true, SeqCst)));
            // On the only worker the task has ended when this one goes on.
            while !ran.load(SeqCst) {
                crate::time::sleep(Duration::from_micros(100));
            }
        });
        assert_lives(&seen, 4);
    });
}

#[test]
fn what_is_set_aside_is_woken() {
    in_both_modes(|rt| {
        let seen = steps(rt, || {
            let late = crate::spawn(|| {
                crate::time::sleep(Duration::from_millis(1));
            });
            late.join().unwrap();
        });
        assert_lives(&seen, 1);
        let nodes = |step| {
            let mut nodes: Vec<usize> = seen.iter().filter(|(s, _)| *s == step).map(|&(_, of)| of).collect();
            nodes.sort_unstable();
            nodes
        };
        assert!(!nodes(Step::SetAside).is_empty(), "{seen:?}");
        assert_eq!(nodes(Step::Woken), nodes(Step::SetAside), "{seen:?}");
    });
}

/// Without a message on the standard error.
fn panic_quietly() {
    std::panic::resume_unwind(Box::new(()));
}
