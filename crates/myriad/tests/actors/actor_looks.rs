//! Looking into actors: what is known of one, who has spawned it, suspension.

use crate::common::wait_until;
use crate::*;
use myriad::actor::{
    Ancestor, Builder, CallError, Context, Exit, Info, Next, NoProcess, OnFull, Reply, Server, Status, exit, receive,
    receive_async, resume, serve, suspend, with_state, with_state_mut,
};
use myriad::channel::unbounded;
use myriad::sync::Event;

pub(crate) fn info(actor: &impl AsPid) -> Info {
    actor.pid().info()
}

/// Handles one message after the other, and says which.
pub(crate) struct Log(pub(crate) Vec<u32>);

pub(crate) enum To {
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

pub(crate) fn log() -> Address<To> {
    serve(Log(Vec::new()))
}

pub(crate) fn seen(log: &Address<To>) -> Result<Vec<u32>, CallError> {
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
