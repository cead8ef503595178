//! `Select`: operations that are added at run time, and are completed after one of them was chosen.

use crate::arm::{RecvArm, received};
use crate::channel::{Receiver, Sender, Slot};
use crate::err::*;
use myriad::channel::oneshot;
use myriad::select::Select as On;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The number of one use of a `Select`: what it has brought lies under that number at the end that
/// was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    fn new() -> Ticket {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Ticket(LAST.fetch_add(1, Relaxed))
    }
}

/// An end of a channel, as an operation of a `Select`.
pub(crate) trait End: Sync {
    fn add<'s>(&'s self, to: &mut On<'s, usize>, index: usize, ticket: Ticket);
    fn is_ready(&self) -> bool;
}

impl<T: Send> End for Receiver<T> {
    fn add<'s>(&'s self, to: &mut On<'s, usize>, index: usize, ticket: Ticket) {
        let arm: RecvArm<'s, T> = self.recv_arm();
        to.add(arm, move |came| {
            self.selected.put(ticket, received(came));
            index
        });
    }
    fn is_ready(&self) -> bool {
        self.receives_now()
    }
}

impl<T: Send> End for Sender<T> {
    fn add<'s>(&'s self, to: &mut On<'s, usize>, index: usize, ticket: Ticket) {
        let (fill, place) = oneshot();
        let mut fill = Some(fill);
        to.send(&self.on, Slot::Later(place), move |sent| {
            self.selected.put(ticket, fill.take().filter(|_| sent.is_ok()));
            index
        });
    }
    fn is_ready(&self) -> bool {
        self.on.is_ready()
    }
}

/// Operations of which one is to be selected. (Messages are `Send` here; in the genuine crate
/// whoever completes it needs to care.)
#[derive(Clone, Default)]
pub struct Select<'a> {
    pub(crate) ends: Vec<(usize, &'a dyn End)>,
    next_index: usize,
    pub(crate) biased: bool,
}

impl<'a> Select<'a> {
    /// No operations; each that is ready is as likely.
    pub fn new() -> Select<'a> {
        Select::default()
    }
    /// The first that is ready.
    pub fn new_biased() -> Self {
        Select { biased: true, ..Select::default() }
    }
    fn add(&mut self, end: &'a dyn End) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        self.ends.push((index, end));
        index
    }
    /// Adds a send.
    pub fn send<T: Send>(&mut self, s: &'a Sender<T>) -> usize {
        self.add(s)
    }
    /// Adds a receive.
    pub fn recv<T: Send>(&mut self, r: &'a Receiver<T>) -> usize {
        self.add(r)
    }
    /// Removes the operation with this index.
    pub fn remove(&mut self, index: usize) {
        assert!(index < self.next_index, "index out of bounds; {index} >= {}", self.next_index);
        let at = self.ends.iter().position(|(other, _)| *other == index).expect("no operation with this index");
        self.ends.swap_remove(at);
    }

    fn selected(&self, wait: impl FnOnce(&mut On<'a, usize>) -> Option<usize>) -> Option<SelectedOperation<'a>> {
        let ticket = Ticket::new();
        let mut on = if self.biased { On::biased() } else { On::new() };
        for (index, end) in &self.ends {
            end.add(&mut on, *index, ticket);
        }
        let index = wait(&mut on)?;
        Some(SelectedOperation { index, ticket, completed: false, ends: PhantomData })
    }
    /// Selects what is ready now.
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.selected(On::try_wait).ok_or(TrySelectError)
    }
    /// Waits until one can be selected.
    pub fn select(&mut self) -> SelectedOperation<'a> {
        assert!(!self.ends.is_empty(), "no operations have been added to `Select`");
        self.selected(|on| Some(on.wait())).expect("it has waited")
    }
    /// Waits so long.
    pub fn select_timeout(&mut self, timeout: Duration) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.selected(|on| on.wait_timeout(timeout)).ok_or(SelectTimeoutError)
    }
    /// Waits until then.
    pub fn select_deadline(&mut self, deadline: Instant) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_timeout(deadline.saturating_duration_since(Instant::now()))
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}

/// A selected operation, which has to be completed.
#[must_use]
pub struct SelectedOperation<'a> {
    index: usize,
    ticket: Ticket,
    completed: bool,
    ends: PhantomData<&'a ()>,
}

impl SelectedOperation<'_> {
    /// Which.
    pub fn index(&self) -> usize {
        self.index
    }
    /// Completes a send.
    pub fn send<T>(mut self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        let place = s.selected.take(self.ticket).expect("passed a sender that wasn't selected");
        self.completed = true;
        let Some(place) = place else { return Err(SendError(msg)) };
        // The place was received, or dropped with its channel: the message goes the same way.
        drop(place.send(msg));
        Ok(())
    }
    /// Completes a receive.
    pub fn recv<T>(mut self, r: &Receiver<T>) -> Result<T, RecvError> {
        let came = r.selected.take(self.ticket).expect("passed a receiver that wasn't selected");
        self.completed = true;
        came
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if !self.completed && !std::thread::panicking() {
            panic!("dropped `SelectedOperation` without completing the operation");
        }
    }
}
