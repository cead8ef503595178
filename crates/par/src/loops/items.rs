//! Loops over any iterator.

use super::fixed::fan_out;
use crate::failures::{Collector, run_each};
use myriad_core::cancel;
use myriad_core::engine::split;
use myriad_sync::lock::Mutex;

/// Calls `body` for each item, in parallel: as many tasks as workers take the next one each.
///
/// For iterators that are not slices or ranges, or whose items come one by one, also without end
/// (until a panic or a cancellation): lines of a file, messages of a channel. Only one task at a
/// time is in the iterator, in the items' order; it may block there, and nobody's worker is held
/// up. An item costs some ten nanoseconds.
///
/// # Blocking
/// Until the iterator is at its end and all bodies have ended; as the iterator and the bodies do.
///
/// # Panics
/// If bodies panic: all other items are run, then the panic of the earliest item goes on. If the
/// iterator panics: no more items are taken, and when all bodies have ended that panic goes on.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index).
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// let text = "some words\nin some\nlines";
/// let words = AtomicUsize::new(0);
/// myriad::par::for_each_bridge(text.lines(), |line| _ = words.fetch_add(line.split(' ').count(), Relaxed));
/// assert_eq!(words.into_inner(), 5);
/// ```
#[doc(alias = "par_bridge")]
#[track_caller]
pub fn for_each_bridge<I>(items: I, body: impl Fn(I::Item) + Sync)
where
    I: IntoIterator<IntoIter: Send, Item: Send>,
{
    // `None`: it is at its end. A lock that suspends: the iterator may block. Poisoned by the
    // iterator's panic, which goes on where it was.
    let source = Mutex::new(Some(items.into_iter().enumerate()));
    let next = || {
        let mut source = source.lock().ok()?;
        let item = source.as_mut()?.next();
        if item.is_none() {
            // Not asked again: it need not be fused. Dropped when the lock is not held any more.
            let ended = source.take();
            drop(source);
            drop(ended);
        }
        item
    };
    let panics = Collector::default();
    split::on_worker(|| {
        fan_out(split::workers(), &|_, stop| {
            while !stop.is_set()
                && let Some((number, item)) = next()
            {
                let item = std::cell::Cell::new(Some(item));
                run_each(number, number + 1, &panics, &|_| body(item.take().expect("one iteration")));
                cancel::check();
            }
        });
    });
    if let Err(panics) = panics.finish() {
        panics.resume();
    }
}
