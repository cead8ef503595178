//! How a worker is made.

use super::{BUDGET, Peer, SELDOM, Worker, blocked, dispatch};
use crate::record::create::KindWord;
use crate::record::current::Running;
use crate::record::header::Kind;
use crate::record::memory::Memory;
use crate::record::position;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::counters::Counters;
use crate::sched::driver::phases::Phases;
use crate::sched::idle::WorkerShared;
use crate::sched::pool::Pool;
use crate::sched::priority::PriorityState;
use crate::sched::stacks::{EndingThreads, Stacks};
use crate::sched::timers::locked::Timers;
use myriad_base::sys::atomic::AtomicU32;
use std::cell::Cell;

impl Worker {
    /// Makes worker `index` of a pool, for ever. `home_number` is one of [`position::numbers`] that
    /// no other worker has, or [`position::THREADS`].
    pub(crate) fn make(pool: &'static Pool, index: usize, spare: bool, home_number: u32) -> &'static Peer {
        let peer = Peer {
            // SAFETY: the first field of a peer, which is leaked below.
            shared: unsafe { WorkerShared::new(&pool.workers, index, 256) },
            running: Running::nothing(),
            tick_countdown: AtomicU32::new(SELDOM),
            window_cut: std::sync::atomic::AtomicBool::new(true),
            tick_count: AtomicU32::new(0),
            frame_version: AtomicU32::new(0),
            thread: std::sync::atomic::AtomicU32::new(0),
            awaits: std::sync::atomic::AtomicUsize::new(position::RUNS),
            wakes_in_order: std::sync::atomic::AtomicBool::new(false),
            on_duty: std::sync::atomic::AtomicBool::new(false),
            alone: std::sync::atomic::AtomicIsize::new(0),
            stacks_made: std::sync::atomic::AtomicIsize::new(0),
            counters: Counters::default(),
            ending: EndingThreads::default(),
            timers: Timers::default(),
            scoped: ScopedTasks::default(),
            pool,
            number: pool.number,
            spare,
            home_number,
        };
        let worker = Worker {
            peer,
            next: blocked::Next::default(),
            tick_interval: Cell::new(SELDOM),
            phases: Phases::default(),
            run_next: dispatch::RunNext::default(),
            fairness_step: Cell::new(0),
            requested: Cell::new((0, 0)),
            skipped_last: Cell::new(false),
            window_began: Cell::new(0),
            ticks_passed_over: Cell::new(0),
            spawned_at_tick: Cell::new(0),
            priority_state: PriorityState::default(),
            force_at: Cell::new(0),
            budget: Cell::new(BUDGET),
            bias_owner: Cell::new(None),
            stacks: Stacks::default(),
            memory: Memory::new(),
            kind_word: KindWord::new(Kind(0), pool.number),
            stack_kind_word: KindWord::on_stack(pool.number),
            guest_stack_kind_word: KindWord::guest_on_stack(pool.number),
            here: position::here(home_number),
        };
        Box::leak(Box::new(worker))
    }
}
