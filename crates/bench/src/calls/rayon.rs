//! `calls` by rayon: install.

use super::{measure, square};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn idle(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    measure(p, |i| pool.install(|| square(i)))
}

pub(super) fn busy(_: &Params) -> Outcome {
    Err(Failure::Cannot("while the tasks of its pool spawn each other, rayon begins none from outside".into()))
}
