//! Does a job wait for another one, over others too?
//!
//! At its submission a job can only depend on jobs that are there, so nobody waits in a circle. A
//! job that is changed may be made to depend on a later one.

use super::Machine;
use super::spec::{After, JobId};
use super::table::DEPENDS;
use std::collections::HashSet;

impl<P: Clone> Machine<P> {
    /// Would the first job begin, or end, only after the second one has? (Takes time for each job
    /// that the first one waits for.)
    pub(super) fn waits_for(&self, id: JobId, other: JobId) -> bool {
        let (mut next, mut seen) = (vec![id.0], HashSet::new());
        while let Some(id) = next.pop() {
            if id == other.0 {
                return true;
            }
            if !seen.insert(id) {
                continue;
            }
            // (An element waits for its array, also one that has no record yet.)
            next.extend(self.array_of(id).filter(|(_, has_ended)| !has_ended).map(|array| array.0));
            let Some(job) = self.table.get(id) else { continue };
            let Some(rare) = job.rare() else { continue };
            let is_open = |after: &&After| job.waits & DEPENDS != 0 && self.is_open(id, **after);
            let open = rare.after.iter().filter(is_open);
            next.extend(open.map(|after| after.job.0));
            let leader = rare.elements.as_ref().map_or(0, |elements| elements.each_of);
            next.extend(self.table.get(leader).filter(|leader| !leader.state.is_final()).map(|_| leader));
        }
        false
    }
}
