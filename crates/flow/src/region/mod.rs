//! Regions: a serial program whose calls say what they read and write. Calls that conflict run in
//! program order, others beside each other.
//!
//! [`region`] calls a closure that writes the program down: [`Region::task`] takes a body and the
//! data that it uses. When the closure has returned, the tasks run: each after all earlier ones
//! that write what it uses, or use what it writes. So the result is that of calling the bodies one
//! after the other. [`Graph::record`] writes down in the same way, and gives the graph, which can
//! be run again, drawn and traced.
//!
//! ```
//! use myriad::flow;
//! let (mut a, mut b, mut sum) = (1, 2, 0);
//! flow::region(|r| {
//!     let (a, b, sum) = (r.data(&mut a), r.data(&mut b), r.data(&mut sum));
//!     r.task(|a: &mut i32| *a *= 10, (a.write(),));
//!     r.task(|b: &mut i32| *b *= 10, (b.write(),)); // runs beside the first one
//!     r.task(|a: &i32, b: &i32, sum: &mut i32| *sum = a + b, (a.read(), b.read(), sum.write()));
//!     r.task(|a: &mut i32| *a = 0, (a.write(),)); // after the sum, which reads `a`
//! })?;
//! assert_eq!((a, b, sum), (0, 20, 30));
//! # Ok::<(), flow::graph::RunError>(())
//! ```
//!
//! | the data | as | used by |
//! |---|---|---|
//! | any value | [`r.data(&mut x)`](Region::data) | `x.read()`, `x.write()`: `&T`, `&mut T` |
//! | a slice | [`r.slice(&mut v)`](Region::slice) | `v.read(2..5)`, `v.write(..)`: `&[T]`, `&mut [T]` |
//! | a matrix | [`r.tiles(&mut m, columns, 32)`](Region::tiles) | `m.tile(i, j).read()`: [`Tile`], [`TileMut`] |
//! | what nobody writes | the body captures a `&` | |
//!
//! What a task writes it may also read. (OpenMP and Dagger tell `out` from `inout`; in both the
//! order is the same.)

mod access;
mod data;
mod held;
mod history;
mod raw_tile;
mod record;
mod tile;
mod tiles;

pub use access::Access;
pub use data::{Data, Slice};
pub use held::{Exclusive, ExclusiveTile, Shared, SharedTile};
pub use record::{Region, TaskDraft};
pub use tile::{Tile, TileMut};
pub use tiles::{TileData, Tiles};

use crate::graph::{Graph, RunError};

/// Runs the program that `record` writes down: see the [module](self).
///
/// # Blocking
/// Until all its tasks have ended. They begin when `record` has returned.
///
/// # Cancellation
/// If the caller is cancelled, so are the tasks that run, and no others begin; it unwinds when they
/// have ended.
///
/// # Panics
/// If `record` does, or has caught a panic of [`Region::task`]: then no task has run.
///
/// # Errors
/// Tasks have failed. What comes after them, directly or by others in between, did not run;
/// everything else did.
#[doc(alias = "spawn_datadeps")]
#[doc(alias = "depend")]
#[doc(alias = "taskloop")]
pub fn region<'env>(record: impl FnOnce(&mut Region<'env>)) -> Result<(), RunError> {
    Graph::record(record).run()
}

impl<'env> Graph<'env> {
    /// The graph of a [region](crate::region()): its tasks are the nodes. Each run is the whole
    /// program.
    ///
    /// # Panics
    /// If `record` does, or has caught a panic of [`Region::task`].
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::Graph;
    /// let mut row = [0, 0, 0, 1];
    /// let graph = Graph::record(|r| {
    ///     let row = r.slice(&mut row);
    ///     for i in 1..row.len() {
    ///         r.task(|pair: &mut [u64]| pair[0] += pair[1], (row.write(i - 1..=i),)).name(format!("add {i}"));
    ///     }
    /// });
    /// graph.run_n(3)?;
    /// println!("{}", graph.to_dot());
    /// drop(graph);
    /// assert_eq!(row, [1, 3, 3, 1]);
    /// # Ok::<(), myriad::flow::graph::RunError>(())
    /// ```
    pub fn record(record: impl FnOnce(&mut Region<'env>)) -> Graph<'env> {
        let mut region = Region::new();
        record(&mut region);
        region.into_graph()
    }
}
