//! Names of inputs and outputs, with the types of their messages.

use std::fmt;
use std::marker::PhantomData;

/// An input of a process: a name for it, which is copied.
///
/// Example: [`Outputs::recorder`](super::Outputs::recorder).
pub struct In<T> {
    pub(super) id: PortId,
    messages: PhantomData<fn(T)>,
}

/// An output of a process: a name for it, which is copied.
///
/// Example: [`Outputs::recorder`](super::Outputs::recorder).
pub struct Out<T> {
    pub(super) id: PortId,
    messages: PhantomData<fn() -> T>,
}

/// Which of a network's inputs, or outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortId {
    /// A number that no other network has.
    pub(super) network: u64,
    pub(super) process: usize,
    /// Among those of its process.
    pub(super) at: usize,
}

macro_rules! port {
    ($port:ident) => {
        impl<T> $port<T> {
            pub(super) fn new(id: PortId) -> Self {
                $port { id, messages: PhantomData }
            }
        }

        impl<T> Clone for $port<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $port<T> {}

        impl<T> fmt::Debug for $port<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let PortId { process, at, .. } = self.id;
                write!(f, "{}({process}, {at})", stringify!($port))
            }
        }
    };
}
port!(In);
port!(Out);
