//! FFTW's loops on our workers, against its own threads, by turns; results checked against a plan
//! without threads.
//!
//! `cargo run --release -p myriad-foreign --example fftw [fibers] [n=4096] [rounds=7]`

mod common;

use common::{argument, by_turns, difference, noise, runtime};
use myriad_foreign::fftw::{Fftw, Precision};
use std::ffi::{c_int, c_uint, c_void};

type Plan = *mut c_void;
type Plan2d = unsafe extern "C" fn(c_int, c_int, *mut f64, *mut f64, c_int, c_uint) -> Plan;
type Execute = unsafe extern "C" fn(Plan, *mut f64, *mut f64);

const FORWARD: c_int = -1;
const ESTIMATE: c_uint = 1 << 6;
const UNALIGNED: c_uint = 1 << 1;

/// A plan that any thread may execute, for arrays of its size.
#[derive(Clone, Copy)]
struct Shared(Plan, Execute);
// SAFETY: FFTW executes a plan in several threads at a time, on different arrays.
unsafe impl Sync for Shared {}

impl Shared {
    fn execute(&self, input: &mut [f64], output: &mut [f64]) {
        // SAFETY: made for arrays of this size.
        unsafe { (self.1)(self.0, input.as_mut_ptr(), output.as_mut_ptr()) }
    }
}

fn main() {
    let fftw = match Fftw::load(Precision::Double) {
        Ok(fftw) => fftw,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(77);
        }
    };
    let rt = runtime();
    let workers = rt.workers();
    // SAFETY: FFTW's own types; nobody else is in it.
    let (plan_2d, execute) = unsafe {
        (fftw.function::<Plan2d>("fftw_plan_dft_2d").unwrap(), fftw.function::<Execute>("fftw_execute_dft").unwrap())
    };
    let plan = |side: usize, threads: usize, input: &mut [f64], output: &mut [f64]| {
        let n = side as c_int;
        // SAFETY: the arrays have n * n complex numbers; nobody else plans.
        unsafe {
            fftw.plan_with_threads(threads);
            Shared(plan_2d(n, n, input.as_mut_ptr(), output.as_mut_ptr(), FORWARD, ESTIMATE | UNALIGNED), execute)
        }
    };
    // SAFETY: nobody else is in FFTW.
    let (install, uninstall) = (|| unsafe { fftw.install_in(rt.handle()) }, || unsafe { fftw.uninstall() });
    install();

    // One large transform.
    // As many parts as workers: more make the plan itself dearer.
    let (n, rounds, parts) = (argument("n", 4096), argument("rounds", 7), argument("parts", workers));
    let mut input: Vec<f64> = noise(1, 2 * n * n).collect();
    let mut expected = vec![0.0; 2 * n * n];
    plan(n, 1, &mut input, &mut expected).execute(&mut input, &mut expected);
    let (mut input2, mut output, mut output2) = (input.clone(), vec![0.0; 2 * n * n], vec![0.0; 2 * n * n]);
    let (ours, theirs) = (plan(n, parts, &mut input, &mut output), plan(n, workers, &mut input, &mut output));
    let (a, b, ratio) = by_turns(
        rounds,
        || {
            install();
            rt.run(|| ours.execute(&mut input, &mut output));
        },
        || {
            uninstall();
            theirs.execute(&mut input2, &mut output2);
        },
    );
    assert!(difference(&output, &expected) < 1e-12 && difference(&output2, &expected) < 1e-12, "wrong results");
    println!("fft {n} x {n}: on {workers} workers {a:.1?}, with its own threads {b:.1?}; ratio {ratio:.3}");

    // Many small ones, each with threads, from many tasks.
    let (side, many, parts) = (argument("side", 256), argument("many", 64), argument("parts", 2 * workers));
    let size = 2 * side * side;
    let mut inputs: Vec<Vec<f64>> = (0..many).map(|k| noise((k * size) as u64, size).collect()).collect();
    let mut expected = vec![vec![0.0; size]; many];
    let serial = plan(side, 1, &mut inputs[0], &mut expected[0]);
    inputs.iter_mut().zip(&mut expected).for_each(|(input, output)| serial.execute(input, output));
    let (mut outputs, mut inputs2, mut outputs2) = (vec![vec![0.0; size]; many], inputs.clone(), expected.clone());
    let (ours, theirs) =
        (plan(side, parts, &mut inputs[0], &mut outputs[0]), plan(side, workers, &mut inputs2[0], &mut outputs2[0]));
    inputs2.clone_from(&inputs);
    let batch = |plan: &Shared, inputs: &mut [Vec<f64>], outputs: &mut [Vec<f64>]| {
        rt.run(|| {
            myriad_core::scope(|s| {
                for (input, output) in inputs.iter_mut().zip(outputs) {
                    s.spawn(move || plan.execute(input, output));
                }
            });
        });
    };
    let (a, b, ratio) = by_turns(
        3 * rounds,
        || {
            install();
            batch(&ours, &mut inputs, &mut outputs);
        },
        || {
            uninstall();
            batch(&theirs, &mut inputs2, &mut outputs2);
        },
    );
    for (results, expected) in outputs.iter().chain(&outputs2).zip(expected.iter().chain(&expected)) {
        assert!(difference(results, expected) < 1e-12, "wrong results");
    }
    println!(
        "{many} ffts {side} x {side} from tasks: on {workers} workers {a:.1?}, with its own threads {b:.1?}; ratio {ratio:.3}"
    );
    drop(rt.shutdown(std::time::Duration::from_secs(1)));
}
