//! A foreign thread looks at a channel again, some times, before it stands in line.
//!
//! Two threads on two processors that use a channel at full speed find it empty or full again and
//! again, for as long as the other one needs for some messages. To sleep until then costs both a
//! call of the kernel for each message: the one that was woken takes its message, finds no other,
//! because its waker is not back yet from the call that has woken it, and sleeps again. So the
//! thread leaves the lock, pauses, and looks again; each pause is twice as long as the one before.
//!
//! - *How long in all:* twice what a wake costs, which is measured: as long as a sleep would take.
//! - *The first pause* is so long that several messages gather in it, where several can: if only
//!   some have, the next wait begins with a longer pause, up to 1 µs. For each look fetches two
//!   cache lines from the other processor, which then fetches them back. What has gathered is
//!   [prefetched](super::ring::Ring::prefetch): else each line is waited for alone, under the lock.
//! - *Not at all* while the other side was last seen on this processor: it comes to run when this
//!   thread yields or sleeps. Nor, for more and more waits, after looks in vain: their partner does
//!   not run, or sends seldom.
//!
//! All this is no part of a protocol: notes of a channel, under its lock, that may be wrong. With
//! many threads at a channel the last one counts. Tasks do not look: their worker has other work.
//!
//! **Measured.** Two threads, two processors (virtual, an AMD EPYC; 0.2 µs from one to the other; a
//! wake takes 8 to 15 µs), 20,000 messages, 30 runs: `myriad bench lock --form threads`. See
//! DECISIONS.md, "How does a thread that is no worker wait?".
//!
//! **Rejected.** *A first pause of 60 ns:* messages are fetched one by one; 100 slots took 87 ns
//! instead of 44. *5 or 10 µs in all*, where a wake takes longer: then a thread that was woken
//! still sleeps again, now and then, and the two go on so for milliseconds. *To look while the
//! other is on the same processor:* 1,000 slots took 68 ns instead of 28.

use super::chan::Side;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::{processor, relax};
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::time::Duration;

/// The first pause at first: 1/8 µs, as a power of two of a microsecond's parts.
const FIRST_PARTS: u32 = 3;
/// All pauses together, in microseconds, at least and at most; the most if no wake was measured.
const TOTAL_US: (u64, u64) = (4, 20);
/// Who found so many messages, or so much room, has paused long enough.
const MANY: usize = 64;
/// After so many looks in vain in a row, two to this power waits go without.
const MOST_FAILURES: u8 = 7;
/// With less time than this it does not look: it might be late.
const SHORT: Duration = Duration::from_millis(1);

/// What is known of a channel's looks. Under its lock; each by its side.
pub(super) struct Looks {
    /// The first pause is 1/8 µs times two to this power.
    pauses: [u8; 2],
    /// Where the side was when it last waited: the number of its processor, cut off.
    processors: [u8; 2],
    failures: u8,
    /// Waits that go without.
    skip: u8,
}

impl Looks {
    pub(super) const fn new() -> Looks {
        Looks { pauses: [0; 2], processors: [0, 1], failures: 0, skip: 0 }
    }

    /// One of this side is about to wait: is it to look before?
    fn may_look(&mut self, of: Side) -> bool {
        if let Some(here) = processor() {
            self.processors[of as usize] = here as u8;
            if self.processors[0] == self.processors[1] {
                return false;
            }
        }
        let may = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        may
    }

    fn failed(&mut self) {
        self.skip = 1 << self.failures;
        self.failures = (self.failures + 1).min(MOST_FAILURES);
    }
}

/// The looks of one wait.
pub(super) struct Look {
    phase: Phase,
    /// In ticks.
    pause: u64,
    left: u64,
}

#[derive(PartialEq, Eq)]
enum Phase {
    Before,
    On,
    Over,
}

impl Look {
    /// Of one that may look, if it is a foreign thread.
    pub(super) fn new(caller: Caller, deadline: Option<Instant>) -> Look {
        let looks = !cfg!(loom) && !caller.is_worker() && deadline.is_none_or(|at| at - time::now() >= SHORT);
        Look { phase: if looks { Phase::Before } else { Phase::Over }, pause: 0, left: 0 }
    }

    pub(super) fn is_on(&self) -> bool {
        self.phase == Phase::On
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Under the lock, when what its thread wants is not possible: is it to look again?
    pub(super) fn goes_on(&mut self, looks: &mut Looks, of: Side) -> bool {
        match self.phase {
            Phase::Before if looks.may_look(of) => {
                let us = ticks_per_us();
                self.phase = Phase::On;
                self.pause = (us >> FIRST_PARTS) << looks.pauses[of as usize];
                self.left = Caller::wake_ticks()
                    .map_or(TOTAL_US.1 * us, |wake| (2 * wake).clamp(TOTAL_US.0 * us, TOTAL_US.1 * us));
                return true;
            }
            Phase::On if self.pause < self.left => {
                self.left -= self.pause;
                self.pause *= 2;
                return true;
            }
            Phase::On => looks.failed(),
            Phase::Before | Phase::Over => {}
        }
        (self.phase, self.pause) = (Phase::Over, 0);
        false
    }

    /// Under the lock, after a pause in which so many sends or receives have become possible.
    pub(super) fn found(&mut self, looks: &mut Looks, of: Side, possible: usize) {
        if possible == 0 {
            return;
        }
        looks.failures = looks.failures.saturating_sub(1);
        let pause = &mut looks.pauses[of as usize];
        // (One alone says nothing: perhaps there can be no other, as in a game of two.)
        *pause =
            if (2..MANY).contains(&possible) { (*pause + 1).min(FIRST_PARTS as u8) } else { pause.saturating_sub(1) };
    }

    /// Without the lock: lets time go by, if it is on.
    pub(super) fn pause(&self) {
        let began = ticks();
        while self.pause > 0 && ticks().wrapping_sub(began) < self.pause {
            relax();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    fn apart() -> Looks {
        // The other side was last seen elsewhere.
        let here = processor().map_or(0, |here| here as u8);
        Looks { processors: [here.wrapping_add(1); 2], ..Looks::new() }
    }

    /// How often it looks in a wait, until then in vain.
    fn looks_of(looks: &mut Looks, deadline: Option<Instant>) -> u32 {
        let mut look = Look::new(Caller::get(), deadline);
        let mut count = 0;
        while look.goes_on(looks, Side::Receive) {
            // (The thread may have been moved to where the other one was.)
            looks.processors[Side::Send as usize] = looks.processors[Side::Receive as usize].wrapping_add(1);
            count += 1;
        }
        assert!(!look.is_on() && look.pause == 0);
        count
    }

    #[test]
    fn looks_in_vain_are_made_more_and_more_seldom() {
        let mut looks = apart();
        for failures in 0..4 {
            assert!((2..20).contains(&looks_of(&mut looks, None)), "after {failures} failures");
            for _ in 0..1 << failures {
                assert_eq!(looks_of(&mut looks, None), 0);
            }
        }
    }

    #[test]
    fn who_is_short_of_time_does_not_look() {
        let mut looks = apart();
        assert_eq!(looks_of(&mut looks, Some(time::now() + SHORT / 2)), 0);
        assert!(looks_of(&mut looks, Some(time::now() + 60_000 * SHORT)) > 0);
    }

    #[test]
    fn the_pauses_grow_where_some_messages_gather() {
        let mut looks = Looks::new();
        let mut look = Look::new(Caller::get(), None);
        let mut after = |possible: usize| {
            look.found(&mut looks, Side::Send, possible);
            looks.pauses
        };
        // Nothing, or one: of that nothing can be learnt. Some: longer, up to 1 µs. Many: enough.
        assert_eq!([0, 1, 2, 63, 9, 9].map(&mut after).map(|[send, _]| send), [0, 0, 1, 2, 3, 3]);
        assert_eq!([MANY, 1, 0].map(&mut after), [[2, 0], [1, 0], [1, 0]]);
    }
}
