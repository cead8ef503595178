//! Nodes that begin one after the other: what comes before their bodies waits for files.
//!
//! A node that comes while another one is in stands in a list, and in no task: in threads mode each
//! task that waits keeps a thread, and the nodes of a large graph may all be ready at once. Whoever
//! leaves hands the gate to the first of the list.
//!
//! **Why one at a time.** Each reads values back, which stay in memory until its body has ended. If
//! all that are ready read, while their worker begins one after the other, memory would hold them
//! all. So a node that has its values goes on to its body, and then the next one reads.
//!
//! **Why nobody waits for memory.** A body may wait for another node. That one would wait for
//! the memory that this one holds.

use super::ready::{InTask, Ready, Runnable, offer};
use myriad_base::sys::mutex::Mutex;
use myriad_core::Handle;
use std::collections::VecDeque;
use std::sync::Arc;

#[doc(hidden)]
#[allow(missing_debug_implementations)]
#[derive(Default)]
pub struct Gate(Mutex<Entrance>);

#[derive(Default)]
struct Entrance {
    is_taken: bool,
    /// By the node at this address, which runs next here.
    handed_to: Option<usize>,
    /// None, if it is not taken.
    waiting: VecDeque<Arc<dyn Runnable>>,
}

/// The right to be in. (Empty, when it was handed over.)
pub(super) struct Pass(Option<Arc<Gate>>);

impl Gate {
    /// `None`: somebody is in. The node is offered when its turn has come.
    pub(super) fn enter(self: &Arc<Self>, node: &Arc<impl Runnable + 'static>) -> Option<Pass> {
        let mut entrance = self.0.lock();
        if entrance.handed_to.take_if(|to| *to == Arc::as_ptr(node).addr()).is_none() && entrance.is_taken {
            entrance.waiting.push_back(node.clone());
            return None;
        }
        entrance.is_taken = true;
        Some(Pass(Some(self.clone())))
    }

    /// `None`: somebody is in.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Pass> {
        let is_taken = std::mem::replace(&mut self.0.lock().is_taken, true);
        (!is_taken).then(|| Pass(Some(self.clone())))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Some(gate) = self.0.take() else { return };
        let next = {
            let mut entrance = gate.0.lock();
            let next = entrance.waiting.pop_front();
            entrance.is_taken = next.is_some();
            next
        };
        if let Some(node) = next {
            offer(Arc::new(Admitted { node, pass: Pass(Some(gate)) }));
        }
    }
}

/// A node whose turn has come.
struct Admitted {
    node: Arc<dyn Runnable>,
    pass: Pass,
}

impl Runnable for Admitted {
    fn pool(&self) -> Handle {
        self.node.pool()
    }

    fn run(self: Arc<Self>, task: &InTask, count: u32, ready: &mut Ready) -> bool {
        let Some(Admitted { node, mut pass }) = Arc::into_inner(self) else { unreachable!("its task has it alone") };
        if let Some(gate) = pass.0.take() {
            // The node takes it at once, in `enter`.
            gate.0.lock().handed_to = Some(Arc::as_ptr(&node).addr());
        }
        node.run(task, count, ready)
    }

    fn skip(self: Arc<Self>, ready: &mut Ready) {
        self.node.clone().skip(ready);
    }

    unsafe fn end_left(&self, ready: &mut Ready) {
        // SAFETY: this function's contract.
        unsafe { self.node.end_left(ready) };
    }
}
