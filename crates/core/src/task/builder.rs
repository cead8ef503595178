//! Tasks with a name, a seed, a token.

use super::context::inherit;
use super::handle::JoinHandle;
use super::header::{Header, Kind};
use super::{record, spawn};
use crate::cancel::Token;
use crate::runtime::global;
use crate::runtime::hub::Hub;
use crate::sched::worker::{self, Worker};
use std::panic::Location;
use std::sync::Arc;

/// Spawns tasks with more than the usual: a name, a seed for their random numbers, a token that cancels them.
///
/// # Examples
/// ```
/// let h = myriad_core::task::Builder::new().name("answer").spawn(|| 42);
/// assert_eq!(h.name().as_deref(), Some("answer"));
/// assert_eq!(h.join().unwrap(), 42);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {
    name: Option<Arc<str>>,
    seed: Option<u64>,
    token: Option<Token>,
}

impl Builder {
    /// A builder of ordinary tasks.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The task's name: it stands in errors, in the message of a stack overflow, and in the report of a shutdown.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Seeds the task's random numbers, and with them those of all tasks below it: see [`rng`](super::rng::rng()).
    pub fn rng_seed(mut self, seed: u64) -> Builder {
        self.seed = Some(seed);
        self
    }

    /// The task is cancelled with this token, or the one of [its](Token::child) parents. See [`cancel`](crate::cancel).
    ///
    /// # Examples
    /// ```
    /// use myriad_core::{cancel::Token, task::Builder, time};
    /// use std::time::Duration;
    /// let token = Token::new();
    /// let h = Builder::new().token(&token).spawn(|| time::sleep(Duration::from_secs(3600)));
    /// token.cancel();
    /// assert!(h.join().unwrap_err().is_cancelled());
    /// ```
    pub fn token(mut self, token: &Token) -> Builder {
        self.token = Some(token.clone());
        self
    }

    /// As [`spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F, T>(mut self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let place = Location::caller();
        match self.token.take() {
            Some(token) => self.spawn_at(place, move || token.run_task(f)),
            None => self.spawn_at(place, f),
        }
    }

    fn spawn_at<F, T>(self, place: &'static Location<'static>, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Some(w) = worker::current() else {
            // SAFETY: `f` is 'static and Send.
            return unsafe { spawn::spawn_into(global::hub(), f, place, self) };
        };
        let task = w.memory.alloc(record::class::<F, T>()).cast::<Header>();
        // SAFETY: fresh memory of the right class, ours until pushed.
        unsafe {
            spawn::write_header(task, spawn::run_closure::<F, T>, record::kind::<F, T>(Kind::CLOSURE), w.number, place);
            record::put(task, f);
            let task = self.equip(Some(w), w.hub, task);
            w.push(task);
            JoinHandle::new(task)
        }
    }

    /// Gives a task what it inherits, its seed, and its name: before it can run. Returns its record, which may be another one.
    ///
    /// # Safety
    /// The record is complete, known to nobody else, and from the memory of `w`.
    pub(crate) unsafe fn equip(self, w: Option<&Worker>, hub: &Hub, task: *mut Header) -> *mut Header {
        // SAFETY: the caller.
        let task = unsafe { inherit::closure(w, task, self.seed) };
        if let Some(name) = self.name {
            // SAFETY: the caller.
            unsafe { hub.set_name(task, name) };
        }
        task
    }
}
