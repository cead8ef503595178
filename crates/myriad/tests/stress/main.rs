//! Random programs that run for `MYRIAD_STRESS_SECONDS`.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;

mod stress_cancel;
mod stress_channel;
mod stress_engine;
mod stress_lost;
