//! Plain threads that sleep in a wait of this library: which there are, and what each waits for.
//! For dumps.
//!
//! Each thread has a place in a list, from its first sleep to its end, and writes there when it
//! falls asleep and when it wakes up: some instructions beside two system calls. Nothing waits for
//! what stands there, so all is relaxed: what is seen is a guess of one moment.

use crate::queue::look::WaitsFor;
use crate::queue::reason::WaitReason;
use crate::sched::rescue::quiet;
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutex::Mutex;
use std::cell::Cell;
use std::sync::Arc;
// Std's, as nothing here is a protocol's part.
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::thread::Thread;

/// A thread, as others see it.
struct Sleeper {
    thread: Thread,
    /// 0 while it is awake; one more than the number of a reason, and [`TIMED`].
    word: AtomicU8,
    object: AtomicUsize,
}

/// Its wait has a time limit.
const TIMED: u8 = 128;

struct Sleepers {
    /// Whose threads these are.
    era: u32,
    all: Vec<Arc<Sleeper>>,
}

static LIST: Mutex<Sleepers> = Mutex::new(Sleepers { era: 0, all: Vec::new() });

/// The list of this process.
fn list() -> myriad_base::sys::mutex::MutexGuard<'static, Sleepers> {
    fork::hold(Rank::Sleepers, || {
        let held = LIST.lock();
        Box::new(|_| drop(held))
    });
    let mut list = LIST.lock();
    if list.era != fork::era() {
        // The parent's threads: the memory stays.
        std::mem::forget(std::mem::take(&mut list.all));
        list.era = fork::era();
    }
    list
}

/// The calling thread's place. Leaves the list with the thread.
struct SleepersPlace {
    me: Arc<Sleeper>,
    /// In whose list it is: the thread that forks comes into the child's when it sleeps there.
    era: Cell<u32>,
}

impl SleepersPlace {
    fn new() -> SleepersPlace {
        let (word, object) = (AtomicU8::new(0), AtomicUsize::new(0));
        let me = Arc::new(Sleeper { thread: std::thread::current(), word, object });
        SleepersPlace { me, era: Cell::new(0) }
    }

    /// In the list of this process.
    #[inline]
    fn listed(&self) -> &Sleeper {
        if self.era.get() != fork::era() {
            self.era.set(fork::era());
            list().all.push(self.me.clone());
        }
        &self.me
    }
}

impl Drop for SleepersPlace {
    fn drop(&mut self) {
        list().all.retain(|other| !Arc::ptr_eq(other, &self.me));
    }
}

thread_local! {
    static PLACE: SleepersPlace = SleepersPlace::new();
}

/// The calling thread sleeps for this, in `sleep`.
#[inline]
pub(super) fn asleep(why: WaitsFor, timed: bool, sleep: impl FnOnce()) {
    let say = |word: u8| {
        // (None at the end of the thread. In a model all threads are one.)
        _ = !cfg!(loom)
            && PLACE
                .try_with(|place| {
                    let me = place.listed();
                    me.object.store(why.object, Relaxed);
                    me.word.store(word, Relaxed);
                })
                .is_ok();
    };
    say((why.reason as u8 + 1) | if timed { TIMED } else { 0 });
    if !timed {
        quiet::somebody_sleeps();
    }
    sleep();
    say(0);
}

/// Calls this for each thread that sleeps: what it waits for, and whether it does so for a time
/// only.
pub(crate) fn for_each(mut each: impl FnMut(&Thread, WaitsFor, bool)) {
    for sleeper in &list().all {
        let word = sleeper.word.load(Relaxed);
        if word != 0 {
            let reason = WaitReason::of_number((word & !TIMED) - 1);
            each(&sleeper.thread, WaitsFor { reason, object: sleeper.object.load(Relaxed) }, word & TIMED != 0);
        }
    }
}
