//! `tokio` is the multi-thread runtime with `w` workers; `tokio-current` is the one that runs on
//! the calling thread.

use tokio::runtime::{Builder, Runtime};

use crate::params::Params;

/// A started runtime.
pub(crate) struct Host {
    rt: Runtime,
    current: bool,
}

/// The name of the current-thread flavour.
pub(crate) const CURRENT: &str = "tokio-current";

/// Starts the flavour that `p.system` names.
pub(crate) fn start(p: &Params) -> Host {
    start_with(p, |_| ())
}

/// The same with timers.
pub(crate) fn start_timed(p: &Params) -> Host {
    start_with(p, |builder| _ = builder.enable_time())
}

fn start_with(p: &Params, more: impl FnOnce(&mut Builder)) -> Host {
    let current = p.system == CURRENT;
    let mut builder = if current { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if !current {
        builder.worker_threads(p.workers);
    }
    more(&mut builder);
    Host { rt: builder.build().expect("the kernel gives tokio a few threads"), current }
}

impl Host {
    /// Runs `f` as a task on a worker and waits for it.
    pub(crate) fn run<F>(&self, f: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if self.current {
            return self.rt.block_on(f);
        }
        self.rt.block_on(async { tokio::spawn(f).await.expect("the root task does not panic") })
    }
}
