//! Objects in common: a [`Map`] for all tasks, a [`Pool`] of objects for reuse. No task waits for
//! another one's use of them.

mod map;
mod pool;
mod table;

pub use map::{Iter, Map};
pub use pool::{Pool, Pooled};

/// Each part on cache lines of its own, with that which the processor fetches beside it.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// A power of two, of parts that are locked one by one: `each` for a processor.
fn parts(each: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors * each).next_power_of_two().min(256)
}
