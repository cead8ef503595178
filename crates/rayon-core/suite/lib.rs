//! Where rayon-core's own unit tests stand, unmodified, when they are run against another core:
//! they are written as parts of that crate, and here are the names they use.
//! `scripts/rayon-suite.sh` puts the files beside this one.

pub use rayon_core::*;

/// Crate-private there.
#[cfg(test)]
mod unwind {
    pub fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
}

/// Crate-private there: calls `f` on a worker. So does a scope.
#[cfg(test)]
mod registry {
    pub fn in_worker<R: Send>(f: impl FnOnce(&(), bool) -> R + Send) -> R {
        rayon_core::scope(|_| f(&(), false))
    }
}

#[cfg(test)]
mod broadcast {
    mod test;
}
#[cfg(test)]
mod join {
    use crate::unwind;
    use rayon_core::{join, join_context};
    mod test;
}
#[cfg(test)]
mod scope {
    mod test;
}
#[cfg(test)]
mod spawn {
    use rayon_core::{spawn, spawn_fifo};
    mod test;
}
#[cfg(test)]
mod thread_pool {
    mod test;
}
#[cfg(test)]
mod test;
mod compile_fail;
// The examples of its documentation, each on an empty module.
include!("examples.rs");
