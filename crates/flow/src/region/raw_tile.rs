//! Where a tile lies, and which elements of it are in use.

use std::ops::Range;

/// Below the diagonal, on it, above it: which of these an access covers.
pub(super) type Parts = Range<u8>;

/// Where a tile lies, and which of it is used.
#[derive(Debug)]
pub(super) struct RawTile<T> {
    pub(super) origin: *mut T,
    /// From a row to the next.
    pub(super) stride: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) first: u8,
    pub(super) last: u8,
}

impl<T> Clone for RawTile<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RawTile<T> {}

impl<T> RawTile<T> {
    pub(super) fn parts(self) -> Parts {
        self.first..self.last
    }

    /// Only what lies in these parts, too.
    pub(super) fn within(mut self, parts: Parts) -> RawTile<T> {
        self.first = self.first.max(parts.start);
        self.last = self.last.min(parts.end).max(self.first);
        self
    }

    /// Which columns of this row are in use: always within the tile.
    #[inline(always)]
    #[track_caller]
    fn columns_of(&self, row: usize) -> Range<usize> {
        assert!(row < self.rows, "there is no row {row} in a tile of {} rows", self.rows);
        let edge = |part: u8| match part {
            0 => 0,
            1 => row.min(self.columns),
            2 => (row + 1).min(self.columns),
            _ => self.columns,
        };
        edge(self.first)..edge(self.last)
    }

    /// This row, as far as it is in use: its first element and its length.
    #[inline(always)]
    #[track_caller]
    pub(super) fn row(&self, row: usize) -> (*mut T, usize) {
        let columns = self.columns_of(row);
        (self.origin.wrapping_add(row * self.stride + columns.start), columns.len())
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn element(&self, (row, column): (usize, usize)) -> *mut T {
        let columns = self.columns_of(row);
        assert!(columns.contains(&column), "column {column} of row {row} is not in use: {columns:?} are");
        self.origin.wrapping_add(row * self.stride + column)
    }
}
