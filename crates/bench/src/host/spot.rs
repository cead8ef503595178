//! Where a task is: which thread runs it just now.

use std::hint::black_box;

/// A number that differs between the threads that are alive.
///
/// A task that was suspended may go on elsewhere, so this must be computed anew at each call: it is
/// kept out of line, and the `black_box` keeps the compiler from concluding that two calls in one
/// function return the same.
#[inline(never)]
pub(crate) fn thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    black_box(());
    HERE.with(|h| h as *const u8 as usize)
}

#[cfg(test)]
mod test {
    use super::thread;

    #[test]
    fn two_living_threads_have_two_numbers() {
        let here = thread();
        assert_eq!(here, thread());
        assert_ne!(here, std::thread::spawn(thread).join().expect("it cannot panic"));
    }
}
