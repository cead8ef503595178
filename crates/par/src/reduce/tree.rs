//! A reduction over leaves by a fixed binary tree, split lazily.
//!
//! ```text
//!  node(lo, hi): left = node(lo, m), right = node(m, hi), with m = lo + the largest power of two below hi - lo
//!
//!  leaf by leaf:   done = [8][2][1]   the complete trees of lo..at, as the bits of at - lo: a binary counter
//!  a worker is idle,   at < m:     join(go on with lo..m, node(m, hi))
//!                      at >= m:    done[0] is node(lo, m); go on with m..hi, which may split in its turn
//! ```
//! So whoever works on a node, and wherever it is split, combines the same values: what a serial
//! run would do leaf by leaf, too.
//!
//! **Rejected.** Recursion by halves with a look at each node: the decision not to split the root
//! is made before any worker can be idle, and then half of all is out of reach. Blocks per worker:
//! the result would depend on their number.

use crate::grain::Grain;
use crate::unwind::Stop;
use myriad_core::engine::split::{on_worker, publish};
use myriad_core::{cancel, join};

/// Combines the values of leaves `0..count`, at least one.
#[track_caller]
pub(crate) fn tree<T: Send>(count: usize, leaf: &(impl Fn(usize) -> T + Sync), op: &(impl Fn(T, T) -> T + Sync)) -> T {
    let tree = Tree { leaf, op, stop: Stop::default() };
    let value = on_worker(|| tree.node(0, count, Grain::new(None)));
    value.expect("without a panic no part stops")
}

struct Tree<'a, L, O> {
    leaf: &'a L,
    op: &'a O,
    /// A part unwinds: the others stop. (Its panic goes on through the joins.)
    stop: Stop,
}

impl<L, O, T> Tree<'_, L, O>
where
    L: Fn(usize) -> T + Sync,
    O: Fn(T, T) -> T + Sync,
    T: Send,
{
    /// The value of a node; `None` if another part unwinds.
    fn node(&self, lo: usize, hi: usize, grain: Grain) -> Option<T> {
        self.go_on(Vec::new(), lo, lo, hi, grain)
    }

    /// The same, when the leaves up to `at` are done.
    fn go_on(&self, mut done: Vec<T>, mut at: usize, lo: usize, hi: usize, mut grain: Grain) -> Option<T> {
        let guard = self.stop.on_unwind();
        loop {
            cancel::check();
            if self.stop.is_set() {
                guard.disarm();
                return None;
            }
            let piece = grain.begin(hi - at);
            for leaf in at..at + piece.len {
                let mut value = (self.leaf)(leaf);
                for _ in 0..(leaf - lo).trailing_ones() {
                    value = (self.op)(done.pop().expect("a tree for each bit"), value);
                }
                done.push(value);
            }
            at += piece.len;
            if at == hi {
                let value = done.into_iter().rev().reduce(|right, left| (self.op)(left, right));
                guard.disarm();
                return value;
            }
            if grain.end(piece, hi - at) {
                guard.disarm();
                return self.split(done, at, lo, hi, grain);
            }
        }
    }

    #[cold]
    fn split(&self, mut done: Vec<T>, at: usize, lo: usize, hi: usize, grain: Grain) -> Option<T> {
        let grain = grain.for_a_part();
        let middle = lo + largest_power_below(hi - lo);
        if at >= middle {
            let left = done.remove(0);
            let right =
                if at == middle { self.node(middle, hi, grain) } else { self.go_on(done, at, middle, hi, grain) };
            return Some((self.op)(left, right?));
        }
        let near = || {
            publish();
            self.go_on(done, at, lo, middle, grain)
        };
        let (left, right) = join(near, || self.node(middle, hi, grain));
        Some((self.op)(left?, right?))
    }
}

/// Of a number that is at least 2.
fn largest_power_below(n: usize) -> usize {
    1 << (n - 1).ilog2()
}

#[cfg(test)]
mod test {
    use super::*;

    /// The tree as it is defined.
    fn by_definition(lo: usize, hi: usize) -> String {
        if hi - lo == 1 {
            return lo.to_string();
        }
        let middle = lo + largest_power_below(hi - lo);
        format!("({} {})", by_definition(lo, middle), by_definition(middle, hi))
    }

    fn op(a: String, b: String) -> String {
        format!("({a} {b})")
    }

    #[test]
    fn leaf_by_leaf_it_is_the_tree() {
        for n in 1..70 {
            assert_eq!(tree(n, &|i| i.to_string(), &op), by_definition(0, n), "{n} leaves");
        }
    }

    /// Split at each place, again and again.
    #[test]
    fn wherever_it_is_split_it_is_the_tree() {
        for n in 2..40 {
            for at in 1..n {
                let leaf = |i: usize| i.to_string();
                let tree = Tree { leaf: &leaf, op: &op, stop: Stop::default() };
                let mut done = Vec::new();
                for i in 0..at {
                    let mut value = leaf(i);
                    for _ in 0..i.trailing_ones() {
                        value = op(done.pop().unwrap(), value);
                    }
                    done.push(value);
                }
                let value = tree.split(done, at, 0, n, Grain::new(None)).unwrap();
                assert_eq!(value, by_definition(0, n), "{n} leaves, split at {at}");
            }
        }
    }
}
