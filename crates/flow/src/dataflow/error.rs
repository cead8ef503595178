//! Reason a node has no value.

use super::settings::NodeName;
use crate::graph::Cause;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A node has no value: its body has failed, or that of a node in front of it.
///
/// A clone is another reference to the error. A node without a name is called by the place where it
/// was spawned.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let text = flow::named("read").try_spawn(|| Err::<String, _>("no such file"), ());
/// let parsed = flow::named("parse").spawn(|text: &String| text.len(), (&text,));
/// let sum = flow::named("sum").spawn(|n: &usize| n + 1, (&parsed,));
/// let error = sum.join().unwrap_err();
/// assert_eq!(error.to_string(), "the node 'read' failed: no such file; so 'sum' did not run");
/// assert_eq!(error.path(), ["read", "parse", "sum"]);
/// assert_eq!(text.get().unwrap_err().to_string(), "the node 'read' failed: no such file");
/// ```
#[derive(Clone)]
pub struct NodeError(Arc<Inner>);

struct Inner {
    name: NodeName,
    why: Reason,
}

enum Reason {
    Itself(Cause),
    /// The first of its parents that have no value, in the order of arguments, and the others.
    Parents(Option<NodeError>, Vec<NodeError>),
}

impl NodeError {
    #[cold]
    pub(super) fn itself(name: NodeName, cause: Cause) -> Self {
        NodeError(Arc::new(Inner { name, why: Reason::Itself(cause) }))
    }

    /// Some of its parents have failed; at least one.
    #[cold]
    pub(super) fn parents(name: NodeName, mut failed: Vec<NodeError>) -> Self {
        let first = failed.remove(0);
        NodeError(Arc::new(Inner { name, why: Reason::Parents(Some(first), failed) }))
    }

    /// Of a node that has gone without an end.
    #[cold]
    #[track_caller]
    pub(super) fn lost() -> Self {
        NodeError::itself(NodeName::at(Location::caller()), Cause::Cancelled)
    }

    /// The error of the node whose body has failed.
    fn root_error(&self) -> &NodeError {
        let mut at = self;
        while let Reason::Parents(Some(first), _) = &at.0.why {
            at = first;
        }
        at
    }

    /// The name of the node whose body has failed: the root cause.
    pub fn root(&self) -> String {
        self.root_error().0.name.to_string()
    }

    /// Reason that body has failed.
    pub fn cause(&self) -> &Cause {
        match &self.root_error().0.why {
            Reason::Itself(cause) => cause,
            // (A root has no parents that have failed.)
            Reason::Parents(..) => &Cause::Cancelled,
        }
    }

    /// The name of the node that this error is of.
    pub fn node(&self) -> String {
        self.0.name.to_string()
    }

    /// The names from the node whose body has failed to this one.
    pub fn path(&self) -> Vec<String> {
        let (mut at, mut path) = (self, vec![self.node()]);
        while let Reason::Parents(Some(first), _) = &at.0.why {
            path.push(first.node());
            at = first;
        }
        path.reverse();
        path
    }

    /// The errors of the other arguments of this node that have none either, in their order.
    pub fn others(&self) -> &[NodeError] {
        match &self.0.why {
            Reason::Itself(_) => &[],
            Reason::Parents(_, others) => others,
        }
    }
}

/// In a loop: a path may be of any length.
impl Drop for Inner {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        let parents = |why: &mut Reason, rest: &mut Vec<NodeError>| {
            match why {
                Reason::Parents(first, others) => {
                    rest.extend(first.take());
                    rest.append(others);
                }
                // (A body may return the error of another node.)
                Reason::Itself(Cause::Error(error)) if error.is::<NodeError>() => {
                    let Reason::Itself(Cause::Error(error)) = std::mem::replace(why, Reason::Itself(Cause::Cancelled))
                    else {
                        return;
                    };
                    rest.extend(error.downcast().map(|error| *error));
                }
                Reason::Itself(_) => {}
            }
        };
        parents(&mut self.why, &mut rest);
        while let Some(error) = rest.pop() {
            if let Some(mut inner) = Arc::into_inner(error.0) {
                parents(&mut inner.why, &mut rest);
            }
        }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root_error();
        write!(f, "the node '{}' {}", root.0.name, self.cause())?;
        if !Arc::ptr_eq(&root.0, &self.0) {
            write!(f, "; so '{}' did not run", self.0.name)?;
        }
        match self.others().len() {
            0 => Ok(()),
            1 => f.write_str(" (and another one that it needs has failed)"),
            n => write!(f, " (and {n} others that it needs have failed)"),
        }
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeError({self})")
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause() {
            Cause::Error(error) => Some(&**error),
            _ => None,
        }
    }
}
