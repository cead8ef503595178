//! Where a program runs: as which kind of actors, and in which runtime.

use crate::common::{Mode, Rng, fibers_supported};
use myriad::Runtime;
use std::fmt;
use std::sync::OnceLock;

/// What an actor is.
pub(crate) enum Actor {
    Thread,
    Closure(&'static Runtime),
    Future(&'static Runtime),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Threads,
    Closures,
    Futures,
    /// A closure, a future, a plain thread, a future.
    Mixed,
}

/// A place; a seed always chooses the same one.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    kind: Kind,
    mode: Mode,
    workers: usize,
}

impl Place {
    pub(crate) fn choose(rng: &mut Rng) -> Place {
        // (Plain threads are slow to start, and to wake: that is when much may come between.)
        let kind = match rng.below(8) {
            0 | 1 => Kind::Threads,
            2 | 3 => Kind::Closures,
            4 | 5 => Kind::Futures,
            _ => Kind::Mixed,
        };
        // (Some sanitizers know no fibers.)
        let fibers = fibers_supported() && std::env::var_os("MYRIAD_TEST_NO_FIBERS").is_none();
        let mode = if rng.below(2) == 0 && fibers { Mode::Fibers } else { Mode::Threads };
        Place { kind, mode, workers: [1, 2, 2, 4][rng.below(4) as usize] }
    }

    pub(crate) fn actor(&self, actor: usize) -> Actor {
        match (self.kind, actor % 4) {
            (Kind::Threads, _) | (Kind::Mixed, 2) => Actor::Thread,
            (Kind::Closures, _) | (Kind::Mixed, 0) => Actor::Closure(self.runtime()),
            (Kind::Futures, _) | (Kind::Mixed, _) => Actor::Future(self.runtime()),
        }
    }

    pub(crate) fn is_future(&self, actor: usize) -> bool {
        self.kind == Kind::Futures || self.kind == Kind::Mixed && actor % 2 == 1
    }

    /// The runtimes are made once, and serve all programs.
    fn runtime(&self) -> &'static Runtime {
        static RUNTIMES: [[OnceLock<Runtime>; 3]; 2] = [const { [const { OnceLock::new() }; 3] }; 2];
        let runtime = &RUNTIMES[usize::from(self.mode == Mode::Fibers)][self.workers / 2];
        runtime.get_or_init(|| self.mode.builder().workers(self.workers).pin_workers(false).build().unwrap())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Threads => f.write_str("plain threads"),
            kind => write!(f, "{kind:?}, {}, {} workers", self.mode, self.workers),
        }
    }
}
