//! Calls: answers, their want, time limits, deadlocks.

use crate::*;
use myriad::actor::{CallError, Context, Next, Reply, Server, serve};
use myriad::channel::{Sender, unbounded};
use myriad::sync::Event;

enum Message {
    Get(Reply<u32>),
    Drop(Reply<u32>),
    Fail(Reply<u32>),
    Stop(Reply<u32>),
    Later(Reply<u32>),
    Call(Address<Message>, Reply<Result<u32, CallError>>),
    /// Asks the first one, then has the second one call the third one.
    Detour([Address<Message>; 3], Reply<Result<u32, CallError>>),
    /// Answers, and calls then: what comes of that goes into the channel.
    CallLater(Address<Message>, Sender<Result<u32, CallError>>, Reply<u32>),
    /// Fails, and catches that.
    FailCaught(Reply<u32>),
    Wait(Arc<Event>, Arc<Event>),
}

/// The same as a function and as a server; one of the servers is called in place.
struct Body<const IN_PLACE: bool>;

fn handle(message: Message) -> Next<Message> {
    match message {
        Message::Get(reply) => reply.send(7),
        Message::Drop(reply) => drop(reply),
        Message::Fail(_reply) => panic!("planned: a call"),
        Message::Stop(_reply) => return Next::Stop(Reason::Shutdown),
        Message::Later(reply) => drop(myriad::spawn(move || reply.send(8))),
        Message::Call(to, reply) => reply.send(to.call(Message::Get)),
        Message::Detour([asked, through, to], reply) => {
            asked.call(Message::Get).unwrap();
            reply.send(through.call(|reply| Message::Call(to, reply)).unwrap_or_else(Err));
        }
        Message::CallLater(to, then, reply) => {
            reply.send(7);
            then.send(to.call(Message::Get)).unwrap();
        }
        Message::FailCaught(reply) => {
            let fails = || {
                let _reply = reply;
                panic!("planned: a call, caught")
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails)).unwrap_err();
        }
        Message::Wait(begun, until) => {
            begun.set();
            until.wait();
        }
    }
    Next::Go
}

impl<const IN_PLACE: bool> Server for Body<IN_PLACE> {
    type Message = Message;
    const CALL_IN_PLACE: bool = IN_PLACE;
    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> Next<Message> {
        handle(message)
    }
}

/// One of each kind.
fn each_kind(test: impl Fn(Address<Message>)) {
    let closure = |mut mail: Mailbox<Message>| {
        loop {
            if let Next::Stop(reason) = handle(mail.receive()) {
                return reason;
            }
        }
    };
    let future = async |mut mail: Mailbox<Message>| {
        loop {
            if let Next::Stop(reason) = handle(mail.receive_async().await) {
                return reason;
            }
        }
    };
    for start in [
        (&|| actor::spawn(closure)) as &dyn Fn() -> Address<Message>,
        &|| actor::spawn_async(future),
        &|| serve(Body::<true>),
        &|| serve(Body::<false>),
    ] {
        let actor = start();
        test(actor.clone());
        kill(&actor);
    }
}

#[test]
fn a_call_brings_the_answer_from_everywhere() {
    each_runtime(|| {
        each_kind(|actor| {
            assert_eq!((actor.call(Message::Get), actor.call(Message::Later)), (Ok(7), Ok(8)));
            assert_eq!(actor.call_timeout(LONG, Message::Get), Ok(7));
            assert_eq!(myriad::block_on(actor.call_async(Message::Get)), Ok(7));
            assert_eq!(myriad::block_on(actor.call_timeout_async(LONG, Message::Get)), Ok(7));
            let thread = {
                let actor = actor.clone();
                std::thread::spawn(move || actor.call(Message::Get))
            };
            while !thread.is_finished() {
                myriad::yield_now();
            }
            assert_eq!(thread.join().unwrap(), Ok(7));
        });
    });
}

/// (21, 24) A dead one, one that ends meanwhile, one that does not answer: at once.
#[test]
fn a_call_without_an_answer_says_why_at_once() {
    each_runtime(|| {
        each_kind(|actor| {
            assert_eq!(actor.call(Message::Drop), Err(CallError::NoReply));
            assert_eq!(actor.call_timeout(LONG, Message::Drop), Err(CallError::NoReply));
            let failed = actor.call(Message::Fail);
            assert!(
                matches!(&failed, Err(CallError::Exited(Reason::Panic(text))) if ***text == *"planned: a call"),
                "{failed:?}"
            );
            end_of(&actor);
            assert_eq!(actor.call(Message::Get), Err(CallError::NoProcess));
            assert_eq!(actor.call_timeout(LONG, Message::Get), Err(CallError::NoProcess));
        });
        each_kind(|actor| {
            let stopped = actor.call(Message::Stop);
            assert!(matches!(stopped, Err(CallError::NoReply | CallError::Exited(Reason::Shutdown))), "{stopped:?}");
        });
    });
}

/// (20) Calls that wait in the mailbox get the reason.
#[test]
fn calls_in_the_mailbox_hear_the_reason() {
    each_runtime(|| {
        let (begun, go) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (begin, wait) = (begun.clone(), go.clone());
        let actor = actor::spawn(move |mut mail: Mailbox<Reply<u32>>| {
            begin.set();
            wait.wait();
            // Also those that a selective receive has put off.
            assert!(mail.select(None, Some(myriad::time::now()), |_| None::<()>).is_none());
            Err::<(), _>("no paper")
        });
        begun.wait();
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let actor = actor.clone();
                myriad::spawn(move || actor.call(|reply| reply))
            })
            .collect();
        while actor.pid().queued() < 10 {
            myriad::yield_now();
        }
        go.set();
        for call in calls {
            assert_eq!(call.join().unwrap(), Err(CallError::Exited(Reason::of("no paper"))));
        }
    });
}

/// (22) When the time is over only the caller has failed; the answer goes nowhere, and who answers
/// can know.
#[test]
fn a_call_whose_time_is_over_leaves_nothing() {
    each_runtime(|| {
        let go = Arc::new(Event::new());
        let wait = go.clone();
        let actor = actor::spawn(move |mut mail: Mailbox<Reply<u32>>| {
            let late = mail.receive();
            wait.wait();
            assert!(late.is_closed());
            assert_eq!(late.try_send(1), Err(1));
            mail.receive().send(2);
        });
        assert_eq!(actor.call_timeout(Duration::from_millis(1), |reply| reply), Err(CallError::Timeout));
        go.set();
        assert_eq!(actor.call(|reply| reply), Ok(2));
        assert_eq!(end_of(&actor), Reason::Normal);
    });
}

/// (21, 25) To oneself, and in a circle of two and of three: named, not waited for.
#[test]
fn a_deadlock_of_calls_is_found_and_named() {
    enum Step {
        Next(Vec<Address<Step>>, Reply<Result<u32, CallError>>),
    }
    fn step(Step::Next(mut to, reply): Step) {
        let next = to.remove(0);
        let found = next.call(|reply| Step::Next(to, reply));
        reply.send(found.unwrap_or_else(Err));
    }
    struct Place<const IN_PLACE: bool>;
    impl<const IN_PLACE: bool> Server for Place<IN_PLACE> {
        type Message = Step;
        const CALL_IN_PLACE: bool = IN_PLACE;
        fn handle(&mut self, message: Step, _: &mut Context<'_, Self>) -> Next<Step> {
            step(message);
            Next::Go
        }
    }
    each_runtime(|| {
        let kinds: [fn() -> Address<Step>; 3] = [
            || {
                actor::spawn(|mut mail: Mailbox<Step>| {
                    loop {
                        step(mail.receive())
                    }
                })
            },
            || serve(Place::<true>),
            || serve(Place::<false>),
        ];
        for first in kinds {
            for second in kinds {
                let (a, b, c) = (first(), second(), first());
                let circles = [vec![a.clone()], vec![b.clone(), a.clone()], vec![b.clone(), c.clone(), a.clone()]];
                for circle in circles {
                    let mut named: Vec<_> = vec![a.pid()];
                    named.extend(circle[..circle.len() - 1].iter().map(AsPid::pid));
                    let found = a.call(|reply| Step::Next(circle, reply));
                    let Ok(Err(CallError::Deadlock(mut pids))) = found else { panic!("{found:?}") };
                    assert!(CallError::Deadlock(pids.clone()).to_string().contains("for ever"));
                    // From the called one on: the last caller is the one that called.
                    pids.sort_unstable_by_key(|pid| pid.id());
                    named.sort_unstable_by_key(|pid| pid.id());
                    assert!(
                        named.ends_with(&pids) || pids.iter().all(|pid| named.contains(pid)),
                        "{pids:?} of {named:?}"
                    );
                    assert!(pids.contains(&a.pid()));
                }
                [a, b, c].iter().for_each(kill);
            }
        }
    });
}

/// A call to another one is no deadlock, and none is left over.
#[test]
fn calls_in_a_row_are_no_deadlock() {
    each_runtime(|| {
        each_kind(|actor| {
            let other = serve(Body::<true>);
            for _ in 0..10 {
                assert_eq!(actor.call(|reply| Message::Call(other.clone(), reply)), Ok(Ok(7)));
                assert_eq!(other.call(|reply| Message::Call(actor.clone(), reply)), Ok(Ok(7)));
            }
            kill(&other);
        });
    });
}

/// A caller that is cancelled leaves the actor as it is.
#[test]
fn a_cancelled_caller_leaves_the_actor() {
    each_runtime(|| {
        let go = Arc::new(Event::new());
        let wait = go.clone();
        let actor = actor::spawn(move |mut mail: Mailbox<Reply<u32>>| {
            wait.wait();
            loop {
                mail.receive().send(7);
            }
        });
        let called = actor.clone();
        let call = myriad::spawn(move || called.call(|reply| reply));
        while actor.pid().queued() == 0 {
            myriad::yield_now();
        }
        call.cancel();
        assert!(call.join().unwrap_err().is_cancelled());
        go.set();
        assert_eq!(actor.call(|reply| reply), Ok(7));
        kill(&actor);
    });
}

/// A caller whose answer was sent waits no longer, also where it has not gone on yet.
#[test]
fn a_call_back_after_the_answer_is_no_deadlock() {
    each_runtime(|| {
        let (tells, told) = unbounded();
        let called = actor::spawn(|mut mail: Mailbox<Message>| {
            loop {
                handle(mail.receive());
            }
        });
        let to = called.clone();
        let caller = actor::spawn(move |mut mail: Mailbox<Message>| {
            let me = mail.address();
            for _ in 0..10 {
                assert_eq!(to.call(|reply| Message::CallLater(me.clone(), tells.clone(), reply)), Ok(7));
                handle(mail.receive());
            }
        });
        assert_eq!(end_of(&caller), Reason::Normal);
        assert_eq!(told.iter().take(10).collect::<Vec<_>>(), vec![Ok(7); 10]);
        kill(&called);
    });
}

/// In place the caller waits until the handler returns: a call back would wait for ever.
#[test]
fn a_call_back_in_place_is_a_deadlock_after_the_answer_too() {
    each_runtime(|| {
        let (tells, told) = unbounded();
        let server = serve(Body::<true>);
        let to = server.clone();
        let caller = actor::spawn(move |mut mail: Mailbox<Message>| {
            let me = mail.address();
            assert_eq!(to.call(|reply| Message::CallLater(me, tells, reply)), Ok(7));
            while let Some(message) = mail.receive_timeout(Duration::from_millis(1)) {
                handle(message);
            }
        });
        // (Where the stack had no room the handler has not run in place.)
        assert!(matches!(told.recv().unwrap(), Ok(7) | Err(CallError::Deadlock(_))));
        assert_eq!(end_of(&caller), Reason::Normal);
        kill(&server);
    });
}

/// What was asked on the way leaves the wait of the outer call as it was.
#[test]
fn a_deadlock_is_found_after_other_calls() {
    each_runtime(|| {
        each_kind(|through| {
            let (server, asked) = (serve(Body::<true>), serve(Body::<true>));
            let all = (server.clone(), asked.clone(), through.clone());
            // A handler in place asks another server first.
            let caller = actor::spawn(move |mail: Mailbox<Message>| {
                let (server, asked, through) = all;
                let found = server.call(|reply| Message::Detour([asked, through, mail.address()], reply));
                assert!(matches!(found, Ok(Err(CallError::Deadlock(_)))), "{found:?}");
            });
            assert_eq!(end_of(&caller), Reason::Normal);
            // So does the function that makes the message.
            let all = (asked.clone(), through.clone());
            let caller = actor::spawn(move |mail: Mailbox<Message>| {
                let (asked, through) = all;
                let found = through.call(|reply| {
                    asked.call(Message::Get).unwrap();
                    Message::Call(mail.address(), reply)
                });
                assert!(matches!(found, Ok(Err(CallError::Deadlock(_)))), "{found:?}");
            });
            assert_eq!(end_of(&caller), Reason::Normal);
            [server, asked].iter().for_each(kill);
        });
    });
}

/// A panic that the actor has caught is not its end: the caller hears at once that no answer comes.
#[test]
fn a_reply_dropped_by_a_caught_panic_is_no_reply() {
    each_runtime(|| {
        each_kind(|actor| {
            assert_eq!(actor.call(Message::FailCaught), Err(CallError::NoReply));
            // Also where the actor goes on with a message that is there already.
            let [begun, go, again, never] = std::array::from_fn(|_| Arc::new(Event::new()));
            actor.cast(Message::Wait(begun.clone(), go.clone()));
            begun.wait();
            let call = {
                let actor = actor.clone();
                myriad::spawn(move || actor.call(Message::FailCaught))
            };
            while actor.pid().queued() == 0 {
                myriad::yield_now();
            }
            actor.cast(Message::Wait(again.clone(), never));
            go.set();
            assert_eq!(call.join().unwrap(), Err(CallError::NoReply));
            again.wait();
        });
    });
}

/// A future that is ended with a reply in hand: its caller hears why, also before the rest is gone.
#[test]
fn a_reply_in_a_future_that_is_ended_brings_the_reason() {
    each_runtime(|| {
        for reason in [Reason::Killed, Reason::of("enough")] {
            struct Waits(Arc<Event>);
            impl Drop for Waits {
                fn drop(&mut self) {
                    self.0.wait();
                }
            }
            let (begun, heard) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let (begin, rest) = (begun.clone(), Waits(heard.clone()));
            let actor = actor::spawn_async(async move |mut mail: Mailbox<Reply<u32>>| {
                let _rest = rest;
                let _reply = mail.receive_async().await;
                begin.set();
                std::future::pending::<()>().await;
            });
            let call = {
                let actor = actor.clone();
                myriad::spawn(move || actor.call(|reply| reply))
            };
            begun.wait();
            match reason {
                Reason::Killed => actor::kill(&actor),
                _ => actor::exit(&actor, reason.clone()),
            }
            let called = call.join().unwrap();
            heard.set();
            assert_eq!(called, Err(CallError::Exited(reason)));
        }
    });
}

/// A message with a reply may be handled within `catch_unwind`.
#[test]
fn a_reply_is_unwind_safe() {
    fn is_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    is_safe::<myriad::actor::Reply<u8>>();
}

/// A kill that arrives within an answer is the reason that its caller hears. (The budget of
/// operations ends within the answer for some value of `spent`.)
#[test]
fn a_kill_within_an_answer_is_the_reason() {
    /// Gives the caller time to hear too early.
    struct Lingers(bool);
    impl Drop for Lingers {
        fn drop(&mut self) {
            if self.0 && std::thread::panicking() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    each(&[2], |rt| {
        rt.run(|| {
            for spent in (0..10).flat_map(|_| (248..260).chain(4088..4100)) {
                let (tx, _rx) = unbounded();
                let actor = actor::spawn(move |mut mail: Mailbox<Reply<u8>>| {
                    let mut lingers = Lingers(true);
                    let (reply, me) = (mail.receive(), mail.address());
                    drop(myriad::spawn(move || actor::kill(&me)));
                    (0..spent).for_each(|n| tx.send(n).unwrap());
                    reply.send(1);
                    lingers.0 = false;
                    drop(mail.receive());
                });
                let answer = actor.call(|reply| reply);
                assert!(matches!(answer, Ok(1) | Err(CallError::Exited(Reason::Killed))), "{spent}: {answer:?}");
                end_of(&actor);
            }
        });
    });
}
