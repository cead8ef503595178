//! Servers: actors that are a state and a handler.

mod cell;
mod context;
mod in_place;
mod look;
mod turn;

pub use context::Context;

use crate::address::Address;
use crate::cell::target;
use crate::life::Life;
use crate::reason::Reason;
use crate::task::Builder;
use cell::ServerCell;
use std::panic::Location;
use std::time::Duration;

/// A state with a handler for messages: what `gen_server` is.
///
/// A server is no task while no message waits, but a record of some 300 bytes with its state in it;
/// a message starts a short task, in the pool where the server was started, which handles what is
/// there. One message is handled at a time. What `gen_server` distinguishes are variants of one
/// message type: a *call* has a [`Reply`](crate::Reply) in it, a *cast* has none, and what comes
/// from timers and monitors is made by the functions given to them.
///
/// A handler may wait, as any closure. A panic ends the server with [`Reason::Panic`].
///
/// # Examples
/// ```
/// use myriad::actor::{self, CallError, Context, Next, Reason, Reply, Server};
/// use std::collections::HashMap;
///
/// #[derive(Default)]
/// struct Cache { map: HashMap<u32, String> }
/// enum Message { Get(u32, Reply<Option<String>>), Put(u32, String), Stop }
///
/// impl Server for Cache {
///     type Message = Message;
///     fn handle(&mut self, message: Message, _: &mut Context<Self>) -> Next<Message> {
///         match message {
///             Message::Get(key, reply) => reply.send(self.map.get(&key).cloned()),
///             Message::Put(key, value) => drop(self.map.insert(key, value)),
///             Message::Stop => return Next::Stop(Reason::Normal),
///         }
///         Next::Go
///     }
/// }
///
/// let cache = actor::serve(Cache::default());
/// cache.cast(Message::Put(1, "one".into()));
/// assert_eq!(cache.call(|reply| Message::Get(1, reply)).unwrap().as_deref(), Some("one"));
/// cache.cast(Message::Stop);
/// actor::monitor(&cache).wait();
/// assert_eq!(cache.call(|reply| Message::Get(1, reply)), Err(CallError::NoProcess));
/// ```
#[doc(alias = "GenServer")]
#[doc(alias = "gen_server")]
pub trait Server: Sized + Send + 'static {
    /// What it is sent.
    type Message: Send + 'static;

    /// May a call be handled on top of its caller, where the server is idle? It takes some
    /// nanoseconds instead of a task. The handler is the server's all the same: its panic ends the
    /// server, and a cancellation of the caller waits until it returns. What is told to end while
    /// it does so ends when the handler returns: so say `false` if handlers wait for what may never
    /// come. A handler sees the task-locals of the task that runs it.
    const CALL_IN_PLACE: bool = true;

    /// Says what a message is, for the word about a server that [fails](crate::Crash) with it: most
    /// often `Some(|message| format!("{message:?}"))`. Called with each message before its handler,
    /// for that takes the message; `None` costs nothing. A panic of it is one of the handler.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Context, Next, Server};
    /// struct Divider;
    /// impl Server for Divider {
    ///     type Message = u32;
    ///     const DESCRIBE: Option<fn(&u32) -> String> = Some(|n| format!("{n:?}"));
    ///     fn handle(&mut self, n: u32, _: &mut Context<Self>) -> Next<u32> {
    ///         assert_ne!(100 / n, 1000);
    ///         Next::Go
    ///     }
    /// }
    /// let (tx, rx) = myriad::channel::unbounded();
    /// actor::on_crash(move |crash| drop(tx.try_send(crash.last_message.clone())));
    /// actor::serve(Divider).cast(0);
    /// assert_eq!(rx.recv(), Ok(Some("0".into())));
    /// ```
    const DESCRIBE: Option<fn(&Self::Message) -> String> = None;

    /// Handles a message, and says how to go on.
    fn handle(&mut self, message: Self::Message, cx: &mut Context<'_, Self>) -> Next<Self::Message>;

    /// No message has come for the time that [`Next::GoFor`] said.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Context, Next, Reason, Server};
    /// use std::time::Duration;
    /// struct Session;
    /// impl Server for Session {
    ///     type Message = &'static str;
    ///     fn handle(&mut self, _: &'static str, _: &mut Context<Self>) -> Next<&'static str> {
    ///         Next::GoFor(Duration::from_millis(1))
    ///     }
    ///     fn idle(&mut self, _: &mut Context<Self>) -> Next<&'static str> {
    ///         Next::Stop(Reason::of("the user has gone"))
    ///     }
    /// }
    /// let session = actor::serve(Session);
    /// let end = actor::monitor(&session);
    /// session.cast("hello");
    /// assert_eq!(end.wait().reason, Reason::of("the user has gone"));
    /// ```
    fn idle(&mut self, cx: &mut Context<'_, Self>) -> Next<Self::Message> {
        let _ = cx;
        Next::Stop(Reason::Normal)
    }

    /// The server ends. Called for each reason but [`Reason::Killed`], also for one that another
    /// actor has told it (OTP does so only where exits are trapped); then the state is dropped.
    /// Cancellations are kept off.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Context, Next, Reason, Server};
    /// use myriad::channel::{Sender, unbounded};
    /// struct Log { to: Sender<String> }
    /// impl Server for Log {
    ///     type Message = String;
    ///     fn handle(&mut self, line: String, _: &mut Context<Self>) -> Next<String> {
    ///         self.to.send(line).unwrap();
    ///         Next::Go
    ///     }
    ///     fn terminate(&mut self, reason: &Reason) {
    ///         drop(self.to.send(format!("closed: {reason}")));
    ///     }
    /// }
    /// let (to, lines) = unbounded();
    /// let log = actor::serve(Log { to });
    /// actor::exit(&log, Reason::Shutdown);
    /// assert_eq!(lines.recv().unwrap(), "closed: shutdown");
    /// ```
    fn terminate(&mut self, reason: &Reason) {
        let _ = reason;
    }
}

/// How a server goes on after a message.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Context, Next, Reply, Server};
/// struct Sum(u64);
/// enum Message { CountDown(u64), Total(Reply<u64>) }
/// impl Server for Sum {
///     type Message = Message;
///     fn handle(&mut self, message: Message, _: &mut Context<Self>) -> Next<Message> {
///         match message {
///             Message::CountDown(0) => {}
///             Message::CountDown(n) => {
///                 self.0 += n;
///                 return Next::Continue(Message::CountDown(n - 1));
///             }
///             Message::Total(reply) => reply.send(self.0),
///         }
///         Next::Go
///     }
/// }
/// let sum = actor::serve(Sum(0));
/// sum.cast(Message::CountDown(4));
/// assert_eq!(sum.call(Message::Total), Ok(10));
/// ```
///
/// Examples of the others: [`Server`] (`Stop`), [`Server::idle`] (`GoFor`).
#[derive(Debug)]
pub enum Next<M> {
    /// With the next message.
    Go,
    /// With this one, before all that wait.
    Continue(M),
    /// With the next message; if none comes for so long, with [`Server::idle`].
    GoFor(Duration),
    /// It ends.
    Stop(Reason),
}

/// Starts a server.
///
/// # Blocking
/// Never.
///
/// Example: [`Server`].
#[track_caller]
pub fn serve<S: Server>(server: S) -> Address<S::Message> {
    Builder::new().serve(server)
}

impl Builder {
    /// Starts a server: see [`serve`]. Example: [`Server`].
    #[track_caller]
    pub fn serve<S: Server>(self, server: S) -> Address<S::Message> {
        let cell = ServerCell::start(server, Life::new(Location::caller()), self.gate());
        self.prepare(|| crate::pid::this(&*cell));
        Address(target(cell))
    }

    /// Starts a server that handles this message before all others.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{Builder, Context, Next, Reply, Server};
    /// struct Words(Vec<String>);
    /// enum Message { Load(&'static str), Count(Reply<usize>) }
    /// impl Server for Words {
    ///     type Message = Message;
    ///     fn handle(&mut self, message: Message, _: &mut Context<Self>) -> Next<Message> {
    ///         match message {
    ///             Message::Load(text) => self.0 = text.split(' ').map(String::from).collect(),
    ///             Message::Count(reply) => reply.send(self.0.len()),
    ///         }
    ///         Next::Go
    ///     }
    /// }
    /// let words = Builder::new().serve_then(Words(Vec::new()), Message::Load("to be or not"));
    /// assert_eq!(words.call(Message::Count), Ok(4));
    /// ```
    #[track_caller]
    pub fn serve_then<S: Server>(self, server: S, first: S::Message) -> Address<S::Message> {
        let address = self.serve(server);
        // (Nobody else has the address.)
        address.force(first);
        address
    }
}
