//! What foreign code has called.

/// Calls `f` for foreign code: nothing unwinds into that.
pub(crate) fn no_unwind<T>(what: &str, f: impl FnOnce() -> T) -> T {
    struct Bomb<'a>(&'a str);
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            myriad_base::sys::thread::abort_with(self.0);
        }
    }
    let bomb = Bomb(what);
    let value = f();
    std::mem::forget(bomb);
    value
}
