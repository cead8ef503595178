//! What nodes keep of their arguments: handles, lent or moved, and plain values.

use super::args::{Arg, ArgAgain, Kept};
use super::handle::Handle;
use super::output::{Origin, Parent, pass_to};
use super::promise::Promise;
use super::ready::Dependent;
use crate::protocol::Edge;
use myriad_core::engine::unwind;
use std::fmt;
use std::sync::Arc;

/// A plain value as an argument.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Value};
/// let times = flow::spawn(|| 2, ());
/// let repeat = |words: Vec<&'static str>, times: &usize| words.repeat(*times);
/// let words = flow::spawn(repeat, (Value(vec!["to", "be"]), &times));
/// assert_eq!(words.join()?, ["to", "be", "to", "be"]);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Value<V>(pub V);

/// Values of several nodes, in the order of their handles.
///
/// # Examples
/// ```
/// use myriad::flow::{self, All};
/// let parts: Vec<_> = (1..=3).map(|n: u64| flow::spawn(move || n * n, ())).collect();
/// let mean = flow::spawn(|parts: All<u64>| parts.iter().sum::<u64>() / parts.len() as u64, (&parts[..],));
/// let last = flow::spawn(|parts: All<u64>| parts[parts.len() - 1], (&parts[..],));
/// assert_eq!((mean.join()?, last.join()?), (4, 9));
/// # Ok::<(), flow::NodeError>(())
/// ```
pub struct All<'a, T: 'static>(&'a [Arc<dyn Origin<T>>]);

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct LentOne<T: 'static>(Arc<dyn Origin<T>>);

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct LentAll<T: 'static>(Box<[Arc<dyn Origin<T>>]>);

impl LentAll<()> {
    /// What a node waits for beside its arguments.
    pub(super) fn new(sources: Vec<Arc<dyn Origin<()>>>) -> Self {
        LentAll(sources.into())
    }
}

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct MovedAll<T: 'static>(Box<[Moved<T>]>);

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Moved<T: 'static>(Option<Arc<Promise<T>>>);

#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Plain<V>(Option<V>);

/// The value of a node that has ended well: its dependents run only then.
fn value<T: Send + Sync + 'static>(source: &Arc<dyn Origin<T>>) -> &T {
    match source.output().outcome() {
        Some(Ok(value)) => value,
        _ => unreachable!("a node runs when all that it needs is there"),
    }
}

impl<T: Send + Sync + 'static> Arg for &Handle<T> {
    type Given<'a> = &'a T;
    type Kept = LentOne<T>;
    #[inline]
    fn keep(self) -> LentOne<T> {
        LentOne(self.source().clone())
    }
    #[inline]
    fn give(kept: &mut LentOne<T>) -> &T {
        value(&kept.0)
    }
}

impl<T: Send + 'static> Arg for Handle<T> {
    type Given<'a> = T;
    type Kept = Moved<T>;
    fn keep(self) -> Moved<T> {
        let promise = Promise::new(self.source().name());
        pass_to(self.into_source(), promise.clone());
        Moved(Some(promise))
    }
    fn give(kept: &mut Moved<T>) -> T {
        let mut promise = kept.0.take();
        let value = promise.as_mut().and_then(|promise| {
            // Who has ended it lets go of it next (`Promise::take`).
            loop {
                match Arc::get_mut(promise) {
                    Some(promise) => return promise.output_mut().take(),
                    None => std::thread::yield_now(),
                }
            }
        });
        match value {
            Some(Ok(value)) => value,
            _ => unreachable!("a node runs when all that it needs is there, and the promise is its own"),
        }
    }
}

impl<T: Send + 'static> Arg for Vec<Handle<T>> {
    type Given<'a> = Vec<T>;
    type Kept = MovedAll<T>;
    fn keep(self) -> MovedAll<T> {
        MovedAll(self.into_iter().map(Arg::keep).collect())
    }
    fn give(kept: &mut MovedAll<T>) -> Vec<T> {
        kept.0.iter_mut().map(<Handle<T> as Arg>::give).collect()
    }
}

impl<T: Send + Sync + 'static> Arg for &[Handle<T>] {
    type Given<'a> = All<'a, T>;
    type Kept = LentAll<T>;
    fn keep(self) -> LentAll<T> {
        LentAll(self.iter().map(|handle| handle.source().clone()).collect())
    }
    fn give(kept: &mut LentAll<T>) -> All<'_, T> {
        All(&kept.0)
    }
}

impl<T: Send + Sync + 'static> Arg for &Vec<Handle<T>> {
    type Given<'a> = All<'a, T>;
    type Kept = LentAll<T>;
    fn keep(self) -> LentAll<T> {
        self.as_slice().keep()
    }
    fn give(kept: &mut LentAll<T>) -> All<'_, T> {
        All(&kept.0)
    }
}

impl<T: Send + Sync + 'static> Arg for Vec<&Handle<T>> {
    type Given<'a> = All<'a, T>;
    type Kept = LentAll<T>;
    fn keep(self) -> LentAll<T> {
        LentAll(self.into_iter().map(|handle| handle.source().clone()).collect())
    }
    fn give(kept: &mut LentAll<T>) -> All<'_, T> {
        All(&kept.0)
    }
}

impl<T: Send + Sync + 'static> ArgAgain for &Handle<T> {}
impl<T: Send + Sync + 'static> ArgAgain for &[Handle<T>] {}
impl<T: Send + Sync + 'static> ArgAgain for &Vec<Handle<T>> {}
impl<T: Send + Sync + 'static> ArgAgain for Vec<&Handle<T>> {}

impl<T: Send + Sync + 'static> Kept for LentOne<T> {
    type Edges = Edge<dyn Dependent>;
    #[inline]
    fn edges(&self) -> Self::Edges {
        Edge::default()
    }
    #[inline]
    fn each(&self, edge: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        f(self.0.output(), edge);
    }
}

impl<T: Send + Sync + 'static> Kept for LentAll<T> {
    type Edges = Box<[Edge<dyn Dependent>]>;
    fn edges(&self) -> Self::Edges {
        self.0.iter().map(|_| Edge::default()).collect()
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.0.iter().zip(edges).for_each(|(source, edge)| f(source.output(), edge));
    }
}

impl<T: Send + 'static> Kept for Moved<T> {
    type Edges = Edge<dyn Dependent>;
    fn edges(&self) -> Self::Edges {
        Edge::default()
    }
    fn each(&self, edge: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.0.iter().for_each(|promise| f(promise.output(), edge));
    }
}

impl<T: Send + 'static> Kept for MovedAll<T> {
    type Edges = Box<[Edge<dyn Dependent>]>;
    fn edges(&self) -> Self::Edges {
        self.0.iter().map(Kept::edges).collect()
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.0.iter().zip(edges).for_each(|(moved, edge)| moved.each(edge, f));
    }
}

/// The body has a clone, so the value is dropped where the engine is in the middle of something.
impl<V> Drop for Plain<V> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<V>() {
            unwind::drop_quietly(self.0.take());
        }
    }
}

impl<V: Send + 'static> Kept for Plain<V> {
    type Edges = ();
    #[inline]
    fn edges(&self) {}
    #[inline]
    fn each(&self, (): &(), _: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {}
}

impl<V: Clone + Send + 'static> Arg for Value<V> {
    type Given<'a> = V;
    type Kept = Plain<V>;
    fn keep(self) -> Plain<V> {
        Plain(Some(self.0))
    }
    fn give(kept: &mut Plain<V>) -> V {
        kept.0.clone().expect("it is kept")
    }
}

impl<V: Clone + Send + 'static> ArgAgain for Value<V> {}

macro_rules! plain {
    ($($plain:ty)*) => { $(
        impl Arg for $plain {
            type Given<'a> = $plain;
            type Kept = Plain<$plain>;
            #[inline]
            fn keep(self) -> Plain<$plain> {
                Plain(Some(self))
            }
            #[inline]
            fn give(kept: &mut Plain<$plain>) -> $plain {
                kept.0.clone().expect("it is kept")
            }
        }
        impl ArgAgain for $plain {}
    )* };
}
plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char String &'static str);

impl<'a, T: Send + Sync + 'static> All<'a, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a T> + use<'a, T> {
        self.0.iter().map(value)
    }
}

impl<T: Send + Sync + 'static> std::ops::Index<usize> for All<'_, T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        value(&self.0[index])
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for All<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
