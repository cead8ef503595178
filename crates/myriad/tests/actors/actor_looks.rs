//! Looking into actors: what is known of one, who has spawned it, suspension, states of servers.

use crate::common::wait_until;
use crate::*;
use myriad::actor::{
    Ancestor, Builder, CallError, Context, Exit, Info, Next, NoProcess, OnFull, Reply, Server, Status, exit, receive,
    receive_async, resume, serve, suspend, with_state, with_state_mut,
};
use myriad::channel::unbounded;
use myriad::sync::Event;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn info(actor: &impl AsPid) -> Info {
    actor.pid().info()
}

/// Handles one message after the other, and says which.
struct Log(Vec<u32>);

enum To {
    Add(u32),
    Wait(Arc<Event>, Arc<Event>),
    Get(Reply<Vec<u32>>),
    IdleAfter(Duration),
    /// Has this one's state seen.
    Look(Address<To>, Reply<Result<usize, CallError>>),
}

impl Server for Log {
    type Message = To;
    fn handle(&mut self, message: To, _: &mut Context<'_, Self>) -> Next<To> {
        match message {
            To::Add(n) => self.0.push(n),
            To::Wait(begun, until) => {
                begun.set();
                until.wait();
            }
            To::Get(reply) => reply.send(self.0.clone()),
            To::IdleAfter(limit) => return Next::GoFor(limit),
            To::Look(at, reply) => reply.send(with_state(&at, |log: &Log| log.0.len())),
        }
        Next::Go
    }

    fn idle(&mut self, _: &mut Context<'_, Self>) -> Next<To> {
        self.0.push(1000);
        Next::Go
    }
}

fn log() -> Address<To> {
    serve(Log(Vec::new()))
}

fn seen(log: &Address<To>) -> Result<Vec<u32>, CallError> {
    with_state(log, |log: &Log| log.0.clone())
}

/// An actor of each kind that hands on what it receives.
fn receivers() -> Vec<(Address<u32>, myriad::channel::Receiver<u32>)> {
    type Start = fn(myriad::channel::Sender<u32>) -> Address<u32>;
    let kinds: [Start; 6] = [
        |tx| {
            actor::spawn(move |mut mail: Mailbox<u32>| {
                loop {
                    tx.send(mail.receive()).unwrap()
                }
            })
        },
        |tx| {
            actor::spawn(move |mut mail: Mailbox<u32>| {
                loop {
                    receive!(mail, { n if *n != 99 => tx.send(n).unwrap() })
                }
            })
        },
        |tx| {
            actor::spawn(move |mut mail: Mailbox<u32>| {
                loop {
                    tx.send(mail.receive_timeout(LONG).unwrap()).unwrap()
                }
            })
        },
        |tx| {
            actor::spawn_async(async move |mut mail: Mailbox<u32>| {
                loop {
                    tx.send(mail.receive_async().await).unwrap()
                }
            })
        },
        |tx| {
            actor::spawn_async(async move |mut mail: Mailbox<u32>| {
                loop {
                    receive_async!(mail, { n if *n != 99 => tx.send(n).unwrap() })
                }
            })
        },
        |tx| {
            actor::spawn_async(async move |mut mail: Mailbox<u32>| {
                loop {
                    tx.send(mail.receive_timeout_async(LONG).await.unwrap()).unwrap()
                }
            })
        },
    ];
    let start = |kind: Start| {
        let (tx, rx) = unbounded();
        (kind(tx), rx)
    };
    kinds.into_iter().map(start).collect()
}

#[test]
fn what_is_known_of_an_actor() {
    each_runtime(|| {
        let (go, end) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (begun, until, trapping) = (go.clone(), end.clone(), probe::<Exit>().0);
        let busy = actor::spawn(move |mail: Mailbox<Exit>| {
            mail.trap_exits(|exit| exit);
            begun.set();
            until.wait();
        });
        go.wait();
        let plain = info(&busy);
        assert_eq!((plain.parent(), plain.queued, plain.server), (None, 0, None));
        assert_eq!(plain.status, Status::Running);
        assert_eq!((plain.name, plain.calls, plain.monitors, plain.traps_exits), (None, None, 0, true));
        assert_eq!((plain.links, plain.groups), (vec![], vec![]));
        assert!(plain.spawned_at.file().ends_with("actor_looks.rs"));

        let id = busy.pid().id();
        let (name, group): (String, String) = (format!("looks-{id}"), format!("looks-of-{id}"));
        actor::register(&name, &busy).unwrap();
        actor::join_group(&group, &busy).unwrap();
        actor::link(&busy, &trapping).unwrap();
        let monitor = actor::monitor(&busy);
        exit(&busy, Reason::of("not now"));
        let rich = info(&busy);
        assert_eq!((rich.name.as_deref(), rich.queued, rich.monitors), (Some(&*name), 1, 1));
        assert_eq!((&rich.links, rich.groups.len(), &*rich.groups[0]), (&vec![trapping.pid()], 1, &*group));
        let text = rich.to_string();
        assert_eq!(
            text,
            format!(
                "actor '{name}' (#{id}) runs; 1 queued; linked to #{}; 1 monitors; in '{group}'; traps exits",
                trapping.pid().id()
            )
        );
        end.set();
        assert_eq!(monitor.wait().reason, Reason::Normal);
        let dead = info(&busy);
        assert_eq!((dead.status, dead.queued, dead.name), (Status::Ended(Reason::Normal), 0, None));
        assert_eq!((dead.links, dead.groups, dead.monitors), (vec![], vec![], 0));

        let server = log();
        let idle = info(&server);
        assert_eq!(idle.status, Status::Waiting);
        assert!(idle.server.unwrap().ends_with("Log"));
        for (actor, _rx) in receivers() {
            wait_until(|| info(&actor).status == Status::Waiting);
            kill(&actor);
        }
        [&server.pid(), &trapping.pid()].into_iter().for_each(kill);
    });
}

#[test]
fn a_call_that_waits_is_known() {
    each_runtime(|| {
        let (begun, until) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let server = log();
        server.cast(To::Wait(begun.clone(), until.clone()));
        begun.wait();
        let called = server.clone();
        let caller = actor::spawn(move |_: Mailbox<()>| assert_eq!(called.call(To::Get), Ok(vec![])));
        wait_until(|| info(&caller).calls.is_some());
        assert_eq!(info(&caller).calls, Some(server.pid()));
        assert!(info(&caller).to_string().contains(&format!("calls #{}", server.pid().id())));
        until.set();
        assert_eq!(end_of(&caller), Reason::Normal);
        kill(&server);
    });
}

/// OTP's `$ancestors`. Functions, futures, servers and supervisors know who has spawned them; whose
/// parent has ended keeps no memory of it, and a chain of successors does not grow.
#[test]
fn an_actor_knows_who_has_spawned_it() {
    each_runtime(|| {
        struct Spawns;
        impl Server for Spawns {
            type Message = Reply<Address<()>>;
            fn handle(&mut self, reply: Reply<Address<()>>, _: &mut Context<'_, Self>) -> Next<Self::Message> {
                reply.send(actor::spawn(forever));
                Next::Go
            }
        }
        let (tx, rx) = unbounded();
        let root = actor::spawn(move |mut mail: Mailbox<()>| {
            tx.send(serve(Spawns)).unwrap();
            mail.receive();
        });
        let server = rx.recv().unwrap();
        let (one, two) = (server.call(|reply| reply).unwrap(), server.call(|reply| reply).unwrap());
        assert_eq!(info(&root).ancestors, []);
        let ids = |info: Info| info.ancestors.iter().map(|ancestor| ancestor.id).collect::<Vec<_>>();
        for child in [&one, &two] {
            assert_eq!(ids(info(child)), [server.pid().id(), root.pid().id()]);
        }
        assert_eq!(info(&one).parent().unwrap().pid, Some(server.pid()));
        let name = format!("parent-{}", server.pid().id());
        actor::register(&name, &server).unwrap();
        let text = format!("spawned by '{name}' (#{}), #{}", server.pid().id(), root.pid().id());
        assert!(info(&one).to_string().contains(&text), "{}", info(&one));
        // It is known by its number and name when it has ended, and not kept.
        let weak = server.downgrade();
        kill(&server);
        drop(server);
        wait_until(|| weak.upgrade().is_none());
        let Ancestor { name: known, pid, .. } = info(&one).parent().unwrap().clone();
        assert_eq!((known.as_deref(), pid), (Some(&*name), None));
        root.cast(());
        [&one, &two].into_iter().for_each(kill);

        fn successor(mut mail: Mailbox<Reply<usize>>, left: usize) {
            match left {
                0 => mail.receive().send(info(&mail).ancestors.len()),
                _ => {
                    let reply = mail.receive();
                    actor::spawn(move |mail| successor(mail, left - 1)).cast(reply);
                }
            }
        }
        let count = actor::spawn(|mail| successor(mail, 30)).call(|reply| reply);
        assert_eq!(count, Ok(8));

        let child = actor::Child::new("child", || Ok(actor::spawn(forever::<()>)));
        let tree = actor::Supervisor::dynamic().child(child).start().unwrap();
        let child = tree.get::<()>("child").unwrap();
        assert_eq!(info(&child).parent().unwrap().pid, Some(tree.pid()));
        tree.stop();
    });
}

#[test]
fn a_suspended_actor_takes_no_message() {
    each_runtime(|| {
        for (actor, rx) in receivers() {
            actor.cast(1);
            assert_eq!(rx.recv(), Ok(1));
            // Once it waits, and once it may be on the way.
            for round in 0..10 {
                if round % 2 == 0 {
                    wait_until(|| info(&actor).status == Status::Waiting);
                }
                suspend(&actor).unwrap();
                suspend(&actor).unwrap();
                (2..5).for_each(|n| actor.cast(n));
                for _ in 0..20 {
                    myriad::yield_now();
                }
                assert!(rx.try_recv().is_err());
                let suspended = info(&actor);
                assert_eq!((suspended.status, suspended.queued), (Status::Suspended, 3));
                resume(&actor).unwrap();
                resume(&actor).unwrap();
                assert_eq!([2, 3, 4].map(|_| rx.recv().unwrap()), [2, 3, 4]);
            }
            // It ends all the same, and its partner is told.
            suspend(&actor).unwrap();
            actor.cast(5);
            let partner = Builder::new().link(&actor).spawn(forever::<()>);
            exit(&actor, Reason::of("enough"));
            assert_eq!((end_of(&actor), end_of(&partner)), (Reason::of("enough"), Reason::of("enough")));
            assert!(rx.recv().is_err());
            assert_eq!((suspend(&actor), resume(&actor)), (Err(NoProcess), Err(NoProcess)));
        }
    });
}

#[test]
fn a_suspended_actor_sees_its_time_go_on() {
    each_runtime(|| {
        let (tx, rx) = unbounded();
        let short = Duration::from_millis(1);
        let closure = actor::spawn(move |mut mail: Mailbox<u32>| {
            suspend(&mail).unwrap();
            mail.address().cast(1);
            assert_eq!((mail.try_receive(), mail.receive_timeout(short)), (None, None));
            receive!(mail, { n => panic!("{n}"), after short => () });
            tx.send(()).unwrap();
            assert_eq!(mail.receive(), 1);
        });
        rx.recv().unwrap();
        resume(&closure).unwrap();
        assert_eq!(end_of(&closure), Reason::Normal);
        let (tx, rx) = unbounded();
        let future = actor::spawn_async(async move |mut mail: Mailbox<u32>| {
            suspend(&mail).unwrap();
            mail.address().cast(1);
            assert_eq!(mail.receive_timeout_async(short).await, None);
            receive_async!(mail, { n => panic!("{n}"), after short => () });
            tx.send(()).unwrap();
            assert_eq!(mail.receive_async().await, 1);
        });
        rx.recv().unwrap();
        resume(&future).unwrap();
        assert_eq!(end_of(&future), Reason::Normal);
    });
}

#[test]
fn a_suspended_server_handles_nothing() {
    each_runtime(|| {
        for is_bounded in [false, true] {
            let builder = Builder::new();
            let builder = if is_bounded { builder.mailbox(1000, OnFull::Wait) } else { builder };
            let server = builder.serve(Log(Vec::new()));
            for round in 0..20 {
                server.cast(To::Add(1));
                if round % 2 == 0 {
                    wait_until(|| info(&server).status == Status::Waiting);
                }
                let before = if round % 2 == 0 { Some(seen(&server).unwrap()) } else { None };
                suspend(&server).unwrap();
                let called = server.clone();
                let call = myriad::spawn(move || called.call(To::Get));
                (2..5).for_each(|n| server.cast(To::Add(n)));
                wait_until(|| info(&server).queued >= 4);
                assert_eq!(info(&server).status, Status::Suspended);
                // (System messages are obeyed.)
                let now = seen(&server).unwrap();
                assert!(!now.contains(&2) && before.is_none_or(|before| before == now), "{now:?}");
                with_state_mut(&server, |log: &mut Log| log.0.clear()).unwrap();
                resume(&server).unwrap();
                assert!(call.join().unwrap().is_ok());
                let mut all = server.call(To::Get).unwrap();
                all.retain(|&n| n > 1);
                assert_eq!(all, [2, 3, 4]);
                with_state_mut(&server, |log: &mut Log| log.0.clear()).unwrap();
            }
            // An exit and a kill end it, with a message in hand and without one.
            for (n, with_message) in [(0, true), (1, false), (2, true), (3, false)] {
                let (server, (message, drops)) = (log(), Counted::new());
                suspend(&server).unwrap();
                if with_message {
                    server.cast(To::Add(1));
                }
                let partner = Builder::new().link(&server).spawn(move |mail: Mailbox<()>| {
                    let _message = message;
                    forever(mail)
                });
                let called = server.clone();
                let call = with_message.then(|| myriad::spawn(move || called.call(To::Get)));
                wait_until(|| info(&server).queued >= 2 * usize::from(with_message));
                let reason = if n < 2 { Reason::of("enough") } else { Reason::Killed };
                if n < 2 {
                    exit(&server, reason.clone())
                } else {
                    actor::kill(&server)
                }
                assert_eq!((end_of(&server), end_of(&partner)), (reason.clone(), reason.clone()));
                if let Some(call) = call {
                    assert_eq!(call.join().unwrap(), Err(CallError::Exited(reason)));
                }
                assert_eq!(drops.load(SeqCst), 1);
            }
            kill(&server);
        }
    });
}

/// The time of `GoFor` goes on: it is over at the resume, but for a message that has come.
#[test]
fn a_suspended_server_is_idle_at_the_resume() {
    each_runtime(|| {
        for comes in [false, true] {
            let server = log();
            server.call(To::Get).unwrap();
            server.cast(To::IdleAfter(Duration::from_millis(1)));
            suspend(&server).unwrap();
            // (The time may have been over before; its message may be handled after the resume.)
            myriad::time::sleep(Duration::from_millis(5));
            let before = seen(&server).unwrap();
            if comes {
                server.cast(To::Add(1));
                wait_until(|| info(&server).queued >= 1);
            }
            resume(&server).unwrap();
            if comes {
                wait_until(|| seen(&server).unwrap().contains(&1));
            } else {
                wait_until(|| seen(&server) == Ok(vec![1000]));
            }
            assert!(before.is_empty() || before == [1000]);
            kill(&server);
        }
    });
}

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

/// (E34) A value for each process: of a function a task-local, of a server a field of its state. A
/// handler sees the task-locals of who runs it, which is no one task.
#[test]
fn a_dictionary_of_an_actor() {
    use std::cell::Cell;
    myriad::task_local! { static NUMBER: Cell<u32> = Cell::new(1); }
    struct Asks;
    impl Server for Asks {
        type Message = Reply<u32>;
        fn handle(&mut self, reply: Reply<u32>, _: &mut Context<'_, Self>) -> Next<Reply<u32>> {
            reply.send(NUMBER.with(|n| n.replace(n.get() + 1)));
            Next::Go
        }
    }
    each_runtime(|| {
        let closure = actor::spawn(|mut mail: Mailbox<Reply<u32>>| {
            (0..2).for_each(|_| mail.receive().send(NUMBER.with(|n| n.replace(n.get() + 1))));
        });
        let future = actor::spawn_async(async |mut mail: Mailbox<Reply<u32>>| {
            for _ in 0..2 {
                let reply = mail.receive_async().await;
                reply.send(NUMBER.with(|n| n.replace(n.get() + 1)));
            }
        });
        for actor in [closure, future] {
            assert_eq!([(); 2].map(|()| actor.call(|reply| reply)), [Ok(1), Ok(2)]);
            assert_eq!(end_of(&actor), Reason::Normal);
        }
        // Each turn has its own.
        let server = serve(Asks);
        assert_eq!([(); 2].map(|()| server.call_timeout(LONG, |reply| reply)), [Ok(1), Ok(1)]);
        kill(&server);
    });
}
