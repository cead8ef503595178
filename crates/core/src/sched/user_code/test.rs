//! What the engine stores of the user's has no drop glue; and what the door does with panics,
//! cancellations and identities.

use super::{StoredWaker, UserValue};
use crate::api::blocking::{AsyncCall, Ended};
use crate::api::gang::First;
use crate::api::scope::Kept;
use crate::record::header::Header;
use crate::sched::timers::SleepState;
use crate::sched::wait::{PollWait, Waiter};
use std::mem::needs_drop;

/// Dropping one of these runs no user code: a bare `T` or `Waker` in one of them does not compile.
const _: () = {
    assert!(!needs_drop::<UserValue<String>>());
    assert!(!needs_drop::<StoredWaker>());
    assert!(!needs_drop::<Header>());
    assert!(!needs_drop::<Waiter>());
    assert!(!needs_drop::<PollWait>());
    assert!(!needs_drop::<SleepState>());
    assert!(!needs_drop::<Kept>());
    assert!(!needs_drop::<First>());
    assert!(!needs_drop::<Ended<String>>());
    assert!(!needs_drop::<AsyncCall<String>>());
};

#[test]
fn a_panic_of_user_code_comes_back_as_an_error() {
    let payload = super::call(|| -> () { std::panic::panic_any(42) }).unwrap_err();
    assert_eq!(*payload.downcast::<i32>().unwrap(), 42);
}

#[test]
fn a_cancellation_does_not_arrive_in_user_code() {
    let seen = crate::run(|| {
        let task = crate::spawn(|| {
            let mut seen = None;
            while !crate::sched::cancel::is_cancelled() {
                std::hint::spin_loop();
            }
            _ = super::call(|| {
                crate::yield_now();
                seen = Some(crate::sched::cancel::is_cancelled());
            });
            seen
        });
        task.cancel();
        task.join().map_or(Some(false), |seen| seen)
    });
    assert_eq!(seen, Some(false));
}
