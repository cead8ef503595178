//! Threads that begin or end, which a fork waits for.
//!
//! At both ends of a thread std takes a lock of the whole process (for the bounds of its guard
//! page). A child that is forked while another thread has that lock can start no thread: each of
//! its threads waits for the lock at once, for ever. std has no handler for `fork`. So each thread
//! of Myriad says when it is *passing*, between the call that starts it and its first own
//! instruction, or between its last own instruction and its destructors of thread-locals, which
//! run behind std's lock. The forking thread lets no other thread pass meanwhile, and waits for
//! those that do: some microseconds each, for they run no code of users.
//!
//! Threads that others start are not seen, nor is the end of one whose body panics.

use crate::sys::fork::{self, Rank};
use crate::sys::mutex::{Mutex, MutexGuard};
use std::cell::Cell;
// Not through the door: nothing here is in a model.
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Whoever has this lets no thread pass. A leaf: a thread that has it takes no other lock.
static LOCK: Mutex<()> = Mutex::new(());

/// How many threads are passing. Grows under the lock only.
static PASSING: AtomicU32 = AtomicU32::new(0);

/// One thread that passes.
struct Passing;

impl Passing {
    fn new() -> Passing {
        let _lock = LOCK.lock();
        // Relaxed: `close` reads it under the same lock.
        PASSING.fetch_add(1, Relaxed);
        Passing
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `close`; std's lock has been given back.
        PASSING.fetch_sub(1, Release);
    }
}

thread_local! {
    // Its destructor runs when the thread has left std's lock behind.
    static ENDS: Cell<Option<Passing>> = const { Cell::new(None) };
}

/// At the end of a thread's body.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        // Where a panic ends the body, std may drop the payload before the thread has passed. The
        // payload's destructor is user code: if it forked, it would wait here for its own thread.
        if std::thread::panicking() {
            return;
        }
        // (Not where the thread is so far that thread-locals are gone: no body of ours is.)
        _ = ENDS.try_with(|ends| ends.set(Some(Passing::new())));
    }
}

/// The body of a thread that is about to be started, such that a fork waits while the thread begins
/// or ends. To be given to std at once.
pub fn passing<T>(body: impl FnOnce() -> T) -> impl FnOnce() -> T {
    fork::hold(Rank::Threads, || {
        let lock = close();
        Box::new(|_| drop(lock))
    });
    let begins = Passing::new();
    move || {
        drop(begins);
        let _ends = Ends;
        body()
    }
}

/// Lets no thread pass as long as the guard lives, and waits until none does.
fn close() -> MutexGuard<'static, ()> {
    let lock = LOCK.lock();
    while PASSING.load(Acquire) > 0 {
        std::thread::yield_now();
    }
    lock
}

#[cfg(all(test, not(loom)))]
mod test {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::time::Duration;

    #[test]
    fn a_fork_waits_for_a_thread_that_begins() {
        static MAY_BEGIN: AtomicBool = AtomicBool::new(false);
        let body = super::passing(|| ());
        let closes = std::thread::spawn(|| {
            drop(super::close());
            MAY_BEGIN.load(SeqCst)
        });
        // Whoever does not wait has time for that.
        std::thread::sleep(Duration::from_millis(20));
        MAY_BEGIN.store(true, SeqCst);
        std::thread::spawn(body).join().unwrap();
        assert!(closes.join().unwrap());
    }

    /// The handle of the thread is gone, so std drops the payload on the thread itself.
    #[test]
    fn a_payload_may_fork() {
        struct Forks(std::sync::mpsc::Sender<()>);
        impl Drop for Forks {
            fn drop(&mut self) {
                drop(super::close());
                _ = self.0.send(());
            }
        }
        let (tell, told) = std::sync::mpsc::channel();
        drop(std::thread::spawn(super::passing(move || std::panic::resume_unwind(Box::new(Forks(tell))))));
        assert!(told.recv_timeout(Duration::from_secs(60)).is_ok(), "it waits for its own thread");
    }

    #[test]
    fn a_thread_that_was_not_started_does_not_count() {
        drop(super::passing(|| ()));
        drop(super::close());
    }
}
