//! States of servers, seen and replaced from outside.

use crate::actor_looks::{Log, To, info, log, seen};
use crate::common::wait_until;
use crate::*;
use myriad::actor::{CallError, Context, Next, Server, exit, resume, serve, suspend, with_state, with_state_mut};
use myriad::actor::{with_state_async, with_state_mut_async};
use myriad::channel::unbounded;
use myriad::sync::Event;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_state_is_seen_in_turn() {
    each_runtime(|| {
        let server = log();
        // What was sent before has been done, what comes later has not.
        for n in 0..200 {
            server.cast(To::Add(n));
            assert_eq!(seen(&server).unwrap().len(), n as usize + 1);
            if n % 3 == 0 {
                myriad::yield_now();
            }
        }
        let (begun, until) = (Arc::new(Event::new()), Arc::new(Event::new()));
        with_state_mut(&server, |log: &mut Log| log.0.clear()).unwrap();
        server.cast(To::Wait(begun.clone(), until.clone()));
        (0..3).for_each(|n| server.cast(To::Add(n)));
        begun.wait();
        let looks = server.clone();
        let (asks, asked) = unbounded();
        let look = myriad::spawn(move || {
            asks.send(()).unwrap();
            seen(&looks)
        });
        asked.recv().unwrap();
        until.set();
        let saw = look.join().unwrap().unwrap();
        assert_eq!(saw, [0, 1, 2]);
        // The code is the server's.
        let id = server.pid().id();
        assert_eq!(with_state(&server, move |_: &Log| actor::current().unwrap().id()), Ok(id));
        kill(&server);
        assert_eq!(seen(&server), Err(CallError::NoProcess));
    });
}

/// Many look while many send: each look sees what its caller has sent.
#[test]
fn looks_meet_messages() {
    let rounds = if common::full_length() { 2000 } else { 200 };
    each_runtime(|| {
        let server = log();
        myriad::scope(|s| {
            for who in 0..4_u32 {
                let server = &server;
                s.spawn(move || {
                    for n in 1..=rounds {
                        server.cast(To::Add(who));
                        let count = with_state(server, move |log: &Log| log.0.iter().filter(|&&w| w == who).count());
                        assert_eq!(count, Ok(n));
                    }
                });
            }
        });
        assert_eq!(server.call(To::Get).unwrap().len(), 4 * rounds);
        kill(&server);
    });
}

/// Suspensions, resumes, looks, messages, calls and a kill at the same time: none of them hangs.
#[test]
fn looks_meet_ends() {
    let rounds = if common::full_length() { 500 } else { 50 };
    each_runtime(|| {
        for round in 0..rounds {
            let server = log();
            server.cast(To::IdleAfter(Duration::from_micros(round % 7)));
            myriad::scope(|s| {
                for who in 0..4 {
                    let server = &server;
                    s.spawn(move || {
                        for n in 0..20 {
                            match (who * 5 + n * 3 + round) % 6 {
                                0 => drop(suspend(server).is_ok()),
                                1 => drop(resume(server).is_ok()),
                                2 => drop(seen(server)),
                                3 => drop(with_state_mut(server, |log: &mut Log| log.0.push(1))),
                                4 => server.cast(To::Add(1)),
                                // (Not a call: a suspended server would not answer.)
                                _ => drop(info(server).to_string()),
                            }
                            if who == 3 && n == 15 {
                                actor::kill(server);
                            }
                        }
                    });
                }
            });
            assert_eq!(end_of(&server), Reason::Killed);
        }
    });
}

/// The twins that are futures: in turn, of a suspended server at once; one that is dropped waits no
/// more; ends, panics and wrong types are as those of the calls that block.
#[test]
fn a_state_is_seen_by_futures() {
    each_runtime(|| {
        let server = log();
        let looks = server.clone();
        let sum = async move {
            let mut all = Vec::new();
            for n in 0..100 {
                looks.cast(To::Add(n));
                let many = with_state_async(&looks, |log: &Log| log.0.len()).await.unwrap();
                assert_eq!(many, n as usize + 1);
                all.push(with_state_mut_async(&looks, |log: &mut Log| log.0.iter().sum::<u32>()).await.unwrap());
            }
            all.last().copied()
        };
        assert_eq!(myriad::spawn_async(sum).join().unwrap(), Some(4950));
        // It waits without a stack, behind what the server does.
        let (begun, until) = (Arc::new(Event::new()), Arc::new(Event::new()));
        server.cast(To::Wait(begun.clone(), until.clone()));
        begun.wait();
        let seen = Arc::new(AtomicUsize::new(0));
        let (of_dropped, of_kept) = (seen.clone(), seen.clone());
        let mut dropped = Box::pin(with_state_async(&server, move |_: &Log| _ = of_dropped.fetch_add(1, SeqCst)));
        let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
        assert!(dropped.as_mut().poll(cx).is_pending());
        drop(dropped);
        let kept = with_state_mut_async(&server, move |log: &mut Log| {
            log.0.clear();
            of_kept.fetch_add(1, SeqCst)
        });
        until.set();
        // (The one before it was called all the same.)
        assert_eq!(myriad::block_on(kept), Ok(1));
        suspend(&server).unwrap();
        server.cast(To::Add(1));
        assert_eq!(myriad::block_on(with_state_async(&server, |log: &Log| log.0.len())), Ok(0));
        resume(&server).unwrap();
        let looks = || myriad::block_on(with_state_async(&server, |_: &Log| -> () { panic!("planned: a look") }));
        let payload = catch_unwind(AssertUnwindSafe(looks)).unwrap_err();
        assert_eq!(common::text(&*payload), "planned: a look");
        let changed = with_state_mut_async(&server, |_: &mut Log| -> () { panic!("planned: a change") });
        assert!(matches!(myriad::block_on(changed), Err(CallError::Exited(Reason::Panic(_)))));
        let late = with_state_async(&server, |log: &Log| log.0.len());
        assert_eq!(myriad::block_on(late), Err(CallError::NoProcess));
        let function = actor::spawn(forever::<()>);
        let wrong = with_state_async(&function, |log: &Log| log.0.len());
        assert_eq!(myriad::block_on(wrong), Err(CallError::WrongState));
        kill(&function);
    });
}

#[test]
fn a_look_that_is_wrong_says_so() {
    each_runtime(|| {
        struct Other;
        impl Server for Other {
            type Message = ();
            fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> Next<()> {
                Next::Go
            }
        }
        let (server, function) = (log(), actor::spawn(forever::<()>));
        assert_eq!(with_state(&server, |_: &Other| ()), Err(CallError::WrongState));
        assert_eq!(with_state_mut(&function, |_: &mut Other| ()), Err(CallError::WrongState));
        // It would wait for itself, or for one that waits for it.
        let me = server.clone();
        let found = server.call(|reply| To::Look(me, reply)).unwrap();
        assert_eq!(found, Err(CallError::Deadlock(vec![server.pid()])));
        [&server.pid(), &function.pid()].into_iter().for_each(kill);
    });
}

/// A panic of who only looks is that one's; of who changes, it ends the server.
#[test]
fn a_look_that_panics() {
    each_runtime(|| {
        let server = log();
        let looks = || with_state(&server, |_: &Log| -> () { panic!("planned: a look") });
        let payload = catch_unwind(AssertUnwindSafe(looks)).unwrap_err();
        assert_eq!(common::text(&*payload), "planned: a look");
        assert_eq!(seen(&server), Ok(vec![]));
        let (captured, drops) = Counted::new();
        let changed = with_state_mut(&server, move |log: &mut Log| -> () {
            let _captured = captured;
            log.0.push(1);
            panic!("planned: a change")
        });
        let Err(CallError::Exited(Reason::Panic(text))) = changed else { panic!("{changed:?}") };
        assert_eq!((&**text, drops.load(SeqCst)), ("planned: a change", 1));
        assert!(matches!(end_of(&server), Reason::Panic(_)));
    });
}

/// A change that panics while a message is in hand whose destructor panics, too: that comes later.
#[test]
fn a_look_that_panics_before_a_message_that_does() {
    struct Fails(Option<Arc<AtomicUsize>>);
    impl Drop for Fails {
        fn drop(&mut self) {
            if let Some(drops) = self.0.take() {
                drops.fetch_add(1, SeqCst);
                panic!("planned: a message");
            }
        }
    }
    enum Message {
        Wait(Arc<Event>, Arc<Event>),
        Hold(Fails),
    }
    struct Holds;
    impl Server for Holds {
        type Message = Message;
        fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> Next<Message> {
            match message {
                Message::Wait(begun, until) => {
                    begun.set();
                    until.wait();
                }
                Message::Hold(mut fails) => drop(fails.0.take()),
            }
            Next::Go
        }
    }
    each_runtime(|| {
        let (server, (begun, until)) = (serve(Holds), (Arc::new(Event::new()), Arc::new(Event::new())));
        server.cast(Message::Wait(begun.clone(), until.clone()));
        begun.wait();
        let changes = server.clone();
        let change = actor::spawn(move |_: Mailbox<()>| {
            let changed = with_state_mut(&changes, |_: &mut Holds| -> () { panic!("planned: a change") });
            assert!(matches!(changed, Err(CallError::Exited(Reason::Panic(_)))));
        });
        wait_until(|| info(&change).calls.is_some());
        (0..10).for_each(|_| myriad::yield_now());
        let drops = Arc::new(AtomicUsize::new(0));
        server.cast(Message::Hold(Fails(Some(drops.clone()))));
        until.set();
        assert_eq!(end_of(&change), Reason::Normal);
        assert!(matches!(end_of(&server), Reason::Panic(_)));
        // (Behind the order most often, and dropped with the mailbox; or handled before it.)
        assert!(drops.load(SeqCst) <= 1);
    });
}

/// The end of the server is the end of the looks that wait; what they have is dropped before.
#[test]
fn looks_that_wait_hear_of_the_end() {
    each_runtime(|| {
        let (server, (state, drops)) = (log(), Counted::new());
        let (begun, until) = (Arc::new(Event::new()), Arc::new(Event::new()));
        server.cast(To::Wait(begun.clone(), until));
        begun.wait();
        let looks: Vec<_> = (0..10)
            .map(|_| {
                let (server, state) = (server.clone(), state.clone());
                myriad::spawn(move || {
                    with_state(&server, move |_: &Log| {
                        let _state = state;
                    })
                })
            })
            .collect();
        (0..50).for_each(|_| myriad::yield_now());
        exit(&server, Reason::of("enough"));
        for look in looks {
            let error = look.join().unwrap().unwrap_err();
            assert!(error == CallError::Exited(Reason::of("enough")) || error == CallError::NoProcess, "{error}");
        }
        assert_eq!((end_of(&server), drops.load(SeqCst)), (Reason::of("enough"), 10));
        // A look that waits itself ends with the server, and its caller hears why.
        let server = log();
        let (begun, looks) = (Arc::new(Event::new()), server.clone());
        let began = begun.clone();
        let look = myriad::spawn(move || {
            with_state(&looks, move |_: &Log| {
                began.set();
                Event::new().wait();
            })
        });
        begun.wait();
        actor::kill(&server);
        assert_eq!(look.join().unwrap(), Err(CallError::Exited(Reason::Killed)));
    });
    // Where its runtime has ended the server ends.
    let rt = myriad::Builder::new().workers(1).build().unwrap();
    let server = rt.run(log);
    assert!(rt.shutdown(LONG).is_clean());
    assert_eq!(seen(&server), Err(CallError::Exited(Reason::Cancelled)));
}

/// What is dropped of a look that nobody waits for panics: that is reported, and the server lives.
#[test]
fn a_look_that_nobody_waits_for() {
    struct Fails;
    impl Drop for Fails {
        fn drop(&mut self) {
            panic!("planned: a result");
        }
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let server = log();
            let (begun, until) = (Arc::new(Event::new()), Arc::new(Event::new()));
            server.cast(To::Wait(begun.clone(), until.clone()));
            begun.wait();
            let (looks, (asks, asked)) = (server.clone(), unbounded());
            let look = myriad::spawn(move || {
                asks.send(()).unwrap();
                drop(with_state(&looks, |_: &Log| Some(Fails)).map(std::mem::forget));
            });
            asked.recv().unwrap();
            look.cancel();
            drop(look.join());
            until.set();
            assert_eq!(server.call(To::Get), Ok(vec![]));
            kill(&server);
        });
    });
}
