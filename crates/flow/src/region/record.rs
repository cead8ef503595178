//! A program that is being written down.

use super::access::Accesses;
use super::held::TaskBody;
use super::history::Histories;
use super::{Data, Slice, Tiles};
use crate::graph::{Graph, GraphBuilder, Name};
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Writes the tasks of a program down, in their order: the argument of the closure of
/// [`region`](crate::region()).
///
/// Examples: [the module](super), [`task`](Self::task).
pub struct Region<'env> {
    pub(super) number: u64,
    pub(super) graph: GraphBuilder<'env>,
    pub(super) histories: Histories,
    /// A task was refused half-way: histories have it, and the graph has not.
    is_broken: bool,
}

impl<'env> Region<'env> {
    pub(super) fn new() -> Region<'env> {
        // (64 bits do not come round.)
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        Region { number, graph: GraphBuilder::new(), histories: Histories::new(), is_broken: false }
    }

    pub(super) fn into_graph(self) -> Graph<'env> {
        assert!(!self.is_broken, "a task of this region was refused, so that the others make no whole program");
        // Each task comes after earlier ones, so there is no circle.
        self.graph.build().unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// A datum that tasks use as a whole.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow;
    /// let mut words = vec!["c", "a", "b"];
    /// flow::region(|r| {
    ///     let words = r.data(&mut words);
    ///     r.task(|words: &mut Vec<&str>| words.sort(), (words.write(),));
    ///     r.task(|words: &Vec<&str>| println!("{words:?}"), (words.read(),));
    /// })?;
    /// assert_eq!(words, ["a", "b", "c"]);
    /// # Ok::<(), flow::graph::RunError>(())
    /// ```
    pub fn data<T: ?Sized>(&mut self, datum: &'env mut T) -> Data<T> {
        Data { region: self.number, history: self.histories.add(1, 1), pointer: datum }
    }

    /// A slice that tasks use by ranges.
    ///
    /// Example: [`Slice`].
    pub fn slice<T>(&mut self, slice: &'env mut [T]) -> Slice<T> {
        Slice { region: self.number, history: self.histories.add(1, slice.len()), pointer: slice }
    }

    /// A matrix in row-major order (`matrix[i * columns + j]` is in row `i`), which tasks use by
    /// square tiles of `size` rows. O(number of tiles).
    ///
    /// # Panics
    /// If the matrix has no columns, its length is no multiple of them, or `size` is 0.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::{self, region::{Tile, TileMut}};
    /// let (n, size) = (100, 32);
    /// let (a, b) = (vec![1.0; n * n], vec![2.0; n * n]);
    /// let (mut a, mut b, mut product) = (a, b, vec![0.0; n * n]);
    /// fn multiply(a: Tile<f64>, b: Tile<f64>, mut c: TileMut<f64>) {
    ///     for i in 0..c.rows() {
    ///         for k in 0..a.columns() {
    ///             let x = a[(i, k)];
    ///             c.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(c, b)| *c += x * b);
    ///         }
    ///     }
    /// }
    /// flow::region(|r| {
    ///     let (a, b) = (r.tiles(&mut a, n, size), r.tiles(&mut b, n, size));
    ///     let c = r.tiles(&mut product, n, size);
    ///     for i in 0..c.rows() {
    ///         for j in 0..c.columns() {
    ///             for k in 0..a.columns() {
    ///                 let (a, b, c) = (a.tile(i, k), b.tile(k, j), c.tile(i, j));
    ///                 r.task(multiply, (a.read(), b.read(), c.write()));
    ///             }
    ///         }
    ///     }
    /// })?;
    /// assert!(product.iter().all(|&x| x == 200.0));
    /// # Ok::<(), flow::graph::RunError>(())
    /// ```
    #[track_caller]
    pub fn tiles<T>(&mut self, matrix: &'env mut [T], columns: usize, size: usize) -> Tiles<T> {
        Tiles::new(self.number, &mut self.histories, matrix, columns, size)
    }

    /// Adds a task: `body` will be called with what `accesses` name, after the earlier tasks with
    /// which it conflicts.
    ///
    /// `accesses` is a tuple of up to eight, and `body` has an argument for each, in their order.
    /// One that is a `Vec` of accesses of one kind gives a `Vec`. A closure's arguments need their
    /// types. The body returns `()` or a `Result`; it may wait, run regions of its own, and borrow
    /// what lives as long as the data (`'env`). It is `Fn`, because a [graph](crate::Graph::record)
    /// may run many times.
    ///
    /// O(1) for each access to a datum as a whole and each task with which it conflicts; for ranges
    /// see [`Slice`].
    ///
    /// # Panics
    /// If an access is of another region, or two of them overlap and one is a write. No task runs
    /// then, also not if the panic is caught.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow;
    /// let (mut parts, mut total) = (vec![1, 2, 3, 4], 0);
    /// flow::region(|r| {
    ///     let parts: Vec<_> = parts.iter_mut().map(|part| r.data(part)).collect();
    ///     let total = r.data(&mut total);
    ///     for part in &parts {
    ///         let square = |x: &mut i32| x.checked_mul(*x).map(|y| *x = y).ok_or("overflow");
    ///         r.task(square, (part.write(),)).name("square");
    ///     }
    ///     let all: Vec<_> = parts.iter().map(|part| part.read()).collect();
    ///     r.task(|parts: Vec<&i32>, total: &mut i32| *total = parts.into_iter().sum(), (all, total.write()));
    /// })?;
    /// assert_eq!(total, 30);
    /// # Ok::<(), flow::graph::RunError>(())
    /// ```
    #[track_caller]
    pub fn task<A, F>(&mut self, body: F, accesses: A) -> TaskDraft<'_, 'env>
    where
        A: Accesses<Held: Send + Sync + 'env>,
        F: for<'a> TaskBody<'a, A::Held> + Send + Sync + 'env,
    {
        assert!(!self.is_broken, "a task of this region was refused before, so that no other can be added");
        self.is_broken = true;
        let held = accesses.declare(self);
        self.is_broken = false;
        // SAFETY: the invariant of `held.rs`: the graph orders what was declared, and calls a body
        // once at a time.
        let body = move || unsafe { body.call(&held) }.map(|()| 0);
        let number = self.graph.len();
        self.graph.add_body(Name::OfType(std::any::type_name::<F>()), Box::new(body));
        TaskDraft { region: self, number }
    }
}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("tasks", &self.graph.len()).finish_non_exhaustive()
    }
}

/// A task that has just been added.
///
/// Example: [`Region::task`].
#[derive(Debug)]
pub struct TaskDraft<'a, 'env> {
    region: &'a mut Region<'env>,
    number: usize,
}

impl TaskDraft<'_, '_> {
    /// Its name, for errors and pictures. Without that it has the name of its function.
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.region.graph.rename(self.number, Name::Given(name.into()));
        self
    }
}
