//! `calls` by smol: spawn, and block on the task.

use super::{measure, square};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn idle(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    measure(p, |i| pool.run(async move { square(i) }))
}
