//! Prints: 4999950000
//!
//! A tree of tasks: each makes ten children, down to 100,000 leaves; a leaf returns its number, a
//! parent the sum of its children. That are 111,111 tasks with a handle each, most of which are
//! never moved, queued behind a lock or given a stack of their own: the parent that joins them runs
//! them in place.

fn node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let share = leaves / 10;
    let children: Vec<_> = (0..10).map(|i| myriad::spawn(move || node(first + i * share, share))).collect();
    children.into_iter().map(|child| child.join().unwrap()).sum()
}

fn main() {
    println!("{}", myriad::run(|| node(0, 100_000)));
}
