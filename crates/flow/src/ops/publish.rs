//! Each item to those who want its topic.

use super::ended::{self, Ended, EndedFuture, Operation, Why};
use super::outlets::Outlets;
use myriad_base::hash::Keyed;
use myriad_base::sys::choice;
use myriad_sync::channel::{Receiver, Sender, unbounded};
use std::collections::HashMap;
use std::fmt;
use std::future::IntoFuture;
use std::hash::Hash;

/// With so many topics, those whose subscribers have all gone are looked for, and again when there
/// are twice as many as were left: no item of theirs need ever come.
const SWEEP_AT: usize = 64;

/// Gives each item of a channel to those who have [subscribed](Publisher::subscribe) to its topic,
/// which the function `topic` says, in a task of its own.
///
/// The next item is taken when all subscribers of the last one's topic have that one, so a
/// subscriber that is slow holds up all topics, and its buffer says by how much. Items of a topic
/// without subscribers are dropped.
///
/// An item costs as much with a thousand topics as with one: a look into a hash table.
///
/// # Panics
/// A panic of `topic`, of a clone, or of the topics' `Hash` and `Eq` ends the operation, and comes
/// back from [`join`](Publisher::join).
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let (tx, rx) = bounded(10);
/// let by_parity = flow::publish(rx, |n: &u32| n % 2);
/// let (odd_tx, odd) = bounded(10);
/// by_parity.subscribe(1, odd_tx);
/// let source = flow::pipe(0..100, tx);
/// assert_eq!(odd.into_iter().sum::<u32>(), 2500);
/// assert_eq!((by_parity.join().given, source.join().given), (50, 100));
/// ```
#[doc(alias = "pub")]
#[doc(alias = "sub")]
pub fn publish<T, K>(from: Receiver<T>, topic: impl Fn(&T) -> K + Send + 'static) -> Publisher<T, K>
where
    T: Clone + Send + 'static,
    K: Hash + Eq + Send + 'static,
{
    let (subscribers, new) = unbounded::<(K, Sender<T>)>();
    let operation = Operation::start(move |token| {
        let (mut taken, mut given, mut in_hand) = (0, 0, None);
        // (std's hash was a fifth of what an item costs.)
        let secret = Keyed::new([choice::entropy(), choice::entropy()]);
        let mut topics: HashMap<K, Outlets<T>, Keyed> = HashMap::with_hasher(secret);
        // (Outside of what unwinds, as the item is.)
        let (mut key, mut copy, mut sweep_at) = (None, None, SWEEP_AT);
        let mut why = ended::run(token, || {
            while let Ok(item) = from.recv() {
                taken += 1;
                let item = in_hand.insert(item);
                while !new.is_empty() {
                    let subscribed = new.try_recv().into_iter();
                    subscribed.for_each(|(topic, subscriber)| topics.entry(topic).or_default().add(subscriber));
                }
                if topics.len() >= sweep_at {
                    topics.retain(|_, outlets| {
                        outlets.drop_closed();
                        !outlets.is_empty()
                    });
                    sweep_at = SWEEP_AT.max(topics.len() * 2);
                }
                let key = key.insert(topic(item));
                if let Some(outlets) = topics.get_mut(key) {
                    given += u64::from(outlets.give(&mut in_hand, &mut copy));
                    if outlets.is_empty() {
                        topics.remove(key);
                    }
                }
                in_hand = None;
                ended::pass(taken);
            }
            Why::SourceEnded
        });
        ended::release(&mut why, key);
        ended::release(&mut why, copy);
        ended::release(&mut why, topics);
        ended::release(&mut why, from);
        ended::release(&mut why, new);
        ended::release(&mut why, topic);
        Ended { why, taken, given, left: in_hand.into_iter().collect() }
    });
    Publisher { subscribers, operation }
}

/// The handle of [`publish`].
#[must_use = "without subscribers all items are dropped"]
pub struct Publisher<T, K> {
    subscribers: Sender<(K, Sender<T>)>,
    operation: Operation<T>,
}

impl<T: Clone + Send + 'static, K: Hash + Eq + Send + 'static> Publisher<T, K> {
    /// From now on this channel gets each item of this topic: as [`Mult::tap`](super::Mult::tap)
    /// says. It may subscribe to several topics.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn subscribe(&self, topic: K, subscriber: Sender<T>) {
        // (An error has the sender, which is dropped.)
        _ = self.subscribers.send((topic, subscriber));
    }

    /// As [`Operation::join`]; `given` counts items that at least one subscriber got.
    ///
    /// # Blocking
    /// As [`Operation::join`].
    pub fn join(self) -> Ended<T> {
        self.operation.join()
    }

    /// As [`Operation::cancel`].
    pub fn cancel(&self) {
        self.operation.cancel();
    }

    /// As [`Operation::detach`]: there will be no more subscribers.
    pub fn detach(self) {}
}

/// Gives up the handle, and awaits the end, as [`join`](Publisher::join) waits for it.
impl<T: Send + 'static, K> IntoFuture for Publisher<T, K> {
    type Output = Ended<T>;
    type IntoFuture = EndedFuture<T>;

    fn into_future(self) -> EndedFuture<T> {
        self.operation.into_future()
    }
}

impl<T, K> fmt::Debug for Publisher<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("operation", &self.operation).finish_non_exhaustive()
    }
}
