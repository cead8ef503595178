//! Handles of values that may lie in files, and what nodes keep of them.

use super::slot::{Lease, Slot};
use crate::dataflow::args::{Arg, ArgAgain, Kept};
use crate::dataflow::error::NodeError;
use crate::dataflow::gate::Gate;
use crate::dataflow::handle::Handle;
use crate::dataflow::kept::{LentOne, Moved};
use crate::dataflow::output::Parent;
use crate::dataflow::ready::Dependent;
use crate::graph::Cause;
use crate::protocol::Edge;
use crate::stored::Stored;
use myriad_core::blocking_async;
use myriad_core::engine::unwind;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

/// The value of a node in a [`Budget`](super::Budget), once that has run.
///
/// As a [`Handle`], it is an argument of further nodes: `&x` lends the value, and `x` moves it; a
/// list of `&x` gives the body a `Vec<&T>`, and a list of `x` a `Vec<T>`. Dropping it drops the
/// value, with its file, when the last node that it was lent to has run.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Budget};
/// let budget = Budget::new(1000);
/// let words: Vec<_> = ["to", "be"].map(|word| budget.spawn(move || word.to_owned(), ())).into();
/// let text = flow::spawn(|words: Vec<&String>| words.len(), (&words,));
/// let moved = flow::spawn(|words: Vec<String>| words.concat(), (words,));
/// assert_eq!((text.join()?, moved.join()?), (2, "tobe".to_owned()));
/// let last = budget.spawn(|| "or".to_owned(), ());
/// assert_eq!(*last.get()?, "or");
/// assert_eq!(last.join()?, "or");
/// # Ok::<(), flow::NodeError>(())
/// ```
#[must_use = "a handle that is dropped cannot be joined; the node runs all the same"]
pub struct Spillable<T: Stored + Send + Sync + 'static> {
    handle: Handle<Slot<T>>,
    gate: Arc<Gate>,
}

impl<T: Stored + Send + Sync + 'static> Spillable<T> {
    pub(super) fn new(handle: Handle<Slot<T>>, gate: Arc<Gate>) -> Self {
        Spillable { handle, gate }
    }

    /// Has the node ended, or was it skipped or cancelled?
    pub fn is_done(&self) -> bool {
        self.handle.is_done()
    }

    /// The value, by reference. It stays in memory as long as that is there.
    ///
    /// # Blocking
    /// Until the node has ended, and its value was read back, if that is in a file. The calling
    /// task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Errors
    /// As [`Handle::get`]; or the value cannot be read back.
    #[track_caller]
    pub fn get(&self) -> Result<Loan<'_, T>, NodeError> {
        let slot = self.handle.get()?;
        let lease = slot.lend().map_err(|cause| self.failed(cause))?;
        Ok(Loan { lease, _of: self })
    }

    /// The value itself, which counts no more.
    ///
    /// # Blocking
    /// As [`Handle::join`], and until the value was read back.
    ///
    /// # Errors
    /// As [`Handle::join`]; or the value cannot be read back.
    #[track_caller]
    pub fn join(self) -> Result<T, NodeError> {
        let name = self.handle.name();
        self.handle.join()?.take().map_err(|cause| NodeError::itself(name, cause))
    }

    /// As [`join`](Self::join), as a future. (Awaiting the handle is the same.)
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub async fn join_async(self) -> Result<T, NodeError> {
        let name = self.handle.name();
        let slot = self.handle.join_async().await?;
        blocking_async(move || slot.take()).await.map_err(|cause| NodeError::itself(name, cause))
    }

    /// As [`Handle::cancel`].
    ///
    /// # Examples
    /// ```
    /// let budget = myriad::flow::Budget::new(1000);
    /// let late = budget.spawn(|| myriad::time::sleep(std::time::Duration::from_secs(3600)), ());
    /// late.cancel();
    /// assert!(late.join().is_err());
    /// ```
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    #[cold]
    fn failed(&self, cause: Cause) -> NodeError {
        NodeError::itself(self.handle.name(), cause)
    }
}

impl<T: Stored + Send + Sync + 'static> IntoFuture for Spillable<T> {
    type Output = Result<T, NodeError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.join_async())
    }
}

impl<T: Stored + Send + Sync + 'static> fmt::Debug for Spillable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spillable").finish_non_exhaustive()
    }
}

/// A value that stays in memory as long as this is there: see [`Spillable::get`].
pub struct Loan<'a, T: Stored + Send + Sync + 'static> {
    lease: Lease<T>,
    _of: &'a Spillable<T>,
}

/// Written down, so that the handle is borrowed until then, and cannot be joined meanwhile.
impl<T: Stored + Send + Sync + 'static> Drop for Loan<'_, T> {
    fn drop(&mut self) {}
}

impl<T: Stored + Send + Sync + 'static> Deref for Loan<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.lease
    }
}

impl<T: Stored + Send + Sync + fmt::Debug + 'static> fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct LentSlot<T: Stored + Send + Sync + 'static> {
    /// In the body. Given back before the reference to the node goes, by which the value is moved.
    lease: Option<Lease<T>>,
    source: LentOne<Slot<T>>,
    gate: Arc<Gate>,
}

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct MovedSlot<T: Stored + Send + Sync + 'static> {
    /// In the body.
    value: Option<T>,
    source: Moved<Slot<T>>,
    gate: Arc<Gate>,
}

/// All of a list.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Each<K>(Vec<K>);

impl<T: Stored + Send + Sync + 'static> Arg for &Spillable<T> {
    type Given<'a> = &'a T;
    type Kept = LentSlot<T>;
    fn keep(self) -> LentSlot<T> {
        LentSlot { lease: None, source: (&self.handle).keep(), gate: self.gate.clone() }
    }
    fn give(kept: &mut LentSlot<T>) -> &T {
        kept.lent()
    }
}

impl<T: Stored + Send + Sync + 'static> Arg for Spillable<T> {
    type Given<'a> = T;
    type Kept = MovedSlot<T>;
    fn keep(self) -> MovedSlot<T> {
        MovedSlot { value: None, source: self.handle.keep(), gate: self.gate }
    }
    fn give(kept: &mut MovedSlot<T>) -> T {
        kept.moved()
    }
}

macro_rules! lists {
    ($($list:ty, $given:ty, $kept:ty, $iter:ident, $give:ident;)*) => { $(
        impl<T: Stored + Send + Sync + 'static> Arg for $list {
            type Given<'a> = Vec<$given>;
            type Kept = Each<$kept>;
            fn keep(self) -> Each<$kept> {
                Each(self.$iter().map(Arg::keep).collect())
            }
            fn give(kept: &mut Each<$kept>) -> Self::Given<'_> {
                kept.0.iter_mut().map(<$kept>::$give).collect()
            }
        }
    )* };
}
lists! {
    &[Spillable<T>], &'a T, LentSlot<T>, iter, lent;
    &Vec<Spillable<T>>, &'a T, LentSlot<T>, iter, lent;
    Vec<&Spillable<T>>, &'a T, LentSlot<T>, into_iter, lent;
    Vec<Spillable<T>>, T, MovedSlot<T>, into_iter, moved;
}

impl<T: Stored + Send + Sync + 'static> LentSlot<T> {
    fn lent(&mut self) -> &T {
        self.lease.as_deref().expect("a body begins when its arguments are there")
    }
}

impl<T: Stored + Send + Sync + 'static> MovedSlot<T> {
    fn moved(&mut self) -> T {
        self.value.take().expect("a body begins when its arguments are there, and takes each once")
    }
}

impl<T: Stored + Send + Sync + 'static> ArgAgain for &Spillable<T> {}
impl<T: Stored + Send + Sync + 'static> ArgAgain for &[Spillable<T>] {}
impl<T: Stored + Send + Sync + 'static> ArgAgain for &Vec<Spillable<T>> {}
impl<T: Stored + Send + Sync + 'static> ArgAgain for Vec<&Spillable<T>> {}

impl<T: Stored + Send + Sync + 'static> Kept for LentSlot<T> {
    type Edges = (Edge<dyn Dependent>, Arc<Gate>);
    fn edges(&self) -> Self::Edges {
        (self.source.edges(), self.gate.clone())
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.source.each(&edges.0, f);
    }
    fn gate(edges: &Self::Edges) -> Option<&Arc<Gate>> {
        Some(&edges.1)
    }
    fn fetch(&mut self) -> Result<(), Cause> {
        self.lease = Some(<&Handle<Slot<T>> as Arg>::give(&mut self.source).lend()?);
        Ok(())
    }
}

impl<T: Stored + Send + Sync + 'static> Kept for MovedSlot<T> {
    type Edges = (Edge<dyn Dependent>, Arc<Gate>);
    fn edges(&self) -> Self::Edges {
        (self.source.edges(), self.gate.clone())
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.source.each(&edges.0, f);
    }
    fn gate(edges: &Self::Edges) -> Option<&Arc<Gate>> {
        Some(&edges.1)
    }
    fn fetch(&mut self) -> Result<(), Cause> {
        self.value = Some(<Handle<Slot<T>> as Arg>::give(&mut self.source).take()?);
        Ok(())
    }
}

impl<K: Kept> Kept for Each<K> {
    type Edges = Box<[K::Edges]>;
    fn edges(&self) -> Self::Edges {
        self.0.iter().map(K::edges).collect()
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.0.iter().zip(edges).for_each(|(one, edges)| one.each(edges, f));
    }
    fn gate(edges: &Self::Edges) -> Option<&Arc<Gate>> {
        edges.first().and_then(K::gate)
    }
    fn fetch(&mut self) -> Result<(), Cause> {
        self.0.iter_mut().try_for_each(K::fetch)
    }
}

/// A value that no body has taken is dropped where the engine is in the middle of something.
impl<T: Stored + Send + Sync + 'static> Drop for MovedSlot<T> {
    fn drop(&mut self) {
        unwind::drop_quietly(self.value.take());
    }
}
