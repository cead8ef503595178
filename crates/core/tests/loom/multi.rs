//! Scripts of waits that stand in several lists: two claims at once, a waker that is replaced.

use super::{SCRIPT, Script};
use crate::api::time::Instant;
use crate::queue::reason::WaitReason;
use crate::sched::user_code::StoredWaker;
use crate::sched::wait::{Caller, MultiWait, PairClaim, PollWait, Wait, Waiter};
use loom::thread;
use myriad_base::lock::biased::BiasedLock;
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::on;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// Long ago: a wait until then ends at the first look, unless somebody was faster.
const PAST: Instant = Instant::from_nanos(0);

/// A list of waiters with one place, under its lock.
struct List {
    lock: BiasedLock,
    place: UnsafeCell<Option<Waiter>>,
}

// SAFETY: reached under the lock only.
unsafe impl Sync for List {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for List {}

impl List {
    fn new() -> List {
        List { lock: BiasedLock::new(), place: UnsafeCell::new(None) }
    }
    fn locked<R>(&self, f: impl FnOnce(&mut Option<Waiter>) -> R) -> R {
        // SAFETY: no lock is taken inside.
        let _guard = unsafe { self.lock.lock(None) };
        // SAFETY: under the lock.
        self.place.with_mut(|place| f(unsafe { &mut *place }))
    }
    /// Meets who is here, or enters. `Some`: our wait is over; true: by ourselves.
    fn meet(&self, me: MultiWait) -> Option<bool> {
        let met = self.locked(|place| {
            // SAFETY: it is in the list, under the lock; another's.
            let both = place.as_mut().map(|waiter| unsafe { waiter.claim_with(me) });
            match both {
                Some(PairClaim::Both) => Some(place.take()),
                Some(PairClaim::SelfOver) => Some(None),
                Some(PairClaim::OtherOver) | None => {
                    *place = Some(me.waiter());
                    None
                }
            }
        })?;
        let ours = met.is_some();
        if let Some(waiter) = met {
            // SAFETY: claimed, and woken once.
            unsafe { waiter.wake() };
        }
        Some(ours)
    }
    /// Takes out what is ours.
    fn leave(&self, me: MultiWait) {
        self.locked(|place| {
            if place.as_ref().is_some_and(|waiter| waiter.is_of(me)) {
                *place = None;
            }
        });
    }
    /// Ends the wait of whoever is here.
    fn take(&self) -> bool {
        let waiter = self.locked(|place| {
            let mut waiter = place.take()?;
            // SAFETY: taken off just now, under the lock.
            (unsafe { waiter.claim() } || on("taken-unasked")).then_some(waiter)
        });
        // SAFETY: claimed, and woken once.
        waiter.map(|waiter| unsafe { waiter.wake() }).is_some()
    }
}

/// What became of a visit to two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    Met,
    WasMet,
    Nobody,
}

/// Waits in two lists, until now (or for ever).
fn visit(wait: &Wait, lists: &[&List], until: Instant) -> Visit {
    let me = MultiWait::of(wait);
    let over = lists.iter().find_map(|list| list.meet(me));
    // SAFETY: published; woken once if it was claimed by another.
    let visit = match over {
        Some(true) => Visit::Met,
        Some(false) => {
            assert!(unsafe { Wait::block_until(wait, Instant::NEVER) }, "a wait that was ended is woken");
            Visit::WasMet
        }
        None if unsafe { Wait::block_until(wait, until) } => Visit::WasMet,
        None => Visit::Nobody,
    };
    lists.iter().for_each(|list| list.leave(me));
    visit
}

fn lists() -> [Arc<List>; 2] {
    [Arc::new(List::new()), Arc::new(List::new())]
}

/// Two that come from opposite sides meet, once.
fn two_meet() {
    let [a, b] = lists();
    let (a2, b2) = (a.clone(), b.clone());
    let other = thread::spawn(move || visit(&Caller::get().timed_wait(WaitReason::Other), &[&b2, &a2], Instant::NEVER));
    let ours = visit(&Caller::get().timed_wait(WaitReason::Other), &[&a, &b], Instant::NEVER);
    let theirs = other.join().unwrap();
    assert!(matches!((ours, theirs), (Visit::Met, Visit::WasMet) | (Visit::WasMet, Visit::Met)), "{ours:?} {theirs:?}");
}

/// Two waits in this order of addresses.
struct Pair([Wait; 2]);

// SAFETY: of a wait others touch what is atomic.
unsafe impl Sync for Pair {}
// SAFETY: they stay behind their box.
unsafe impl Send for Pair {}

/// One withdraws while the other meets it: what was held for that is as it was, and who comes to it
/// finds it open.
fn one_withdraws(lower: usize) {
    let [a, b] = lists();
    let pair =
        Arc::new(Pair([Caller::get().timed_wait(WaitReason::Other), Caller::get().timed_wait(WaitReason::Other)]));
    let [ours, theirs] = [lower, 1 - lower];
    assert_eq!(a.meet(MultiWait::of(&pair.0[ours])), None, "in a list already");
    assert_eq!(b.meet(MultiWait::of(&pair.0[theirs])), None, "in a list already");
    let (a2, b2, pair2) = (a.clone(), b.clone(), pair.clone());
    let other = thread::spawn(move || {
        let wait = &pair2.0[theirs];
        if wait.retract() {
            assert!(a2.take(), "nobody has met them, so they are open");
            b2.leave(MultiWait::of(wait));
            return true;
        }
        // SAFETY: claimed, so it is woken.
        assert!(unsafe { Wait::block_until(wait, Instant::NEVER) });
        false
    });
    let visit = visit(&pair.0[ours], &[&b], Instant::NEVER);
    a.leave(MultiWait::of(&pair.0[ours]));
    assert_eq!(visit == Visit::WasMet, other.join().unwrap(), "{visit:?}");
}

fn the_lower_stays() {
    one_withdraws(0);
}

fn the_higher_stays() {
    one_withdraws(1);
}

// -------------------------------------------------------------------------------------------------------
// wakers

/// A waker that the model watches: made, and used up, with order.
struct Watched {
    cell: UnsafeCell<u32>,
    woken: AtomicUsize,
}

// SAFETY: the cell is watched.
unsafe impl Sync for Watched {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for Watched {}

const TABLE: RawWakerVTable = RawWakerVTable::new(
    |_| unreachable!(),
    |data| {
        // SAFETY: the script keeps it alive; the model says if the access is not ordered.
        unsafe {
            let watched = &*data.cast::<Watched>();
            watched.cell.with(|n| assert_eq!(*n, 1));
            watched.woken.fetch_add(1, SeqCst);
        }
    },
    |_| unreachable!(),
    |_| {},
);

impl Watched {
    fn new() -> Arc<Watched> {
        Arc::new(Watched { cell: UnsafeCell::new(0), woken: AtomicUsize::new(0) })
    }
    fn waker(self: &Arc<Self>) -> Waker {
        // SAFETY: it is ours as yet.
        self.cell.with_mut(|n| unsafe { *n = 1 });
        // SAFETY: the table keeps the contract, for as long as the script keeps the data.
        unsafe { Waker::from_raw(RawWaker::new(Arc::as_ptr(self).cast(), &TABLE)) }
    }
    fn woken(&self) -> usize {
        self.woken.load(SeqCst)
    }
}

/// A future replaces its waker while it is woken: by the one or the other.
fn waker_replaced() {
    let list = Arc::new(List::new());
    let wait = Arc::new(PollWait::new());
    let (first, second) = (Watched::new(), Watched::new());
    // SAFETY: over, and in no list.
    unsafe { wait.open(StoredWaker::new(first.waker())) };
    assert_eq!(list.meet(wait.group()), None);
    let list2 = list.clone();
    let waker = thread::spawn(move || assert!(list2.take()));
    let replaced = wait.replace(StoredWaker::new(second.waker())).is_ok();
    waker.join().unwrap();
    assert_eq!((first.woken(), second.woken()), if replaced { (0, 1) } else { (1, 0) });
    list.leave(wait.group());
}

/// A waker is replaced; then another holds the claim for a moment and gives it back; then a third
/// takes the waker. In this order in some executions, by flags that order nothing.
fn waker_handed_down() {
    // The future's is the lower, so it is held first; the other is over.
    let waits: Arc<[PollWait; 2]> = Arc::new([PollWait::new(), PollWait::new()]);
    let (first, second) = (Watched::new(), Watched::new());
    // SAFETY: over, and in no list.
    unsafe { waits[0].open(StoredWaker::new(first.waker())) };
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let (waits2, flags2) = (waits.clone(), flags.clone());
    let held = thread::spawn(move || {
        if flags2[0].load(SeqCst) {
            // SAFETY: both are alive.
            let both = unsafe { waits2[0].group().waiter().claim_with(waits2[1].group()) };
            assert_eq!(both, PairClaim::SelfOver);
            flags2[1].store(true, SeqCst);
        }
    });
    let (waits3, flags3) = (waits.clone(), flags.clone());
    let taken = thread::spawn(move || {
        let mut waiter = waits3[0].group().waiter();
        // SAFETY: alive; claimed, and woken once.
        let taken = flags3[1].load(SeqCst) && unsafe { waiter.claim() };
        taken.then(|| unsafe { waiter.wake() }).is_some()
    });
    assert!(waits[0].replace(StoredWaker::new(second.waker())).is_ok());
    flags[0].store(true, SeqCst);
    held.join().unwrap();
    let taken = usize::from(taken.join().unwrap());
    assert_eq!((first.woken(), second.woken()), (0, taken));
}

/// One ends its wait itself, or is taken.
fn by_ourselves() {
    let [a, _] = lists();
    let wait = Caller::get().timed_wait(WaitReason::Other);
    let me = MultiWait::of(&wait);
    assert_eq!(a.meet(me), None);
    let a2 = a.clone();
    let other = thread::spawn(move || a2.take());
    // SAFETY: alive. Claimed by another, it is woken.
    let ours = unsafe { me.claim() };
    if !ours {
        assert!(unsafe { Wait::block_until(&raw const wait, Instant::NEVER) });
    }
    a.leave(me);
    assert_ne!(ours, other.join().unwrap());
}

/// A time limit, and somebody who holds the claim: the one waits for the other.
fn held_at_the_deadline() {
    let [a, b] = lists();
    let (a2, b2) = (a.clone(), b.clone());
    let met = Arc::new(AtomicBool::new(false));
    let met2 = met.clone();
    let other = thread::spawn(move || {
        let wait = Caller::get().timed_wait(WaitReason::Other);
        let me = MultiWait::of(&wait);
        let over = a2.meet(me);
        met2.store(over == Some(true), SeqCst);
        b2.leave(me);
        // SAFETY: nobody knows the wait any more when it is retracted; else it is woken.
        if over.is_none() && !wait.retract() {
            assert!(unsafe { Wait::block_until(&raw const wait, Instant::NEVER) });
        }
        a2.leave(me);
    });
    let visit = visit(&Caller::get().timed_wait(WaitReason::Other), &[&a, &b], PAST);
    other.join().unwrap();
    assert_eq!(visit == Visit::WasMet, met.load(SeqCst), "{visit:?}");
}

/// A wait in a wheel and in a list: the timer comes while a partner does. One of the two ends it,
/// and wakes it once; after that the wait's memory is the owner's again, and the other has not
/// touched it.
fn timer_or_waker() {
    let [wheel, list] = lists();
    let (wheel2, list2) = (wheel.clone(), list.clone());
    let ended = {
        let wait = Caller::get().timed_wait(WaitReason::Other);
        let me = MultiWait::of(&wait);
        assert_eq!((wheel.meet(me), list.meet(me)), (None, None));
        let timer = thread::spawn(move || wheel2.take());
        let partner = thread::spawn(move || list2.take());
        // SAFETY: published; woken once, by the one or the other.
        assert!(unsafe { Wait::block_until(&raw const wait, Instant::NEVER) });
        // Under their locks: who is late finds nothing, or is done with it.
        wheel.leave(me);
        list.leave(me);
        [timer, partner]
    };
    let ended = ended.map(|thread| thread.join().unwrap());
    assert!(ended[0] != ended[1], "{ended:?}");
}

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "group.timer_or_waker",
        run: timer_or_waker,
        threads: 3,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(4)),
        mutants: &["taken-unasked"],
        ..SCRIPT
    },
    Script {
        name: "group.two_meet",
        run: two_meet,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(5)),
        mutants: &["hold-mine-first"],
        ..SCRIPT
    },
    Script {
        name: "group.the_lower_stays",
        run: the_lower_stays,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(5)),
        mutants: &["hold-not-undone", "held-is-over"],
        ..SCRIPT
    },
    Script {
        name: "group.the_higher_stays",
        run: the_higher_stays,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(5)),
        mutants: &[],
        ..SCRIPT
    },
    Script {
        name: "group.by_ourselves",
        run: by_ourselves,
        spins: true,
        owners: 0,
        mutants: &["own-claim-forgotten"],
        ..SCRIPT
    },
    Script {
        name: "group.waker_replaced",
        run: waker_replaced,
        spins: true,
        owners: 0,
        mutants: &["replace-release", "replace-unheld", "claim-acquire"],
        ..SCRIPT
    },
    Script {
        name: "group.handed_down",
        run: waker_handed_down,
        threads: 3,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(4)),
        mutants: &["unhold-release"],
        ..SCRIPT
    },
    Script {
        name: "group.held_at_the_deadline",
        run: held_at_the_deadline,
        spins: true,
        owners: 0,
        bound: (Some(3), Some(5)),
        mutants: &[],
        ..SCRIPT
    },
];
