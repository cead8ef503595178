//! The workers of a pool: those that it was built with, and its spares.

use super::Pool;
use crate::sched::worker::Peer;
use myriad_base::sys::atomic::Ordering::Relaxed;

impl Pool {
    /// All workers.
    pub(crate) fn regular_workers(&self) -> &[&'static Peer] {
        self.regular.get().map_or(&[], |w| w)
    }

    /// The worker with this number, if it is one of this pool's that are in use.
    pub(crate) fn of_home_number(&self, number: u32) -> Option<&'static Peer> {
        let regular = self.regular_workers();
        // The numbers of the regular ones follow each other.
        let index = number.checked_sub(regular[0].home_number)? as usize;
        let found = regular.get(index).copied();
        found.or_else(|| self.all_workers().skip(regular.len()).find(|w| w.home_number == number))
    }

    /// All workers, with the spares that are in use.
    pub(crate) fn all_workers(&self) -> impl Iterator<Item = &'static Peer> {
        self.workers.all().iter().map(|&shared| Peer::of(shared))
    }

    /// From now on there may be jobs of guests among its tasks, which no spare begins: spares look
    /// before they take ([`crate::sched::spare`]).
    #[inline]
    pub(crate) fn expect_jobs(&self) {
        // Relaxed: a spare that does not know yet sees what it has stolen. (Looked at first: many
        // workers come by here.)
        if !self.has_guests.load(Relaxed) {
            self.has_guests.store(true, Relaxed);
        }
    }

    /// May there be jobs of guests?
    #[inline]
    pub(crate) fn has_guests(&self) -> bool {
        self.has_guests.load(Relaxed)
    }

    /// All workers stand still, and one of them not because of a guest: as long as that is so,
    /// spares take jobs from the injector too. By the monitor.
    pub(crate) fn set_rescue(&self, yes: bool) {
        // Relaxed: as above.
        self.rescue.store(yes, Relaxed);
    }

    /// Do spares take jobs from the injector?
    pub(crate) fn is_rescue(&self) -> bool {
        self.rescue.load(Relaxed)
    }

    /// May the ready tasks of any worker be taken over?
    #[inline(always)]
    pub(crate) fn any_takeover(&self) -> bool {
        self.takeovers.load(Relaxed) > 0
    }

    /// The number of the next spare worker; `None` if there are as many as the settings allow.
    pub(crate) fn next_spare(&self) -> Option<usize> {
        let config = self.config();
        let index = self.workers.all().len();
        (index - config.workers < config.spares).then_some(index)
    }

    /// What the threads of a spare worker are called. Calls a function of the user, so: under no
    /// lock.
    pub(crate) fn name_spare(&self, index: usize) -> String {
        self.config().threads.name(index, || self.usual_name(index))
    }

    /// What they are called where the user gives no name.
    pub(crate) fn usual_name(&self, index: usize) -> String {
        let config = self.config();
        format!("{}-spare{}", config.name, index - config.workers)
    }
}
