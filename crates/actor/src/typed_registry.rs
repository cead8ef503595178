//! Registries of one's own: actors by keys of any type.
//!
//! A key has a list, under a lock under which nothing of the user's runs. A list that becomes empty
//! is over, and goes out of the map; whoever comes to add to it makes the next one. The lock of a
//! list is taken before that of a life, as those of names and groups.

use crate::address::Address;
use crate::life::{AtEnd, number};
use crate::pid::{AsPid, Pid};
use crate::registry::NameError;
use myriad_base::sys::mutex::Mutex;
use myriad_sync::channel::SendError;
use myriad_sync::shared::Map;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

struct Registered<M: 'static> {
    actor: Address<M>,
    /// The number of what takes this out at the actor's end.
    at_end: u64,
}

/// The actors of a key; `None`: the list is over.
struct Registrations<M: 'static>(Mutex<Option<Vec<Registered<M>>>>);

impl<M: Send + 'static> Registrations<M> {
    /// Adds an actor, who has to `leave`. False: the list is over.
    fn add(
        &self,
        actor: &Address<M>,
        pid: &Pid,
        is_unique: bool,
        leave: &mut Option<AtEnd>,
    ) -> Result<bool, NameError> {
        let mut list = self.0.lock();
        let Some(there) = &mut *list else { return Ok(false) };
        if is_unique && let Some(owner) = there.first() {
            return Err(NameError::Taken(owner.actor.pid()));
        }
        let Some(at_end) = leave.as_ref().map(|leave| leave.id) else { return Ok(false) };
        // (What stays in `leave` is dropped by the caller, without the lock: a key is in it.)
        let given = pid.life().extra(false, |extra| extra.at_end.extend(leave.take()));
        if given.is_none() {
            if there.is_empty() {
                *list = None;
            }
            return Err(NameError::NoProcess);
        }
        there.push(Registered { actor: actor.clone(), at_end });
        Ok(true)
    }

    /// Takes one out. The list is over if none is left.
    fn take(&self, is_it: impl Fn(&Registered<M>) -> bool) -> Option<Registered<M>> {
        let mut list = self.0.lock();
        let there = list.as_mut()?;
        let at = there.iter().position(is_it)?;
        let taken = there.swap_remove(at);
        if there.is_empty() {
            *list = None;
        }
        Some(taken)
    }

    fn is_over(&self) -> bool {
        self.0.lock().is_none()
    }

    fn all(&self) -> Vec<Address<M>> {
        self.0.lock().iter().flatten().map(|registered| registered.actor.clone()).collect()
    }
}

struct Keys<K, M: 'static> {
    map: Map<K, Registrations<M>>,
    is_unique: bool,
}

impl<K: Hash + Eq, M: Send + 'static> Keys<K, M> {
    /// Takes a registration out of the list of its key.
    fn take(
        &self,
        key: &K,
        of: &Arc<Registrations<M>>,
        is_it: impl Fn(&Registered<M>) -> bool,
    ) -> Option<Registered<M>> {
        let taken = of.take(is_it);
        self.take_out_if_over(key, of);
        taken
    }

    fn take_out_if_over(&self, key: &K, of: &Arc<Registrations<M>>) {
        if of.is_over() {
            _ = self.map.remove_if(key, of);
        }
    }
}

/// Actors by keys of any type: Elixir's `Registry`.
///
/// In a [unique](Registry::unique) registry a key has one actor, in one for
/// [several](Registry::duplicate) any number; an actor may have any number of keys. A registration
/// ends with its actor: before monitors and links are told of the end. A clone is the same
/// registry. It may stand in a `static`, in a `LazyLock`.
///
/// Keys are hashed and compared as those of a [`Map`]: of a comparison that waits only who wants
/// keys nearby waits, too.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Registry};
/// let rooms: Registry<u32, &str> = Registry::unique();
/// let (tx, rx) = myriad::channel::unbounded();
/// let room = actor::spawn(move |mut mail: Mailbox<&str>| tx.send(mail.receive()).unwrap());
/// rooms.register(7, &room).unwrap();
/// assert!(rooms.register(7, &room).is_err(), "the key is taken");
/// rooms.send(&7, "hello").unwrap();
/// assert_eq!(rx.recv(), Ok("hello"));
/// actor::monitor(&room).wait();
/// assert_eq!(rooms.whereis(&7), None);
/// ```
pub struct Registry<K: 'static, M: 'static>(Arc<Keys<K, M>>);

impl<K, M> Clone for Registry<K, M> {
    fn clone(&self) -> Self {
        Registry(self.0.clone())
    }
}

impl<K, M> fmt::Debug for Registry<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("keys", &self.0.map.len()).field("unique", &self.0.is_unique).finish()
    }
}

impl<K: Hash + Eq + Clone + Send + Sync + 'static, M: Send + 'static> Registry<K, M> {
    /// A registry in which a key has one actor.
    pub fn unique() -> Registry<K, M> {
        Registry(Arc::new(Keys { map: Map::new(), is_unique: true }))
    }

    /// A registry in which a key has any number of actors, and one actor several times if it is
    /// registered so.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Mailbox, Registry};
    /// let topics: Registry<String, u32> = Registry::duplicate();
    /// let (tx, rx) = myriad::channel::unbounded();
    /// for _ in 0..3 {
    ///     let tx = tx.clone();
    ///     let subscriber = actor::spawn(move |mut mail: Mailbox<u32>| tx.send(mail.receive()).unwrap());
    ///     topics.register("news".to_string(), &subscriber).unwrap();
    /// }
    /// assert_eq!(topics.send_to_all(&"news".to_string(), 5), 3);
    /// assert_eq!([(); 3].map(|()| rx.recv().unwrap()), [5; 3]);
    /// ```
    pub fn duplicate() -> Registry<K, M> {
        Registry(Arc::new(Keys { map: Map::new(), is_unique: false }))
    }

    /// Registers an actor under this key, until it ends or is
    /// [taken out](Registry::unregister).
    ///
    /// # Blocking
    /// Only in comparisons of keys that wait.
    ///
    /// # Errors
    /// [`NameError::Taken`]: the key has an actor, and may have one.
    /// [`NameError::NoProcess`]: the actor has ended, or is ending.
    ///
    /// Example: [`Registry`].
    pub fn register(&self, key: K, actor: &Address<M>) -> Result<(), NameError> {
        let (pid, at_end) = (actor.pid(), number());
        loop {
            let empty = || Registrations(Mutex::new(Some(Vec::new())));
            let of = self.0.map.get_or_insert_with(key.clone(), empty);
            let mut leave = Some(self.leave(key.clone(), &of, at_end));
            let added = of.add(actor, &pid, self.0.is_unique, &mut leave);
            // (The list is over: whoever made it so may not have come to take it out.)
            if !matches!(added, Ok(true)) {
                self.0.take_out_if_over(&key, &of);
            }
            match added {
                Ok(false) => {}
                Ok(true) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// What an actor does at its end that is registered here.
    fn leave(&self, key: K, of: &Arc<Registrations<M>>, at_end: u64) -> AtEnd {
        let (keys, of) = (Arc::downgrade(&self.0), Arc::downgrade(of));
        let leave = move |_: &Pid| {
            if let (Some(keys), Some(of)) = (keys.upgrade(), of.upgrade()) {
                drop(keys.take(&key, &of, |registered| registered.at_end == at_end));
            }
        };
        AtEnd { id: at_end, group: None, leave: Box::new(leave) }
    }

    /// Takes a registration of this actor under this key out: one, if there are several. False:
    /// there is none.
    ///
    /// # Complexity
    /// In the number of the key's actors, and of what the actor is registered as.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Mailbox, Registry};
    /// let forever = |mut mail: Mailbox<u32>| loop { mail.receive(); };
    /// let (a, b) = (actor::spawn(forever), actor::spawn(forever));
    /// let topics: Registry<&str, u32> = Registry::duplicate();
    /// topics.register("news", &a).unwrap();
    /// topics.register("news", &b).unwrap();
    /// assert!(topics.unregister(&"news", &a));
    /// assert_eq!(topics.members(&"news"), [b]);
    /// ```
    pub fn unregister(&self, key: &K, actor: &impl AsPid) -> bool {
        let pid = actor.pid();
        let Some(of) = self.0.map.get(key) else { return false };
        let taken = self.0.take(key, &of, |registered| registered.actor.pid() == pid);
        let Some(registered) = taken else { return false };
        let left = pid.life().with_extra(|extra| {
            let at = extra.at_end.iter().position(|at_end| at_end.id == registered.at_end);
            at.map(|at| extra.at_end.swap_remove(at))
        });
        drop(left);
        true
    }

    /// The actor of this key, or one of several.
    pub fn whereis(&self, key: &K) -> Option<Address<M>> {
        let of = self.0.map.get(key)?;
        let list = of.0.lock();
        list.as_ref()?.first().map(|registered| registered.actor.clone())
    }

    /// All actors of this key, in no order. Example: [`unregister`](Registry::unregister).
    pub fn members(&self, key: &K) -> Vec<Address<M>> {
        self.0.map.get(key).map_or_else(Vec::new, |of| of.all())
    }

    /// How many keys have actors.
    pub fn len(&self) -> usize {
        self.0.map.len()
    }

    /// Has no key an actor?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends to the actor of this key, or to one of several.
    ///
    /// # Blocking
    /// As [`Address::send`].
    ///
    /// # Errors
    /// The key has no actor; or as [`Address::send`].
    ///
    /// Example: [`Registry`].
    #[track_caller]
    pub fn send(&self, key: &K, message: M) -> Result<(), SendError<M>> {
        match self.whereis(key) {
            Some(actor) => actor.send(message),
            None => Err(SendError(message)),
        }
    }

    /// Sends a copy to each actor of this key, and does not wait: see [`Address::cast`]. To how
    /// many that was.
    ///
    /// Example: [`duplicate`](Registry::duplicate).
    #[doc(alias = "dispatch")]
    pub fn send_to_all(&self, key: &K, message: M) -> usize
    where
        M: Clone,
    {
        let members = self.members(key);
        members.iter().for_each(|member| member.cast(message.clone()));
        members.len()
    }
}
