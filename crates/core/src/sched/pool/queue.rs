//! The injector's queue: tasks first come, first served. Jobs of guests stand in a line of their
//! own, beside which a spare can go ([`crate::sched::spare`]).

use crate::record::task::Runnable;
use crate::sched::spare;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct InjectorQueue {
    tasks: VecDeque<(u64, Runnable)>,
    jobs: VecDeque<(u64, Runnable)>,
    /// Jobs that a spare has stolen and passed over; they go into no deque again.
    passed_over: Vec<Runnable>,
    /// Counts arrivals.
    arrivals: u64,
}

impl InjectorQueue {
    pub(super) fn push(&mut self, task: Runnable) {
        self.arrivals += 1;
        let line = if spare::is_job(&task) { &mut self.jobs } else { &mut self.tasks };
        line.push_back((self.arrivals, task));
    }

    /// A spare has taken this job out of a deque.
    pub(super) fn put_aside(&mut self, job: Runnable) {
        self.passed_over.push(job);
    }

    /// The job that was put aside last.
    pub(super) fn take_aside(&mut self) -> Option<Runnable> {
        self.passed_over.pop()
    }

    /// The oldest; of the tasks alone, or with the jobs.
    pub(super) fn pop(&mut self, with_jobs: bool) -> Option<Runnable> {
        let age = |line: &VecDeque<(u64, Runnable)>| line.front().map_or(u64::MAX, |(arrival, _)| *arrival);
        let job_is_next = with_jobs && age(&self.jobs) < age(&self.tasks);
        let line = if job_is_next { &mut self.jobs } else { &mut self.tasks };
        line.pop_front().map(|(_, task)| task)
    }

    /// How many [`pop`](Self::pop) would give.
    pub(super) fn len(&self, with_jobs: bool) -> usize {
        self.tasks.len() + if with_jobs { self.jobs.len() } else { 0 }
    }

    /// All there are.
    pub(super) fn drain(&mut self) -> Vec<Runnable> {
        let lines = std::mem::take(&mut self.tasks).into_iter().chain(std::mem::take(&mut self.jobs));
        lines.map(|(_, task)| task).chain(self.passed_over.drain(..)).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::queue::records::{pointer, records};
    use crate::record::header::Kind;

    #[test]
    fn oldest_first_and_without_jobs() {
        let mut records = records(6);
        // Jobs: 1, 2, 4.
        [1, 2, 4].into_iter().for_each(|i| records[i].set_kind(Kind::CLOSURE.and(Kind::GUEST)));
        let queued = || {
            let mut queue = InjectorQueue::default();
            // SAFETY: the records are live, and in no queue that anybody else has.
            records.iter().for_each(|record| queue.push(unsafe { Runnable::from_raw(pointer(record)) }));
            queue
        };
        let number = |task: Option<Runnable>| {
            task.and_then(|task| records.iter().position(|record| pointer(record) == task.address()))
        };
        let mut all = queued();
        assert_eq!((all.len(true), all.len(false)), (6, 3));
        assert!((0..6).all(|i| number(all.pop(true)) == Some(i)) && all.pop(true).is_none());
        let mut tasks = queued();
        assert_eq!([0; 4].map(|_| number(tasks.pop(false))), [Some(0), Some(3), Some(5), None]);
        assert_eq!([0; 4].map(|_| number(tasks.pop(true))), [Some(1), Some(2), Some(4), None]);
        let mut aside = queued();
        assert!(aside.take_aside().is_none());
        let (first, second) = (aside.pop(true).unwrap(), aside.pop(true).unwrap());
        aside.put_aside(first);
        aside.put_aside(second);
        assert_eq!(number(aside.take_aside()), Some(1));
        assert_eq!(aside.drain().len(), 5);
    }
}
