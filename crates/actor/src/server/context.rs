//! What a server's handler has beside its state.

use super::Server;
use super::cell::ServerCell;
use crate::address::Address;
use crate::cell::target;
use crate::monitor::{MonitorRef, monitor_by};
use crate::pid::{AsPid, Down, Exit, Pid, this};
use std::fmt;

/// What a handler of a [`Server`] is given: who the server is.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Context, Exit, Next, Reason, Reply, Server};
/// /// An exit that comes within a transaction waits for the commit.
/// #[derive(Default)]
/// struct Store { told: Option<Reason> }
/// enum Message { Begin(Reply<()>), Commit(Reply<()>), Exit(Exit) }
/// impl Server for Store {
///     type Message = Message;
///     fn handle(&mut self, message: Message, cx: &mut Context<Self>) -> Next<Message> {
///         match message {
///             Message::Begin(reply) => {
///                 cx.trap_exits(Message::Exit);
///                 reply.send(());
///             }
///             Message::Exit(exit) => self.told = Some(exit.reason),
///             Message::Commit(reply) => {
///                 cx.untrap_exits();
///                 reply.send(());
///                 return self.told.take().map_or(Next::Go, Next::Stop);
///             }
///         }
///         Next::Go
///     }
/// }
/// let store = actor::serve(Store::default());
/// let end = actor::monitor(&store);
/// store.call(Message::Begin).unwrap();
/// actor::exit(&store, Reason::Shutdown);
/// store.call(Message::Commit).unwrap();
/// assert_eq!(end.wait().reason, Reason::Shutdown);
/// ```
pub struct Context<'a, S: Server>(&'a ServerCell<S>);

impl<'a, S: Server> Context<'a, S> {
    #[inline(always)]
    pub(super) fn new(server: &'a ServerCell<S>) -> Self {
        Context(server)
    }

    /// The server's address.
    pub fn address(&self) -> Address<S::Message> {
        Address(target(self.0.shared()))
    }

    /// From now on exits are messages: see [`Mailbox::trap_exits`](crate::Mailbox::trap_exits).
    pub fn trap_exits(&self, exit: fn(Exit) -> S::Message) {
        self.0.cell().set_trap(Some(exit));
    }

    /// Exits are no messages any more: as it was before [`trap_exits`](Self::trap_exits).
    pub fn untrap_exits(&self) {
        self.0.cell().set_trap(None);
    }

    /// Watches for the end of another actor, which comes as a message that `down` makes. See
    /// [`monitor`](crate::monitor). It goes with this actor's end: then `down` may never be called.
    pub fn monitor(&self, actor: &impl AsPid, down: impl FnOnce(Down) -> S::Message + Send + 'static) -> MonitorRef {
        monitor_by(&actor.pid(), self.address().downgrade(), down)
    }
}

impl<S: Server> AsPid for Context<'_, S> {
    fn pid(&self) -> Pid {
        this(self.0)
    }
}

impl<S: Server> fmt::Debug for Context<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("pid", &self.pid()).finish_non_exhaustive()
    }
}
