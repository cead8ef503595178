//! What the engine's own interfaces show, below the facade: contexts that move with a role, the
//! handler of stack overflows.

mod contexts_move;
mod contexts_of_threads;
mod contexts_stress;
mod here_outlives;
mod stack_overflow_handler;
