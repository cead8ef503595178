//! The seam for whoever watches tasks live: each door of `sched::lifecycle` says here what has
//! happened. A count, a trace, or a dump of what tasks wait for attaches in
//! [`tell`], and nowhere else.
//!
//! Off, it is an empty function that is compiled into the doors: no instruction. On it is in the
//! unit tests of this crate, which count that each task that is created ends, and begins before it
//! does, whatever way it takes.
//!
//! **What an observer may do.** It is called in the middle of a door, with the record or node in
//! the state that its step says, on the thread that does the step: it reads what does not change
//! (location, kind), waits for nothing, takes no lock that anybody holds over a door, and panics
//! never.

use super::header::Header;

/// A step of a task's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its header was written. Nobody else knows the record yet.
    Created,
    /// It begins, or a future is polled.
    Begins,
    /// It has run to its end, or never will: the record is still the caller's.
    Ends,
    /// What runs is about to be set aside; the address is that of its node, not of the record.
    SetAside,
    /// The node at this address is about to be woken.
    Woken,
}

/// Says that a step has come; `of` is the address of the record, or of the node.
#[inline(always)]
pub(crate) fn tell(step: Step, of: *const ()) {
    #[cfg(all(test, not(loom)))]
    observer::see(step, of);
    _ = (step, of);
}

/// A step of a task.
#[inline(always)]
pub(crate) fn task(step: Step, record: *const Header) {
    tell(step, record.cast());
}

#[cfg(all(test, not(loom)))]
pub(crate) mod observer {
    use super::Step;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    static ON: AtomicBool = AtomicBool::new(false);
    static SEEN: Mutex<(&str, Vec<(Step, usize)>)> = Mutex::new(("", Vec::new()));

    /// From now on the steps on threads with such a name are kept; with an empty one, of none. What
    /// was kept so far. One test at a time.
    pub(crate) fn watch(threads: &'static str) -> Vec<(Step, usize)> {
        let mut seen = SEEN.lock().unwrap();
        ON.store(!threads.is_empty(), SeqCst);
        std::mem::replace(&mut *seen, (threads, Vec::new())).1
    }

    pub(super) fn see(step: Step, of: *const ()) {
        if ON.load(SeqCst) {
            let mut seen = SEEN.lock().unwrap();
            let is_watched = |name: &str| !seen.0.is_empty() && name.starts_with(seen.0);
            if std::thread::current().name().is_some_and(is_watched) {
                seen.1.push((step, of.addr()));
            }
        }
    }
}
