//! What a task can count on: half of a stack, whatever it runs on top of. Enough for `std`'s own
//! hungry functions.
//!
//! Each in a process of its own, because too little room ends the process.
#![cfg(unix)]

use crate::common::{MODES, Mode, assert_ok, in_child};
use myriad::{join, spawn};
use std::hint::black_box;

/// Runs `body` on top of so many tasks that wait for each other, for depths from 0 to where a fresh
/// stack begins.
fn at_depths(mode: Mode, stack: Option<usize>, step: usize, body: fn()) {
    fn nest(depth: usize, body: fn()) {
        match depth {
            0 => body(),
            _ if depth.is_multiple_of(2) => spawn(move || nest(depth - 1, body)).join().unwrap(),
            _ => _ = join(|| nest(depth - 1, body), || ()),
        }
    }
    let builder = mode.builder().workers(1);
    let rt = if let Some(bytes) = stack { builder.stack_size(bytes) } else { builder }.build().unwrap();
    // A level takes some hundred bytes; so this is more than one stack of fibers, and a good part
    // of a thread's.
    let (most, step) = if mode == Mode::Fibers { (120, step) } else { (2400, 200 * step) };
    for depth in (0..most).step_by(step) {
        rt.run(|| nest(depth, body));
    }
    assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
}

fn in_both(stack: Option<usize>, env: &[(&str, &str)], step: usize, body: fn()) {
    let output = in_child(env, || {
        for mode in MODES {
            if mode == Mode::Threads || crate::common::fibers_supported() {
                at_depths(mode, if mode == Mode::Fibers { stack } else { None }, step, body);
            }
        }
    });
    assert_ok(&output);
}

/// Formats and prints, with floating point, maps and so on.
#[test]
fn printing() {
    in_both(None, &[], 1, || {
        let map: std::collections::HashMap<_, _> = (0..10).map(|i| (i, f64::from(i) / 3.0)).collect();
        let text = format!("{map:#?} {:e} {:>20} {:?}", 1e300_f64, "right", std::time::Duration::from_millis(1234));
        eprintln!("{}", black_box(text).len());
    });
}

/// The error of a panic, with its hook and a backtrace with names and lines.
#[test]
fn a_panic_with_a_backtrace() {
    // Some ms each.
    in_both(None, &[("RUST_BACKTRACE", "1")], 3, || {
        let panics = std::panic::catch_unwind(|| panic!("number {}", black_box(7)));
        assert!(panics.is_err());
    });
}

/// On the smallest stacks, without a backtrace.
#[test]
fn a_panic_on_the_smallest_stack() {
    in_both(Some(32 << 10), &[("RUST_BACKTRACE", "0")], 1, || {
        assert!(std::panic::catch_unwind(|| panic!("number {}", black_box(7))).is_err());
    });
}

/// Starting a thread, looking up a host name's file, sorting, reading a directory.
#[test]
fn the_systems_library() {
    in_both(None, &[], 1, || {
        std::thread::spawn(|| ()).join().unwrap();
        assert!(std::fs::read_dir("/").unwrap().count() > 0);
        let mut xs: Vec<String> = (0..200).rev().map(|i| i.to_string()).collect();
        xs.sort();
        xs.sort_unstable_by_key(|x| std::cmp::Reverse(x.len()));
        assert_eq!(std::env::current_exe().is_ok(), std::env::args().count() > 0);
    });
}

/// Frames of its own that fill a third of the stack.
#[test]
fn a_third_of_the_stack() {
    #[inline(never)]
    fn frames(top: usize) -> u8 {
        let frame = black_box([1u8; 512]);
        let used = top - (&raw const frame).addr();
        if used > (64 << 10) / 3 { frame[0] } else { frames(top) + black_box(frame)[1] }
    }
    in_both(None, &[], 1, || {
        let here = 0u8;
        black_box(frames((&raw const here).addr()));
    });
}
