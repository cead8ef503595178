//! How something ends, who waits for that, how many ends something waits for (a node of a graph: in
//! each run anew), and who runs what is cancelled. Without tasks, so that models run it. Not for
//! programs: it may change at any time.

mod cancellable;
mod count;
mod countdown;
mod ending;
mod once_box;

pub use cancellable::Cancellable;
pub use count::Count;
pub use countdown::Countdown;
pub use ending::{Claim, Edge, Ending, Waiting};
pub use once_box::OnceBox;
