//! The handle of an agent: making, sending, reading.

use crate::action::{self, About, AsNew, Boxed, Change, OnCopy, Place};
use crate::cell::Cell;
use crate::error::AgentError;
use crate::frame;
use crate::kept::Kept;
use myriad_core::Handle;
use myriad_core::engine::home;
use std::sync::Arc;
use std::{fmt, ptr};

/// A value that [actions](Agent::send) change, one after the other. See the [module](crate).
///
/// A clone is the same agent. An agent is no task while it has nothing to do, but some 100 bytes
/// beside its value; an action starts a short task in the pool where the agent was made (the global
/// runtime's, on a foreign thread), which does what is there. Two agents are equal if they are the
/// same one.
///
/// # Examples
/// ```
/// use myriad::agent::Agent;
/// let counter = Agent::new(0_u64);
/// myriad::scope(|s| {
///     for i in 0..100 {
///         let counter = &counter;
///         s.spawn(move || counter.send(move |n| *n += i).unwrap());
///     }
/// });
/// counter.wait().unwrap();
/// assert_eq!(counter.get(), 4950);
/// ```
// No bound but `'static`: a value may hold agents of its own type.
pub struct Agent<T: 'static>(pub(crate) Kept<T>);

// SAFETY: `new`, the only way to make an agent, asks for `T: Send + Sync`; the rest is `Send` and
// `Sync` by itself: actions are `Send` and reached under the lock, rules are both. (By hand: the
// compiler would follow `T` through agents without an end.)
unsafe impl<T> Send for Agent<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Agent<T> {}

impl<T> Clone for Agent<T> {
    #[inline]
    fn clone(&self) -> Self {
        Agent(self.0.clone())
    }
}

impl<T> PartialEq for Agent<T> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(&*self.0, &*other.0)
    }
}

impl<T> Eq for Agent<T> {}

impl<T> fmt::Debug for Agent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agent").field(&ptr::from_ref(&*self.0)).finish()
    }
}

impl<T: Send + Sync + 'static> Agent<T> {
    /// An agent with this value.
    ///
    /// # Examples
    /// See [`Agent`].
    pub fn new(value: T) -> Agent<T> {
        Agent(Kept::new(Cell::new(value, home())))
    }

    /// The value of now: that of the last action that has ended. It stays as it is, however long it
    /// is kept.
    ///
    /// # Blocking
    /// Never: an action that is under way is not waited for.
    ///
    /// # Examples
    /// ```
    /// let words = myriad::agent::Agent::new(vec!["a"]);
    /// let before = words.snapshot();
    /// words.send(|words| words.push("b")).unwrap();
    /// words.wait().unwrap();
    /// assert_eq!((before.len(), words.snapshot().len()), (1, 2));
    /// ```
    #[doc(alias = "deref")]
    #[inline]
    pub fn snapshot(&self) -> Arc<T> {
        self.0.snapshot()
    }

    /// A copy of the value of now: see [`snapshot`](Self::snapshot).
    #[doc(alias = "deref")]
    #[inline]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.0.read(T::clone)
    }

    /// Sends an action that changes the value, and goes on.
    ///
    /// The action gets a copy of the value (this is what `Clone` is for), which is the agent's
    /// value when the action has ended well. It sees the scoped values of the sender, may wait, and
    /// may send: what it sends to agents is held until it has ended. (Actions that follow each
    /// other may share a task: what one leaves in a [task-local](myriad_core::task_local) another
    /// may see.)
    ///
    /// # Blocking
    /// Never.
    ///
    /// # Errors
    /// The agent has failed; the action is dropped.
    ///
    /// # Panics
    /// A panic of the action is the agent's: see [`set_error_mode`](Self::set_error_mode).
    ///
    /// # Examples
    /// See [`Agent`].
    #[inline]
    pub fn send(&self, action: impl FnOnce(&mut T) + Send + 'static) -> Result<(), AgentError>
    where
        T: Clone,
    {
        self.send_to(OnCopy(action), Place::Home)
    }

    /// Sends an action that makes a new value of the old one: [`send`](Self::send) for values that
    /// are not copied.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Examples
    /// ```
    /// let words = myriad::agent::Agent::new(String::from("a"));
    /// words.swap(|old| format!("{old}b")).unwrap();
    /// words.wait().unwrap();
    /// assert_eq!(*words.snapshot(), "ab");
    /// ```
    #[inline]
    pub fn swap(&self, action: impl FnOnce(&T) -> T + Send + 'static) -> Result<(), AgentError> {
        self.send_to(AsNew(action), Place::Home)
    }

    /// Sends an action that blocks in the system: it runs on a thread for
    /// [blocking calls](fn@myriad_core::blocking). Its turn is that of all actions.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Examples
    /// ```
    /// let count = myriad::agent::Agent::new(0);
    /// count.send_off(|n| *n = std::fs::read_dir(".").map_or(0, Iterator::count))?;
    /// # Ok::<(), myriad::agent::AgentError>(())
    /// ```
    #[doc(alias = "send-off")]
    pub fn send_off(&self, action: impl FnOnce(&mut T) + Send + 'static) -> Result<(), AgentError>
    where
        T: Clone,
    {
        self.send_to(OnCopy(action), Place::Blocking)
    }

    /// Sends an action that runs in this pool. Its turn is that of all actions.
    ///
    /// # Errors
    /// As [`send`](Self::send). If the pool's runtime has ended when the action is to run, the
    /// agent fails with [`AgentError::Shutdown`].
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::Agent;
    /// let rt = myriad::Builder::new().workers(1).build()?;
    /// let place = Agent::new(String::new());
    /// place.send_on(rt.handle(), |name| *name = myriad::Handle::current().unwrap().pool_name().to_string())?;
    /// place.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "send-via")]
    pub fn send_on(&self, pool: Handle, action: impl FnOnce(&mut T) + Send + 'static) -> Result<(), AgentError>
    where
        T: Clone,
    {
        self.send_to(OnCopy(action), Place::Pool(pool))
    }

    #[inline]
    fn send_to(&self, change: impl Change<T>, place: Place) -> Result<(), AgentError> {
        if action::is_small(&change, &self.0) {
            self.send_change(change, place)
        } else {
            self.send_change(Boxed(Box::new(change)), place)
        }
    }

    #[inline(always)]
    fn send_change(&self, change: impl Change<T>, place: Place) -> Result<(), AgentError> {
        match frame::holding() {
            None => {
                let about = About::here(place);
                let pool = about.as_ref().map(|about| about.pool(self.0.home));
                self.0.send(pool, |queue| action::push(queue, change, about))
            }
            Some(frame) => {
                let to = self.0.keep()?;
                frame.hold(to, change, About::here(place));
                Ok(())
            }
        }
    }
}
