//! Each kind of future, as a [`Case`].

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

// ------------------------------------------------------------------------------------------------------- channels

fn receiving(make: (Sender<u32>, Receiver<u32>), go: impl FnOnce(Sender<u32>) + 'static) -> Case {
    let (tx, rx) = make;
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.recv_async().await }
        },
        move || go(tx),
    )
}

pub(super) fn recv_closed(_: &Runtime) -> Case {
    receiving(channel::bounded(3), |tx| _ = tx.close())
}
pub(super) fn recv_let_go(_: &Runtime) -> Case {
    receiving(channel::bounded(3), drop)
}
pub(super) fn recv_sent(_: &Runtime) -> Case {
    receiving(channel::bounded(3), |tx| (0..3).for_each(|i| _ = tx.send(i)))
}
pub(super) fn rendezvous_recv(_: &Runtime) -> Case {
    receiving(channel::rendezvous(), |tx| (0..3).for_each(|i| _ = tx.try_send(i)))
}

fn sending((tx, rx): (Sender<usize>, Receiver<usize>), go: impl FnOnce(Receiver<usize>) + 'static) -> Case {
    while tx.try_send(0).is_ok() {}
    case(
        move |i| {
            let tx = tx.clone();
            async move { tx.send_async(i).await }
        },
        move || go(rx),
    )
}

pub(super) fn send_closed(_: &Runtime) -> Case {
    sending(channel::bounded(1), drop)
}
pub(super) fn send_received(_: &Runtime) -> Case {
    sending(channel::bounded(1), |rx| (0..4).for_each(|_| _ = rx.try_recv()))
}
pub(super) fn rendezvous_send(_: &Runtime) -> Case {
    sending(channel::rendezvous(), |rx| (0..3).for_each(|_| _ = rx.try_recv()))
}

pub(super) fn oneshot(_: &Runtime) -> Case {
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::oneshot::<u32>()).unzip();
    case(
        move |_| {
            let rx = receivers.remove(0);
            async move { rx.recv_async().await }
        },
        || senders.into_iter().for_each(|tx| _ = tx.send(1)),
    )
}

pub(super) fn stream(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { futures_util::StreamExt::next(&mut std::pin::pin!(rx.stream())).await }
        },
        || drop(tx),
    )
}
pub(super) fn into_stream(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let mut stream = rx.clone().into_stream();
            async move { futures_util::StreamExt::next(&mut stream).await }
        },
        || drop(tx),
    )
}
pub(super) fn sink(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone();
            async move { futures_util::SinkExt::send(&mut std::pin::pin!(tx.sink()), i).await }
        },
        || drop(rx),
    )
}
pub(super) fn into_sink(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let mut sink = tx.clone().into_sink();
            async move { futures_util::SinkExt::send(&mut sink, i).await }
        },
        || drop(rx),
    )
}
pub(super) fn transform(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone().transform(|i: usize| [i, i + 1]);
            async move { tx.send_async(i).await }
        },
        || drop(rx),
    )
}

pub(super) fn peek(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.peek_async().await }
        },
        || drop(tx),
    )
}
pub(super) fn recv_if(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.recv_if_async(|_| false).await }
        },
        move || _ = tx.send(1),
    )
}
pub(super) fn wait_ready(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move { rx.wait_ready_async().await }
        },
        move || _ = tx.send(1),
    )
}
/// All are served when the one who looks goes.
pub(super) fn in_line_behind_a_look(rt: &Runtime) -> Case {
    let (tx, rx) = channel::unbounded::<usize>();
    (0..3).for_each(|i| tx.send(i).unwrap());
    let lent = rx.clone();
    let go = held(rt, move |go, held| {
        let looked = lent.peek_with(|_| {
            held();
            go.recv().unwrap();
        });
        looked.unwrap();
    });
    case(
        move |_| {
            let (rx, _tx) = (rx.clone(), tx.clone());
            async move { (rx.recv_async().await, _tx.is_closed()) }
        },
        go,
    )
}

macro_rules! boards {
    ($($name:ident: $make:expr, $go:expr;)*) => {
        $(pub(super) fn $name(_: &Runtime) -> Case {
            let (tx, rx) = $make;
            case(
                move |_| {
                    let mut rx = rx.clone();
                    async move { rx.recv_async().await.is_ok() }
                },
                move || $go(tx),
            )
        })*
    };
}
boards! {
    promise: channel::promise::<u32>(), |tx: channel::PromiseSender<u32>| _ = tx.send(1);
    promise_closed: channel::promise::<u32>(), drop;
    watch: channel::watch(1), |tx: channel::WatchSender<u32>| _ = tx.send(2);
    watch_closed: channel::watch(1), drop;
    broadcast: channel::broadcast::<u32>(1), |tx: channel::BroadcastSender<u32>| _ = tx.send(1);
    broadcast_closed: channel::broadcast::<u32>(1), drop;
}

/// Short, and most often long enough for what is polled before it is over.
const SOON: Duration = Duration::from_millis(30);

pub(super) fn ticks(_: &Runtime) -> Case {
    timed(
        |_| {
            let ticks = channel::after(SOON);
            async move { ticks.recv_async().await }
        },
        || std::thread::sleep(SOON),
    )
}
pub(super) fn produced(_: &Runtime) -> Case {
    let ((go, gate), mut produced) = (channel::bounded::<()>(0), Vec::new());
    for _ in 0..3 {
        let gate = gate.clone();
        produced.push(channel::produce::<u32, _>(1, move |_| _ = gate.recv()));
    }
    case(
        move |_| {
            let produced = produced.remove(0);
            async move { produced.recv_async().await.is_ok() }
        },
        || drop(go),
    )
}

// ------------------------------------------------------------------------------------------------------- selects

pub(super) fn select_recv(_: &Runtime) -> Case {
    let ((tx, rx), (never, nothing)) = (channel::bounded::<u32>(1), channel::bounded::<u32>(1));
    let keep = never.clone();
    case(
        move |_| {
            let (rx, nothing, _never) = (rx.clone(), nothing.clone(), never.clone());
            async move {
                let won = select::wait_async(Order::Fair, (rx.recv_arm(), nothing.recv_arm())).await;
                assert!(matches!(won, select::Won::A0(_)) && !_never.is_closed());
            }
        },
        || drop((tx, keep)),
    )
}
pub(super) fn select_send(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone();
            async move { _ = select::wait_async(Order::Fair, (tx.send_arm(i), select::after(Duration::MAX))).await }
        },
        move || (0..3).for_each(|_| _ = rx.try_recv()),
    )
}
pub(super) fn select_dynamic(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move {
                let mut select = Select::new();
                select.recv(&rx, |message| message.is_ok());
                select.wait_async().await
            }
        },
        || drop(tx),
    )
}
pub(super) fn select_future(_: &Runtime) -> Case {
    let ((tx, rx), event) = (channel::bounded::<u32>(1), Arc::new(Event::new()));
    let set = event.clone();
    case(
        move |_| {
            let (rx, event) = (rx.clone(), event.clone());
            async move {
                _ = select::wait_async(Order::Fair, (rx.recv_arm(), select::future(event.wait_async()))).await;
            }
        },
        move || {
            set.set();
            drop(tx);
        },
    )
}
pub(super) fn select_time(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    timed(
        move |_| {
            let rx = rx.clone();
            async move { _ = select::wait_async(Order::Fair, (rx.recv_arm(), select::after(SOON))).await }
        },
        move || {
            std::thread::sleep(SOON);
            drop(tx);
        },
    )
}

// ------------------------------------------------------------------------------------------------------- locks

pub(super) fn mutex(rt: &Runtime) -> Case {
    let mutex = Arc::new(Mutex::new(()));
    let theirs = mutex.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.lock().unwrap();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let mutex = mutex.clone();
            async move { drop(mutex.lock_async().await.unwrap()) }
        },
        go,
    )
}

fn rwlock(rt: &Runtime, write: bool) -> Case {
    let lock = Arc::new(RwLock::new(()));
    let theirs = lock.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.write().unwrap();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let lock = lock.clone();
            async move {
                if write {
                    drop(lock.write_async().await.unwrap());
                } else {
                    drop(lock.read_async().await.unwrap());
                }
            }
        },
        go,
    )
}
pub(super) fn rwlock_read(rt: &Runtime) -> Case {
    rwlock(rt, false)
}
pub(super) fn rwlock_write(rt: &Runtime) -> Case {
    rwlock(rt, true)
}

pub(super) fn reentrant(rt: &Runtime) -> Case {
    let lock = Arc::new(ReentrantLock::new(()));
    let theirs = lock.clone();
    let go = held(rt, move |go, held| {
        let guard = theirs.lock();
        held();
        go.recv().unwrap();
        drop(guard);
    });
    case(
        move |_| {
            let lock = lock.clone();
            async move { drop(lock.lock_async().await) }
        },
        go,
    )
}

pub(super) fn semaphore(_: &Runtime) -> Case {
    let semaphore = Arc::new(Semaphore::new(1));
    let permit = semaphore.acquire().into_owned(&semaphore);
    let theirs = semaphore.clone();
    case(
        move |_| {
            let semaphore = semaphore.clone();
            async move { drop(semaphore.acquire_async().await) }
        },
        move || {
            theirs.add_permits(2);
            drop(permit);
        },
    )
}

fn events(event: Event, go: impl FnOnce(&Event) + 'static) -> Case {
    let event = Arc::new(event);
    let theirs = event.clone();
    case(
        move |_| {
            let event = event.clone();
            async move { event.wait_async().await }
        },
        move || go(&theirs),
    )
}
pub(super) fn event(_: &Runtime) -> Case {
    events(Event::new(), Event::set)
}
pub(super) fn event_auto(_: &Runtime) -> Case {
    events(Event::auto_reset(), |event| (0..3).for_each(|_| event.set()))
}

pub(super) fn latch(_: &Runtime) -> Case {
    let latch = Arc::new(Latch::new(1));
    let theirs = latch.clone();
    case(
        move |_| {
            let latch = latch.clone();
            async move { latch.wait_async().await }
        },
        move || theirs.count_down(),
    )
}
pub(super) fn wait_group(_: &Runtime) -> Case {
    let group = Arc::new(WaitGroup::new());
    group.add(1);
    let theirs = group.clone();
    case(
        move |_| {
            let group = group.clone();
            async move { group.wait_async().await }
        },
        move || theirs.done(),
    )
}
/// (Those who are not there any more do not keep it waiting.)
pub(super) fn barrier(_: &Runtime) -> Case {
    let barrier = Arc::new(Barrier::new(4));
    let theirs = barrier.clone();
    case(
        move |_| {
            let barrier = barrier.clone();
            async move { _ = barrier.wait_async().await }
        },
        move || _ = theirs.wait_timeout(if theirs.arrived() == 3 { Duration::MAX } else { Duration::ZERO }),
    )
}

fn condvar(go: impl FnOnce(&Condvar) + 'static) -> Case {
    let condvar = Arc::new((Mutex::new(()), Condvar::new()));
    let theirs = condvar.clone();
    case(
        move |_| {
            let condvar = condvar.clone();
            async move {
                let guard = condvar.0.lock_async().await.unwrap();
                drop(condvar.1.wait_async(guard).await.unwrap());
            }
        },
        move || go(&theirs.1),
    )
}
pub(super) fn condvar_all(_: &Runtime) -> Case {
    condvar(Condvar::notify_all)
}
pub(super) fn condvar_one(_: &Runtime) -> Case {
    condvar(|condvar| (0..3).for_each(|_| condvar.notify_one()))
}

fn condition(go: impl FnOnce(&Condition<u32>) + 'static) -> Case {
    let condition = Arc::new(Condition::new());
    let theirs = condition.clone();
    case(
        move |_| {
            let condition = condition.clone();
            async move { condition.wait_async().await }
        },
        move || go(&theirs),
    )
}
pub(super) fn condition_all(_: &Runtime) -> Case {
    condition(|condition| _ = condition.notify_all(1))
}
pub(super) fn condition_one(_: &Runtime) -> Case {
    condition(|condition| (0..3).for_each(|i| _ = condition.notify_one(i)))
}
pub(super) fn condition_with(_: &Runtime) -> Case {
    let condition = Arc::new((Mutex::new(()), Condition::<u32>::new()));
    let theirs = condition.clone();
    case(
        move |_| {
            let condition = condition.clone();
            async move {
                let guard = condition.0.lock_async().await.unwrap();
                drop(condition.1.wait_with_async(guard).await.unwrap());
            }
        },
        move || _ = theirs.1.notify_all(1),
    )
}

pub(super) fn once(_: &Runtime) -> Case {
    let once = Arc::new(Once::new());
    let theirs = once.clone();
    case(
        move |_| {
            let once = once.clone();
            async move { once.wait_async().await }
        },
        move || theirs.call_once(|| ()),
    )
}
pub(super) fn once_lock(_: &Runtime) -> Case {
    let cell = Arc::new(OnceLock::new());
    let theirs = cell.clone();
    case(
        move |_| {
            let cell = cell.clone();
            async move { _ = cell.wait_async().await }
        },
        move || theirs.set(Box::new(1)).unwrap(),
    )
}
pub(super) fn once_lock_init(rt: &Runtime) -> Case {
    let cell = Arc::new(OnceLock::new());
    let theirs = cell.clone();
    let go = held(rt, move |go, held| {
        theirs.get_or_init(|| {
            held();
            go.recv().unwrap();
            1
        });
    });
    case(
        move |_| {
            let cell = cell.clone();
            async move { *cell.get_or_init_async(|| async { 2 }).await }
        },
        go,
    )
}
pub(super) fn single_flight(rt: &Runtime) -> Case {
    let flights = Arc::new(SingleFlight::new());
    let theirs = flights.clone();
    let go = held(rt, move |go, held| {
        theirs.run("key", || {
            held();
            go.recv().unwrap();
            1
        });
    });
    case(
        move |_| {
            let flights = flights.clone();
            async move { flights.run_async("key", || async { 2 }).await }
        },
        go,
    )
}

// ------------------------------------------------------------------------------------------------------- the engine

pub(super) fn join_closure(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        rt.spawn(move || _ = gate.recv())
    };
    case(|_| wait(), || drop(go))
}
pub(super) fn join_future(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        rt.spawn_async(async move { _ = gate.recv_async().await })
    };
    case(|_| wait(), || drop(go))
}
pub(super) fn join_set(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        let mut set = task::JoinSet::new();
        rt.run(|| set.spawn(move || _ = gate.recv()));
        async move { set.next_async().await }
    };
    case(|_| wait(), || drop(go))
}
pub(super) fn sleep(_: &Runtime) -> Case {
    timed(|_| time::sleep_async(SOON), || std::thread::sleep(SOON))
}
pub(super) fn timeout(_: &Runtime) -> Case {
    timed(|_| time::timeout_async(SOON, pending::<()>()), || std::thread::sleep(SOON))
}
pub(super) fn token(_: &Runtime) -> Case {
    let token = cancel::Token::new();
    let theirs = token.clone();
    case(
        move |_| {
            let token = token.clone();
            async move { _ = token.run_async(pending::<()>()).await }
        },
        move || theirs.cancel(),
    )
}
pub(super) fn compute(_: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    case(
        move |_| {
            let gate = gate.clone();
            myriad::compute_async(move || _ = gate.recv())
        },
        || drop(go),
    )
}
pub(super) fn blocking(_: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    case(
        move |_| {
            let gate = gate.clone();
            myriad::blocking_async(move || _ = gate.recv())
        },
        || drop(go),
    )
}
