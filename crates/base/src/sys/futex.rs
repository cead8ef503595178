//! A word that a thread sleeps on: 0 means "go on".
//!
//! Linux: the futex call. Elsewhere: a thread handle and `park`/`unpark` in a side cell. In a model
//! a sleeper that nobody wakes makes the model fail.
//!
//! A parker orders nothing: whoever comes back from [`Parker::wait`] looks at the word again, with
//! the ordering it needs.

#[cfg(all(target_os = "linux", not(loom)))]
pub use linux::{Parker, expect_sleepers};
#[cfg(loom)]
pub use model::Parker;
#[cfg(any(not(target_os = "linux"), loom))]
#[allow(missing_docs)]
pub fn expect_sleepers(_sleepers: usize) {}
#[cfg(all(not(target_os = "linux"), not(loom)))]
pub use portable::Parker;

#[cfg(all(target_os = "linux", not(loom)))]
mod linux {
    use crate::sys::atomic::{AtomicU32, Ordering::*};
    use crate::sys::passing::passing;
    use std::time::Duration;
    // Numbers that no model needs.
    use std::sync::atomic::AtomicUsize;

    /// `PR_FUTEX_HASH` of `prctl`, and what it does: Linux 6.16.
    const FUTEX_HASH: libc::c_int = 78;
    const SET_SLOTS: libc::c_ulong = 1;
    const GET_SLOTS: libc::c_ulong = 2;
    /// Up to so many sleepers the kernel's own choice will do.
    const FEW_SLEEPERS: usize = 64;
    /// More slots would take memory, 64 bytes each, for nothing: a process has fewer threads.
    const MOST_SLOTS: usize = 1 << 17;
    /// Sleepers for which there is room.
    static ROOM: AtomicUsize = AtomicUsize::new(FEW_SLEEPERS);

    /// So many threads of a pool may sleep at a time, each on a word of its own: the kernel is to
    /// find one of them among few. (A hint for the process's one table, which has room for twice as
    /// many.)
    ///
    /// Since Linux 6.16 each process has a table of sleepers of its own, whose size goes by the
    /// number of processors and not of threads: 16 buckets where there are two processors. Each
    /// wake looks through a bucket. With 500 sleepers that is 0.7 µs instead of 0.3, with 10,000 it
    /// is 32. So the table is made larger; also for sleepers that are not ours. Where the kernel
    /// has no such call, its table has 256 buckets for each processor.
    ///
    /// By a thread for that, which ends then: the call waits for all processors, for 10 to 30 ms.
    /// (Four of these calls were a fifth of the time that 10,000 threads took to begin and end.)
    pub fn expect_sleepers(sleepers: usize) {
        let room = ROOM.load(Relaxed);
        if sleepers <= room {
            return;
        }
        let slots = sleepers.saturating_mul(2).next_power_of_two().min(MOST_SLOTS);
        let room_then = if slots == MOST_SLOTS { usize::MAX } else { slots };
        // One of those who find it too small has it made larger.
        if ROOM.compare_exchange(room, room_then, Relaxed, Relaxed).is_err() {
            return;
        }
        let make_room = move || {
            if !set_slots(slots) {
                ROOM.store(usize::MAX, Relaxed);
            }
        };
        let thread = std::thread::Builder::new().name("myriad-futex".to_owned()).stack_size(64 << 10);
        if thread.spawn(passing(make_room)).is_err() {
            make_room();
        }
    }

    /// Makes the table so large, unless it is; false: this cannot be done here.
    fn set_slots(slots: usize) -> bool {
        // SAFETY: takes no pointers.
        let now = unsafe { libc::prctl(FUTEX_HASH, GET_SLOTS, 0usize, 0usize, 0usize) };
        // (0: the process uses the table of the whole system, and somebody wanted that.)
        let Ok(now @ 1..) = usize::try_from(now) else { return false };
        // SAFETY: takes no pointers.
        now >= slots || unsafe { libc::prctl(FUTEX_HASH, SET_SLOTS, slots, 0usize, 0usize) } == 0
    }

    /// Sleeps while its word has a given value; the word's meaning belongs to the caller.
    #[derive(Debug, Default)]
    pub struct Parker {
        /// The word. Whoever changes it so that a sleeper should go on calls [`Parker::wake`]
        /// afterwards.
        pub word: AtomicU32,
    }

    impl Parker {
        /// A parker whose word has this value.
        pub const fn new(value: u32) -> Parker {
            Parker { word: AtomicU32::new(value) }
        }
        /// Sleeps until the word is not `value`; may also return early. `None`: no time limit.
        #[cold]
        pub fn wait(&self, value: u32, timeout: Option<Duration>) {
            if self.word.load(Acquire) != value {
                return;
            }
            let spec = timeout.map(|d| libc::timespec {
                tv_sec: d.as_secs().min(i32::MAX as u64) as _,
                tv_nsec: d.subsec_nanos() as _,
            });
            let spec = spec.as_ref().map_or(std::ptr::null(), |s| s as *const libc::timespec);
            // SAFETY: the word lives in `self`; `spec` is null or points to a timespec that lives
            // until the call returns.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    value,
                    spec,
                );
            }
        }
        /// Wakes one thread that sleeps on the parker at `parker`. The parker may be freed by
        /// whoever saw the word change before this call: the kernel uses the address only as a key.
        ///
        /// A raw pointer for that reason; nothing is dereferenced.
        ///
        /// # Safety
        /// The parker stood until its word was changed, before this call. (A model dereferences
        /// it.)
        pub unsafe fn wake(parker: *const Parker) {
            // SAFETY: FUTEX_WAKE does not read the memory; a stale address at worst wakes a waiter
            // that looks again.
            unsafe {
                libc::syscall(libc::SYS_futex, parker, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
            }
        }
    }
}

#[cfg(all(not(target_os = "linux"), not(loom)))]
mod portable {
    use crate::sys::atomic::{AtomicU32, Ordering::*, Peek};
    use crate::sys::mutex::Mutex;
    use std::collections::HashMap;
    use std::time::Duration;

    use std::thread::{Thread, current, park, park_timeout};

    /// Who sleeps on which parker. (A side table, so that waking needs only the address, as with
    /// futexes.)
    static SLEEPING: Mutex<Option<HashMap<usize, Thread>>> = Mutex::new(None);

    /// Sleeps while its word has a given value; the word's meaning belongs to the caller.
    #[derive(Debug)]
    pub struct Parker {
        /// The word. Whoever changes it so that a sleeper should go on calls [`Parker::wake`]
        /// afterwards.
        pub word: AtomicU32,
    }

    impl Default for Parker {
        fn default() -> Self {
            Parker::new(0)
        }
    }

    impl Parker {
        /// A parker whose word has this value.
        pub fn new(value: u32) -> Parker {
            Parker { word: AtomicU32::new(value) }
        }
        /// Sleeps until the word is not `value`; may also return early.
        pub fn wait(&self, value: u32, timeout: Option<Duration>) {
            let key = self as *const Parker as usize;
            SLEEPING.lock().get_or_insert_default().insert(key, current());
            if self.word.peek(Acquire) == value {
                match timeout {
                    None => park(),
                    Some(d) => park_timeout(d),
                }
            }
            SLEEPING.lock().get_or_insert_default().remove(&key);
        }
        /// Wakes the thread that sleeps on the parker at this address, if any; the address is only
        /// a key.
        ///
        /// # Safety
        /// The parker stood until its word was changed, before this call. (A model dereferences
        /// it.)
        pub unsafe fn wake(parker: *const Parker) {
            let thread = SLEEPING.lock().get_or_insert_default().get(&(parker as usize)).cloned();
            if let Some(thread) = thread {
                thread.unpark();
            }
        }
    }
}

#[cfg(loom)]
pub use model::begin;

#[cfg(loom)]
mod model {
    #![allow(missing_docs)]
    use crate::sys::atomic::{AtomicU32, Ordering::*};
    use crate::sys::mutex::Mutex;
    use loom::thread::{Thread, current, park, yield_now};
    use std::cell::Cell;
    use std::time::Duration;

    /// Turns after which a sleeper that spins counts as forgotten. (Loom lets all others run
    /// between two of them.)
    const PATIENCE: u32 = 100;

    // Of the thread that explores, on which all threads of a model run.
    thread_local! {
        static SPINS: Cell<bool> = const { Cell::new(false) };
    }

    /// An execution begins in which sleepers spin, or park. Parked ones are explored in a fraction
    /// of the time, and loom reports a forgotten one as a deadlock. But loom's `unpark` orders what
    /// was before it with what comes after the sleep, whatever the accesses to the word are; where
    /// these are under test, sleepers spin.
    pub fn begin(spins: bool) {
        SPINS.set(spins);
    }

    #[derive(Debug)]
    pub struct Parker {
        pub word: AtomicU32,
        /// Who sleeps, as the kernel would know it. In std's mutex, which orders nothing in a
        /// model.
        asleep: Mutex<Option<Thread>>,
    }

    impl Default for Parker {
        fn default() -> Self {
            Parker::new(0)
        }
    }

    impl Parker {
        pub fn new(value: u32) -> Parker {
            Parker { word: AtomicU32::new(value), asleep: Mutex::new(None) }
        }
        fn is_asleep(&self) -> bool {
            self.asleep.lock().is_some()
        }
        /// With a time limit: lets others run once, and has waited long enough.
        pub fn wait(&self, value: u32, timeout: Option<Duration>) {
            // A read-modify-write reads the newest value, as the kernel does when it has the queue
            // locked. One that never succeeds: its store would be mixed up with a waker's plain
            // one.
            if self.word.compare_exchange(u32::MAX, u32::MAX, Relaxed, Relaxed) != Err(value) {
                return;
            }
            *self.asleep.lock() = Some(current());
            if timeout.is_some() {
                yield_now();
                *self.asleep.lock() = None;
            }
            let mut turns = 0;
            while self.is_asleep() {
                if SPINS.get() {
                    assert!(turns < PATIENCE, "a sleeper is forgotten");
                    turns += 1;
                    yield_now();
                } else {
                    park();
                }
            }
        }
        /// # Safety
        /// The parker stood until its word was changed, before this call.
        pub unsafe fn wake(parker: *const Parker) {
            // SAFETY: unlike the kernel's, a model's wake needs the parker; between the change of
            // the word and this call no other thread runs, or the script keeps the parker.
            let sleeper = unsafe { &(*parker).asleep }.lock().take();
            if let Some(sleeper) = sleeper.filter(|_| !SPINS.get()) {
                sleeper.unpark();
            }
        }
    }
}
