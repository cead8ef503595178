//! A dump on SIGQUIT: the signal's handler wakes a thread, and the thread writes.
//!
//! The handler does nothing but set a flag and `sem_post`, which may be called in a handler: so a
//! signal may come at any moment, on any thread, also while that one has a lock that a dump needs.
//! Signals that come while a dump is written ask for one more, not for as many as they are.
//!
//! The thread also marks waits when the monitor asks for that ([`crate::sched::rescue::marks`]).

use myriad_base::sys::fork;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// In which era the thread was started; the signal's action is there from the first time on.
static STARTED_IN: AtomicU32 = AtomicU32::new(0);

/// Does `MYRIAD_DUMP` ask for dumps?
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os("MYRIAD_DUMP").is_some_and(|value| value == "1")
}

/// From now on SIGQUIT writes a dump to the standard error. Once for a process, for good.
pub(crate) fn install() -> io::Result<()> {
    let era = fork::era();
    let before = STARTED_IN.swap(era, AcqRel);
    if before == era {
        return Ok(());
    }
    let started = start(before == 0);
    if started.is_err() {
        STARTED_IN.store(before, Release);
    }
    started
}

#[cfg(target_os = "linux")]
fn start(first: bool) -> io::Result<()> {
    linux::start(first)
}

#[cfg(not(target_os = "linux"))]
fn start(_: bool) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "dumps on a signal are for Linux: call `myriad::dump()`"))
}

#[cfg(target_os = "linux")]
mod linux {
    use super::STARTED_IN;
    use crate::runtime::dump::{dump, mark_waits};
    use crate::sched::rescue::{marks, quiet};
    use crate::sched::unwind;
    use myriad_base::sys::fork;
    use myriad_base::sys::passing::passing;
    use myriad_base::sys::say::say;
    use std::cell::UnsafeCell;
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicBool, Ordering::*};

    struct Semaphore(UnsafeCell<MaybeUninit<libc::sem_t>>);
    // SAFETY: a semaphore is for all threads, once it is initialised: before the thread starts and
    // the signal has its action.
    unsafe impl Sync for Semaphore {}

    /// Something is to be done: marks, and a dump if [`DUMP`] says so.
    static ASKED: Semaphore = Semaphore(UnsafeCell::new(MaybeUninit::uninit()));
    /// Relaxed: the semaphore orders the handler's store with the thread's look.
    static DUMP: AtomicBool = AtomicBool::new(false);

    impl Semaphore {
        fn at(&self) -> *mut libc::sem_t {
            self.0.get().cast()
        }
    }

    pub(super) fn start(first: bool) -> io::Result<()> {
        if first {
            // SAFETY: a place of ours, which nobody uses yet.
            if unsafe { libc::sem_init(ASKED.at(), 0, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let body = || unwind::never_unwinds("the thread that writes dumps", write_dumps);
        std::thread::Builder::new().name("myriad-dump".into()).spawn(passing(body))?;
        if first {
            // SAFETY: `sem_post` may be called in a handler, and changes nothing else: not even
            // `errno`, as it succeeds; at the most it fails because so many dumps are asked for.
            unsafe { signal_hook_registry::register(libc::SIGQUIT, ask) }?;
            marks::when_due(ask_for_marks);
        }
        Ok(())
    }

    fn ask_for_marks() {
        // (In a child of fork the thread may not be there. Relaxed: a hint, for a post in vain does
        // no harm.)
        if STARTED_IN.load(Relaxed) == fork::era() {
            // SAFETY: initialised before the monitor heard of this function.
            unsafe { libc::sem_post(ASKED.at()) };
        }
    }

    fn ask() {
        DUMP.store(true, Relaxed);
        // SAFETY: initialised before the signal had this action, for good. `errno` belongs to the
        // code that was interrupted.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::sem_post(ASKED.at());
            *errno = before;
        }
    }

    fn write_dumps() {
        loop {
            // SAFETY: initialised before this thread was started.
            let asked = unsafe { libc::sem_wait(ASKED.at()) } == 0;
            if !asked {
                // Interrupted.
                continue;
            }
            // SAFETY: initialised before this thread was started.
            while unsafe { libc::sem_trywait(ASKED.at()) } == 0 {}
            if DUMP.swap(false, Relaxed) {
                say!("{}", dump());
            } else {
                mark_waits();
            }
            // Whoever has looked for a deadlock meanwhile has seen this thread at work.
            quiet::somebody_sleeps();
        }
    }
}
