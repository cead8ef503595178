//! How a node runs that has permits, retries, a limit in time or a token.

use super::error::Cause;
use super::node::{Body, Error};
use myriad_core::cancel::{self, Token};
use myriad_core::engine::unwind::{self, Payload};
use myriad_core::engine::user_code;
use myriad_core::time;
use myriad_sync::lock::Semaphore;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Limits<'env> {
    /// In the order of their places in memory, which is that of all nodes: so no two nodes wait for
    /// each other.
    permits: Vec<(&'env Semaphore, usize)>,
    pub(super) retries: u32,
    pub(super) time: Option<Duration>,
    pub(super) token: Option<Token>,
}

impl<'env> Limits<'env> {
    pub(super) fn add_permits(&mut self, semaphore: &'env Semaphore, count: usize) {
        let place = |semaphore: &Semaphore| std::ptr::from_ref(semaphore).addr();
        match self.permits.binary_search_by_key(&place(semaphore), |(other, _)| place(other)) {
            // Taken at once: a node that took them one by one could wait for itself.
            Ok(at) => self.permits[at].1 += count,
            Err(at) => self.permits.insert(at, (semaphore, count)),
        }
    }

    /// Calls the body within the limits, as often as they say. `Err`: this unwinds as the calling
    /// task's cancellation does.
    pub(super) fn call(&self, body: &Body<'_>) -> Result<Result<u32, Cause>, Payload> {
        user_code::body(|| match &self.token {
            Some(token) => token.run(|| self.attempts(body)).unwrap_or(Err(Cause::Cancelled)),
            None => self.attempts(body),
        })
    }

    fn attempts(&self, body: &Body<'_>) -> Result<u32, Cause> {
        let mut left = self.retries;
        loop {
            // A body that fails need not have waited.
            cancel::check();
            let result = self.attempt(body);
            if left == 0 || result.is_ok() {
                return result;
            }
            left -= 1;
            // A cause may have a destructor of the user's.
            unwind::drop_quietly(result);
        }
    }

    fn attempt(&self, body: &Body<'_>) -> Result<u32, Cause> {
        let _permits: Vec<_> = self.permits.iter().map(|(semaphore, n)| semaphore.acquire_many(*n)).collect();
        let limited = || match self.time {
            Some(limit) => time::timeout(limit, body).map_or(Err(Cause::TimedOut(limit)), failed),
            None => failed(body()),
        };
        user_code::body(limited).unwrap_or_else(|payload| match unwind::is_cancellation(&payload) {
            // The token's, or the task's: it goes on to there.
            true => unwind::resume(payload),
            false => Err(Cause::panicked(payload)),
        })
    }
}

fn failed(result: Result<u32, Error>) -> Result<u32, Cause> {
    result.map_err(Cause::Error)
}
