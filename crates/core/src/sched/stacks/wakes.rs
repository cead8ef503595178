//! On which processor a hand-over wakes the next thread, in threads mode.
//!
//! The system wakes a thread where it ran last, or on an idle processor. For a hand-over an idle
//! one is the dear way: the giver sleeps at once, so the giver's own processor is about to be idle,
//! and another one has to be woken first (30 to 60 µs instead of 1, on a virtual machine). So a
//! giver may keep the next thread *here*: allow that thread the giver's processor only. Once that
//! thread runs it gives itself back what it had, so no thread is bound while user code runs. The
//! three calls take 3 to 5 µs. A new thread begins here too: it is made where a task is about to
//! block.
//!
//! They are in vain where the system leaves the threads together by itself, as it does where no
//! processor is idle, and often for a while after a hand-over here. So the system chooses, as long
//! as a hand-over takes no more than twice the time of one here. After one that takes more the next
//! one is here, or the next two, four, .. if that comes again.
//!
//! A worker with a processor of its own has no choice, and measures nothing.
//!
//! **Rejected.** To bind threads for as long as they work for the worker: a hand-over is as cheap
//! as one of the system's best, but threads and processes that tasks start inherit the bond. To
//! measure both ways by turns and use the one that is cheaper: the system's way is sometimes the
//! best and sometimes the worst, and stays so for thousands of hand-overs.

use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::{self, Affinity};
use std::cell::Cell;

/// So many hand-overs in a row are here at most.
const LONGEST: u32 = 1 << 12;
/// A hand-over that takes longer, in microseconds, has woken another processor. For as long as it
/// is not known what one takes here.
const LONG_US: u64 = 10;

/// See the module's header. The worker's; for who has its role.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    /// The worker has no processor of its own.
    pub(super) roams: Cell<bool>,
    /// So many of the next hand-overs are here.
    left: Cell<u32>,
    /// So many were here in the last row of them; halved by each cheap one of the system's.
    row: Cell<u32>,
    /// What the last two here took, in ticks; 0: not known. The shorter one counts, for either may
    /// be that of a thread that was put aside for a time slice.
    here: Cell<[u64; 2]>,
    /// When the hand-over under way began, in ticks; 0: it is not measured.
    began: Cell<u64>,
}

impl Wakes {
    /// The role goes to a thread that sleeps, of this number in the system. `Some`: the thread is
    /// kept here, and could run on these before.
    #[inline]
    pub(super) fn begin(&self, thread: u32) -> Option<Affinity> {
        self.began.set(ticks());
        // (0: the thread has not said its number yet, as far as can be seen here.)
        if self.left.get() == 0 || thread == 0 {
            return None;
        }
        self.left.set(self.left.get() - 1);
        let kept = keep_here(thread);
        if kept.is_none() {
            // (It has no choice, so the time of this hand-over says nothing.)
            self.began.set(0);
        }
        kept
    }

    /// The calling thread has got the role, and was kept here if it could run on others before.
    #[inline]
    pub(super) fn end(&self, kept: Option<Affinity>) {
        let is_here = kept.is_some();
        let_go(kept);
        let began = self.began.replace(0);
        if began != 0 {
            self.has_taken(ticks().saturating_sub(began), is_here, LONG_US * ticks_per_us());
        }
    }

    /// A hand-over has taken so many ticks. `long`: as long as nothing is known, that is long.
    fn has_taken(&self, time: u64, is_here: bool, long: u64) {
        let [last, before] = self.here.get();
        if is_here {
            self.here.set([time.max(1), last]);
            return;
        }
        let here = if before == 0 { last } else { last.min(before) };
        if time <= if here == 0 { long } else { 2 * here } {
            self.row.set(self.row.get() / 2);
        } else {
            self.row.set((2 * self.row.get()).clamp(1, LONGEST));
            self.left.set(self.row.get());
        }
        // What is known grows old: once others wanted this processor, and now they may not.
        self.here.set([last, before].map(|time| time - time / 256));
    }
}

/// Lets a thread, of this number in the system (0: the calling one), run on the calling thread's
/// processor only. What it could run on before; `None`: it may not run here, or nowhere else
/// anyway.
pub(super) fn keep_here(thread: u32) -> Option<Affinity> {
    let here = Affinity::only(thread::processor()?)?;
    let before = Affinity::of(thread)?;
    (before.has_more_than(&here) && here.set(thread)).then_some(before)
}

/// Lets the calling thread run where it could before it was kept.
pub(super) fn let_go(kept: Option<Affinity>) {
    if let Some(before) = kept {
        // (That was allowed then, so this does not fail.)
        _ = before.set(0);
    }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod test {
    use super::*;
    use crate::sched::worker;
    use crate::{Builder, spawn, yield_now};

    /// The time of a hand-over that the system makes is said; says how many are here after it.
    fn after(wakes: &Wakes, time: u64) -> u32 {
        wakes.has_taken(1_000 * time, false, 10_000);
        wakes.left.take()
    }

    /// The time of one here is said.
    fn here(wakes: &Wakes, time: u64) {
        wakes.has_taken(1_000 * time, true, 10_000);
    }

    #[test]
    fn long_ones_are_followed_by_rows_here() {
        let wakes = Wakes::default();
        assert_eq!([9, 10, 11].map(|time| after(&wakes, time)), [0, 0, 1]);
        here(&wakes, 5);
        let rows = [40; 14].map(|time| after(&wakes, time));
        assert_eq!(rows, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096]);
        // The system has left them together: another long one is for once.
        assert_eq!([5; 13].map(|time| after(&wakes, time)), [0; 13]);
        assert_eq!(after(&wakes, 40), 1);
    }

    #[test]
    fn one_time_slice_of_another_says_nothing() {
        let wakes = Wakes::default();
        [3_000, 5].into_iter().for_each(|time| here(&wakes, time));
        assert_eq!(after(&wakes, 40), 1);
        here(&wakes, 3_000);
        assert_eq!(after(&wakes, 40), 2);
    }

    #[test]
    fn where_the_processor_is_wanted_the_system_chooses_for_a_while() {
        let wakes = Wakes::default();
        [3_000; 2].into_iter().for_each(|time| here(&wakes, time));
        let long = (0..).take_while(|_| after(&wakes, 40) == 0).count();
        assert!((100..10_000).contains(&long), "{long}");
    }

    /// Tasks hand their workers over to each other, here, as often as they like. `look` is called
    /// on each thread, by turns. True: threads were kept here.
    fn by_turns(workers: usize, look: impl Fn() + Copy + Send + 'static) -> bool {
        let rt = Builder::new().workers(workers).pin_workers(false).build().unwrap();
        rt.run(move || {
            let here = move || {
                for _ in 0..100 {
                    worker::current().unwrap().stacks.wakes.left.set(u32::MAX);
                    yield_now();
                    look();
                }
            };
            let others = [spawn(here), spawn(here)];
            here();
            others.into_iter().for_each(|other| other.join().unwrap());
            worker::current().unwrap().stacks.wakes.here.get() != [0, 0]
        })
    }

    #[test]
    fn no_thread_is_bound_while_user_code_runs() {
        let before = thread::available().cpus;
        let cpus: &'static [usize] = before.leak();
        let look = move || {
            assert_eq!(thread::available().cpus, cpus);
            assert_eq!(std::thread::spawn(|| thread::available().cpus).join().unwrap(), cpus);
        };
        assert_eq!(by_turns(1, look), cpus.len() > 1, "with one processor there is no choice");
        by_turns(2, look);
    }

    #[test]
    fn a_bond_of_the_users_stays() {
        by_turns(1, || {
            thread_local!(static MINE: Cell<Option<Affinity>> = const { Cell::new(None) });
            let now = Affinity::of(0).unwrap();
            if let Some(mine) = MINE.get() {
                assert_eq!(now, mine);
            } else if let Some(&cpu) = thread::available().cpus.last() {
                let mine = Affinity::only(cpu).unwrap();
                assert!(mine.set(0));
                MINE.set(Some(mine));
            }
        });
    }
}
