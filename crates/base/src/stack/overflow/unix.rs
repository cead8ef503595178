//! The handler, on unixes.

use super::Describe;
use crate::stack::registry;
use crate::sys::map::{self, GuardKind, UnusedRange};
use crate::sys::mutex::{Mutex, MutexGuard};
use crate::sys::thread;
use std::cell::Cell;
use std::fmt::Write;
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::ptr::{NonNull, null, null_mut};
// Std's own atomics: statics that a signal handler reads, and no model covers.
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// An alternate stack of ours. The kernel's part, with AMX registers, can be 11 KiB.
const ALT_STACK: usize = 64 << 10;
/// What is enough if somebody else made one.
const ENOUGH: usize = 32 << 10;
/// A frame may begin so far below its stack pointer: red zone, a probe that is one page ahead, a
/// call's push.
const REACH: usize = 64 << 10;

/// The thread's own stack: where its guard may begin, where it has ended for sure, its high end.
/// All 0: not known.
#[derive(Debug, Clone, Copy)]
struct Own {
    guard: usize,
    low: usize,
    high: usize,
    /// As the system tells it.
    size: usize,
}

thread_local! {
    // Const and without destructors, so that the handler's access is a plain load.
    static OWN: Cell<Own> = const { Cell::new(Own { guard: 0, low: 0, high: 0, size: 0 }) };
    static ALT: Cell<*mut Alt> = const { Cell::new(null_mut()) };
}

/// An alternate stack that [`enter_thread`] made, or decided not to make.
struct Alt {
    below: *mut Alt,
    made: Option<Made>,
}

/// What was made, and the alternate stack before it.
struct Made {
    place: Place,
    old: libc::stack_t,
}

enum Place {
    /// In a mapping of its own.
    Mapping(UnusedRange),
    /// At the low end of the thread's stack, below this guard.
    Stack(UnusedRange),
}

/// What was installed for SIGSEGV and SIGBUS before us. Written once, before our handler is
/// installed.
static PREVIOUS: [AtomicPtr<libc::sigaction>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];
/// The `Describe`, as a pointer.
static DESCRIBE: AtomicPtr<()> = AtomicPtr::new(null_mut());
/// Threads that found an overflow: the second waits for the first one's abort.
static REPORTING: AtomicU32 = AtomicU32::new(0);

pub(super) fn install(describe: Describe) {
    // Under a lock that a fork holds: with a `Once` a child that is forked in the middle would wait
    // for ever.
    let mut installed = lock();
    if !std::mem::replace(&mut *installed, true) {
        // Release: nothing to publish but the pointer itself; the handler loads it with acquire.
        DESCRIBE.store(describe as *mut (), Release);
        for (signal, previous) in [libc::SIGSEGV, libc::SIGBUS].into_iter().zip(&PREVIOUS) {
            let mut old = default_action();
            // SAFETY: only reads what is installed.
            unsafe { libc::sigaction(signal, null(), &mut old) };
            // Release: the content, for the handler's acquire.
            previous.store(Box::into_raw(Box::new(old)), Release);
            let mut new = default_action();
            new.sa_sigaction = handler as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: a mask of our own.
            unsafe { libc::sigemptyset(&mut new.sa_mask) };
            // SAFETY: the handler keeps to the rules for signal handlers, see the module's header.
            unsafe { libc::sigaction(signal, &new, null_mut()) };
        }
    }
}

/// What the system does by itself, with no mask and no flags.
fn default_action() -> libc::sigaction {
    // SAFETY: a plain C structure, for which all zeros is a value: SIG_DFL.
    unsafe { zeroed() }
}

static INSTALLED: Mutex<bool> = Mutex::new(false);

/// For `fork`: nobody is in the middle of [`install`]. A leaf.
pub(super) fn lock() -> MutexGuard<'static, bool> {
    INSTALLED.lock()
}

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a filled siginfo to a SA_SIGINFO handler.
    let code = unsafe { (*info).si_code };
    // Not above 0: sent by kill, where the address means nothing.
    if code > 0 {
        // SAFETY: the kernel gives a filled siginfo to a SA_SIGINFO handler; SIGSEGV and SIGBUS
        // carry an address.
        let address = unsafe { (*info).si_addr() }.addr();
        // SAFETY: `context` is what the kernel gave to this handler.
        let sp = unsafe { stack_pointer_of(context) };
        if let Some(size) = overflowed(address, sp) {
            report(size);
        }
    }
    // SAFETY: the arguments are the handler's own.
    unsafe { go_on_with_previous(signal, info, context) };
}

/// If the fault at `address` is the overflow of the stack at `sp`: the stack's size.
fn overflowed(address: usize, sp: Option<usize>) -> Option<usize> {
    let near = sp.is_none_or(|sp| address < sp.saturating_add(REACH) && sp < address.saturating_add(REACH));
    if let Some(region) = registry::find(address) {
        // A probe of a big frame may have moved sp to below the guard already, or not at all yet.
        let on_it = sp.is_some_and(|sp| sp.wrapping_sub(region.start) < region.size);
        return (region.in_guard && (near || on_it)).then_some(region.size);
    }
    let own = OWN.get();
    let on_it = sp.is_some_and(|sp| (own.guard..own.high).contains(&sp));
    ((own.guard..own.low).contains(&address) && (near || on_it)).then_some(own.size)
}

/// Prints the message and aborts.
fn report(size: usize) -> ! {
    // Relaxed: a count.
    if REPORTING.fetch_add(1, Relaxed) > 0 {
        loop {
            // SAFETY: takes no pointers; waits for a signal, here for the process's end.
            unsafe { libc::pause() };
        }
    }
    let mut line = Line { text: [0; 1024], len: 0 };
    _ = line.write_str("\nmyriad: stack overflow: ");
    let before = line.len;
    // Acquire: pairs with the release in `install`.
    let describe = DESCRIBE.load(Acquire);
    if !describe.is_null() {
        // SAFETY: `install` stored a `Describe` before it installed this handler.
        let describe = unsafe { std::mem::transmute::<*mut (), Describe>(describe) };
        describe(&mut line);
    }
    if line.len == before {
        _ = line.write_str("a thread of the runtime, outside of tasks,");
    }
    _ = writeln!(
        line,
        " overflowed its stack of {} KiB. Builder::stack_size makes the stacks of all tasks larger, and \
         task::dedicated gives one task a thread of its own; large local arrays belong in a Box or a Vec. \
         Against endless recursion nothing of that helps",
        size >> 10
    );
    line.print();
    std::process::abort()
}

/// Text in an array; what does not fit is cut off.
struct Line {
    text: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        let n = s.len().min(self.text.len() - self.len);
        self.text[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

impl Line {
    fn print(&self) {
        let mut rest = &self.text[..self.len];
        while !rest.is_empty() {
            // SAFETY: the kernel reads what `rest` has.
            match unsafe { libc::write(2, rest.as_ptr().cast(), rest.len()) } {
                n if n > 0 => rest = &rest[n as usize..],
                _ => return,
            }
        }
    }
}

/// # Safety
/// The arguments are those that the kernel gave to the handler.
unsafe fn go_on_with_previous(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // Acquire: pairs with the release in `install`.
    let previous = PREVIOUS[usize::from(signal == libc::SIGBUS)].load(Acquire);
    // SAFETY: a leaked box, written before the handler was installed.
    let previous = unsafe { &*previous };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            let default = default_action();
            // The instruction faults again and the process ends as if we had never been there; a
            // signal that was sent by kill is gone, so send it again.
            // SAFETY: installs no handler.
            unsafe { libc::sigaction(signal, &default, null_mut()) };
            // SAFETY: `info` is what the kernel gave to the handler (this function's contract).
            if unsafe { (*info).si_code } <= 0 {
                // SAFETY: takes no pointers.
                unsafe { libc::raise(signal) };
            }
        }
        action if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            type Action = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: whoever installed it with SA_SIGINFO gave a function of this type.
            let action = unsafe { std::mem::transmute::<usize, Action>(action) };
            action(signal, info, context);
        }
        action => {
            // SAFETY: whoever installed it without SA_SIGINFO gave a function of this type.
            let action = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(action) };
            action(signal);
        }
    }
}

/// The interrupted code's stack pointer, where we know how to read it.
///
/// # Safety
/// `context` is what the kernel gave to the handler.
unsafe fn stack_pointer_of(context: *mut libc::c_void) -> Option<usize> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: `context` is what the kernel gave to the handler (this function's contract): a
    // `ucontext_t`.
    return Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RSP as usize] as usize });
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    // SAFETY: `context` is what the kernel gave to the handler (this function's contract): a
    // `ucontext_t`.
    return Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.sp as usize });
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        _ = context;
        None
    }
}

pub(super) fn enter_thread() {
    let made = small_alternate().and_then(make_mapping);
    push(made);
}

/// # Safety
/// See [`super::enter_own_thread`].
pub(super) unsafe fn enter_own_thread() {
    let made = small_alternate().and_then(|old| {
        // SAFETY: this function's contract.
        let made = unsafe { make_in_stack(old) };
        made.or_else(|| make_mapping(old))
    });
    push(made);
}

fn push(made: Option<Made>) {
    ALT.set(Box::into_raw(Box::new(Alt { below: ALT.get(), made })));
}

/// The alternate stack that is set, if it is too small or none.
fn small_alternate() -> Option<libc::stack_t> {
    let mut old = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: only reads what is set.
    let known = unsafe { libc::sigaltstack(null(), old.as_mut_ptr()) } == 0;
    // SAFETY: filled if `known`; read only then.
    let old = known.then(|| unsafe { old.assume_init() });
    old.filter(|old| old.ss_flags & libc::SS_DISABLE != 0 || old.ss_size < ENOUGH)
}

/// Sets this alternate stack. False: the system refuses.
///
/// # Safety
/// It is used for nothing else until another one is set.
unsafe fn set_alternate(start: usize, len: usize) -> bool {
    // SAFETY: a plain C structure, for which all zeros is a value.
    let mut new: libc::stack_t = unsafe { zeroed() };
    new.ss_sp = std::ptr::with_exposed_provenance_mut(start);
    new.ss_size = len;
    // SAFETY: the stack is there, and nobody's, until another one is set (this function's
    // contract).
    unsafe { libc::sigaltstack(&new, null_mut()) == 0 }
}

fn make_mapping(old: libc::stack_t) -> Option<Made> {
    let page = map::page_size();
    let len = ALT_STACK.next_multiple_of(page) + page;
    let range = map::reserve(len, page).ok()?;
    // (Without a guard it works as well.)
    _ = range.guard_of_thread(page);
    // SAFETY: the mapping lives until `leave_thread` has put the old stack back.
    if unsafe { set_alternate(range.address() + page, len - page) } {
        Some(Made { place: Place::Mapping(range), old })
    } else {
        range.release();
        None
    }
}

/// Bytes at the low end of a stack of ours: what the system counts as the stack's and is a guard,
/// the alternate stack, our guard above it.
pub(super) fn room() -> usize {
    let page = map::page_size();
    if map::guard_kind() == GuardKind::GuardInstall { ALT_STACK.next_multiple_of(page) + 2 * page } else { 0 }
}

/// # Safety
/// See [`super::enter_own_thread`].
unsafe fn make_in_stack(old: libc::stack_t) -> Option<Made> {
    let (room, page) = (room(), map::page_size());
    let (bounds, guard) = thread::stack_and_guard()?;
    if room == 0 || bounds.len() < 2 * room || guard > page || OWN.get().high > 0 {
        return None;
    }
    // C libraries differ in whether the bounds hold the guard, and they need not be whole pages.
    let start = (bounds.start + page).next_multiple_of(page);
    let low = bounds.start + room;
    let end = start + ALT_STACK.next_multiple_of(page);
    let guard = NonNull::new(std::ptr::with_exposed_provenance_mut(end))?;
    // SAFETY: a page of the calling thread's stack, which was started with room at its low end that
    // nobody uses (this function's contract), until it is unguarded in `leave_thread`.
    let guard = unsafe { UnusedRange::at(guard, page) };
    if !guard.guard_in_place() {
        return None;
    }
    // SAFETY: the rest of that room, which nobody uses until `leave_thread` has put the old stack
    // back.
    if !unsafe { set_alternate(start, end - start) } {
        guard.unguard();
        return None;
    }
    OWN.set(Own { guard: end, low: end + page, high: bounds.end, size: bounds.end - low });
    Some(Made { place: Place::Stack(guard), old })
}

pub(super) fn leave_thread() {
    let Some(alt) = NonNull::new(ALT.get()) else { return };
    // SAFETY: made by `enter_thread` on this thread, and taken off the list in the next line.
    let alt = unsafe { Box::from_raw(alt.as_ptr()) };
    ALT.set(alt.below);
    let Some(made) = alt.made else { return };
    // SAFETY: what was set before us, whose owner outlives our stay.
    unsafe { libc::sigaltstack(&made.old, null_mut()) };
    // Not the alternate stack any more, and we do not run on it.
    match made.place {
        Place::Mapping(range) => range.release(),
        // The C library may use the thread's stack again for one that is not ours.
        Place::Stack(guard) => guard.unguard(),
    }
}

pub(super) fn own_stack() -> Option<Range<usize>> {
    let own = OWN.get();
    (own.high > 0).then_some(own.low..own.high)
}

pub(super) fn register_thread() {
    if OWN.get().high > 0 {
        return;
    }
    if let Some((bounds, guard)) = thread::stack_and_guard() {
        let page = map::page_size();
        // C libraries differ in whether the bounds hold the guard, and the first thread's stack
        // grows down to a gap that is no mapping at all: so a bit on either side.
        let guard_start = bounds.start - guard.max(page);
        OWN.set(Own { guard: guard_start, low: bounds.start + guard.max(page), high: bounds.end, size: bounds.len() });
    }
}
