//! What a wait without a time limit lets nobody do: its wakers make no claim, so whoever claimed it
//! would end it a second time.

use super::Wait;
use crate::queue::reason::WaitReason;

#[test]
fn a_wait_without_a_limit_is_not_retracted() {
    assert!(!Wait::new(WaitReason::Other).retract());
    assert!(Wait::timed(WaitReason::Other).retract());
}

#[test]
fn a_wait_without_a_limit_does_not_become_cancellable_like_a_timed_one() {
    assert!(Wait::new(WaitReason::Other).cancellable().node.cancel_fn.get().is_none());
    assert!(Wait::timed(WaitReason::Other).cancellable().node.cancel_fn.get().is_some());
}
