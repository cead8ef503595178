//! Timers, time limits, tokens.

use crate::behaviours::Value;
use crate::cell::{Cx, Seen, until, well_after};
use myriad::block_on;
use myriad::cancel::{self, Token};
use myriad::time::{call_later, sleep, sleep_async, timeout, timeout_async};
use std::future::pending;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

const SOON: Duration = Duration::from_micros(50);
const NEVER: Duration = Duration::from_secs(3600);

/// A function that is called later.
pub(crate) fn called_later(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let place = Arc::new(OnceLock::new());
    let timer = call_later(SOON, move || inner.act());
    _ = place.set(timer);
    let weak = Arc::downgrade(&place);
    cx.foe.on_again(move || {
        let Some(place) = weak.upgrade() else { return };
        let Some(timer) = place.get() else { return };
        _ = timer.reset(SOON);
        _ = timer.deadline();
        _ = timer.stop();
    });
    until("the function is not called", || cx.foe.acted() > 0);
    wait();
    Seen::Well
}

/// What such a function has captured goes when its timer is stopped and dropped.
pub(crate) fn called_later_captures(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let timer = call_later(NEVER, move || _ = &value);
    let seen = Seen::of(|| {
        assert!(timer.stop());
        drop(timer);
    });
    wait();
    seen
}

/// What the code holds that is out of time.
pub(crate) fn out_of_time(cx: &Cx) -> Seen {
    cx.foe.on_again(|| assert!(timeout(SOON, || sleep(NEVER)).is_err()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::of(|| {
        assert!(
            timeout(SOON, || {
                let _value = value;
                sleep(NEVER);
            })
            .is_err()
        );
    });
    wait();
    seen
}

/// The code itself that has a limit.
pub(crate) fn limited(cx: &Cx) -> Seen {
    cx.foe.on_again(|| assert!(timeout(SOON, || sleep(NEVER)).is_err()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| assert!(timeout(NEVER, || cx.act()).is_ok()));
    wait();
    seen
}

/// A limit in a destructor of a result that nobody wants: A7 and B7 of the findings.
pub(crate) fn limit_in_a_drop(cx: &Cx) -> Seen {
    struct Limits(Cx, Option<Value>);
    impl Drop for Limits {
        fn drop(&mut self) {
            let value = self.1.take();
            if timeout(SOON, || sleep(NEVER)).is_ok() && !cancel::is_cancelled() {
                self.0.foe.fault("the time limit has done nothing in a destructor".into());
            }
            drop(value);
        }
    }
    let wait = cx.last_sender();
    for _ in 0..4 {
        let limits = Limits(cx.clone(), Some(cx.value()));
        drop(myriad::spawn(move || limits));
    }
    well_after(wait)
}

/// A future that is out of time.
pub(crate) fn future_out_of_time(cx: &Cx) -> Seen {
    cx.foe.on_again(|| assert!(timeout(SOON, || sleep(NEVER)).is_err()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::of(|| {
        block_on(async {
            let limited = timeout_async(SOON, async move {
                let _value = value;
                pending::<()>().await;
            });
            assert!(limited.await.is_err());
        })
    });
    wait();
    seen
}

/// The same in a task.
pub(crate) fn task_out_of_time(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = myriad::spawn_async(timeout_async(SOON, async move {
        let _value = value;
        sleep_async(NEVER).await;
    }));
    let seen = Seen::joined(h.join());
    wait();
    seen
}

/// A function that is called when a token is cancelled.
pub(crate) fn on_cancel(cx: &Cx) -> Seen {
    let token = Token::new();
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let other = token.clone();
    cx.foe.on_again(move || {
        other.cancel();
        _ = other.on_cancel(|| ());
    });
    _ = token.on_cancel(move || inner.act());
    token.cancel();
    until("the function is not called", || cx.foe.acted() > 0);
    wait();
    Seen::Well
}

/// What such a function has captured goes when it is stopped.
pub(crate) fn on_cancel_stopped(cx: &Cx) -> Seen {
    let token = Token::new();
    let (value, wait) = (cx.value(), cx.last_sender());
    let other = token.clone();
    cx.foe.on_again(move || _ = (other.child(), other.is_cancelled(), other.on_cancel(|| ()).stop()));
    let says = token.on_cancel(move || _ = &value);
    let seen = Seen::of(|| assert!(says.stop()));
    wait();
    seen
}

/// What such a function has captured goes with its token.
pub(crate) fn on_cancel_dropped(cx: &Cx) -> Seen {
    let token = Token::new();
    let (value, wait) = (cx.value(), cx.last_sender());
    let says = token.on_cancel(move || _ = &value);
    let seen = Seen::of(|| {
        drop(says);
        drop(token);
    });
    wait();
    seen
}

/// The cause of a cancellation goes with its token.
pub(crate) fn cause(cx: &Cx) -> Seen {
    let token = Token::new();
    let wait = cx.last_sender();
    token.cancel_with(cx.value());
    let seen = Seen::of(|| drop(token));
    wait();
    seen
}

/// A cause that comes too late.
pub(crate) fn late_cause(cx: &Cx) -> Seen {
    let token = Token::new();
    let wait = cx.last_sender();
    let other = token.clone();
    cx.foe.on_again(move || {
        _ = (other.cause().is_none(), other.child());
        other.cancel();
    });
    token.cancel();
    let seen = Seen::of(|| token.cancel_with(cx.value()));
    wait();
    seen
}

/// Code in a region of a token that is cancelled inside.
pub(crate) fn token_region(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let token = Token::new();
    let other = token.clone();
    cx.foe.on_again(move || _ = other.run(|| ()));
    let value = Mutex::new(Some(cx.value()));
    let seen = Seen::of(|| {
        let result = token.run(|| {
            let _value = value.lock().unwrap().take();
            token.cancel();
            sleep(NEVER);
        });
        assert!(result.is_err());
    });
    wait();
    seen
}

/// A future in a region of a token that is cancelled: it is dropped.
pub(crate) fn token_future(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let token = Token::new();
    let other = token.clone();
    cx.foe.on_again(move || _ = other.run(|| ()));
    let value = cx.value();
    let seen = Seen::of(|| {
        let future = token.run_async(async move {
            let _value = value;
            pending::<()>().await
        });
        token.cancel();
        assert!(block_on(future).is_err());
    });
    wait();
    seen
}

/// Code that cancellations are kept off from.
pub(crate) fn shielded(cx: &Cx) -> Seen {
    cx.foe.on_again(|| cancel::shield(|| ()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        cancel::shield(|| {
            cx.act();
            sleep(SOON);
        })
    });
    wait();
    seen
}
