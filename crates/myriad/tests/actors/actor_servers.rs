//! Servers: handlers, what comes before what, idle ones, ends.

use crate::*;
use myriad::actor::{Builder, CallError, Context, Exit, Next, Reply, Server, exit, serve};
use myriad::channel::{Receiver, Sender, unbounded};
use myriad::sync::Event;

enum Message {
    Say(u32),
    Then(u32, u32),
    Wait(Arc<Event>, Arc<Event>),
    Fail,
    Stop(Reason),
    IdleAfter(Duration),
    Trap,
    Exit(Exit),
    Who(Reply<Option<actor::Pid>>),
}

/// Tells what it does.
struct Teller {
    tells: Sender<String>,
    _state: Option<Counted>,
}

impl Server for Teller {
    type Message = Message;

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Self>) -> Next<Message> {
        let tell = |text: String| self.tells.send(text).unwrap();
        match message {
            Message::Say(n) => tell(n.to_string()),
            Message::Then(n, then) => {
                cx.address().cast(Message::Say(n));
                cx.address().cast(Message::Say(n + 1));
                return Next::Continue(Message::Say(then));
            }
            Message::Wait(begun, until) => {
                begun.set();
                until.wait();
            }
            Message::Fail => panic!("planned: a handler"),
            Message::Stop(reason) => return Next::Stop(reason),
            Message::IdleAfter(limit) => return Next::GoFor(limit),
            Message::Trap => cx.trap_exits(Message::Exit),
            Message::Exit(exit) => tell(format!("exit {}", exit.reason)),
            Message::Who(reply) => reply.send(actor::current()),
        }
        Next::Go
    }

    fn idle(&mut self, _: &mut Context<'_, Self>) -> Next<Message> {
        self.tells.send("idle".into()).unwrap();
        Next::Stop(Reason::Normal)
    }

    fn terminate(&mut self, reason: &Reason) {
        self.tells.send(format!("ends: {reason}")).unwrap();
    }
}

fn teller() -> (Address<Message>, Receiver<String>) {
    let (tells, told) = unbounded();
    (serve(Teller { tells, _state: None }), told)
}

/// What was told until the end.
fn all(told: &Receiver<String>) -> Vec<String> {
    told.iter().collect()
}

/// (26) What a handler goes on with comes before what came meanwhile.
#[test]
fn what_continues_comes_first() {
    each_runtime(|| {
        let (server, told) = teller();
        server.cast(Message::Then(1, 9));
        server.cast(Message::Stop(Reason::Normal));
        let said = all(&told);
        let at = |text: &str| said.iter().position(|said| said == text);
        assert_eq!(at("9"), Some(0), "{said:?}");
        assert!(at("1") < at("2") || at("2").is_none());
        let (tells, told) = unbounded();
        let server = Builder::new().serve_then(Teller { tells, _state: None }, Message::Say(3));
        server.cast(Message::Stop(Reason::Normal));
        assert_eq!(all(&told), ["3", "ends: normal"]);
    });
}

/// (26) `terminate` is called for each end but a kill; then the state drops.
#[test]
fn terminate_is_called_but_for_a_kill() {
    each_runtime(|| {
        type End = fn(&Address<Message>);
        let ends: [(End, &str); 4] = [
            (|server| server.cast(Message::Stop(Reason::of("enough"))), "ends: enough"),
            (|server| server.cast(Message::Fail), "ends: panicked: planned: a handler"),
            (|server| exit(server, Reason::Shutdown), "ends: shutdown"),
            (|server| actor::kill(server), ""),
        ];
        for (end, says) in ends {
            let (state, drops) = Counted::new();
            let (tells, told) = unbounded();
            let server = serve(Teller { tells, _state: Some(state) });
            end(&server);
            end_of(&server);
            assert_eq!(drops.load(SeqCst), 1);
            assert_eq!(all(&told), if says.is_empty() { vec![] } else { vec![says.to_string()] });
        }
    });
}

/// A server without addresses is told to end at about the end of its turn: it ends once, and its
/// memory is used no more.
#[test]
fn a_server_that_is_killed_as_its_turn_ends_is_dropped_once() {
    const SERVERS: usize = 500;
    each_runtime(|| {
        let (state, drops) = Counted::new();
        for _ in 0..SERVERS {
            let (tells, _told) = unbounded();
            let server = serve(Teller { tells, _state: Some(state.clone()) });
            let (pid, end) = (server.pid(), actor::monitor(&server));
            let kills = myriad::spawn(move || actor::kill(&pid));
            server.cast(Message::Say(1));
            drop(server);
            kills.join().unwrap();
            assert_eq!(end.wait().reason, Reason::Killed);
        }
        assert_eq!(drops.load(SeqCst), SERVERS);
    });
}

/// A handler that waits is ended there, and what waits behind it is dropped.
#[test]
fn a_handler_that_waits_is_ended() {
    each_runtime(|| {
        for _ in 0..20 {
            let (server, told) = teller();
            let (begun, never) = (Arc::new(Event::new()), Arc::new(Event::new()));
            server.cast(Message::Wait(begun.clone(), never));
            server.cast(Message::Say(1));
            begun.wait();
            exit(&server, Reason::Shutdown);
            assert_eq!(end_of(&server), Reason::Shutdown);
            assert_eq!(all(&told), ["ends: shutdown"]);
        }
    });
}

/// One that traps exits gets messages.
#[test]
fn a_server_traps_exits() {
    each_runtime(|| {
        let (server, told) = teller();
        server.cast(Message::Trap);
        server.call(Message::Who).unwrap();
        exit(&server, Reason::Shutdown);
        let partner = Builder::new().link(&server).spawn(|_: Mailbox<()>| Err::<(), _>("no paper"));
        end_of(&partner);
        server.call(Message::Who).unwrap();
        server.cast(Message::Stop(Reason::Normal));
        assert_eq!(all(&told), ["exit shutdown", "exit no paper", "ends: normal"]);
    });
}

/// The time of the last message counts.
#[test]
fn an_idle_server_is_told() {
    each_runtime(|| {
        let (server, told) = teller();
        server.cast(Message::IdleAfter(LONG));
        server.cast(Message::IdleAfter(Duration::from_millis(1)));
        assert_eq!(end_of(&server), Reason::Normal);
        assert_eq!(all(&told), ["idle", "ends: normal"]);
        let (server, told) = teller();
        server.cast(Message::IdleAfter(Duration::from_millis(1)));
        server.cast(Message::Say(1));
        server.call(Message::Who).unwrap();
        myriad::time::sleep(Duration::from_millis(5));
        server.cast(Message::Stop(Reason::Normal));
        end_of(&server);
        let said = all(&told);
        // (The timer may have fired before the next message came.)
        assert!(said == ["1", "ends: normal"] || said[0] == "idle", "{said:?}");
    });
}

/// (27) In place or not: the handler is the server's.
#[test]
fn a_call_in_place_is_not_seen() {
    each_runtime(|| {
        let (server, told) = teller();
        for _ in 0..100 {
            assert_eq!(server.call(Message::Who), Ok(Some(server.pid())));
        }
        assert_eq!(actor::current(), None);
        // From within another actor, too.
        let called = server.clone();
        let caller = actor::spawn(move |mail: Mailbox<()>| {
            assert_eq!(called.call(Message::Who).unwrap(), Some(called.pid()));
            assert_eq!(actor::current(), Some(mail.pid()));
        });
        assert_eq!(end_of(&caller), Reason::Normal);
        // Its panic ends the server, and is an error for the caller.
        struct Fails;
        impl Server for Fails {
            type Message = Reply<()>;
            fn handle(&mut self, _: Reply<()>, _: &mut Context<'_, Self>) -> Next<Reply<()>> {
                panic!("planned: in place")
            }
        }
        let fails = serve(Fails);
        assert!(matches!(fails.call(|reply| reply), Err(CallError::Exited(Reason::Panic(_)))));
        assert!(matches!(end_of(&fails), Reason::Panic(_)));
        server.cast(Message::Stop(Reason::Normal));
        assert_eq!(all(&told), ["ends: normal"]);
    });
}

/// (27) A cancellation of the caller waits until the handler in place returns.
#[test]
fn a_cancelled_caller_does_not_end_the_server_in_place() {
    each_runtime(|| {
        struct Waits(Arc<Event>, Arc<Event>);
        impl Server for Waits {
            type Message = Reply<u32>;
            fn handle(&mut self, reply: Reply<u32>, _: &mut Context<'_, Self>) -> Next<Reply<u32>> {
                self.0.set();
                self.1.wait();
                reply.send(7);
                Next::Go
            }
        }
        let (begun, go) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let server = serve(Waits(begun.clone(), go.clone()));
        let called = server.clone();
        let call = myriad::spawn(move || called.call(|reply| reply));
        begun.wait();
        call.cancel();
        myriad::yield_now();
        assert!(server.is_alive());
        go.set();
        drop(call.join());
        assert_eq!(server.call(|reply| reply), Ok(7));
        kill(&server);
    });
}

/// A message to a server whose runtime has ended is lost, and ends the server.
#[test]
fn a_server_ends_with_its_runtime() {
    let (state, drops) = Counted::new();
    let (tells, told) = unbounded();
    let rt = myriad::Builder::new().workers(1).build().unwrap();
    let server = rt.run(|| serve(Teller { tells, _state: Some(state) }));
    assert!(rt.shutdown(LONG).is_clean());
    server.cast(Message::Say(1));
    assert_eq!(end_of(&server), Reason::Cancelled);
    assert_eq!((drops.load(SeqCst), all(&told)), (1, vec!["ends: cancelled".to_string()]));
}

/// One message at a time, each once, from many senders; a turn does not keep its worker.
#[test]
fn a_server_handles_one_message_at_a_time() {
    struct Counts {
        inside: bool,
        sum: u64,
    }
    enum Add {
        One(u64),
        Total(Reply<u64>),
    }
    impl Server for Counts {
        type Message = Add;
        fn handle(&mut self, message: Add, _: &mut Context<'_, Self>) -> Next<Add> {
            assert!(!std::mem::replace(&mut self.inside, true), "two at a time");
            match message {
                Add::One(n) => {
                    self.sum += n;
                    if n % 100 == 0 {
                        myriad::yield_now();
                    }
                }
                Add::Total(reply) => reply.send(self.sum),
            }
            self.inside = false;
            Next::Go
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let server = serve(Counts { inside: false, sum: 0 });
            myriad::scope(|s| {
                for _ in 0..8 {
                    s.spawn(|| {
                        for n in 1..=1000 {
                            server.cast(Add::One(n));
                            if n % 50 == 0 {
                                server.call(Add::Total).unwrap();
                            }
                        }
                    });
                }
            });
            assert_eq!(server.call(Add::Total), Ok(8 * 500_500));
            kill(&server);
        });
    });
}

/// A time that is over before the server is at rest counts, too.
#[test]
fn an_idle_server_is_told_however_short_the_time() {
    each(&[1, 2, 4], |rt| {
        rt.run(|| {
            let (tells, told) = unbounded();
            let servers: Vec<_> = (0..3000)
                .map(|_| {
                    let server = serve(Teller { tells: tells.clone(), _state: None });
                    server.cast(Message::IdleAfter(Duration::ZERO));
                    server
                })
                .collect();
            servers.iter().for_each(|server| assert_eq!(end_of(server), Reason::Normal));
            drop(tells);
            assert_eq!(all(&told).len(), 2 * servers.len());
        });
    });
}

/// The message with which a turn was to begin is dropped before anybody hears of the end.
#[test]
fn the_first_message_of_a_turn_is_dropped_with_the_rest() {
    struct Never;
    impl Server for Never {
        type Message = Counted;
        fn handle(&mut self, _: Counted, _: &mut Context<'_, Self>) -> Next<Counted> {
            Next::Go
        }
    }
    let ends = |rt: &myriad::Runtime| {
        rt.run(|| {
            let (message, drops) = Counted::new();
            let (tells, told) = unbounded();
            let server = serve(Never);
            let watched = server.clone();
            let watcher = actor::spawn(move |mut mail: Mailbox<usize>| {
                mail.monitor(&watched, move |_| drops.load(SeqCst));
                mail.address().cast(9);
                (0..2).for_each(|_| tells.send(mail.receive()).unwrap());
            });
            assert_eq!(told.recv(), Ok(9));
            server.cast(message);
            actor::kill(&server);
            assert_eq!(told.recv(), Ok(1));
            end_of(&watcher);
        });
    };
    each(&[1, 2], ends);
}

/// Where their runtime has ended servers end where they are told to, one after the other.
#[test]
fn a_chain_of_linked_servers_ends_without_recursion() {
    let rt = myriad::Builder::new().workers(1).build().unwrap();
    let (tells, told) = unbounded();
    let servers: Vec<_> = rt.run(|| {
        let all: Vec<_> = (0..100_000).map(|_| serve(Teller { tells: tells.clone(), _state: None })).collect();
        all.windows(2).for_each(|pair| actor::link(&pair[0], &pair[1]).unwrap());
        all
    });
    assert!(rt.shutdown(LONG).is_clean());
    drop(tells);
    exit(&servers[0], Reason::of("enough"));
    assert_eq!(all(&told).len(), servers.len());
    servers.iter().for_each(|server| assert_eq!(server.pid().reason(), Some(Reason::of("enough"))));
}
