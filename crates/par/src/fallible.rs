//! Loops and maps whose bodies may fail: the first failure by number, as a serial loop would give.

use crate::loops::{Index, Loop, len};
use crate::map;
use crate::reduce::leaf_size;
use crate::unwind::{after, drop_quietly};
use myriad_base::sys::mutex::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Calls `body` for each number of the range, in parallel, until one fails: what follows that
/// number is not begun any more.
///
/// The result is that of a serial loop: numbers below a failure still run, and if one of these
/// fails too, its error counts.
///
/// # Blocking
/// As [`for_each_index`](crate::for_each_index).
///
/// # Panics
/// If bodies panic below the lowest number that fails, the panic of the lowest number goes on. All
/// other panics are dropped, those of destructors of errors that are not returned among them.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index); errors until then are dropped.
///
/// # Errors
/// The error of the lowest number that fails.
///
/// # Examples
/// ```
/// let prices = ["12", "7", "x", "y"];
/// let checked = myriad::par::try_for_each_index(0..4, |i| prices[i].parse::<u32>().map(drop).map_err(|_| i));
/// assert_eq!(checked, Err(2));
/// ```
#[track_caller]
pub fn try_for_each_index<I: Index, E: Send>(
    range: Range<I>,
    body: impl Fn(I) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failure = Failure::default();
    let wanted = |number| !failure.is_at_or_before(number);
    let result = Loop::new(range).try_run_while(wanted, |number, i| {
        if let Err(error) = body(i) {
            failure.note(number, error);
        }
    });
    let failure = failure.into_first();
    let result = match (result, failure) {
        (Ok(()), None) => Ok(()),
        (Err(panics), Some((number, error))) if panics.first_number() < number => {
            // Before: a destructor that panics while that panic unwinds would end the process.
            drop_quietly(error);
            panics.resume()
        }
        (Err(panics), None) => panics.resume(),
        (_, Some((_, error))) => Err(error),
    };
    after(body, result)
}

/// Calls `body` for each element, in parallel, until one fails: what follows that element is not
/// begun any more.
///
/// # Blocking
/// As [`try_for_each_index`], over the elements' indices.
///
/// # Panics
/// As [`try_for_each_index`], over the elements' indices.
///
/// # Cancellation
/// As [`try_for_each_index`], over the elements' indices.
///
/// # Errors
/// As [`try_for_each_index`], over the elements' indices.
///
/// # Examples
/// ```
/// let words = ["1", "2", "three"];
/// let bad = myriad::par::try_for_each(&words, |word| word.parse::<u32>().map(drop).map_err(|_| *word));
/// assert_eq!(bad, Err("three"));
/// ```
#[track_caller]
pub fn try_for_each<'a, T: Sync, E: Send>(xs: &'a [T], body: impl Fn(&'a T) -> Result<(), E> + Sync) -> Result<(), E> {
    let result = try_for_each_index(0..xs.len(), |i| body(&xs[i]));
    after(body, result)
}

/// Calls `f` for each number of the range, in parallel, and returns the results in their order, or
/// the error of the lowest number that fails: what follows that number is not begun any more.
///
/// # Blocking
/// As [`map_index`](crate::map_index).
///
/// # Panics
/// As [`map_index`](crate::map_index). A panic of the destructor of an error that is not returned
/// goes no further.
///
/// # Cancellation
/// As [`map_index`](crate::map_index); an error until then is dropped too.
///
/// # Errors
/// The error of the lowest number that fails, as a serial loop would return it. Results are
/// dropped.
///
/// # Examples
/// ```
/// let halves = |n: u32| myriad::par::try_map_index(0..n, |i| if i < 50 { Ok(i / 2) } else { Err(i) });
/// assert_eq!(halves(4), Ok(vec![0, 0, 1, 1]));
/// assert_eq!(halves(1000), Err(50));
/// ```
#[track_caller]
pub fn try_map_index<I: Index, R: Send, E: Send>(
    range: Range<I>,
    f: impl Fn(I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let size = leaf_size(len(&range));
    map::try_by_leaves(range, size, f)
}

/// Calls `f` for each element, in parallel, and returns the results in their order, or the error of
/// the first element that fails: what follows that element is not begun any more.
///
/// # Blocking
/// As [`try_map_index`], over the elements' indices.
///
/// # Panics
/// As [`try_map_index`], over the elements' indices.
///
/// # Cancellation
/// As [`try_map_index`], over the elements' indices.
///
/// # Errors
/// As [`try_map_index`], over the elements' indices.
///
/// # Examples
/// ```
/// let numbers = myriad::par::try_map(&["1", "22"], |word| word.parse::<u32>())?;
/// assert_eq!(numbers, [1, 22]);
/// # Ok::<(), std::num::ParseIntError>(())
/// ```
#[track_caller]
pub fn try_map<'a, T: Sync, R: Send, E: Send>(
    xs: &'a [T],
    f: impl Fn(&'a T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let result = try_map_index(0..xs.len(), |i| f(&xs[i]));
    after(f, result)
}

/// The failure of the lowest number so far.
///
/// A serial loop never has an error in hand while another body fails, panics or is cancelled. So a
/// destructor of an error that is not returned must not show, whatever it does: it runs by
/// `drop_quietly`.
pub(crate) struct Failure<E> {
    /// Its number, for those that look whether they are still wanted.
    lowest: AtomicUsize,
    first: Mutex<Option<(usize, E)>>,
}

impl<E> Default for Failure<E> {
    fn default() -> Self {
        Failure { lowest: AtomicUsize::new(usize::MAX), first: Mutex::new(None) }
    }
}

impl<E> Failure<E> {
    /// Has this number failed, or one before?
    #[inline(always)]
    pub(crate) fn is_at_or_before(&self, number: usize) -> bool {
        // Relaxed: nothing is read that it stands for.
        self.lowest.load(Relaxed) <= number
    }

    /// This number has failed.
    #[cold]
    pub(crate) fn note(&self, number: usize, error: E) {
        let mut first = self.first.lock();
        let dropped = if first.as_ref().is_none_or(|(before, _)| number < *before) {
            self.lowest.store(number, Relaxed);
            first.replace((number, error)).map(|(_, error)| error)
        } else {
            Some(error)
        };
        // Its destructor is the user's code: not under the lock.
        drop(first);
        if let Some(error) = dropped {
            drop_quietly(error);
        }
    }

    /// The failure of the lowest number.
    pub(crate) fn into_first(mut self) -> Option<(usize, E)> {
        self.take()
    }

    fn take(&mut self) -> Option<(usize, E)> {
        self.first.get_mut().take()
    }
}

impl<E> Drop for Failure<E> {
    fn drop(&mut self) {
        // The loop is left by a panic or by a cancellation.
        if let Some((_, error)) = self.take() {
            drop_quietly(error);
        }
    }
}
