//! The switch on x86-64, System V.
//!
//! ```text
//!        suspended                         fresh
//!      │ frames of the stack │           │ (top)               │  16-aligned
//!      ├─────────────────────┤           ├─────────────────────┤
//!      │ rbp                 │ +16       │ 0                   │ +24  entry's return address: unwinders stop
//!      │ rbx                 │ +8        │ 0  for rbp          │ +16  frame-pointer walkers stop
//!      │ where to go on      │ +0  ◀─ p  │ 0  for rbx          │ +8
//!      └─────────────────────┘           │ entry               │ +0  ◀─ p
//!                                        └─────────────────────┘
//! ```
//! When `entry` begins, rsp points at its return address: 8 below a multiple of 16, as after a
//! call.
//!
//! `rbx` and `rbp` are pushed because LLVM keeps them for itself (base and frame pointer) and takes
//! neither as a clobber. `r12` to `r15` are the other callee-saved registers; `clobber_abi` is all
//! the rest, x87, MMX, SSE, AVX-512 included. The direction flag is clear on both sides, as the ABI
//! and `asm!` both ask.
//!
//! The block is not `nostack`: so the compiler keeps no red zone below rsp, and rsp is aligned as
//! for a call.

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
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "pop rbx",
            "pop rbp",
            "jmp rax",
            "2:",
            inout("rdi") save => _,
            inout("rsi") to => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
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
    unsafe { p.write([entry as usize, 0, 0, 0]) };
    p.cast()
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads one register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}
