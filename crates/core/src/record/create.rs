//! Writing the header of a fresh record.

use super::header::{Header, Kind, Outcome, Run, TaskFlags};
use super::position::UNCLAIMED;
use super::step::{self, Step};
use myriad_base::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::cell::Cell;
use std::panic::Location;
use std::ptr::null_mut;

/// Writes all of a header but `state`, which keeps the memory's generation.
///
/// # Safety
/// `task` is record memory that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_header(
    task: *mut Header,
    run: Run,
    kind: Kind,
    runtime: u8,
    location: &'static Location<'static>,
) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written.
    unsafe {
        (&raw mut (*task).idx).write(AtomicUsize::new(UNCLAIMED));
        write_queued_header(task, run, KindWord::new(kind, runtime), location);
    }
}

/// The same for a task that goes into a worker's own deque, which writes `idx`.
///
/// # Safety
/// `task` is record memory that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_queued_header(
    task: *mut Header,
    run: Run,
    word: KindWord,
    location: &'static Location<'static>,
) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written.
    unsafe {
        (&raw mut (*task).run).write(Cell::new(run));
        (&raw mut (*task).waiter).write(AtomicPtr::new(null_mut()));
        (&raw mut (*task).location).write(Cell::new(location));
        write_kind_word(task, word);
        step::task(Step::Created, task);
        if cfg!(loom) {
            (&raw mut (*task).idx).write(AtomicUsize::new(UNCLAIMED));
        }
    }
}

/// Kind, runtime, outcome and flags of a fresh record as one word.
///
/// **Invariant.** The byte of the outcome is [`Outcome::Returned`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct KindWord(u32);

// So the bitwise or of two words keeps the invariant.
const _: () = assert!(Outcome::Returned as u8 == 0);

impl KindWord {
    #[inline(always)]
    pub(crate) const fn new(kind: Kind, runtime: u8) -> KindWord {
        let framed = kind.has(Kind::SCOPED) || kind.has(Kind::ON_STACK);
        let flags = if framed { TaskFlags::UNLISTED } else { 0 };
        KindWord(u32::from_ne_bytes([kind.0, runtime, Outcome::Returned as u8, flags]))
    }

    /// Of this kind too. (Words are known in parts: a worker has its runtime's.)
    #[inline(always)]
    pub(crate) const fn with(self, kind: Kind) -> KindWord {
        KindWord(self.0 | KindWord::new(kind, 0).0)
    }

    /// Of a record on a stack.
    pub(crate) const fn on_stack(runtime: u8) -> KindWord {
        KindWord::new(Kind::CLOSURE.and(Kind::ON_STACK), runtime)
    }

    /// The same of a [guest's](Kind::GUEST) job.
    pub(crate) const fn guest_on_stack(runtime: u8) -> KindWord {
        KindWord::on_stack(runtime).with(Kind::GUEST)
    }
}

/// Writes the four at once: they stand side by side (checked below).
///
/// # Safety
/// `task` is memory for a header that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_kind_word(task: *mut Header, word: KindWord) {
    const {
        assert!(std::mem::offset_of!(Header, runtime) == std::mem::offset_of!(Header, kind) + 1 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, outcome) == std::mem::offset_of!(Header, kind) + 2 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, flags) == std::mem::offset_of!(Header, kind) + 3 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, kind).is_multiple_of(4) || cfg!(loom));
    }
    // SAFETY: nobody else uses `task` (this function's contract). The store covers the four fields
    // and no more, and is aligned (checked above). The third byte is an `Outcome`: the word's
    // invariant. (In a model the words are larger: field by field.)
    unsafe {
        if cfg!(loom) {
            let [kind, runtime, _, task_flags] = word.0.to_ne_bytes();
            (&raw mut (*task).kind).write(Cell::new(Kind(kind)));
            (&raw mut (*task).runtime).write(Cell::new(runtime));
            (&raw mut (*task).outcome).write(Cell::new(Outcome::Returned));
            (&raw mut (*task).flags).write(AtomicU8::new(task_flags));
        } else {
            // Atomic for `memory::for_each_live`, which may look at any time.
            std::sync::atomic::AtomicU32::from_ptr((&raw mut (*task).kind).cast()).store(word.0, Relaxed);
        }
    }
}

/// A header for a record on a stack: it has no generation. `idx` is written by the push, or by the
/// caller.
///
/// # Safety
/// `task` is memory for a header that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_stack_header(
    task: *mut Header,
    run: Run,
    word: KindWord,
    location: &'static Location<'static>,
) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written. The
    // store of eight bytes is aligned, and covers the word and `state` (checked beside it); its
    // outcome is valid, by the word's invariant.
    unsafe {
        (&raw mut (*task).run).write(Cell::new(run));
        (&raw mut (*task).waiter).write(AtomicPtr::new(null_mut()));
        (&raw mut (*task).location).write(Cell::new(location));
        if cfg!(loom) {
            write_kind_word(task, word);
            (&raw mut (*task).state).write(AtomicU32::new(0));
            (&raw mut (*task).idx).write(AtomicUsize::new(UNCLAIMED));
        } else {
            // With a state of 0, in one store.
            const { assert!(std::mem::offset_of!(Header, state) == std::mem::offset_of!(Header, kind) + 4 || cfg!(loom)) };
            const { assert!(std::mem::offset_of!(Header, kind).is_multiple_of(align_of::<u64>()) || cfg!(loom)) };
            let both = if cfg!(target_endian = "little") { u64::from(word.0) } else { u64::from(word.0) << 32 };
            (&raw mut (*task).kind).cast::<u64>().write(both);
        }
        step::task(Step::Created, task);
    }
}
