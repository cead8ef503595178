//! The select of closures, futures and threads: what wins, what it brings, and that nothing else
//! happens.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select;
use myriad::select::Select;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn what_is_ready_wins() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (tx2, rx2) = unbounded::<u32>();
            tx.send("one").unwrap();
            let got = select! {
                word = rx.recv() => word.unwrap().len() as u32,
                number = rx2.recv() => number.unwrap(),
            };
            assert_eq!(got, 3);
            tx2.send(7).unwrap();
            let got = select! {
                word = rx.recv() => word.unwrap().len() as u32,
                number = rx2.recv() => number.unwrap(),
                after(LONG) => unreachable!(),
            };
            assert_eq!(got, 7);
            let got = select! {
                _ = rx.recv() => 1,
                _ = rx2.recv() => 2,
                default => 3,
            };
            assert_eq!(got, 3);
        });
    });
}

#[test]
fn every_kind_of_arm() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let (full, _keep) = bounded(1);
            full.send(0).unwrap();
            // Sends.
            select! {
                sent = tx.send(5) => sent.unwrap(),
                sent = full.send(6) => panic!("{sent:?}"),
            }
            assert_eq!(rx.recv(), Ok(5));
            // A task's end.
            let mut task = myriad::spawn(|| 6);
            select! {
                result = task.join() => assert_eq!(result.unwrap(), 6),
                _ = rx.recv() => unreachable!(),
            }
            struct Holder {
                task: Option<myriad::JoinHandle<u32>>,
                rx: Receiver<i32>,
            }
            let mut holder = Holder { task: Some(myriad::spawn(|| 8)), rx };
            select! {
                result = holder.task.as_mut().unwrap().join() => assert_eq!(result.unwrap(), 8),
                _ = holder.rx.recv() => unreachable!(),
            }
            // A future.
            select! {
                n = std::future::ready(9) => assert_eq!(n, 9),
                _ = holder.rx.recv() => unreachable!(),
            }
            async fn ten(n: u32) -> u32 {
                n
            }
            select! {
                n = std::pin::pin!(ten(10)) => assert_eq!(n, 10),
                n = ten(10) => assert_eq!(n, 10),
                Ok(_) | Err(_) = holder.rx.recv() => unreachable!(),
            }
            // Times.
            select! {
                after(Duration::from_millis(1)) => {}
                _ = holder.rx.recv() => unreachable!(),
            }
            let deadline = myriad::time::now();
            select! {
                at(deadline) => {}
                _ = holder.rx.recv() => unreachable!(),
            }
            // A closed channel.
            tx.close();
            select! {
                got = holder.rx.recv() => assert_eq!(got, Err(RecvError)),
            }
            select! {
                sent = tx.send(3) => assert_eq!(sent, Err(SendError(3))),
            }
        });
    });
}

#[test]
fn an_arm_that_has_lost_is_as_it_was() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (full, taken) = bounded(1);
            full.send(Box::new(1)).unwrap();
            let mut place = Some(Box::new(2));
            let (go, stay) = bounded::<()>(0);
            let mut task = myriad::spawn(move || stay.recv());
            tx.send(1).unwrap();
            select! {
                _ = rx.recv() => {}
                _ = full.send_from(&mut place) => unreachable!(),
                _ = task.join() => unreachable!(),
            }
            assert_eq!(place, Some(Box::new(2)), "not sent");
            // Waiting, too.
            let later = myriad::spawn(move || tx.send(2));
            select! {
                _ = rx.recv() => {}
                _ = full.send_from(&mut place) => unreachable!(),
                _ = task.join() => unreachable!(),
            }
            later.join().unwrap().unwrap();
            assert_eq!((place.is_some(), full.len()), (true, 1));
            assert_eq!(taken.recv(), Ok(Box::new(1)));
            select! {
                _ = rx.recv(), if false => unreachable!(),
                sent = full.send_from(&mut place) => sent.unwrap(),
                _ = task.join() => unreachable!(),
            }
            assert_eq!((place, taken.recv()), (None, Ok(Box::new(2))));
            go.close();
            assert_eq!(task.join().unwrap(), Err(RecvError));
        });
    });
}

#[test]
fn conditions() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let mut seen = Vec::new();
            for i in 0..20 {
                tx.send(i).unwrap();
                select! {
                    n = rx.recv(), if i % 2 == 0 => seen.push(n.unwrap()),
                    after(Duration::ZERO), if i % 2 == 1 => {}
                    _ = std::future::ready(()), if i > 100 => unreachable!(),
                }
            }
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        });
    });
}

#[test]
fn bodies_may_break_return_and_fail() {
    fn f(rx: &Receiver<u32>) -> Result<u32, RecvError> {
        let mut sum = 0;
        loop {
            select! {
                n = rx.recv() => match n? {
                    0 => break,
                    7 => return Ok(77),
                    n => sum += n,
                },
                after(LONG) => continue,
            }
        }
        Ok(sum)
    }
    let (tx, rx) = unbounded();
    [1, 2, 0, 1, 7, 1].into_iter().for_each(|n| tx.send(n).unwrap());
    assert_eq!(f(&rx), Ok(3));
    assert_eq!(f(&rx), Ok(77));
    drop(tx);
    assert_eq!(f(&rx), Err(RecvError));
}

#[test]
fn a_dynamic_select() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (full, taken) = bounded(0);
            let mut place = Some(String::from("kept"));
            {
                let mut select = Select::new();
                select.recv(&rx, |n| format!("{n:?}")).send_from(&full, &mut place, |r| format!("{r:?}"));
                select.add(select::after(LONG), |()| "late".into());
                assert_eq!((select.len(), select.try_wait()), (3, None));
                tx.send(1).unwrap();
                assert_eq!(select.wait(), "Ok(1)");
                let receiver = myriad::spawn(move || taken.recv());
                assert_eq!(select.wait(), "Ok(())", "the receiver's");
                assert_eq!(receiver.join().unwrap().unwrap(), "kept");
                tx.send(2).unwrap();
                assert_eq!(select.wait(), "Ok(2)", "the other arm is used up");
                assert_eq!(select.wait_timeout(Duration::from_millis(1)), None);
                tx.close();
                assert_eq!(select.wait(), "Err(RecvError)");
            }
            assert_eq!(place, None);
        });
    });
}

/// The most arms that `select!` takes.
#[test]
fn thirty_two_arms() {
    let channels: [_; 32] = std::array::from_fn(|_| bounded::<usize>(1));
    let (senders, receivers): (Vec<_>, Vec<_>) = channels.into_iter().unzip();
    #[rustfmt::skip]
    let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19, r20, r21, r22, r23, r24, r25, r26, r27,
        r28, r29, r30, _] = &receivers[..] else { unreachable!() };
    let (full, _left) = bounded(1);
    full.send(0).unwrap();
    for (i, sender) in senders[..30].iter().enumerate() {
        sender.send(i).unwrap();
        let got = select! {
                n = r0.recv() => (n, 0),
                n = r1.recv() => (n, 1),
                n = r2.recv() => (n, 2),
                n = r3.recv() => (n, 3),
                n = r4.recv() => (n, 4),
                n = r5.recv() => (n, 5),
                n = r6.recv() => (n, 6),
                n = r7.recv() => (n, 7),
                n = r8.recv() => (n, 8),
                n = r9.recv() => (n, 9),
                n = r10.recv() => (n, 10),
                n = r11.recv() => (n, 11),
                n = r12.recv() => (n, 12),
                n = r13.recv() => (n, 13),
                n = r14.recv() => (n, 14),
                n = r15.recv() => (n, 15),
                n = r16.recv() => (n, 16),
                n = r17.recv() => (n, 17),
                n = r18.recv() => (n, 18),
                n = r19.recv() => (n, 19),
                n = r20.recv() => (n, 20),
                n = r21.recv() => (n, 21),
                n = r22.recv() => (n, 22),
                n = r23.recv() => (n, 23),
                n = r24.recv() => (n, 24),
                n = r25.recv() => (n, 25),
                n = r26.recv() => (n, 26),
                n = r27.recv() => (n, 27),
                n = r28.recv() => (n, 28),
                n = r29.recv() => (n, 29),
            _ = r30.recv() => unreachable!(),
            _ = full.send(1) => unreachable!(),
        };
        assert_eq!(got, (Ok(i), i));
        let got = select! {
                n = r0.recv() => (n, 0),
                n = r1.recv() => (n, 1),
                n = r2.recv() => (n, 2),
                n = r3.recv() => (n, 3),
                n = r4.recv() => (n, 4),
                n = r5.recv() => (n, 5),
                n = r6.recv() => (n, 6),
                n = r7.recv() => (n, 7),
                n = r8.recv() => (n, 8),
                n = r9.recv() => (n, 9),
                n = r10.recv() => (n, 10),
                n = r11.recv() => (n, 11),
                n = r12.recv() => (n, 12),
                n = r13.recv() => (n, 13),
                n = r14.recv() => (n, 14),
                n = r15.recv() => (n, 15),
                n = r16.recv() => (n, 16),
                n = r17.recv() => (n, 17),
                n = r18.recv() => (n, 18),
                n = r19.recv() => (n, 19),
                n = r20.recv() => (n, 20),
                n = r21.recv() => (n, 21),
                n = r22.recv() => (n, 22),
                n = r23.recv() => (n, 23),
                n = r24.recv() => (n, 24),
                n = r25.recv() => (n, 25),
                n = r26.recv() => (n, 26),
                n = r27.recv() => (n, 27),
                n = r28.recv() => (n, 28),
                n = r29.recv() => (n, 29),
            default => (Ok(99), 99),
        };
        assert_eq!(got, (Ok(99), 99));
    }
}
