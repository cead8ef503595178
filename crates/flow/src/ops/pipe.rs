//! From one to another.

use super::ended::{self, Ended, Operation, Why};
use super::give::give;
use myriad_sync::channel::Sender;

/// Gives all that an iterator or a receiver brings to a channel, in a task of its own.
///
/// The iterator lives in that task; it may wait. Its adaptors make other operations of this one:
/// `pipe(rx.into_iter().filter(..).map(..), tx)`. When the operation has ended it drops its sender,
/// which closes the channel if that was the last; keep a clone, and the channel stays open.
///
/// # Cancellation
/// See [`Operation::cancel`]. That a channel is closed is seen when there is an item to give, which
/// then comes back.
///
/// # Panics
/// A panic of the iterator ends the operation, and comes back from [`join`](Operation::join).
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let (tx, numbers) = bounded(10);
/// let (even_tx, even) = bounded(10);
/// let source = flow::pipe(0..100, tx);
/// let filter = flow::pipe(numbers.into_iter().filter(|n| n % 2 == 0), even_tx);
/// assert_eq!(even.into_iter().sum::<i32>(), 2450);
/// assert_eq!((source.join().given, filter.join().given), (100, 50));
/// ```
#[doc(alias = "onto-chan!")]
#[doc(alias = "to-chan!")]
pub fn pipe<I>(from: I, to: Sender<I::Item>) -> Operation<I::Item>
where
    I: IntoIterator + Send + 'static,
    I::Item: Send + 'static,
{
    Operation::start(move |token| {
        let (mut taken, mut given, mut in_hand) = (0, 0, None);
        // (Outside of what unwinds, as the item is.)
        let mut source = None;
        let mut why = ended::run(token, || {
            for item in source.insert(from.into_iter()) {
                (taken, in_hand) = (taken + 1, Some(item));
                if !give(&to, &mut in_hand) {
                    return Why::TargetClosed;
                }
                given += 1;
                ended::pass(taken);
            }
            Why::SourceEnded
        });
        ended::release(&mut why, source);
        ended::release(&mut why, to);
        Ended { why, taken, given, left: in_hand.into_iter().collect() }
    })
}
