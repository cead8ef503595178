//! From one to either of two.

use super::ended::{self, Ended, Operation, Why};
use super::give::give;
use myriad_sync::channel::{Receiver, Sender};

/// Gives each item of a channel to the first of two channels if `is_first` says so, else to the
/// second, in a task of its own.
///
/// One that is full holds up both. The operation ends, as [all do](super), when its source has
/// ended, or when nobody receives from the one that an item is for; then it drops both senders.
///
/// # Cancellation
/// See [`Operation::cancel`].
///
/// # Panics
/// A panic of `is_first` ends the operation, and comes back from [`join`](Operation::join); the
/// item that it was asked about is in [`left`](Ended::left).
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let ((tx, rx), (small_tx, small), (large_tx, large)) = (bounded(4), bounded(100), bounded(100));
/// let split = flow::split(rx, |n| *n < 50, small_tx, large_tx);
/// flow::pipe(0..100, tx).detach();
/// assert_eq!((small.into_iter().count(), large.into_iter().min()), (50, Some(50)));
/// assert_eq!(split.join().given, 100);
/// ```
#[doc(alias = "partition")]
pub fn split<T, F>(from: Receiver<T>, mut is_first: F, first: Sender<T>, second: Sender<T>) -> Operation<T>
where
    T: Send + 'static,
    F: FnMut(&T) -> bool + Send + 'static,
{
    Operation::start(move |token| {
        let (mut taken, mut given, mut in_hand) = (0, 0, None);
        let mut why = ended::run(token, || {
            while let Ok(item) = from.recv() {
                taken += 1;
                let to = if is_first(in_hand.insert(item)) { &first } else { &second };
                if !give(to, &mut in_hand) {
                    return Why::TargetClosed;
                }
                given += 1;
                ended::pass(taken);
            }
            Why::SourceEnded
        });
        ended::release(&mut why, is_first);
        ended::release(&mut why, from);
        ended::release(&mut why, first);
        ended::release(&mut why, second);
        Ended { why, taken, given, left: in_hand.into_iter().collect() }
    })
}
