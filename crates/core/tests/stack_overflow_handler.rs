//! The overflow handler, each case in a process of its own: this test starts itself again.
#![cfg(all(unix, not(loom), not(miri)))]

use myriad_base::stack::pool::StackPool;
use myriad_base::stack::{FIBERS_SUPPORTED, overflow, registry, switch};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr::null_mut;

/// Runs the calling test again in a process of its own; in that process, runs `body` and exits.
fn in_child(test: &str, body: impl FnOnce()) -> Output {
    if std::env::var_os("MYRIAD_TEST_CHILD").is_some() {
        body();
        std::process::exit(0);
    }
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("stack_overflow_handler::{test}"), "--exact", "--nocapture"])
        .env("MYRIAD_TEST_CHILD", "1")
        .output()
        .unwrap()
}

/// It died of this signal, and said this once (`None`: our handler said nothing).
#[track_caller]
fn assert_died(output: &Output, signal: i32, said: Option<&str>) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(signal), "{text}");
    assert_eq!(text.matches("myriad: stack overflow: ").count(), usize::from(said.is_some()), "{text}");
    assert!(text.contains(said.unwrap_or("")), "{text}");
}

fn describe(out: &mut dyn std::fmt::Write) {
    _ = write!(out, "task 'parse' spawned at src/main.rs:{}:{}", 12, 5);
}

#[inline(never)]
#[allow(unconditional_recursion)]
fn recurse(n: u64) -> u64 {
    let frame = black_box([n; 20]);
    recurse(n + 1) + frame[3]
}

#[inline(never)]
fn big_frame() -> u8 {
    // Far larger than the stack, and than all guards together.
    black_box([1u8; 1 << 20])[black_box(77)]
}

/// Runs `body` on a fiber of this thread, which must not return.
fn on_a_fiber(stack_size: usize, body: fn()) {
    std::thread_local!(static BODY: std::cell::Cell<fn()> = const { std::cell::Cell::new(|| ()) });
    extern "C" fn entry() -> ! {
        switch::entered();
        BODY.get()();
        std::process::exit(17)
    }
    BODY.set(body);
    // SAFETY: it writes what it is given, or nothing, and does nothing else.
    unsafe { overflow::install(describe) };
    overflow::enter_thread();
    let mut pool = StackPool::new(stack_size, 64);
    // Neighbours on both sides.
    let stacks: Vec<_> = (0..16).map(|_| pool.take().unwrap()).collect();
    let mut here = null_mut();
    // SAFETY: a fresh stack; nobody switches back.
    unsafe { switch::switch(&mut here, switch::prepare(stacks[7].top, entry)) };
}

#[test]
fn recursion_on_a_fiber() {
    if FIBERS_SUPPORTED {
        let output = in_child("recursion_on_a_fiber", || on_a_fiber(64 << 10, || _ = recurse(1)));
        assert_died(
            &output,
            libc::SIGABRT,
            Some("task 'parse' spawned at src/main.rs:12:5 overflowed its stack of 64 KiB"),
        );
    }
}

#[test]
fn a_big_frame_on_a_fiber() {
    if FIBERS_SUPPORTED {
        let output = in_child("a_big_frame_on_a_fiber", || on_a_fiber(256 << 10, || _ = big_frame()));
        assert_died(&output, libc::SIGABRT, Some("overflowed its stack of 256 KiB"));
    }
}

/// Also on a thread that std did not start, and with the other kind of guards.
#[test]
fn recursion_on_a_fiber_of_another_thread() {
    if FIBERS_SUPPORTED {
        let output = in_child("recursion_on_a_fiber_of_another_thread", || {
            // SAFETY: no other thread reads the environment.
            unsafe { std::env::set_var("MYRIAD_NO_GUARD_INSTALL", "1") };
            std::thread::spawn(|| on_a_fiber(64 << 10, || _ = recurse(1))).join().unwrap();
        });
        assert_died(&output, libc::SIGABRT, Some("overflowed its stack of 64 KiB"));
    }
}

/// A task that is not on a fiber, but on a thread of its own.
#[test]
fn recursion_on_a_thread() {
    let output = in_child("recursion_on_a_thread", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        std::thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(|| {
                overflow::enter_thread();
                recurse(1)
            })
            .unwrap()
            .join()
            .unwrap();
    });
    assert_died(&output, libc::SIGABRT, Some("task 'parse' spawned at src/main.rs:12:5 overflowed its stack of 1"));
}

/// A thread whose alternate stack stands in its own stack.
#[test]
fn recursion_on_a_thread_with_room() {
    let output = in_child("recursion_on_a_thread_with_room", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        let thread = std::thread::Builder::new().stack_size(overflow::with_room(128 << 10));
        thread
            .spawn(|| {
                // SAFETY: it was started with that room, and does not come back.
                unsafe { overflow::enter_own_thread() };
                recurse(1)
            })
            .unwrap()
            .join()
            .unwrap();
    });
    assert_died(&output, libc::SIGABRT, Some("task 'parse' spawned at src/main.rs:12:5 overflowed its stack of 1"));
}

/// The C library keeps stacks of threads that have ended, for others of that size. They find no
/// guard in the middle.
#[test]
fn a_stack_with_room_is_given_back_whole() {
    /// Uses the stack down to this address.
    #[inline(never)]
    fn fill(to: usize) -> u64 {
        let frame = black_box([1u64; 64]);
        if frame.as_ptr().addr() > to { fill(to) + frame[3] } else { frame[5] }
    }
    let thread = |body: fn() -> usize| {
        let thread = std::thread::Builder::new().stack_size(overflow::with_room(256 << 10)).spawn(body);
        thread.unwrap().join().unwrap()
    };
    let used = || {
        thread(|| {
            let whole = myriad_base::sys::thread::current_stack_bounds().unwrap();
            // SAFETY: it was started with that room, and leaves below.
            unsafe { overflow::enter_own_thread() };
            let own = overflow::own_stack().unwrap();
            // A task has what was asked for, and what is below is for signals.
            assert!(own.len() >= 256 << 10 && whole.start <= own.start && own.end == whole.end);
            if overflow::with_room(0) > 0 {
                let mut now = std::mem::MaybeUninit::<libc::stack_t>::uninit();
                // SAFETY: only reads what is set.
                assert_eq!(unsafe { libc::sigaltstack(std::ptr::null(), now.as_mut_ptr()) }, 0);
                // SAFETY: filled.
                let alternate = unsafe { now.assume_init() }.ss_sp.addr();
                assert!((whole.start..own.start).contains(&alternate), "{alternate:x} {whole:x?} {own:x?}");
            }
            // SAFETY: in the body of the thread.
            unsafe { overflow::leave_thread() };
            whole.start
        })
    };
    let again = || {
        thread(|| {
            let whole = myriad_base::sys::thread::current_stack_bounds().unwrap();
            fill(whole.start + (32 << 10));
            whole.start
        })
    };
    // (The thread of a test beside this one may have been given that stack meanwhile.)
    let was_again = (0..100).any(|_| used() == again());
    assert!(was_again || !cfg!(all(target_os = "linux", target_env = "gnu")), "another stack, so nothing was tried");
}

/// With nothing to describe, and on the first thread, whose stack grows.
#[test]
fn recursion_outside_of_tasks() {
    let output = in_child("recursion_outside_of_tasks", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(|_| ()) };
        std::thread::spawn(|| {
            overflow::enter_thread();
            recurse(1)
        })
        .join()
        .unwrap();
    });
    assert_died(&output, libc::SIGABRT, Some("a thread of the runtime, outside of tasks, overflowed"));
}

/// After `leave_thread` the thread has std's alternate stack again, and std's handler works.
#[test]
fn threads_that_left_are_as_before() {
    let output = in_child("threads_that_left_are_as_before", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        let current = || {
            let mut now = std::mem::MaybeUninit::<libc::stack_t>::uninit();
            // SAFETY: only reads what is set.
            assert_eq!(unsafe { libc::sigaltstack(std::ptr::null(), now.as_mut_ptr()) }, 0);
            // SAFETY: filled.
            let now = unsafe { now.assume_init() };
            (now.ss_sp.addr(), now.ss_size, now.ss_flags)
        };
        std::thread::spawn(move || {
            let before = current();
            overflow::enter_thread();
            let inside = current();
            assert!(inside != before && inside.1 >= 32 << 10, "{before:?} {inside:?}");
            overflow::enter_thread();
            assert_eq!(current(), inside);
            // SAFETY: in the body of the thread.
            unsafe { overflow::leave_thread() };
            assert_eq!(current(), inside);
            // SAFETY: in the body of the thread.
            unsafe { overflow::leave_thread() };
            assert_eq!(current(), before);
            // SAFETY: in the body of the thread.
            unsafe { overflow::leave_thread() };
        })
        .join()
        .unwrap();
        // A thread that never entered.
        std::thread::spawn(|| recurse(1)).join().unwrap();
    });
    assert_died(&output, libc::SIGABRT, None);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("has overflowed its stack"), "std's own message: {text}");
}

/// Other faults are none of our business: they end the process as they would without us.
#[test]
fn wild_pointers_are_not_overflows() {
    let output = in_child("wild_pointers_are_not_overflows", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        overflow::enter_thread();
        // SAFETY: not at all.
        unsafe { std::ptr::without_provenance_mut::<u8>(black_box(8)).write_volatile(1) };
    });
    assert_died(&output, libc::SIGSEGV, None);
}

/// A pointer into the guard of a stack on which nobody runs.
#[test]
fn a_wild_pointer_into_a_guard_is_no_overflow() {
    let output = in_child("a_wild_pointer_into_a_guard_is_no_overflow", || {
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        overflow::enter_thread();
        let mut pool = StackPool::new(64 << 10, 4);
        let region = registry::find(pool.take().unwrap().top.addr() - 1).unwrap();
        // SAFETY: not at all.
        unsafe { std::ptr::without_provenance_mut::<u8>(black_box(region.start)).write_volatile(1) };
    });
    if cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        assert_died(&output, libc::SIGSEGV, None);
    }
}

/// A signal that somebody sent has no address. (Std's own handler swallows the first one, so it is
/// taken away here.)
#[test]
fn sent_signals_go_on() {
    let output = in_child("sent_signals_go_on", || {
        // SAFETY: installs no handler.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        overflow::enter_thread();
        // SAFETY: takes no pointers.
        unsafe { libc::kill(libc::getpid(), libc::SIGSEGV) };
        loop {
            std::thread::park();
        }
    });
    assert_died(&output, libc::SIGSEGV, None);
}

/// A handler that was there before gets what is not ours, here one that goes on.
#[test]
fn the_previous_handler_gets_the_rest() {
    extern "C" fn previous(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: the kernel's siginfo.
        let address = unsafe { (*info).si_addr() }.addr();
        std::process::exit(if address == 16 { 42 } else { 43 })
    }
    let output = in_child("the_previous_handler_gets_the_rest", || {
        // SAFETY: a plain C structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = previous as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: a handler of the right type. (It exits, which a real one should not.)
        unsafe { libc::sigaction(libc::SIGSEGV, &action, null_mut()) };
        // SAFETY: it writes what it is given, or nothing, and does nothing else.
        unsafe { overflow::install(describe) };
        // SAFETY: not at all.
        unsafe { std::ptr::without_provenance_mut::<u8>(black_box(16)).write_volatile(1) };
    });
    assert_eq!(output.status.code(), Some(42), "{output:?}");
}
