//! Hints: what a program does that works, but most likely is not what was meant, and that shows
//! nowhere else. In debug builds each is a line on the standard error, once for each place.
//!
//! - The closure of a task returns a future, which nobody polls: `spawn(|| async { .. })`.
//! - A future blocks in a poll, by a call that has an asynchronous form. It is right, and costs a
//!   stack for each such future, in threads mode a thread.
//! - A task keeps its worker for seconds ([`OnStuck::Hint`](crate::OnStuck::Hint)).
//!
//! Whether they are said follows [`Unhandled`](crate::Unhandled): for `Report` alone. A line is
//! written where the task is about to be set aside, between the publishing of its wait and its
//! block: so no hook is called there, which would be user code, and the list of places is not
//! waited for. Where it is in use (or its lock was held when this process was forked), nothing is
//! said this time.
//!
//! **Rejected.** A bound on results that futures do not meet: no stable trait tells them (`Unpin`
//! does for futures of `async`, but generic callers would need it too). The place of the blocking
//! call, by `#[track_caller]`: one more argument for each call that may block, also where it does
//! not.
//!
//! Tests: `hints.rs` of `tasks`.

use crate::queue::reason::WaitReason;
use myriad_base::sys::mutex::Mutex;
use myriad_base::sys::say::say;
use std::fmt;
use std::panic::Location;

/// Are there hints at all?
pub(crate) const ON: bool = cfg!(all(debug_assertions, not(loom)));

/// What is said of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hint {
    Blocks(WaitReason),
    Unrun,
    Stuck,
}

/// A place, and what of it was said.
type Told = (&'static Location<'static>, Hint);

static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());

/// Is this the first time?
fn is_first(place: &'static Location<'static>, what: Hint) -> bool {
    let Some(mut told) = TOLD.try_lock() else { return false };
    // By the text of the place: copies of a program's code have locations of their own.
    if told.contains(&(place, what)) {
        return false;
    }
    told.push((place, what));
    true
}

/// A future that blocks in a poll, for this reason.
#[cold]
pub(crate) fn future_blocks(
    spawned_at: &'static Location<'static>,
    reason: WaitReason,
    is_wanted: impl FnOnce() -> bool,
) {
    let Some(instead) = instead_of(reason) else { return };
    if is_first(spawned_at, Hint::Blocks(reason)) && is_wanted() {
        say!(
            "myriad: hint: the future spawned at {spawned_at} {reason} in a call that blocks, which keeps a stack (in threads mode \
             a thread) meanwhile; {instead} keeps none"
        );
    }
}

/// A result that nobody has taken, which does nothing unless it is polled or called: see
/// [`is_unrun`].
#[cold]
pub(crate) fn result_unrun(spawned_at: &'static Location<'static>, is_wanted: impl FnOnce() -> bool) {
    if is_first(spawned_at, Hint::Unrun) && is_wanted() {
        say!(
            "myriad: hint: the task spawned at {spawned_at} has returned a future (or a closure), which was dropped and never ran; \
             a future is spawned by `spawn_async(async {{ .. }})`"
        );
    }
}

/// A task, spawned there, keeps its worker for long. `text` says so.
pub(crate) fn task_keeps_worker(
    spawned_at: &'static Location<'static>,
    blocked: Option<bool>,
    text: impl fmt::Display,
) {
    if is_first(spawned_at, Hint::Stuck) {
        let instead = if blocked == Some(true) {
            "`blocking` is for calls that wait in the system, and the locks of `sync` suspend the task alone"
        } else {
            "`compute` is for long computations, and `yield_now` lets others go first"
        };
        say!(
            "myriad: hint: {text}. What waits behind it goes on elsewhere if it can, on spare workers if need be; {instead}. (Said once, \
             in debug builds; `Builder::on_stuck` decides.)"
        );
    }
}

/// Is this a type of `async` (or of a closure, which has the same kind of name), or a future in a
/// box? Names are for people, so this may be wrong one day: for a hint no more.
pub(crate) fn is_unrun<T>() -> bool {
    let name = std::any::type_name::<T>();
    name.ends_with("{{closure}}")
        || name.starts_with("core::pin::Pin<alloc::boxed::Box<dyn core::future::future::Future")
}

/// The same wait in a future, if there is one.
fn instead_of(reason: WaitReason) -> Option<impl fmt::Display> {
    Some(match reason {
        WaitReason::Future => "`.await`",
        WaitReason::Sleep => "`sleep_async`",
        WaitReason::Blocking => "`blocking_async` or `compute_async`",
        WaitReason::Recv => "`recv_async`",
        WaitReason::Send => "`send_async`",
        WaitReason::Select => "`select_async!`",
        WaitReason::News => "`recv_async`",
        WaitReason::Lock => "`lock_async`",
        WaitReason::ReadLock => "`read_async`",
        WaitReason::WriteLock => "`write_async`",
        WaitReason::Permits => "`acquire_async`",
        WaitReason::Condition | WaitReason::Event | WaitReason::Barrier | WaitReason::Countdown => "`wait_async`",
        // A turn; what has no such form; a join, which may be a half of a parallel loop.
        _ => return None,
    })
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::is_unrun;

    fn of<T>(_: &T) -> bool {
        is_unrun::<T>()
    }

    #[test]
    fn what_does_nothing_by_itself() {
        async fn named() {}
        let boxed: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(named());
        assert!(of(&async {}) && of(&named()) && of(&boxed) && of(&|| 1));
        assert!(!of(&1) && !of(&Some(String::new())) && !of(&Box::new(1)) && !of(&what_does_nothing_by_itself));
    }
}
