//! The header, and programs in C and C++.

mod header;
mod programs;
