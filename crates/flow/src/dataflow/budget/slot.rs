//! A value of a budget: in memory, in a file, or in both.
//!
//! ```text
//!  made ──► in memory ◄──lend──► lent (counted)
//!              │  ▲
//!        spill │  │ lend, take: one reads, the others wait for that
//!              ▼  │
//!           in a file        the file stays until the value goes: a value is written once at most
//! ```
//! **Invariants.** Who is `busy` with the slot writes it or reads it; there is one at a time. A
//! value that is lent stays in memory. A value that is not lent, in memory, and with which nobody
//! is busy, is in the ledger's list of idle ones, since `idle_at`. `Stored` and destructors are
//! called without the lock. The lock of a slot comes before that of the ledger. A task that is
//! busy, or in the gate of the budget, delays the end of its runtime: it is not left so.
//!
//! **Why an `Arc`.** Whoever writes the value, or reads it in a body, has a reference of its own,
//! so no reference depends on the state. A value is taken out when nobody has one: its node has
//! ended, and so have all nodes to which the value was lent.

use super::files::SpillFile;
use super::ledger::{Ledger, Spill};
use crate::dataflow::settings::NodeName;
use crate::graph::Cause;
use crate::stored::{StoreError, Stored};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::delay_shutdown;
use myriad_core::engine::{unwind, user_code};
use myriad_core::{blocking, cancel};
use myriad_sync::lock::Event;
use std::io;
use std::sync::{Arc, Weak};

/// What a node of a budget has as its value.
pub(super) struct Slot<T: Stored + Send + Sync + 'static>(Arc<SlotInner<T>>);

struct SlotInner<T: Stored + Send + Sync + 'static> {
    ledger: Arc<Ledger>,
    /// Of the node.
    name: NodeName,
    bytes: usize,
    state: Mutex<SlotState<T>>,
}

struct SlotState<T> {
    value: Option<Arc<T>>,
    file: Option<Arc<SpillFile>>,
    /// Set when whoever writes or reads it has done so.
    busy: Option<Arc<Event>>,
    leases: usize,
    /// 0: it is not idle.
    idle_at: u64,
}

/// A value that is lent.
pub(super) struct Lease<T: Stored + Send + Sync + 'static> {
    /// There until it is dropped.
    value: Option<Arc<T>>,
    place: Arc<SlotInner<T>>,
}

impl<T: Stored + Send + Sync + 'static> Slot<T> {
    /// A value that was made just now.
    pub(super) fn new(ledger: Arc<Ledger>, name: NodeName, value: T) -> Self {
        let bytes = value.bytes();
        let state = SlotState { value: Some(Arc::new(value)), file: None, busy: None, leases: 0, idle_at: 0 };
        let place = Arc::new(SlotInner { ledger, name, bytes, state: Mutex::new(state) });
        place.ledger.note(|stats| stats.memory += bytes);
        place.now_idle(&mut place.state.lock());
        place.ledger.settle();
        Slot(place)
    }

    /// The value, which is in memory as long as it is lent.
    ///
    /// Blocks while it is read, or others of the budget are written to make room.
    pub(super) fn lend(&self) -> Result<Lease<T>, Cause> {
        let (place, mut delay) = (&self.0, None);
        let busy = loop {
            let mut state = place.state.lock();
            if let Some(value) = state.value.clone() {
                return Ok(place.lent(&mut state, value));
            }
            // While a value is read, whoever else wants it waits for that.
            delay = delay.or_else(delay_shutdown);
            if delay.is_none() {
                return Err(Cause::Cancelled);
            }
            match place.busy(&mut state) {
                Ok(busy) => break busy,
                Err(other) => {
                    drop(state);
                    other.wait();
                }
            }
        };
        place.ledger.make_room(place.bytes);
        let value = Arc::new(place.read()?);
        place.ledger.note(|stats| stats.memory += place.bytes);
        let mut state = place.state.lock();
        state.value = Some(value.clone());
        let lease = place.lent(&mut state, value);
        drop(state);
        drop(busy);
        Ok(lease)
    }

    /// The value itself, which counts no more.
    ///
    /// Blocks while it is read.
    pub(super) fn take(self) -> Result<T, Cause> {
        let place = &self.0;
        let (_busy, value) = loop {
            let mut state = place.state.lock();
            match place.busy(&mut state) {
                Ok(busy) => {
                    place.not_idle(&mut state);
                    break (busy, state.value.take());
                }
                Err(other) => {
                    drop(state);
                    other.wait();
                }
            }
        };
        match value {
            Some(value) => {
                place.ledger.note(|stats| stats.memory -= place.bytes);
                Ok(Arc::into_inner(value).expect("its node has ended, and those to which it was lent"))
            }
            None => place.read(),
        }
    }
}

impl<T: Stored + Send + Sync + 'static> SlotInner<T> {
    /// The right to write or read it; or who does.
    fn busy<'a>(self: &'a Arc<Self>, state: &mut SlotState<T>) -> Result<Busy<'a, T>, Arc<Event>> {
        match &state.busy {
            Some(other) => Err(other.clone()),
            None => {
                state.busy = Some(Arc::new(Event::new()));
                Ok(Busy(self))
            }
        }
    }

    fn lent(self: &Arc<Self>, state: &mut SlotState<T>, value: Arc<T>) -> Lease<T> {
        self.not_idle(state);
        state.leases += 1;
        Lease { value: Some(value), place: self.clone() }
    }

    /// Puts it on the list, if it is idle now.
    fn now_idle(self: &Arc<Self>, state: &mut SlotState<T>) {
        if state.value.is_some() && state.busy.is_none() && state.leases == 0 {
            let place = Arc::downgrade(self);
            state.idle_at = self.ledger.idle(place as Weak<dyn Spill>);
        }
    }

    fn not_idle(&self, state: &mut SlotState<T>) {
        match std::mem::take(&mut state.idle_at) {
            0 => {}
            since => self.ledger.not_idle(since),
        }
    }

    fn read(&self) -> Result<T, Cause> {
        let file = self.state.lock().file.clone().expect("it is in memory, or in a file");
        match blocking(|| file.read()) {
            Ok(value) => {
                self.ledger.note(|stats| stats.read += file.bytes);
                Ok(value)
            }
            Err(error) => Err(self.unreadable(&file, error)),
        }
    }

    #[cold]
    fn unreadable(&self, file: &SpillFile, error: io::Error) -> Cause {
        let what = format!("cannot read back the value of '{}', which was spilled", self.name);
        Cause::of(StoreError::new(what, &file.path, error, "give the budget more memory, or another folder"))
    }

    /// Writes it, whatever that does.
    fn write(&self, value: &T) -> io::Result<SpillFile> {
        let folder = &self.ledger.folder;
        // A panic of the value's own code is that of whoever makes room, who has nothing to do with
        // it; and so is a cancellation.
        let written = cancel::shield(|| blocking(|| user_code::call(|| folder.write(value))));
        written.unwrap_or_else(|payload| {
            unwind::discard(payload);
            Err(io::Error::other("`Stored::write` has panicked"))
        })
    }
}

impl<T: Stored + Send + Sync + 'static> Spill for SlotInner<T> {
    fn spill(self: Arc<Self>, idle_at: u64) -> bool {
        let mut state = self.state.lock();
        if state.idle_at != idle_at {
            // It was lent meanwhile, or is gone.
            drop(state);
            unwind::drop_quietly(self);
            return true;
        }
        state.idle_at = 0;
        let (Ok(busy), Some(value)) = (self.busy(&mut state), state.value.clone()) else {
            unreachable!("what is idle is in memory, and nobody is busy with it")
        };
        let file = state.file.clone();
        drop(state);
        let written = match file {
            Some(file) => Ok(file),
            None => self.write(&value).map(|file| {
                self.ledger
                    .note(|stats| (stats.disk, stats.spilled) = (stats.disk + file.bytes, stats.spilled + file.bytes));
                Arc::new(file)
            }),
        };
        // (The one in the state is the last.)
        drop(value);
        let mut state = self.state.lock();
        let (mut freed, is_written) = (None, written.is_ok());
        match written {
            Ok(file) => {
                state.file = Some(file);
                if state.leases == 0 {
                    freed = state.value.take();
                }
            }
            Err(error) => {
                let kind = Some(error.kind());
                self.ledger.note(|stats| (stats.failed_writes, stats.last_failure) = (stats.failed_writes + 1, kind));
            }
        }
        drop(state);
        if freed.is_some() {
            unwind::drop_quietly(freed);
            self.ledger.note(|stats| stats.memory -= self.bytes);
        }
        drop(busy);
        // (Its node may have gone meanwhile.)
        unwind::drop_quietly(self);
        is_written
    }
}

/// The right to write a value, or to read it.
struct Busy<'a, T: Stored + Send + Sync + 'static>(&'a Arc<SlotInner<T>>);

impl<T: Stored + Send + Sync + 'static> Drop for Busy<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        let event = state.busy.take();
        self.0.now_idle(&mut state);
        drop(state);
        event.into_iter().for_each(|event| event.set());
    }
}

impl<T: Stored + Send + Sync + 'static> std::ops::Deref for Lease<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("there until it is dropped")
    }
}

impl<T: Stored + Send + Sync + 'static> Drop for Lease<T> {
    fn drop(&mut self) {
        self.value = None;
        let mut state = self.place.state.lock();
        state.leases -= 1;
        let mut freed = None;
        // As it need not be written, it need not wait until room is made.
        if state.leases == 0 && state.file.is_some() && self.place.ledger.is_over() {
            freed = state.value.take();
        }
        self.place.now_idle(&mut state);
        drop(state);
        if freed.is_some() {
            unwind::drop_quietly(freed);
            self.place.ledger.note(|stats| stats.memory -= self.place.bytes);
        }
    }
}

impl<T: Stored + Send + Sync + 'static> Drop for SlotInner<T> {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.value.is_some() {
            self.ledger.note(|stats| stats.memory -= self.bytes);
        }
        if state.idle_at != 0 {
            self.ledger.not_idle(state.idle_at);
        }
        if let Some(file) = &state.file {
            self.ledger.note(|stats| stats.disk -= file.bytes);
        }
    }
}
