//! Servers and their calls.

use super::*;
use myriad::actor::{Context, Next, Reply, Server, exit, serve};
use myriad::channel::{Sender, unbounded};
use myriad::sync::Event;

pub(super) const ALL: &[Situation] = &[
    ("call-without-answer", call_without_answer),
    ("call-timeout", call_timeout),
    ("continue", continues),
    ("terminate", terminates),
];

enum Message {
    Crash(Reply<bool>),
    Keep(Reply<bool>),
    Itself(Reply<CallError>),
    Slow(Reply<bool>, Arc<Event>),
    Alive(Reply<bool>),
    Then(&'static str),
    Say(&'static str),
    Stop(Reason),
}

/// Does what it is told.
struct Told {
    tells: Sender<String>,
    keeps: Option<Reply<bool>>,
}

impl Server for Told {
    type Message = Message;

    fn handle(&mut self, message: Message, cx: &mut Context<'_, Self>) -> Next<Message> {
        match message {
            Message::Crash(_reply) => panic!("planned: crash"),
            Message::Keep(reply) => {
                self.keeps = Some(reply);
                return Next::Stop(Reason::Normal);
            }
            Message::Itself(reply) => reply.send(cx.address().call(Message::Alive).unwrap_err()),
            Message::Slow(reply, go) => {
                go.wait();
                reply.send(false);
            }
            Message::Alive(reply) => reply.send(true),
            Message::Then(then) => {
                ["a", "b"].into_iter().for_each(|say| cx.address().cast(Message::Say(say)));
                return Next::Continue(Message::Say(then));
            }
            Message::Say(word) => self.tells.send(word.into()).unwrap(),
            Message::Stop(reason) => return Next::Stop(reason),
        }
        Next::Go
    }

    fn terminate(&mut self, reason: &Reason) {
        // (Nobody may listen.)
        drop(self.tells.send(reason.word()));
    }
}

/// A server that has ended when this is gone: else it would stay when the test has ended.
struct Running(Address<Message>);

impl std::ops::Deref for Running {
    type Target = Address<Message>;
    fn deref(&self) -> &Address<Message> {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill(&self.0);
        end_of(&self.0);
    }
}

fn server() -> (Running, myriad::channel::Receiver<String>) {
    let (tells, told) = unbounded();
    (Running(serve(Told { tells, keeps: None })), told)
}

fn call_without_answer() -> Vec<String> {
    let dead = server().0;
    kill(&*dead);
    let failed = |server: Running, message: fn(Reply<bool>) -> Message| server.call(message).unwrap_err();
    let itself = server().0.call(Message::Itself).unwrap();
    words![failed(dead, Message::Alive), failed(server().0, Message::Crash), failed(server().0, Message::Keep), itself]
}

fn call_timeout() -> Vec<String> {
    in_actor(|mail: &mut Mailbox<()>| {
        let (server, go) = (server().0, Arc::new(Event::new()));
        let until = go.clone();
        let slow = server.call_timeout(Duration::from_millis(10), |reply| Message::Slow(reply, until));
        go.set();
        let alive = server.call(Message::Alive).unwrap();
        words![slow.unwrap_err(), alive, mail.try_receive().map(|()| "late")]
    })
}

fn continues() -> Vec<String> {
    let (server, told) = server();
    server.cast(Message::Then("c"));
    (0..3).map(|_| told.recv().unwrap()).collect()
}

fn terminates() -> Vec<String> {
    let ends: [fn(&Address<Message>); 3] = [
        |server| server.cast(Message::Stop(Reason::of("enough"))),
        |server| exit(server, Reason::Shutdown),
        |server| actor::kill(server),
    ];
    let once = |end: fn(&Address<Message>)| {
        let (server, told) = server();
        end(&server);
        end_of(&*server);
        told.recv().unwrap_or("none".into())
    };
    ends.map(once).into()
}
