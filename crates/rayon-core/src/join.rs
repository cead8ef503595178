//! Two closures, perhaps at the same time.

use crate::own;
use crate::own::worker::Worker;
use crate::pool::Pool;
use myriad_core::engine::guest;
use myriad_core::engine::split;
use std::fmt;
use std::marker::PhantomData;

/// What a closure of [`join_context`] is told.
pub struct FnContext {
    migrated: bool,
    /// It is of one thread.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    fn new(migrated: bool) -> FnContext {
        FnContext { migrated, here: PhantomData }
    }

    /// Does the closure run on another worker than the one that called `join_context`? Then
    /// somebody has nothing else to do, and it is worth while to divide the work further.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl fmt::Debug for FnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnContext").field("migrated", &self.migrated).finish()
    }
}

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// The caller runs `oper_a`; `oper_b` is there for other workers meanwhile, and the caller runs it
/// afterwards if nobody has taken it. On a thread that is no worker both run in the global pool.
///
/// # Blocking
/// Until both have ended. On Myriad's workers the caller is set aside while it waits for the other
/// worker, and nothing else ever runs on top of it; in a pool with own threads the worker runs
/// other jobs meanwhile, on top.
///
/// # Panics
/// If either panics, both are awaited, then the panic goes on; if both do, that of `oper_a`.
///
/// # Examples
/// ```
/// fn quicksort<T: Ord + Send>(v: &mut [T]) {
///     if v.len() <= 1 {
///         return;
///     }
///     let (pivot, mut low) = (v.len() - 1, 0);
///     for i in 0..pivot {
///         if v[i] < v[pivot] {
///             v.swap(i, low);
///             low += 1;
///         }
///     }
///     v.swap(low, pivot);
///     let (less, more) = v.split_at_mut(low);
///     rayon_core::join(|| quicksort(less), || quicksort(&mut more[1..]));
/// }
/// let mut v = [5, 1, 4, 1, 3];
/// quicksort(&mut v);
/// assert_eq!(v, [1, 1, 3, 4, 5]);
/// ```
///
/// What is not `Send` cannot be taken along, and what one closure changes the other one cannot see:
/// ```compile_fail,E0277
/// let r = std::rc::Rc::new(1);
/// rayon_core::join(|| drop(r.clone()), || drop(r.clone()));
/// ```
/// ```compile_fail,E0499
/// let mut v = vec![1, 2];
/// rayon_core::join(|| v.push(3), || v.push(4));
/// ```
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    if guest::worker().is_some() {
        return guest::join(
            || {
                split::publish_one();
                oper_a()
            },
            oper_b,
        );
    }
    join_elsewhere(|_| oper_a(), |_| oper_b())
}

/// As [`join`]; each closure is told whether it runs on another worker than the caller. If the
/// caller is no worker, both do.
///
/// # Blocking
/// As [`join`].
///
/// # Panics
/// As [`join`].
///
/// # Examples
/// ```
/// let (a, b) = rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
/// // This thread is no worker.
/// assert!(a && b);
/// ```
#[inline]
#[track_caller]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if let Some(worker) = guest::worker() {
        let here = worker.id();
        let moved = move || guest::worker().is_none_or(|there| there.id() != here);
        return guest::join(
            || {
                split::publish_one();
                oper_a(FnContext::new(false))
            },
            move || oper_b(FnContext::new(moved())),
        );
    }
    join_elsewhere(|injected| oper_a(FnContext::new(injected)), |moved| oper_b(FnContext::new(moved)))
}

/// On a thread that is no worker of Myriad.
#[inline(never)]
fn join_elsewhere<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if Worker::current().is_some() {
        return join_on_worker(false, a, b);
    }
    // To neither does it matter where it runs then: both were written down elsewhere.
    Pool::current().in_worker(|injected| join_on_worker(injected, a, b))
}

/// On a worker of either kind.
fn join_on_worker<A, B, RA, RB>(injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(w) if guest::worker().is_none() => own::join(w, injected, a, b),
        _ => guest::join(
            || {
                split::publish_one();
                a(injected)
            },
            || b(injected),
        ),
    }
}
