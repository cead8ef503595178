//! Wakers in all kinds of futures: three wait, the first two with hostile wakers, and the third has
//! to be woken.
//!
//! `Again` polls a future again in its own `wake`; `Last` drops the futures that wait.

use crate::behaviours::{Behaviour, When};
use crate::cell::{Cx, Seen, until};
use futures_util::{SinkExt, StreamExt};
use myriad::channel::{self, bounded, rendezvous, unbounded};
use myriad::sync::{
    Barrier, Condition, Condvar, Event, Latch, Mutex, Once, OnceLock, ReentrantLock, RwLock, Semaphore, SingleFlight,
    WaitGroup,
};
use myriad::task::JoinSet;
use myriad::{blocking_async, cancel::Token, compute_async, spawn, time};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

type Pending = Pin<Box<dyn Future<Output = ()> + Send>>;
type Slot = Arc<std::sync::Mutex<Option<Pending>>>;

struct Good(AtomicBool);

impl Wake for Good {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Release);
    }
}

fn slot(future: impl Future<Output = ()> + Send + 'static) -> Slot {
    Arc::new(std::sync::Mutex::new(Some(Box::pin(future))))
}

/// `futures` wait, with these wakers; `trigger` ends their waits, at least the first one's.
fn three(cx: &Cx, when: When, futures: [Pending; 3], trigger: impl FnOnce()) -> Seen {
    let [a, b, c] = futures.map(slot);
    for weak in [&a, &b].map(Arc::downgrade) {
        let again = weak.clone();
        let before = cx.foe.clone();
        if cx.is(Behaviour::Again) {
            // Of the first one alone: which of them is woken is the same for this.
            before.on_again(move || {
                if let Some(slot) = again.upgrade()
                    && let Ok(mut future) = slot.try_lock()
                    && let Some(pending) = &mut *future
                    && pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
                {
                    *future = None;
                }
            });
        }
        cx.foe.on_last(move || {
            let Some(slot) = weak.upgrade() else { return };
            let future = slot.try_lock().ok().and_then(|mut future| future.take());
            drop(future);
        });
    }
    let mut seen = Seen::Well;
    for slot in [&a, &b] {
        let mut future = slot.lock().unwrap_or_else(|e| e.into_inner());
        // Dropped by its own wake.
        let Some(pending) = &mut *future else { continue };
        let mut late = false;
        let polled = Seen::of(|| late = cx.poll(pending.as_mut(), when).is_ready());
        if late {
            // A short time is over already.
            cx.foe.too_late();
            *future = None;
        }
        if polled != Seen::Well {
            seen = polled;
        }
    }
    if when == When::Drop {
        // One waker makes room for another one, and the other goes with its future.
        let polled = match seen {
            Seen::Well => Seen::of(|| {
                let mut future = a.lock().unwrap_or_else(|e| e.into_inner());
                if let Some(pending) = &mut *future
                    && pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
                {
                    *future = None;
                }
            }),
            // Its first poll has panicked already, where it dropped a clone.
            _ => seen,
        };
        let future = b.lock().unwrap_or_else(|e| e.into_inner()).take();
        let dropped = Seen::of(|| drop(future));
        seen = if polled == Seen::Well { dropped } else { polled };
        if cx.foe.woken_instead() {
            cx.foe.too_late();
        }
    }
    let good = Arc::new(Good(AtomicBool::new(false)));
    let waker = Waker::from(good.clone());
    let third = c.lock().unwrap().as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker));
    let triggered = Seen::of(trigger);
    if triggered != Seen::Well {
        seen = triggered;
    }
    if when == When::Wake {
        until("no hostile waker is woken", || cx.foe.acted() > 0 || cx.foe.is_outside());
    }
    // What one of the others was given, and did not take, goes to the next.
    for slot in [a, b] {
        let future = slot.lock().unwrap_or_else(|e| e.into_inner()).take();
        let dropped = Seen::of(|| drop(future));
        if dropped != Seen::Well {
            seen = dropped;
        }
    }
    if third.is_pending() {
        until("a good waker beside hostile ones is never woken", || good.0.load(Acquire));
    }
    let mut pending = c.lock().unwrap().take().unwrap();
    if third.is_pending() {
        _ = pending.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    drop(pending);
    seen
}

/// A kind of futures: for each moment a place. `$object` is made once; `$wait` is a future of a
/// clone of it; `$end` ends the waits.
macro_rules! kinds {
    ($($name:ident: $object:expr, |$o:ident| $wait:expr, |$e:ident| $end:expr;)*) => {$(
        pub(crate) mod $name {
            #![allow(unused_braces)]
            use super::*;
            fn run(cx: &Cx, when: When) -> Seen {
                let object = Arc::new($object);
                let futures = std::array::from_fn(|_| {
                    let $o = object.clone();
                    Box::pin(async move { let _ends = $wait; }) as Pending
                });
                let $e = object;
                three(cx, when, futures, move || { $end; })
            }
            pub(crate) fn woken(cx: &Cx) -> Seen { run(cx, When::Wake) }
            pub(crate) fn cloned(cx: &Cx) -> Seen { run(cx, When::Clone) }
            pub(crate) fn dropped(cx: &Cx) -> Seen { run(cx, When::Drop) }
        }
    )*};
}

type Ends<T> = (std::sync::Mutex<Option<channel::Sender<T>>>, channel::Receiver<T>);

fn ends<T>((tx, rx): (channel::Sender<T>, channel::Receiver<T>)) -> Ends<T> {
    (std::sync::Mutex::new(Some(tx)), rx)
}

/// What is locked by a guard that lives as long as it is not taken out.
fn locked<O: 'static, G: 'static>(
    object: O,
    lock: impl FnOnce(&'static O) -> G,
) -> (&'static O, std::sync::Mutex<Option<G>>) {
    // A few bytes for each cell.
    let object: &'static O = Box::leak(Box::new(object));
    (object, std::sync::Mutex::new(Some(lock(object))))
}

fn take<T>(place: &std::sync::Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(|e| e.into_inner()).take()
}

/// Calls `f` so often, also if it panics; the first panic goes on.
fn each(n: usize, mut f: impl FnMut()) {
    let ends: Vec<_> = (0..n).map(|_| catch_unwind(AssertUnwindSafe(&mut f))).collect();
    if let Some(payload) = ends.into_iter().find_map(Result::err) {
        resume_unwind(payload);
    }
}

/// A gate that std's threads may wait at.
#[derive(Default)]
struct Gate(std::sync::Mutex<bool>, std::sync::Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
    fn pass(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }
}

kinds! {
    recv_closed: ends(bounded::<u32>(1)), |o| o.1.recv_async().await, |e| drop(take(&e.0));
    recv_sent: ends(bounded::<u32>(4)), |o| o.1.recv_async().await, |e| {
        let tx = take(&e.0).unwrap();
        each(3, || _ = tx.try_send(1));
    };
    recv_rendezvous: ends(rendezvous::<u32>()), |o| o.1.recv_async().await, |e| drop(take(&e.0));
    recv_unbounded: ends(unbounded::<u32>()), |o| o.1.recv_async().await, |e| {
        let tx = take(&e.0).unwrap();
        each(3, || _ = tx.send(1));
    };
    send_received: { let o = bounded(1); o.0.send(0).unwrap(); o }, |o| o.0.send_async(1).await, |e| each(3, || _ = e.1.try_recv());
    send_closed: { let o = bounded(1); o.0.send(0).unwrap(); o }, |o| o.0.send_async(1).await, |e| _ = e.1.close();
    stream_sent: ends(bounded::<u32>(4)), |o| _ = pin!(o.1.stream()).next().await, |e| {
        let tx = take(&e.0).unwrap();
        each(3, || _ = tx.try_send(1));
    };
    stream_closed: ends(bounded::<u32>(1)), |o| _ = pin!(o.1.stream()).next().await, |e| drop(take(&e.0));
    owned_stream: ends(unbounded::<u32>()), |o| _ = o.1.clone().into_stream().next().await, |e| drop(take(&e.0));
    sink_received: { let o = bounded(1); o.0.send(0).unwrap(); o }, |o| _ = pin!(o.0.sink()).send(1).await, |e| each(3, || _ = e.1.try_recv());
    sink_closed: { let o = bounded(1); o.0.send(0).unwrap(); o }, |o| _ = pin!(o.0.sink()).send(1).await, |e| _ = e.1.close();
    owned_sink: { let o = bounded(1); o.0.send(0).unwrap(); o }, |o| _ = o.0.clone().into_sink().send(1).await, |e| _ = e.1.close();
    ready_sent: ends(bounded::<u32>(4)), |o| o.1.wait_ready_async().await, |e| _ = take(&e.0).unwrap().send(1);
    ready_closed: ends(bounded::<u32>(4)), |o| o.1.wait_ready_async().await, |e| drop(take(&e.0));
    peek_sent: ends(bounded::<u32>(4)), |o| o.1.peek_async().await, |e| _ = take(&e.0).unwrap().send(1);
    watch_sent: channel::watch(0), |o| o.0.subscribe().recv_async().await, |e| _ = e.0.send(1);
    watch_closed: channel::watch(0), |o| o.0.subscribe().recv_async().await, |e| _ = e.0.close();
    broadcast_sent: channel::broadcast(2), |o| o.0.subscribe().recv_async().await, |e| _ = e.0.send(1);
    broadcast_closed: channel::broadcast::<u32>(2), |o| o.0.subscribe().recv_async().await, |e| _ = e.0.close();
    promise_set: channel::promise(), |o| o.1.clone().recv_async().await, |e| _ = e.0.send(1);
    mutex: locked(Mutex::new(0), |m| m.lock().unwrap()), |o| drop(o.0.lock_async().await), |e| drop(take(&e.1));
    read: locked(RwLock::new(0), |m| m.write().unwrap()), |o| drop(o.0.read_async().await), |e| drop(take(&e.1));
    write: locked(RwLock::new(0), |m| m.write().unwrap()), |o| drop(o.0.write_async().await), |e| drop(take(&e.1));
    semaphore: locked(Semaphore::new(3), |s| s.acquire_many(3)), |o| drop(o.0.acquire_async().await), |e| drop(take(&e.1));
    semaphore_one: locked(Semaphore::new(1), |s| s.acquire()), |o| drop(o.0.acquire_async().await), |e| drop(take(&e.1));
    event: Event::new(), |o| o.wait_async().await, |e| e.set();
    event_auto: Event::auto_reset(), |o| o.wait_async().await, |e| e.set();
    latch: Latch::new(1), |o| o.wait_async().await, |e| e.count_down();
    wait_group: { let o = WaitGroup::new(); o.add(1); o }, |o| o.wait_async().await, |e| e.done();
    barrier: Barrier::new(4), |o| o.wait_async().await, |e| {
        // As many as it takes, if some of the three have left.
        let mut others: Vec<_> = (0..3).map(|_| Box::pin(e.wait_async())).collect();
        let mut others = others.iter_mut();
        each(3, || _ = others.next().unwrap().as_mut().poll(&mut Context::from_waker(Waker::noop())));
    };
    condvar: (Mutex::new(0), Condvar::new()), |o| drop(o.1.wait_async(o.0.lock().unwrap_or_else(|e| e.into_inner())).await), |e| e.1.notify_all();
    condvar_one: (Mutex::new(0), Condvar::new()), |o| drop(o.1.wait_async(o.0.lock().unwrap_or_else(|e| e.into_inner())).await), |e| each(3, || e.1.notify_one());
    condition: Condition::<u32>::new(), |o| o.wait_async().await, |e| _ = e.notify_all(1);
    condition_one: Condition::<u32>::new(), |o| o.wait_async().await, |e| each(3, || _ = e.notify_one(1));
    once: Once::new(), |o| o.wait_async().await, |e| e.call_once(|| ());
    once_lock: OnceLock::new(), |o| { _ = o.wait_async().await; }, |e| _ = e.set(1);
    token: Token::new(), |o| o.cancelled().await, |e| e.cancel();
    token_child: { let parent = Token::new(); (parent.child(), parent) }, |o| o.0.cancelled().await, |e| e.1.cancel();
    token_run: Token::new(), |o| _ = o.run_async(std::future::pending::<()>()).await, |e| e.cancel();
    select_recv: ends(bounded::<u32>(4)), |o| { myriad::select_async! { x = o.1.recv() => _ = x, } }, |e| drop(take(&e.0));
    select_after: Gate::default(), |_o| { myriad::select_async! { after(Duration::from_millis(2)) => (), } }, |e| e.open();
    sleep: Gate::default(), |_o| time::sleep_async(Duration::from_millis(2)).await, |e| e.open();
    timeout: Gate::default(), |_o| time::timeout_async(Duration::from_millis(2), std::future::pending::<()>()).await, |e| e.open();
    ticks: Gate::default(), |_o| channel::after(Duration::from_millis(2)).recv_async().await, |e| e.open();
    blocking: Gate::default(), |o| blocking_async(move || o.pass()).await, |e| e.open();
    compute: Gate::default(), |o| { compute_async(move || while !*o.0.lock().unwrap() { std::thread::yield_now() }).await }, |e| e.open();
    joined: ends(bounded::<u32>(1)), |o| { spawn(move || _ = o.1.recv()).await }, |e| drop(take(&e.0));
    joined_future: ends(bounded::<u32>(1)), |o| { myriad::spawn_async(async move { _ = o.1.recv_async().await }).await }, |e| drop(take(&e.0));
    join_set: ends(bounded::<u32>(1)), |o| { let mut set = JoinSet::new(); set.spawn(move || _ = o.1.recv()); set.join_next_async().await }, |e| drop(take(&e.0));
    single_flight: (SingleFlight::<u32, u32>::new(), Event::new()), |o| { o.0.run_async(1, || async { o.1.wait_async().await; 1 }).await }, |e| e.1.set();
    reentrant: {
        // Its owner is another task.
        let lock = Arc::new(ReentrantLock::new(()));
        let (tx, rx) = bounded::<()>(1);
        let (has, locked) = bounded(1);
        drop(spawn({ let lock = lock.clone(); move || { let _guard = lock.lock(); _ = has.send(()); _ = rx.recv(); } }));
        _ = locked.recv();
        (lock, std::sync::Mutex::new(Some(tx)))
    }, |o| SendGuard(o.0.lock_async()).await, |e| drop(take(&e.1));
}

/// A re-entrant lock's guard is not `Send`, and is dropped where it came.
struct SendGuard<F>(F);

// SAFETY: in these tests each such future is polled and dropped by one thread alone, the cell's.
unsafe impl<F> Send for SendGuard<F> {}

impl<F: Future> Future for SendGuard<F> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned with the whole.
        unsafe { self.map_unchecked_mut(|s| &mut s.0) }.poll(cx).map(drop)
    }
}
