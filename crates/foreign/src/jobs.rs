//! A loop of independent jobs as tasks.

/// Calls `f(begin)` … `f(end - 1)`, in parallel, in halves.
pub(crate) fn each<F: Fn(usize) + Sync>(begin: usize, end: usize, f: &F) {
    match end - begin {
        0 => (),
        1 => f(begin),
        n => {
            let middle = begin + n / 2;
            myriad_core::join(|| each(begin, middle, f), || each(middle, end, f));
        }
    }
}

/// For code that foreign code has called: nothing unwinds into that.
pub(crate) fn no_unwind<T>(what: &str, f: impl FnOnce() -> T) -> T {
    struct Bomb<'a>(&'a str);
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            myriad_core::sys::thread::abort_with(self.0);
        }
    }
    let bomb = Bomb(what);
    let value = f();
    std::mem::forget(bomb);
    value
}
