//! Sending and receiving: order, ends of mailboxes, selective receive, limits.

use crate::*;
use myriad::actor::{Builder, Context, Next, OnFull, Reply, Server, receive, receive_async};
use myriad::channel::{SendError, SendTimeoutError, TrySendError, unbounded};
use myriad::sync::Event;
use std::future::Future;
use std::task::Poll;

#[derive(Debug, PartialEq)]
enum Message {
    A(u32),
    B(u32),
    Down(Reason),
}

/// (1, 2) What one actor sends, and its end, come in order.
#[test]
fn messages_and_the_end_of_their_sender_come_in_order() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..200 {
                let (tx, rx) = unbounded();
                let watcher = actor::spawn(move |mut mail: Mailbox<Message>| {
                    let me = mail.address();
                    let sender = actor::spawn_async(async move |_: Mailbox<()>| {
                        for n in 0..10 {
                            me.cast(Message::A(n));
                        }
                    });
                    mail.monitor(&sender, |down| Message::Down(down.reason));
                    (0..11).for_each(|_| tx.send(mail.receive()).unwrap());
                });
                end_of(&watcher);
                let got: Vec<_> = rx.try_iter().collect();
                // (The sender may have ended before the monitor was made: then it is told at once.)
                if got[10] == Message::Down(Reason::Normal) {
                    assert_eq!(got[..10], (0..10).map(Message::A).collect::<Vec<_>>());
                } else {
                    assert!(got.contains(&Message::Down(Reason::NoProcess)), "{got:?}");
                }
            }
        });
    });
}

/// (3) To a dead one: `cast` drops the message here, `send` gives it back.
#[test]
fn a_message_to_a_dead_actor_is_dropped_at_its_sender() {
    each_runtime(|| {
        let actor = actor::spawn(|_: Mailbox<Counted>| ());
        end_of(&actor);
        let (message, drops) = Counted::new();
        actor.cast(message.clone());
        assert_eq!(drops.load(SeqCst), 1);
        let SendError(message) = actor.send(message).unwrap_err();
        assert!(matches!(actor.try_send(message), Err(TrySendError::Closed(_))));
        assert!(!actor.is_alive());
    });
}

/// (17) Oldest first over all arms, the others keep their order; a time of zero looks at all.
#[test]
fn a_selective_receive_takes_the_oldest_that_fits() {
    each_runtime(|| {
        let actor = actor::spawn(|mut mail: Mailbox<Message>| {
            while mail.pid().queued() < 5 {
                myriad::yield_now();
            }
            let zero = Duration::ZERO;
            assert!(!receive!(mail, { Message::A(9) => true, after zero => false }));
            assert_eq!(receive!(mail, { Message::B(n) => n, Message::A(n) if *n == 4 => n, after zero => 99 }), 1);
            assert_eq!(receive!(mail, { Message::B(n) if *n > 1 => { n }, Message::A(5) => 5, after zero => 99 }), 3);
            assert_eq!(
                (mail.receive(), mail.receive(), mail.try_receive()),
                (Message::A(0), Message::A(2), Some(Message::A(4)))
            );
            assert_eq!(mail.try_receive(), None);
            assert_eq!(receive!(mail, { Message::A(n) => n, after Duration::from_millis(1) => 99 }), 99);
        });
        [Message::A(0), Message::B(1), Message::A(2), Message::B(3), Message::A(4)]
            .into_iter()
            .for_each(|m| actor.cast(m));
        assert_eq!(end_of(&actor), Reason::Normal);
    });
}

#[test]
fn control_flow_in_an_arm_is_that_of_the_program() {
    each_runtime(|| {
        let actor = actor::spawn_async(async |mut mail: Mailbox<Message>| {
            let mut sum = 0;
            loop {
                receive_async!(mail, {
                    Message::A(0) => continue,
                    Message::A(n) => sum += n,
                    Message::B(7) => break,
                    Message::B(_) | Message::Down(_) => return Err(Reason::of("not this")),
                });
            }
            assert_eq!(sum, 6);
            Ok(())
        });
        [0, 1, 0, 2, 3].into_iter().for_each(|n| actor.cast(Message::A(n)));
        actor.cast(Message::B(7));
        assert_eq!(end_of(&actor), Reason::Normal);
    });
}

/// A receive from a mark looks at nothing that came before it.
#[test]
fn a_mark_passes_over_what_was_there() {
    each_runtime(|| {
        let actor = actor::spawn(|mut mail: Mailbox<Message>| {
            (0..10_000).for_each(|n| mail.address().cast(Message::A(n)));
            let mark = mail.mark();
            mail.address().cast(Message::A(77));
            let mut looks = 0;
            let (found, ()) = mail
                .select(Some(mark), None, |message| {
                    looks += 1;
                    matches!(message, Message::A(77)).then_some(())
                })
                .unwrap();
            assert_eq!((found, looks), (Message::A(77), 1));
            assert!((0..10_000).all(|n| mail.receive() == Message::A(n)));
        });
        assert_eq!(end_of(&actor), Reason::Normal);
    });
}

#[test]
fn a_receive_with_a_limit_gives_up_and_loses_nothing() {
    each_runtime(|| {
        let (first, last) = (Arc::new(Event::new()), unbounded());
        let (go, tx) = (first.clone(), last.0);
        let actor = actor::spawn_async(async move |mut mail: Mailbox<u32>| {
            assert_eq!(mail.receive_timeout_async(Duration::from_millis(1)).await, None);
            assert_eq!(mail.receive_timeout(Duration::from_millis(1)), None);
            go.set();
            assert_eq!(mail.receive_timeout_async(LONG).await, Some(1));
            // A future that is dropped after it was handed a message puts that back.
            let me = mail.address();
            {
                let mut receive = std::pin::pin!(mail.receive_async());
                assert!(std::future::poll_fn(|cx| Poll::Ready(receive.as_mut().poll(cx))).await.is_pending());
                me.cast(2);
            }
            tx.send(mail.try_receive())
        });
        first.wait();
        actor.cast(1);
        assert_eq!(last.1.recv(), Ok(Some(2)));
        end_of(&actor);
    });
}

/// Overload, policy by policy.
#[test]
fn a_full_mailbox_does_as_its_policy_says() {
    each_runtime(|| {
        let go = Arc::new(Event::new());
        let bounded = |policy| {
            let (go, (tx, rx)) = (go.clone(), unbounded());
            let actor = Builder::new().mailbox(2, policy).spawn(move |mut mail: Mailbox<u32>| {
                go.wait();
                loop {
                    match mail.receive() {
                        9 => return,
                        n => tx.send(n).unwrap(),
                    }
                }
            });
            (actor, rx)
        };
        let (waits, got_waits) = bounded(OnFull::Wait);
        let (refuses, got_refuses) = bounded(OnFull::Refuse);
        let (newest, got_newest) = bounded(OnFull::DropNewest);
        let (oldest, got_oldest) = bounded(OnFull::DropOldest);
        for actor in [&waits, &refuses, &newest, &oldest] {
            (1..=2).for_each(|n| actor.send(n).unwrap());
        }
        assert_eq!(refuses.send(3), Err(SendError(3)));
        assert_eq!((newest.send(3), oldest.send(3)), (Ok(()), Ok(())));
        assert_eq!(waits.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(waits.send_timeout(3, Duration::from_millis(1)), Err(SendTimeoutError::Timeout(3)));
        let more = [
            myriad::spawn({
                let waits = waits.clone();
                move || waits.send(3)
            }),
            {
                let waits = waits.clone();
                myriad::spawn_async(async move { waits.send_async(4).await })
            },
        ];
        go.set();
        more.into_iter().for_each(|sends| sends.join().unwrap().unwrap());
        // (All that there is was received before the last message is sent: no policy drops that.)
        let mut all: Vec<_> = got_waits.iter().take(4).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4]);
        for (got, expected) in [(got_refuses, [1, 2]), (got_newest, [1, 2]), (got_oldest, [2, 3])] {
            assert_eq!(got.iter().take(2).collect::<Vec<_>>(), expected);
        }
        for actor in [&waits, &refuses, &newest, &oldest] {
            actor.send(9).unwrap();
            end_of(actor);
        }
    });
}

/// The newest message is not the one that is dropped, also where all that count were taken out of
/// the queue: they are on their way to a handler, or a selective receive has put them off.
#[test]
fn a_mailbox_that_drops_the_oldest_keeps_the_newest() {
    struct Last(u32);
    impl Server for Last {
        type Message = (u32, Option<Reply<u32>>);
        fn handle(&mut self, (n, reply): Self::Message, _: &mut Context<'_, Self>) -> Next<Self::Message> {
            self.0 = self.0.max(n);
            reply.into_iter().for_each(|reply| reply.send(self.0));
            Next::Go
        }
    }
    each_runtime(|| {
        for _ in 0..20 {
            let server = Builder::new().mailbox(1, OnFull::DropOldest).serve(Last(0));
            (1..=3).for_each(|n| server.send((n, None)).unwrap());
            while server.pid().queued() > 0 {
                myriad::yield_now();
            }
            assert_eq!(server.call(|reply| (0, Some(reply))), Ok(3));
            kill(&server);
        }
        let (put_off, go) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (is_put_off, wait) = (put_off.clone(), go.clone());
        let (tells, told) = unbounded();
        let actor = Builder::new().mailbox(2, OnFull::DropOldest).spawn(move |mut mail: Mailbox<u32>| {
            while mail.pid().queued() < 2 {
                myriad::yield_now();
            }
            mail.mark();
            is_put_off.set();
            wait.wait();
            (0..3).for_each(|_| tells.send(mail.receive()).unwrap());
        });
        (1..=2).for_each(|n| actor.send(n).unwrap());
        put_off.wait();
        (3..=9).for_each(|n| actor.send(n).unwrap());
        go.set();
        assert_eq!(told.iter().collect::<Vec<_>>(), [1, 2, 9]);
    });
}

/// Whoever waits for room hears of the end.
#[test]
fn a_sender_that_waits_for_room_gets_its_message_back_at_the_end() {
    each_runtime(|| {
        let actor = Builder::new().mailbox(1, OnFull::Wait).spawn(|_: Mailbox<u32>| myriad::time::sleep(LONG));
        actor.send(1).unwrap();
        let sends: Vec<_> = (2..10)
            .map(|n| {
                let actor = actor.clone();
                myriad::spawn(move || actor.send(n))
            })
            .collect();
        myriad::yield_now();
        kill(&actor);
        assert!((2..10).zip(sends).all(|(n, send)| send.join().unwrap() == Err(SendError(n))));
    });
}

/// (40) Addresses do not keep an actor, and one without addresses lives on.
#[test]
fn an_actor_lives_on_without_addresses() {
    each_runtime(|| {
        let (tx, rx) = unbounded();
        let actor = actor::spawn(move |mut mail: Mailbox<u32>| tx.send(mail.receive()).unwrap());
        let timer = actor.send_after(Duration::from_millis(5), 7);
        let weak = actor.downgrade();
        drop((actor, timer));
        assert_eq!(rx.recv(), Ok(7));
        while weak.upgrade().is_some() {
            myriad::yield_now();
        }
    });
}

/// (40) The head of a long chain is dropped: nothing recurses.
#[test]
fn a_chain_of_addresses_ends_without_recursion() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let length = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
            let (done, (tx, rx)) = (Counted::new().0, unbounded::<()>());
            let mut next: Option<Address<()>> = None;
            for _ in 0..length {
                let (to, done, tx) = (next.take(), done.clone(), tx.clone());
                next = Some(actor::spawn_async(async move |mut mail: Mailbox<()>| {
                    mail.receive_async().await;
                    if let Some(to) = &to {
                        to.cast(());
                    }
                    drop((to, done, tx));
                }));
            }
            next.take().unwrap().cast(());
            drop(tx);
            assert!(rx.recv().is_err());
            assert_eq!(done.0.load(SeqCst), length);
        });
    });
}

/// A task that casts without end is cancelled where its budget ends: the message in its hand is
/// dropped, too.
#[test]
fn a_cancelled_cast_drops_its_message() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            for _ in 0..20 {
                let [made, dropped] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
                let begun = Arc::new(Event::new());
                let counted = Arc::clone(&dropped);
                let sink = actor::spawn_async(
                    async |mut mail: Mailbox<Option<Counted>>| {
                        while mail.receive_async().await.is_some() {}
                    },
                );
                let (to, making, begin) = (sink.clone(), made.clone(), begun.clone());
                let sender = myriad::spawn(move || {
                    loop {
                        making.fetch_add(1, SeqCst);
                        to.cast(Some(Counted(counted.clone())));
                        begin.set();
                    }
                });
                begun.wait();
                sender.cancel();
                assert!(sender.join().is_err());
                let end = actor::monitor(&sink);
                sink.cast(None);
                assert!(end.wait().reason.is_normal());
                assert_eq!((made.load(SeqCst), Arc::strong_count(&dropped)), (dropped.load(SeqCst), 1));
            }
        });
    });
}

/// A sender that is cancelled within a send leaves no place of the mailbox behind.
#[test]
fn a_cancelled_sender_leaves_its_place() {
    each(&[1], |rt| {
        rt.run(|| {
            const ROOM: usize = 200_000;
            let go = Arc::new(Event::new());
            let wait = go.clone();
            let actor = Builder::new().mailbox(ROOM, OnFull::Wait).spawn(move |mut mail: Mailbox<u32>| {
                wait.wait();
                loop {
                    mail.receive();
                }
            });
            for _ in 0..5 {
                let (to, before) = (actor.clone(), actor.pid().queued());
                let sends = myriad::spawn(move || (0..20_000).for_each(|n| to.send(n).unwrap()));
                // It runs until its budget is used up: within a send.
                while actor.pid().queued() == before {
                    myriad::yield_now();
                }
                sends.cancel();
                assert!(sends.join().unwrap_err().is_cancelled());
            }
            let (queued, mut more) = (actor.pid().queued(), 0);
            while actor.try_send(0).is_ok() {
                more += 1;
            }
            kill(&actor);
            assert_eq!(queued + more, ROOM);
        });
    });
}

/// The oldest message is dropped for a new one, and its destructor panics: the place is free.
#[test]
fn a_destructor_that_panics_takes_no_place_along() {
    struct Fails(bool);
    impl Drop for Fails {
        fn drop(&mut self) {
            if self.0 && !std::thread::panicking() {
                panic!("planned: a destructor");
            }
        }
    }
    each_runtime(|| {
        let actor = Builder::new().mailbox(2, OnFull::DropOldest).spawn(forever::<Fails>);
        actor::suspend(&actor).unwrap();
        (0..2).for_each(|_| actor.cast(Fails(true)));
        let cast = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| actor.cast(Fails(false))));
        // The second one finds a place; the third one is instead of the other that fails.
        assert_eq!([cast(), cast(), cast()].map(|cast| cast.is_err()), [true, false, true]);
        (0..3).for_each(|_| actor.cast(Fails(false)));
        assert_eq!(actor.pid().queued(), 2);
        kill(&actor);
    });
}
