//! Messages from outside.

use super::port::{In, Out, PortId};
use super::running::Running;
use super::wiring::{InputEnds, TypedOutput};
use myriad_sync::channel::Sender;
use std::fmt;

/// An [`In`] or an [`Out`]: where [`Running::inject`] gives to.
pub trait Port<T>: Copy + private::Sealed {
    #[doc(hidden)]
    fn port(self) -> Side;
}

mod private {
    pub trait Sealed {}
    impl<T> Sealed for super::In<T> {}
    impl<T> Sealed for super::Out<T> {}
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Side(PortId, bool);

impl<T> Port<T> for In<T> {
    fn port(self) -> Side {
        Side(self.id, true)
    }
}

impl<T> Port<T> for Out<T> {
    fn port(self) -> Side {
        Side(self.id, false)
    }
}

/// Messages could not be injected.
///
/// # Examples
/// ```
/// use myriad::flow::process::{InjectError, Network};
/// let mut net = Network::builder();
/// // Connected with nothing.
/// let numbers = net.source("numbers", || 0..5);
/// let run = net.build()?.start();
/// let error = run.inject(numbers, [5]).unwrap_err();
/// assert_eq!(error, InjectError::NotRead { port: "numbers.out".into(), given: 0 });
/// # Ok::<(), myriad::flow::process::NetworkError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InjectError {
    /// Nobody reads there.
    NotRead {
        /// The input or output, as `process.name`.
        port: String,
        /// How many messages of this call were given before.
        given: u64,
    },
    /// The input or output is another network's.
    OtherNetwork,
}

impl fmt::Display for InjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InjectError::NotRead { port, given } => {
                write!(f, "nobody reads what goes to '{port}', or not any more; {given} messages went there")
            }
            InjectError::OtherNetwork => f.write_str("that is an end of another network"),
        }
    }
}

impl std::error::Error for InjectError {}

/// Where messages go.
pub(super) struct Targets<T> {
    senders: Vec<Sender<T>>,
    clone: Option<fn(&T) -> T>,
    name: String,
    given: u64,
}

impl<T: Send + 'static> Targets<T> {
    pub(super) fn new(run: &Running, Side(id, is_input): Side) -> Result<Self, InjectError> {
        if id.network != run.network.id {
            return Err(InjectError::OtherNetwork);
        }
        let process = &run.network.processes[id.process];
        let sender = |to: &PortId| {
            let ends = run.inputs[to.process][to.at].as_any().downcast_ref::<InputEnds<T>>();
            ends.expect("a connection is of one type").weak.upgrade()
        };
        let (inputs, outputs) = process.spec.names();
        let (senders, clone, name) = if is_input {
            (sender(&id).into_iter().collect(), None, &inputs[id.at])
        } else {
            let output = process.outputs[id.at].as_any().downcast_ref::<TypedOutput<T>>();
            let output = output.expect("an output's type is its declaration's");
            (output.targets.iter().filter_map(sender).collect(), output.clone, &outputs[id.at])
        };
        let targets = Targets { senders, clone, name: format!("{}.{name}", process.spec.name()), given: 0 };
        if targets.senders.is_empty() { Err(targets.not_read()) } else { Ok(targets) }
    }

    pub(super) fn into_first(self) -> Result<Sender<T>, InjectError> {
        let error = self.not_read();
        self.senders.into_iter().next().ok_or(error)
    }

    /// Gives it to each.
    ///
    /// # Blocking
    /// While one is full.
    pub(super) fn give(&mut self, message: T) -> Result<(), InjectError> {
        let (mut message, mut is_read) = (Some(message), false);
        for at in 0..self.senders.len() {
            let Some(copy) = self.copy(at, &mut message) else { break };
            is_read |= self.senders[at].send(copy).is_ok();
        }
        self.count(is_read)
    }

    pub(super) async fn give_async(&mut self, message: T) -> Result<(), InjectError> {
        let (mut message, mut is_read) = (Some(message), false);
        for at in 0..self.senders.len() {
            let Some(copy) = self.copy(at, &mut message) else { break };
            is_read |= self.senders[at].send_async(copy).await.is_ok();
        }
        self.count(is_read)
    }

    /// For the target at this place: the last one gets the message itself.
    fn copy(&self, at: usize, message: &mut Option<T>) -> Option<T> {
        match (self.clone, &message) {
            (Some(clone), Some(message)) if at + 1 < self.senders.len() => Some(clone(message)),
            _ => message.take(),
        }
    }

    fn count(&mut self, is_read: bool) -> Result<(), InjectError> {
        if !is_read {
            return Err(self.not_read());
        }
        self.given += 1;
        Ok(())
    }

    fn not_read(&self) -> InjectError {
        InjectError::NotRead { port: self.name.clone(), given: self.given }
    }
}
