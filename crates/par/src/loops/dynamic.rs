//! Lazy binary splitting: see [`myriad_core::engine::split`] and [`crate::grain`].

use crate::grain::Grain;
use crate::unwind::Stop;
use myriad_core::engine::split::publish;
use myriad_core::{cancel, join};
use std::ops::ControlFlow;

/// Runs the pieces of `0..len`. Where a piece breaks, nothing behind it is wanted any more; numbers
/// before it are.
pub(super) fn run(len: usize, grain: Option<usize>, piece: &(impl Fn(usize, usize) -> ControlFlow<()> + Sync)) {
    go(0, len, Grain::new(grain), piece, &Stop::default());
}

/// A part of it. Its depth is at most the logarithm of the length: each call has half as much.
fn go(
    from: usize,
    to: usize,
    mut grain: Grain,
    piece: &(impl Fn(usize, usize) -> ControlFlow<()> + Sync),
    stop: &Stop,
) {
    let mut at = from;
    let mut split = grain.is_split_due_at_once(to - at);
    let guard = stop.on_unwind();
    while !split {
        cancel::check();
        if stop.is_set() {
            return guard.disarm();
        }
        let now = grain.begin(to - at);
        let end = at + now.len;
        if piece(at, end).is_break() {
            return guard.disarm();
        }
        at = end;
        if at == to {
            return guard.disarm();
        }
        split = grain.end(now, to - at);
    }
    guard.disarm();
    let middle = at + (to - at) / 2;
    debug_assert!(at < middle, "nothing is split but two numbers or more");
    let grain = grain.for_a_part();
    let near = || {
        publish();
        go(at, middle, grain, piece, stop);
    };
    join(near, || go(middle, to, grain, piece, stop));
}
