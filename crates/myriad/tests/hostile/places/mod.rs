//! The places: each is one function.

pub(crate) mod actors;
pub(crate) mod agents;
pub(crate) mod channels;
pub(crate) mod flows;
pub(crate) mod groups;
pub(crate) mod hooks;
#[cfg(feature = "jobs")]
pub(crate) mod jobs;
pub(crate) mod locks;
pub(crate) mod parallel;
pub(crate) mod priorities;
pub(crate) mod processes;
pub(crate) mod scopes;
pub(crate) mod servers;
pub(crate) mod shared;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod timing;
pub(crate) mod wakers;
