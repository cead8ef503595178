//! OpenBLAS on our gangs, against its own threads, by turns; results checked.
//!
//! `cargo run --release -p myriad-foreign --example dgemm [fibers] [n=4096] [rounds=5]`

mod common;

use common::{argument, by_turns, difference, noise, runtime};
use myriad_foreign::openblas::OpenBlas;
use std::ffi::c_int;

type Dgemm<Int> =
    unsafe extern "C" fn(c_int, c_int, c_int, Int, Int, Int, f64, *const f64, Int, *const f64, Int, f64, *mut f64, Int);

/// `cblas_dgemm`, with the integers of this build.
#[derive(Clone, Copy)]
enum Gemm {
    Int32(Dgemm<i32>),
    Int64(Dgemm<i64>),
}

impl Gemm {
    fn of(blas: &OpenBlas) -> Gemm {
        // SAFETY: CBLAS's own type.
        unsafe {
            if blas.is_64_bit() {
                Gemm::Int64(blas.function("cblas_dgemm").unwrap())
            } else {
                Gemm::Int32(blas.function("cblas_dgemm").unwrap())
            }
        }
    }

    /// `c = a * b`, row by row.
    fn multiply(self, n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
        const ROW_MAJOR: c_int = 101;
        const PLAIN: c_int = 111;
        assert!(a.len() == n * n && b.len() == n * n && c.len() == n * n);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: three arrays of n * n numbers.
        unsafe {
            match self {
                Gemm::Int32(gemm) => {
                    let n = n as i32;
                    gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, c, n)
                }
                Gemm::Int64(gemm) => {
                    let n = n as i64;
                    gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, c, n)
                }
            }
        }
    }
}

fn main() {
    let blas = match OpenBlas::load() {
        Ok(blas) => blas,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(77);
        }
    };
    println!("{}", blas.config());
    let rt = runtime();
    let workers = rt.workers();
    let gemm = Gemm::of(&blas);
    // SAFETY: nobody else is in OpenBLAS.
    let (install, uninstall) = (|| unsafe { blas.install(workers) }, || unsafe { blas.uninstall() });

    let (n, rounds) = (argument("n", 4096), argument("rounds", 5));
    let (a, b): (Vec<f64>, Vec<f64>) = (noise(1, n * n).collect(), noise(2, n * n).collect());
    let mut expected = vec![0.0; n * n];
    // SAFETY: nobody else is in OpenBLAS.
    unsafe { blas.set_threads(1) };
    gemm.multiply(n, &a, &b, &mut expected);
    let (mut c, mut c2) = (vec![0.0; n * n], vec![0.0; n * n]);
    install();
    let (ours, theirs, ratio) = by_turns(
        rounds,
        || {
            install();
            rt.run(|| gemm.multiply(n, &a, &b, &mut c));
        },
        || {
            uninstall();
            gemm.multiply(n, &a, &b, &mut c2);
        },
    );
    assert!(difference(&c, &expected) < 1e-12 && difference(&c2, &expected) < 1e-12, "wrong results");
    println!("dgemm {n}: gangs of {workers} {ours:.1?}, its own threads {theirs:.1?}; ratio {ratio:.3}");

    let (n, tasks) = (argument("small", 1024), argument("tasks", 4));
    let (a, b) = (&a[..n * n], &b[..n * n]);
    let mut expected = vec![0.0; n * n];
    gemm.multiply(n, a, b, &mut expected);
    let mut results = (vec![vec![0.0; n * n]; tasks], vec![vec![0.0; n * n]; tasks]);
    let from_tasks = |results: &mut [Vec<f64>]| {
        rt.run(|| {
            myriad_core::scope(|s| {
                for c in results {
                    s.spawn(|| gemm.multiply(n, a, b, c));
                }
            });
        });
    };
    for threads in [None, Some(workers), Some(1)] {
        let (ours, theirs, ratio) = by_turns(
            4 * rounds,
            || {
                install();
                if let Some(threads) = threads {
                    // SAFETY: nobody else is in OpenBLAS: the tasks before have ended.
                    unsafe { blas.set_threads(threads) };
                }
                from_tasks(&mut results.0);
            },
            || {
                uninstall();
                // SAFETY: nobody else is in OpenBLAS: the tasks before have ended.
                unsafe { blas.set_threads(workers) };
                from_tasks(&mut results.1);
            },
        );
        for c in results.0.iter_mut().chain(&mut results.1) {
            assert!(difference(c, &expected) < 1e-12, "wrong results");
            c.fill(0.0);
        }
        let number = threads.map_or("as installed".to_owned(), |n| format!("set_threads({n})"));
        println!(
            "{tasks} dgemm {n} from {tasks} tasks: {number} {ours:.1?}, its own threads {theirs:.1?}; ratio {ratio:.3}"
        );
    }
    drop(rt.shutdown(std::time::Duration::from_secs(1)));
}
