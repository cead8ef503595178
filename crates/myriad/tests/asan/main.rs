//! What AddressSanitizer says about fibers: it finds errors that were planted in them, and no
//! others. Built with `RUSTFLAGS="-Zsanitizer=address --cfg myriad_asan"` (`scripts/asan.sh`);
//! without, there is nothing here.
//!
//! The other half, that it reports nothing in right programs, is the behaviour tests' part, which
//! the script runs.

#![cfg(all(myriad_asan, unix))]

#[path = "../common/mod.rs"]
mod common;

use common::{Mode, assert_ok, case, in_child, stderr};
use myriad::channel::{Sender, bounded};
use std::hint::black_box;
use std::mem::{MaybeUninit, forget};

/// On a runtime in fiber mode with one worker, in a process of its own: runs `body` in a task that
/// was suspended before and whose stack has had other tasks. Returns what the process wrote.
fn fiber(options: &str, body: impl FnOnce() + Send) -> (bool, String) {
    let output = in_child(&[("ASAN_OPTIONS", options)], || {
        case(
            Mode::Fibers,
            1,
            |b| b,
            |rt| {
                rt.run(|| {
                    (0..3).for_each(|_| myriad::spawn(suspend).join().unwrap());
                    suspend();
                    body();
                });
            },
        );
    });
    (output.status.success(), stderr(&output))
}

/// Suspends the calling fiber, and goes on with it.
fn suspend() {
    let (tx, rx) = bounded(0);
    myriad::scope(|s| {
        s.spawn(|| tx.send(1).unwrap());
        assert_eq!(rx.recv(), Ok(1));
    });
}

/// The sanitizer has ended the process, with this error, and says that the frame `of` was in it.
#[track_caller]
fn assert_found((ended_well, text): (bool, String), error: &str, of: &str) {
    assert!(!ended_well && text.contains(error) && text.contains(of), "no '{error}' in '{of}':\n{text}");
}

#[inline(never)]
fn used_after_free() {
    let value = Box::into_raw(Box::new(7u64));
    // SAFETY: made above.
    drop(unsafe { Box::from_raw(value) });
    suspend();
    // SAFETY: not at all: it is freed.
    black_box(unsafe { value.read_volatile() });
}

#[test]
fn memory_that_was_freed() {
    assert_found(fiber("", used_after_free), "heap-use-after-free", "used_after_free");
}

#[inline(never)]
fn beyond_the_end() {
    let array = black_box([1u8; 40]);
    suspend();
    // SAFETY: not at all: it is one byte behind the array.
    black_box(unsafe { array.as_ptr().add(black_box(40)).read_volatile() });
}

#[test]
fn behind_a_local() {
    assert_found(fiber("", beyond_the_end), "stack-buffer-overflow", "beyond_the_end");
}

#[inline(never)]
fn used_after_its_scope() {
    let kept;
    {
        let inner = black_box([1u64; 8]);
        kept = black_box(inner.as_ptr());
    }
    suspend();
    // SAFETY: not at all: the scope is over.
    black_box(unsafe { kept.read_volatile() });
}

#[test]
fn a_local_after_its_scope() {
    assert_found(fiber("", used_after_its_scope), "stack-use-after-scope", "used_after_its_scope");
}

#[inline(never)]
fn returns_its_local() -> *const u64 {
    let local = black_box([1u64; 8]);
    black_box(local.as_ptr())
}

#[inline(never)]
fn used_after_the_return() {
    let kept = returns_its_local();
    suspend();
    // SAFETY: not at all: its frame is gone.
    black_box(unsafe { kept.read_volatile() });
}

/// The fiber's fake stack goes with it: what was on it before the fiber was suspended is known
/// afterwards.
#[test]
fn a_local_after_the_return() {
    let found = fiber("detect_stack_use_after_return=1", used_after_the_return);
    assert_found(found, "stack-use-after-return", "returns_its_local");
}

#[inline(never)]
fn leaks() {
    forget(black_box(Box::new([7u64; 100])));
    suspend();
}

#[test]
fn what_a_task_leaks() {
    assert_found(fiber("detect_leaks=1", leaks), "detected memory leaks", "leaks");
}

#[inline(never)]
fn blocks_for_ever(started: &Sender<()>) {
    let held = black_box(Box::new([7u64; 100]));
    let (_tx, rx) = bounded::<u8>(0);
    started.send(()).unwrap();
    _ = rx.recv();
    drop(black_box(held));
}

/// The process ends while tasks are blocked: what they hold is in use, and no leak.
#[test]
fn what_a_suspended_fiber_holds_is_no_leak() {
    let output = in_child(&[("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=0")], || {
        let rt = Mode::Fibers.runtime(1);
        let (tx, rx) = bounded(10);
        for _ in 0..10 {
            let tx = tx.clone();
            drop(rt.spawn(move || blocks_for_ever(&tx)));
        }
        (0..10).for_each(|_| rx.recv().unwrap());
        forget(rt);
    });
    assert_ok(&output);
}

/// Frames that a panic leaves have poisoned the shadow of the stack: who runs there next must not
/// meet that.
#[test]
fn panics_leave_a_clean_stack() {
    #[inline(never)]
    fn deep(n: usize) -> u8 {
        let frame = black_box([n as u8; 200]);
        if n == 0 {
            suspend();
            common::plan("deep down");
        }
        deep(n - 1) + frame[black_box(3)]
    }
    let (ended_well, text) = fiber("", || {
        for n in [1, 5, 20] {
            common::catch_planned("deep down", || deep(n));
            // All that is below, without a frame of its own that would clear it first.
            let mut below = MaybeUninit::<[u8; 16 << 10]>::uninit();
            black_box(below.as_mut_ptr());
            suspend();
        }
    });
    assert!(ended_well && !text.contains("Sanitizer"), "{text}");
    assert!(!text.contains("ASan"), "{text}");
}
