//! FFTW and OpenBLAS, as far as they are there.

use crate::kinds::Kind;
use myriad_foreign::LoadError;
use myriad_foreign::fftw::{Fftw, Precision};
use myriad_foreign::openblas::OpenBlas;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

type Plan = *mut c_void;
type Plan2d = unsafe extern "C" fn(c_int, c_int, *mut f64, *mut f64, c_int, c_uint) -> Plan;
type Execute = unsafe extern "C" fn(Plan);
type Gemm<Int> =
    unsafe extern "C" fn(c_int, c_int, c_int, Int, Int, Int, f64, *const f64, Int, *const f64, Int, f64, *mut f64, Int);

const FORWARD: c_int = -1;
const ESTIMATE: c_uint = 1 << 6;
const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;

/// Rows of a transform, and of a product: enough for both to be divided.
const SIDE: usize = 64;
const ROWS: usize = 128;
/// Parts of a transform, threads of a product.
pub(crate) const PARTS: usize = 4;
pub(crate) const GANG: usize = 2;

pub(crate) struct Foreign {
    fftw: Option<Fft>,
    blas: Option<Blas>,
    /// What is not there, and why.
    pub(crate) missing: Vec<String>,
}

struct Fft {
    plan: Plan2d,
    execute: Execute,
    destroy: Execute,
}

struct Blas {
    blas: OpenBlas,
    /// A `Gemm` with this build's integers.
    gemm: unsafe extern "C" fn(),
    a: Vec<f64>,
    b: Vec<f64>,
    product: Vec<f64>,
}

impl Foreign {
    /// With `MYRIAD_FOREIGN=required` both have to be there.
    pub(crate) fn load() -> Arc<Foreign> {
        let mut missing = Vec::new();
        let mut note = |what: &str, error: LoadError| {
            let required = std::env::var_os("MYRIAD_FOREIGN").is_some_and(|value| value == "required");
            assert!(!required, "{what}: {error}");
            missing.push(format!("{what}: {error}"));
        };
        let fftw = Fft::load().map_err(|error| note("FFTW", error)).ok();
        let blas = Blas::load().map_err(|error| note("OpenBLAS", error)).ok();
        Arc::new(Foreign { fftw, blas, missing })
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Fftw => self.fftw.is_some(),
            Kind::Dgemm => self.blas.is_some(),
            _ => true,
        }
    }

    /// Of a one and zeros, which is all ones.
    pub(crate) fn transform(&self) {
        let fft = self.fftw.as_ref().expect("in the tree only if it is there");
        let (mut input, mut output) = (vec![0.0; 2 * SIDE * SIDE], vec![0.0; 2 * SIDE * SIDE]);
        let n = SIDE as c_int;
        // SAFETY: the arrays have n * n complex numbers; a plan of ours alone, and the planner is
        // safe for threads.
        unsafe {
            let plan = (fft.plan)(n, n, input.as_mut_ptr(), output.as_mut_ptr(), FORWARD, ESTIMATE);
            assert!(!plan.is_null());
            input[0] = 1.0;
            (fft.execute)(plan);
            (fft.destroy)(plan);
        }
        assert!(output.chunks(2).all(|number| number == [1.0, 0.0]), "a wrong transform");
    }

    /// Of whole numbers, which is exact.
    pub(crate) fn multiply(&self) {
        let blas = self.blas.as_ref().expect("in the tree only if it is there");
        let mut c = vec![0.0; ROWS * ROWS];
        let (a, b, out) = (blas.a.as_ptr(), blas.b.as_ptr(), c.as_mut_ptr());
        // SAFETY: CBLAS's function, with the integers of this build, and three arrays of ROWS *
        // ROWS numbers.
        unsafe {
            if blas.blas.is_64_bit() {
                let (gemm, n) = (std::mem::transmute::<unsafe extern "C" fn(), Gemm<i64>>(blas.gemm), ROWS as i64);
                gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, out, n);
            } else {
                let (gemm, n) = (std::mem::transmute::<unsafe extern "C" fn(), Gemm<i32>>(blas.gemm), ROWS as i32);
                gemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, 1.0, a, n, b, n, 0.0, out, n);
            }
        }
        assert!(c == blas.product, "a wrong product");
    }
}

impl Fft {
    fn load() -> Result<Fft, LoadError> {
        let fftw = Fftw::load(Precision::Double)?;
        // SAFETY: nobody else is in FFTW; its functions, with their types.
        unsafe {
            fftw.install();
            fftw.make_planner_thread_safe()?;
            fftw.plan_with_threads(PARTS);
            Ok(Fft {
                plan: fftw.function("fftw_plan_dft_2d")?,
                execute: fftw.function("fftw_execute")?,
                destroy: fftw.function("fftw_destroy_plan")?,
            })
        }
    }
}

impl Blas {
    fn load() -> Result<Blas, LoadError> {
        let blas = OpenBlas::load()?;
        // SAFETY: nobody else is in OpenBLAS; called with its own type only.
        let gemm = unsafe {
            blas.install(GANG);
            blas.function("cblas_dgemm")?
        };
        let numbers = |seed: usize| (0..ROWS * ROWS).map(|i| ((i * seed + i / ROWS) % 7) as f64).collect::<Vec<_>>();
        let (a, b) = (numbers(3), numbers(5));
        let mut product = vec![0.0; ROWS * ROWS];
        for (i, k) in (0..ROWS).flat_map(|i| (0..ROWS).map(move |k| (i, k))) {
            let row = product[i * ROWS..][..ROWS].iter_mut().zip(&b[k * ROWS..][..ROWS]);
            row.for_each(|(c, b)| *c += a[i * ROWS + k] * b);
        }
        Ok(Blas { blas, gemm, a, b, product })
    }
}
