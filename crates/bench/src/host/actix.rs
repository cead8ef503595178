//! `actix`: a thread for each of the `w` arbiters; the root runs on the first one.
//!
//! An actor of actix stays on the arbiter that it is started on, and a program says on which. So
//! those that the root starts go round all arbiters.

use std::cell::RefCell;

use actix::{Arbiter, ArbiterHandle, System, SystemRunner};

use crate::params::Params;

/// A started system, on the calling thread.
pub(crate) struct Host {
    runner: SystemRunner,
}

/// The arbiters of the root's thread, and the one whose turn is next.
struct Arbiters {
    all: Vec<ArbiterHandle>,
    next: usize,
}

thread_local! {
    static ARBITERS: RefCell<Arbiters> = const { RefCell::new(Arbiters { all: Vec::new(), next: 0 }) };
}

/// Starts `p.workers` arbiters: that of the calling thread, and others.
pub(crate) fn start(p: &Params) -> Host {
    let runner = System::new();
    let others = (1..p.workers).map(|_| Arbiter::new().handle());
    let all = std::iter::once(System::current().arbiter().clone()).chain(others).collect();
    ARBITERS.with_borrow_mut(|arbiters| *arbiters = Arbiters { all, next: 0 });
    Host { runner }
}

/// The arbiter that the root starts an actor on; `None`: its own.
pub(crate) fn next_arbiter() -> Option<ArbiterHandle> {
    ARBITERS.with_borrow_mut(|arbiters| {
        let here = arbiters.next;
        arbiters.next = (here + 1) % arbiters.all.len();
        (here > 0).then(|| arbiters.all[here].clone())
    })
}

impl Host {
    /// Runs `f` on the first arbiter and waits for it.
    pub(crate) fn run<F: Future>(&self, f: F) -> F::Output {
        self.runner.block_on(f)
    }
}
