//! Sockets: TCP, UDP, Unix; from closures, futures and plain threads.
//!
//! Numbers in the comments of tests count the situations that naive implementations get wrong.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod connect;
mod copy;
mod descriptors;
mod dumped;
mod edges;
mod ends;
mod exhausted;
mod failures;
mod forked;
mod given_up;
mod polled;
mod ports;
mod rescue;
mod reused;
mod serve;
mod served;
mod several_runtimes;
mod socket_wakers;
mod tcp;
mod unix;
mod unix_ports;

use crate::common::each;
use myriad::JoinHandle;
use myriad::dump::Activity;

/// In a runtime of each kind, with one worker and with two.
#[track_caller]
fn each_runtime(body: impl Fn() + Send + Sync) {
    each(&[1, 2], |rt| rt.run(&body));
}

/// Does this task wait? (Not one that has not begun, or runs.)
fn is_waiting<T>(task: &JoinHandle<T>) -> bool {
    task.why_waiting().is_some_and(|why| why.chain()[0].activity() == Activity::Waits)
}
