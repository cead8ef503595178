//! Scripts of a body that is run, and cancelled: each request is heard once at most, and the runner
//! is still there while it is marked.

use super::nodes::Value;
use super::{SCRIPT, Script};
use loom::thread;
use myriad_flow::protocol::Cancellable;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The record of a task, as far as it matters: what it was when it began, and whether it is marked.
struct Record {
    begun: Value,
    marked: Value,
}

/// A body, and the record of the task that runs it.
struct Body {
    running: Cancellable<*const Record>,
    record: Record,
    calls: AtomicUsize,
}

// SAFETY: the pointer is to the record beside it; loom looks how that is reached.
unsafe impl Sync for Body {}
// SAFETY: the pointer is to the record beside it, which goes with it.
unsafe impl Send for Body {}

impl Body {
    fn new() -> Arc<Body> {
        let record = Record { begun: Value::new(0), marked: Value::new(0) };
        Arc::new(Body { running: Cancellable::new(), record, calls: AtomicUsize::new(0) })
    }

    /// The runner's side; true: it was marked.
    fn run(&self) -> bool {
        self.record.begun.set(7);
        // SAFETY: each script runs it once.
        let ran = unsafe {
            self.running.run(&raw const self.record, || {
                self.calls.fetch_add(1, SeqCst);
            })
        };
        let was_marked = matches!(ran, Ok(((), true)));
        // The task ends, and its record is another's.
        self.record.begun.set(0);
        assert_eq!(self.record.marked.get() > 0, was_marked);
        self.record.marked.set(9);
        was_marked
    }

    /// The other side; true: it has marked the runner.
    fn cancel(&self) -> bool {
        let marked = self.running.cancel(|record| {
            // SAFETY: the runner does not end before this has returned: the record stands.
            let record = unsafe { &*record };
            assert_eq!(record.begun.get(), 7, "the record of another task is marked");
            record.marked.set(record.marked.get() + 1);
        });
        marked.is_some()
    }
}

/// Somebody cancels it before, while or after it runs.
fn a_cancel() {
    let body = Body::new();
    let other = body.clone();
    let cancels = thread::spawn(move || other.cancel());
    let was_marked = body.run();
    let has_marked = cancels.join().unwrap();
    assert_eq!(was_marked, has_marked);
    // Marked tasks had begun with it.
    assert!(!was_marked || body.calls.load(SeqCst) == 1);
}

/// Two cancel it: one of them marks it at most.
fn two_cancels() {
    let body = Body::new();
    let cancels = [body.clone(), body.clone()].map(|body| thread::spawn(move || body.cancel()));
    let was_marked = body.run();
    let marks = cancels.map(|cancels| cancels.join().unwrap()).into_iter().filter(|marked| *marked).count();
    assert_eq!(marks, usize::from(was_marked));
}

/// Once somebody has cancelled it, it does not begin.
fn an_early_cancel() {
    let body = Body::new();
    let other = body.clone();
    thread::spawn(move || assert!(!other.cancel())).join().unwrap();
    assert!(!body.run());
    assert_eq!(body.calls.load(SeqCst), 0);
}

/// The runner never goes on, and its runtime ends, after which its record is another's: nobody is
/// at it then.
fn an_abandoned_runner() {
    let body = Body::new();
    let other = body.clone();
    body.record.begun.set(7);
    let cancels = {
        // SAFETY: called once.
        let ran = unsafe {
            body.running.run(&raw const body.record, || {
                let cancels = thread::spawn(move || other.cancel());
                body.running.abandon();
                body.record.begun.set(0);
                body.record.marked.set(9);
                cancels
            })
        };
        ran.unwrap_or_else(|_| panic!("nobody has cancelled it yet")).0
    };
    cancels.join().unwrap();
}

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "running.a_cancel",
        run: a_cancel,
        mutants: &[
            "running-begin",
            "running-asks",
            "running-asked",
            "running-goes-on",
            "running-unmarked",
            "running-does-not-wait",
        ],
        ..SCRIPT
    },
    Script { name: "running.two_cancels", run: two_cancels, threads: 3, bound: (Some(3), None), ..SCRIPT },
    Script {
        name: "running.an_abandoned_runner",
        run: an_abandoned_runner,
        mutants: &["running-is-abandoned", "running-abandons-at-once"],
        ..SCRIPT
    },
    Script { name: "running.an_early_cancel", run: an_early_cancel, ..SCRIPT },
];
