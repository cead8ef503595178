//! What the channel tests share: runtimes of all sorts, partners of all kinds, messages that are
//! counted, wakers that count.

#![allow(dead_code, unused_imports)] // each test binary uses its part

use myriad::channel::{Receiver, RecvError, Sender, bounded, unbounded};
use myriad::{JoinHandle, Runtime};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub(crate) use crate::common::{Mode, watch_for};

/// The modes to test: but for sanitizers that do not know fibers (`MYRIAD_TEST_NO_FIBERS=1`) both,
/// where there are both.
pub(crate) fn modes() -> impl Iterator<Item = Mode> {
    let fibers = crate::common::fibers_supported() && std::env::var_os("MYRIAD_TEST_NO_FIBERS").is_none();
    crate::common::MODES.into_iter().filter(move |mode| fibers || *mode == Mode::Threads)
}

/// Runs `f` in both modes, with 1 and with 2 workers; afterwards no task may be left. Aborts when
/// that takes too long.
pub(crate) fn each_runtime(f: impl Fn(&Runtime)) {
    for mode in modes() {
        for workers in [1, 2] {
            // Unpinned: other tests run on the same cores.
            crate::common::case(mode, workers, |builder| builder.pin_workers(false), &f);
        }
    }
}

/// Who sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Closure,
    Future,
    Thread,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Closure, Kind::Future, Kind::Thread];

/// A partner that runs.
pub(crate) enum Running<T> {
    Task(JoinHandle<T>),
    Thread(std::thread::JoinHandle<T>),
}

impl<T> Running<T> {
    pub(crate) fn join(self) -> T {
        match self {
            Running::Task(task) => task.join().unwrap(),
            Running::Thread(thread) => {
                assert!(
                    myriad::task::current().is_none(),
                    "this holds a worker, perhaps of a task that the thread waits for"
                );
                thread.join().unwrap()
            }
        }
    }
}

/// Starts a partner of this kind: both bodies do the same, one blocks, the other awaits.
pub(crate) fn start<T: Send + 'static>(
    rt: &Runtime,
    kind: Kind,
    blocking: impl FnOnce() -> T + Send + 'static,
    future: impl Future<Output = T> + Send + 'static,
) -> Running<T> {
    match kind {
        Kind::Closure => Running::Task(rt.spawn(blocking)),
        Kind::Future => Running::Task(rt.run(|| myriad::spawn_async(future))),
        Kind::Thread => Running::Thread(std::thread::spawn(blocking)),
    }
}

/// Sends all these messages.
pub(crate) fn send_all<T: Send + 'static>(
    rt: &Runtime,
    kind: Kind,
    tx: Sender<T>,
    messages: impl Iterator<Item = T> + Clone + Send + 'static,
) -> Running<()> {
    let (tx2, messages2) = (tx.clone(), messages.clone());
    start(
        rt,
        kind,
        move || {
            for message in messages {
                assert!(tx.send(message).is_ok());
            }
        },
        async move {
            for message in messages2 {
                assert!(tx2.send_async(message).await.is_ok());
            }
        },
    )
}

/// Receives until the channel is closed.
pub(crate) fn receive_all<T: Send + 'static>(rt: &Runtime, kind: Kind, rx: Receiver<T>) -> Running<Vec<T>> {
    let rx2 = rx.clone();
    start(rt, kind, move || rx.iter().collect(), async move {
        let mut all = Vec::new();
        while let Ok(message) = rx2.recv_async().await {
            all.push(message);
        }
        all
    })
}

/// The capacities that matter: rendezvous, one, a few, any number.
pub(crate) const CAPACITIES: [Option<usize>; 4] = [Some(0), Some(1), Some(5), None];

pub(crate) fn channel<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    match capacity {
        Some(capacity) => bounded(capacity),
        None => unbounded(),
    }
}

/// Waits for a condition, in a task or on a thread.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        // Not for a time, only to let others run.
        myriad::time::sleep(Duration::from_micros(20));
    }
}

/// Counts messages that are alive.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) made: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
}

impl Count {
    pub(crate) fn alive(&self) -> usize {
        self.made.load(SeqCst) - self.dropped.load(SeqCst)
    }
}

/// A counted message: dropped exactly once, or a test fails.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) id: usize,
    count: Arc<Count>,
    alive: bool,
}

impl Counted {
    pub(crate) fn new(id: usize, count: &Arc<Count>) -> Counted {
        count.made.fetch_add(1, SeqCst);
        Counted { id, count: count.clone(), alive: true }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(std::mem::replace(&mut self.alive, false), "dropped twice");
        self.count.dropped.fetch_add(1, SeqCst);
    }
}

/// A waker that counts its wakes.
#[derive(Debug, Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Wakes {
    pub(crate) fn new() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (wakes.clone(), Waker::from(wakes))
    }
    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Polls once.
pub(crate) fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Polls once with a waker that does nothing.
pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll_with(future, Waker::noop())
}

/// The message of a receive that is ready.
pub(crate) fn ready<T>(polled: Poll<Result<T, RecvError>>) -> T {
    match polled {
        Poll::Ready(Ok(value)) => value,
        Poll::Ready(Err(_)) => panic!("closed"),
        Poll::Pending => panic!("pending"),
    }
}

/// Xorshift: the same numbers for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize) % n
    }
}

/// `MYRIAD_TEST_SEED`, or another one each time.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("MYRIAD_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64) % 1_000_000_007)
}
