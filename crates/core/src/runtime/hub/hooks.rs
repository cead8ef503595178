//! What the user wants to happen with each thread that runs tasks.

use crate::unwind;
use std::fmt;
use std::sync::Arc;

/// Called with the number of a worker.
pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// See the module's header.
#[derive(Clone, Default)]
pub struct ThreadHooks {
    /// The name of a worker's threads.
    pub(crate) name: Option<Arc<dyn Fn(usize) -> String + Send + Sync>>,
    /// First on each thread.
    pub(crate) start: Option<Hook>,
    /// Last on each thread.
    pub(crate) end: Option<Hook>,
}

impl ThreadHooks {
    /// The name of a thread that works for this worker.
    pub fn name(&self, worker: usize, usual: impl FnOnce() -> String) -> String {
        // Whoever needs the thread, perhaps the monitor, is not to unwind because of its name.
        let named = self.name.as_ref().map(|name| unwind::catch(|| name(worker)));
        match named {
            Some(Ok(name)) if !name.contains('\0') => name,
            Some(Err(payload)) => {
                unwind::discard(payload);
                usual()
            }
            _ => usual(),
        }
    }
}

impl fmt::Debug for ThreadHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadHooks { name, start, end } = self;
        write!(f, "ThreadHooks {{ name: {}, start: {}, end: {} }}", name.is_some(), start.is_some(), end.is_some())
    }
}
