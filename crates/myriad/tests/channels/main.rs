//! Channels and streams.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;

mod channel_cancel;
mod channel_close;
mod channel_endings;
mod channel_ends;
mod channel_kinds;
mod channel_limits;
mod channel_messages;
mod channel_model;
mod channel_pairs;
mod channel_peek;
mod channel_polling;
mod channel_shutdown;
mod channel_timeouts;
mod channel_told;
mod streams;
