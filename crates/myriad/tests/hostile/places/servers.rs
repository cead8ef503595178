//! What servers and supervisors call.

use super::actors::{Watched, seen_of};
use crate::behaviours::Value;
use crate::cell::{Cx, Seen, until};
use crate::common::plan;
use myriad::actor::{self, AsPid, CallError, Child, Context, Mailbox, Next, Pid, Reason, Reply, Server, StartError};
use myriad::actor::{Strategy, Supervisor, Tree};
use myriad::channel::bounded;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

enum Message {
    Act,
    /// Acts when it is described.
    Described(Cx),
    Call(Reply<()>),
    /// Acts when nothing comes.
    Idle,
    Stop,
}

struct Foes {
    cx: Cx,
    acts_at_the_end: bool,
    _value: Option<Value>,
}

impl Foes {
    fn new(cx: &Cx) -> Foes {
        Foes { cx: cx.clone(), acts_at_the_end: false, _value: None }
    }
}

impl Server for Foes {
    type Message = Message;
    const DESCRIBE: Option<fn(&Message) -> String> = Some(|message| {
        if let Message::Described(cx) = message {
            cx.act();
        }
        String::new()
    });

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> Next<Message> {
        match message {
            Message::Act => self.cx.act(),
            Message::Call(reply) => {
                self.cx.act();
                reply.send(());
                return Next::Go;
            }
            Message::Idle => return Next::GoFor(Duration::from_micros(50)),
            Message::Described(_) | Message::Stop => {}
        }
        Next::Stop(Reason::Normal)
    }

    fn idle(&mut self, _: &mut Context<'_, Self>) -> Next<Message> {
        self.cx.act();
        Next::Stop(Reason::Normal)
    }

    fn terminate(&mut self, _: &Reason) {
        if self.acts_at_the_end {
            self.cx.act();
        }
    }
}

fn sent(cx: &Cx, server: Foes, message: Message) -> Seen {
    let wait = cx.last_sender();
    let server = actor::serve(server);
    let watched = Watched::new(cx, &server);
    server.cast(message);
    let seen = watched.end();
    wait();
    seen
}

/// A handler.
pub(crate) fn handler(cx: &Cx) -> Seen {
    sent(cx, Foes::new(cx), Message::Act)
}

/// What says what a message is.
pub(crate) fn describe(cx: &Cx) -> Seen {
    sent(cx, Foes::new(cx), Message::Described(cx.clone()))
}

/// What a server does when nothing comes.
pub(crate) fn idle(cx: &Cx) -> Seen {
    sent(cx, Foes::new(cx), Message::Idle)
}

/// What a server does at its end.
pub(crate) fn terminate(cx: &Cx) -> Seen {
    sent(cx, Foes { acts_at_the_end: true, ..Foes::new(cx) }, Message::Stop)
}

/// A server goes with its state.
pub(crate) fn state(cx: &Cx) -> Seen {
    sent(cx, Foes { _value: Some(cx.value()), ..Foes::new(cx) }, Message::Stop)
}

/// A message that a server has not come to.
pub(crate) fn unhandled(cx: &Cx) -> Seen {
    struct Drops;
    impl Server for Drops {
        type Message = Option<Value>;
        fn handle(&mut self, _: Option<Value>, _: &mut Context<'_, Self>) -> Next<Option<Value>> {
            Next::Stop(Reason::Normal)
        }
    }
    let wait = cx.last_sender();
    let server = actor::serve(Drops);
    let watched = Watched::new(cx, &server);
    _ = actor::suspend(&server);
    server.cast(None);
    (0..3).for_each(|_| server.cast(Some(cx.value())));
    _ = actor::resume(&server);
    let seen = watched.end();
    wait();
    seen
}

/// What a call has brought.
fn called<T>(result: Result<T, CallError>) -> Seen {
    match result {
        Ok(_) => Seen::Well,
        Err(CallError::Exited(reason)) => seen_of(&reason),
        // (It was killed, where all is cancelled; or its runtime has ended.)
        Err(CallError::NoProcess) => Seen::Shutdown,
        Err(error) => Seen::Other(error.to_string()),
    }
}

/// A handler that runs on top of its caller.
pub(crate) fn call_in_place(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let server = actor::serve(Foes::new(cx));
    let watched = Watched::new(cx, &server);
    let seen = called(server.call(Message::Call));
    watched.kill();
    wait();
    seen
}

/// What looks at a server's state.
pub(crate) fn with_state(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let server = actor::serve(Foes::new(cx));
    let watched = Watched::new(cx, &server);
    let mut seen = Seen::Well;
    let looked = Seen::of(|| seen = called(actor::with_state(&server, move |_: &Foes| inner.act())));
    watched.kill();
    wait();
    if looked == Seen::Well { seen } else { looked }
}

/// What changes a server's state.
pub(crate) fn with_state_mut(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let server = actor::serve(Foes::new(cx));
    let watched = Watched::new(cx, &server);
    let seen = called(actor::with_state_mut(&server, move |_: &mut Foes| inner.act()));
    watched.kill();
    wait();
    seen
}

/// What such a look brings, and nobody wants any more.
pub(crate) fn state_seen(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let server = actor::serve(Foes::new(cx));
    let watched = Watched::new(cx, &server);
    _ = actor::suspend(&server);
    let (inner, (go, begins)) = (cx.clone(), bounded::<()>(1));
    let look = move |_: &Foes| {
        _ = begins.recv();
        inner.value()
    };
    let limited = myriad::time::timeout(Duration::from_micros(200), || actor::with_state(&server, look).map(drop));
    drop(go);
    until("the result is not dropped", || cx.foe.counts().1 > 0 || !watched.is_alive());
    let seen = limited.map_or(Seen::Well, called);
    watched.kill();
    wait();
    seen
}

/// A supervisor that does not outlive its place: whoever is cancelled while it starts has no
/// handle.
struct Ends(Arc<Mutex<Option<Pid>>>);

impl Ends {
    /// What a child's start notes.
    fn new(cx: &Cx) -> (Ends, impl Fn() + Send + Sync + 'static) {
        let supervisor = Arc::new(Mutex::new(None));
        let (noted, killed) = (supervisor.clone(), supervisor.clone());
        cx.foe.on_cancel(move || kill(&killed));
        cx.foe.on_again(|| _ = actor::current().map(|pid| pid.info()));
        (Ends(supervisor), move || *noted.lock().unwrap() = actor::current())
    }
}

fn kill(supervisor: &Mutex<Option<Pid>>) {
    let pid = supervisor.lock().unwrap().clone();
    pid.iter().for_each(actor::kill);
}

impl Drop for Ends {
    fn drop(&mut self) {
        kill(&self.0);
    }
}

/// How the start of a supervisor has ended.
fn started(result: Result<Tree, StartError>) -> Seen {
    match result {
        Ok(tree) => {
            tree.stop();
            Seen::Well
        }
        Err(StartError::Failed { reason, .. } | StartError::NoSupervisor(reason)) => seen_of(&reason),
        Err(error) => Seen::Other(error.to_string()),
    }
}

/// The start of a child.
pub(crate) fn child_start(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let start = move || {
        note();
        inner.act();
        Ok(actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await))
    };
    let seen = started(Supervisor::new(Strategy::OneForOne).child(Child::new("child", start)).start());
    drop(ends);
    wait();
    seen
}

/// The start of a child that comes back: a panic is one more try.
pub(crate) fn child_restart(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let is_second = AtomicBool::new(false);
    let start = move || {
        note();
        if is_second.swap(true, AcqRel) {
            inner.act();
        }
        Ok(actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await))
    };
    let of = Supervisor::new(Strategy::OneForOne).intensity(100, Duration::from_secs(3600));
    let seen = match of.child(Child::new("child", start)).start() {
        Ok(tree) => {
            tree.get::<()>("child").iter().for_each(|child| child.cast(()));
            until("the child does not come back", || cx.foe.acted() > 0 || !tree.pid().is_alive());
            started(Ok(tree))
        }
        failed => started(failed),
    };
    drop(ends);
    wait();
    seen
}

/// A child's state goes when it is stopped.
pub(crate) fn child_stopped(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let start = move || {
        note();
        let value = inner.value();
        Ok(actor::spawn(move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive();
        }))
    };
    let seen = started(Supervisor::new(Strategy::OneForOne).child(Child::new("child", start)).start());
    drop(ends);
    wait();
    seen
}

/// A child's destructor, where its supervisor fails: what it holds ends before anybody is told.
pub(crate) fn orphan(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let start = move || {
        note();
        let value = inner.value();
        Ok(actor::spawn(move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive();
        }))
    };
    let seen = match Supervisor::new(Strategy::OneForOne).child(Child::new("child", start)).start() {
        Ok(tree) => {
            let watched = Watched::new(cx, &tree);
            actor::kill(&tree);
            watched.end()
        }
        failed => started(failed),
    };
    drop(ends);
    wait();
    seen
}

/// What makes a supervisor that is a child.
pub(crate) fn child_tree(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let make = move || {
        note();
        inner.act();
        Supervisor::dynamic()
    };
    let seen = started(Supervisor::new(Strategy::OneForAll).child(Child::supervisor("tree", make)).start());
    drop(ends);
    wait();
    seen
}

/// A panic of a child is said of it; what it drops then is hostile.
pub(crate) fn child_panic(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (ends, note) = Ends::new(cx);
    let start = move || {
        note();
        let value = inner.value();
        Ok(actor::spawn(move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive();
            plan("hostile")
        }))
    };
    let of = Supervisor::new(Strategy::OneForOne).intensity(100, Duration::from_secs(3600));
    let seen = match of.child(Child::new("child", start)).start() {
        Ok(tree) => {
            tree.get::<()>("child").iter().for_each(|child| child.cast(()));
            until("the child does not end", || cx.foe.counts().1 > 0);
            started(Ok(tree))
        }
        failed => started(failed),
    };
    drop(ends);
    wait();
    seen
}
