//! Scripts of a graph's counts: of the nodes in front of one, exactly one is told that it was the
//! last, and sees what all have left; and the count is as before.

use super::nodes::Value;
use super::{SCRIPT, Script};
use loom::thread;
use myriad_flow::protocol::Count;
use std::sync::Arc;

/// Two nodes end, in two runs.
fn two_runs(again: bool) {
    let both = Arc::new((Count::new(2), Value::new(0), Value::new(0)));
    for run in 1..3 {
        let last = move |both: &(Count, Value, Value)| {
            let is_last = both.0.is_last(again);
            if is_last {
                assert_eq!((both.1.get(), both.2.get()), (run, run));
            }
            is_last
        };
        let theirs = both.clone();
        let other = thread::spawn(move || {
            theirs.1.set(run);
            last(&theirs)
        });
        both.2.set(run);
        let mine = last(&both);
        assert_ne!(mine, other.join().unwrap());
    }
}

fn the_last_sees_all() {
    two_runs(false);
}

fn the_last_sees_all_among_choices() {
    two_runs(true);
}

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "counts.the_last_sees_all",
        run: the_last_sees_all,
        threads: 3,
        mutants: &["count-last", "count-ended"],
        ..SCRIPT
    },
    Script {
        name: "counts.the_last_sees_all_among_choices",
        run: the_last_sees_all_among_choices,
        threads: 3,
        mutants: &["count-in-one-step"],
        ..SCRIPT
    },
];
