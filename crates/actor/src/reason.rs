//! Why an actor has ended.

use myriad_base::unwind::message;
use std::fmt;
use std::sync::Arc;

/// Why an actor has ended, or is to end. Cheap to clone.
///
/// To *ask* for an end by force is a call, [`kill`](crate::kill), and not a reason; what the
/// partners of a killed actor see is [`Reason::Killed`]. So no reason that is passed on along links
/// kills an actor that traps exits.
///
/// # Examples
/// ```
/// use myriad::actor::Reason;
/// let reason = Reason::of("no answer in 2 s");
/// assert_eq!(reason.to_string(), "no answer in 2 s");
/// assert!(!reason.is_normal() && Reason::Normal.is_normal());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has done its work.
    Normal,
    /// It was told to end, in good order: by its supervisor, most often.
    Shutdown,
    /// It was [killed](crate::kill).
    Killed,
    /// There was no such actor any more when the link or monitor was made.
    NoProcess,
    /// Its task was cancelled, or its runtime ended.
    Cancelled,
    /// It panicked, with this text.
    Panic(Box<Arc<str>>),
    /// What the program says.
    Other(Box<Arc<str>>),
}

const _: () = assert!(size_of::<Reason>() <= 16);

impl Reason {
    /// A reason of the program's own.
    pub fn of(what: impl fmt::Display) -> Reason {
        Reason::Other(Box::new(Arc::from(what.to_string())))
    }

    pub(crate) fn of_panic(payload: &(dyn std::any::Any + Send)) -> Reason {
        Reason::Panic(Box::new(Arc::from(message(payload))))
    }

    /// Is it an end that links do not pass on: [`Normal`](Reason::Normal)?
    pub fn is_normal(&self) -> bool {
        *self == Reason::Normal
    }

    /// Is it the end that was expected: [`Normal`](Reason::Normal) or
    /// [`Shutdown`](Reason::Shutdown)? A supervisor does not restart a transient child after it.
    pub fn is_expected(&self) -> bool {
        matches!(self, Reason::Normal | Reason::Shutdown)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Normal => f.write_str("normal"),
            Reason::Shutdown => f.write_str("shutdown"),
            Reason::Killed => f.write_str("killed"),
            Reason::NoProcess => f.write_str("no such actor"),
            Reason::Cancelled => f.write_str("cancelled"),
            Reason::Panic(text) => write!(f, "panicked: {text}"),
            Reason::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Reason {}

/// What an actor's function returns: nothing, or a [`Reason`] if it has failed.
pub trait Ending {
    /// The reason with which the actor ends.
    fn reason(self) -> Reason;
}

impl Ending for () {
    fn reason(self) -> Reason {
        Reason::Normal
    }
}

/// The way to name `!`, which is no type of its own yet: what a function pointer returns.
mod never {
    /// What a function returns.
    pub trait Returns {
        /// The type of that.
        type Output;
    }

    impl<T> Returns for fn() -> T {
        type Output = T;
    }
}

/// A loop without an end.
impl Ending for <fn() -> ! as never::Returns>::Output {
    fn reason(self) -> Reason {
        self
    }
}

impl Ending for Reason {
    fn reason(self) -> Reason {
        self
    }
}

impl<E: fmt::Display> Ending for Result<(), E> {
    fn reason(self) -> Reason {
        self.map_or_else(Reason::of, |()| Reason::Normal)
    }
}
