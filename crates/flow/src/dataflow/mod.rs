//! Dataflow: nodes whose arguments are the values of other nodes.
//!
//! Examples: [`spawn`], [`Handle`], [`Options`], [`NodeError`].

mod args;
mod bound;
mod budget;
mod cache;
mod checkpoints;
mod error;
mod gate;
mod handle;
mod kept;
mod node;
mod options;
mod order;
mod output;
mod promise;
mod ready;
mod recall;
mod runner;
mod settings;
mod several;
mod time_limits;
mod work;

pub use crate::graph::Cause;
pub use crate::stored::{StoreError, Stored};
pub use args::{Arg, ArgAgain, Args, Body, BodyAgain};
pub use budget::{Budget, BudgetStats, Loan, Spillable};
pub use cache::Cache;
pub use checkpoints::Checkpoints;
pub use error::NodeError;
pub use handle::Handle;
pub use kept::{All, Value};
pub use options::{Options, Retrying, named};
pub use order::{Bulk, Sequence};
pub use recall::Recall;
pub use several::{all, any};
// (Parts of the traits of arguments, and not for programs.)
#[doc(hidden)]
pub use {
    args::Kept, cache::AtCache, checkpoints::AtCheckpoint, gate::Gate, output::Parent, ready::Dependent, ready::Ready,
};

use options::Error;
use settings::Settings;
use std::panic::Location;

/// Makes a node that calls `f` with these arguments, when all that they come from have ended.
///
/// An argument is the handle of another node, or a plain value: see [`Arg`]. A node is started when
/// its last argument is there, on whatever worker has time. So a program is written as if each call
/// were made at once, and calls that do not need each other's values run in parallel.
///
/// # Blocking
/// Not for its arguments. But who spawns faster than nodes run helps: after each 1,024 nodes of a
/// thread the caller goes behind the tasks of its worker; a foreign thread waits until the workers
/// have come to what it has spawned. The body may block, on whatever tasks block on.
///
/// # Panics
/// A panic of the body fails the node: those that need its value are skipped, and
/// [`join`](Handle::join) says which node was the root.
///
/// # Cancellation
/// As a detached task, the node does not end with its spawner. See [`Handle::cancel`].
///
/// If its runtime ends, a node that has not begun is cancelled. One whose body is blocked then ends
/// with [`Cause::RuntimeEnded`]; what it was lent stays lent, and whoever waits to take it gets
/// that error.
///
/// # Foreign threads
/// The node runs on the global runtime.
///
/// # Examples
/// ```
/// use myriad::flow;
/// fn load(name: &'static str) -> Vec<u32> {
///     name.bytes().map(u32::from).collect()
/// }
/// let x = flow::spawn(load, ("x.csv",));
/// let y = flow::spawn(load, ("y.csv",));
/// let z = flow::spawn(|x: &Vec<u32>, y: &Vec<u32>| x.iter().zip(y).filter(|(x, y)| x == y).count(), (&x, &y));
/// let both = flow::spawn(|x: Vec<u32>, y: Vec<u32>| [x, y].concat(), (x, y)); // moved: the last who read them
/// assert_eq!((z.join()?, both.join()?.len()), (4, 10));
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "Dagger")]
#[doc(alias = "dask")]
#[track_caller]
pub fn spawn<F, A>(f: F, args: A) -> Handle<F::Output>
where
    A: Args,
    F: Body<A> + Send + 'static,
    F::Output: Send + 'static,
{
    let settings = Settings::plain(Location::caller());
    node::start(move |kept: &mut A::Kept| Ok(f.call(kept)), args.keep(), settings)
}

/// As [`spawn`], for a body that returns a `Result`: an error fails the node, as a panic does.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let n = flow::try_spawn(|text: &'static str| text.parse::<i32>(), ("forty",));
/// let twice = n.map(|n| n * 2);
/// let error = twice.join().unwrap_err();
/// assert_eq!(error.cause().to_string(), "failed: invalid digit found in string");
/// ```
#[track_caller]
pub fn try_spawn<F, A, T, E>(f: F, args: A) -> Handle<T>
where
    A: Args,
    F: Body<A, Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Into<Error>,
{
    Options::new().try_spawn(f, args)
}
