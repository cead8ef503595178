//! Schedules with a fixed number of tasks.

use crate::unwind::Stop;
use myriad_core::engine::split::publish;
use myriad_core::{cancel, join};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// So many blocks of `0..len`, the first ones longer by one where it does not come out even.
pub(super) fn blocks(len: usize, tasks: usize, piece: &(impl Fn(usize, usize) -> ControlFlow<()> + Sync)) {
    let (each, more) = (len / tasks, len % tasks);
    let begin = |block: usize| block * each + block.min(more);
    fan_out(tasks, &|block, _| _ = piece(begin(block), begin(block + 1)));
}

/// So many tasks that take the next `grain` numbers each, until there are none left.
pub(super) fn greedy(
    len: usize,
    tasks: usize,
    grain: usize,
    piece: &(impl Fn(usize, usize) -> ControlFlow<()> + Sync),
) {
    let next = AtomicUsize::new(0);
    fan_out(tasks, &|_, stop| {
        // Relaxed: the numbers are all there is to it.
        let mut at = next.load(Relaxed);
        while at < len && !stop.is_set() {
            // No plain addition: it would wrap around near the largest length.
            let end = at.saturating_add(grain).min(len);
            match next.compare_exchange_weak(at, end, Relaxed, Relaxed) {
                Ok(_) => {
                    cancel::check();
                    if piece(at, end).is_break() {
                        return;
                    }
                    at = next.load(Relaxed);
                }
                Err(now) => at = now,
            }
        }
    });
}

/// A task for each number, at once. None begins after one has unwound.
pub(super) fn fan_out(tasks: usize, task: &(impl Fn(usize, &Stop) + Sync)) {
    fan_out_from(0, tasks, task, &Stop::default());
}

fn fan_out_from(from: usize, to: usize, task: &(impl Fn(usize, &Stop) + Sync), stop: &Stop) {
    if to - from == 1 {
        let guard = stop.on_unwind();
        cancel::check();
        if !stop.is_set() {
            task(from, stop);
        }
        return guard.disarm();
    }
    let middle = from + (to - from) / 2;
    let near = || {
        publish();
        fan_out_from(from, middle, task, stop);
    };
    join(near, || fan_out_from(middle, to, task, stop));
}
