//! Where and how a node runs, and what it is called.

use myriad_core::Handle as Pool;
use myriad_core::engine;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// What a node keeps of its options.
pub(super) struct Settings {
    pub(super) pool: Pool,
    pub(super) name: NodeName,
}

/// What a node is called in errors; and what else few nodes say.
#[derive(Clone)]
pub(super) struct NodeName {
    pub(super) place: &'static Location<'static>,
    pub(super) said: Option<Arc<Said>>,
}

/// What few nodes say.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) name: Option<String>,
    pub(super) is_lazy: bool,
}

impl Settings {
    /// Of a node without options.
    #[inline]
    pub(super) fn plain(place: &'static Location<'static>) -> Self {
        Settings { pool: engine::home(), name: NodeName::at(place) }
    }

    /// May the node be left out, if nobody can reach its value?
    #[inline]
    pub(super) fn is_lazy(&self) -> bool {
        self.name.said.as_ref().is_some_and(|said| said.is_lazy)
    }
}

impl NodeName {
    /// Of what has no other name.
    #[inline]
    pub(super) fn at(place: &'static Location<'static>) -> Self {
        NodeName { place, said: None }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.said.as_ref().and_then(|said| said.name.as_ref()) {
            Some(name) => f.write_str(name),
            None => write!(f, "{}:{}:{}", self.place.file(), self.place.line(), self.place.column()),
        }
    }
}
