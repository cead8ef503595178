//! `threads` by `pthread_create` and `pthread_join`, without what the standard library adds.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Instant;

use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

pub(super) fn run(p: &Params) -> Outcome {
    sample::warm(p.n, || {
        let begin = Instant::now();
        let mut sum = 0;
        for i in 0..p.n {
            sum += spawn_and_join(i as usize)?;
        }
        let time = begin.elapsed();
        Failure::check(sum as u64, p.n * (p.n - 1) / 2)?;
        Ok(time)
    })
}

/// What the thread does: gives its argument back. The argument is a number, not an address.
extern "C" fn give_back(i: *mut c_void) -> *mut c_void {
    i
}

fn spawn_and_join(i: usize) -> Result<usize, Failure> {
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let argument = ptr::without_provenance_mut(i);
    // SAFETY: `thread` is valid for writing, null asks for default attributes, and `give_back`
    // takes any argument.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), give_back, argument) };
    if error != 0 {
        return Err(Failure::Wrong(format!("pthread_create failed with error {error}")));
    }
    // SAFETY: `pthread_create` succeeded, so it wrote `thread`.
    let thread = unsafe { thread.assume_init() };
    let mut result = ptr::null_mut();
    // SAFETY: `thread` is joinable and is joined once; `result` is valid for writing.
    let error = unsafe { libc::pthread_join(thread, &mut result) };
    if error != 0 {
        return Err(Failure::Wrong(format!("pthread_join failed with error {error}")));
    }
    Ok(result.addr())
}
