//! `http` by a bare loop around `epoll_wait`, on one thread: a head ends where an empty line is,
//! and its path is the second word.

use crate::params::Params;
use crate::record::Outcome;
use crate::served::{Server, answer_all};

use super::measure;

pub(super) fn serve(p: &Params) -> Outcome {
    measure(p, |listener| {
        // (A process that does a single run: the thread ends with it.)
        std::thread::spawn(move || answer_all(&listener, answer));
        Ok(Server::Here)
    })
}

/// Answers the requests that are whole, and takes them out of what was read.
fn answer(read: &mut Vec<u8>, answers: &mut Vec<u8>) {
    while let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
        let path = read[..end].split(|&byte| byte == b' ').nth(1).unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", path.len());
        answers.extend(head.into_bytes());
        answers.extend(path);
        read.drain(..end + 4);
    }
}
