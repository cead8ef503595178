//! Tells AddressSanitizer about stacks: under `--cfg myriad_asan`, and with `-Zsanitizer=address`.
//!
//! The sanitizer knows one stack for each thread: its bounds, and its *fake stack*, the heap memory
//! on which compiled code keeps locals whose addresses escape, so that their use after the return
//! is found. A switch by hand changes the stack behind the sanitizer's back: it then takes frames
//! for wild memory, and leaves shadow memory poisoned after a panic. So:
//!
//! ```text
//!  stack A                                             stack B, suspended                  stack B, fresh
//!  start(&A.fake, B's bottom, B's size)
//!  registers, sp  ──────────────────────────────────▶  finish(B.fake)                      finish(null)
//!  A ends for good: start(null, ..): the sanitizer frees A's fake stack
//! ```
//! - **The fake stack** of a suspended fiber is kept in [`Suspended`], because somebody has to free
//!   it: most fibers do not end, but are parked in the worker's loop when their stack goes back to
//!   the pool ([`forget`]).
//! - **Bottom and size** come from the registry of stacks, without the guard page. What is not in
//!   the registry is the thread's own stack, whose bounds the system tells.
//! - **Panics.** Before each call that does not return, compiled code calls
//!   `__asan_handle_no_return`, which clears the shadow from the stack pointer to the top of the
//!   stack that was announced. A panic leaves no fiber, so that is enough.
//! - **Shadow.** A frame clears its own when it returns. Frames that never return, those of the
//!   loop on a stack that is put back, leave theirs: [`forget`] clears it, before the stack is
//!   taken anew or unmapped.
//! - **Leaks.** LeakSanitizer looks for pointers on the stacks of threads, as they run. So the live
//!   part of each suspended stack, from the saved stack pointer up, is a root while the stack is
//!   suspended, the thread's own stack too. It does not see locals on the fake stacks of suspended
//!   fibers: a program that ends with fibers blocked is looked at for leaks with
//!   `ASAN_OPTIONS=detect_stack_use_after_return=0`.
//!
//! `cfg(sanitize = "address")` would say all this by itself, but stable Rust does not know it.

use crate::stack::registry;
use crate::sys::{map, thread};
use std::cell::{RefCell, UnsafeCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::null_mut;

unsafe extern "C" {
    fn __sanitizer_start_switch_fiber(fake_save: *mut *mut c_void, bottom: *const c_void, size: usize);
    fn __sanitizer_finish_switch_fiber(fake: *mut c_void, bottom_old: *mut *const c_void, size_old: *mut usize);
    fn __asan_unpoison_memory_region(start: *const c_void, size: usize);
    fn __lsan_register_root_region(start: *const c_void, size: usize);
    fn __lsan_unregister_root_region(start: *const c_void, size: usize);
}

/// A stack of this thread that was left at least once.
#[derive(Debug)]
pub(super) struct Suspended {
    /// Its fake stack; null if it has none, or runs.
    fake: *mut c_void,
    /// What LeakSanitizer was told to search; empty while the stack runs.
    root: Range<usize>,
}

thread_local! {
    /// By the lowest address of the stack. Boxed: a place stays valid while others come and go.
    static STACKS: RefCell<BTreeMap<usize, Box<UnsafeCell<Suspended>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The usable part of the stack that holds an address.
fn bounds(address: usize) -> Range<usize> {
    match registry::find(address) {
        Some(suspended) => suspended.start + map::page_size()..suspended.start + suspended.size,
        None => thread::current_stack_bounds().expect("where AddressSanitizer is, the system tells a stack's bounds"),
    }
}

/// The place of a stack, which stays where it is until [`forget`].
fn suspended_of(stack: &Range<usize>) -> *mut Suspended {
    let new = || Box::new(UnsafeCell::new(Suspended { fake: null_mut(), root: 0..0 }));
    STACKS.with_borrow_mut(|stacks| stacks.entry(stack.start).or_insert_with(new).get())
}

/// The running stack is about to be left for the one that holds `to`. Returns what [`arrive`]
/// needs.
pub(super) fn leave(to: *mut u8) -> *mut Suspended {
    let sp = super::stack_pointer();
    let from = bounds(sp);
    let suspended = suspended_of(&from);
    // SAFETY: the place is this stack's own, and this thread's. The region is mapped until it is no
    // root any more.
    unsafe {
        __lsan_register_root_region(sp as *const c_void, from.end - sp);
        (*suspended).root = sp..from.end;
        let to = bounds(to.addr());
        __sanitizer_start_switch_fiber(&raw mut (*suspended).fake, to.start as *const c_void, to.len());
    }
    suspended
}

/// A stack that was left with [`leave`] is gone on with.
pub(super) fn arrive(suspended: *mut Suspended) {
    // SAFETY: from `leave` on this stack, which nobody has forgotten, since it runs; the null
    // pointers ask for nothing.
    unsafe {
        __sanitizer_finish_switch_fiber((*suspended).fake, null_mut(), null_mut());
        (*suspended).fake = null_mut();
        (*suspended).no_root();
    }
}

/// The running stack is fresh.
pub(super) fn arrive_fresh() {
    // SAFETY: whoever switched here has started the switch; there is no fake stack yet.
    unsafe { __sanitizer_finish_switch_fiber(null_mut(), null_mut(), null_mut()) }
}

/// The running stack is about to be left for good: the sanitizer frees its fake stack. Inline, into
/// the frame with the `asm!`: such frames are never on a fake stack.
#[inline(always)]
pub(super) fn leave_for_good(to: *mut u8) {
    let to = bounds(to.addr());
    let (bottom, size) = (to.start as *const c_void, to.len());
    // SAFETY: the bounds are those of a stack that exists; the switch follows at once.
    unsafe { __sanitizer_start_switch_fiber(null_mut(), bottom, size) }
}

/// The stacks in this memory are gone: nobody goes on with them.
pub(super) fn forget(memory: Range<usize>) {
    let gone = || {
        STACKS.with_borrow_mut(|stacks| {
            let first = *stacks.range(memory.clone()).next()?.0;
            stacks.remove(&first)
        })
    };
    while let Some(stack) = gone() {
        let mut stack = stack.into_inner();
        stack.no_root();
        if !stack.fake.is_null() {
            free(stack.fake);
        }
    }
    // SAFETY: stacks that nobody uses; the shadow of their guards is clear anyway.
    unsafe { __asan_unpoison_memory_region(memory.start as *const c_void, memory.len()) };
}

/// Frees the fake stack of another stack. There is no call for that, but for the fiber that ends;
/// so this thread says that it goes there, and ends. Between the two no Rust function may be
/// called: its frame could lie on what is freed.
fn free(fake: *mut c_void) {
    let here = bounds(super::stack_pointer());
    let (bottom, size) = (here.start as *const c_void, here.len());
    let mut own = null_mut();
    // SAFETY: the running stack stays the same, with its own fake stack; the other one was saved
    // when its stack was left, and nobody else has it.
    unsafe {
        __sanitizer_start_switch_fiber(&raw mut own, bottom, size);
        __sanitizer_finish_switch_fiber(fake, null_mut(), null_mut());
        __sanitizer_start_switch_fiber(null_mut(), bottom, size);
        __sanitizer_finish_switch_fiber(own, null_mut(), null_mut());
    }
}

impl Suspended {
    fn no_root(&mut self) {
        let root = std::mem::take(&mut self.root);
        if !root.is_empty() {
            // SAFETY: registered by `leave`, with the same bounds, and taken here once.
            unsafe { __lsan_unregister_root_region(root.start as *const c_void, root.len()) };
        }
    }
}
