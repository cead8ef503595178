//! The inputs of a [`mix`](super::mix()), and what is to be done with them.
//!
//! The select over them, and over the channel of changes, stands until there is a change. It may
//! have taken an item when a change has come already, so the items of all inputs are judged when
//! there is no change left to see: one that comes with a change is held by its input until then.

use super::ended::{self, Why};
use myriad_sync::channel::{Receiver, RecvError};
use myriad_sync::select::Select;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An input of a [`mix`](super::mix()): its name in the handle's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Input(u64);

/// What becomes of the items of an [`Input`].
///
/// Example: [`Mix::set`](super::Mix::set).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// They are given.
    #[default]
    Play,
    /// They are taken, and dropped.
    Mute,
    /// They are not taken: they wait in their channel.
    Pause,
    /// They are given, and those of other inputs, unless these are soloed too, are not, as
    /// [`SoloMode`] says. That ends when the input ends, is removed, or gets another mode.
    Solo,
}

/// What becomes of other inputs while some are soloed. Those in [`Mode::Pause`] stay paused.
///
/// Example: [`Mix::set`](super::Mix::set).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SoloMode {
    /// Their items are taken, and dropped.
    #[default]
    Mute,
    /// Their items are not taken.
    Pause,
}

impl Input {
    pub(super) fn new() -> Input {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // (Relaxed: a number that nobody else has, and no more.)
        Input(NEXT.fetch_add(1, Relaxed))
    }
}

/// What the handle wants. Each is done as a whole.
pub(super) enum Change<T> {
    Add(Input, Receiver<T>, Mode),
    Remove(Input),
    Set(Vec<(Input, Mode)>),
    SoloMode(SoloMode),
}

/// All inputs.
pub(super) struct Inputs<T> {
    changes: Receiver<Change<T>>,
    /// There may be changes.
    is_open: bool,
    solo_mode: SoloMode,
    all: Vec<Entry<T>>,
    /// What was held by inputs that are removed.
    left: Vec<T>,
    taken: u64,
}

struct Entry<T> {
    input: Input,
    from: Receiver<T>,
    mode: Mode,
    /// Was taken when there was a change.
    held: Option<T>,
}

/// What a select has brought.
enum Event<T> {
    Change(Result<Change<T>, RecvError>),
    /// From the input at this place; is it to be heard?
    Item(usize, bool, Result<T, RecvError>),
}

impl<T: Send> Inputs<T> {
    pub(super) fn new(changes: Receiver<Change<T>>) -> Self {
        let (all, left) = (Vec::new(), Vec::new());
        Inputs { changes, is_open: true, solo_mode: SoloMode::default(), all, left, taken: 0 }
    }

    /// Takes items until there is a change, and puts each: `put` is told whether it is to be heard.
    /// An error is the end, which `put` may have found.
    ///
    /// # Blocking
    /// Until there are items, or a change.
    pub(super) fn take(&mut self, put: &mut impl FnMut(T, bool) -> Result<(), Why>) -> Result<(), Why> {
        while !self.changes.is_empty() {
            self.changes.try_recv().into_iter().for_each(|change| self.apply(change));
        }
        let effective = self.effective();
        for entry in &mut self.all {
            let mode = effective(entry.mode);
            if mode != Mode::Pause
                && let Some(item) = entry.held.take()
            {
                put(item, mode == Mode::Play)?;
            }
        }
        let mut select = Select::new();
        if self.is_open {
            select.recv(&self.changes, Event::Change);
        }
        for (at, entry) in self.all.iter().enumerate() {
            let mode = effective(entry.mode);
            if mode != Mode::Pause {
                select.recv(&entry.from, move |item| Event::Item(at, mode == Mode::Play, item));
            }
        }
        if select.is_empty() {
            return Err(Why::SourceEnded);
        }
        let last = loop {
            let event = select.wait();
            self.taken += u64::from(matches!(event, Event::Item(_, _, Ok(_))));
            match event {
                Event::Item(_, is_heard, Ok(item)) if self.changes.is_empty() => put(item, is_heard)?,
                event => break event,
            }
        };
        drop(select);
        match last {
            Event::Change(Ok(change)) => self.apply(change),
            Event::Change(Err(_)) => self.is_open = false,
            Event::Item(at, _, Ok(item)) => self.all[at].held = Some(item),
            Event::Item(at, _, Err(_)) => drop(self.all.remove(at)),
        }
        Ok(())
    }

    /// What a mode comes to, as long as nothing changes: never [`Mode::Solo`].
    fn effective(&self) -> impl Fn(Mode) -> Mode + use<T> {
        let has_solo = self.all.iter().any(|entry| entry.mode == Mode::Solo);
        let solo_mode = self.solo_mode;
        move |mode| match (mode, solo_mode) {
            (Mode::Solo, _) => Mode::Play,
            (Mode::Play | Mode::Mute, SoloMode::Mute) if has_solo => Mode::Mute,
            (Mode::Play | Mode::Mute, SoloMode::Pause) if has_solo => Mode::Pause,
            _ => mode,
        }
    }

    fn apply(&mut self, change: Change<T>) {
        match change {
            Change::Add(input, from, mode) => self.all.push(Entry { input, from, mode, held: None }),
            Change::Remove(input) => {
                if let Some(at) = self.all.iter().position(|entry| entry.input == input) {
                    let Entry { from, held, .. } = self.all.remove(at);
                    self.left.extend(held);
                    drop(from);
                }
            }
            Change::Set(modes) => {
                for (input, mode) in modes {
                    self.all.iter_mut().filter(|entry| entry.input == input).for_each(|entry| entry.mode = mode);
                }
            }
            Change::SoloMode(mode) => self.solo_mode = mode,
        }
    }

    /// Lets go of all. Returns how many items were taken, and those that are held.
    pub(super) fn release(self, why: &mut Why) -> (u64, Vec<T>) {
        let Inputs { changes, all, mut left, taken, .. } = self;
        // (One by one: each may drop messages of the user's, which may panic.)
        for Entry { from, held, .. } in all {
            left.extend(held);
            ended::release(why, from);
        }
        ended::release(why, changes);
        (taken, left)
    }
}
