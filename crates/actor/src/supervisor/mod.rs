//! Supervisors: actors that start others, and start them anew when they end.

mod child;
mod run;
mod show;
mod table;
mod tree;

pub use child::{Child, Restart, ShutdownLimit, StartError};
pub use show::ChildInfo;
pub use tree::{StopReport, Tree};

use std::time::Duration;

/// Which children are started anew when one has ended.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Child, Mailbox, Strategy, Supervisor};
/// let child = |id: &str| Child::new(id, || Ok(actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() })));
/// let tree = Supervisor::new(Strategy::RestForOne)
///     .child(child("database"))
///     .child(child("cache"))
///     .child(child("web"))
///     .start()
///     .unwrap();
/// let cache = tree.get::<()>("cache").unwrap();
/// actor::kill(&cache);
/// actor::monitor(&cache).wait();
/// assert_ne!(tree.get::<()>("cache"), Some(cache));
/// let restarts: Vec<u64> = tree.children().iter().map(|child| child.restarts).collect();
/// assert_eq!(restarts, [0, 1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// That one.
    OneForOne,
    /// All: the others are stopped first, the last one first, and all are started in order.
    OneForAll,
    /// That one and those that were started after it.
    RestForOne,
}

/// What a supervisor is to start, and how. [`start`](Self::start) makes an actor of it.
///
/// A supervisor restarts at most [`intensity`](Self::intensity) times in any such period, over all
/// of its children; once more, and it stops them all, the last one first, and ends with
/// [`Reason::Shutdown`](crate::Reason::Shutdown). The period is a true window: what counts are the
/// restarts of the last `period`, at each moment.
///
/// A child is started anew when the old one is wholly gone, its destructors included. It is another
/// actor with an empty mailbox: an [`Address`](crate::Address) is of one incarnation; [`Tree::get`]
/// and names follow.
///
/// If the supervisor is killed, or panics, its children are killed, and have ended before anybody
/// is told. If its runtime ends first, they are killed, and nobody waits for them.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Child, Mailbox, Strategy, Supervisor};
/// use std::time::Duration;
///
/// fn square(mut mail: Mailbox<(u32, actor::Reply<u32>)>) {
///     loop {
///         let (n, reply) = mail.receive();
///         assert_ne!(n, 0, "no square of nothing");
///         reply.send(n * n);
///     }
/// }
///
/// let tree = Supervisor::new(Strategy::OneForOne)
///     .intensity(3, Duration::from_secs(5))
///     .child(Child::new("square", || Ok(actor::spawn(square))))
///     .start()
///     .unwrap();
/// let first = tree.get::<(u32, actor::Reply<u32>)>("square").unwrap();
/// assert_eq!(first.call(|reply| (7, reply)), Ok(49));
/// assert!(first.call(|reply| (0, reply)).is_err());                 // it dies …
/// let again = tree.get::<(u32, actor::Reply<u32>)>("square").unwrap();
/// assert_eq!(again.call(|reply| (8, reply)), Ok(64));               // … and is back
/// assert!(tree.stop().is_clean());
/// ```
#[derive(Debug)]
#[must_use = "a supervisor does nothing until it is started"]
pub struct Supervisor {
    strategy: Strategy,
    intensity: usize,
    period: Duration,
    is_dynamic: bool,
    max_children: usize,
    children: Vec<Child>,
}

impl Supervisor {
    /// A supervisor without children, with OTP's usual intensity: 3 restarts in 5 s.
    pub fn new(strategy: Strategy) -> Supervisor {
        let (intensity, period) = (3, Duration::from_secs(5));
        Supervisor { strategy, intensity, period, is_dynamic: false, max_children: usize::MAX, children: Vec::new() }
    }

    /// One for children that come and go: each is restarted alone. All are stopped at once: each is
    /// told once, and the time of each begins then.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Child, Mailbox, Restart, StartError, Supervisor};
    /// let connection = |id: &str| {
    ///     let start = || Ok(actor::spawn(|mut mail: Mailbox<()>| mail.receive()));
    ///     Child::new(id, start).restart(Restart::Temporary)
    /// };
    /// let tree = Supervisor::dynamic().max_children(2).start().unwrap();
    /// tree.start_child(connection("a")).unwrap();
    /// tree.start_child(connection("b")).unwrap();
    /// assert_eq!(tree.start_child(connection("c")), Err(StartError::TooMany(2)));
    /// let a = tree.get::<()>("a").unwrap();
    /// a.cast(());
    /// actor::monitor(&a).wait();
    /// assert_eq!(tree.get::<()>("a"), None);           // is forgotten
    /// tree.start_child(connection("c")).unwrap();
    /// assert_eq!(tree.stop().stopped, 2);
    /// ```
    pub fn dynamic() -> Supervisor {
        Supervisor { is_dynamic: true, ..Supervisor::new(Strategy::OneForOne) }
    }

    /// At most so many restarts in any such period.
    pub fn intensity(mut self, restarts: usize, period: Duration) -> Supervisor {
        (self.intensity, self.period) = (restarts, period);
        self
    }

    /// At most so many children at a time; one more is refused. Example:
    /// [`dynamic`](Self::dynamic).
    pub fn max_children(mut self, most: usize) -> Supervisor {
        self.max_children = most;
        self
    }

    /// Adds a child, which is started after those before.
    pub fn child(mut self, child: Child) -> Supervisor {
        self.children.push(child);
        self
    }

    /// Starts the supervisor, and its children in order.
    ///
    /// # Blocking
    /// Until all have been started.
    ///
    /// # Errors
    /// A child could not be started: which, and why. Those before it were stopped.
    #[track_caller]
    pub fn start(self) -> Result<Tree, StartError> {
        Tree::start(self)
    }
}
