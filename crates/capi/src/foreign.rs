//! Callbacks for foreign parallel libraries.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::runtime::handle;
use myriad_foreign::{fftw, openblas};
use std::ffi::{c_char, c_int, c_void};

/// For FFTW 3.3.9 and later: `fftw_threads_set_callback(myriad_fftw_loop, NULL)`, after
/// fftw_init_threads, for each precision that the program uses. Its loops are tasks then; plan with
/// two to four times as many threads as workers.
///
/// Blocks until all jobs have ended: a calling task is set aside. Without a runtime the jobs run
/// one after the other.
///
/// # Safety
/// `work` may be called once for each of `njobs` elements of `elsize` bytes at `jobdata`, in any
/// order, on any threads, at the same time: as FFTW says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_fftw_loop(
    work: Option<unsafe extern "C" fn(*mut c_char) -> *mut c_void>,
    jobdata: *mut c_char,
    elsize: usize,
    njobs: c_int,
    data: *mut c_void,
) {
    // What the program gave; nothing is expected there.
    _ = data;
    let mut runtime = None;
    guarded(|| {
        runtime = Some(handle()?);
        Ok(())
    });
    if let Some(runtime) = runtime {
        // SAFETY: FFTW calls with jobs that `work` may be called with, once each; it waits for us,
        // so the handle is there meanwhile.
        unsafe { fftw::parallel_loop(work, jobdata, elsize, njobs, (&raw const runtime).cast_mut().cast()) };
    } else if let Some(work) = work {
        for i in 0..usize::try_from(njobs).unwrap_or(0) {
            // SAFETY: FFTW says that `work` may be called once for each of the `njobs` jobs, which
            // lie `elsize` bytes apart.
            unsafe { work(jobdata.wrapping_add(i * elsize)) };
        }
    }
}

/// For OpenBLAS 0.3.28 and later: `openblas_set_threads_callback_function(myriad_openblas_gang)`,
/// before its first call, and myriad_openblas_threads, or openblas_set_num_threads, with at most
/// the number of processors. Its calls are gangs then, one at a time in the process.
///
/// Blocks until all parts have ended; the caller keeps its thread. Needs no runtime. If there are
/// no threads it ends the process with a message: OpenBLAS cannot be told.
///
/// # Safety
/// `dojob(i, jobdata + i * jobdata_elsize, dojob_data)` may be called once for each `i` below
/// `numjobs`, on any threads, at the same time: as OpenBLAS says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_openblas_gang(
    sync: c_int,
    dojob: Option<unsafe extern "C" fn(c_int, *mut c_void, c_int)>,
    numjobs: c_int,
    jobdata_elsize: usize,
    jobdata: *mut c_void,
    dojob_data: c_int,
) {
    // SAFETY: OpenBLAS says of these arguments what `run_gang` asks, whose contract is the same.
    unsafe { openblas::run_gang(sync, dojob, numjobs, jobdata_elsize, jobdata, dojob_data) };
}

/// Instead of `openblas_set_num_threads(threads)`: sets that number, and from now on sets it to 1
/// in a stream of calls that keeps all workers busy, so that calls from as many tasks run at the
/// same time; and back when one has nothing to do. `set_num_threads` is openblas_set_num_threads,
/// of a build with threads of its own (not of OpenMP) and without affinity (the default).
///
/// It is not lowered while there are more `threads` than workers, nor by calls from other threads.
/// 1 thread: nothing changes any more.
///
/// Never blocks. Errors: MYRIAD_ERROR_NULL (the function); MYRIAD_ERROR_INVALID: less than 1
/// thread.
///
/// # Safety
/// Nobody is in OpenBLAS meanwhile. The function may be called from any thread, at any time from
/// now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_openblas_threads(
    set_num_threads: Option<unsafe extern "C" fn(c_int)>,
    threads: c_int,
) -> myriad_status {
    guarded(|| {
        let set = set_num_threads.ok_or_else(|| null("the function that sets the number"))?;
        let threads = usize::try_from(threads).ok().filter(|n| *n > 0);
        let threads =
            threads.ok_or_else(|| Failure::new(MYRIAD_ERROR_INVALID, "OpenBLAS has at least 1 thread for a call"))?;
        // SAFETY: nobody is in OpenBLAS meanwhile, and the function may be called from any thread
        // from now on, by the contract.
        unsafe { openblas::share_threads(set, threads) };
        Ok(())
    })
}
