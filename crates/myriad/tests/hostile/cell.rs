//! What a place is given, and what it returns.

use crate::behaviours::{Behaviour, Foe, Value, When, is_hostile, muted, waker};
use crate::common::{Mode, text};
use myriad::JoinError;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Who the place's code is run by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A task of a runtime.
    Worker,
    /// A thread of std.
    Plain,
    /// A task with a thread of its own.
    Dedicated,
    /// A task of a runtime that is being shut down.
    Shutdown,
}

pub(crate) const CALLERS: [Caller; 4] = [Caller::Worker, Caller::Plain, Caller::Dedicated, Caller::Shutdown];

impl Caller {
    pub(crate) fn name(self) -> &'static str {
        ["worker", "plain thread", "dedicated", "shutdown"][self as usize]
    }
}

/// A cell, as its place sees it.
#[derive(Clone)]
pub(crate) struct Cx {
    pub(crate) foe: Arc<Foe>,
    pub(crate) mode: Mode,
    pub(crate) workers: usize,
    pub(crate) caller: Caller,
}

/// How the place's code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Well,
    /// The foe's panic has come to the caller, by unwinding or in an error.
    Panic,
    Cancelled,
    /// An error says that the runtime is shut down.
    Shutdown,
    Other(String),
}

impl Seen {
    /// The end of a panic.
    pub(crate) fn caught(payload: &(dyn Any + Send)) -> Seen {
        match text(payload) {
            hostile if is_hostile(hostile) => Seen::Panic,
            down if down.contains("has been shut down") => Seen::Shutdown,
            "" if payload.is::<Value>() => Seen::Panic,
            other => Seen::Other(format!("a panic: {other}")),
        }
    }

    /// What a join brought.
    pub(crate) fn joined<T>(result: Result<T, JoinError>) -> Seen {
        match result {
            Ok(_) => Seen::Well,
            Err(error) if error.is_cancelled() => Seen::Cancelled,
            Err(error) if error.is_shutdown() => Seen::Shutdown,
            Err(error) if error.is_panic() => Seen::caught(&*error.into_panic()),
            Err(error) => Seen::Other(error.to_string()),
        }
    }

    /// `f` was called, and may have panicked.
    pub(crate) fn of<T>(f: impl FnOnce() -> T) -> Seen {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
            Ok(_) => Seen::Well,
            // A cancellation is not ours to stop.
            Err(payload) if text(&*payload).is_empty() && !payload.is::<Value>() => std::panic::resume_unwind(payload),
            Err(payload) => Seen::caught(&*payload),
        }
    }
}

/// Waits, on whatever thread or task, until this holds. If it never does, the watchdog says `what`.
pub(crate) fn until(what: &'static str, condition: impl Fn() -> bool) {
    let before = crate::run::phase(what);
    let mut micros = 10;
    while !condition() {
        // In a task both: it gives way to others of its worker, and does not use up the processor.
        if myriad::Handle::current().is_some() {
            myriad::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(micros));
        micros = (2 * micros).min(1000);
    }
    crate::run::phase(before);
}

/// All is well when this is over.
pub(crate) fn well_after(wait: impl FnOnce()) -> Seen {
    wait();
    Seen::Well
}

impl Cx {
    pub(crate) fn is(&self, behaviour: Behaviour) -> bool {
        self.foe.behaviour == behaviour
    }

    /// A value that acts when it is dropped.
    pub(crate) fn value(&self) -> Value {
        self.value_when(When::Drop, 0)
    }

    pub(crate) fn value_when(&self, when: When, key: u64) -> Value {
        Value::new(&self.foe, when, key)
    }

    /// Something to call: the closure of a user.
    pub(crate) fn act(&self) {
        self.foe.act();
    }

    /// Polls with a hostile waker, whose own drop is not hostile.
    pub(crate) fn poll<F: Future + ?Sized>(&self, future: Pin<&mut F>, when: When) -> Poll<F::Output> {
        let waker = waker(&self.foe, when);
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| future.poll(&mut Context::from_waker(&waker))));
        muted(|| drop(waker));
        result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// For the behaviour `Last`: drops the last sender of a channel, and what is returned waits for
    /// that.
    pub(crate) fn last_sender(&self) -> impl FnOnce() + Send + 'static {
        let (tx, rx) = myriad::channel::bounded::<()>(1);
        let waits = self.is(Behaviour::Last);
        self.foe.on_last(move || drop(tx));
        move || {
            if waits {
                assert!(rx.recv().is_err());
            }
        }
    }
}
