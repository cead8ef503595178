//! `echo` by a bare loop around `epoll_wait`, on one thread.

use super::measure;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Server, answer_all};

/// The server.
pub(super) fn bare(p: &Params) -> Outcome {
    measure(p, |listener| {
        // (A process that does a single run: the thread ends with it.)
        std::thread::spawn(move || answer_all(&listener, |read, answers| answers.append(read)));
        Ok(Server::Here)
    })
}
