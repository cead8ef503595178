//! Each kind of future, as a [`Case`].

mod channels;
mod engine;
mod locks;
mod selects;

pub(super) use channels::*;
pub(super) use engine::*;
pub(super) use locks::*;
pub(super) use selects::*;

use myriad::channel::{self, Receiver, Sender};
use myriad::select::{self, Order, Select};
use myriad::sync::{
    Barrier, Condition, Condvar, Event, Latch, Mutex, Once, OnceLock, ReentrantLock, RwLock, Semaphore, SingleFlight,
    WaitGroup,
};
use myriad::{Runtime, cancel, task, time};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub(super) type Waiter = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Short, and most often long enough for what is polled before it is over.
const SOON: Duration = Duration::from_millis(30);

/// Three that wait, and what makes them ready: all at once, or one after the other.
pub(super) struct Case {
    pub(super) waiters: [Waiter; 3],
    pub(super) go: Box<dyn FnOnce()>,
    /// They wait for a time, which may have come already.
    pub(super) has_a_time: bool,
}

pub(super) type Kind = fn(&Runtime) -> Case;

fn case<F>(wait: impl FnMut(usize) -> F, go: impl FnOnce() + 'static) -> Case
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut wait = wait;
    let mut waiter = |i| -> Waiter {
        let future = wait(i);
        Box::pin(async move { drop(future.await) })
    };
    Case { waiters: [waiter(0), waiter(1), waiter(2)], go: Box::new(go), has_a_time: false }
}

/// The same with what waits for a time.
fn timed<F>(wait: impl FnMut(usize) -> F, go: impl FnOnce() + 'static) -> Case
where
    F: Future<Output: Send> + Send + 'static,
{
    Case { has_a_time: true, ..case(wait, go) }
}

/// A task that holds something until it is told to let go, which this waits for.
fn held<G>(rt: &Runtime, hold: impl FnOnce(&Receiver<()>, &dyn Fn()) -> G + Send + 'static) -> impl FnOnce() + 'static {
    let ((held, is_held), (let_go, go)) = (channel::unbounded(), channel::unbounded());
    let holder = rt.spawn(move || drop(hold(&go, &|| held.send(()).unwrap())));
    is_held.recv().unwrap();
    move || {
        let_go.send(()).unwrap();
        holder.join().unwrap();
    }
}

macro_rules! all {
    ($then:ident) => {
        $then! {
            recv_closed recv_sent recv_let_go send_closed send_received rendezvous_send rendezvous_recv
            oneshot stream into_stream sink into_sink transform peek recv_if wait_ready in_line_behind_a_look
            promise promise_closed watch watch_closed broadcast broadcast_closed ticks produced
            select_recv select_send select_dynamic select_future select_time
            mutex rwlock_read rwlock_write reentrant semaphore event event_auto latch wait_group barrier
            condvar_all condvar_one condition_all condition_one condition_with once once_lock once_lock_init single_flight
            join_closure join_future join_set sleep timeout token compute blocking
        }
    };
}
pub(super) use all;
