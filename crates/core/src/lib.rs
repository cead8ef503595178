//! The engine of Myriad.
pub mod sys;
pub mod task;
pub mod lock;
pub mod sched;
