//! `fork`: in the child the locks of this crate are free, and nobody of the parent makes the global
//! pool. Each lock is a leaf: see [`myriad_base::sys::fork::hold`].

use crate::{global, shared};
use myriad_base::sys::fork::{GiveBack, Rank, hold};

/// From now on.
pub(crate) fn watch() {
    hold(Rank::Rayon, take);
}

fn take() -> GiveBack {
    let (mut maker, fifos): (global::Lock, shared::Lock) = (global::lock(), shared::lock());
    Box::new(move |in_child| {
        if in_child {
            // Who makes the pool is in the parent: here nobody would end that.
            *maker = None;
        }
        drop((maker, fifos));
    })
}
