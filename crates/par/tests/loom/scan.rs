//! Scripts of the chain of a scan: every member sees the values that it combines, in order, and
//! nobody sleeps for ever.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_par::model::Blocks;
use std::sync::Arc;

fn reduced(blocks: &Blocks, block: usize, value: u64) {
    // SAFETY: each script has each block with one thread, which does this once.
    unsafe { blocks.reduced(block, value) }
}

fn finish(blocks: &Blocks, block: usize) -> Option<u64> {
    // SAFETY: each script has each block with one thread, which has reduced it, and does this once.
    unsafe { blocks.finish(block) }
}

/// One has the first block, the other the second, and needs the first one's.
fn two_blocks() {
    let blocks = Arc::new(Blocks::new(2));
    let b = blocks.clone();
    let other = thread::spawn(move || {
        reduced(&b, 1, 2);
        assert_eq!(finish(&b, 1), Some(12));
    });
    reduced(&blocks, 0, 1);
    assert_eq!(finish(&blocks, 0), Some(1));
    other.join().unwrap();
}

/// One has two blocks, and has only reduced the second when the other looks back: to an aggregate,
/// and a prefix behind it.
fn back_over_an_aggregate() {
    let blocks = Arc::new(Blocks::new(3));
    let b = blocks.clone();
    let other = thread::spawn(move || {
        reduced(&b, 2, 3);
        assert_eq!(finish(&b, 2), Some(123));
    });
    reduced(&blocks, 0, 1);
    reduced(&blocks, 1, 2);
    assert_eq!(finish(&blocks, 0), Some(1));
    assert_eq!(finish(&blocks, 1), Some(12));
    other.join().unwrap();
}

/// Who has the first block panics: nobody waits for it any more.
fn a_failure_wakes() {
    let blocks = Arc::new(Blocks::new(2));
    let b = blocks.clone();
    let other = thread::spawn(move || {
        reduced(&b, 1, 2);
        assert_eq!(finish(&b, 1), None);
    });
    blocks.fail();
    other.join().unwrap();
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, owners: 2, spins: true, bound: (Some(3), None), mutants, ..SCRIPT }
}

pub const SCRIPTS: &[Script] = &[
    script(
        "scan.two_blocks",
        two_blocks,
        &["prefix-release", "look-acquire", "tell-fence", "sleep-fence", "notify-unlocked"],
    ),
    script("scan.back_over_an_aggregate", back_over_an_aggregate, &["aggregate-release", "look-acquire"]),
    script("scan.a_failure_wakes", a_failure_wakes, &["tell-fence", "sleep-fence", "notify-unlocked"]),
];
