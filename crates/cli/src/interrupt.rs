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
            // (The second one ends the program, and leaves the terminal as it is then.)
            echo_again();
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

/// Until this is dropped, or Ctrl-C comes, the terminal shows nothing of what is typed: behind a
/// progress bar, which fills the line, `^C` would begin another line, and what goes up to the
/// verdict's place would miss it.
#[derive(Debug)]
pub(crate) struct NoEcho(());

/// The terminal as it was.
#[cfg(unix)]
static TERMINAL: std::sync::OnceLock<libc::termios> = std::sync::OnceLock::new();

impl NoEcho {
    /// Of the terminal that the bar is on, if standard error is one.
    pub(crate) fn begin() -> NoEcho {
        #[cfg(unix)]
        {
            // SAFETY: all bits zero is a `termios`.
            let mut now: libc::termios = unsafe { std::mem::zeroed() };
            // SAFETY: writes the structure.
            let is_terminal = unsafe { libc::tcgetattr(libc::STDERR_FILENO, &raw mut now) } == 0;
            if is_terminal && TERMINAL.set(now).is_ok() {
                now.c_lflag &= !libc::ECHO;
                set(&now);
            }
        }
        NoEcho(())
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        echo_again();
    }
}

/// Safe in a signal handler.
fn echo_again() {
    #[cfg(unix)]
    TERMINAL.get().into_iter().for_each(set);
}

/// (Not in the background, where the system would stop this process for it.)
#[cfg(unix)]
fn set(terminal: &libc::termios) {
    // SAFETY: the first two take no pointers, and the third reads the structure.
    unsafe {
        if libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp() {
            libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, terminal);
        }
    }
}
