//! How something ends, who waits for that, and how many ends something waits for. Without tasks, so
//! that models run it. Not for programs: it may change at any time.

mod countdown;
mod ending;
mod once_box;

pub use countdown::Countdown;
pub use ending::{Claim, Edge, Ending, Waiting};
pub use once_box::OnceBox;
