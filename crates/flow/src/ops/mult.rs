//! Each item to everybody.

use super::ended::{self, Ended, EndedFuture, Operation, Why};
use super::outlets::Outlets;
use myriad_sync::channel::{Receiver, Sender, unbounded};
use std::fmt;
use std::future::IntoFuture;

/// Gives each item of a channel to each of its [taps](Mult::tap), in a task of its own.
///
/// The next item is taken when all taps have the last one, so the slowest holds up the others, and
/// its buffer says by how much. A tap that may lose items has a channel that drops some
/// ([`bounded_drop_oldest`](myriad_sync::channel::bounded_drop_oldest)). Without a tap, items are
/// taken and dropped. Each tap but one gets a clone; an `Arc` makes that cheap.
///
/// # Panics
/// A panic of a clone ends the operation, and comes back from [`join`](Mult::join).
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let (tx, rx) = bounded(10);
/// let all = flow::mult(rx);
/// let (sums_tx, sums) = bounded(10);
/// let (counts_tx, counts) = bounded(10);
/// all.tap(sums_tx);
/// all.tap(counts_tx);
/// let count = myriad::spawn(move || counts.into_iter().count());
/// let source = flow::pipe(0..100, tx);
/// assert_eq!(sums.into_iter().sum::<i32>(), 4950);
/// assert_eq!((count.join().unwrap(), all.join().given, source.join().given), (100, 100, 100));
/// ```
pub fn mult<T: Clone + Send + 'static>(from: Receiver<T>) -> Mult<T> {
    let (taps, new) = unbounded();
    let operation = Operation::start(move |token| {
        let (mut taken, mut given, mut in_hand) = (0, 0, None);
        let (mut outlets, mut copy) = (Outlets::default(), None);
        let mut why = ended::run(token, || {
            while let Ok(item) = from.recv() {
                (taken, in_hand) = (taken + 1, Some(item));
                // (Asked first: this is cheaper than a `try_recv` that fails.)
                while !new.is_empty() {
                    new.try_recv().into_iter().for_each(|tap| outlets.add(tap));
                }
                given += u64::from(outlets.give(&mut in_hand, &mut copy));
                in_hand = None;
                ended::pass(taken);
            }
            Why::SourceEnded
        });
        ended::release(&mut why, copy);
        ended::release(&mut why, outlets);
        ended::release(&mut why, from);
        ended::release(&mut why, new);
        Ended { why, taken, given, left: in_hand.into_iter().collect() }
    });
    Mult { taps, operation }
}

/// The handle of [`mult`].
#[must_use = "without a tap all items are dropped"]
pub struct Mult<T> {
    taps: Sender<Sender<T>>,
    operation: Operation<T>,
}

impl<T: Clone + Send + 'static> Mult<T> {
    /// From now on this channel gets each item, too: all those that are taken after this call, and
    /// perhaps one that was taken before. A channel that is a tap already gets each item once.
    ///
    /// A tap ends when its receivers are gone, or close the channel: also while an item waits for
    /// room in it. If the source has ended, the sender is dropped at once.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn tap(&self, tap: Sender<T>) {
        // (An error has the sender, which is dropped.)
        _ = self.taps.send(tap);
    }

    /// As [`Operation::join`]; `given` counts items that at least one tap got.
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

    /// As [`Operation::detach`]: there will be no more taps.
    pub fn detach(self) {}
}

/// Gives up the handle, and awaits the end, as [`join`](Mult::join) waits for it.
impl<T: Send + 'static> IntoFuture for Mult<T> {
    type Output = Ended<T>;
    type IntoFuture = EndedFuture<T>;

    fn into_future(self) -> EndedFuture<T> {
        self.operation.into_future()
    }
}

impl<T> fmt::Debug for Mult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mult").field("operation", &self.operation).finish_non_exhaustive()
    }
}
