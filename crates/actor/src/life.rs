//! The life of an actor: what is known of it beside its messages, and how it ends.
//!
//! **The exit protocol** hangs on the actor's task as a value that the task owns from its spawn on
//! (`task.rs`, `server/turn.rs`), not on its body: so an actor that is killed before its first turn
//! ends like any other. In this order:
//!
//! 1. the reason is settled, and the actor is *ending*: no name, group, link is given to it;
//! 2. its state is dropped (of a function that returns or unwinds: before 1);
//! 3. the mailbox is closed, and what is left in it is dropped: calls in it get the reason;
//! 4. its name is free, and it has left its groups;
//! 5. it is *dead*: monitors are told, then links.
//!
//! So whoever sees an end finds the name free, and nothing of the actor's alive.
//!
//! **Locks.** One for each life, `about`. Two lives are locked in the order of their numbers. Under
//! it nothing of the user's runs: messages, names and reasons are dropped without it.

use crate::call::Call;
use crate::cell::run_nested;
use crate::control::Control;
use crate::crash::Crash;
use crate::lineage::Lineage;
use crate::link::Links;
use crate::monitor::Watch;
use crate::pid::{Exit, Pid};
use crate::reason::Reason;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_core::JoinHandle;
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::*};

/// Where an actor is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Alive,
    /// Its reason is known.
    Ending,
    /// All have been told, or are being told.
    Dead,
}

/// See the module's header.
pub(crate) struct Life {
    id: u64,
    spawned_at: &'static Location<'static>,
    stage: AtomicU8,
    /// What the actor has to look at beside its messages: `PUT_OFF` and so on.
    marks: AtomicU8,
    /// A server whose supervisor may be there when its runtime has ended: see `left.rs`.
    is_outlived: AtomicBool,
    /// Who has spawned it.
    parents: Option<Arc<Lineage>>,
    about: Mutex<About>,
}

/// The actor's frame has something that a panic has put off. (Set by the actor's own task alone.)
pub(crate) const PUT_OFF: u8 = 1;
/// The actor may be suspended: a hint, see `control.rs`.
pub(crate) const SUSPENDED: u8 = 2;
/// There are orders for a server. (Changed under the lock.)
pub(crate) const ORDERS: u8 = 4;
/// The actor ends for a reason of its own, which nobody else has told it.
pub(crate) const OWN: u8 = 8;
/// The actor was told to end, and has panicked before it had ended.
pub(crate) const PANICKED: u8 = 16;

/// What is under the lock of a life.
#[derive(Default)]
pub(crate) struct About {
    /// With what the actor was told to end, while it is alive; then why it has ended.
    reason: Option<Reason>,
    /// Of a closure, until all have been told: see `left.rs`.
    pub(crate) task: Option<JoinHandle<()>>,
    extra: Option<Box<Extra>>,
}

/// What most actors do not have.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) links: Links,
    pub(crate) watches: Vec<Watch>,
    pub(crate) name: Option<Arc<str>>,
    /// What it does at its end: it leaves its groups.
    pub(crate) at_end: Vec<AtEnd>,
    /// The call that it waits in.
    pub(crate) waits_for: Option<Call>,
    /// What the actors have that it has spawned.
    pub(crate) lineage: Option<Arc<Lineage>>,
    pub(crate) control: Option<Box<Control>>,
    /// The panic of an actor that was told to end before: its reason is another one.
    pub(crate) panic: Option<Reason>,
}

/// Something to do when an actor ends, before others are told.
pub(crate) struct AtEnd {
    /// What it is known by.
    pub(crate) id: u64,
    /// The group that the actor leaves by it.
    pub(crate) group: Option<Arc<str>>,
    pub(crate) leave: Box<dyn FnOnce(&Pid) + Send>,
}

/// A number that nobody else has: actors, monitors, timers.
pub(crate) fn number() -> u64 {
    /// Numbers that a thread takes at a time: so workers do not meet at one counter.
    const BATCH: u64 = 1024;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static OWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    // Relaxed: only that no number comes twice.
    let one = || NEXT.fetch_add(1, Relaxed);
    OWN.try_with(|own| {
        let (mut next, mut end) = own.get();
        if next == end {
            next = NEXT.fetch_add(BATCH, Relaxed);
            end = next + BATCH;
        }
        own.set((next + 1, end));
        next
    })
    .unwrap_or_else(|_| one())
}

impl Life {
    #[inline(always)]
    pub(crate) fn new(spawned_at: &'static Location<'static>) -> Life {
        let about = Mutex::new(About::default());
        let (stage, marks) = (AtomicU8::new(Stage::Alive as u8), AtomicU8::new(0));
        let is_outlived = AtomicBool::new(false);
        Life { id: number(), spawned_at, stage, marks, is_outlived, parents: Lineage::here(), about }
    }

    pub(crate) fn parents(&self) -> Option<&Lineage> {
        self.parents.as_deref()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    pub(crate) fn stage(&self) -> Stage {
        // Acquire: pairs with the Release of `set_stage`: what the actor has done before.
        match self.stage.load(Acquire) {
            0 => Stage::Alive,
            1 => Stage::Ending,
            _ => Stage::Dead,
        }
    }

    /// Has the actor anything to look at beside its messages?
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        // Relaxed: `PUT_OFF` is a note of the actor's own task to itself. The others are set under
        // the lock; who relies on that has come by it, or by the lock of the inbox, since.
        self.marks.load(Relaxed) != 0
    }

    #[inline(always)]
    pub(crate) fn has_mark(&self, mark: u8) -> bool {
        // Relaxed: as above.
        self.marks.load(Relaxed) & mark != 0
    }

    pub(crate) fn set_mark(&self, mark: u8, yes: bool) {
        // Relaxed: as above.
        if yes {
            self.marks.fetch_or(mark, Relaxed)
        } else {
            self.marks.fetch_and(!mark, Relaxed)
        };
    }

    #[inline(always)]
    pub(crate) fn is_outlived(&self) -> bool {
        // Relaxed: a turn that begins meanwhile need not see it.
        self.is_outlived.load(Relaxed)
    }

    pub(crate) fn set_outlived(&self) {
        self.is_outlived.store(true, Relaxed);
    }

    fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u8, Release);
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        let about = self.about.lock();
        if self.stage() == Stage::Alive { None } else { about.reason.clone() }
    }

    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.about.lock().extra.as_ref().and_then(|extra| extra.name.clone())
    }

    /// The extra part, under the lock, of an actor that is alive (or, if `ending` may do, of one
    /// that has told nobody yet).
    pub(crate) fn extra<R>(&self, ending: bool, f: impl FnOnce(&mut Extra) -> R) -> Option<R> {
        let mut about = self.about.lock();
        self.of_living(&mut about, ending).map(f)
    }

    fn of_living<'a>(&self, about: &'a mut About, ending: bool) -> Option<&'a mut Extra> {
        let alive = match self.stage() {
            Stage::Alive => true,
            Stage::Ending => ending,
            Stage::Dead => false,
        };
        alive.then(|| &mut **about.extra.get_or_insert_default())
    }

    /// The extra part if there is one, under the lock.
    pub(crate) fn with_extra<R>(&self, f: impl FnOnce(&mut Extra) -> R) -> Option<R> {
        self.about.lock().extra.as_deref_mut().map(f)
    }

    /// Both extra parts, under both locks, of two that are alive.
    pub(crate) fn both<R>(a: &Life, b: &Life, f: impl FnOnce(&mut Extra, &mut Extra) -> R) -> Option<R> {
        debug_assert_ne!(a.id, b.id);
        let (mut of_a, mut of_b): (MutexGuard<'_, About>, MutexGuard<'_, About>);
        if a.id < b.id {
            of_a = a.about.lock();
            of_b = b.about.lock();
        } else {
            of_b = b.about.lock();
            of_a = a.about.lock();
        }
        Some(f(a.of_living(&mut of_a, false)?, b.of_living(&mut of_b, false)?))
    }

    /// Tells the actor to end, for this reason; of several the first counts, but for
    /// [`Reason::Killed`], which always does. `is_own`: it tells itself.
    pub(crate) fn ask(pid: &Pid, reason: Reason, is_own: bool) {
        let life = pid.life();
        let mut about = life.about.lock();
        if life.stage() != Stage::Alive || (about.reason.is_some() && reason != Reason::Killed) {
            return;
        }
        life.set_mark(OWN, is_own);
        let before = about.reason.replace(reason);
        drop(about);
        drop(before);
        pid.0.interrupt();
    }

    /// Step 1 of the exit protocol. What the actor was told to end with goes before `why`.
    pub(crate) fn settle(&self, why: Reason) -> Reason {
        let mut about = self.about.lock();
        if self.stage() == Stage::Alive {
            match (&about.reason, &why) {
                (None, _) => self.set_mark(OWN, true),
                (Some(_), Reason::Panic(_)) => {
                    about.extra.get_or_insert_default().panic = Some(why.clone());
                    self.set_mark(PANICKED, true);
                }
                (Some(_), _) => {}
            }
        }
        let reason = about.reason.get_or_insert(why).clone();
        self.set_stage(Stage::Ending);
        reason
    }

    /// Under the lock.
    pub(crate) fn about<R>(&self, f: impl FnOnce(Stage, &mut About) -> R) -> R {
        let mut about = self.about.lock();
        f(self.stage(), &mut about)
    }

    /// Steps 4 and 5 of the exit protocol; in a
    /// [call of user code](myriad_core::engine::user_code::call).
    pub(crate) fn tell(pid: &Pid, reason: &Reason, mut crash: Option<Box<Crash>>) {
        let life = pid.life();
        let at_end = life.with_extra(|extra| std::mem::take(&mut extra.at_end)).unwrap_or_default();
        for at_end in at_end {
            run_nested("what an actor does at its end", || (at_end.leave)(pid));
        }
        let (extra, task) = {
            let mut about = life.about.lock();
            life.set_stage(Stage::Dead);
            (about.extra.take(), about.task.take())
        };
        drop(task);
        if let Some(crash) = &mut crash {
            crash.child = extra.as_ref().and_then(|of| of.watches.iter().find_map(|watch| watch.child().cloned()));
            crash.tell();
        }
        let mut heard = false;
        if let Some(mut extra) = extra {
            if let Some(lineage) = extra.lineage.take() {
                lineage.ended(extra.name.take());
            }
            for watch in extra.watches.drain(..) {
                heard = true;
                watch.tell(pid, reason);
            }
            for partner in std::mem::take(&mut extra.links) {
                // Not linked any more: an unlink came first.
                if partner.life().with_extra(|of| of.links.remove(pid)) == Some(true) {
                    heard = true;
                    crate::link::deliver(&partner, Exit { from: pid.clone(), reason: reason.clone() });
                }
            }
        }
        if let Some(crash) = crash
            && crash.child.is_none()
            && crash.told.is_none()
            && !heard
        {
            crash.report();
        }
    }
}
