//! `fork`: in the child the locks of this crate are free. Each is a leaf: see
//! [`myriad_base::sys::fork::hold`].

use crate::{channel, handle, mutex, runtime, task};
use myriad_base::sys::fork::{GiveBack, Rank, hold};

/// From now on.
pub(crate) fn watch() {
    hold(Rank::C, take);
}

fn take() -> GiveBack {
    let mut starting = runtime::lock_starting();
    let others: (runtime::Lock, [handle::Locks; 3]) =
        (runtime::lock(), [task::TASKS.lock_all(), channel::CHANNELS.lock_all(), mutex::LOCKS.lock_all()]);
    Box::new(move |in_child| {
        if in_child {
            // Who has begun a start is in the parent: here nobody would end it.
            *starting = false;
        }
        drop((starting, others));
    })
}
