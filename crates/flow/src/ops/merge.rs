//! From several to one.

use super::ended::Operation;
use super::mix::mix;
use myriad_sync::channel::{Receiver, Sender};

/// Gives what comes from any of these channels to one, in a task of its own, until all have ended.
///
/// It is a [`mix`](super::mix()) whose inputs are known from the beginning: of several that have an
/// item each is as likely the next. Where the senders are yours to choose, several senders of one
/// channel merge without a task.
///
/// # Cancellation
/// See [`Operation::cancel`].
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let inputs: Vec<_> = (0..3)
///     .map(|n| {
///         let (tx, rx) = bounded(4);
///         flow::pipe(n * 10..n * 10 + 10, tx).detach();
///         rx
///     })
///     .collect();
/// let (tx, all) = bounded(4);
/// let merged = flow::merge(inputs, tx);
/// assert_eq!(all.into_iter().sum::<i32>(), 435);
/// assert_eq!(merged.join().given, 30);
/// ```
#[doc(alias = "funnel")]
pub fn merge<T: Send + 'static>(from: impl IntoIterator<Item = Receiver<T>>, to: Sender<T>) -> Operation<T> {
    let mix = mix(to);
    from.into_iter().for_each(|input| _ = mix.add(input));
    mix.into_operation()
}
