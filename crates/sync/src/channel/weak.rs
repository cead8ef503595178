//! Ends that keep no channel open.
//!
//! A weak end holds the channel's memory, as a holder beside the two sides ([`super::ends`]), and
//! may become an end of its side as long as that has one.

use super::chan::Side;
use super::ends::WeakShare;
use super::{Receiver, Sender};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A sending end that does not keep the channel open: [`Sender::downgrade`].
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::unbounded();
/// let weak = tx.downgrade();
/// weak.upgrade().unwrap().send(1).unwrap();
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [1]);
/// ```
pub struct WeakSender<T> {
    share: WeakShare<T>,
}

/// A receiving end that does not keep the channel open: [`Receiver::downgrade`].
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::unbounded();
/// let weak = rx.downgrade();
/// tx.send(1).unwrap();
/// assert_eq!(weak.upgrade().unwrap().recv(), Ok(1));
/// drop(rx);
/// assert!(weak.upgrade().is_none() && tx.send(2).is_err());
/// ```
pub struct WeakReceiver<T> {
    share: WeakShare<T>,
}

macro_rules! weak {
    ($weak:ident, $strong:ident, $side:ident) => {
        impl<T> $strong<T> {
            /// An end that does not keep the channel open: for who only sometimes needs one, and is
            /// not to be waited for by the other side. It keeps the channel's memory. Never waits.
            /// O(1).
            ///
            /// # Examples
            /// ```
            /// let (tx, rx) = myriad::channel::bounded(1);
            /// let (weak_tx, weak_rx) = (tx.downgrade(), rx.downgrade());
            /// weak_tx.upgrade().unwrap().send(1).unwrap();
            /// assert_eq!(weak_rx.upgrade().unwrap().recv(), Ok(1));
            /// drop(tx);
            /// assert!(weak_tx.upgrade().is_none() && rx.is_closed());
            /// ```
            pub fn downgrade(&self) -> $weak<T> {
                $weak { share: self.share().downgrade(Side::$side) }
            }
        }

        impl<T> $weak<T> {
            /// An end as those that keep the channel open. `None`: the last of them has gone. Never
            /// waits. (The channel may be closed: as with a clone of an end.)
            pub fn upgrade(&self) -> Option<$strong<T>> {
                self.share.upgrade(Side::$side).map($strong::new)
            }
            /// How many sending ends there are now, without weak ones.
            pub fn sender_count(&self) -> usize {
                self.share.chan().ends(Side::Send)
            }
            /// How many receiving ends there are now, without weak ones.
            pub fn receiver_count(&self) -> usize {
                self.share.chan().ends(Side::Receive)
            }
        }

        // As of the ends.
        impl<T> UnwindSafe for $weak<T> {}
        impl<T> RefUnwindSafe for $weak<T> {}

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                $weak { share: self.share.clone() }
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (senders, receivers) = (self.sender_count(), self.receiver_count());
                f.debug_struct(stringify!($weak))
                    .field("senders", &senders)
                    .field("receivers", &receivers)
                    .finish_non_exhaustive()
            }
        }
    };
}
weak!(WeakSender, Sender, Send);
weak!(WeakReceiver, Receiver, Receive);
