//! Threads. (Being written.)

/// Says what has gone wrong where going on would corrupt memory, and aborts.
#[cold]
pub fn abort_with(message: &str) -> ! {
    eprintln!("myriad: fatal: {message}");
    std::process::abort()
}

/// Lets another thread run.
pub fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}
