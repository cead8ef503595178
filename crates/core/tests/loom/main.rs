//! The harness of the loom models: scripts, how they are explored, and what they share.
//!
//! A *script* is a closed program of two or three threads over the engine's own code, with the
//! invariants of a protocol as assertions. It is explored under the meaning of the asymmetric
//! fences that is proof, `PerOwner` (`sys::fence`); in the thorough run under `SeqCst` as well. A
//! *mutant* is one ordering weakened, one fence left out or one rule dropped, planted by name
//! (`sys::mutant`) in the code under test or in the script itself. Each script names the mutants
//! that it has to catch.
//!
//! ```text
//! deque, sleep, ...   every script of one protocol, without mutants                   scripts/loom.sh
//! mutants::*          every (script, mutant, meaning), one process each (`plant`)     scripts/mutants.sh
//! ```
//!
//! # Rules for scripts
//!
//! - Two or three threads, few steps. A start that needs many preemptions is directed: wait for it,
//!   or begin there.
//! - What must be ordered stands in a watched cell (`sys::cell`); plain fields are not watched.
//! - `std`'s `Arc`, not loom's; no loom mutex, channel or `unpark` where an ordering is under test:
//!   they order more than the product does. Join the threads at the end only.
//! - A spin loop uses `peek` and yields. Two that spin while a third could go on may not end.
//! - What is forgotten is seen: every script says at its end that all tasks ran, and a sleeper that
//!   nobody wakes is a deadlock or a panic (`sys::futex`).
//!
//! # Faults, and the scripts that catch them
//!
//! Each was once in an early form of the engine or of one of its ancestors, and each is a mutant
//! now.
//!
//! | fault | mutant | script |
//! |---|---|---|
//! | a joiner takes a newcomer at its task's old position | `claim-newest-unchecked` | `deque.position_reused` |
//! | a forced steal takes its guess, and there is an older one | `forced-no-rescan` | `deque.forced_tombstone` |
//! | a claim stores `top` relaxed: a forced thief misses records | `claim-top-release` | `deque.forced_after_claim` |
//! | no fence behind a push, or a wake | `push-light`, `inbox-light` | `sleep.lone_task`, `sleep.remote_wake` |
//! | a request is cleared by a store, which wipes out a later one | `clear-by-store` | `sleep.request_cleared` |
//! | the answer gives up, or forgets a sleeper | `answer-gives-up`, `request-not-kept` | `sleep.two_sleepers` |
//! | a waker gives up when another was faster with the sleeper it chose | `wake-gives-up` | `sleep.two_wakers` |
//! | stolen tasks go into the own deque without a look at who asks | `batch-not-asked` | `sleep.batch_in_flight` |
//! | the oldest of the woken is taken by a load and a store | `woken-load-store` | `deque.woken_forced` |
//! | tasks move down over tombstones beside a thief | `compact-without-lock` | `deque.compacted` |
//! | a closure that has moved down is not found | `compact-keeps-places` | `deque.compacted_and_claimed` |
//! | a ring is read without the lock while it is replaced | `grow-without-lock` | `deque.wrap_around` |
//! | `pop` says "empty" beside a task that was given back | `reclaim-no-recheck` | `deque.forced_pop_not_empty` |
//! | a biased lock is announced relaxed: its revoker misses the last one | `enter-release` | `biased.two_locks` |
//! | a biased lock inside a biased lock | `nested` | `biased.two_locks` |
//! | the monitor sleeps too early | `retract-not-told`, `count-alone` | `monitor.nearly_asleep`, `monitor.woken` |
//! | a reference that is made by a store hides those that have ended | `refs-own` | `ref_count.beside_own` |
//! | a record is given back while a destructor runs in it | `freed-while-dropped` | `completion.dropped_in_record` |
//! | a shutdown ends in the middle of a destructor | `dropping-is-ended` | `completion.dropped_at_shutdown` |
//! | a look takes its own bit for that of an earlier one | `look-own-bit` | `look.held` |
//! | a look reads in the wait of another runtime's task, whose stack may go | `look-owner-once` | `look.owner` |
//! | a future's wake is lost | `wake-only-loads`, `poll-stores` | `async.wake_or_poll` |

//!
//! No script has the fault that a frame is left, by unwinding, on which others depend: that is a
//! matter of one thread, whose frames they are, and no order of two threads' steps shows it. What
//! must not be left has a guard that ends the process; a task's frame that unwinds takes itself out
//! of its list. `scripts/faults.sh` plants `frame-left` and `panics-pass` for that.

#![allow(unreachable_pub)]

mod biased;
mod cancel;
mod completion;
mod deque;
mod future;
mod handoff;
mod harness;
mod held_positions;
mod look;
mod monitor;
mod multi;
mod mutants;
mod plant;
mod policy;
mod pool;
mod priority_queues;
mod ref_count;
mod sleep;
mod takeover;
mod tasks;

use harness::*;

/// All scripts of all protocols.
fn scripts() -> impl Iterator<Item = &'static Script> {
    [
        deque::SCRIPTS,
        sleep::SCRIPTS,
        biased::SCRIPTS,
        completion::SCRIPTS,
        handoff::SCRIPTS,
        takeover::SCRIPTS,
        policy::SCRIPTS,
        future::SCRIPTS,
        multi::SCRIPTS,
        cancel::SCRIPTS,
        held_positions::SCRIPTS,
        look::SCRIPTS,
        priority_queues::SCRIPTS,
        ref_count::SCRIPTS,
        monitor::SCRIPTS,
    ]
    .into_iter()
    .flatten()
}

#[test]
fn biased() {
    check(biased::SCRIPTS);
}

#[test]
fn cancel() {
    check(cancel::SCRIPTS);
}

#[test]
fn ref_count() {
    check(ref_count::SCRIPTS);
}

#[test]
fn completion() {
    check(completion::SCRIPTS);
}

#[test]
fn split_deque() {
    check(deque::SCRIPTS);
}

#[test]
fn future() {
    check(future::SCRIPTS);
}

#[test]
fn group() {
    check(multi::SCRIPTS);
}

#[test]
fn handoff() {
    check(handoff::SCRIPTS);
}

#[test]
fn held_positions() {
    check(held_positions::SCRIPTS);
}

#[test]
fn look() {
    check(look::SCRIPTS);
}

#[test]
fn priority_queues() {
    check(priority_queues::SCRIPTS);
}

#[test]
fn monitor() {
    check(monitor::SCRIPTS);
}

#[test]
fn policies() {
    check(policy::SCRIPTS);
}

#[test]
fn takeover() {
    check(takeover::SCRIPTS);
}

#[test]
fn sleep_and_wake() {
    check(sleep::SCRIPTS);
}
