//! What the queues of own threads hold: a pointer, and the function that knows what it points to.
//!
//! A job in a frame ([`FrameJob`]) stands on the stack of the one who waits for it; setting its
//! latch is the last touch of that memory. A job on the heap ([`boxed`]) owns its closure.

use super::latch::Latch;
use crate::unwind::{self, Payload};
use crate::user_code;
use std::cell::UnsafeCell;

/// See the module's header. Run exactly once.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    data: *const (),
    run: unsafe fn(*const ()),
}

// SAFETY: jobs are made of closures that are `Send` only.
unsafe impl Send for Job {}

impl PartialEq for Job {
    /// A job is told from others by where it stands.
    fn eq(&self, other: &Job) -> bool {
        self.data == other.data
    }
}

impl Job {
    /// Runs it. Does not unwind: what runs it may be a wait of others, on top of their frames.
    ///
    /// # Safety
    /// It was taken out of a queue, where it was once, and what it points to is as its maker
    /// promised.
    pub(crate) unsafe fn run(self) {
        // SAFETY: the job was taken out of a queue, where it was once, and `data` is as its maker
        // promised (this function's contract).
        unsafe { (self.run)(self.data) }
    }
}

/// A job that owns its closure, which catches its panics itself.
///
/// # Safety
/// What `f` borrows lives until it has run.
pub(crate) unsafe fn boxed<F: FnOnce() + Send>(f: F) -> Job {
    /// # Safety
    /// `data` is that of a job made below, which is run once.
    unsafe fn run<F: FnOnce()>(data: *const ()) {
        // SAFETY: `data` was made of a box of this type, below, and is used once (this function's
        // contract).
        let f = unsafe { Box::from_raw(data.cast_mut().cast::<F>()) };
        unwind::never_left("a job that catches its panics itself", f);
    }
    Job { data: Box::into_raw(Box::new(f)).cast_const().cast(), run: run::<F> }
}

/// A job in the frame of the one who waits for it. The closure is told whether it runs elsewhere.
pub(crate) struct FrameJob<F, R> {
    pub(crate) latch: Latch,
    f: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> FrameJob<F, R> {
    pub(crate) fn new(f: F, latch: Latch) -> Self {
        FrameJob { latch, f: UnsafeCell::new(Some(f)), result: UnsafeCell::new(None) }
    }

    /// For a queue.
    ///
    /// # Safety
    /// The frame stands until the latch is set, or the job was taken back out of its queue.
    pub(crate) unsafe fn job(&self) -> Job {
        /// # Safety
        /// `data` is that of a job made below, which is run once; its frame stands until the latch
        /// is set, and nobody looks at closure and result before.
        unsafe fn run<F: FnOnce(bool) -> R, R>(data: *const ()) {
            let this = data.cast::<FrameJob<F, R>>();
            // SAFETY: the frame stands until the latch is set, and nobody else runs the job, or
            // looks at it before (this function's contract).
            unsafe {
                let f = (*(*this).f.get()).take().expect("a job runs once");
                let result = user_code::body(|| f(true));
                // (There was none before: nothing is dropped.)
                (*this).result.get().write(Some(result));
                Latch::set(&raw const (*this).latch);
            }
        }
        Job { data: std::ptr::from_ref(self).cast(), run: run::<F, R> }
    }

    /// The closure of a job that was taken back, to call it here.
    pub(crate) fn into_closure(self) -> F {
        self.f.into_inner().expect("not run elsewhere")
    }

    /// What the job has left. The latch is set.
    pub(crate) fn into_result(self) -> Result<R, Payload> {
        debug_assert!(self.latch.is_set());
        self.result.into_inner().expect("run elsewhere")
    }
}
