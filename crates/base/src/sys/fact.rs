//! What is found out at the first question, and stays so: the clock's start, the processors.
//!
//! Two threads that ask at the same time both find out, and the first answer counts for all. So
//! nobody waits for another thread, which in a process that was just forked would not be there:
//! with std's `OnceLock` the child waits for ever.

use std::ptr::null_mut;
// Not through `sys`: no model asks.
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// See the module's header.
#[derive(Debug)]
pub struct Fact<T>(AtomicPtr<T>);

impl<T: Send + Sync + 'static> Fact<T> {
    /// Nobody has asked yet.
    #[allow(clippy::new_without_default, reason = "for statics")]
    pub const fn new() -> Fact<T> {
        Fact(AtomicPtr::new(null_mut()))
    }

    /// The answer; `find_out` knows it.
    #[inline(always)]
    pub fn get(&self, find_out: impl FnOnce() -> T) -> &'static T {
        // Acquire: pairs with the Release in `put`: the answer.
        let known = self.0.load(Acquire);
        // SAFETY: a box that was put there, which nobody frees or changes.
        unsafe { known.as_ref() }.unwrap_or_else(|| self.put(find_out))
    }

    #[cold]
    #[inline(never)]
    fn put(&self, find_out: impl FnOnce() -> T) -> &'static T {
        let mine = Box::into_raw(Box::new(find_out()));
        // Release: the answer, for the Acquire in `get`; and Acquire: that of somebody who was
        // faster.
        let known = match self.0.compare_exchange(null_mut(), mine, AcqRel, Acquire) {
            Ok(_) => mine,
            Err(first) => {
                // SAFETY: our own box, which nobody else has seen.
                drop(unsafe { Box::from_raw(mine) });
                first
            }
        };
        // SAFETY: a box that was put there, by us or before us: nobody frees or changes it.
        unsafe { &*known }
    }
}

#[cfg(all(test, unix, not(loom), not(miri)))]
mod test {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_answer_counts_for_all() {
        static FACT: Fact<String> = Fact::new();
        let both = FACT.get(|| {
            // (In the middle of the first question another one is answered.)
            assert_eq!(FACT.get(|| "first".into()), "first");
            "second".into()
        });
        assert_eq!(both, "first");
        assert!(std::ptr::eq(both, FACT.get(|| unreachable!())));
    }

    /// A child that is forked while another thread finds out does not wait for that thread, which
    /// it has not got.
    #[test]
    fn a_fork_in_the_middle() {
        static FACT: Fact<u32> = Fact::new();
        static FORKED: AtomicBool = AtomicBool::new(false);
        let (says, begun) = channel();
        let asks = std::thread::spawn(move || {
            *FACT.get(|| {
                says.send(()).unwrap();
                while !FORKED.load(Acquire) {
                    std::thread::yield_now();
                }
                1
            })
        });
        begun.recv().unwrap();
        // SAFETY: the child asks, and leaves by `_exit`. If it waits, the alarm ends it.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(10);
                libc::_exit(*FACT.get(|| 7) as i32);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        FORKED.store(true, Release);
        assert_eq!(asks.join().unwrap(), 1);
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
            "the child has ended with status {status:#x}"
        );
    }
}
