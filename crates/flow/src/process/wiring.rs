//! Inputs and outputs as they are declared, and their channels.
//!
//! The tables of a network hold them as of any type. Each is looked for by an [`In`](super::In) or
//! [`Out`](super::Out) of its own type, so no look at a type fails.

use super::inlet::{Inlet, Keep, Step, TypedInlet};
use super::outlet::{Outlet, TypedOutlet};
use super::port::PortId;
use super::settings::Buffer;
use myriad_base::sys::mutex::Mutex;
use myriad_sync::channel::{Sender, WeakReceiver, WeakSender};
use std::any::Any;
use std::sync::Arc;

/// An input as it is declared.
pub(super) trait InputSpec<S>: Send + Sync {
    fn open(&self, buffer: Buffer) -> (Box<dyn AnyInput>, Box<dyn Inlet<S>>);
}

pub(super) struct TypedInput<S, T> {
    pub(super) step: Arc<Step<S, T>>,
    pub(super) keep: Option<Arc<Keep<T>>>,
}

impl<S: Send + 'static, T: Send + 'static> InputSpec<S> for TypedInput<S, T> {
    fn open(&self, buffer: Buffer) -> (Box<dyn AnyInput>, Box<dyn Inlet<S>>) {
        let (to, from) = buffer.channel();
        let ends = InputEnds { weak: to.downgrade(), read: from.downgrade(), strong: Mutex::new(Some(to)) };
        let (step, keep) = (self.step.clone(), self.keep.clone());
        (Box::new(ends), Box::new(TypedInlet { from, slot: None, step, keep, kept: None, number: 0 }))
    }
}

/// The ends of an input's channel that the run keeps.
pub(super) struct InputEnds<T> {
    pub(super) weak: WeakSender<T>,
    read: WeakReceiver<T>,
    /// For as long as nobody else need give to it.
    strong: Mutex<Option<Sender<T>>>,
}

/// With messages of any type.
pub(super) trait AnyInput: Send + Sync {
    /// How many messages wait, how many may, and whether no more can come.
    fn state(&self) -> (usize, usize, bool);

    /// From now on it is open for as long as somebody else gives to it.
    fn close(&self);

    fn as_any(&self) -> &dyn Any;
}

impl<T: Send + 'static> AnyInput for InputEnds<T> {
    fn state(&self) -> (usize, usize, bool) {
        match self.read.upgrade() {
            Some(from) => (from.len(), from.capacity().unwrap_or(usize::MAX), from.is_closed()),
            None => (0, 0, true),
        }
    }

    fn close(&self) {
        let strong = self.strong.lock().take();
        drop(strong);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An output as it is declared, with its connections.
pub(super) struct TypedOutput<T> {
    pub(super) targets: Vec<PortId>,
    pub(super) clone: Option<fn(&T) -> T>,
}

/// With messages of any type.
pub(super) trait AnyOutput: Send + Sync {
    fn open(&self, inputs: &[Vec<Box<dyn AnyInput>>]) -> Box<dyn Outlet>;
    fn targets(&self) -> &[PortId];
    /// May it have several targets?
    fn is_copied(&self) -> bool;
    fn messages(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Send + 'static> AnyOutput for TypedOutput<T> {
    fn open(&self, inputs: &[Vec<Box<dyn AnyInput>>]) -> Box<dyn Outlet> {
        let senders = self.targets.iter().filter_map(|to| {
            let ends = inputs[to.process][to.at].as_any().downcast_ref::<InputEnds<T>>();
            ends.expect("a connection is of one type").strong.lock().clone()
        });
        Box::new(TypedOutlet::new(senders.collect(), self.clone))
    }

    fn targets(&self) -> &[PortId] {
        &self.targets
    }

    fn is_copied(&self) -> bool {
        self.clone.is_some()
    }

    fn messages(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
