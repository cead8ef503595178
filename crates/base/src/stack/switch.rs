//! The switch between two stacks, by hand: 2 ns on x86-64.
//!
//! Symmetric: a stack says where to go on, and runs again when somebody switches to it. No caller
//! and no callee, no flag, no allocation; a suspended stack *is* one pointer, the one that
//! [`switch`] saved. What lies there is drawn in `switch/x86_64.rs` and `switch/aarch64.rs`.
//!
//! ```text
//!  stack A (running)                                         stack B (suspended, its pointer is b)
//!  switch(&mut a, b):  push what cannot be a clobber
//!                      a = sp;  sp = b  ───────────────────▶ pop it again, go on
//!  go on, pop it again  ◀──────────────────────────────────  switch(&mut b, a)
//! ```
//!
//! **Inline, not called.** The `asm!` block names nearly every register as clobbered, so the
//! compiler saves those that are live where it stands, and no others. A called switch would have to
//! save every callee-saved register each time.
//!
//! **Not saved: floating-point control** (MXCSR and the x87 control word, FPCR). Rust code is
//! compiled for the default rounding and masks everywhere (changing them around Rust code is
//! undefined behaviour already), so whoever changes them has to change them back before code that
//! may block. Saving and loading them costs 3 to 5 ns: twice the switch.
//!
//! **Unwinding.** A fresh stack begins with return address 0 and frame pointer 0: backtraces end
//! there, and a panic that nobody catches finds no frame to go to and aborts. No panic crosses a
//! switch; `entry` catches them all. The few instructions between the first push and the jump have
//! no unwind tables of their own: a sampling profiler that interrupts them may show one wrong
//! frame.
//!
//! **Not supported.** Shadow stacks (CET's SHSTK, Arm's GCS): each stack would need one of its own.
//! On other processors, on Windows, under Miri and in loom models [`FIBERS_SUPPORTED`] is false,
//! and a blocked task keeps an OS thread ([`super::threads`]).
//!
//! **AddressSanitizer** has to be told of each switch: `switch/asan.rs`, in a build for it alone.
//!
//! **Rejected.** A called, naked function that saves all callee-saved registers: slower, and each
//! use is a call. Resume and suspend in pairs (corosensei, Boost): going on with the next fiber
//! takes two switches. `swapcontext`: a system call for the signal mask. `ret` instead of an
//! indirect jump: the return predictor is wrong each time.

#[cfg(all(unix, target_arch = "x86_64", target_pointer_width = "64", not(loom), not(miri)))]
#[path = "switch/x86_64.rs"]
mod arch;

#[cfg(all(unix, target_arch = "aarch64", target_pointer_width = "64", not(loom), not(miri)))]
#[path = "switch/aarch64.rs"]
mod arch;

#[cfg(not(all(
    unix,
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(loom),
    not(miri)
)))]
#[path = "switch/none.rs"]
mod arch;

#[cfg(myriad_asan)]
#[path = "switch/asan.rs"]
mod asan;

#[cfg(all(test, not(loom), not(miri)))]
#[path = "switch/test.rs"]
mod test;

/// Can stacks be switched here? If not, nothing in this module may be called but [`stack_pointer`].
pub const FIBERS_SUPPORTED: bool = arch::SUPPORTED;

/// Saves the current stack to `*save` and goes on with `to`; returns when somebody switches to what
/// was saved.
///
/// # Safety
/// - [`FIBERS_SUPPORTED`].
/// - `to` was saved by a `switch` or made by [`prepare`], its stack is still there, and it has not
///   been gone on with since.
/// - `to` was saved on this OS thread, or is fresh: compiled code keeps addresses of thread-locals
///   across calls.
/// - `save` is valid for a write. It is written before the switch, so it may lie on either stack.
/// - No frame of the stack that is left is ever unwound or freed while something still borrows from
///   it.
#[inline(always)]
pub unsafe fn switch(save: *mut *mut u8, to: *mut u8) {
    #[cfg(myriad_asan)]
    let suspended = asan::leave(to);
    // SAFETY: `to` and `save` are as this function's contract says, which is that of
    // `arch::switch`.
    unsafe { arch::switch(save, to) };
    #[cfg(myriad_asan)]
    asan::arrive(suspended);
}

/// Goes on with `to`, and never comes back to the current stack.
///
/// # Safety
/// - [`FIBERS_SUPPORTED`].
/// - `to` was saved by a `switch` or made by [`prepare`], its stack is still there, and it has not
///   been gone on with since.
/// - `to` was saved on this OS thread, or is fresh: compiled code keeps addresses of thread-locals
///   across calls.
/// - Nothing that stands on the current stack is used again, and no frame of it is ever unwound or
///   freed while something still borrows from it.
#[inline(always)]
pub unsafe fn switch_for_good(to: *mut u8) {
    let mut never = std::ptr::null_mut();
    #[cfg(myriad_asan)]
    asan::leave_for_good(to);
    // SAFETY: `to` is a saved stack of this thread, which goes on once. `never` stands on a stack
    // that nobody goes on with.
    unsafe { arch::switch(&mut never, to) }
}

/// Makes the stack that ends at `top` (exclusive) run `entry` at the first switch to the pointer
/// that this returns.
///
/// # Safety
/// - [`FIBERS_SUPPORTED`].
/// - `top` is aligned to 16, and below it lies a stack that nobody uses, with a guard page at its
///   end.
/// - `entry` calls [`entered`] first, and lets no panic out (it would abort).
#[inline(always)]
pub unsafe fn prepare(top: *mut u8, entry: extern "C" fn() -> !) -> *mut u8 {
    debug_assert!(top.addr().is_multiple_of(16), "the top of a stack is not aligned");
    // SAFETY: `top` is aligned, and below it lies a stack that nobody uses (this function's
    // contract).
    unsafe { arch::prepare(top, entry) }
}

/// A fresh stack has begun.
#[inline(always)]
pub fn entered() {
    #[cfg(myriad_asan)]
    asan::arrive_fresh();
}

/// Nobody uses the stacks of this memory any more, or goes on with them: it is taken anew, or
/// unmapped.
#[inline(always)]
pub(super) fn forget(start: std::ptr::NonNull<u8>, len: usize) {
    #[cfg(myriad_asan)]
    asan::forget(start.addr().get()..start.addr().get() + len);
    #[cfg(not(myriad_asan))]
    let _ = (start, len);
}

/// About where the stack ends right now: for "is there room for another task on top?".
#[inline(always)]
pub fn stack_pointer() -> usize {
    arch::stack_pointer()
}
