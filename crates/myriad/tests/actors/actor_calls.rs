//! Calls: answers, their want, time limits, deadlocks.

use crate::*;
use myriad::actor::{CallError, Context, Next, Reply, Server, serve};
use myriad::sync::Event;

enum Message {
    Get(Reply<u32>),
    Drop(Reply<u32>),
    Fail(Reply<u32>),
    Stop(Reply<u32>),
    Later(Reply<u32>),
    Call(Address<Message>, Reply<Result<u32, CallError>>),
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
