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

    /// The answer, if somebody has asked.
    #[inline(always)]
    pub fn peek(&self) -> Option<&'static T> {
        // Acquire: pairs with the Release in `put`: the answer.
        // SAFETY: null, or a box that was put there, which nobody frees or changes.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// The answer; `find_out` knows it.
    #[inline(always)]
    pub fn get(&self, find_out: impl FnOnce() -> T) -> &'static T {
        self.peek().unwrap_or_else(|| self.put(|_| true, find_out))
    }

    /// The answer if it `holds` still, else a new one: one that a forked child cannot use, say. An
    /// old answer is kept for those who have it.
    #[inline]
    pub fn get_if(&self, holds: impl Fn(&T) -> bool, find_out: impl FnOnce() -> T) -> &'static T {
        self.peek().filter(|known| holds(known)).unwrap_or_else(|| self.put(holds, find_out))
    }

    #[cold]
    #[inline(never)]
    fn put(&self, holds: impl Fn(&T) -> bool, find_out: impl FnOnce() -> T) -> &'static T {
        let mut mine = Box::new(find_out());
        loop {
            let before = self.peek();
            if let Some(first) = before.filter(|known| holds(known)) {
                return first;
            }
            let new = Box::into_raw(mine);
            let old = before.map_or(null_mut(), |known| std::ptr::from_ref(known).cast_mut());
            // Release: the answer, for the Acquire in `peek`.
            if self.0.compare_exchange(old, new, Release, Relaxed).is_ok() {
                // SAFETY: the box that was put there just now, which nobody frees or changes.
                return unsafe { &*new };
            }
            // SAFETY: our own box, which nobody else has seen.
            mine = unsafe { Box::from_raw(new) };
        }
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

    #[test]
    fn an_answer_that_does_not_hold_any_more_is_replaced() {
        static FACT: Fact<u32> = Fact::new();
        assert_eq!(FACT.peek(), None);
        let first = FACT.get_if(|_| unreachable!(), || 1);
        assert_eq!(*FACT.get_if(|known| *known == 1, || unreachable!()), 1);
        assert_eq!(*FACT.get_if(|known| *known == 2, || 2), 2);
        assert_eq!((*first, FACT.peek()), (1, Some(&2)));
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
