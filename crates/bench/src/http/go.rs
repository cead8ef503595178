//! `http` by Go's own `net/http`, in a process of its own.

use super::measure;
use crate::outside::go;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::Server;

const SOURCE: &str = include_str!("../../peers/http.go");

pub(super) fn closure(p: &Params) -> Outcome {
    measure(p, |listener| go::serve(SOURCE, &listener, p.workers, &p.form).map(Server::Outside))
}
