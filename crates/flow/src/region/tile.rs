//! What a body sees of a tile: its rows, and elements by row and column.
//!
//! Rows of a tile lie apart from each other in the matrix, with those of other tiles in between,
//! and a triangle has a part of each. So a view is a pointer with numbers, and gives out slices of
//! rows: never more than what its access covers.

use super::raw_tile::RawTile;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A tile that a body reads, or a triangle of one: what a task gets by
/// [`TileData::read`](super::TileData::read).
///
/// `view[(i, j)]` is the element in row `i` and column `j` of the tile, and panics where that is
/// not part of the access.
///
/// # Examples
/// ```
/// use myriad::flow::{self, region::Tile};
/// let mut matrix = [1, 2, 3, 4];
/// flow::region(|r| {
///     let tile = r.tiles(&mut matrix, 2, 2).tile(0, 0);
///     let all = |t: Tile<i32>| assert_eq!((t.rows(), t.columns(), t.row(0), t[(1, 0)]), (2, 2, &[1, 2][..], 3));
///     r.task(all, (tile.read(),));
///     let upper = |t: Tile<i32>| assert_eq!((t.row(0), t.row(1)), (&[1, 2][..], &[4][..]));
///     r.task(upper, (tile.upper().read(),));
/// })?;
/// # Ok::<(), flow::graph::RunError>(())
/// ```
pub struct Tile<'a, T> {
    raw: RawTile<T>,
    elements: PhantomData<&'a T>,
}

/// A tile that a body writes, or a triangle of one: what a task gets by
/// [`TileData::write`](super::TileData::write).
///
/// `view[(i, j)]` is the element in row `i` and column `j` of the tile, and panics where that is
/// not part of the access.
///
/// # Examples
/// ```
/// use myriad::flow::{self, region::TileMut};
/// let mut matrix = [0; 9];
/// flow::region(|r| {
///     let tile = r.tiles(&mut matrix, 3, 3).tile(0, 0);
///     let fill = |mut t: TileMut<i32>| {
///         (0..t.rows()).for_each(|i| t.row_mut(i).fill(1));
///         t[(2, 0)] = 7;
///     };
///     r.task(fill, (tile.strictly_lower().write(),));
/// })?;
/// assert_eq!(matrix, [0, 0, 0, 1, 0, 0, 7, 1, 0]);
/// # Ok::<(), flow::graph::RunError>(())
/// ```
pub struct TileMut<'a, T> {
    raw: RawTile<T>,
    elements: PhantomData<&'a mut T>,
}

// SAFETY: it is a `&[T]` for each row, and these may go to another thread as `T` is `Sync`.
unsafe impl<T: Sync> Send for Tile<'_, T> {}
// SAFETY: the same; a reference to it gives no more.
unsafe impl<T: Sync> Sync for Tile<'_, T> {}
// SAFETY: it is a `&mut [T]` for each row, and these may go to another thread as `T` is `Send`.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: a reference to it gives `&[T]`, and `T` is `Sync`.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<'a, T> Tile<'a, T> {
    /// # Safety
    /// For `'a` what is in use of the tile is there, and nobody writes it.
    #[inline(always)]
    pub(super) unsafe fn new(raw: RawTile<T>) -> Self {
        Tile { raw, elements: PhantomData }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.raw.rows
    }

    /// How many columns the tile has, in use or not.
    pub fn columns(&self) -> usize {
        self.raw.columns
    }

    /// A row, as far as the access covers it: of a lower triangle from its first column on, of an
    /// upper triangle from the diagonal on.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn row(&self, row: usize) -> &'a [T] {
        let (first, len) = self.raw.row(row);
        // SAFETY: elements of the tile in use, which are there and are not written for `'a` (what
        // `new` was promised).
        unsafe { std::slice::from_raw_parts(first, len) }
    }
}

impl<'a, T> TileMut<'a, T> {
    /// # Safety
    /// For `'a` what is in use of the tile is there, and nobody else uses it.
    #[inline(always)]
    pub(super) unsafe fn new(raw: RawTile<T>) -> Self {
        TileMut { raw, elements: PhantomData }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.raw.rows
    }

    /// How many columns the tile has, in use or not.
    pub fn columns(&self) -> usize {
        self.raw.columns
    }

    /// A row, as [`Tile::row`] has it.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn row(&self, row: usize) -> &[T] {
        let (first, len) = self.raw.row(row);
        // SAFETY: elements of the tile in use, which are there, and which nobody else uses (what
        // `new` was promised); this view writes none while it is borrowed.
        unsafe { std::slice::from_raw_parts(first, len) }
    }

    /// A row, to be written.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let (first, len) = self.raw.row(row);
        // SAFETY: elements of the tile in use, which are there, and which nobody else uses (what
        // `new` was promised); nor does this view, while it is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}

impl<T> Index<(usize, usize)> for Tile<'_, T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, at: (usize, usize)) -> &T {
        let element = self.raw.element(at);
        // SAFETY: an element of the tile in use, as in `row`.
        unsafe { &*element }
    }
}

impl<T> Index<(usize, usize)> for TileMut<'_, T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, at: (usize, usize)) -> &T {
        let element = self.raw.element(at);
        // SAFETY: an element of the tile in use, as in `row`.
        unsafe { &*element }
    }
}

impl<T> IndexMut<(usize, usize)> for TileMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, at: (usize, usize)) -> &mut T {
        let element = self.raw.element(at);
        // SAFETY: an element of the tile in use, as in `row_mut`.
        unsafe { &mut *element }
    }
}

impl<T> Clone for Tile<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<'_, T> {}

impl<T: fmt::Debug> fmt::Debug for Tile<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.rows()).map(|row| self.row(row))).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for TileMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.rows()).map(|row| self.row(row))).finish()
    }
}
