//! Memory for what comes by the million, and is gone again.
//!
//! ```text
//!  Piece    16 KiB, which go back to the system when nobody needs them
//!  Array    a row of values in one piece     Rows    a vector in pieces
//!  slabs    small blocks, cut from pieces    Boxed   a value in such a block
//! ```

mod array;
mod piece;
mod rows;
pub mod slabs;

pub use array::Array;
pub(crate) use piece::lock;
pub use piece::{Piece, SIZE, look};
pub use rows::Rows;
pub use slabs::Boxed;

#[cfg(all(test, not(loom), not(myriad_asan)))]
mod test;
