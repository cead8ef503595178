//! Time limits of futures: `timeout_async` looks once more, and the forms with a limit of their own
//! are exact.
//!
//! A future with a time limit polls its operation, and then looks whether its time is over. For
//! that it clones the waker: user code, which can act just between the two.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::time::{now, timeout_async};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

/// Does something when its waker is cloned for the `when`th time.
struct AtClone {
    clones: Mutex<usize>,
    when: usize,
    act: Box<dyn Fn() + Send + Sync>,
}

const TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: of `waker`, below: an `Arc` that is alive as long as a waker of it.
        let this = unsafe { Arc::from_raw(data.cast::<AtClone>()) };
        let copy = Arc::into_raw(this.clone()).cast();
        let now = {
            let mut clones = this.clones.lock().unwrap();
            *clones += 1;
            *clones
        };
        if now == this.when {
            (this.act)();
        }
        std::mem::forget(this);
        RawWaker::new(copy, &TABLE)
    },
    drop_one,
    |_| (),
    drop_one,
);

fn drop_one(data: *const ()) {
    // SAFETY: this one goes, and is not used any more.
    drop(unsafe { Arc::from_raw(data.cast::<AtClone>()) });
}

fn waker(when: usize, act: impl Fn() + Send + Sync + 'static) -> Waker {
    let data = Arc::new(AtClone { clones: Mutex::new(0), when, act: Box::new(act) });
    // SAFETY: the table keeps the contract of wakers, for such data.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(data).cast(), &TABLE)) }
}

/// Polls it once, of which the first clone of the waker is for the operation, and the second for
/// the sleep.
fn polled_with<T>(future: impl Future<Output = T>, act: impl Fn() + Send + Sync + 'static) -> T {
    match pin!(future).poll(&mut Context::from_waker(&waker(2, act))) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("its time is over"),
    }
}

fn everywhere(body: impl Fn() + Sync) {
    body();
    each_runtime(|rt| rt.run(&body));
}

/// A receiver takes the message when the send was polled, and its time is over when that is looked
/// at: the send is done.
#[test]
fn sent_at_the_last_moment() {
    everywhere(|| {
        let (tx, rx) = rendezvous();
        let take = |rx: &Receiver<u32>| {
            let rx = rx.clone();
            move || assert_eq!(rx.try_recv(), Ok(7))
        };
        assert_eq!(polled_with(timeout_async(Duration::ZERO, tx.send_async(7)), take(&rx)), Ok(Ok(())));
        assert_eq!(polled_with(tx.send_timeout_async(7, Duration::ZERO), take(&rx)), Ok(()));
        assert_eq!(polled_with(tx.send_deadline_async(7, now()), take(&rx)), Ok(()));
    });
}

#[test]
fn received_at_the_last_moment() {
    everywhere(|| {
        for capacity in [0, 1] {
            let (tx, rx) = bounded(capacity);
            let send = |tx: &Sender<u32>| {
                let tx = tx.clone();
                move || assert_eq!(tx.try_send(7), Ok(()))
            };
            assert_eq!(polled_with(timeout_async(Duration::ZERO, rx.recv_async()), send(&tx)), Ok(Ok(7)));
            assert_eq!(polled_with(rx.recv_timeout_async(Duration::ZERO), send(&tx)), Ok(7));
            assert_eq!(polled_with(rx.recv_deadline_async(now()), send(&tx)), Ok(7));
            assert!(rx.is_empty());
        }
    });
}

#[test]
fn closed_at_the_last_moment() {
    everywhere(|| {
        let (tx, rx) = rendezvous::<u32>();
        let close = {
            let tx = tx.clone();
            move || assert!(tx.close())
        };
        assert_eq!(polled_with(rx.recv_timeout_async(Duration::ZERO), close), Err(RecvTimeoutError::Closed));
        let (tx, rx) = rendezvous::<u32>();
        let close = move || assert!(rx.close());
        assert_eq!(polled_with(tx.send_timeout_async(7, Duration::ZERO), close), Err(SendTimeoutError::Closed(7)));
    });
}

/// `timeout_async` polls once more when its time is over.
#[test]
fn one_look_more() {
    let mut polls = 0;
    let second = poll_fn(|_| {
        polls += 1;
        if polls == 2 { Poll::Ready(5) } else { Poll::Pending }
    });
    assert_eq!(myriad::block_on(timeout_async(Duration::ZERO, second)), Ok(5));
    assert!(myriad::block_on(timeout_async(Duration::ZERO, poll_fn(|_| Poll::<()>::Pending))).is_err());
}

#[test]
fn limits_of_futures() {
    everywhere(|| {
        let (tx, rx) = bounded::<u32>(1);
        let soon = Duration::from_millis(2);
        let begin = now();
        let late = myriad::block_on(rx.recv_timeout_async(soon));
        assert_eq!(late, Err(RecvTimeoutError::Timeout));
        assert!(now() >= begin + soon, "not before");
        assert_eq!(myriad::block_on(tx.send_timeout_async(1, soon)), Ok(()));
        assert_eq!(myriad::block_on(tx.send_timeout_async(2, soon)), Err(SendTimeoutError::Timeout(2)));
        // What is possible at once is done, however late it is.
        assert_eq!(myriad::block_on(rx.recv_deadline_async(begin)), Ok(1));
        assert_eq!(myriad::block_on(tx.send_deadline_async(3, begin)), Ok(()));
        // Dropped in line: nothing is lost, and nobody stands there any more.
        let mut sends = Box::pin(tx.send_timeout_async(4, Duration::from_secs(1000)));
        assert!(poll_once(sends.as_mut()).is_pending());
        drop(sends);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3]);
        let mut receives = Box::pin(rx.recv_timeout_async(Duration::from_secs(1000)));
        assert!(poll_once(receives.as_mut()).is_pending());
        tx.send(5).unwrap();
        drop(receives);
        assert_eq!(rx.try_recv(), Ok(5));
        tx.close();
        assert_eq!(myriad::block_on(tx.send_timeout_async(6, soon)), Err(SendTimeoutError::Closed(6)));
        assert_eq!(myriad::block_on(rx.recv_timeout_async(soon)), Err(RecvTimeoutError::Closed));
    });
}

/// Senders with tiny limits, who send again when they are told that the time has passed, against a
/// receiver of each kind: each message comes once, in order.
#[test]
fn impatient_futures() {
    const MESSAGES: u32 = 1_000;
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        for capacity in [0, 1] {
            for kind in KINDS {
                let (tx, rx) = bounded::<u32>(capacity);
                let mut random = Random::new(seed);
                let sends = rt.run(|| {
                    myriad::spawn_async(async move {
                        for mut message in 0..MESSAGES {
                            let limit =
                                |random: &mut Random| Duration::from_nanos([0, 500, 5_000, 30_000][random.below(4)]);
                            while let Err(error) = tx.send_timeout_async(message, limit(&mut random)).await {
                                assert!(error.is_timeout());
                                message = error.into_inner();
                            }
                        }
                    })
                });
                let all = receive_all(rt, kind, rx).join();
                assert!(all.iter().copied().eq(0..MESSAGES), "{kind:?} {capacity}: {all:?}");
                sends.join().unwrap();
            }
        }
    });
}
