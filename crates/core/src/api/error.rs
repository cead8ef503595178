//! Why a join brings no result.

use crate::runtime::deadlock::Deadlock;
use crate::sched::cancel;
use crate::sched::unwind::{self, Payload};
use std::fmt;
use std::panic::Location;

/// Why [`JoinHandle::join`](super::JoinHandle::join) brings no result.
///
/// It is `Send` and `Sync`, so `?` takes it into `Box<dyn Error + Send + Sync>`, `anyhow::Error`
/// and their like, and into `std::io::Error`. The payload of a panic stays inside until
/// [`into_panic`](Self::into_panic) or [`resume`](Self::resume) takes it out.
///
/// # Examples
/// ```
/// let error = myriad::spawn(|| -> u32 { panic!("out of ink") }).join().unwrap_err();
/// assert!(error.is_panic() && !error.is_cancelled());
/// assert!(error.to_string().ends_with("panicked: out of ink"));
/// assert_eq!(error.try_into_panic().unwrap().downcast_ref(), Some(&"out of ink"));
/// ```
pub struct JoinError(Box<JoinFailure>);

struct JoinFailure {
    reason: Reason,
    location: &'static Location<'static>,
    name: Option<String>,
}

/// A panic's payload, of which a reference shows only the text. Payloads need not be `Sync`; errors
/// are, for `?` into an error type that is `Send + Sync`.
struct Panic(Payload);

// SAFETY: through `&Panic` only `message` and `is_deadlock` are called, which ask for the payload's
// type, and read it where that is `&str`, `String` or `Deadlock`, which are `Sync`.
unsafe impl Sync for Panic {}
const _: fn() = || {
    fn is_sync<T: Sync>() {}
    is_sync::<Deadlock>();
};

impl Panic {
    fn message(&self) -> &str {
        unwind::message(&*self.0)
    }
    fn is_deadlock(&self) -> bool {
        self.0.is::<Deadlock>()
    }
}

enum Reason {
    Panicked(Panic),
    Cancelled,
    Shutdown,
    Left,
    Itself,
    NoStack(String),
}

impl JoinError {
    #[cold]
    fn new(reason: Reason, location: &'static Location<'static>, name: Option<String>) -> JoinError {
        JoinError(Box::new(JoinFailure { reason, location, name }))
    }
    #[cold]
    pub(crate) fn panicked(payload: Payload, location: &'static Location<'static>, name: Option<String>) -> JoinError {
        let reason =
            if cancel::is_cancellation(&payload) { Reason::Cancelled } else { Reason::Panicked(Panic(payload)) };
        JoinError::new(reason, location, name)
    }
    #[cold]
    pub(crate) fn shutdown(location: &'static Location<'static>, name: Option<String>) -> JoinError {
        JoinError::new(Reason::Shutdown, location, name)
    }
    #[cold]
    pub(crate) fn left(location: &'static Location<'static>, name: Option<String>) -> JoinError {
        JoinError::new(Reason::Left, location, name)
    }
    #[cold]
    pub(crate) fn itself(location: &'static Location<'static>) -> JoinError {
        JoinError::new(Reason::Itself, location, None)
    }
    #[cold]
    pub(crate) fn no_stack(location: &'static Location<'static>, why: String) -> JoinError {
        JoinError::new(Reason::NoStack(why), location, None)
    }

    /// Did the task panic?
    pub fn is_panic(&self) -> bool {
        matches!(self.0.reason, Reason::Panicked(_))
    }
    /// Was the task in a deadlock that [`OnDeadlock::Panic`](crate::OnDeadlock::Panic) has ended?
    /// It is a panic, too, and the payload is the [`Deadlock`].
    pub fn is_deadlock(&self) -> bool {
        matches!(&self.0.reason, Reason::Panicked(panic) if panic.is_deadlock())
    }
    /// Was the task cancelled, before it ended or began?
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0.reason, Reason::Cancelled)
    }
    /// Was the runtime shut down before the task could start or end? (One that was blocked then
    /// stays where it is: its stack and what it owns are left for good.)
    pub fn is_shutdown(&self) -> bool {
        matches!(self.0.reason, Reason::Shutdown | Reason::Left)
    }
    /// Was there no stack on which the worker could have gone on while the caller waited? The task
    /// itself runs on, detached: its result is lost to this caller.
    pub fn is_no_stack(&self) -> bool {
        matches!(self.0.reason, Reason::NoStack(_))
    }
    /// Did the task try to join itself?
    pub fn is_self_join(&self) -> bool {
        matches!(self.0.reason, Reason::Itself)
    }
    /// The panic's payload, as std's `join` returns it.
    ///
    /// # Errors
    /// The error itself, if it was no panic.
    pub fn try_into_panic(self) -> Result<Payload, JoinError> {
        match self.0.reason {
            Reason::Panicked(Panic(payload)) => Ok(payload),
            reason => Err(JoinError(Box::new(JoinFailure { reason, ..*self.0 }))),
        }
    }
    /// The panic's payload.
    ///
    /// # Panics
    /// If the task did not panic ([`is_panic`](Self::is_panic)).
    #[track_caller]
    pub fn into_panic(self) -> Payload {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("no panic: {error}"),
        }
    }
    /// Lets the task's panic go on here, without a second message; panics with this error if the
    /// task did not panic.
    ///
    /// # Examples
    /// ```
    /// let caught = std::panic::catch_unwind(|| {
    ///     let task = myriad::spawn(|| -> u32 { panic!("out of ink") });
    ///     task.join().unwrap_or_else(|error| error.resume())
    /// });
    /// assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"out of ink"));
    /// ```
    #[track_caller]
    pub fn resume(self) -> ! {
        match self.try_into_panic() {
            Ok(payload) => unwind::resume(payload),
            Err(error) => panic!("{error}"),
        }
    }
    /// Where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.location
    }
    /// The task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinFailure { reason, location, name } = &*self.0;
        match name {
            Some(name) => write!(f, "task '{name}' spawned at {location} ")?,
            None => write!(f, "the task spawned at {location} ")?,
        }
        match reason {
            Reason::Panicked(panic) => write!(f, "panicked: {}", panic.message()),
            Reason::Cancelled => f.write_str("was cancelled"),
            Reason::Shutdown => f.write_str("was dropped: its runtime has been shut down"),
            Reason::Left => f.write_str("was still blocked when its runtime ended, and never goes on"),
            Reason::Itself => f.write_str("cannot join itself: it would wait for ever"),
            Reason::NoStack(why) => write!(f, "cannot be waited for: {why}"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

/// As an error of kind `Other`; `into_inner` and `downcast` give the `JoinError` back, with the
/// payload of a panic.
///
/// # Examples
/// ```
/// use myriad::JoinError;
/// fn read() -> std::io::Result<String> {
///     myriad::spawn(|| std::fs::read_to_string("/no/such/file")).join()?
/// }
/// assert_eq!(read().unwrap_err().kind(), std::io::ErrorKind::NotFound);
///
/// let failed: std::io::Error = myriad::spawn(|| panic!("no")).join().unwrap_err().into();
/// let error = failed.downcast::<JoinError>().unwrap();
/// assert_eq!(error.into_panic().downcast_ref(), Some(&"no"));
/// ```
impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> std::io::Error {
        std::io::Error::other(error)
    }
}

/// The error of a task that ended by this unwinding.
pub fn panicked(payload: Payload, location: &'static Location<'static>) -> JoinError {
    JoinError::panicked(payload, location, None)
}

/// The error of a task that has joined itself.
pub fn itself(location: &'static Location<'static>) -> JoinError {
    JoinError::itself(location)
}
