//! A panic of the user's code, as part of an error.

use myriad_base::sys::mutex::Mutex;
use myriad_base::unwind::{Payload, message};
use std::fmt;

/// A panic of a body, or of a function that an operation calls.
///
/// # Examples
/// ```
/// use myriad::flow::{Graph, graph::Cause};
/// let mut graph = Graph::builder();
/// let columns = ["name", "age"];
/// graph.node("plot", move || assert!(columns.contains(&"city"), "no such column"));
/// let mut failures = graph.build()?.run().unwrap_err().into_failures();
/// let Some(Cause::Panicked(panic)) = failures.pop().map(|failure| failure.cause) else { unreachable!() };
/// assert_eq!(panic.message(), "no such column");
/// // As if the body had been called here.
/// let again = std::panic::catch_unwind(|| std::panic::resume_unwind(panic.into_payload()));
/// assert!(again.is_err());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Panic {
    message: String,
    /// (A payload need not be `Sync`, and an error is.)
    payload: Mutex<Payload>,
}

impl Panic {
    #[cold]
    pub(crate) fn new(payload: Payload) -> Panic {
        Panic { message: message(&*payload).to_owned(), payload: Mutex::new(payload) }
    }

    /// Its text, if it is text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Its payload, for [`resume_unwind`](std::panic::resume_unwind).
    pub fn into_payload(self) -> Payload {
        self.payload.into_inner()
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panic").field(&self.message).finish()
    }
}
