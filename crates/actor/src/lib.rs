//! Actors: mailboxes, links, monitors, servers, supervisors, names.
//!
//! An actor has a mailbox, and an end that others are told of. Others have its [`Address`]; of one
//! whose messages do not matter, a [`Pid`]. Examples: [`spawn`], [`Server`], [`Supervisor`].
//!
//! | | |
//! |---|---|
//! | [`spawn`], [`spawn_async`], [`Mailbox`], [`receive!`] | an actor that is a plain function, a closure or a future |
//! | [`serve`], [`Server`] | one that is a state and a handler, and no task while it is idle |
//! | [`Address::call`], [`Reply`] | questions with answers |
//! | [`link`](fn@link), [`exit`], [`kill`], [`monitor`](fn@monitor), [`Reason`] | ends, and who is told of them |
//! | [`Supervisor`], [`Child`], [`Tree`] | who starts others, and starts them anew |
//! | [`Pid::info`], [`suspend`], [`with_state`], [`on_crash`] | looking into actors that run, and that fail |
//! | [`register`], [`whereis`], [`join_group`], [`Registry`] | names, groups, registries |
//! | [`Address::send_after`], [`Timer`] | messages that come later |
//!
//! **Order.** What one sender sends to one actor comes in order, among it the word that the sender
//! has ended. An [`exit`] that is not trapped, and a [`kill`], overtake what waits.
//!
//! **Ends.** When an actor ends its state is dropped, then what is left in its mailbox (a call
//! there gets the reason); its name is free, and it has left its groups; then monitors and links
//! are told. An actor lives on when nobody has its address. The stack of a closure that is blocked
//! when its runtime ends is left, as that of any task, and nobody is told: but if a supervisor has
//! started the actor, it ends then, with [`Reason::Cancelled`].
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod address;
mod call;
mod cell;
mod control;
mod crash;
mod frame;
mod group;
mod info;
mod left;
mod life;
mod lineage;
mod link;
mod mailbox;
mod monitor;
mod pid;
mod reason;
mod receive;
mod registry;
mod saved;
mod server;
mod shared;
mod supervisor;
mod task;
mod timer;
mod typed_registry;

pub use address::{Address, WeakAddress};
pub use call::{CallError, Reply};
pub use cell::OnFull;
pub use control::{resume, suspend, with_state, with_state_async, with_state_mut, with_state_mut_async};
pub use crash::{Crash, on_crash};
pub use frame::current;
pub use group::{group_members, join_group, leave_group, send_to_group};
pub use info::{Info, Status};
pub use lineage::Ancestor;
pub use link::{NoProcess, exit, kill, link, unlink};
pub use mailbox::Mailbox;
pub use monitor::{Monitor, MonitorRef, monitor};
#[doc(hidden)]
pub use myriad_core::time::now;
pub use pid::{AsPid, Down, Exit, Pid};
pub use reason::{Ending, Reason};
pub use registry::{NameError, monitor_name, register, send_to, unregister, whereis, whereis_pid};
pub use saved::Mark;
pub use server::{Context, Next, Server, serve};
pub use supervisor::{Child, ChildInfo, Restart, ShutdownLimit, StartError, StopReport, Strategy, Supervisor, Tree};
pub use task::{Builder, spawn, spawn_async};
pub use timer::Timer;
pub use typed_registry::Registry;
