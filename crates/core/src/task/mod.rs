//! Tasks: the record, its memory, spawning, joining.
pub mod header;
