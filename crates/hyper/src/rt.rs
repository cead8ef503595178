//! What hyper asks of a runtime: tasks and timers.

use hyper::rt;
use myriad_base::sys::fact::Fact;
use myriad_core::time::{self, Sleep};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// hyper's background work becomes tasks of the calling task's pool, or of the global runtime.
///
/// Never blocks. A panic is told as that of a task whose handle was dropped.
///
/// # Examples
/// ```
/// let builder = hyper_util::server::conn::auto::Builder::new(myriad::hyper::Executor);
/// # drop(builder);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Executor;

impl<F> rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(myriad_core::spawn_async(future));
    }
}

/// hyper's time limits by Myriad's timers: in a runtime with a manual clock, by that clock.
///
/// # Examples
/// ```
/// let mut builder = hyper::server::conn::http1::Builder::new();
/// builder.timer(myriad::hyper::Timer).header_read_timeout(std::time::Duration::from_secs(10));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Timer;

/// The time of std at which Myriad's clocks are zero. (Any would do: hyper compares times that come
/// from here.)
fn zero() -> Instant {
    static ZERO: Fact<Instant> = Fact::new();
    *ZERO.get(Instant::now)
}

impl rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Sleeping(time::sleep_async(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        let nanos = deadline.saturating_duration_since(zero()).as_nanos();
        let deadline = time::Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        Box::pin(Sleeping(time::sleep_until_async(deadline)))
    }

    fn now(&self) -> Instant {
        zero() + Duration::from_nanos(time::now().as_nanos())
    }
}

struct Sleeping(Sleep);

impl Future for Sleeping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned with the whole.
        unsafe { self.map_unchecked_mut(|sleeping| &mut sleeping.0) }.poll(cx)
    }
}

impl rt::Sleep for Sleeping {}
