//! Locks and what is built of them.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;
#[path = "../lock_common/mod.rs"]
mod lock_common;

mod lock_barrier;
mod lock_condition;
mod lock_condvar;
mod lock_event;
mod lock_guards;
mod lock_limits_async;
mod lock_mutex;
mod lock_once;
mod lock_reentrant;
mod lock_rwlock;
mod lock_semaphore;
mod lock_stress;
mod lock_time_limits;
