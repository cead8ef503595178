//! Waiting for a future from blocking code.

use crate::queue::parked::Parked;
use crate::queue::reason::WaitReason;
use crate::sched::cancel::checkpoint;
use crate::sched::unwind::QuietlyDropped;
use crate::sched::waker::{Signal, signal_of, waker_of_signal};
use crate::sched::worker::{self, block_thread};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

/// A wait for a signal.
#[repr(C)]
struct SignalWait<'a> {
    node: Parked,
    signal: &'a Signal,
}

// `end` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(SignalWait<'static>, node) == 0);

impl SignalWait<'_> {
    /// Takes the node back. False: a waker has it.
    ///
    /// # Safety
    /// `node` is the node of a `SignalWait`, and points into the whole. The owner of that is
    /// blocked, and does not go on before this returns.
    unsafe fn end(node: *const Parked) -> bool {
        // SAFETY: `node` is that of a `SignalWait`, which stands because its owner is
        // blocked (this function's contract).
        let signal = unsafe { (*node.cast::<SignalWait<'_>>()).signal };
        signal.take_back(node)
    }
}

/// Drives a future to its end on the caller's stack, and returns its output.
///
/// In a task, which may itself be a future's poll: nothing is "within a runtime". Never moves the
/// future.
///
/// # Blocking
/// While the future is pending: a task is set aside, a foreign thread sleeps, until the future's
/// waker is called.
///
/// # Cancellation
/// If the caller is cancelled while it waits, the future is dropped, in the unwinding.
///
/// # Panics
/// If the future panics. If there is no memory for a stack.
///
/// # Examples
/// ```
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(myriad::block_on(h).unwrap(), 42);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut output = QuietlyDropped(None);
    run(future, &mut output);
    output.0.take().expect("it has ended")
}

/// Runs the future to its end, and drops it: its destructor may panic while the output is in hand.
#[inline(always)]
#[track_caller]
fn run<F: Future>(future: F, output: &mut QuietlyDropped<F::Output>) {
    let mut future = pin!(future);
    let waker = waker_of_signal();
    let signal = signal_of(&waker).expect("made just now");
    let mut cx = Context::from_waker(&waker);
    loop {
        signal.clear();
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            output.0 = Some(value);
            return;
        }
        let w = worker::current();
        if let Some(w) = &w
            && let Err(error) = w.ensure_stack()
        {
            panic!("{error}");
        }
        let wait = SignalWait {
            node: w.as_ref().map_or_else(|| Parked::foreign(WaitReason::Future), |w| w.node(WaitReason::Future)),
            signal,
        };
        wait.node.cancel_fn.set(Some(SignalWait::end));
        // (Of the whole wait: `end` looks behind the node.)
        let node = (&raw const wait).cast::<Parked>();
        if signal.publish(node) {
            match w {
                // SAFETY: a stack is ensured; the node is published, and who notifies takes it out
                // once.
                Some(w) => _ = unsafe { w.suspend(node) },
                // SAFETY: the wait is this thread's, and stands; the pointer is that of the whole.
                None => unsafe { block_thread(node) },
            }
            if wait.node.was_cancelled() {
                checkpoint::unwind_cancelled();
            }
        }
    }
}
