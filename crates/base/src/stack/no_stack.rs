//! The error that says why there is no stack for another blocked task, and what to do.

use std::fmt;
use std::io;

/// No stack for another blocked task.
#[derive(Debug)]
pub struct NoStack {
    stacks: usize,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// So many are allowed, by the builder or `MYRIAD_MAX_STACKS`.
    Limit(usize),
    /// Guards by mprotect, and the process may have only so many mappings.
    Mappings(Option<usize>),
    /// The system said no.
    Os(io::Error),
}

impl NoStack {
    /// All `max` stacks that are allowed exist.
    pub fn limit(stacks: usize, max: usize) -> NoStack {
        NoStack { stacks, why: Why::Limit(max) }
    }
    /// The system gave no memory or no thread.
    pub fn os(stacks: usize, error: io::Error) -> NoStack {
        NoStack { stacks, why: Why::Os(error) }
    }
    /// No mapping is left for a guard page.
    pub(super) fn mappings(stacks: usize) -> NoStack {
        NoStack { stacks, why: Why::Mappings(crate::sys::map::max_map_count()) }
    }
    /// How many stacks this worker has.
    pub fn stacks(&self) -> usize {
        self.stacks
    }
}

impl fmt::Display for NoStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stacks = self.stacks;
        write!(f, "no stack for another blocked task: ")?;
        match &self.why {
            Why::Limit(max) => write!(
                f,
                "this worker has {stacks}, and {max} are allowed. Block fewer tasks at a time, make the waiting ones \
                 async (a future takes bytes instead of a stack), or raise the limit (Builder::max_stacks, \
                 MYRIAD_MAX_STACKS)"
            ),
            Why::Mappings(max) => {
                write!(
                    f,
                    "this worker has {stacks}, and the process has nearly as many memory mappings as it may have"
                )?;
                if let Some(max) = max {
                    write!(f, " (vm.max_map_count = {max}; a guard page takes 2)")?;
                }
                write!(
                    f,
                    ". Make the waiting tasks async (a future takes bytes instead of a stack), raise the limit \
                     (`sysctl vm.max_map_count=2000000`), or use Linux 6.13 or later, where guard pages take no mappings"
                )?;
                match std::env::var_os("MYRIAD_NO_GUARD_INSTALL") {
                    Some(_) => write!(f, " (MYRIAD_NO_GUARD_INSTALL is set)"),
                    None => Ok(()),
                }
            }
            Why::Os(error) => write!(
                f,
                "this worker has {stacks}, and the system refuses more: {error}. Make the waiting tasks async (a future \
                 takes bytes instead of a stack), let closures wait on fibers (Builder::fibers), or look at the limits \
                 on threads (ulimit -u, sysctl vm.max_map_count: a thread takes four mappings) and on memory (ulimit -v, \
                 vm.overcommit_memory, the container's; Builder::stack_size makes stacks smaller)"
            ),
        }
    }
}

impl std::error::Error for NoStack {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.why {
            Why::Os(error) => Some(error),
            _ => None,
        }
    }
}
