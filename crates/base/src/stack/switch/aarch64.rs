//! The switch on 64-bit Arm, AAPCS64.
//!
//! ```text
//!        suspended                         fresh
//!      │ frames of the stack │           │ (top)               │  16-aligned
//!      ├─────────────────────┤           ├─────────────────────┤
//!      │ x30 (unused)        │ +24       │ 0  for x30          │ +24  entry's return address: unwinders stop
//!      │ where to go on      │ +16       │ entry               │ +16
//!      │ x19                 │ +8        │ 0  for x19          │ +8
//!      │ x29                 │ +0  ◀─ p  │ 0  for x29          │ +0  ◀─ p   frame-pointer walkers stop
//!      └─────────────────────┘           └─────────────────────┘
//! ```
//! `x19` and `x29` are pushed because LLVM keeps them for itself (base and frame pointer) and takes
//! neither as a clobber. `x20` to `x28` are the other callee-saved general registers; `clobber_abi`
//! is all the rest: `v0` to `v31` whole, of which the ABI preserves the halves `d8` to `d15`,
//! `x30`, the SVE predicates.
//!
//! `x18` is left alone: a scratch register on Linux (then it is in `clobber_abi`), the platform's
//! own elsewhere (Apple, Android, Fuchsia), where it belongs to the OS thread, and a stack never
//! changes its thread.
//!
//! The jump goes through `x16`, so that with branch protection both kinds of landing pad are good
//! for it: `bti c` at the start of `entry`, and `hint #36` (`bti j`, a no-op on older processors)
//! at the label. Return addresses that are signed with the stack pointer (PAC) stay right, because
//! a stack does not move.
//!
//! Tested under qemu, not timed on real hardware.
//!
//! What is pushed takes 32 bytes, so that sp stays a multiple of 16, which the processor checks.

use std::arch::asm;

pub(super) const SUPPORTED: bool = true;

/// # Safety
/// `to` was saved by `switch`, on this OS thread, or made by `prepare`; its stack is still there,
/// and has not been gone on with since. `save` is valid for a write. No frame of the stack that is
/// left is unwound or freed while something borrows from it.
#[inline(always)]
pub(super) unsafe fn switch(save: *mut *mut u8, to: *mut u8) {
    // SAFETY: `to` points at the picture above, by the caller's contract; every register that the
    // other side may have changed is pushed, or is named as clobbered.
    unsafe {
        asm!(
            "stp x29, x19, [sp, #-32]!",
            "adr x9, 2f",
            "stp x9, x30, [sp, #16]",
            "mov x9, sp",
            "str x9, [x0]",
            "mov sp, x1",
            "ldp x16, x30, [sp, #16]",
            "ldp x29, x19, [sp], #32",
            "br x16",
            "2:",
            "hint #36",
            inout("x0") save => _,
            inout("x1") to => _,
            out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _,
            out("x25") _, out("x26") _, out("x27") _, out("x28") _,
            clobber_abi("C"),
        );
    }
}

/// # Safety
/// `top` is aligned to 16, and below it lies a stack that nobody uses.
#[inline(always)]
pub(super) unsafe fn prepare(top: *mut u8, entry: extern "C" fn() -> !) -> *mut u8 {
    let p = top.wrapping_sub(32).cast::<[usize; 4]>();
    // SAFETY: below `top` lies a stack that nobody uses (this function's contract), larger than
    // four words.
    unsafe { p.write([0, 0, entry as usize, 0]) };
    p.cast()
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads one register.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}
