//! Where a task stands in the order of the serial program, in 64 bits.
//!
//! ```text
//!  63                            16 15        6 5       0
//!  path: 16 digits of three bits   | 1023-depth | digits     rank of a queued task: the lower goes first
//! ```
//! The serial program runs each child where it is spawned, to its end (the "1DF order" of the
//! literature): a task comes after its parent, after its earlier siblings and all below them, and
//! before its later siblings. The numbers of the siblings on the way from the root, compared from
//! the left, say just that. The *path* holds them, in a code that keeps the order: siblings 0 to 6
//! are one digit, the next 63 are a 7 and two digits, then 77 more than that and four digits, and
//! eight.
//!
//! **What is not exact.** A path has room for 16 generations of up to seven children, or five of a
//! hundred. Below that all have their ancestor's path, and then the *deeper* one goes first, of
//! equals the one spawned first: on one worker this is the serial order still, and on several it
//! keeps the live tasks few. Beyond 1023 generations the newest goes first.
//!
//! A task that has begun has a [`Label`]: the path of its next child, how much of it is its own,
//! its depth. It stands in a table by the address of the record ([`Labels`]), which *forgets*: who
//! comes to the same place takes it. Then what the task spawns from there on counts as spawned from
//! outside, behind all else. A table has room for eight thousand, and the policy begins few tasks
//! at a time.
//!
//! **Rejected.** *A list of all live tasks in serial order* (Narlikar and Blelloch's AsyncDF):
//! exact, and a lock for all, and each task's end would have to take it out, also where the policy
//! is another one. *Depth alone:* the same on one worker, but several would wander about in as many
//! subtrees, while the order is there to keep them in one. *The label in the record*: its words are
//! all in use (`idx` says where a task waits), and one more is a line more.

use crate::record::header::Header;
// Std's: hints, and no part of any protocol.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bits of a path.
const PATH: u32 = 48;
const DIGITS: u32 = PATH / 3;
const DEEPEST: u64 = 1023;

/// The rank of a task that was spawned outside of all tasks: behind all that belong to one.
pub(super) const OUTSIDE: u64 = rank(u64::MAX >> (64 - PATH), 0, 0);

const fn rank(path: u64, depth: u64, digits: u32) -> u64 {
    path << 16 | (DEEPEST - depth) << 6 | digits as u64
}

/// Is it so deep that of equals the newest goes first?
pub(super) fn is_deepest(rank: u64) -> bool {
    rank >> 6 & DEEPEST == 0
}

/// What is known of a task that has begun: see the module's header.
/// `next << 15 | digits << 10 | depth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(u64);

impl Label {
    /// Of a task that is taken out of the queue with this rank.
    pub(super) fn of(rank: u64) -> Label {
        let digits = (rank & 63) as u32;
        // Only its own digits: a task from outside has none.
        let own = (rank >> 16) & !(u64::MAX >> (64 - PATH) >> (3 * digits));
        Label::new(own, digits, DEEPEST - (rank >> 6 & DEEPEST))
    }

    fn new(next: u64, digits: u32, depth: u64) -> Label {
        Label(next << 15 | u64::from(digits) << 10 | depth)
    }

    /// The rank of the next child, and the label afterwards.
    pub(super) fn child(self) -> (u64, Label) {
        let (next, digits, depth) = (self.0 >> 15, (self.0 >> 10 & 31) as u32, self.0 & DEEPEST);
        let below = (depth + 1).min(DEEPEST);
        match code(next, digits) {
            Some(end) => (rank(next, below, end), Label::new(next + (1 << (PATH - 3 * end)), digits, depth)),
            // No room: all children from here on share the path.
            None => (rank(next, below, DIGITS), self),
        }
    }
}

/// The labels of tasks that have begun, by the addresses of their records.
///
/// Each entry is two words, read and written one after the other: what does not fit together is
/// taken for another's. The addresses are compared, never followed.
#[derive(Debug)]
pub(super) struct Labels(Box<[[AtomicUsize; 2]]>);

const LABELS: usize = 1 << 13;

impl Labels {
    pub(super) fn new() -> Labels {
        Labels((0..LABELS).map(|_| Default::default()).collect())
    }

    fn entry(&self, task: *const Header) -> &[AtomicUsize; 2] {
        let hash = (task.addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(hash >> (64 - LABELS.ilog2())) as usize]
    }

    pub(super) fn set(&self, task: *const Header, label: Label) {
        let [key, value] = self.entry(task);
        // Relaxed, all: the task's own worker sets and gets, one after the other; what another one
        // does in between is noticed.
        key.store(task.addr() ^ label.0 as usize, Relaxed);
        value.store(label.0 as usize, Relaxed);
    }

    pub(super) fn get(&self, task: *const Header) -> Option<Label> {
        let [key, value] = self.entry(task);
        let label = value.load(Relaxed);
        (key.load(Relaxed) ^ label == task.addr()).then_some(Label(label as u64))
    }
}

/// Where the child's number ends that begins behind so many digits of `next`. `None`: it does not
/// fit.
fn code(next: u64, own: u32) -> Option<u32> {
    let (mut at, mut group) = (own, 1);
    while group <= 8 && at + group <= DIGITS {
        let last = (1u64 << (3 * group)) - 1;
        if next >> (PATH - 3 * (at + group)) & last != last {
            return Some(at + group);
        }
        at += group;
        group *= 2;
    }
    None
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    /// The ranks of a tree in serial order, as its tasks would be queued.
    fn walk(rank: u64, depth: usize, fan_out: &dyn Fn(usize) -> usize, out: &mut Vec<u64>) {
        out.push(rank);
        let mut label = Label::of(rank);
        for _ in 0..fan_out(depth) {
            let (child, next) = label.child();
            label = next;
            walk(child, depth + 1, fan_out, out);
        }
    }

    fn below_root(fan_out: &dyn Fn(usize) -> usize) -> Vec<u64> {
        let mut all = Vec::new();
        walk(OUTSIDE, 0, fan_out, &mut all);
        all.remove(0);
        all
    }

    /// Each task's own rank is below those of all that the serial program starts later, unless one
    /// of them is below it.
    #[test]
    fn ranks_rise_in_serial_order() {
        let shapes: [&dyn Fn(usize) -> usize; 5] = [
            &|depth| if depth < 12 { 2 } else { 0 },
            &|depth| if depth < 5 { 10 } else { 0 },
            &|depth| if depth == 0 { 5_000 } else { usize::from(depth < 4) },
            &|depth| if depth < 2 { 100 } else { 0 },
            &|depth| if depth < 16 { usize::from(depth != 3) + usize::from(depth == 3) * 7 } else { 0 },
        ];
        for (i, shape) in shapes.iter().enumerate() {
            let ranks = below_root(shape);
            // A path is a parent's with zeros behind it: a first child has the same, is deeper, and
            // is queued when the parent has begun. So compare paths.
            assert!(ranks.is_sorted_by_key(|rank| rank >> 16), "shape {i}");
            // And siblings differ: nobody else but ancestors has the same path.
            let mut paths: Vec<_> = ranks.iter().map(|rank| (rank >> 16, rank >> 6 & DEEPEST)).collect();
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths.len(), ranks.len(), "shape {i}");
        }
    }

    /// Without room, the deeper one goes first, and nothing of an earlier subtree comes after a
    /// later sibling.
    #[test]
    fn without_room_the_deeper_goes_first() {
        let mut chain = vec![OUTSIDE];
        for _ in 0..2_000 {
            let mut label = Label::of(*chain.last().unwrap());
            let (first, next) = label.child();
            label = next;
            let (second, _) = label.child();
            assert!(first <= second);
            chain.push(first);
        }
        assert!(
            chain.windows(2).take(1_023).all(|w| w[1] < w[0]),
            "a child goes before what is left of its parent's level"
        );
        assert!(is_deepest(chain[1_023]) && !is_deepest(chain[1_022]) && is_deepest(chain[2_000]));
        // Many children of one: the path fills up, and does not run over into the next one's.
        let (mut wide, _) = Label::of(OUTSIDE).child();
        let (sibling, _) = Label::of(OUTSIDE).child().1.child();
        for _ in 0..14 {
            wide = Label::of(wide).child().0;
        }
        let mut label = Label::of(wide);
        for _ in 0..1_000 {
            let (child, next) = label.child();
            assert!(child < sibling);
            label = next;
        }
    }

    #[test]
    fn labels_are_found_or_forgotten() {
        let labels = Labels::new();
        let task = |i: usize| std::ptr::without_provenance::<Header>(64 * (i + 1));
        let label = |i: usize| Label::new(i as u64, 3, 5);
        let some = LABELS / 8;
        (0..some).for_each(|i| labels.set(task(i), label(i)));
        let found: Vec<_> = (0..some).filter(|&i| labels.get(task(i)).is_some()).collect();
        assert!(found.len() > some / 2, "{} of {some}", found.len());
        assert!(found.iter().all(|&i| labels.get(task(i)) == Some(label(i))));
        assert_eq!(labels.get(task(some)), None);
        assert!(Label::of(OUTSIDE) == Label::new(0, 0, 0) && Label::of(OUTSIDE).child().0 < OUTSIDE);
    }
}
