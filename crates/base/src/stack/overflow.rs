//! Stack overflow: the message that names the task, before the abort.
//!
//! ```text
//!  a frame too many ─▶ touches the guard page ─▶ SIGSEGV, handled on the thread's alternate stack
//!     ─▶ in a guard of `registry`, or in this thread's own guard, and near the stack pointer?
//!          yes: message to fd 2, abort          no: the handler that was there before us (std's, a debugger's)
//! ```
//! **In the handler** nothing allocates, locks or panics: it reads the registry and a thread-local
//! without a destructor, formats into an array, and calls `write`. The task's part of the message
//! comes from the `describe` function that [`install`] was given, which must keep to the same
//! rules.
//!
//! **Alternate stacks.** [`enter_thread`] gives the thread one of 64 KiB with a guard (std's has
//! some 8 KiB, too little for formatting with wide vector registers on top), and [`leave_thread`]
//! puts the old one back. They nest. A thread of ours has room for it at the low end of its own
//! stack ([`with_room`], [`enter_own_thread`]): a mapping of its own takes 9 of the 55 µs in which
//! a task in threads mode comes to be blocked, and one of the 65,530 mappings of a process.
//!
//! ```text
//!  low   │ guard of the C library │ alternate stack, 64 KiB │ our guard │ what the thread uses  │ high
//! ```
//!
//! **Rejected.** To go on after an overflow by unwinding from the handler: the frame that faulted
//! may be anywhere in a prologue, and its landing pads were not compiled for that.
//!
//! Tests: `tests/stack_overflow_handler.rs`.

#[cfg(all(unix, not(loom), not(miri)))]
#[path = "overflow/unix.rs"]
mod imp;

/// Nothing to handle: the system's own message has to do.
#[cfg(not(all(unix, not(loom), not(miri))))]
mod imp {
    pub(super) fn install(_describe: super::Describe) {}
    pub(super) fn enter_thread() {}
    pub(super) unsafe fn enter_own_thread() {}
    pub(super) fn room() -> usize {
        0
    }
    pub(super) fn own_stack() -> Option<std::ops::Range<usize>> {
        None
    }
    pub(super) fn leave_thread() {}
    pub(super) fn register_thread() {}
    pub(super) fn lock() {}
}

/// Writes the task that runs on this thread, like `task 'parse' spawned at src/main.rs:12:5`, or
/// nothing if there is none. Runs in a signal handler: see [`install`].
pub type Describe = fn(&mut dyn std::fmt::Write);

/// Handles overflows in this process from now on. The first call counts.
///
/// # Safety
/// `describe` does nothing that a signal handler may not do: it does not allocate, lock or panic,
/// and does not come back here.
pub unsafe fn install(describe: Describe) {
    imp::install(describe);
}

/// For `fork`: nobody is in the middle of [`install`] meanwhile.
#[cfg(all(unix, not(loom), not(miri)))]
pub type Lock = crate::sys::mutex::MutexGuard<'static, bool>;
#[cfg(not(all(unix, not(loom), not(miri))))]
#[allow(missing_docs)]
pub type Lock = ();

/// For `fork`.
pub fn lock() -> Lock {
    imp::lock()
}

/// Makes the calling thread ready for handling overflows: an alternate signal stack, and its own
/// guard (as by [`register_thread`]). Before the thread runs tasks, in either mode.
pub fn enter_thread() {
    imp::enter_thread();
    imp::register_thread();
}

/// As [`enter_thread`], for a thread that was started with room for it.
///
/// # Safety
/// The calling thread was started with a stack of [`with_room`] bytes, by this process, since
/// [`with_room`] has said so; nobody uses the low end of that stack. [`leave_thread`] is called in
/// its body, before the system may use the stack again.
pub unsafe fn enter_own_thread() {
    // SAFETY: this function's contract.
    unsafe { imp::enter_own_thread() };
    imp::register_thread();
}

/// How much stack a thread needs for this much of its own and what [`enter_own_thread`] takes.
pub fn with_room(stack: usize) -> usize {
    stack + imp::room()
}

/// What the calling thread may use of its stack, without guards; `None`: not known here.
pub fn own_stack() -> Option<std::ops::Range<usize>> {
    imp::own_stack()
}

/// Takes back what [`enter_thread`] or [`enter_own_thread`] did last on this thread.
///
/// # Safety
/// It is in the thread's body, where what was there before is there still (in a
/// destructor of a thread-local std's alternate stack is gone), and not in a signal handler: that
/// runs on what is unmapped here.
pub unsafe fn leave_thread() {
    imp::leave_thread();
}

/// Tells the handler where the calling thread's own stack ends. Once is enough; some 10 µs.
pub fn register_thread() {
    imp::register_thread();
}
