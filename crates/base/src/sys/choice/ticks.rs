//! The cheap clock: ticks of the processor's own counter, for measuring short waits.
//!
//! A third of the price of the system's clock (8 to 25 ns on the VM where this was measured). Good
//! for "have I polled for 10 µs?" and for statistics, not for telling the time: on old machines the
//! counter changes its rate with the clock frequency, or differs between sockets.
//!
//! x86-64: `rdtsc`, rate from CPUID leaf 0x15 (the crystal and the ratio) where the processor tells
//! both, else measured against the system's clock for 200 µs, once. Arm: `cntvct_el0` with the rate
//! in `cntfrq_el0`. Elsewhere, under Miri and in models: nanoseconds of the system's clock.

// Not through `sys`: a number that is found out once.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
mod imp {
    use std::arch::x86_64::_rdtsc;
    use std::time::{Duration, Instant};

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has rdtsc.
        unsafe { _rdtsc() }
    }

    pub(super) fn rate() -> u64 {
        told().unwrap_or_else(measured).max(1)
    }

    /// A leaf of what the processor says about itself.
    #[allow(unused_unsafe, reason = "a safe function in newer releases, unsafe in the oldest that we support")]
    fn __cpuid(leaf: u32) -> std::arch::x86_64::CpuidResult {
        // SAFETY: every x86-64 processor has cpuid.
        unsafe { std::arch::x86_64::__cpuid(leaf) }
    }

    /// Ticks per microsecond, as the processor tells it.
    fn told() -> Option<u64> {
        if __cpuid(0).eax < 0x15 {
            return None;
        }
        // eax: denominator, ebx: numerator, ecx: the crystal in Hz; 0 where the processor does not
        // say.
        let leaf = __cpuid(0x15);
        if leaf.eax == 0 || leaf.ebx == 0 || leaf.ecx == 0 {
            return None;
        }
        Some(u64::from(leaf.ecx) * u64::from(leaf.ebx) / u64::from(leaf.eax) / 1_000_000).filter(|rate| *rate > 0)
    }

    /// The same by comparison. If the thread loses its core in between, both clocks go on: no harm.
    fn measured() -> u64 {
        let start = Instant::now();
        let from = ticks();
        loop {
            let passed = start.elapsed();
            let to = ticks();
            if passed >= Duration::from_micros(200) {
                let nanos = passed.as_nanos().max(1);
                return ((u128::from(to.wrapping_sub(from)) * 1000 + nanos / 2) / nanos) as u64;
            }
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri), not(loom)))]
mod imp {
    use std::arch::asm;

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        let now: u64;
        // SAFETY: reads a counter that user code may read on every 64-bit Arm system that Rust runs
        // on.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) now, options(nomem, nostack, preserves_flags)) };
        now
    }

    pub(super) fn rate() -> u64 {
        let hertz: u64;
        // SAFETY: reads a register that user code may read, as above.
        unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack, preserves_flags)) };
        (hertz / 1_000_000).max(1)
    }
}

#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri, loom))]
mod imp {
    pub(super) fn ticks() -> u64 {
        crate::sys::clock::Instant::real_now().as_nanos()
    }
    pub(super) fn rate() -> u64 {
        1000
    }
}

/// The counter now. Differences count; they are in [`ticks_per_us`].
#[inline(always)]
pub fn ticks() -> u64 {
    imp::ticks()
}

/// How many ticks make a microsecond, at least 1. Found out at the first call, in 0.2 ms at most
/// (more if the system is busy); free afterwards.
#[inline]
pub fn ticks_per_us() -> u64 {
    // (A number of its own, not a `Fact`: one load.)
    static RATE: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the number is all there is.
    match RATE.load(Relaxed) {
        0 => find_rate(&RATE),
        rate => rate,
    }
}

/// Two who find out at the same time may differ by a tick: the first counts for all. Nobody waits,
/// for the other thread may be one of the process from which this one was forked.
#[cold]
fn find_rate(rate: &AtomicU64) -> u64 {
    let found = imp::rate();
    rate.compare_exchange(0, found, Relaxed, Relaxed).map_or_else(|first| first, |_| found)
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::time::{Duration, Instant};

    /// The only test here that needs time to pass: a rate has no other meaning.
    #[test]
    fn the_rate_is_about_right() {
        let rate = ticks_per_us();
        let best = (0..20)
            .map(|_| {
                let (start, from) = (Instant::now(), ticks());
                while start.elapsed() < Duration::from_millis(2) {}
                let us = start.elapsed().as_nanos() as f64 / 1000.0;
                ((ticks() - from) as f64 / rate as f64 / us - 1.0).abs()
            })
            .fold(f64::MAX, f64::min);
        assert!(best < 0.03, "off by {best}, at {rate} ticks/us");
    }
}
