//! What the user wants to happen with each thread that runs tasks.
//!
//! The user's functions are called by whoever needs a thread: a worker in the middle of a task that
//! waits, a thread that asks for the name of a spare (`rescue::tell`), who builds the runtime. None
//! of them is to unwind, or to be set aside, because of a name: what is called waits as a thread
//! that is no worker does, and a panic stops here.

use super::ThreadHooks;
use crate::sched::borrower::{Borrower, with_borrower};
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, set_current};
use std::cell::Cell;

thread_local! {
    static IN_HOOK_OF_GLOBAL: Cell<bool> = const { Cell::new(false) };
}

/// Is the caller a hook of the runtime that is, or is to be, the global one? While that is started
/// it would wait for itself.
pub(crate) fn is_in_hook_of_global() -> bool {
    IN_HOOK_OF_GLOBAL.get()
}

impl ThreadHooks {
    /// Are there names to be asked for?
    pub(crate) fn has_names(&self) -> bool {
        self.name.is_some()
    }

    /// Calls a function of the user.
    pub(crate) fn call<T>(&self, f: impl FnOnce() -> T) -> Result<T, Payload> {
        let (w, before) = (worker::current(), IN_HOOK_OF_GLOBAL.get());
        // SAFETY: the role comes back below; nothing unwinds in between, and nobody else is given
        // the role.
        unsafe { set_current(None) };
        IN_HOOK_OF_GLOBAL.set(before || self.global);
        // What it spawns goes to the global runtime.
        let result = with_borrower(Borrower::NOTHING, || user_code::call(f));
        IN_HOOK_OF_GLOBAL.set(before);
        // SAFETY: the role that the thread had. Only a wait gives a role away, and the thread had
        // none.
        unsafe { set_current(w.map(|w| w.as_static())) };
        result
    }

    /// The name of a thread that works for this worker.
    pub(crate) fn name(&self, worker: usize, usual: impl FnOnce() -> String) -> String {
        // A payload is dropped inside as well: its destructor may wait, and this is the middle of a
        // wait of the worker's.
        let ask = |name: &(dyn Fn(usize) -> String + Send + Sync)| {
            user_code::call(|| name(worker)).map_err(unwind::discard).ok()
        };
        match self.name.as_ref().map(|name| self.call(|| ask(&**name))) {
            Some(Ok(Some(name))) if !name.contains('\0') => name,
            _ => usual(),
        }
    }
}
