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
use crate::cell::{AnyTrap, run_nested};
use crate::control::Control;
use crate::crash::Crash;
use crate::lineage::Lineage;
use crate::link::Links;
use crate::monitor::Watch;
use crate::pid::{Exit, Pid, Process, this};
use crate::reason::Reason;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_core::JoinHandle;
use myriad_sync::ending::EndWord;
pub(crate) use myriad_sync::ending::Stage;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::*};

/// See the module's header.
pub(crate) struct Life {
    id: u64,
    spawned_at: &'static Location<'static>,
    /// Untouched, nothing is in `about`; an actor that ends so has ended with [`Reason::Normal`].
    stage: EndWord,
    /// What the actor has to look at beside its messages: `PUT_OFF` and so on.
    marks: AtomicU8,
    /// A server whose supervisor may be there when its runtime has ended: see `left.rs`.
    is_outlived: AtomicBool,
    /// How far the task of an actor has come that is a future: a note of that task to itself.
    pub(crate) course: AtomicU8,
    /// Who has spawned it.
    parents: Option<Arc<Lineage>>,
    /// (Dropped by `drop`, which looks first whether anything is there.)
    about: ManuallyDrop<Mutex<About>>,
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
    /// Of an actor that traps exits: see [`Cell::trap`](crate::cell::Cell::trap).
    pub(crate) trap: Option<AnyTrap>,
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

impl About {
    /// The extra part, of an actor that is alive (or, if `ending` may do, of one that has told
    /// nobody yet).
    fn of_living(&mut self, stage: Stage, ending: bool) -> Option<&mut Extra> {
        let alive = match stage {
            Stage::Alive => true,
            Stage::Ending => ending,
            Stage::Dead => false,
        };
        alive.then(|| &mut **self.extra.get_or_insert_default())
    }
}

impl Drop for Life {
    #[inline]
    fn drop(&mut self) {
        if self.stage.is_touched() {
            // SAFETY: dropped here, once. (Untouched, it is as it was made, without memory.)
            unsafe { ManuallyDrop::drop(&mut self.about) };
        }
    }
}

impl Life {
    #[inline(always)]
    pub(crate) fn new(spawned_at: &'static Location<'static>) -> Life {
        let about = ManuallyDrop::new(Mutex::new(About::default()));
        let (stage, marks) = (EndWord::new(), AtomicU8::new(0));
        let (is_outlived, course) = (AtomicBool::new(false), AtomicU8::new(0));
        Life { id: number(), spawned_at, stage, marks, is_outlived, course, parents: Lineage::here(), about }
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
        self.stage.stage()
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

    /// The lock, for who changes something there, and how far the actor has come.
    fn touch(&self) -> (Stage, MutexGuard<'_, About>) {
        let about = self.about.lock();
        (self.stage.touch(), about)
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        if self.stage.is_alone() {
            return Some(Reason::Normal);
        }
        let about = self.about.lock();
        if self.stage() == Stage::Alive { None } else { about.reason.clone() }
    }

    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.about.lock().extra.as_ref().and_then(|extra| extra.name.clone())
    }

    /// The extra part, under the lock, of an actor that is alive (or, if `ending` may do, of one
    /// that has told nobody yet).
    pub(crate) fn extra<R>(&self, ending: bool, f: impl FnOnce(&mut Extra) -> R) -> Option<R> {
        let (stage, mut about) = self.touch();
        about.of_living(stage, ending).map(f)
    }

    /// The extra part if there is one, under the lock.
    pub(crate) fn with_extra<R>(&self, f: impl FnOnce(&mut Extra) -> R) -> Option<R> {
        self.about.lock().extra.as_deref_mut().map(f)
    }

    /// Both extra parts, under both locks, of two that are alive.
    pub(crate) fn both<R>(a: &Life, b: &Life, f: impl FnOnce(&mut Extra, &mut Extra) -> R) -> Option<R> {
        debug_assert_ne!(a.id, b.id);
        let (first, second) = if a.id < b.id { (a, b) } else { (b, a) };
        let (mut of_first, mut of_second) = (first.touch(), second.touch());
        let (of_a, of_b) = if a.id < b.id { (&mut of_first, &mut of_second) } else { (&mut of_second, &mut of_first) };
        Some(f(of_a.1.of_living(of_a.0, false)?, of_b.1.of_living(of_b.0, false)?))
    }

    /// Tells the actor to end, for this reason; of several the first counts, but for
    /// [`Reason::Killed`], which always does. `is_own`: it tells itself.
    pub(crate) fn ask(pid: &Pid, reason: Reason, is_own: bool) {
        let life = pid.life();
        let (stage, mut about) = life.touch();
        if stage != Stage::Alive || (about.reason.is_some() && reason != Reason::Killed) {
            return;
        }
        life.set_mark(OWN, is_own);
        let before = about.reason.replace(reason);
        drop(about);
        drop(before);
        pid.0.interrupt();
    }

    /// Step 1 of the exit protocol. What the actor was told to end with goes before `why`.
    #[inline]
    pub(crate) fn settle(&self, why: Reason) -> Reason {
        if why == Reason::Normal && self.stage.begin_alone() { Reason::Normal } else { self.settle_touched(why) }
    }

    #[inline(never)]
    fn settle_touched(&self, why: Reason) -> Reason {
        if self.stage.is_alone() {
            return Reason::Normal; // It was settled before.
        }
        let (stage, mut about) = self.touch();
        if stage == Stage::Alive {
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
        self.stage.set(Stage::Ending);
        reason
    }

    /// Under the lock.
    pub(crate) fn about<R>(&self, f: impl FnOnce(Stage, &mut About) -> R) -> R {
        let (stage, mut about) = self.touch();
        f(stage, &mut about)
    }

    /// Steps 4 and 5 of the exit protocol; in a
    /// [call of user code](myriad_core::engine::user_code::call).
    #[inline]
    pub(crate) fn tell(process: &(dyn Process + 'static), reason: &Reason, crash: Option<Box<Crash>>) {
        if !process.life().stage.end_alone() {
            Life::tell_all(&this(process), reason, crash);
        }
    }

    #[inline(never)]
    fn tell_all(pid: &Pid, reason: &Reason, mut crash: Option<Box<Crash>>) {
        let life = pid.life();
        let (extra, task) = loop {
            let (_, mut about) = life.touch();
            let at_end = about.extra.as_mut().map_or_else(Vec::new, |extra| std::mem::take(&mut extra.at_end));
            if at_end.is_empty() {
                life.stage.set(Stage::Dead);
                break (about.extra.take(), about.task.take());
            }
            drop(about);
            for at_end in at_end {
                run_nested("what an actor does at its end", || (at_end.leave)(pid));
            }
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
