//! What a pool's workers run, for whoever is not the worker: it reads in records of tasks that may
//! end meanwhile.

use super::{Injector, Pool};
use crate::record::current::CurrentTask;
use crate::record::header::{Header, Kind};
use crate::sched::worker::Peer;
use myriad_base::sys::atomic::Ordering::{Acquire, Relaxed};
use myriad_base::sys::mutex::MutexGuard;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::fence;

/// The stacks of a pool's workers stay mapped, and who is in `run` stays there.
pub(crate) struct FramesStay<'a>(MutexGuard<'a, Injector>);

impl FramesStay<'_> {
    /// The tasks of all who are in `run`.
    pub(crate) fn runs(&self) -> impl Iterator<Item = *const Header> {
        self.0.runs.iter().map(|run| run.0.cast_const())
    }
}

impl Pool {
    /// What `read` finds in the record of what the worker runs, with the record's address; `None`
    /// between tasks. For whoever is not the worker, with the injector's lock.
    ///
    /// The task may end meanwhile. If its record is in memory for records, it stays a record. If it
    /// is in the frame of another task or thread, that memory goes only after the frame's owner has
    /// been in the injector's lock (at the end of its thread, or of its [`run`](Self::end_run)),
    /// which the caller holds; but it may become anything, so what was read counts only if the
    /// worker has ended no such task, and no context, since ([`Worker::forget_frame`]). `read`
    /// reads by volatile accesses, for somebody may write there.
    fn read_running<T>(
        _frames_stay: &MutexGuard<'_, Injector>,
        w: &Peer,
        read: impl FnOnce(*const Header) -> T,
    ) -> Option<(*const Header, T)> {
        let version = w.frame_version.load(Acquire);
        let task = w.running.get().record_elsewhere();
        // Acquire: as below. What was a context then was one when we read in it.
        fence(Acquire);
        if CurrentTask::is_nobody(task) || w.frame_version.load(Relaxed) != version {
            return None;
        }
        let found = read(task);
        // Acquire: the reading comes before the second look; pairs with the Release in
        // `forget_frame`.
        fence(Acquire);
        (w.frame_version.load(Relaxed) == version).then_some((task, found))
    }

    /// What the worker runs, by name and place; `None` between tasks. For whoever is not the
    /// worker.
    pub(crate) fn name_running(&self, w: &Peer) -> Option<(Option<Arc<str>>, &'static Location<'static>)> {
        let frames_stay = self.injector.lock();
        let (task, location) = Pool::read_running(&frames_stay, w, |task| {
            // SAFETY: readable, see `read_running`.
            unsafe { Header::look_at_location(task) }
        })?;
        let name = self.name_of(task, true);
        // SAFETY: see `read_running`: the place of this task, or of the next one in the same memory
        // for records.
        Some((name, unsafe { &*location }))
    }

    /// Does this worker run a task that is no job of a guest? For whoever is not the worker.
    pub(crate) fn runs_task(&self, w: &Peer) -> bool {
        let frames_stay = self.injector.lock();
        let kind = Pool::read_running(&frames_stay, w, |task| {
            // SAFETY: readable, see `read_running`.
            unsafe { Header::look_at_kind(task) }
        });
        kind.is_some_and(|(_, kind)| !kind.has(Kind::GUEST))
    }

    /// The addresses of the records that its workers run: guesses.
    pub(crate) fn running_records(&self) -> impl Iterator<Item = *const Header> {
        self.all_workers().map(|w| w.running.get().record_elsewhere()).filter(|&task| !CurrentTask::is_nobody(task))
    }

    /// Keeps the stacks of this pool's workers mapped: see [`frames_go`](Self::frames_go). Not for
    /// long.
    pub(crate) fn keep_frames(&self) -> FramesStay<'_> {
        FramesStay(self.injector.lock())
    }

    /// A thread's stack, or a pool of stacks, is about to go: nobody looks at records on it any
    /// more.
    pub(crate) fn frames_go(&self) {
        drop(self.injector.lock());
    }
}
