//! The public interface of `tokio::sync` 1.54 on Myriad's locks and channels, so that tokio's tests
//! of them can be run, unmodified: `scripts/suites.sh tokio`. (Those that use what Myriad has not
//! stand in `suites/not-passed.txt`.)

pub mod sync;

pub use myriad::spawn_async as spawn;

/// Time.
pub mod time {
    pub use std::time::Duration;

    pub use myriad::time::{sleep_async as sleep, timeout_async as timeout};

    /// See [`interval`].
    #[derive(Debug)]
    pub struct Interval(myriad::channel::Ticks, bool);

    /// One tick now, and then one in each period.
    pub fn interval(period: Duration) -> Interval {
        Interval(myriad::channel::tick(period), true)
    }

    impl Interval {
        /// Waits for the next tick.
        pub async fn tick(&mut self) {
            if !std::mem::take(&mut self.1) {
                _ = self.0.recv_async().await;
            }
        }
    }
}

/// Tasks.
pub mod task {
    /// Lets others go first.
    pub async fn yield_now() {
        let mut again = true;
        std::future::poll_fn(|cx| {
            if !std::mem::take(&mut again) {
                return std::task::Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }
}

/// Pins a value, or some, to the stack.
#[macro_export]
macro_rules! pin {
    ($($x:ident),+ $(,)?) => { $(let mut $x = ::std::pin::pin!($x);)+ };
    ($(let $x:ident = $init:expr;)+) => { $(let $x = $init; let mut $x = ::std::pin::pin!($x);)+ };
}
