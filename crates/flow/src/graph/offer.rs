//! What a run offers to other workers: a task for each node that is ready, and for rows.
//!
//! Where many come after a node, their row is cut in half, and in half again, and the far halves
//! are offered as they are, to be counted down by who takes them. So others have half of the row
//! at once, and there are few tasks at a time. (On one worker a row of 100,000 takes as long as
//! with a task for each node at once.)

use super::error::Cause;
use super::levels::ReadyNodes;
use super::run::Run;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_core::Scope;
use myriad_core::engine::scope;
use std::mem::ManuallyDrop;

/// A row that is longer is cut. (At 8, what the tasks of halves cost whose nodes are not yet ready
/// was a fifth of all that a run of Cholesky's factorization has to do beside the bodies.)
pub(super) const ROW: usize = 64;

impl<'g> Run<'g, '_> {
    /// Makes a task of a node that is ready. (Two words, in registers: see `spawn_detached`.)
    #[inline(always)]
    pub(super) fn offer<'scope, const RANKED: bool>(&'scope self, s: &'scope Scope<'scope, '_>, node: u32) {
        let offered = Offered { run: self, node };
        scope::spawn_detached(s, move |s| {
            let Offered { run, node } = *ManuallyDrop::new(offered);
            run.go::<RANKED>(s, Some(node), &[]);
        });
    }

    /// Makes a task of a row that is to be counted down.
    pub(super) fn offer_row<'scope, const RANKED: bool>(&'scope self, s: &'scope Scope<'scope, '_>, row: &'g [u32]) {
        if let Some(&node) = row.first() {
            let offered = Offered { run: self, node };
            scope::spawn_detached(s, move |s| ManuallyDrop::new(offered).run.go::<RANKED>(s, None, row));
        }
    }

    /// Makes a task of the highest node that is ready when the task begins.
    pub(super) fn offer_highest<'scope>(&'scope self, s: &'scope Scope<'scope, '_>) {
        let offered = OfferedHighest(self);
        scope::spawn_detached(s, move |s| ManuallyDrop::new(offered).0.go::<true>(s, None, &[]));
    }

    /// Makes a task of a node that is ready; of those that are ranked, of the highest. (A task of
    /// its own would have its turn when the scheduler comes to it, however high the node is: under
    /// the depth-first policy behind all others.)
    #[inline]
    pub(super) fn offer_in_order<'scope, const RANKED: bool>(&'scope self, s: &'scope Scope<'scope, '_>, node: u32) {
        match &self.ready {
            Some(ready) if RANKED => {
                ready.put(node);
                self.offer_highest(s);
            }
            _ => self.offer::<RANKED>(s, node),
        }
    }

    /// Offers the far half of a row as long as the row is long. Returns what is left.
    #[cold]
    pub(super) fn offer_halves<'scope, const RANKED: bool>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        mut row: &'g [u32],
    ) -> &'g [u32] {
        while row.len() > ROW {
            let (near, far) = row.split_at(row.len() / 2);
            self.offer_row::<RANKED>(s, far);
            row = near;
        }
        row
    }

    /// The task of this node was cancelled before it began.
    #[cold]
    fn never_began(&self, node: Option<u32>) {
        self.failed.lock().extend(node.map(|node| (node, Cause::Cancelled)));
        self.is_whole.store(false, Relaxed);
    }
}

/// A node that was offered and has not begun, or the first of a row; such a task is dropped if it
/// is cancelled before.
struct Offered<'a, 'g, 'env> {
    run: &'a Run<'g, 'env>,
    node: u32,
}

impl Drop for Offered<'_, '_, '_> {
    #[cold]
    fn drop(&mut self) {
        self.run.never_began(Some(self.node));
    }
}

/// The same of a task for the highest node.
struct OfferedHighest<'a, 'g, 'env>(&'a Run<'g, 'env>);

impl Drop for OfferedHighest<'_, '_, '_> {
    #[cold]
    fn drop(&mut self) {
        self.0.never_began(self.0.ready.as_ref().and_then(ReadyNodes::take));
    }
}
