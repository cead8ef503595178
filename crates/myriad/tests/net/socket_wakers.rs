//! Situation 44. Wakers are code of users: they panic, they wait, they drop what they were for.

use crate::common::{Mode, case, each, plan, wait_until};
use crate::ends::half;
use myriad::net::TcpStream;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

/// Calls this when it is woken.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        self.0();
    }
}

fn calls(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(f)))
}

type Reads = Pin<Box<dyn Future<Output = usize> + Send>>;

/// A read that has begun to wait, with this waker.
fn waits(stream: TcpStream, waker: &Waker) -> Reads {
    let mut read: Reads = Box::pin(async move { stream.read_async(&mut [0; 8]).await.unwrap() });
    assert!(read.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    read
}

fn is_ready(read: &mut Reads) -> bool {
    matches!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(1))
}

/// Two events in one batch; the waker of the first panics: the second is told all the same.
#[test]
fn a_waker_that_panics() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let ((one, mut peer), (two, mut other)) = (half(), half());
            let woken = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
            let [panics, says] = woken.clone();
            let panics = calls(move || {
                panics.store(true, SeqCst);
                plan("a waker of a socket")
            });
            let mut first = waits(one, &panics);
            let mut second = waits(two, &calls(move || says.store(true, SeqCst)));
            peer.write_all(b"x").unwrap();
            other.write_all(b"x").unwrap();
            wait_until(|| woken.iter().all(|woken| woken.load(SeqCst)));
            assert!(is_ready(&mut first) && is_ready(&mut second), "nothing is lost");
        });
    });
}

/// In threads mode a task that only reads runs nobody's waker on its stack, also where it looks
/// for events itself: the waker may want a lock that the task holds.
#[test]
fn a_reader_runs_no_waker() {
    for workers in [1, 2] {
        case(
            Mode::Threads,
            workers,
            |builder| builder,
            |rt| {
                rt.run(|| {
                    for _ in 0..50 {
                        let ((one, mut peer), (two, mut other), (mine, mut last)) = (half(), half(), half());
                        let woken: Arc<Mutex<Option<ThreadId>>> = Arc::default();
                        let says = woken.clone();
                        let of = thread::current().id();
                        let mut read = waits(one, &calls(move || *says.lock().unwrap() = Some(thread::current().id())));
                        let begins = Arc::new(AtomicBool::new(false));
                        let (begun, answers) = (begins.clone(), myriad::spawn(move || two.read(&mut [0; 8]).unwrap()));
                        wait_until(|| answers.why_waiting().is_some());
                        // Both events are there when this task comes to wait, first the future's.
                        peer.write_all(b"x").unwrap();
                        other.write_all(b"x").unwrap();
                        let writes = thread::spawn(move || {
                            while !begun.load(SeqCst) {
                                thread::yield_now();
                            }
                            last.write_all(b"x").unwrap();
                            last
                        });
                        begins.store(true, SeqCst);
                        mine.read(&mut [0; 8]).unwrap();
                        assert_eq!(answers.join().unwrap(), 1);
                        wait_until(|| woken.lock().unwrap().is_some());
                        assert_ne!(*woken.lock().unwrap(), Some(of));
                        assert!(is_ready(&mut read));
                        drop(writes.join());
                    }
                });
            },
        );
    }
}

/// The waker of one event waits until the reader of another one has gone on, whose event came with
/// it: so that one is not held up.
#[test]
fn a_waker_that_waits_for_another_socket() {
    each(&[1, 2], |rt| {
        for order in [false, true] {
            rt.run(|| {
                let ((one, mut peer), (two, mut other)) = (half(), half());
                let (tx, rx) = myriad::channel::bounded::<()>(1);
                let woken = Arc::new(AtomicUsize::new(0));
                let says = woken.clone();
                let reads = myriad::spawn(move || {
                    two.read(&mut [0; 8]).unwrap();
                    tx.send(()).unwrap();
                });
                let first = waits(
                    one,
                    &calls(move || {
                        says.fetch_add(1, SeqCst);
                        rx.recv().unwrap();
                        says.fetch_add(1, SeqCst);
                    }),
                );
                (0..5).for_each(|_| myriad::yield_now());
                // Both at once, while no worker looks (with one worker).
                let both = [&mut peer, &mut other];
                let mut both =
                    if order { both } else { both.into_iter().rev().collect::<Vec<_>>().try_into().unwrap() };
                both.iter_mut().for_each(|peer| peer.write_all(b"x").unwrap());
                reads.join().unwrap();
                wait_until(|| woken.load(SeqCst) == 2);
                drop(first);
            });
        }
    });
}

/// The waker drops the read, and the socket with it, in the middle of the event.
#[test]
fn a_waker_that_drops_the_socket() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            for _ in 0..20 {
                let (one, mut peer) = half();
                let dropped = Arc::new(AtomicBool::new(false));
                let place: Arc<Mutex<Option<Reads>>> = Arc::default();
                let (says, of) = (dropped.clone(), place.clone());
                let waker = calls(move || {
                    let read = of.lock().unwrap().take();
                    drop(read);
                    says.store(true, SeqCst);
                });
                *place.lock().unwrap() = Some(waits(one, &waker));
                peer.write_all(b"x").unwrap();
                wait_until(|| dropped.load(SeqCst));
            }
        });
    });
}

/// A panic in a task that has the readiness: what comes is there for the next one.
#[test]
fn a_panic_beside_a_read() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (one, mut peer) = half();
            let one = Arc::new(one);
            for _ in 0..10 {
                let stream = one.clone();
                let panics = myriad::spawn(move || {
                    stream.peek(&mut [0; 1]).unwrap();
                    plan("before the read");
                });
                peer.write_all(b"x").unwrap();
                assert!(panics.join().unwrap_err().is_panic());
                assert_eq!(one.read(&mut [0; 8]).unwrap(), 1);
            }
        });
    });
}

/// Situation 45. One read, polled by turns with two wakers, and very often for nothing: the last
/// waker is the one that is woken, and none is kept.
#[test]
fn polled_often_and_with_other_wakers() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (one, mut peer) = half();
            let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            let wakers = counts.each_ref().map(|count| {
                let count = count.clone();
                calls(move || _ = count.fetch_add(1, SeqCst))
            });
            let mut read = waits(one, &wakers[0]);
            let polls = if crate::common::full_length() { 1_000_000 } else { 50_000 };
            for i in 0..polls {
                assert!(read.as_mut().poll(&mut Context::from_waker(&wakers[i % 2])).is_pending());
            }
            peer.write_all(b"x").unwrap();
            wait_until(|| counts[1].load(SeqCst) == 1);
            assert_eq!(counts[0].load(SeqCst), 0, "an older one is not woken");
            assert!(is_ready(&mut read));
            drop((read, wakers));
            wait_until(|| counts.iter().all(|count| Arc::strong_count(count) == 1));
        });
    });
}
