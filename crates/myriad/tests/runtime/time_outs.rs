//! What is known of a wait that a time limit has ended.
#![cfg(debug_assertions)]

use crate::common::{each_owned, wait_until};
use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use myriad::sync::Mutex;
use myriad::{WaitReason, select, spawn, time};
use std::time::Duration;

/// A limit of the operation, one around code, of closures, futures and plain threads; many that end
/// at one moment.
#[test]
fn a_time_out_says_what_the_wait_was_for() {
    const SHORT: Duration = Duration::from_millis(5);
    type Channel = (Sender<()>, Receiver<()>);
    #[track_caller]
    fn is_told(made: u32) {
        let why = time::why_timed_out().expect("it is noted");
        assert_eq!((why.waited_for(), why.other_ends()), (WaitReason::Recv, Some(1)));
        let at = why.made_at().unwrap();
        assert_eq!((at.file(), at.line()), (file!(), made), "{why}");
        assert!(why.to_string().starts_with("waits for a message of the channel made at …"), "{why}");
    }
    fn closures([one, two]: [&Channel; 2], made: [u32; 2]) {
        assert!(one.1.recv_timeout(SHORT).is_err());
        is_told(made[0]);
        time::timeout(SHORT, || two.1.recv()).unwrap_err();
        is_told(made[1]);
        // The inner limit counts, then the outer one.
        let inner = time::timeout(SHORT, || time::timeout(SHORT * 1000, || one.1.recv()));
        assert!(inner.is_err());
        is_told(made[0]);
    }
    let channels = || {
        let one: Channel = unbounded();
        let two: Channel = unbounded();
        let line = line!();
        ([one, two], [line - 2, line - 1])
    };
    let ([one, two], made) = channels();
    std::thread::spawn(move || closures([&one, &two], made)).join().unwrap();
    each_owned(|_, rt| {
        let of_closures = (0..10).map(|_| {
            let ([one, two], made) = channels();
            rt.spawn(move || closures([&one, &two], made))
        });
        let of_futures = (0..10).map(|_| {
            let ([one, two], made) = channels();
            rt.spawn_async(async move {
                let ((_tx, rx), (_other, also_rx)) = (one, two);
                rx.recv_timeout_async(SHORT).await.unwrap_err();
                is_told(made[0]);
                time::timeout_async(SHORT, also_rx.recv_async()).await.unwrap_err();
                is_told(made[1]);
            })
        });
        let tasks: Vec<_> = of_closures.chain(of_futures).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        // A lock has no place; who had no time-out is told of none.
        rt.run(|| {
            let mutex = Mutex::new(());
            let _held = mutex.lock().unwrap();
            assert!(mutex.lock_timeout(SHORT).is_err());
            let why = time::why_timed_out().unwrap();
            assert_eq!((why.to_string().as_str(), why.made_at()), ("waits for a lock", None));
            spawn(|| assert!(time::why_timed_out().is_none())).join().unwrap();
        });
    });
}

/// A time-out at a channel says whether the other side has ever done something: by the buffer, from
/// hand to hand, and in a select.
#[test]
fn a_time_out_says_whether_anything_was_sent() {
    const SHORT: Duration = Duration::from_millis(2);
    type Make = fn() -> (Sender<u32>, Receiver<u32>);
    fn told_by_receiver(rx: &Receiver<u32>, expected: &str) {
        rx.recv_timeout(SHORT).unwrap_err();
        let why = time::why_timed_out().unwrap();
        assert_eq!(why.is_other_side_idle(), Some(expected.contains("none")), "{why}");
        assert!(why.to_string().ends_with(expected), "{why}");
    }
    fn told_by_sender(tx: &Sender<u32>, expected: &str) {
        tx.send_timeout(0, SHORT).unwrap_err();
        let why = time::why_timed_out().unwrap();
        assert!(why.to_string().ends_with(expected), "{why}");
    }
    each_owned(|_, rt| {
        let never = myriad::channel::never();
        // Another task waits before the message comes, or after.
        let blocks = |waits: Box<dyn FnOnce() + Send>| {
            let task = rt.spawn(waits);
            wait_until(|| rt.metrics().sum().blocked == 1);
            task
        };
        let channels: [Make; 3] = [unbounded, || bounded(1), rendezvous];
        for make in channels {
            let (tx, rx) = make();
            let more = (tx.clone(), tx.clone());
            told_by_receiver(&rx, " (3 senders, none has sent)");
            drop(more);
            let receiver = rx.clone();
            let receives = blocks(Box::new(move || _ = receiver.recv().unwrap()));
            tx.send(1).unwrap();
            receives.join().unwrap();
            told_by_receiver(&rx, " (1 sender)");

            let (tx, rx) = make();
            let receiver = rx.clone();
            let selects = blocks(Box::new(move || {
                let never = myriad::channel::never();
                select! { _ = receiver.recv() => {}, _ = never.recv() => {} }
            }));
            select! { sent = tx.send(1) => sent.unwrap(), _ = never.recv() => {} }
            selects.join().unwrap();
            told_by_receiver(&rx, " (1 sender)");
        }

        let (tx, rx) = bounded(1);
        tx.send(1).unwrap();
        told_by_sender(&tx, " (1 receiver, none has received)");
        rx.recv().unwrap();
        told_by_receiver(&rx, " (1 sender)");
        tx.send(1).unwrap();
        told_by_sender(&tx, " (1 receiver)");

        for selects in [false, true] {
            let (tx, rx) = rendezvous();
            told_by_sender(&tx, " (1 receiver, none has received)");
            told_by_receiver(&rx, " (1 sender, none has sent)");
            let sender = tx.clone();
            let sends = blocks(Box::new(move || sender.send(1).unwrap()));
            match selects {
                false => assert_eq!(rx.recv(), Ok(1)),
                true => select! { n = rx.recv() => assert_eq!(n, Ok(1)), _ = never.recv() => {} },
            }
            sends.join().unwrap();
            told_by_sender(&tx, " (1 receiver)");
        }
    });
}
