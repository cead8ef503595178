//! Scopes that end early: at the first error, or at the first result.

use super::scope::{Scope, ScopedJoinHandle};
use crate::sched::cancel;
use crate::sched::cancel::cancel_scope::CancelScope;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code::{self, UserValue};
use myriad_base::sys::clock::Instant;
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::mem::needs_drop;

type KeptError<E> = UserValue<E>;
type KeptPanic = UserValue<Payload>;
/// Of a [`race`].
type FirstResult<T> = Option<UserValue<T>>;

/// These are kept under locks, and where an unwinding is caught: their end runs no user code.
const _: () = assert!(!needs_drop::<(KeptError<String>, KeptPanic, FirstResult<String>)>());

/// All errors of a [`try_scope`], the first one first. There is at least one.
///
/// It is an error if the errors are, and an `std::io::Error` can be made of those of that type.
/// Where they are plain texts, [`into_first`](Self::into_first) gives what `?` can take.
///
/// # Examples
/// ```
/// use myriad::{Errors, try_scope};
/// use std::io;
/// fn fetch() -> io::Result<()> {
///     try_scope(|s| {
///         drop(s.spawn(|| std::fs::read("/no/such/file")));
///         Ok(())
///     })?;
///     Ok(())
/// }
/// let error = fetch().unwrap_err();
/// assert_eq!(error.kind(), io::ErrorKind::NotFound);
/// assert_eq!(error.downcast::<Errors<io::Error>>().unwrap().iter().count(), 1);
///
/// fn check() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     Ok(try_scope(|_| Err("no such host")).map_err(Errors::into_first)?)
/// }
/// assert_eq!(check().unwrap_err().to_string(), "no such host");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors<E>(Vec<E>);

impl<E> Errors<E> {
    /// From what was collected; `None` if that is nothing.
    fn of(errors: Vec<E>) -> Option<Errors<E>> {
        (!errors.is_empty()).then_some(Errors(errors))
    }
    /// The one that cancelled the others.
    pub fn first(&self) -> &E {
        &self.0[0]
    }
    /// The same, by value; the others are dropped.
    pub fn into_first(self) -> E {
        self.0.into_iter().next().expect("there is at least one error")
    }
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, E> {
        self.0.iter()
    }
    /// All of them, by value.
    pub fn into_vec(self) -> Vec<E> {
        self.0
    }
}

impl<E> IntoIterator for Errors<E> {
    type Item = E;
    type IntoIter = std::vec::IntoIter<E>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<E: fmt::Display> fmt::Display for Errors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first().fmt(f)?;
        match self.0.len() - 1 {
            0 => Ok(()),
            1 => f.write_str(" (and 1 more error)"),
            more => write!(f, " (and {more} more errors)"),
        }
    }
}

impl<E: std::error::Error> std::error::Error for Errors<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.first().source()
    }
}

/// As an error of the first one's kind; `into_inner` and `downcast` give all of them back.
impl From<Errors<std::io::Error>> for std::io::Error {
    fn from(errors: Errors<std::io::Error>) -> std::io::Error {
        std::io::Error::new(errors.first().kind(), errors)
    }
}

/// Spawns tasks that may borrow what outlives the [`try_scope`], and may fail.
///
/// # Examples
/// ```
/// let sum = myriad::try_scope(|s| {
///     let (one, two) = (s.spawn(|| "1".parse::<u32>()), s.spawn(|| "2".parse()));
///     // (`None` of a task that has failed: its error is that of the scope.)
///     Ok(one.join().unwrap().unwrap_or(0) + two.join().unwrap().unwrap_or(0))
/// });
/// assert_eq!(sum, Ok(3));
/// ```
pub struct TryScope<'scope, 'env: 'scope, E> {
    scope: Scope<'scope, 'env>,
    failures: Mutex<Failures<E>>,
}

impl<E> fmt::Debug for TryScope<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scope.show("TryScope", f)
    }
}

struct Failures<E> {
    errors: Vec<KeptError<E>>,
    /// The first panic of a task.
    panic: Option<KeptPanic>,
    /// The body's cancel scope, while the body runs.
    body: Option<Body>,
}

struct Body(*const CancelScope);
// SAFETY: followed under the lock, under which the owner takes it out before it leaves the cancel
// scope.
unsafe impl Send for Body {}

/// A [`scope`](super::scope) that fails fast: the first error or panic, of `f` or of a task,
/// cancels all others, and `f` too.
///
/// # Blocking
/// At its end, until all tasks have ended: the cancelled ones too.
///
/// # Cancellation
/// As of [`scope`](super::scope).
///
/// # Panics
/// A panic goes on after all tasks have ended.
///
/// # Errors
/// All errors, none is lost: those of tasks that failed on their own after the first one come
/// behind it.
///
/// # Examples
/// ```
/// use myriad::{time, try_scope};
/// use std::time::Duration;
/// let result = try_scope(|s| {
///     s.spawn(|| -> Result<(), _> { Err("no such host") });
///     s.spawn(|| Ok(time::sleep(Duration::from_secs(3600))));
///     Ok(())
/// });
/// assert_eq!(result.unwrap_err().into_vec(), ["no such host"]);
/// ```
#[doc(alias = "errgroup")]
#[doc(alias = "nursery")]
#[doc(alias = "TaskGroup")]
#[doc(alias = "try_join")]
pub fn try_scope<'env, F, T, E>(f: F) -> Result<T, Errors<E>>
where
    F: for<'scope> FnOnce(&'scope TryScope<'scope, 'env, E>) -> Result<T, E>,
    E: Send,
{
    let failures = Failures { errors: Vec::new(), panic: None, body: None };
    let scope = TryScope { scope: Scope::new(), failures: Mutex::new(failures) };
    // The body is cancelled with the tasks.
    let mut cancel_scope = CancelScope::new(false, Instant::NEVER);
    cancel_scope.enter();
    let cancel_scope = &cancel_scope;
    scope.failures.lock().body = Some(Body(cancel_scope));
    let result = user_code::body(|| f(&scope));
    scope.failures.lock().body = None;
    cancel_scope.leave();
    if !matches!(result, Ok(Ok(_))) {
        scope.scope.cancel();
    }
    let result = match result {
        Err(mut payload) if cancel::is_cancellation(&payload) && cancel_scope.is_over() => {
            cancel::end_cancellation(&mut payload);
            // By one of the tasks; or if by the owner's cancellation, it arrives in `end`.
            Ok(None)
        }
        other => other.map(Some),
    };
    let (value, unwound) = match unwind::catch(|| scope.scope.end(result)) {
        Ok(Some(Ok(value))) => (Some(value), None),
        Ok(Some(Err(error))) => {
            scope.fail(error);
            (None, None)
        }
        Ok(None) => (None, None),
        Err(payload) => (None, Some(payload)),
    };
    let (errors, panic) = {
        let Failures { errors, panic, .. } = &mut *scope.failures.lock();
        (std::mem::take(errors), panic.take().map(UserValue::give))
    };
    let mut panics = unwound.into_iter().chain(panic);
    if let Some(payload) = panics.next() {
        panics.for_each(unwind::discard);
        // One by one, so that each is dropped, and ends, though those before it panic.
        errors.into_iter().for_each(|error| unwind::drop_quietly(error.give()));
        unwind::drop_and_resume(value, payload);
    }
    match (Errors::of(errors.into_iter().map(UserValue::give).collect()), value) {
        (Some(errors), _) => Err(errors),
        (None, Some(value)) => Ok(value),
        (None, None) => unreachable!("the body was cancelled, and nobody failed"),
    }
}

impl<'scope, 'env, E: Send> TryScope<'scope, 'env, E> {
    /// Starts a task in the scope. Its result is `None` if it failed or panicked: that is the
    /// scope's.
    ///
    /// # Blocking
    /// Never blocks.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, Option<T>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(f, ())
    }

    /// The same; `end` is dropped when the task has ended, and a failure is known.
    #[track_caller]
    #[doc(hidden)]
    pub fn spawn_with<F, T, D>(&'scope self, f: F, end: D) -> ScopedJoinHandle<'scope, Option<T>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'scope,
        T: Send + 'scope,
        D: Send + 'scope,
    {
        self.scope.spawn(move || {
            let _end = end;
            self.ended(user_code::body(f))
        })
    }

    /// A task has ended in this way.
    fn ended<T>(&self, result: Result<Result<T, E>, Payload>) -> Option<T> {
        match result {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => self.fail(error),
            Err(payload) => {
                if cancel::is_cancellation(&payload) {
                    unwind::resume(payload);
                }
                let late = {
                    let mut failures = self.failures.lock();
                    let payload = UserValue::new(payload);
                    if failures.panic.is_some() { Some(payload) } else { failures.panic.replace(payload) }
                };
                self.cancel();
                late.into_iter().for_each(|late| unwind::discard(late.give()));
            }
        }
        None
    }

    fn fail(&self, error: E) {
        self.failures.lock().errors.push(UserValue::new(error));
        self.cancel();
    }

    fn cancel(&self) {
        self.scope.cancel();
        let failures = self.failures.lock();
        // SAFETY: under the lock under which the owner takes it out.
        let request = failures.body.as_ref().map(|body| unsafe { CancelScope::cancel(body.0) });
        drop(failures);
        if let Some(request) = request {
            request.send();
        }
    }

    /// Was it cancelled, by an error or a panic?
    pub fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }
}

/// Runs all of them at the same time; the first result cancels the others. `None` if there are
/// none.
///
/// They may borrow from the caller. The results of those that are ready in spite of that are
/// dropped.
///
/// # Blocking
/// Until all have ended: the cancelled ones too.
///
/// # Cancellation
/// As of [`scope`](super::scope).
///
/// # Panics
/// A panic of one of them goes on after all have ended; it is no result.
///
/// # Examples
/// ```
/// use myriad::{race, time};
/// use std::time::Duration;
/// let seconds = [3600, 0, 1800];
/// let winner = race(seconds.map(|s| move || {
///     time::sleep(Duration::from_secs(s));
///     s
/// }));
/// assert_eq!(winner, Some(0));
/// ```
#[doc(alias = "select_ok")]
#[doc(alias = "join_any")]
#[doc(alias = "first_completed")]
#[track_caller]
pub fn race<I, F, T>(tasks: I) -> Option<T>
where
    I: IntoIterator<Item = F>,
    F: FnOnce() -> T + Send,
    T: Send,
{
    let first: Mutex<FirstResult<T>> = Mutex::new(None);
    let ended = user_code::body(|| {
        super::scope(|s| {
            for task in tasks {
                let first = &first;
                s.spawn(move || {
                    let value = UserValue::new(task());
                    let late = {
                        let mut first = first.lock();
                        if first.is_some() { Some(value) } else { first.replace(value) }
                    };
                    s.cancel();
                    // Without the lock, and spared by the cancellation: user code. A panic is the
                    // task's.
                    if let Some(late) = late {
                        late.drop_value().unwrap_or_else(|payload| unwind::resume(payload));
                    }
                });
            }
        })
    });
    let first = first.into_inner().map(UserValue::give);
    match ended {
        Ok(()) => first,
        Err(payload) => unwind::drop_and_resume(first, payload),
    }
}
