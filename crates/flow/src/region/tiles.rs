//! A matrix of tiles.

use super::Access;
use super::held::{ExclusiveTile, SharedTile};
use super::history::{Histories, Place};
use super::raw_tile::{Parts, RawTile};
use std::fmt;

/// How many parts a tile has: below the diagonal, on it, above it.
const PARTS: usize = 3;

/// A matrix of a region, in square tiles that tasks use each for itself: of
/// [`Region::tiles`](super::Region::tiles).
///
/// It can be copied. Used in another region, it is refused with a panic.
pub struct Tiles<T> {
    region: u64,
    /// The number of the first tile's history; row by row.
    history: u32,
    origin: *mut T,
    /// Of the matrix, in elements.
    height: usize,
    width: usize,
    /// Rows of a tile.
    size: usize,
    /// Of the matrix, in tiles.
    rows: usize,
    columns: usize,
}

impl<T> Tiles<T> {
    #[track_caller]
    pub(super) fn new(region: u64, histories: &mut Histories, matrix: &mut [T], width: usize, size: usize) -> Tiles<T> {
        let len = matrix.len();
        assert!(
            width > 0 && len.is_multiple_of(width),
            "{len} elements are no matrix of {width} columns: its length is a multiple of them"
        );
        assert!(size > 0, "a tile has at least one row");
        let height = len / width;
        let (rows, columns) = (height.div_ceil(size), width.div_ceil(size));
        let history = histories.add(rows * columns, PARTS);
        Tiles { region, history, origin: matrix.as_mut_ptr(), height, width, size, rows, columns }
    }

    /// How many tiles lie below each other.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// How many tiles lie beside each other.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// The tile in this row and column of tiles. (The last ones are smaller, if the matrix is no
    /// multiple of them.)
    ///
    /// # Panics
    /// If there is no such tile.
    #[track_caller]
    pub fn tile(self, row: usize, column: usize) -> TileData<T> {
        let Tiles { height, width, size, rows, columns, .. } = self;
        assert!(
            row < rows && column < columns,
            "there is no tile ({row}, {column}) in a matrix of {rows} × {columns} tiles"
        );
        let (top, left) = (row * size, column * size);
        let raw = RawTile {
            origin: self.origin.wrapping_add(top * width + left),
            stride: width,
            rows: size.min(height - top),
            columns: size.min(width - left),
            first: 0,
            last: PARTS as u8,
        };
        // (There are as many histories as tiles, and each has a number.)
        TileData { region: self.region, history: self.history + (row * columns + column) as u32, raw }
    }
}

/// One tile of a matrix, or a triangle of one: of [`Tiles::tile`].
///
/// Triangles of one tile that share the diagonal conflict; one that has it and one that lies
/// strictly on the other side do not.
///
/// Further examples: [`Tile`](super::Tile), [`TileMut`](super::TileMut).
///
/// # Examples
/// ```
/// use myriad::flow::{self, region::{Tile, TileMut}};
/// let mut matrix = [1, 2, 3, 4];
/// flow::region(|r| {
///     let tile = r.tiles(&mut matrix, 2, 2).tile(0, 0);
///     r.task(|mut t: TileMut<i32>| t[(1, 0)] = 5, (tile.lower().write(),));
///     // Runs beside that.
///     r.task(|mut t: TileMut<i32>| t[(0, 1)] = 6, (tile.strictly_upper().write(),));
///     // After both.
///     r.task(|t: Tile<i32>| assert_eq!(t[(1, 0)] + t[(0, 1)], 11), (tile.read(),));
/// })?;
/// assert_eq!(matrix, [1, 6, 5, 4]);
/// # Ok::<(), flow::graph::RunError>(())
/// ```
pub struct TileData<T> {
    region: u64,
    history: u32,
    raw: RawTile<T>,
}

impl<T> TileData<T> {
    /// What lies below the diagonal, and the diagonal. (The diagonal alone is
    /// `tile.lower().upper()`.)
    pub fn lower(self) -> TileData<T> {
        self.within(0..2)
    }

    /// What lies below the diagonal.
    pub fn strictly_lower(self) -> TileData<T> {
        self.within(0..1)
    }

    /// The diagonal, and what lies above it.
    pub fn upper(self) -> TileData<T> {
        self.within(1..3)
    }

    /// What lies above the diagonal.
    pub fn strictly_upper(self) -> TileData<T> {
        self.within(2..3)
    }

    fn within(self, parts: Parts) -> TileData<T> {
        TileData { raw: self.raw.within(parts), ..self }
    }

    /// The task reads it: its body gets a [`Tile`](super::Tile).
    pub fn read(self) -> Access<SharedTile<T>>
    where
        T: Sync,
    {
        Access::read(self.place(), SharedTile(self.raw))
    }

    /// The task writes it, and may read it: its body gets a [`TileMut`](super::TileMut).
    #[doc(alias = "inout")]
    #[doc(alias = "out")]
    pub fn write(self) -> Access<ExclusiveTile<T>>
    where
        T: Send,
    {
        Access::write(self.place(), ExclusiveTile(self.raw))
    }

    fn place(self) -> Place {
        let parts = self.raw.parts();
        Place { region: self.region, history: self.history, range: usize::from(parts.start)..usize::from(parts.end) }
    }
}

impl<T> Clone for Tiles<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tiles<T> {}

impl<T> Clone for TileData<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TileData<T> {}

impl<T> fmt::Debug for Tiles<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tiles").field("rows", &self.rows).field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TileData<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.raw.rows, self.raw.columns);
        f.debug_struct("TileData").field("rows", &rows).field("columns", &columns).finish_non_exhaustive()
    }
}
