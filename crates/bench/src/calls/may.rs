//! `calls` by may: a coroutine, and its join.

use super::{measure, square};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn idle(p: &Params) -> Outcome {
    let may = host::may::start(p);
    measure(p, |i| may.run(move || square(i)))
}
