//! Tasks with more than the usual: a name, a seed, a token, a place to run.

use super::future::{self, Anywhere};
use super::handle::JoinHandle;
use super::place::Place;
use super::portable::Portable;
use super::prioritized::{Background, Interactive};
use super::{dispatch, property, spawn};
use crate::api::token::Token;
use crate::queue::policy::ready_task::PropertyValue;
use crate::record::create::{Created, NewFuture, Unheld};
use crate::record::header::{Header, Kind};
use crate::runtime::pools;
use crate::sched::cancel::checkpoint;
use crate::sched::context::inherit;
use crate::sched::pool::{Handle, Pool};
use crate::sched::priority::Priority;
use crate::sched::worker::Worker;
use std::any::Any;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// Spawns tasks with more than the usual: a name, a seed for their random numbers, a token that
/// cancels them, a pool, a priority, a property for a scheduler of one's own.
///
/// # Examples
/// ```
/// let h = myriad::task::Builder::new().name("answer").spawn(|| 42);
/// assert_eq!(h.name().as_deref(), Some("answer"));
/// assert_eq!(h.join().unwrap(), 42);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {
    name: Option<Arc<str>>,
    seed: Option<u64>,
    on: Option<Handle>,
    pool: Option<Arc<str>>,
    place: Option<Place>,
    priority: Priority,
    token: Option<Token>,
    property: Option<PropertyValue>,
}

impl Builder {
    /// A builder of ordinary tasks.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The task's name: it stands in errors, in the message of a stack overflow, and in the report
    /// of a shutdown.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Seeds the task's random numbers, and with them those of all tasks below it: see
    /// [`rng`](crate::task::rng::rng()).
    ///
    /// # Examples
    /// ```
    /// use myriad::{rng, task::Builder};
    /// let draw = || Builder::new().rng_seed(7).spawn(|| rng().next_u64()).join().unwrap();
    /// assert_eq!(draw(), draw());
    /// ```
    pub fn rng_seed(mut self, seed: u64) -> Builder {
        self.seed = Some(seed);
        self
    }

    /// Spawns into the pool of this name: of the caller's runtime, or that of [`on`](Self::on). See
    /// [`spawn_on`](crate::spawn_on).
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// rt.run(|| {
    ///     let h = myriad::task::Builder::new().name("answer").pool("interactive").spawn(|| 42);
    ///     assert_eq!(h.join().unwrap(), 42);
    /// });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pool(mut self, name: impl Into<Arc<str>>) -> Builder {
        self.pool = Some(name.into());
        self
    }

    /// Spawns where this handle does, not where the caller belongs.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).build()?;
    /// let h = myriad::task::Builder::new().on(rt.handle()).name("answer").spawn(|| 42);
    /// assert_eq!(h.join().unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on(mut self, handle: Handle) -> Builder {
        self.on = Some(handle);
        self
    }

    /// Spawns at this place, in its pool, whatever [`pool`](Self::pool), [`on`](Self::on) and
    /// [`priority`](Self::priority) say: see [`Place`].
    ///
    /// # Examples
    /// ```
    /// use myriad::task::{Builder, Place};
    /// let place = Place::next();
    /// let h = Builder::new().place(place).spawn(|| Place::here().worker());
    /// assert_eq!(h.join().unwrap(), place.worker());
    /// ```
    pub fn place(mut self, place: Place) -> Builder {
        self.place = Some(place);
        self
    }

    /// When the task begins, among those that wait for a worker of the same pool.
    ///
    /// An interactive task begins with the next turn of a worker, that is, when any worker ends a
    /// task or one of its tasks blocks; it interrupts nobody. (Where workers may be busy with long
    /// tasks, a pool of its own helps: [`pool`](Self::pool).) A background task begins when a
    /// worker has nothing else to do. Nothing starves: of 9 turns of a worker one is for others,
    /// whatever interactive tasks there are, so the oldest of these begins within 36; and of 250
    /// turns one is for a background task.
    ///
    /// It is the beginning that is ordered, and each poll of a future. A closure that has waited
    /// goes on in the order of wakes, before all that has not begun. What the task spawns is of the
    /// default class.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::{Builder, Priority};
    /// let answer = Builder::new().priority(Priority::Interactive).spawn(|| 6 * 7);
    /// let tidied = Builder::new().priority(Priority::Background).spawn_async(async { "tidy" });
    /// assert_eq!((answer.join().unwrap(), tidied.join().unwrap()), (42, "tidy"));
    /// ```
    pub fn priority(mut self, priority: Priority) -> Builder {
        self.priority = priority;
        self
    }

    /// Gives the task a property for the [`Scheduler`](crate::scheduler::Scheduler) of its pool: a
    /// deadline, a priority, whatever that scheduler looks for by
    /// [`ReadyTask::property`](crate::scheduler::ReadyTask::property). A task has one, the last
    /// that was given. In a pool without such a scheduler it is dropped at the spawn.
    ///
    /// It lives as long as the task. If its type has a destructor, that runs on a thread for
    /// blocking calls, where a panic goes no further.
    ///
    /// # Examples
    /// ```
    /// use myriad::scheduler::{Cause, PoolInfo, ReadyTask, Scheduler, Turn};
    /// use std::{collections::BTreeMap, sync::Mutex};
    ///
    /// /// The lowest number first.
    /// #[derive(Default)]
    /// struct ByNumber(Mutex<BTreeMap<u32, Vec<ReadyTask>>>);
    ///
    /// impl Scheduler for ByNumber {
    ///     fn enqueue(&self, task: ReadyTask, _: Cause) {
    ///         let number = task.property().copied().unwrap_or(u32::MAX);
    ///         self.0.lock().unwrap().entry(number).or_default().push(task);
    ///     }
    ///     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
    ///         let mut tasks = self.0.lock().unwrap();
    ///         let mut first = tasks.first_entry()?;
    ///         let task = first.get_mut().pop();
    ///         if first.get().is_empty() {
    ///             first.remove();
    ///         }
    ///         task
    ///     }
    /// }
    ///
    /// let make = |_: &PoolInfo| ByNumber::default();
    /// let rt = myriad::Builder::new().workers(1).spare_workers(0).scheduler(make).build()?;
    /// let (order, ended) = std::sync::mpsc::channel();
    /// rt.run(move || {
    ///     for number in [3, 1, 2] {
    ///         let order = order.clone();
    ///         myriad::task::Builder::new().property(number as u32).spawn(move || order.send(number));
    ///     }
    /// });
    /// assert_eq!(ended.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn property<P: Any + Send + Sync>(mut self, property: P) -> Builder {
        self.property = Some(PropertyValue::new(property));
        self
    }

    /// The task is cancelled with this token, or the one of [its](Token::child) parents. See
    /// [`cancel`](crate::cancel).
    ///
    /// # Examples
    /// ```
    /// use myriad::{cancel::Token, task::Builder, time};
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
    ///
    /// # Panics
    /// As [`spawn`](crate::spawn). If the runtime has no pool of the name that was given.
    #[track_caller]
    pub fn spawn<F, T>(mut self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (home, location) = (self.home(), Location::caller());
        match self.token.take() {
            Some(token) => {
                spawn::spawn_into(home, Portable::closure(move || token.run_task(f)), location, self, Kind::CLOSURE)
            }
            None => spawn::spawn_into(home, Portable::closure(f), location, self, Kind::CLOSURE),
        }
    }

    /// As [`dispatch`](super::dispatch()): the task is entered at once, if the caller is a task of
    /// the same pool. A priority orders beginnings, so it means nothing then. With a
    /// [place](Self::place) it is `spawn`.
    ///
    /// # Panics
    /// As [`Builder::spawn`].
    ///
    /// # Examples
    /// ```
    /// let h = myriad::task::Builder::new().name("answer").dispatch(|| 42);
    /// assert_eq!(h.name().as_deref(), Some("answer"));
    /// assert_eq!(h.join().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn dispatch<F, T>(mut self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (home, location) = (self.home(), Location::caller());
        match self.token.take() {
            Some(token) => dispatch::dispatch_into(home, Portable::closure(move || token.run_task(f)), location, self),
            None => dispatch::dispatch_into(home, Portable::closure(f), location, self),
        }
    }

    /// As [`spawn_async`](crate::spawn_async).
    ///
    /// # Panics
    /// As [`Builder::spawn`].
    ///
    /// # Examples
    /// ```
    /// let h = myriad::task::Builder::new().name("answer").spawn_async(async { 42 });
    /// assert_eq!(h.name().as_deref(), Some("answer"));
    /// assert_eq!(h.join().unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn spawn_async<F>(mut self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        match self.token.take() {
            Some(token) if !cfg!(panic = "abort") => {
                let run =
                    async move { token.run_async(future).await.unwrap_or_else(|_| checkpoint::unwind_cancelled()) };
                self.spawn_async_at(location, run)
            }
            _ => self.spawn_async_at(location, future),
        }
    }

    #[track_caller]
    fn spawn_async_at<F>(self, location: &'static Location<'static>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (home, future) = (self.home(), Portable::future(future));
        match self.priority {
            Priority::Default => future::spawn_with::<F, Anywhere>(home, future, location, self),
            Priority::Interactive => future::spawn_with::<F, Interactive>(home, future, location, self),
            Priority::Background => future::spawn_with::<F, Background>(home, future, location, self),
        }
    }

    /// The token that it is given, taken out.
    pub(super) fn take_token(&mut self) -> Option<Token> {
        self.token.take()
    }

    /// The seed that it is given.
    pub(super) fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Its name, for a thread: without zero bytes.
    pub(super) fn thread_name(&self) -> Option<String> {
        self.name.as_ref().map(|name| name.replace('\0', "?"))
    }

    /// The class that it is given.
    pub(super) fn class(&self) -> Priority {
        self.priority
    }

    /// The worker that it is to begin on.
    pub(super) fn worker(&self) -> Option<usize> {
        self.place.map(Place::worker)
    }

    /// The pool that it spawns into.
    #[track_caller]
    pub(super) fn home(&self) -> Handle {
        if let Some(place) = self.place {
            return place.pool();
        }
        let home = self.on.unwrap_or_else(pools::here);
        self.pool.as_ref().map_or(home, |name| home.expect_pool(name))
    }

    /// Gives a closure what it inherits, its seed, and its name: before it can run. `task` is one
    /// of `pool`; its record may become another one.
    pub(super) fn equip<T>(self, w: Option<&Worker>, pool: &Pool, task: Created<T>) -> Created<T> {
        let task = inherit::closure(w, task, self.seed);
        self.set_name(pool, task.header());
        task
    }

    /// The same for a future, whose record stays. `task` is one of `pool`.
    pub(super) fn equip_future<T>(self, w: Option<&Worker>, pool: &Pool, task: NewFuture<T>) -> Unheld<T> {
        let task = inherit::future(w, task, self.seed);
        self.set_name(pool, task.header());
        task
    }

    /// The same for its name and its property alone. `task` is one of `pool`.
    pub(super) fn set_name(self, pool: &Pool, task: &Header) {
        if let Some(name) = self.name {
            pool.set_name(task, name);
        }
        if let Some(property) = self.property {
            property::set(pool, task, property);
        }
    }
}
