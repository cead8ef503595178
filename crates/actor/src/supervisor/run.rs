//! What a supervisor does: an actor that is a future.
//!
//! One loop takes a message after the other: the end of a child, or a question. While it stops
//! children it receives only their ends, and puts the rest off, in order. Ends are messages in its
//! mailbox like all others, so ten thousand of them and a question are answered in their order.
//!
//! A child whose start fails is tried again by a message of the supervisor to itself, behind all
//! that has come meanwhile. (A loop that tries until the start succeeds would hear no order to
//! stop: with starts that take longer to fail than the intensity counts, for ever.)

use super::child::{Restart, ShutdownLimit, StartError};
use super::show::{ChildInfo, restarts};
use super::table::{Entry, Intensity, Table};
use super::tree::StopReport;
use super::{Child, Strategy, Supervisor};
use crate::call::Reply;
use crate::link::{exit, kill};
use crate::mailbox::Mailbox;
use crate::monitor::monitor_child;
use crate::pid::{AsPid, Exit, Pid};
use crate::reason::Reason;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::user_code;
use myriad_core::time;
use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// What a supervisor is sent.
pub(super) enum Order {
    /// The child in this place, of this generation, has ended.
    Down(u64, u64, Reason),
    Exit(Exit),
    /// Children that did not start anew are to be tried again: of the supervisor to itself.
    Again,
    Start(Child, Reply<Result<Pid, StartError>>),
    Stop(Arc<str>, Reply<bool>),
    Restart(Arc<str>, Reply<Result<Pid, StartError>>),
    Delete(Arc<str>, Reply<bool>),
    Get(Arc<str>, Reply<Option<Arc<dyn Any + Send + Sync>>>),
    Which(Reply<Vec<ChildInfo>>),
    StopAll(Reply<StopReport>),
}

pub(super) type StartReply = Reply<Result<(), StartError>>;

struct Running {
    mail: Mailbox<Order>,
    table: Table,
    strategy: Strategy,
    is_dynamic: bool,
    max_children: usize,
    intensity: Intensity,
    /// An [`Order::Again`] is in the mailbox.
    tries_again: bool,
}

/// The supervisor is to end.
struct TooMany;

/// The actor's body.
pub(super) async fn run(mail: Mailbox<Order>, of: Supervisor, started: StartReply) -> Reason {
    mail.trap_exits(Order::Exit);
    let mut this = Running {
        mail,
        table: Table::new(UnderWay::here()),
        strategy: of.strategy,
        is_dynamic: of.is_dynamic,
        max_children: of.max_children,
        intensity: Intensity::new(of.intensity, of.period),
        tries_again: false,
    };
    for child in of.children {
        if let Err(error) = this.add(child).await {
            this.stop_all().await;
            let reason = Reason::of(&error);
            started.send(Err(error));
            return reason;
        }
    }
    started.send(Ok(()));
    loop {
        let order = this.mail.receive_async().await;
        if let Some(reason) = this.obey(order).await {
            return reason;
        }
    }
}

impl Running {
    /// One order. `Some`: the supervisor ends, and its children have.
    async fn obey(&mut self, order: Order) -> Option<Reason> {
        match order {
            Order::Down(at, generation, reason) => {
                if self.ended(at, generation, reason).await.is_err() {
                    self.stop_all().await;
                    return Some(Reason::Shutdown);
                }
            }
            Order::Exit(exit) => {
                if exit.reason.is_normal() {
                    return None;
                }
                self.stop_all().await;
                return Some(exit.reason);
            }
            Order::Again => {
                self.tries_again = false;
                if self.start_wanted().await.is_err() {
                    self.stop_all().await;
                    return Some(Reason::Shutdown);
                }
            }
            Order::Start(child, reply) => reply.send(self.add(child).await),
            Order::Stop(id, reply) => {
                let at = self.table.find(&id);
                if let Some(at) = at {
                    self.stop(&[at]).await;
                    let is_temporary = |entry: &mut Entry| {
                        entry.is_wanted = false;
                        entry.child.restart == Restart::Temporary
                    };
                    if self.table.get(at).is_some_and(is_temporary) || self.is_dynamic {
                        drop(self.table.remove(at));
                    }
                }
                reply.send(at.is_some());
            }
            Order::Restart(id, reply) => reply.send(self.start_again(&id).await),
            Order::Delete(id, reply) => {
                let at = self.table.find(&id).filter(|&at| !self.is_running(at));
                drop(at.and_then(|at| self.table.remove(at)));
                reply.send(at.is_some());
            }
            Order::Get(id, reply) => {
                let at = self.table.find(&id);
                // It has ended, or is ending, and its `Down` has not been received: a new one is
                // what is asked for.
                let dead = at.and_then(|at| {
                    let entry = self.table.get(at)?;
                    (!entry.running.as_ref()?.pid.is_alive()).then_some((at, entry.generation))
                });
                if let Some((at, generation)) = dead
                    && let Some(reason) = self.down_of(at, generation).await
                    && self.ended(at, generation, reason).await.is_err()
                {
                    self.stop_all().await;
                    return Some(Reason::Shutdown);
                }
                if at.and_then(|at| self.table.get(at)).is_some_and(|entry| entry.is_wanted) {
                    // Behind the next try, which is in the mailbox.
                    self.mail.address().force(Order::Get(id, reply));
                    return None;
                }
                let started = at.and_then(|at| self.table.get(at)?.running.as_ref());
                reply.send(started.map(|started| started.address.clone()));
            }
            Order::Which(reply) => reply.send(self.table.entries().map(ChildInfo::of).collect()),
            Order::StopAll(reply) => {
                let report = self.stop_all().await;
                reply.send(report);
                return Some(Reason::Shutdown);
            }
        }
        None
    }

    fn is_running(&mut self, at: u64) -> bool {
        self.table.get(at).is_some_and(|entry| entry.running.is_some())
    }

    /// Adds a child and starts it.
    async fn add(&mut self, child: Child) -> Result<Pid, StartError> {
        if let Some(at) = self.table.find(&child.id) {
            let pid = self.table.get(at).and_then(|entry| Some(entry.running.as_ref()?.pid.clone()));
            return Err(StartError::Duplicate(child.id, pid));
        }
        if self.table.len() >= self.max_children {
            return Err(StartError::TooMany(self.max_children));
        }
        let id = child.id.clone();
        let at = self.table.insert(child);
        self.start(at).await.map_err(|reason| {
            drop(self.table.remove(at));
            StartError::Failed { child: id, reason }
        })
    }

    /// Starts a child that was stopped.
    async fn start_again(&mut self, id: &Arc<str>) -> Result<Pid, StartError> {
        let failed = |reason| StartError::Failed { child: id.clone(), reason };
        let at = self.table.find(id).ok_or_else(|| failed(Reason::NoProcess))?;
        if let Some(started) = self.table.get(at).and_then(|entry| entry.running.as_ref()) {
            return Err(StartError::Duplicate(id.clone(), Some(started.pid.clone())));
        }
        self.start(at).await.map_err(failed)
    }

    /// Starts an incarnation, and watches for its end. One that fails has ended.
    async fn start(&mut self, at: u64) -> Result<Pid, Reason> {
        let entry = self.table.get(at).ok_or(Reason::NoProcess)?;
        let (started, begun) = entry.child.begin()?;
        entry.generation += 1;
        let (pid, tree, generation) = (started.pid.clone(), started.tree.clone(), entry.generation);
        // In the table before anything is waited for: a supervisor that is killed meanwhile takes
        // along what is there.
        entry.running = Some(started);
        let id = entry.child.id.clone();
        let me = self.mail.address();
        monitor_child(&pid, id, move |down| me.force(Order::Down(at, generation, down.reason)));
        let mut result = Ok(());
        if let (Some(tree), Some(begun)) = (tree, begun) {
            result = tree.when(begun.recv_async().await.ok()).map(drop).map_err(Reason::of);
        }
        if result.is_ok()
            && let Some(entry) = self.table.get(at)
            && let Some(started) = &entry.running
        {
            result = entry.child.name(started);
        }
        if let Err(reason) = result {
            kill(&pid);
            self.down_of(at, generation).await;
            self.has_ended(at, reason.clone());
            return Err(reason);
        }
        if let Some(entry) = self.table.get(at) {
            entry.is_wanted = false;
        }
        Ok(pid)
    }

    /// What ran in this place has ended.
    fn has_ended(&mut self, at: u64, reason: Reason) {
        if let Some(entry) = self.table.get(at) {
            (entry.running, entry.last) = (None, Some(reason));
        }
    }

    /// An incarnation has ended: what is to be started anew is.
    async fn ended(&mut self, at: u64, generation: u64, reason: Reason) -> Result<(), TooMany> {
        let Some(entry) = self.table.get(at).filter(|entry| entry.generation == generation) else { return Ok(()) };
        if entry.running.take().is_none() {
            return Ok(());
        }
        let wants = match entry.child.restart {
            Restart::Permanent => true,
            Restart::Transient => !reason.is_expected(),
            Restart::Temporary => {
                drop(self.table.remove(at));
                return Ok(());
            }
        };
        entry.last = Some(reason);
        if !wants {
            if self.is_dynamic {
                drop(self.table.remove(at));
            }
            return Ok(());
        }
        self.count(at)?;
        let mut ended = match self.strategy {
            Strategy::OneForOne => Vec::new(),
            Strategy::OneForAll => self.table.running_from(0),
            Strategy::RestForOne => self.table.running_from(at),
        };
        for &other in &ended {
            self.stop(&[other]).await;
        }
        ended.push(at);
        for at in ended {
            match self.table.get(at) {
                Some(entry) if entry.child.restart != Restart::Temporary => entry.is_wanted = true,
                _ => drop(self.table.remove(at)),
            }
        }
        self.start_wanted().await
    }

    /// One more restart, because of the child in this place. One too many is said.
    fn count(&mut self, at: u64) -> Result<(), TooMany> {
        if self.intensity.count(time::now()) {
            return Ok(());
        }
        let me = self.mail.pid().info();
        let child = self.table.get(at).map(|entry| (entry.child.id.clone(), entry.last.clone()));
        let (child, last) = child.unwrap_or_default();
        user_code::report(&format!(
            "supervisor #{} (spawned at {}) gives up: its child '{child}' has ended ({}), and the limit is {} within {:?} \
             (`Supervisor::intensity`); it stops its children, and ends",
            me.id,
            me.spawned_at,
            last.unwrap_or(Reason::Normal),
            restarts(self.intensity.most as u64),
            self.intensity.period,
        ));
        Err(TooMany)
    }

    /// Starts those children anew that are to be, in the order of their start. A start that fails
    /// is one more restart, and is tried again behind what is in the mailbox; where children depend
    /// on those before them, these wait for that.
    async fn start_wanted(&mut self) -> Result<(), TooMany> {
        for at in self.table.wanted() {
            let Some(entry) = self.table.get(at) else { continue };
            entry.restarts += 1;
            let Err(reason) = self.start(at).await else { continue };
            if let Some(entry) = self.table.get(at) {
                entry.last = Some(reason);
            }
            self.count(at)?;
            if !mem::replace(&mut self.tries_again, true) {
                // (Others go first: a start that fails at once, with a high intensity.)
                time::sleep_async(Duration::ZERO).await;
                self.mail.address().force(Order::Again);
            }
            if self.strategy != Strategy::OneForOne {
                break;
            }
        }
        Ok(())
    }

    /// Stops these children at once, and waits until all have ended. Back: those that had to be
    /// killed for that.
    async fn stop(&mut self, places: &[u64]) -> Vec<Arc<str>> {
        let (mut left, mut limits, mut killed) = (BTreeMap::new(), Vec::new(), Vec::new());
        for &at in places {
            let Some(entry) = self.table.get(at) else { continue };
            let Some(started) = &entry.running else { continue };
            left.insert(at, entry.generation);
            match entry.child.shutdown {
                ShutdownLimit::Brutal => kill(&started.pid),
                ShutdownLimit::Never => exit(&started.pid, Reason::Shutdown),
                ShutdownLimit::After(limit) => {
                    limits.push((limit, at));
                    exit(&started.pid, Reason::Shutdown);
                }
            }
        }
        // (All have been told.)
        let now = time::now();
        // The next one last.
        limits.sort_unstable_by(|a, b| b.cmp(a));
        while !left.is_empty() {
            while limits.last().is_some_and(|(_, at)| !left.contains_key(at)) {
                limits.pop();
            }
            let is_left = |order: &Order| match order {
                Order::Down(at, generation, reason) if left.get(at) == Some(generation) => Some((*at, reason.clone())),
                _ => None,
            };
            let limit = limits.last().map(|&(limit, _)| now + limit);
            // (They stay in the table meanwhile: see `start`.)
            if let Some((_, (at, reason))) = self.mail.select_async(None, limit, is_left).await {
                left.remove(&at);
                self.has_ended(at, reason);
            } else if let Some((_, at)) = limits.pop()
                && let Some(entry) = self.table.get(at)
                && let Some(started) = &entry.running
            {
                kill(&started.pid);
                killed.push(entry.child.id.clone());
            }
        }
        killed
    }

    /// Waits for the end of this incarnation. `None`: not until then.
    async fn down_of(&mut self, at: u64, generation: u64) -> Option<Reason> {
        let is_it = |order: &Order| matches!(order, Order::Down(a, g, _) if (*a, *g) == (at, generation)).then_some(());
        match self.mail.select_async(None, None, is_it).await? {
            (Order::Down(_, _, reason), ()) => Some(reason),
            _ => None,
        }
    }

    /// Stops all: the last one first, or, of a dynamic supervisor, all at once.
    async fn stop_all(&mut self) -> StopReport {
        let running = self.table.running_from(0);
        let mut report = StopReport { stopped: running.len(), killed: Vec::new() };
        let together = if self.is_dynamic { running.len().max(1) } else { 1 };
        for places in running.chunks(together) {
            report.killed.append(&mut self.stop(places).await);
        }
        report
    }
}
