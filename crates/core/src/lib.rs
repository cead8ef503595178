//! The engine of Myriad.
pub mod sys;
pub mod task;
