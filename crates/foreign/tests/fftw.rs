//! FFTW's loops as tasks: the results are those of FFTW without threads.

use crate::common::{alone, assert_close, in_both_modes, noise, or_skip};
use myriad_core::{cancel::Token, join, scope, time, yield_now};
use myriad_foreign::fftw::{Fftw, Precision, Work, parallel_loop};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::*};
use std::time::Duration;

type Plan = *mut c_void;
type Plan2d = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, c_int, c_uint) -> Plan;
type Execute = unsafe extern "C" fn(Plan, *mut c_void, *mut c_void);
type Destroy = unsafe extern "C" fn(Plan);

const FORWARD: c_int = -1;
const ESTIMATE: c_uint = 1 << 6;
const UNALIGNED: c_uint = 1 << 1;

/// Plans of one precision.
struct Planner {
    fftw: Fftw,
    plan: Plan2d,
    execute: Execute,
    destroy: Destroy,
}

/// Of a square of complex numbers of type `T`.
struct Transform<'a>(&'a Planner, Plan);
// SAFETY: FFTW executes a plan in several threads at a time, on different arrays.
unsafe impl Sync for Transform<'_> {}

impl Planner {
    fn load(precision: Precision) -> Option<Planner> {
        let fftw = or_skip("FFTW", Fftw::load(precision))?;
        let letter = match precision {
            Precision::Double => "",
            Precision::Single => "f",
            Precision::Long => "l",
            Precision::Quad => "q",
        };
        // SAFETY: FFTW's own types; nobody else is in it: tests are `alone`.
        unsafe {
            fftw.install();
            Some(Planner {
                plan: fftw.function(&format!("fftw{letter}_plan_dft_2d")).unwrap(),
                execute: fftw.function(&format!("fftw{letter}_execute_dft")).unwrap(),
                destroy: fftw.function(&format!("fftw{letter}_destroy_plan")).unwrap(),
                fftw,
            })
        }
    }

    fn transform<T: Clone>(&self, side: usize, threads: usize, zero: T) -> Transform<'_> {
        let (mut a, mut b) = (vec![zero.clone(); 2 * side * side], vec![zero; 2 * side * side]);
        // SAFETY: arrays of this size; nobody else plans.
        unsafe {
            self.fftw.plan_with_threads(threads);
            let n = side as c_int;
            let plan = (self.plan)(n, n, a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), FORWARD, ESTIMATE | UNALIGNED);
            assert!(!plan.is_null());
            Transform(self, plan)
        }
    }
}

impl Transform<'_> {
    fn of<T: Clone>(&self, input: &mut [T], zero: T) -> Vec<T> {
        let mut output = vec![zero; input.len()];
        // SAFETY: made for arrays of this size, aligned or not.
        unsafe { (self.0.execute)(self.1, input.as_mut_ptr().cast(), output.as_mut_ptr().cast()) };
        output
    }
}

impl Drop for Transform<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.0.destroy)(self.1) }
    }
}

#[test]
fn one_transform() {
    let _alone = alone();
    let Some(planner) = Planner::load(Precision::Double) else { return };
    for side in [16, 100, 256] {
        let mut input = noise(side as u64, 2 * side * side);
        let expected = planner.transform(side, 1, 0.0).of(&mut input, 0.0);
        for threads in [2, 3, 8] {
            let transform = planner.transform(side, threads, 0.0);
            // From a thread: on the global runtime.
            assert_close(&transform.of(&mut input, 0.0), &expected, 1e-13);
            in_both_modes(|rt| {
                let mut input = input.clone();
                assert_close(&rt.run(|| transform.of(&mut input, 0.0)), &expected, 1e-13);
            });
        }
    }
}

/// Many at a time, in tasks and in tasks of tasks, with others that go on.
#[test]
fn nested_in_tasks() {
    let _alone = alone();
    let Some(planner) = Planner::load(Precision::Double) else { return };
    let side = 128;
    let (serial, parallel) = (planner.transform(side, 1, 0.0), planner.transform(side, 4, 0.0));
    let expected: Vec<_> = (0..16).map(|k| serial.of(&mut noise(k, 2 * side * side), 0.0)).collect();
    in_both_modes(|rt| {
        let done = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for k in (0..16).step_by(2) {
                    let (parallel, expected, done) = (&parallel, &expected, &done);
                    s.spawn(move || {
                        let transform = |k: u64| {
                            let result = parallel.of(&mut noise(k, 2 * side * side), 0.0);
                            yield_now();
                            assert_close(&result, &expected[k as usize], 1e-13);
                            done.fetch_add(1, SeqCst);
                        };
                        join(|| transform(k), || transform(k + 1));
                    });
                }
            });
        });
        assert_eq!(done.into_inner(), 16);
    });
}

/// The transform of a one and zeros is all ones, to the bit: also where Rust has no such numbers.
#[test]
fn every_precision() {
    const SIDE: usize = 64;
    fn ones<T: Clone + PartialEq + std::fmt::Debug>(precision: Precision, zero: T, one: T) {
        let Some(planner) = Planner::load(precision) else { return };
        let transform = planner.transform(SIDE, 4, zero.clone());
        in_both_modes(|rt| {
            let mut input = vec![zero.clone(); 2 * SIDE * SIDE];
            input[0] = one.clone();
            let mut output = Vec::new();
            let arrays = SendMe(&mut output, &mut input);
            let (zero, transform) = (SendMe(zero.clone(), ()), &transform);
            rt.run(move || {
                let (arrays, zero) = (arrays, zero);
                *arrays.0 = transform.of(arrays.1, zero.0);
            });
            for (i, number) in output.iter().enumerate() {
                let expected = if i % 2 == 0 { &one } else { &input[2] };
                assert_eq!(number, expected, "{precision:?}, {i}");
            }
        });
    }
    struct SendMe<A, B>(A, B);
    // SAFETY: plain numbers.
    unsafe impl<A, B> Send for SendMe<A, B> {}

    let _alone = alone();
    ones(Precision::Double, 0.0_f64, 1.0);
    ones(Precision::Single, 0.0_f32, 1.0);
    // `long double` of x86 (its six bytes of padding may be anything, so ours are compared by value
    // only) and `__float128`.
    if cfg!(target_arch = "x86_64") {
        ones(Precision::Long, Extended([0; 16]), Extended([0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0]));
        ones(Precision::Quad, 0_u128, 0x3fff_u128 << 112);
    }
}

/// The 80 bits of an x86's `long double`.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
struct Extended([u8; 16]);

impl PartialEq for Extended {
    fn eq(&self, other: &Extended) -> bool {
        self.0[..10] == other.0[..10]
    }
}

/// What FFTW's interface says: each job once, with its element; the caller comes back when all have
/// ended.
#[test]
fn each_job_once() {
    unsafe extern "C" fn count(job: *mut c_char) -> *mut c_void {
        // SAFETY: an element of the array below.
        unsafe { (*job.cast::<AtomicUsize>()).fetch_add(1, SeqCst) };
        std::ptr::null_mut()
    }
    in_both_modes(|rt| {
        for n in [0, 1, 2, 7, 1000] {
            let counts: Vec<[AtomicUsize; 3]> = (0..n).map(|_| Default::default()).collect();
            let size = size_of::<[AtomicUsize; 3]>();
            rt.run(|| {
                let jobs = counts.as_ptr().cast_mut().cast();
                // SAFETY: as many elements of this size.
                unsafe { parallel_loop(Some(count), jobs, size, n, std::ptr::null_mut()) };
            });
            for [first, second, third] in &counts {
                assert_eq!([first, second, third].map(|count| count.load(SeqCst)), [1, 0, 0]);
            }
        }
    });
}

/// It is FFTW that calls, with as many jobs as were planned, and on our workers.
#[test]
fn fftw_calls_us() {
    type Loop = unsafe extern "C" fn(Option<Work>, *mut c_char, usize, c_int, *mut c_void);
    type Set = unsafe extern "C" fn(Option<Loop>, *mut c_void);
    static MOST: AtomicI32 = AtomicI32::new(0);
    unsafe extern "C" fn counted(work: Option<Work>, jobs: *mut c_char, size: usize, n: c_int, data: *mut c_void) {
        MOST.fetch_max(n, SeqCst);
        assert!(myriad_core::Handle::current().is_some());
        // SAFETY: FFTW's own call.
        unsafe { parallel_loop(work, jobs, size, n, data) };
    }
    let _alone = alone();
    let Some(planner) = Planner::load(Precision::Double) else { return };
    let transform = planner.transform(128, 6, 0.0);
    // SAFETY: FFTW's function; nobody else is in it.
    unsafe { planner.fftw.function::<Set>("fftw_threads_set_callback").unwrap()(Some(counted), std::ptr::null_mut()) };
    in_both_modes(|rt| {
        MOST.store(0, SeqCst);
        _ = rt.run(|| transform.of(&mut noise(1, 2 * 128 * 128), 0.0));
        assert!((2..=6).contains(&MOST.load(SeqCst)), "{MOST:?} jobs");
    });
    // SAFETY: nobody else is in FFTW.
    unsafe { planner.fftw.install() };
}

/// A loop of a thread that is no worker runs in the runtime that was named.
#[test]
fn in_the_runtime_that_was_named() {
    unsafe extern "C" fn check_pool(_: *mut c_char) -> *mut c_void {
        assert_eq!(*myriad_core::Handle::current().unwrap().pool_name(), *"default");
        assert!(std::thread::current().name().unwrap().starts_with("named-"));
        std::ptr::null_mut()
    }
    let rt = myriad_core::Builder::new().workers(2).name("named").build().unwrap();
    let handle = rt.handle();
    // SAFETY: the jobs look at no element; the handle stands.
    unsafe { parallel_loop(Some(check_pool), std::ptr::null_mut(), 8, 100, (&raw const handle).cast_mut().cast()) };
    assert!(rt.shutdown(Duration::from_secs(60)).is_clean());
}

#[test]
fn what_is_missing_is_said() {
    // SAFETY: there is no such file; the others are libraries of the system.
    unsafe {
        let error = Fftw::load_from(Precision::Double, "/nowhere/libfftw3_threads.so").unwrap_err();
        assert!(error.to_string().contains("/nowhere/libfftw3_threads.so cannot be opened"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
        if cfg!(target_os = "linux") {
            let error = Fftw::load_from(Precision::Single, "libc.so.6").unwrap_err().to_string();
            assert!(error.contains("fftwf_threads_set_callback") && error.contains("3.3.9"), "{error}");
        }
    }
    let _alone = alone();
    let Some(planner) = Planner::load(Precision::Double) else { return };
    // SAFETY: not a function that is there.
    let error = unsafe { planner.fftw.function::<Destroy>("fftw_no_such_thing") }.unwrap_err();
    assert!(error.to_string().contains("has no fftw_no_such_thing"), "{error}");
    // SAFETY: panics before it calls FFTW.
    let panic = std::panic::catch_unwind(|| unsafe { planner.fftw.plan_with_threads(0) });
    assert!(panic.is_err());
    // The library without threads, which lies beside.
    // SAFETY: FFTW.
    if let Err(error) = unsafe { Fftw::load_from(Precision::Double, "libfftw3.so.3") } {
        assert!(error.to_string().contains("libfftw3_threads, not"), "{error}");
    }
}

/// With its own threads again the results are the same.
#[test]
fn uninstalled() {
    let _alone = alone();
    let Some(planner) = Planner::load(Precision::Double) else { return };
    let transform = planner.transform(64, 2, 0.0);
    let mut input = noise(3, 2 * 64 * 64);
    let ours = transform.of(&mut input, 0.0);
    // SAFETY: nobody else is in FFTW.
    unsafe { planner.fftw.uninstall() };
    assert_close(&transform.of(&mut input, 0.0), &ours, 1e-13);
}

/// The task that called the library is cancelled meanwhile: nothing can unwind through the library,
/// so all jobs run, and the cancellation arrives after it.
#[test]
fn cancelled_inside() {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static CANCELLED: AtomicUsize = AtomicUsize::new(0);
    static BEHIND: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn wait(_: *mut c_char) -> *mut c_void {
        BEGUN.fetch_add(1, SeqCst);
        while CANCELLED.load(SeqCst) == 0 {
            yield_now();
        }
        RUN.fetch_add(1, SeqCst);
        std::ptr::null_mut()
    }
    let _alone = alone();
    in_both_modes(|rt| {
        for counter in [&RUN, &BEGUN, &CANCELLED, &BEHIND] {
            counter.store(0, SeqCst);
        }
        let task = rt.spawn(|| {
            // SAFETY: the jobs look at no element.
            unsafe { parallel_loop(Some(wait), std::ptr::null_mut(), 8, 8, std::ptr::null_mut()) };
            BEHIND.fetch_add(1, SeqCst);
            yield_now();
        });
        while BEGUN.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        task.cancel();
        CANCELLED.store(1, SeqCst);
        assert!(task.join().unwrap_err().is_cancelled());
        assert_eq!((RUN.load(SeqCst), BEHIND.load(SeqCst)), (8, 1));
    });
}

/// A thread that is no worker calls the library in a region that is cancelled meanwhile: all jobs
/// run, and the cancellation arrives behind it.
#[test]
fn a_plain_thread_is_cancelled_inside() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static CANCELLED: AtomicUsize = AtomicUsize::new(0);
    static RUN: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn wait(_: *mut c_char) -> *mut c_void {
        BEGUN.fetch_add(1, SeqCst);
        while CANCELLED.load(SeqCst) == 0 {
            yield_now();
        }
        RUN.fetch_add(1, SeqCst);
        std::ptr::null_mut()
    }
    let _alone = alone();
    in_both_modes(|rt| {
        for counter in [&RUN, &BEGUN, &CANCELLED] {
            counter.store(0, SeqCst);
        }
        let handle = rt.handle();
        let token = Token::new();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while BEGUN.load(SeqCst) == 0 {
                    std::thread::yield_now();
                }
                token.cancel();
                CANCELLED.store(1, SeqCst);
            });
            let ended = token.run(|| {
                // SAFETY: the jobs look at no element; the handle stands.
                unsafe { parallel_loop(Some(wait), std::ptr::null_mut(), 8, 8, (&raw const handle).cast_mut().cast()) };
                assert_eq!(RUN.load(SeqCst), 8);
                time::sleep(Duration::from_secs(3600));
            });
            assert!(ended.is_err());
        });
    });
}

/// Jobs that wait, spawn, join, and have loops of their own, in tasks that do so, too.
#[test]
fn jobs_that_call_back() {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn inner(_: *mut c_char) -> *mut c_void {
        yield_now();
        RUN.fetch_add(1, SeqCst);
        std::ptr::null_mut()
    }
    unsafe extern "C" fn outer(depth: *mut c_char) -> *mut c_void {
        assert_eq!(myriad_core::spawn(|| 7).join().unwrap(), 7);
        time::sleep(Duration::from_micros(50));
        // A cancellation within a job is the job's own affair.
        let token = Token::new();
        assert!(
            token
                .run(|| {
                    token.cancel();
                    yield_now()
                })
                .is_err()
        );
        // SAFETY: the jobs look at no element.
        unsafe { parallel_loop(Some(inner), depth, 0, 5, std::ptr::null_mut()) };
        std::ptr::null_mut()
    }
    let _alone = alone();
    in_both_modes(|rt| {
        RUN.store(0, SeqCst);
        rt.run(|| {
            scope(|s| {
                for _ in 0..3 {
                    // SAFETY: the jobs look at no element.
                    s.spawn(|| unsafe { parallel_loop(Some(outer), std::ptr::null_mut(), 0, 4, std::ptr::null_mut()) });
                }
            });
        });
        assert_eq!(RUN.load(SeqCst), 3 * 4 * 5);
    });
}
