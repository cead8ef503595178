//! Code of actors that is blocked when its runtime ends, and never goes on.
//!
//! Its task keeps its stack, and so the end that hangs on the task (`life.rs`) never comes by
//! itself. Supervisors are to hear of it: they wait for ends, and start others anew. So what runs a
//! *closure* is known by the handle of its task, which the life has until all have been told. A
//! supervisor leaves a waker there: if the task ends and the life is not over, the actor was left.
//! What is missing of the exit protocol runs where that is heard, without step 2: what the code has
//! stays on its stack.
//!
//! A future needs nothing of this: its runtime drops it. A *server* has a task for each turn. Those
//! that begin when a supervisor of another pool knows the server are watched so (`Turn`); not the
//! one that runs then, nor a handler in place, on the stack of a caller.

use crate::cell::Cell;
use crate::life::{Life, Stage};
use crate::pid::{Pid, Process};
use crate::reason::Reason;
use crate::shared::WeakShared;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::has_room;
use myriad_core::engine::{unwind, user_code};
use myriad_core::task::Builder;
use myriad_core::{Handle, JoinHandle};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake};

impl Life {
    /// The actor is a closure that this task runs. (Or has run: then the handle is dropped.)
    pub(crate) fn keep_task(&self, task: JoinHandle<()>) {
        let mut task = Some(task);
        self.about(|stage, about| {
            if stage != Stage::Dead {
                std::mem::swap(&mut about.task, &mut task);
            }
        });
    }
}

/// The actor's code was left: the rest of the exit protocol. Nothing happens if all have been told.
pub(crate) fn end_left<M>(process: &(dyn Process + 'static), cell: &Cell<M>) {
    let reason = match cell.life.stage() {
        Stage::Alive => cell.life.settle(Reason::Cancelled),
        // It was left on the way: in a destructor, for instance.
        Stage::Ending => cell.life.reason().unwrap_or(Reason::Cancelled),
        Stage::Dead => return,
    };
    if let Err(payload) = user_code::call(|| cell.end(process, &reason)) {
        unwind::discard(payload);
    }
}

/// Hears of the end of a closure's task.
struct Listens(WeakShared<dyn Process>);

impl Wake for Listens {
    fn wake(self: Arc<Self>) {
        if let Some(process) = self.0.upgrade() {
            process.was_left();
        }
    }
}

/// From now on the actor ends also if its runtime leaves it.
pub(crate) fn watch_task(pid: &Pid) {
    let life = pid.life();
    if pid.0.home().is_some_and(|pool| !has_room(pool)) {
        life.set_outlived();
    }
    let Some(mut task) = life.about(|_, about| about.task.take()) else { return };
    // (Without the lock: the waker is cloned.)
    let waker = Arc::new(Listens(pid.0.downgrade())).into();
    if Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending() {
        life.keep_task(task);
    } else {
        pid.0.was_left();
    }
}

/// A turn of a server whose supervisor may outlive it.
pub(crate) struct WatchedTurn {
    server: WeakShared<dyn Process>,
    about: Mutex<AboutTurn>,
}

#[derive(Default)]
struct AboutTurn {
    is_over: bool,
    task: Option<JoinHandle<()>>,
}

/// Dropped, the turn is over, before its task ends.
pub(crate) struct TurnOver(Arc<WatchedTurn>);

impl Drop for TurnOver {
    fn drop(&mut self) {
        let task = {
            let mut about = self.0.about.lock();
            about.is_over = true;
            about.task.take()
        };
        drop(task);
    }
}

impl Wake for WatchedTurn {
    fn wake(self: Arc<Self>) {
        if !self.about.lock().is_over
            && let Some(server) = self.server.upgrade()
        {
            server.was_left();
        }
    }
}

impl WatchedTurn {
    /// Spawns a turn.
    #[cold]
    pub(crate) fn spawn(pool: Handle, server: &Pid, turn: impl FnOnce() + Send + 'static) {
        let this = Arc::new(WatchedTurn { server: server.0.downgrade(), about: Mutex::default() });
        let over = TurnOver(this.clone());
        // (By a builder: behind the tasks that the calling worker has, as a turn that goes on is.)
        let mut task = Builder::new().on(pool).spawn(move || {
            let _over = over;
            turn();
        });
        let waker = this.clone().into();
        if Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending() {
            let mut about = this.about.lock();
            let task = if about.is_over { Some(task) } else { about.task.replace(task) };
            drop(about);
            drop(task);
        } else {
            this.wake();
        }
    }
}
