//! Channels and streams.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;

mod channel_cancel;
mod channel_close;
mod channel_endings;
mod channel_kinds;
mod channel_look;
mod channel_messages;
mod channel_model;
mod channel_pairs;
mod channel_shutdown;
mod channel_timeouts;
mod streams;
