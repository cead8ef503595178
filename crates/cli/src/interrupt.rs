//! Ctrl-C: the first one ends the runs, and what there is so far is shown; the second one ends the
//! program.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C is only noted. The terminal sends it to a run's process as well,
/// which ends by it.
pub(crate) fn listen() {
    #[cfg(unix)]
    {
        extern "C" fn note(_: libc::c_int) {
            // Relaxed: a flag that nothing else goes with. A store is safe in a signal handler.
            ASKED.store(true, Relaxed);
        }
        // SAFETY: all bits zero is a `sigaction` with an empty mask and no flags.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
        // After the first one the signal does what it does by default. Calls of the system go on.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: the handler only stores to an atomic, and `action` lives for the call. It cannot
        // fail for this signal.
        unsafe { libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut()) };
    }
}

/// Whether there was a Ctrl-C.
pub(crate) fn asked() -> bool {
    ASKED.load(Relaxed)
}
