//! OpenBLAS on gangs: the results are those of one thread, from as many tasks as you like.

use crate::common::{alone, assert_close, in_both_modes, noise, or_skip};
use myriad_core::{Runtime, cancel::Token, scope, task::gang, time, yield_now};
use myriad_foreign::openblas::{DoJob, OpenBlas, run_gang};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

type Gemm<Int> =
    unsafe extern "C" fn(c_int, c_int, c_int, Int, Int, Int, f64, *const f64, Int, *const f64, Int, f64, *mut f64, Int);
type Dot<Int> = unsafe extern "C" fn(Int, *const f64, Int, *const f64, Int) -> f64;

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;

/// With the integers of this build.
struct Blas {
    blas: OpenBlas,
    gemm: usize,
    dot: usize,
}

impl Blas {
    fn load() -> Option<Blas> {
        let blas = or_skip("OpenBLAS", OpenBlas::load())?;
        assert!(blas.config().contains("OpenBLAS"), "{blas:?}");
        type Any = unsafe extern "C" fn();
        // SAFETY: called with its own type only.
        let function = |name| unsafe { blas.function::<Any>(name).unwrap() } as usize;
        let (gemm, dot) = (function("cblas_dgemm"), function("cblas_ddot"));
        Some(Blas { blas, gemm, dot })
    }

    /// `a * b`, of squares.
    fn multiply(&self, n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        assert!(a.len() == n * n && b.len() == n * n);
        let mut c = vec![0.0; n * n];
        let (a, b, out) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: CBLAS's function, with the integers of this build, and three arrays of n * n
        // numbers.
        unsafe {
            if self.blas.is_64_bit() {
                let (gemm, n) = (std::mem::transmute::<usize, Gemm<i64>>(self.gemm), n as i64);
                gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, out, n);
            } else {
                let (gemm, n) = (std::mem::transmute::<usize, Gemm<i32>>(self.gemm), n as i32);
                gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, out, n);
            }
        }
        c
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        // SAFETY: CBLAS's function, with the integers of this build, and two arrays of `a.len()`
        // numbers.
        unsafe {
            if self.blas.is_64_bit() {
                std::mem::transmute::<usize, Dot<i64>>(self.dot)(a.len() as i64, a.as_ptr(), 1, b.as_ptr(), 1)
            } else {
                std::mem::transmute::<usize, Dot<i32>>(self.dot)(a.len() as i32, a.as_ptr(), 1, b.as_ptr(), 1)
            }
        }
    }
}

fn naive(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            let x = a[i * n + k];
            c[i * n..][..n].iter_mut().zip(&b[k * n..][..n]).for_each(|(c, b)| *c += x * b);
        }
    }
    c
}

/// Level 3 and level 1, from many tasks at a time.
#[test]
fn from_many_tasks() {
    let _alone = alone();
    let Some(blas) = Blas::load() else { return };
    let n = 200;
    let (a, b, long) = (noise(1, n * n), noise(2, n * n), noise(3, 200_000));
    let (product, square) = (naive(n, &a, &b), long.iter().map(|x| x * x).sum::<f64>());
    for threads in [2, 4] {
        // SAFETY: nobody else is in OpenBLAS.
        unsafe { blas.blas.install(threads) };
        in_both_modes(|rt| {
            let done = AtomicUsize::new(0);
            rt.run(|| {
                scope(|s| {
                    for k in 0..8 {
                        let (blas, a, b, long, product, done) = (&blas, &a, &b, &long, &product, &done);
                        s.spawn(move || {
                            yield_now();
                            let multiply = || assert_close(&blas.multiply(n, a, b), product, 1e-12);
                            if k % 2 == 0 {
                                multiply()
                            } else {
                                blas.blas.one_at_a_time(multiply)
                            }
                            assert_close(&[blas.dot(long, long)], &[square], 1e-12);
                            done.fetch_add(1, SeqCst);
                        });
                    }
                });
            });
            assert_eq!(done.into_inner(), 8);
        });
    }
    // From a thread that is no worker, and with its own threads again.
    assert_close(&blas.multiply(n, &a, &b), &product, 1e-12);
    // SAFETY: nobody else is in OpenBLAS: the tasks have ended.
    unsafe { blas.blas.uninstall() };
    assert_close(&blas.multiply(n, &a, &b), &product, 1e-12);
}

/// It is OpenBLAS that calls.
#[test]
fn openblas_calls_us() {
    type Threads = unsafe extern "C" fn(c_int, Option<DoJob>, c_int, usize, *mut c_void, c_int);
    type Set = unsafe extern "C" fn(Option<Threads>);
    static PARTS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn counted(
        sync: c_int,
        dojob: Option<DoJob>,
        n: c_int,
        size: usize,
        jobs: *mut c_void,
        data: c_int,
    ) {
        PARTS.fetch_add(n as usize, SeqCst);
        // SAFETY: OpenBLAS's own call.
        unsafe { run_gang(sync, dojob, n, size, jobs, data) };
    }
    let _alone = alone();
    let Some(blas) = Blas::load() else { return };
    let n = 300;
    let (a, b) = (noise(1, n * n), noise(2, n * n));
    let product = naive(n, &a, &b);
    // SAFETY: OpenBLAS's function; nobody else is in it.
    unsafe {
        blas.blas.install(3);
        blas.blas.function::<Set>("openblas_set_threads_callback_function").unwrap()(Some(counted));
    }
    in_both_modes(|rt| {
        PARTS.store(0, SeqCst);
        assert_close(&rt.run(|| blas.multiply(n, &a, &b)), &product, 1e-12);
        assert!((2..=3).contains(&PARTS.load(SeqCst)), "{PARTS:?} parts");
    });
    // With one thread it does not call.
    // SAFETY: nobody else is in OpenBLAS.
    unsafe { blas.blas.set_threads(1) };
    PARTS.store(0, SeqCst);
    assert_close(&blas.multiply(n, &a, &b), &product, 1e-12);
    assert_eq!(PARTS.load(SeqCst), 0);
    // SAFETY: nobody else is in OpenBLAS.
    unsafe { blas.blas.uninstall() };
}

#[test]
fn each_part_once_and_all_at_a_time() {
    struct Job {
        here: *const AtomicUsize,
        number: AtomicUsize,
    }
    const N: usize = 5;
    unsafe extern "C" fn part(number: c_int, job: *mut c_void, data: c_int) {
        // SAFETY: an element of the array below.
        let job = unsafe { &*job.cast::<Job>() };
        assert_eq!(data, 77);
        job.number.fetch_add(number as usize + 1, SeqCst);
        // SAFETY: stands beside the array.
        let here = unsafe { &*job.here };
        here.fetch_add(1, SeqCst);
        while here.load(SeqCst) < N {
            std::thread::yield_now();
        }
    }
    in_both_modes(|rt| {
        let here = AtomicUsize::new(0);
        let jobs: [Job; N] = std::array::from_fn(|_| Job { here: &here, number: AtomicUsize::new(0) });
        let address = jobs.as_ptr().expose_provenance();
        rt.run(|| {
            let jobs = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: as many elements of this size.
            unsafe { run_gang(1, Some(part), N as c_int, size_of::<Job>(), jobs, 77) };
        });
        assert!(jobs.iter().map(|job| job.number.load(SeqCst)).eq(1..=N));
    });
}

/// A job of a gang that calls OpenBLAS with several threads: the process ends, and says what to do.
#[test]
fn inside_a_gang() {
    const CHILD: &str = "MYRIAD_TEST_CHILD";
    unsafe extern "C" fn nothing(_: c_int, _: *mut c_void, _: c_int) {}
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: the parts look at nothing.
        gang(2, |_| unsafe { run_gang(1, Some(nothing), 2, 1, std::ptr::null_mut(), 0) });
        std::process::exit(0);
    }
    let test = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["openblas::inside_a_gang", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&test.stderr);
    assert!(!test.status.success() && text.contains("set_threads(1)"), "{}\n{text}", test.status);
}

#[test]
fn what_is_missing_is_said() {
    // SAFETY: there is no such file; the others are libraries of the system.
    unsafe {
        let error = OpenBlas::load_from("/nowhere/libopenblas.so").unwrap_err().to_string();
        assert!(error.contains("/nowhere/libopenblas.so") && error.contains("MYRIAD_OPENBLAS"), "{error}");
        if cfg!(target_os = "linux") {
            let error = OpenBlas::load_from("libc.so.6").unwrap_err().to_string();
            assert!(error.contains("does not look like OpenBLAS") && error.contains("0.3.28"), "{error}");
        }
    }
    let _alone = alone();
    let Some(blas) = Blas::load() else { return };
    // SAFETY: panics before it calls OpenBLAS.
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| unsafe { blas.blas.set_threads(0) }));
    assert!(panic.is_err());
}

/// A part of a call that calls again, with several parts: on whichever thread of the gang it is,
/// the process ends with a message, and does not wait for itself.
#[test]
fn inside_a_call() {
    unsafe extern "C" fn inner(_: c_int, _: *mut c_void, _: c_int) {}
    unsafe extern "C" fn outer(_: c_int, _: *mut c_void, calls: c_int) {
        // SAFETY: as OpenBLAS calls it.
        unsafe { run_gang(1, Some(inner), calls, 0, std::ptr::null_mut(), 0) };
    }
    const CHILD: &str = "MYRIAD_TEST_INSIDE_A_CALL";
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: as OpenBLAS calls it. One part each: that needs no gang.
        unsafe { run_gang(1, Some(outer), 2, 0, std::ptr::null_mut(), 1) };
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(20));
            eprintln!("it hangs");
            std::process::exit(3);
        });
        // SAFETY: as OpenBLAS calls it; the jobs look at no data.
        unsafe { run_gang(1, Some(outer), 2, 0, std::ptr::null_mut(), 2) };
        std::process::exit(4);
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output = again.args(["--exact", "openblas::inside_a_call", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !err.contains("it hangs"), "{}: {err}", output.status);
    assert!(err.contains("a job of a gang has called OpenBLAS") && err.contains("cannot be run"), "{err}");
}

/// Who waits for other gangs to end, in a region that is cancelled meanwhile: the call takes place,
/// and the cancellation arrives behind it.
#[test]
fn cancelled_while_it_waits_for_its_turn() {
    static PARTS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn part(_: c_int, _: *mut c_void, _: c_int) {
        PARTS.fetch_add(1, SeqCst);
    }
    fn call(token: &Token) {
        let ended = token.run(|| {
            // SAFETY: as OpenBLAS calls it.
            unsafe { run_gang(1, Some(part), 2, 0, std::ptr::null_mut(), 0) };
            PARTS.fetch_add(10, SeqCst);
            time::sleep(Duration::from_secs(3600));
        });
        assert!(ended.is_err());
    }
    let all = myriad_base::platform::platform().workers;
    let _alone = alone();
    let turn = |rt: Option<&Runtime>| {
        PARTS.store(0, SeqCst);
        let (token, is_taken, ends) = (Token::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            // It has all processors, and nobody else's gang begins.
            threads.spawn(|| {
                gang(all, |i| {
                    is_taken.fetch_add(1, SeqCst);
                    while i == 0 && ends.load(SeqCst) == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                })
            });
            while is_taken.load(SeqCst) < all {
                std::thread::yield_now();
            }
            threads.spawn(|| {
                // It waits by now, or will find that it is cancelled.
                std::thread::sleep(Duration::from_millis(50));
                token.cancel();
                std::thread::sleep(Duration::from_millis(20));
                ends.store(1, SeqCst);
            });
            match rt {
                Some(rt) => rt.run(|| call(&token)),
                None => call(&token),
            }
        });
        assert_eq!(PARTS.load(SeqCst), 12);
    };
    turn(None);
    in_both_modes(|rt| turn(Some(rt)));
}

/// Two builds in one process, of which the first is too old: what the other one says of itself
/// counts for it. (By it `install` decides whether the number of threads may be changed at any
/// time.)
#[test]
#[cfg(all(unix, not(target_os = "macos")))]
fn of_two_builds_each_speaks_for_itself() {
    let folder = std::env::temp_dir().join(format!("myriad-two-builds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, library) = (folder.join("two.c"), folder.join("libtwo.so"));
    let text = r#"
        const char *openblas_get_config(void) { return "OpenBLAS 0.3.21 NO_AFFINITY"; }
        void openblas_set_num_threads(int n) { (void)n; }
        const char *scipy_openblas_get_config64_(void) { return "OpenBLAS 0.3.30 USE_OPENMP NO_AFFINITY"; }
        void scipy_openblas_set_num_threads64_(int n) { (void)n; }
        void scipy_openblas_set_threads_callback_function64_(void *f) { (void)f; }
    "#;
    std::fs::write(&source, text).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let made =
        std::process::Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    if !made.is_ok_and(|made| made.success()) {
        _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: there is no compiler for C\n");
        return;
    }
    // SAFETY: the file was made for this.
    let blas = unsafe { OpenBlas::load_from(&library) }.unwrap();
    assert_eq!(blas.config(), "OpenBLAS 0.3.30 USE_OPENMP NO_AFFINITY");
    _ = std::fs::remove_dir_all(&folder);
}
