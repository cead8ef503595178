//! Asymmetric fences: one side free, the other dear.
//!
//! An owner announces something and looks at what others wrote (Dekker's pattern) thousands of
//! times for each time that another thread does the opposite. So the owner's fence,
//! [`Fence::light`], is only a fence for the compiler, and the other side's, [`heavy`], makes the
//! kernel run a full barrier on every running thread of the process
//! (`membarrier(PRIVATE_EXPEDITED)`; a thread that is off its core has had one from the switch).
//!
//! **What the pair means.** The barrier falls at a point P within the call, between two light
//! fences of each owner. What the owner did before its last light fence before P happens before
//! what the caller does after `heavy`; what the caller did before `heavy` happens before what the
//! owner does after its next light fence. Two light fences order *nothing*. No data may be ordered
//! by these fences alone: they only say "one of us must see the other".
//!
//! **Without membarrier** (old kernels, seccomp, other systems, or `MYRIAD_NO_MEMBARRIER=1`) both
//! sides are `fence(SeqCst)`: the same protocols at some 6 ns for each light fence. Decided once,
//! before the first worker starts.
//!
//! **In a loom model** there are two meanings. `PerOwner` is the text above: a word per owner,
//! `light` an AcqRel read-modify-write of one's own word, `heavy` one of each word. `SeqCst` makes
//! both a full fence, as without membarrier. (Loom does not look for other orders of fences; a
//! relaxed read-modify-write of one word before each makes it.) Loom's SeqCst fence is too strong
//! a model of `light`, as it also orders light with light, so only `PerOwner` counts as proof;
//! models run under `SeqCst` in the thorough run alone.

#[cfg(not(loom))]
pub use real::*;

#[cfg(not(loom))]
mod real {
    use crate::sys::atomic::{AtomicU8, AtomicU64, Ordering::*, compiler_fence, fence};
    use crate::sys::choice::ticks;

    /// How the fences work in this process: 0 not decided, 1 membarrier, 2 full fences.
    static KIND: AtomicU8 = AtomicU8::new(0);

    /// One owner's side; keep it on the owner's own cache line.
    #[derive(Debug, Clone, Copy)]
    pub struct Fence {
        hard: bool,
    }

    impl Fence {
        /// The fence of worker `_index` of its runtime (only models use the number).
        pub fn new(_index: usize) -> Fence {
            Fence { hard: !membarrier_works() }
        }
        /// For threads that are no workers: a full fence.
        pub const fn foreign() -> Fence {
            Fence { hard: true }
        }
        /// Is the light side nothing but a fence for the compiler?
        #[inline(always)]
        pub fn is_soft(&self) -> bool {
            !self.hard
        }
        /// The owner's side; pairs with [`heavy`].
        #[inline(always)]
        pub fn light(&self) {
            compiler_fence(SeqCst);
            if self.hard {
                // SeqCst: both sides are full fences when membarrier is missing.
                fence(SeqCst);
            }
        }
    }

    /// The owner's side on whatever thread, worker or not: the kernel's barrier meets them all.
    /// Pairs with [`heavy_any`].
    #[inline(always)]
    pub fn light_any() {
        compiler_fence(SeqCst);
        // Relaxed: once decided it does not change; not known to be decided, the fence is a full
        // one.
        if KIND.load(Relaxed) != 1 {
            // SeqCst: as in `Fence::light`.
            fence(SeqCst);
        }
    }

    /// The dear side for [`light_any`]. Foreign threads come here before any worker has started: so
    /// it sees to it that the kind is decided, for all who are ordered before, and then pays.
    pub fn heavy_any() {
        if membarrier_works() {
            heavy();
        } else {
            // SeqCst: the other half of the hard light fence.
            fence(SeqCst);
        }
    }

    /// What a heavy fence took of late, in ticks.
    static TICKS: AtomicU64 = AtomicU64::new(0);

    /// What a heavy fence costs on this machine, in [`ticks`]: the mean of the latest. (It differs
    /// by a factor of 30 between machines; in a virtual one the processors interrupt each other by
    /// way of the host.)
    pub fn heavy_ticks() -> u64 {
        TICKS.load(Relaxed)
    }

    /// The dear side: 0.2 to 20 µs. Aborts if the kernel takes back what it granted: going on would
    /// corrupt memory.
    pub fn heavy() {
        if KIND.load(Relaxed) == 1 {
            let began = ticks();
            if !membarrier(CMD_PRIVATE_EXPEDITED) && !register_anew() {
                crate::sys::thread::abort_with("membarrier, which worked at the start, has failed");
            }
            // Relaxed, and lost updates do not matter: an estimate. One that was preempted counts
            // like four others at most.
            let (mean, last) = (TICKS.load(Relaxed), ticks() - began);
            TICKS.store(if mean == 0 { last } else { (mean * 7 + last.min(mean * 4)) / 8 }, Relaxed);
        } else {
            // SeqCst: the other half of the hard light fence.
            fence(SeqCst);
        }
    }

    /// A process that was forked while its parent registered may have the parent's [`KIND`] and not
    /// its registration: the kernel copies the one after the other. Nothing was ordered by a fence
    /// in this process yet, so it registers now. False: that, or the fence, fails too.
    #[cold]
    fn register_anew() -> bool {
        membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(CMD_PRIVATE_EXPEDITED)
    }

    const CMD_PRIVATE_EXPEDITED: i32 = 8;
    const CMD_REGISTER_PRIVATE_EXPEDITED: i32 = 16;

    /// Does `heavy` use membarrier here? Decides at the first call. Call it before there are many
    /// threads: registration waits for a grace period when there are.
    pub fn membarrier_works() -> bool {
        match KIND.load(Acquire) {
            0 => {
                let works = std::env::var_os("MYRIAD_NO_MEMBARRIER").is_none_or(|v| v == "0" || v.is_empty())
                    && membarrier_supported();
                // Two threads may both decide; they decide the same.
                KIND.store(if works { 1 } else { 2 }, Release);
                works
            }
            kind => kind == 1,
        }
    }

    /// Asks the kernel, and registers this process.
    #[cfg(target_os = "linux")]
    fn membarrier_supported() -> bool {
        const CMD_QUERY: i32 = 0;
        // SAFETY: membarrier's query takes no pointers.
        let mask = unsafe { libc::syscall(libc::SYS_membarrier, CMD_QUERY, 0, 0) };
        mask > 0
            && mask & i64::from(CMD_PRIVATE_EXPEDITED) as libc::c_long != 0
            && membarrier(CMD_REGISTER_PRIVATE_EXPEDITED)
            && membarrier(CMD_PRIVATE_EXPEDITED)
    }

    #[cfg(target_os = "linux")]
    fn membarrier(command: i32) -> bool {
        // SAFETY: membarrier takes no pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn membarrier_supported() -> bool {
        let _ = CMD_REGISTER_PRIVATE_EXPEDITED;
        false
    }
    #[cfg(not(target_os = "linux"))]
    fn membarrier(_command: i32) -> bool {
        false
    }
}

#[cfg(loom)]
pub use model::*;

#[cfg(loom)]
mod model {
    #![allow(missing_docs)]
    use loom::sync::atomic::{AtomicUsize, Ordering::*, fence};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    /// What the fences mean in a model; see the module's header.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Meaning {
        PerOwner,
        SeqCst,
    }

    // Of the thread that explores: a model's threads all run on it, and other tests explore on
    // others.
    thread_local! {
        static MEANING: Cell<Meaning> = const { Cell::new(Meaning::PerOwner) };
        static WORDS: RefCell<Rc<[AtomicUsize]>> = RefCell::new(Rc::new([]));
        static MET: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether a fence was met since this was asked last: a program without one is the same under
    /// both meanings.
    pub fn met() -> bool {
        MET.take()
    }

    /// An execution begins: what the fences mean, and how many owners there are (each makes `heavy`
    /// dearer to explore). All foreign threads are one more owner, so that a model with two of them
    /// orders these more than a machine does.
    pub fn begin(meaning: Meaning, owners: usize, foreign: bool) {
        MEANING.set(meaning);
        let words = (0..owners + usize::from(foreign)).map(|_| AtomicUsize::new(0)).collect();
        // What was there belongs to an execution that is over.
        drop(WORDS.replace(words));
    }

    fn words() -> Rc<[AtomicUsize]> {
        MET.set(true);
        WORDS.with_borrow(Rc::clone)
    }

    #[derive(Debug, Clone, Copy)]
    pub struct Fence {
        owner: Option<usize>,
    }
    impl Fence {
        pub fn new(index: usize) -> Fence {
            Fence { owner: Some(index) }
        }
        pub fn foreign() -> Fence {
            Fence { owner: None }
        }
        pub fn is_soft(&self) -> bool {
            false
        }
        pub fn light(&self) {
            let words = words();
            match MEANING.get() {
                Meaning::SeqCst => full(&words),
                Meaning::PerOwner => {
                    words[self.owner.unwrap_or(words.len() - 1)].fetch_add(1, AcqRel);
                }
            }
        }
    }
    pub fn membarrier_works() -> bool {
        true
    }
    /// Each thread of a model is an owner, if the model said so.
    pub fn light_any() {
        Fence::new(crate::sys::atomic::me() % words().len()).light();
    }
    pub fn heavy_any() {
        heavy();
    }
    pub fn heavy_ticks() -> u64 {
        0
    }
    fn full(words: &[AtomicUsize]) {
        words[0].fetch_add(1, Relaxed);
        fence(SeqCst)
    }
    pub fn heavy() {
        let words = words();
        match MEANING.get() {
            Meaning::SeqCst => full(&words),
            Meaning::PerOwner => words.iter().for_each(|w| _ = w.fetch_add(1, AcqRel)),
        }
    }
}
