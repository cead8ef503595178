//! Many small jobs, a few at a time.

use crate::completions::Completions;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::unwind;
use myriad_core::engine::user_code::{self, UserValue};
use myriad_core::{Errors, scope, try_scope};
use std::num::NonZero;

#[track_caller]
fn at_least_one(limit: usize) -> usize {
    NonZero::new(limit).expect("at least one task at a time: a limit of 0 lets nothing run").get()
}

/// Calls `f` for each item, at most `limit` at a time, each in a task of its own; the results come
/// in the items' order.
///
/// `f` and the items may borrow. The caller takes the items out of the iterator, one by one, as
/// there is room for them.
///
/// # Blocking
/// Until all have ended.
///
/// # Cancellation
/// As of [`scope`](fn@myriad_core::scope): all that run are cancelled, and awaited.
///
/// # Panics
/// If `f` or the iterator does: the others are cancelled and awaited, then it goes on. If `limit`
/// is 0.
///
/// # Examples
/// ```
/// use myriad::task::map_concurrent;
/// let lengths = map_concurrent(4, ["a", "bb", "ccc"], |word| word.len());
/// assert_eq!(lengths, [1, 2, 3]);
/// ```
#[doc(alias = "join_all")]
#[doc(alias = "buffered")]
#[track_caller]
pub fn map_concurrent<I, F, R>(limit: usize, items: I, f: F) -> Vec<R>
where
    I: IntoIterator<Item: Send>,
    F: Fn(I::Item) -> R + Sync,
    R: Send,
{
    let limit = at_least_one(limit);
    let mut results: Vec<Option<UserValue<R>>> = Vec::new();
    let ended = user_code::body(|| {
        map_concurrent_unordered(
            limit,
            items.into_iter().enumerate(),
            |(i, item)| (i, f(item)),
            |(i, result)| {
                if results.len() <= i {
                    results.resize_with(i + 1, || None);
                }
                results[i] = Some(UserValue::new(result));
            },
        );
    });
    if let Err(payload) = ended {
        drop_each(results.into_iter().flatten());
        unwind::resume(payload);
    }
    results.into_iter().map(|result| result.expect("each item has a result").give()).collect()
}

/// Drops results, of a map whose panic has been caught: a destructor that panics while that one
/// goes on would end the process.
fn drop_each<R>(results: impl Iterator<Item = UserValue<R>>) {
    results.for_each(|result| unwind::drop_quietly(result.give()));
}

/// As [`map_concurrent`], but the caller gets each result as it comes.
///
/// # Blocking
/// As [`map_concurrent`].
///
/// # Panics
/// As [`map_concurrent`]; also if `each` does.
///
/// # Examples
/// ```
/// use myriad::task::map_concurrent_unordered;
/// let mut sum = 0;
/// map_concurrent_unordered(4, 0..100u64, |i| i * i, |square| sum += square);
/// assert_eq!(sum, 328_350);
/// ```
#[doc(alias = "buffer_unordered")]
#[track_caller]
pub fn map_concurrent_unordered<I, F, R>(limit: usize, items: I, f: F, mut each: impl FnMut(R))
where
    I: IntoIterator<Item: Send>,
    F: Fn(I::Item) -> R + Sync,
    R: Send,
{
    let limit = at_least_one(limit);
    let (f, ended) = (&f, &Completions::new());
    let panicked = scope(|s| {
        let cancels = CancelOnUnwind(|| s.cancel());
        let mut running = 0;
        let mut take = |running: &mut usize| match ended.take() {
            Some(result) => {
                *running -= 1;
                each(result);
                true
            }
            // One has panicked: the scope lets that go on.
            None => false,
        };
        let mut panicked = false;
        for item in items {
            if running == limit && !take(&mut running) {
                panicked = true;
                break;
            }
            running += 1;
            s.spawn(move || {
                let mut end = End { ended, result: None };
                end.result = Some(f(item));
            });
        }
        while !panicked && running > 0 {
            panicked = !take(&mut running);
        }
        if panicked {
            s.cancel();
        }
        std::mem::forget(cancels);
        panicked
    });
    debug_assert!(!panicked, "the scope's end lets a panic go on");
}

/// Goes with a task, however that ends.
struct End<'a, R> {
    ended: &'a Completions<Option<R>>,
    result: Option<R>,
}

impl<R> Drop for End<'_, R> {
    fn drop(&mut self) {
        self.ended.push(self.result.take());
    }
}

struct CancelOnUnwind<F: Fn()>(F);

impl<F: Fn()> Drop for CancelOnUnwind<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// As [`map_concurrent`], but the first error cancels the rest.
///
/// # Blocking
/// As [`map_concurrent`].
///
/// # Panics
/// As [`map_concurrent`].
///
/// # Errors
/// All errors, the first one first.
///
/// # Examples
/// ```
/// use myriad::task::try_map_concurrent;
/// let numbers = try_map_concurrent(2, ["1", "x", "3"], |s| s.parse::<u32>());
/// assert!(numbers.is_err());
/// ```
#[doc(alias = "try_join_all")]
#[track_caller]
pub fn try_map_concurrent<I, F, R, E>(limit: usize, items: I, f: F) -> Result<Vec<R>, Errors<E>>
where
    I: IntoIterator<Item: Send>,
    F: Fn(I::Item) -> Result<R, E> + Sync,
    R: Send,
    E: Send,
{
    let limit = at_least_one(limit);
    let results = Mutex::new(Vec::<(usize, UserValue<R>)>::new());
    let (f, ended) = (&f, &Completions::new());
    let done = user_code::body(|| {
        try_scope(|s| {
            let mut running = 0;
            for (i, item) in items.into_iter().enumerate() {
                if running == limit {
                    _ = ended.take();
                    running -= 1;
                }
                if s.is_cancelled() {
                    break;
                }
                running += 1;
                let results = &results;
                let job = move || {
                    let result = UserValue::new(f(item)?);
                    results.lock().push((i, result));
                    Ok(())
                };
                // After an error has cancelled the scope: so no further one is begun.
                s.spawn_with(job, End { ended, result: Some(()) });
            }
            Ok(())
        })
    });
    let mut results = results.into_inner();
    match done {
        Ok(Ok(())) => {
            results.sort_by_key(|(i, _)| *i);
            Ok(results.into_iter().map(|(_, result)| result.give()).collect())
        }
        Ok(Err(errors)) => {
            // One by one, so that a destructor that panics keeps nothing from being dropped, nor
            // the errors from being returned.
            results.into_iter().for_each(|(_, result)| result.discard("a result of `try_map_concurrent`"));
            Err(errors)
        }
        Err(payload) => {
            drop_each(results.into_iter().map(|(_, result)| result));
            unwind::resume(payload)
        }
    }
}
