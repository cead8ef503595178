//! A set of tasks whose results are taken as they come.

use crate::completions::{Batch, Completions};
use crate::slots::{Place, Slots};
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::when_left;
use myriad_core::{JoinError, JoinHandle, block_on, spawn, spawn_async};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Tasks that end in any order. Dropping the set cancels the remaining tasks, without waiting for
/// them.
///
/// # Examples
/// ```
/// use myriad::task::JoinSet;
/// let mut set = JoinSet::new();
/// for i in 0..10 {
///     set.spawn(move || i * i);
/// }
/// let mut squares: Vec<u64> = set.map(Result::unwrap).collect();
/// squares.sort();
/// assert_eq!(squares[..4], [0, 1, 4, 9]);
/// ```
#[doc(alias = "TaskTracker")]
#[doc(alias = "FuturesUnordered")]
#[doc(alias = "as_completed")]
pub struct JoinSet<T> {
    tasks: Slots<JoinHandle<T>>,
    /// Tasks that have ended, or are just about to.
    ended: Arc<Completions<Ended>>,
    /// Those that were taken out of `ended`, and not looked at yet.
    batch: Batch<Ended>,
    /// One that was taken out, and is not quite at its end.
    ending: Option<Ended>,
    /// It hears of tasks that were left ([`tell_of_left`]).
    listens: bool,
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// Sets that have waited, by address. A task that its runtime has left blocked drops nothing, so
/// its [`EndGuard`] does not tell.
static LISTENERS: Mutex<Vec<Arc<Completions<Ended>>>> = Mutex::new(Vec::new());

/// The place of a task that has ended; `None`: find those that have.
type Ended = Option<Place>;
const FIND_ENDED: Ended = None;

/// For `fork`: no other thread changes [`LISTENERS`] meanwhile.
fn take() -> GiveBack {
    let held = LISTENERS.lock();
    Box::new(move |_| drop(held))
}

/// Tasks were left blocked, and their records say so: sets are to find them. Without the lock:
/// their takers' wakers may be foreign.
fn tell_of_left() {
    let sets = LISTENERS.lock().clone();
    sets.iter().for_each(|set| set.push(FIND_ENDED));
}

/// Goes with the closure or future, however that ends.
struct EndGuard {
    ended: Arc<Completions<Ended>>,
    place: Place,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.ended.push(Some(self.place));
    }
}

impl<T: Send + 'static> JoinSet<T> {
    /// Starts a task in the set; as [`spawn`](fn@myriad_core::spawn).
    #[track_caller]
    pub fn spawn(&mut self, f: impl FnOnce() -> T + Send + 'static) {
        let end_guard = self.end_guard();
        let handle = spawn(move || {
            let _member = end_guard;
            f()
        });
        self.tasks.insert(handle);
    }

    /// Starts a future in the set; as [`spawn_async`].
    #[track_caller]
    pub fn spawn_async(&mut self, future: impl Future<Output = T> + Send + 'static) {
        let end_guard = self.end_guard();
        let handle = spawn_async(async move {
            let _member = end_guard;
            future.await
        });
        self.tasks.insert(handle);
    }
}

impl<T> JoinSet<T> {
    /// An empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet {
            tasks: Slots::new(),
            ended: Arc::new(Completions::new()),
            batch: Batch::new(),
            ending: None,
            listens: false,
        }
    }

    /// For the task whose handle is inserted next.
    fn end_guard(&self) -> EndGuard {
        EndGuard { ended: self.ended.clone(), place: self.tasks.next_place() }
    }

    /// How many tasks are in it: those whose result was not taken.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.tasks.len() == 0
    }

    /// The result of the next task that ends; `None` if the set is empty.
    ///
    /// # Blocking
    /// Until one has ended.
    ///
    /// # Cancellation
    /// If the caller is cancelled meanwhile, no result is lost; the tasks are not cancelled.
    ///
    /// # Errors
    /// As of [`JoinHandle::join`]: each task's own.
    pub fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        if self.is_empty() {
            return None;
        }
        Some(block_on(poll_fn(|cx| self.poll_next(cx))))
    }

    /// As [`join_next`](Self::join_next), as a future, which may be dropped at any time: no result
    /// is lost.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::JoinSet;
    /// let sum = myriad::block_on(async {
    ///     let mut set = JoinSet::new();
    ///     for i in 1..=3 {
    ///         set.spawn_async(async move { i });
    ///     }
    ///     let mut sum = 0;
    ///     while let Some(result) = set.join_next_async().await {
    ///         sum += result.unwrap();
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 6);
    /// ```
    pub async fn join_next_async(&mut self) -> Option<Result<T, JoinError>> {
        if self.is_empty() {
            return None;
        }
        Some(poll_fn(|cx| self.poll_next(cx)).await)
    }

    /// Before the first wait.
    fn listen(&mut self) {
        self.listens = true;
        fork::hold(Rank::Sets, take);
        when_left(tell_of_left);
        LISTENERS.lock().push(self.ended.clone());
        // What was left before that.
        self.find_ended();
    }

    fn find_ended(&self) {
        self.tasks
            .iter()
            .filter(|(_, handle)| handle.is_finished())
            .for_each(|(place, _)| self.ended.push(Some(place)));
    }

    fn listen_no_more(&mut self) {
        if std::mem::take(&mut self.listens) {
            let mut sets = LISTENERS.lock();
            if let Some(i) = sets.iter().position(|set| Arc::ptr_eq(set, &self.ended)) {
                sets.swap_remove(i);
            }
        }
    }

    /// Of a set that is not empty.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        loop {
            let ended = match self.ending {
                Some(ended) => ended,
                None => ready!(self.poll_ended(cx)),
            };
            self.ending = Some(ended);
            match ended {
                FIND_ENDED => self.find_ended(),
                Some(place) => {
                    if let Some(handle) = self.tasks.get_mut(place) {
                        let result = ready!(Pin::new(handle).poll(cx));
                        self.tasks.remove(place);
                        self.ending = None;
                        return Poll::Ready(result);
                    }
                }
            }
            // (One that was found ended may come a second time, by itself.)
            self.ending = None;
        }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        if let Some(ended) = self.ended.try_take_from(&mut self.batch) {
            return Poll::Ready(ended);
        }
        if !self.listens {
            self.listen();
        }
        self.ended.poll_take(cx)
    }

    /// Cancels all tasks of the set. Their errors are still to be taken.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::JoinSet;
    /// let mut set = JoinSet::new();
    /// set.spawn(|| myriad::time::sleep(std::time::Duration::from_secs(3600)));
    /// set.cancel_all();
    /// assert!(set.join_next().unwrap().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "abort_all")]
    pub fn cancel_all(&self) {
        self.tasks.iter().for_each(|(_, handle)| handle.cancel());
    }

    /// Lets all tasks go: they run on, and their results are dropped.
    ///
    /// # Examples
    /// ```
    /// let (done, ends) = myriad::channel::unbounded();
    /// let mut set = myriad::task::JoinSet::new();
    /// set.spawn(move || done.send("ran on").unwrap());
    /// set.detach_all();
    /// drop(set); // would have cancelled it
    /// assert_eq!(ends.recv(), Ok("ran on"));
    /// ```
    pub fn detach_all(&mut self) {
        // (The old table last: with a handle its task's result is dropped, which is user code.)
        let tasks = std::mem::replace(&mut self.tasks, Slots::new());
        self.listen_no_more();
        self.ended = Arc::new(Completions::new());
        self.batch = Batch::new();
        self.ending = None;
        drop(tasks);
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.listen_no_more();
        self.cancel_all();
    }
}

/// Results as they come; blocks for each, as [`join_next`](JoinSet::join_next).
impl<T> Iterator for JoinSet<T> {
    type Item = Result<T, JoinError>;
    fn next(&mut self) -> Option<Self::Item> {
        self.join_next()
    }
}
