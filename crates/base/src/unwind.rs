//! Catching panics, and places that must not be left by one.

use crate::sys::fact::Fact;
use crate::sys::thread::abort_with;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// Runs `f` and catches its panic. (Asserting unwind safety is right: the payload goes to the task
/// that joins, and what `f` shares with other tasks stands behind their own locks, as with std's
/// threads.)
#[inline(always)]
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Looks for the text in a payload of another type.
pub type FindText = for<'a> fn(&'a (dyn Any + Send)) -> Option<&'a str>;

static OTHERS: Fact<FindText> = Fact::new();

/// From now on [`message`] asks this function about payloads that it does not know. The first one
/// that is left here stays.
pub fn knows_text(find: FindText) {
    OTHERS.get(|| find);
}

/// The text of a panic, if its payload is text, or one of ours that has a text.
#[must_use]
pub fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        OTHERS.peek().and_then(|find| find(payload)).unwrap_or("(a payload that is not text)")
    }
}

/// Runs the body of a thread of ours that other threads rely on. A panic that nothing in `body` has
/// caught ends the process with a message: without this thread others would wait for ever, and
/// nothing would say so.
pub fn never_unwinds<R>(who: &str, body: impl FnOnce() -> R) -> R {
    catch(body).unwrap_or_else(|payload| {
        let text = message(&*payload);
        abort_with(&format!("a panic has come to the end of {who}, where nobody catches it (a bug in Myriad): {text}"))
    })
}

/// Protects a frame that others depend on and that an unwinding must not leave: tasks borrow from
/// the frame, or a count, a list or a lock would be left half changed. Where an unwinding drops the
/// guard, the guard ends the process with its message.
#[derive(Debug)]
#[must_use = "the guard protects as long as it stands"]
pub struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    /// Protects from here to [`disarm`](Self::disarm). The message says what would be left.
    #[inline(always)]
    pub const fn new(message: &'static str) -> AbortOnUnwind {
        AbortOnUnwind(message)
    }

    /// Ends the protection: nothing has unwound.
    #[inline(always)]
    pub fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        abort_with(self.0);
    }
}
