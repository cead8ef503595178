//! Arguments and bodies of nodes.

use super::gate::Gate;
use super::output::Parent;
use super::ready::Dependent;
use crate::graph::Cause;
use crate::protocol::Edge;
use std::sync::Arc;

/// An argument of a node.
///
/// - `&handle`, of a [`Handle<T>`](super::Handle): the body gets `&T`, when that node has ended.
/// - `handle`: the body gets the `T` itself, when all have read it that it was lent to.
/// - `&[Handle<T>]`, or a `Vec<&Handle<T>>`: the body gets [`All<T>`](super::All).
/// - `Vec<Handle<T>>`: the body gets a `Vec<T>`.
/// - A number (with its type: `3_u32`), a `bool`, a `char`, a `String` or a `&'static str`: the
///   body gets it as it is. Others go as [`Value`](super::Value), or are captured by the closure.
///
/// # Examples
/// ```
/// use myriad::flow::{self, All, Handle};
/// let (base, name) = (flow::spawn(|| 10, ()), flow::spawn(|| "sum".to_owned(), ()));
/// let parts: Vec<Handle<i32>> = (1..=3).map(|n| flow::spawn(move || n, ())).collect();
/// let text = |base: &i32, parts: All<i32>, sign: char, name: String| {
///     format!("{name} {sign} {}", base + parts.iter().sum::<i32>())
/// };
/// assert_eq!(flow::spawn(text, (&base, &parts[..], '=', name)).join()?, "sum = 16");
/// # Ok::<(), flow::NodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a node",
    label = "neither a handle, nor lent, nor a plain value",
    note = "`&handle` lends the value of a node, and `handle` moves it; a plain value goes as `flow::Value(value)`, or is captured \
            by the closure",
    note = "a value that is lent is `Send + Sync + 'static`"
)]
pub trait Arg {
    /// What the body gets.
    type Given<'a>;
    /// What the node keeps until then.
    #[doc(hidden)]
    type Kept: Kept;
    #[doc(hidden)]
    fn keep(self) -> Self::Kept;
    #[doc(hidden)]
    fn give(kept: &mut Self::Kept) -> Self::Given<'_>;
}

/// An argument that a body can be given more than once: all but a handle that is moved.
///
/// Example: [`Options`](super::Options).
#[diagnostic::on_unimplemented(
    message = "a node with retries cannot take `{Self}`",
    note = "a value that is moved is gone after the first attempt: lend it (`&handle`)"
)]
pub trait ArgAgain: Arg {}

/// The arguments of a node: a tuple of up to eight of [`Arg`].
///
/// Examples: [`Arg`], [`spawn`](super::spawn).
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments of a node",
    note = "the arguments are a tuple of up to eight: `(&handle,)`, `(&one, two)`, `()`"
)]
pub trait Args {
    #[doc(hidden)]
    type Kept: Kept;
    #[doc(hidden)]
    fn keep(self) -> Self::Kept;
}

/// The body of a node with these arguments: a closure or a function that takes what [`Arg`] says.
///
/// Examples: [`Arg`], [`spawn`](super::spawn).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no body of a node with the arguments `{A}`",
    note = "the body takes as many parameters as there are arguments, each with its type: `|a: &Table, n: u32| ...`"
)]
pub trait Body<A: Args> {
    /// What it returns.
    type Output;
    #[doc(hidden)]
    fn call(self, kept: &mut A::Kept) -> Self::Output;
}

/// A body that may be called again, for retries.
///
/// Example: [`Options`](super::Options).
pub trait BodyAgain<A: Args>: Body<A> {
    #[doc(hidden)]
    fn call_again(&self, kept: &mut A::Kept) -> Self::Output;
}

/// What a node keeps of an argument, or of all of them.
#[doc(hidden)]
pub trait Kept: Send + 'static {
    /// For what it comes from: an edge for each.
    type Edges: Send + Sync;
    fn edges(&self) -> Self::Edges;
    /// What it comes from, one after the other, each with its edge.
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>));
    /// Where the node waits for its turn, if what it needs is to be fetched.
    #[inline]
    fn gate(_: &Self::Edges) -> Option<&Arc<Gate>> {
        None
    }
    /// The body never goes on: whose turn comes after the node's is let go on.
    fn end_turn(&mut self) {}
    /// Fetches it, before the body.
    #[inline]
    fn fetch(&mut self) -> Result<(), Cause> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($arg:ident $at:tt),*))*) => { $(
        impl<$($arg: Arg),*> Args for ($($arg,)*) {
            type Kept = ($($arg::Kept,)*);
            #[inline]
            #[allow(clippy::unused_unit, reason = "of no arguments")]
            fn keep(self) -> Self::Kept {
                ($(self.$at.keep(),)*)
            }
        }

        impl<$($arg: Kept),*> Kept for ($($arg,)*) {
            type Edges = ($($arg::Edges,)*);
            #[inline]
            #[allow(clippy::unused_unit, reason = "of no arguments")]
            fn edges(&self) -> Self::Edges {
                ($(self.$at.edges(),)*)
            }
            #[inline]
            fn each(&self, _edges: &Self::Edges, _f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
                $(self.$at.each(&_edges.$at, _f);)*
            }
            #[inline]
            fn gate(_edges: &Self::Edges) -> Option<&Arc<Gate>> {
                None$(.or_else(|| $arg::gate(&_edges.$at)))*
            }
            fn end_turn(&mut self) {
                $(self.$at.end_turn();)*
            }
            #[inline]
            fn fetch(&mut self) -> Result<(), Cause> {
                $(self.$at.fetch()?;)*
                Ok(())
            }
        }

        impl<F, R, $($arg: Arg),*> Body<($($arg,)*)> for F
        where
            F: for<'a> FnOnce($($arg::Given<'a>),*) -> R,
        {
            type Output = R;
            #[inline]
            fn call(self, _kept: &mut ($($arg::Kept,)*)) -> R {
                self($($arg::give(&mut _kept.$at)),*)
            }
        }

        impl<F, R, $($arg: ArgAgain),*> BodyAgain<($($arg,)*)> for F
        where
            F: for<'a> Fn($($arg::Given<'a>),*) -> R,
        {
            #[inline]
            fn call_again(&self, _kept: &mut ($($arg::Kept,)*)) -> R {
                self($($arg::give(&mut _kept.$at)),*)
            }
        }
    )* };
}
tuples! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, G 5)
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6)
    (A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7)
}
