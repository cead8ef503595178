//! `tokio` is the multi-thread runtime with `w` workers; `tokio-current` is the one that runs on
//! the calling thread.

#[cfg(target_os = "linux")]
use tokio::runtime::Handle;
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

/// Has the flavour that `p.system` names run a server, to the end of the process, with all that
/// `#[tokio::main]` has too. More tasks can be spawned by what comes back.
#[cfg(target_os = "linux")]
pub(crate) fn serve(p: &Params, server: impl Future<Output = ()> + Send + 'static) -> Handle {
    let Host { rt, current } = start_with(p, |builder| _ = builder.enable_all());
    let handle = rt.handle().clone();
    if current {
        std::thread::spawn(move || rt.block_on(server));
    } else {
        rt.spawn(server);
        std::mem::forget(rt);
    }
    handle
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
