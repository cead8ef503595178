//! How an operation gives an item.

use myriad_sync::channel::{Sender, TrySendError};
use myriad_sync::select;

/// Gives what is in `slot`, and leaves it there if the channel is closed (`false`) or the wait is
/// cancelled.
///
/// # Blocking
/// While the channel is full.
#[inline]
pub(super) fn give<T>(to: &Sender<T>, slot: &mut Option<T>) -> bool {
    let Some(item) = slot.take() else { return true };
    match to.try_send(item) {
        Ok(()) => true,
        Err(TrySendError::Full(item)) => {
            *slot = Some(item);
            wait(to, slot)
        }
        Err(TrySendError::Closed(item)) => {
            *slot = Some(item);
            false
        }
    }
}

/// (An arm of a select puts the item back when it is cancelled.)
#[inline(never)]
fn wait<T>(to: &Sender<T>, slot: &mut Option<T>) -> bool {
    select! {
        sent = to.send_from(slot) => match sent {
            Ok(()) => true,
            Err(closed) => {
                *slot = Some(closed.into_inner());
                false
            }
        }
    }
}
