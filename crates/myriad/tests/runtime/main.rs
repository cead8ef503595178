//! Runtimes: how they are made and shut down, their clocks and timers, wrong arguments.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod call_later;
mod dumps;
mod manual_clock;
mod metrics;
mod panic_places;
mod runtimes;
mod shutdown;
mod shutdown_meanwhile;
mod time_outs;
mod timers;
mod wait_reasons;
