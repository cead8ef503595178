use super::*;
use crate::stack::pool::StackPool;
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;

thread_local! {
    static BODY: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
    static HOME: Cell<*mut u8> = const { Cell::new(null_mut()) };
}

/// Saves into a thread-local cell.
unsafe fn switch_in(save: &'static std::thread::LocalKey<Cell<*mut u8>>, to: *mut u8) {
    // SAFETY: each test gives a `to` that it has just prepared or saved, on this thread; the cell
    // lives as long as the thread.
    unsafe { switch(save.with(Cell::as_ptr), to) }
}

extern "C" fn entry() -> ! {
    entered();
    let body = BODY.take().unwrap();
    body();
    // SAFETY: HOME was saved by `start` or `resume`.
    unsafe { switch_for_good(HOME.get()) };
    unreachable!()
}

/// A fiber for tests: runs until it calls `leave`.
struct Fiber {
    at: *mut u8,
}

fn fiber(pool: &mut StackPool, body: impl FnOnce() + 'static) -> (Fiber, Box<dyn FnOnce()>) {
    let stack = pool.take().unwrap();
    // SAFETY: a fresh stack.
    (Fiber { at: unsafe { prepare(stack.top, entry) } }, Box::new(body))
}

/// Starts it or goes on with it, until it leaves or ends.
fn resume(fiber: &Fiber, body: Option<Box<dyn FnOnce()>>) {
    BODY.set(body);
    // SAFETY: `at` is fresh, or was saved by `leave`.
    unsafe { switch_in(&HOME, fiber.at) };
}

thread_local!(static LEFT: Cell<*mut u8> = const { Cell::new(null_mut()) });

/// Goes back to the thread's stack.
fn leave() {
    // SAFETY: HOME was saved by `resume`.
    unsafe { switch_in(&LEFT, HOME.get()) };
}

#[test]
fn ping_pong_between_two_stacks() {
    thread_local! {
        static A: Cell<*mut u8> = const { Cell::new(null_mut()) };
        static B: Cell<*mut u8> = const { Cell::new(null_mut()) };
        static BALL: Cell<u64> = const { Cell::new(0) };
    }
    extern "C" fn b() -> ! {
        entered();
        loop {
            BALL.set(BALL.get().wrapping_mul(3) + 1);
            // SAFETY: the test has saved A.
            unsafe { switch_in(&B, A.get()) };
        }
    }
    extern "C" fn a() -> ! {
        entered();
        for _ in 0..30 {
            BALL.set(BALL.get().wrapping_mul(2));
            // SAFETY: fresh, or saved by b.
            unsafe { switch_in(&A, B.get()) };
        }
        // SAFETY: the test has saved HOME.
        unsafe { switch_in(&A, HOME.get()) };
        unreachable!()
    }
    let mut pool = StackPool::new(16 << 10, 2);
    // SAFETY: fresh stacks.
    unsafe {
        A.set(prepare(pool.take().unwrap().top, a));
        B.set(prepare(pool.take().unwrap().top, b));
        switch_in(&HOME, A.get());
    }
    assert_eq!(BALL.get(), (0..30).fold(0u64, |x, _| x.wrapping_mul(6) + 1));
}

/// More live values of both kinds than there are registers, on both sides, and all different.
#[test]
fn live_values_survive() {
    #[inline(never)]
    fn mix(seed: u64, step: impl Fn()) -> (u64, f64) {
        let ints: [u64; 24] = std::array::from_fn(|i| black_box(seed.wrapping_mul(i as u64 + 1)));
        let floats: [f64; 24] = std::array::from_fn(|i| black_box(seed as f64 / (i + 1) as f64));
        let single = black_box(seed as f32 * 0.5);
        step();
        assert_eq!(single, seed as f32 * 0.5);
        let sum = ints.iter().enumerate().fold(0u64, |s, (i, x)| s.wrapping_add(x ^ i as u64));
        step();
        (sum, floats.iter().enumerate().map(|(i, x)| x * i as f64).sum())
    }
    let mut pool = StackPool::new(64 << 10, 1);
    let (f, body) = fiber(&mut pool, move || {
        for seed in 0..50 {
            assert_eq!(mix(seed, leave), mix(seed, || ()));
        }
    });
    resume(&f, Some(body));
    // Each side steps twice for each seed, so the fiber ends with the last step.
    for seed in 1000..1050 {
        assert_eq!(mix(seed, || resume(&Fiber { at: LEFT.get() }, None)), mix(seed, || ()));
    }
}

/// The ABI's callee-saved registers, one by one: asm sets them, calls a function that switches away
/// and back, compares.
#[test]
fn callee_saved_registers_survive() {
    extern "C" fn away() {
        leave();
    }
    /// Returns a bit for each register that has changed.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    #[rustfmt::skip]
    extern "C" fn check(_seed: u64, _f: extern "C" fn()) -> u64 {
        std::arch::naked_asm!(
            "push rbp", "push rbx", "push r12", "push r13", "push r14", "push r15", "push rdi",
            "lea rbp, [rdi + 1]", "lea rbx, [rdi + 2]", "lea r12, [rdi + 3]",
            "lea r13, [rdi + 4]", "lea r14, [rdi + 5]", "lea r15, [rdi + 6]",
            "call rsi",
            "mov rdi, [rsp]", "xor eax, eax",
            "sub rbp, rdi", "xor rbp, 1", "or rax, rbp",
            "sub rbx, rdi", "xor rbx, 2", "or rax, rbx",
            "sub r12, rdi", "xor r12, 3", "or rax, r12",
            "sub r13, rdi", "xor r13, 4", "or rax, r13",
            "sub r14, rdi", "xor r14, 5", "or rax, r14",
            "sub r15, rdi", "xor r15, 6", "or rax, r15",
            "pop rdi", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp",
            "ret",
        )
    }
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    #[rustfmt::skip]
    extern "C" fn check(_seed: u64, _f: extern "C" fn()) -> u64 {
        std::arch::naked_asm!(
            "stp x29, x30, [sp, #-176]!",
            "stp x19, x20, [sp, #16]", "stp x21, x22, [sp, #32]", "stp x23, x24, [sp, #48]",
            "stp x25, x26, [sp, #64]", "stp x27, x28, [sp, #80]",
            "stp d8, d9, [sp, #96]", "stp d10, d11, [sp, #112]", "stp d12, d13, [sp, #128]", "stp d14, d15, [sp, #144]",
            "str x0, [sp, #160]",
            "add x19, x0, #1", "add x20, x0, #2", "add x21, x0, #3", "add x22, x0, #4", "add x23, x0, #5",
            "add x24, x0, #6", "add x25, x0, #7", "add x26, x0, #8", "add x27, x0, #9", "add x28, x0, #10",
            "add x29, x0, #11", "fmov d8, x19", "fmov d9, x20", "fmov d10, x21", "fmov d11, x22", "fmov d12, x23",
            "fmov d13, x24", "fmov d14, x25", "fmov d15, x26",
            "blr x1",
            "ldr x1, [sp, #160]", "mov x0, xzr",
            "fmov x2, d8", "sub x2, x2, x19", "orr x0, x0, x2", "fmov x2, d9", "sub x2, x2, x20", "orr x0, x0, x2",
            "fmov x2, d10", "sub x2, x2, x21", "orr x0, x0, x2", "fmov x2, d11", "sub x2, x2, x22", "orr x0, x0, x2",
            "fmov x2, d12", "sub x2, x2, x23", "orr x0, x0, x2", "fmov x2, d13", "sub x2, x2, x24", "orr x0, x0, x2",
            "fmov x2, d14", "sub x2, x2, x25", "orr x0, x0, x2", "fmov x2, d15", "sub x2, x2, x26", "orr x0, x0, x2",
            "sub x2, x19, x1", "sub x2, x2, #1", "orr x0, x0, x2", "sub x2, x20, x1", "sub x2, x2, #2", "orr x0, x0, x2",
            "sub x2, x21, x1", "sub x2, x2, #3", "orr x0, x0, x2", "sub x2, x22, x1", "sub x2, x2, #4", "orr x0, x0, x2",
            "sub x2, x23, x1", "sub x2, x2, #5", "orr x0, x0, x2", "sub x2, x24, x1", "sub x2, x2, #6", "orr x0, x0, x2",
            "sub x2, x25, x1", "sub x2, x2, #7", "orr x0, x0, x2", "sub x2, x26, x1", "sub x2, x2, #8", "orr x0, x0, x2",
            "sub x2, x27, x1", "sub x2, x2, #9", "orr x0, x0, x2", "sub x2, x28, x1", "sub x2, x2, #10", "orr x0, x0, x2",
            "sub x2, x29, x1", "sub x2, x2, #11", "orr x0, x0, x2",
            "ldp d14, d15, [sp, #144]", "ldp d12, d13, [sp, #128]", "ldp d10, d11, [sp, #112]", "ldp d8, d9, [sp, #96]",
            "ldp x27, x28, [sp, #80]", "ldp x25, x26, [sp, #64]", "ldp x23, x24, [sp, #48]", "ldp x21, x22, [sp, #32]",
            "ldp x19, x20, [sp, #16]", "ldp x29, x30, [sp], #176",
            "ret",
        )
    }
    let mut pool = StackPool::new(64 << 10, 1);
    let (f, body) = fiber(&mut pool, || {
        assert_eq!(check(0x1111_2222_3333, away), 0);
        assert_eq!(check(0x4444_5555_6666, away), 0);
    });
    extern "C" fn back() {
        resume(&Fiber { at: LEFT.get() }, None);
    }
    resume(&f, Some(body));
    assert_eq!(check(0x7777_8888_9999, back), 0);
    assert_eq!(check(0xaaaa_bbbb_cccc, back), 0);
}

/// Two fibers, each in the middle of a `catch_unwind`, and one of them in the middle of a drop in
/// an unwinding.
#[test]
fn panics_unwind_inside_a_fiber() {
    thread_local!(static LOG: Cell<Vec<&'static str>> = const { Cell::new(Vec::new()) });
    fn log(what: &'static str) {
        let mut all = LOG.take();
        all.push(what);
        LOG.set(all);
    }
    struct Loud(&'static str);
    impl Drop for Loud {
        fn drop(&mut self) {
            log(self.0);
        }
    }
    fn body(name: &'static str) -> impl FnOnce() {
        move || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _loud = Loud(name);
                leave();
                resume_unwind(Box::new(name));
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&name));
            leave();
        }
    }
    let mut pool = StackPool::new(64 << 10, 2);
    let (a, body_a) = fiber(&mut pool, body("a"));
    let (b, body_b) = fiber(&mut pool, body("b"));
    resume(&a, Some(body_a));
    let a = Fiber { at: LEFT.get() };
    resume(&b, Some(body_b));
    let b = Fiber { at: LEFT.get() };
    resume(&a, None);
    log("between");
    let a = Fiber { at: LEFT.get() };
    resume(&b, None);
    let b = Fiber { at: LEFT.get() };
    resume(&a, None);
    resume(&b, None);
    assert_eq!(LOG.take(), ["a", "between", "b"]);
}

#[test]
fn backtraces_end_at_entry() {
    thread_local!(static TRACE: Cell<String> = const { Cell::new(String::new()) });
    #[inline(never)]
    fn in_the_fiber() {
        TRACE.set(std::backtrace::Backtrace::force_capture().to_string());
        black_box(());
    }
    // Formatting a backtrace reads debug information: much stack.
    let mut pool = StackPool::new(1 << 20, 1);
    let (f, body) = fiber(&mut pool, in_the_fiber);
    resume(&f, Some(body));
    let trace = TRACE.take();
    assert!(trace.contains("in_the_fiber") && trace.contains("switch::test::entry"), "{trace}");
    let after_entry = trace.split("switch::test::entry").nth(1).unwrap();
    assert!(!after_entry.contains("::"), "goes on after entry: {trace}");
}

/// Those who walk frame pointers (perf, the BPF tools) find 0 at the end.
#[test]
#[cfg(target_arch = "x86_64")]
fn frame_pointers_end() {
    thread_local!(static FIRST: Cell<usize> = const { Cell::new(1) });
    #[unsafe(naked)]
    extern "C" fn bare() -> ! {
        std::arch::naked_asm!("mov rdi, rbp", "sub rsp, 8", "call {}", sym note)
    }
    extern "C" fn note(rbp: usize) -> ! {
        entered();
        FIRST.set(rbp);
        leave();
        unreachable!()
    }
    let mut pool = StackPool::new(16 << 10, 1);
    // SAFETY: a fresh stack.
    let at = unsafe { prepare(pool.take().unwrap().top, bare) };
    resume(&Fiber { at }, None);
    assert_eq!(FIRST.get(), 0);
}

#[test]
fn the_stack_pointer_is_on_the_stack() {
    let local = 0u8;
    assert!(stack_pointer().abs_diff((&raw const local).addr()) < 4096);
}
