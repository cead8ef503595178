//! Scripts of nodes: each starts once, after all that it waits for, and sees what these have left;
//! whoever waits for an end is told.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_base::sys::cell::UnsafeCell;
use myriad_flow::protocol::{Countdown, Edge, Ending, OnceBox};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A value whose reads and writes are watched.
pub struct Value(UnsafeCell<u32>);

// SAFETY: the models look whether it is reached in order.
unsafe impl Sync for Value {}
// SAFETY: as above: the value itself may be anywhere.
unsafe impl Send for Value {}

impl Value {
    pub fn new(value: u32) -> Value {
        let new = Value(UnsafeCell::new(0));
        new.set(value);
        new
    }
    pub fn set(&self, value: u32) {
        // SAFETY: loom looks whether somebody reads or writes meanwhile.
        self.0.with_mut(|place| unsafe { *place = value });
    }
    pub fn get(&self) -> u32 {
        // SAFETY: loom looks whether somebody writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }
}

type Parent = Arc<Ending<Result<Value, ()>, Child>>;

/// A node that waits for up to two parents.
struct Child {
    parents: Vec<Parent>,
    edges: [Edge<Child>; 2],
    countdown: Countdown,
    /// In std's words, which order nothing in a model.
    starts: AtomicUsize,
    sum: AtomicUsize,
}

impl Child {
    /// As `flow::spawn` makes a node.
    fn spawn(parents: Vec<Parent>) -> Arc<Child> {
        let child = Arc::new(Child {
            parents,
            edges: Default::default(),
            countdown: Countdown::new(),
            starts: AtomicUsize::new(0),
            sum: AtomicUsize::new(0),
        });
        let mut waits_for = 0;
        for (parent, edge) in child.parents.iter().zip(&child.edges) {
            // SAFETY: the edge lies in the child, and is added once.
            if unsafe { parent.add(edge, child.clone()) }.is_ok() {
                waits_for += 1;
            } else if parent.error().is_some() {
                child.countdown.doom();
            }
        }
        if child.countdown.made(waits_for) {
            child.start();
        }
        child
    }

    fn start(&self) {
        assert_eq!(self.starts.fetch_add(1, SeqCst), 0, "started twice");
        if !self.countdown.is_doomed() {
            let values = self.parents.iter().map(|parent| match parent.outcome() {
                Some(Ok(value)) => value.get() as usize,
                _ => panic!("started before its parents have ended"),
            });
            self.sum.store(values.sum(), SeqCst);
        }
    }
}

fn end(parent: &Parent, outcome: Result<Value, ()>) {
    let with_error = outcome.is_err();
    let Some(claim) = parent.claim() else { panic!("nobody else ends it") };
    for child in claim.end(outcome) {
        if child.countdown.one_ended(with_error) {
            child.start();
        }
    }
}

/// A parent ends while a node is made that waits for it.
fn a_parent_ends_during_the_spawn() {
    let parent = Parent::default();
    let ends = parent.clone();
    let other = thread::spawn(move || end(&ends, Ok(Value::new(7))));
    let child = Child::spawn(vec![parent]);
    other.join().unwrap();
    assert_eq!((child.starts.load(SeqCst), child.sum.load(SeqCst)), (1, 7));
    assert_eq!(Arc::strong_count(&child), 1, "an edge holds it");
}

/// Two parents end at the same time.
fn two_parents_end() {
    let (a, b) = (Parent::default(), Parent::default());
    let child = Child::spawn(vec![a.clone(), b.clone()]);
    let other = thread::spawn(move || end(&a, Ok(Value::new(30))));
    end(&b, Ok(Value::new(4)));
    other.join().unwrap();
    assert_eq!((child.starts.load(SeqCst), child.sum.load(SeqCst)), (1, 34));
}

/// Two nodes begin to wait for the same one, which ends meanwhile.
fn two_wait_for_one() {
    let parent = Parent::default();
    let (ends, mine) = (parent.clone(), parent.clone());
    let other = thread::spawn(move || Child::spawn(vec![mine]));
    let third = thread::spawn(move || end(&ends, Ok(Value::new(5))));
    let child = Child::spawn(vec![parent]);
    let sibling = other.join().unwrap();
    third.join().unwrap();
    for child in [child, sibling] {
        assert_eq!((child.starts.load(SeqCst), child.sum.load(SeqCst)), (1, 5));
    }
}

/// A parent fails, and another one ends well, during the spawn: the node is told of the failure.
fn one_parent_fails() {
    let (a, b) = (Parent::default(), Parent::default());
    let (fails, ends) = (a.clone(), b.clone());
    let other = thread::spawn(move || {
        end(&fails, Err(()));
        end(&ends, Ok(Value::new(1)));
    });
    let child = Child::spawn(vec![a, b]);
    other.join().unwrap();
    assert_eq!(child.starts.load(SeqCst), 1);
    assert!(child.countdown.is_doomed());
}

/// Two want to end the same.
fn two_claims() {
    let parent = Parent::default();
    let child = Child::spawn(vec![parent.clone()]);
    let p = parent.clone();
    let tries = |parent: &Parent, value| {
        parent.claim().is_some_and(|claim| {
            claim.end(Ok(Value::new(value))).for_each(|child| {
                assert!(child.countdown.one_ended(false));
                child.start();
            });
            true
        })
    };
    let other = thread::spawn(move || tries(&p, 1));
    let mine = tries(&parent, 2);
    let theirs = other.join().unwrap();
    assert_ne!(mine, theirs);
    assert_eq!(child.sum.load(SeqCst), if mine { 2 } else { 1 });
}

/// Whoever blocks makes an event for that: who ends the node sees the event, or the other the end.
fn an_event_made_late() {
    let (parent, event) = (Parent::default(), Arc::new(OnceBox::<AtomicBool>::default()));
    let (ends, sets) = (parent.clone(), event.clone());
    let other = thread::spawn(move || {
        end(&ends, Ok(Value::new(9)));
        if let Some(event) = sets.get() {
            event.store(true, SeqCst);
        }
    });
    let made = event.get_or_make(|| AtomicBool::new(false));
    let sleeps = !parent.has_ended_by_now();
    other.join().unwrap();
    assert!(!sleeps || made.load(SeqCst), "a sleeper is forgotten");
    assert_eq!(parent.outcome().map(|outcome| outcome.as_ref().map(Value::get)), Some(Ok(9)));
}

/// Whoever finds by a look that it has ended sees how.
fn a_look_finds_the_end() {
    let parent = Parent::default();
    let ends = parent.clone();
    let other = thread::spawn(move || end(&ends, Ok(Value::new(3))));
    if let Some(outcome) = parent.outcome() {
        assert_eq!(outcome.as_ref().map(Value::get), Ok(3));
    }
    other.join().unwrap();
}

/// Two make the same box.
fn a_box_made_by_two() {
    let event = Arc::new(OnceBox::<Value>::default());
    let e = event.clone();
    let other = thread::spawn(move || e.get_or_make(|| Value::new(1)).get());
    let mine = event.get_or_make(|| Value::new(2)).get();
    assert_eq!(mine, other.join().unwrap());
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, mutants, ..SCRIPT }
}

pub const SCRIPTS: &[Script] = &[
    script(
        "nodes.a_parent_ends_during_the_spawn",
        a_parent_ends_during_the_spawn,
        &["ending-add", "ending-end", "countdown-made"],
    ),
    script("nodes.two_parents_end", two_parents_end, &["countdown-ended"]),
    Script {
        threads: 3,
        bound: (Some(3), None),
        ..script("nodes.two_wait_for_one", two_wait_for_one, &["ending-end"])
    },
    script("nodes.one_parent_fails", one_parent_fails, &["countdown-made"]),
    script("nodes.two_claims", two_claims, &[]),
    script("nodes.an_event_made_late", an_event_made_late, &["looks-early"]),
    script("nodes.a_look_finds_the_end", a_look_finds_the_end, &["ending-has-ended", "ending-end"]),
    script("nodes.a_box_made_by_two", a_box_made_by_two, &["once-box-make"]),
];
