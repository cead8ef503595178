//! The tasks of a pipeline.
//!
//! Items get numbers as they are taken. A result waits in a window until all before it have been
//! given; who has put the first one there gives all that are ready, and nobody else does meanwhile.
//! So an item costs no channel of its own, as in core.async.

use super::ended::{self, Ended, Why};
use super::give::give;
use super::pipeline::Pipeline;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::unwind::Payload;
use myriad_core::cancel::Token;
use myriad_core::engine::user_code;
use myriad_sync::channel::{self, Receiver, Sender, TryRecvError};
use myriad_sync::lock::{self, Semaphore};
use myriad_sync::select;
use std::collections::VecDeque;
use std::sync::PoisonError;

/// What the tasks have in common.
pub(super) struct Line<T, O, F> {
    pub(super) source: lock::Mutex<Source<T>>,
    /// A permit for each item that may be taken; it comes back when the result is given.
    pub(super) room: Semaphore,
    results: Mutex<Results<O>>,
    /// Closed when no further item is to be taken.
    pub(super) stop: Sender<()>,
    pub(super) to: Sender<O>,
    pub(super) f: F,
    pub(super) settings: Pipeline<O>,
}

pub(super) struct Source<T> {
    pub(super) from: Receiver<T>,
    taken: u64,
    pub(super) stopped: Receiver<()>,
}

impl<T> Source<T> {
    /// One more was taken.
    pub(super) fn number(&mut self) -> u64 {
        self.taken += 1;
        self.taken - 1
    }
}

struct Results<O> {
    /// From the first that was not given on: `None` is at work, `Some(None)` is a gap.
    done: VecDeque<Option<Option<O>>>,
    is_giving: bool,
    given: u64,
    /// Given, and gaps: the number of the first in `done`.
    passed: u64,
    /// What could not be given, with its number.
    in_hand: Vec<(u64, O)>,
    end: Option<Why>,
}

impl<O> Results<O> {
    fn new() -> Self {
        Results { done: VecDeque::new(), is_giving: false, given: 0, passed: 0, in_hand: Vec::new(), end: None }
    }
}

impl<T, O: Send + 'static, F> Line<T, O, F> {
    pub(super) fn new(settings: Pipeline<O>, from: Receiver<T>, to: Sender<O>, f: F) -> Self {
        let (stop, stopped) = channel::bounded(1);
        Line {
            source: lock::Mutex::new(Source { from, taken: 0, stopped }),
            // (`end` adds some to these.)
            room: Semaphore::new(settings.window.min(usize::MAX / 2)),
            results: Mutex::new(Results::new()),
            stop,
            to,
            f,
            settings,
        }
    }

    /// All its tasks have ended.
    pub(super) fn ended(self, mut why: Why) -> Ended<O> {
        let Line { source, results, to, f, settings, .. } = self;
        let Source { from, taken, .. } = source.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Results { done, given, passed, mut in_hand, end, .. } = results.into_inner();
        if let Some(end) = end {
            why = end;
        }
        ended::release(&mut why, from);
        ended::release(&mut why, to);
        ended::release(&mut why, f);
        ended::release(&mut why, settings);
        let ready = (passed..).zip(done).filter_map(|(number, result)| Some((number, result??)));
        in_hand.extend(ready);
        in_hand.sort_by_key(|(number, _)| *number);
        let left = in_hand.into_iter().map(|(_, result)| result).collect();
        Ended { why, taken, given, left }
    }

    /// The function has panicked: with what it is replaced, or why the operation ends.
    #[cold]
    pub(super) fn panicked(&self, payload: Payload) -> Result<Option<O>, Why> {
        match (ended::panicked(payload), &self.settings.on_panic) {
            (Why::Panicked(panic), Some(on_panic)) => user_code::body(|| on_panic(panic)).map_err(ended::panicked),
            (why, _) => Err(why),
        }
    }

    /// Nothing more is taken, for this reason, if there is none yet.
    #[cold]
    pub(super) fn end(&self, why: Why) {
        // (A reason that comes too late is dropped outside of the lock: a payload is the user's.)
        let mut why = Some(why);
        let mut results = self.results.lock();
        if results.end.is_none() {
            results.end = why.take();
        }
        drop(results);
        self.stop.close();
        // Who waits for room, to take an item, looks again.
        self.room.add_permits(self.settings.tasks);
    }

    /// Puts a result into the window. `Some`: it is this task's to give what is ready there, of
    /// which here is the first. `None`: another one does.
    pub(super) fn put(&self, number: u64, result: Option<O>) -> Option<InHand<'_, O>> {
        let mut results = self.results.lock();
        let at = (number - results.passed) as usize;
        while results.done.len() <= at {
            results.done.push_back(None);
        }
        results.done[at] = Some(result);
        if std::mem::replace(&mut results.is_giving, true) { None } else { self.next_of(results) }
    }

    /// The next one that is ready to be given, for who gives. `None`: nobody gives now.
    pub(super) fn next(&self) -> Option<InHand<'_, O>> {
        self.next_of(self.results.lock())
    }

    fn next_of(&self, mut results: MutexGuard<'_, Results<O>>) -> Option<InHand<'_, O>> {
        if !matches!(results.done.front(), Some(Some(_))) {
            results.is_giving = false;
            return None;
        }
        let result = results.done.pop_front().flatten().flatten();
        let number = results.passed;
        results.passed += 1;
        drop(results);
        Some(self.in_hand(number, result))
    }

    /// A result that is to be given next.
    pub(super) fn in_hand(&self, number: u64, result: Option<O>) -> InHand<'_, O> {
        InHand { results: &self.results, number, result }
    }

    /// It was given, if it was a result.
    pub(super) fn given(&self, is_some: bool) {
        self.results.lock().given += u64::from(is_some);
        self.room.add_permits(1);
    }
}

impl<T: Send, O: Send + 'static, F: Fn(T) -> O + Sync> Line<T, O, F> {
    /// The whole operation.
    pub(super) fn run(self, token: &Token) -> Ended<O> {
        let why = ended::run(token, || {
            let work = || self.work();
            myriad_core::scope(|s| (0..self.settings.tasks).for_each(|_| drop(s.spawn(work))));
            Why::SourceEnded
        });
        self.ended(why)
    }

    /// One of the tasks.
    fn work(&self) {
        let mut done = 0;
        while let Some((number, item)) = self.take() {
            let result = match user_code::body(|| (self.f)(item)) {
                Ok(result) => Ok(Some(result)),
                Err(payload) => self.panicked(payload),
            };
            let is_open = match result {
                // (Its place stays empty, so nothing behind it is given.)
                Err(why) => return self.end(why),
                Ok(result) if self.settings.is_ordered => self.give_in_order(number, result),
                Ok(result) => self.give(self.in_hand(number, result)),
            };
            if !is_open {
                return self.end(Why::TargetClosed);
            }
            done += 1;
            ended::pass(done);
        }
    }

    /// The next item, with its number.
    ///
    /// # Blocking
    /// Until there is one, and room for its result.
    fn take(&self) -> Option<(u64, T)> {
        self.room.acquire().forget();
        // (Held over the wait: who comes next waits for the same. Nobody else takes this lock.)
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.is_closed() {
            return None;
        }
        let item = match source.from.try_recv() {
            Ok(item) => item,
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => select! {
                item = source.from.recv() => item.ok()?,
                _ = source.stopped.recv() => return None
            },
        };
        Some((source.number(), item))
    }

    /// Puts a result into the window, and gives what is ready there, unless somebody does. False:
    /// the channel is closed. (Then nobody gives any more: that is left to who has found out.)
    fn give_in_order(&self, number: u64, result: Option<O>) -> bool {
        let mut next = self.put(number, result);
        while let Some(in_hand) = next {
            if !self.give(in_hand) {
                return false;
            }
            next = self.next();
        }
        true
    }

    /// Gives a result. False: the channel is closed, and the result is kept for the end.
    fn give(&self, mut in_hand: InHand<'_, O>) -> bool {
        let is_some = in_hand.result.is_some();
        let is_open = give(&self.to, &mut in_hand.result);
        if is_open {
            self.given(is_some);
        }
        is_open
    }
}

/// A result that is being given. Whatever happens, it is not lost.
pub(super) struct InHand<'a, O> {
    results: &'a Mutex<Results<O>>,
    number: u64,
    pub(super) result: Option<O>,
}

impl<O> Drop for InHand<'_, O> {
    #[inline]
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            self.results.lock().in_hand.push((self.number, result));
        }
    }
}
