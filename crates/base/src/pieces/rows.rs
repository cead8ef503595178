//! A vector in pieces of memory.

use super::array::Array;
use super::piece::SIZE;
use std::collections::VecDeque;

/// A vector of small values in pieces: it grows without moving what is in it, and loses its first
/// piece as a whole.
#[derive(Debug)]
pub struct Rows<T> {
    /// All full, but for the last one.
    pieces: VecDeque<Array<T>>,
    len: usize,
}

impl<T: Copy> Rows<T> {
    /// Values of a piece: a power of two.
    pub const OF_A_PIECE: usize = 1 << (SIZE / size_of::<T>()).ilog2();

    /// An empty one, which takes no memory.
    pub const fn new() -> Rows<T> {
        Rows { pieces: VecDeque::new(), len: 0 }
    }
    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// For how many there is memory.
    pub fn capacity(&self) -> usize {
        self.pieces.len() * Self::OF_A_PIECE
    }
    /// One more, behind the others.
    #[inline]
    pub fn push(&mut self, value: T) {
        let at = self.len % Self::OF_A_PIECE;
        self.len += 1;
        if at > 0
            && let Some(last) = self.pieces.back_mut()
        {
            last[at] = value;
        } else {
            self.pieces.push_back(Array::new(Self::OF_A_PIECE, || value));
        }
    }
    /// Removes the first piece, whose values go there.
    pub fn move_first_piece(&mut self, to: &mut impl Extend<T>) {
        if let Some(first) = self.pieces.pop_front() {
            let len = self.len.min(Self::OF_A_PIECE);
            self.len -= len;
            to.extend(first[..len].iter().copied());
        }
    }
    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flat_map(|piece| piece.iter()).take(self.len)
    }
}

impl<T: Copy> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows::new()
    }
}

impl<T: Copy> std::ops::Index<usize> for Rows<T> {
    type Output = T;
    #[inline]
    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.len);
        &self.pieces[at / Self::OF_A_PIECE][at % Self::OF_A_PIECE]
    }
}

impl<T: Copy> std::ops::IndexMut<usize> for Rows<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(at < self.len);
        &mut self.pieces[at / Self::OF_A_PIECE][at % Self::OF_A_PIECE]
    }
}

impl<T: Copy> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Rows<T> {
        let mut rows = Rows::new();
        values.into_iter().for_each(|value| rows.push(value));
        rows
    }
}
