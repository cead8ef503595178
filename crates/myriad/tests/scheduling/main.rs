//! Which task runs where and when: fairness, policies, priorities, pools, workers that are stuck.

#[path = "../cancel_common/mod.rs"]
mod cancel_common;
#[path = "../common/mod.rs"]
mod common;

mod blocking;
mod compute;
mod dedicated;
mod dispatch;
mod fairness;
mod inlining_rule;
mod keep_thread;
mod own_scheduler;
mod own_scheduler_faults;
mod policies;
mod policies_beside;
mod pools;
mod priorities;
mod shared_pool;
mod starvation;
mod stuck_ends;
mod stuck_reports;
mod stuck_workers;
