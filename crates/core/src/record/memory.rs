//! Memory of task records: per-worker free lists of 64-byte classes.
//!
//! **Invariant: type-stable.** Memory that has once been a record is only ever a record of the same
//! class, and is never given back to the system. So a stale pointer to a record may be looked at
//! for ever: a waker compares the generation in `state`, which freeing does not touch, and finds
//! that its task is gone. That makes wakers plain copies, without a reference count (7 ns each).
//! The price: memory stays at its high-water mark, and is used again.
//!
//! What is free stands in *magazines*, arrays of [`MAGAZINE`] addresses, the last one freed on top.
//! (A list through the records themselves made each allocation wait for the load of the one
//! before.) When a worker's magazine is full it becomes its spare one, and an older spare goes to
//! the process: so a worker that only frees feeds one that only spawns, at one lock per magazine.
//!
//! **Rejected.** The global allocator: 20 ns for each record, and a count or an epoch to keep
//! wakers safe. Returning chunks to the system: needs to know that no waker is left.

use super::header::{Header, Kind};
use super::task::HeapRecord;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::alloc::Layout;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::null_mut;
// Std's own atomics, not `sys::atomic`: bytes of a header, which no model covers in these places,
// and an estimate.
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicUsize, Ordering::Relaxed};

/// Bytes between classes; also the alignment of a record.
pub(crate) const UNIT: usize = 64;
/// Records have 1 to this many units; what is larger keeps its payload in a box.
pub(crate) const CLASSES: usize = 8;
/// Records that move between a worker and the process at a time.
const MAGAZINE: usize = 256;
/// Records that go into a magazine at a time when they are used for the first time: there is room
/// for those that are freed meanwhile.
const FIRST_USED: usize = MAGAZINE / 4;
const FIRST_CHUNK: usize = 64 << 10;
const LARGEST_CHUNK: usize = 1 << 20;

/// The class for a record of this size.
pub(crate) const fn class_of(size: usize) -> usize {
    size.div_ceil(UNIT) - 1
}

const _: () = assert!(size_of::<List>() == 32 && CLASSES == 8, "the class bits of a kind are offsets");

type Magazine = Box<[Cell<*mut u8>; MAGAZINE]>;

/// A magazine in use: what each spawn and each end of a task touches. Its size of 32 bytes makes
/// the class bits of a [`Kind`] the offset of the list of that class, as they are.
struct List {
    /// The free records stand below this, down to `first`. Null before the first magazine.
    top: Cell<*mut Cell<*mut u8>>,
    first: Cell<*mut Cell<*mut u8>>,
    /// Where the magazine ends.
    full: Cell<*mut Cell<*mut u8>>,
    _size: usize,
}

/// Where a list gets its records from.
struct Supply {
    /// A full magazine.
    spare: Cell<Option<Magazine>>,
    /// Never used yet.
    bump: Cell<*mut u8>,
    end: Cell<*mut u8>,
    chunk: Cell<usize>,
}

/// One worker's free lists.
#[repr(C)]
pub(crate) struct Memory {
    lists: [List; CLASSES],
    supplies: [Supply; CLASSES],
    /// How many free records there were when the owner [said](Memory::show) so last, less those
    /// that have come into a magazine for the first time since.
    shown: AtomicUsize,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

// SAFETY: the pointers are magazines and free records, which this value owns, and no thread's.
unsafe impl Send for Memory {}

/// A piece of memory cut into records of one class.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    start: *mut u8,
    records: usize,
    class: usize,
}

impl Chunk {
    /// The address behind the last record.
    fn end(&self) -> usize {
        self.start.addr() + self.records * (self.class + 1) * UNIT
    }
}

pub(crate) struct RecordPool {
    /// Full ones.
    magazines: [Vec<Magazine>; CLASSES],
    chunks: Vec<Chunk>,
}
// SAFETY: the pointers are free records, and the bounds of memory that is never given back: none of
// that is a thread's own.
unsafe impl Send for RecordPool {}

static POOL: Mutex<RecordPool> =
    Mutex::new(RecordPool { magazines: [const { Vec::new() }; CLASSES], chunks: Vec::new() });
/// For threads that are no workers.
static GLOBAL_FREE_LIST: Mutex<Memory> = Mutex::new(Memory::new());

/// For `fork`.
pub(crate) type Locks = (MutexGuard<'static, Memory>, MutexGuard<'static, RecordPool>);

/// For `fork`: nobody else changes a list meanwhile.
pub(crate) fn lock_all() -> Locks {
    (global_free_list(), POOL.lock())
}

/// The free lists that foreign threads share.
pub(crate) fn global_free_list() -> MutexGuard<'static, Memory> {
    GLOBAL_FREE_LIST.lock()
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

/// Addresses of records must leave room for the generation that a waker keeps above them.
fn check_address(end: *mut u8) {
    if end.addr() >> 48 != 0 {
        myriad_base::sys::thread::abort_with("the system gave memory above 2^48, which Myriad's wakers cannot hold");
    }
}

impl Memory {
    /// Empty lists.
    pub(crate) const fn new() -> Memory {
        #[allow(clippy::declare_interior_mutable_const, reason = "an initialiser, copied for each class")]
        const LIST: List =
            List { top: Cell::new(null_mut()), first: Cell::new(null_mut()), full: Cell::new(null_mut()), _size: 0 };
        #[allow(clippy::declare_interior_mutable_const, reason = "an initialiser, copied for each class")]
        const SUPPLY: Supply = Supply {
            spare: Cell::new(None),
            bump: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            chunk: Cell::new(FIRST_CHUNK),
        };
        Memory { lists: [LIST; CLASSES], supplies: [SUPPLY; CLASSES], shown: AtomicUsize::new(0) }
    }

    /// Memory for a record of this class. Its `state` is as it was left; all else is garbage.
    #[inline(always)]
    pub(crate) fn alloc(&self, class: usize) -> *mut u8 {
        let list = &self.lists[class];
        let top = list.top.get();
        if top == list.first.get() {
            return self.refill(class);
        }
        // SAFETY: `top` is not `first`, so there is a magazine, and the places from `first` up to
        // `top` are filled.
        unsafe {
            let top = top.sub(1);
            list.top.set(top);
            (*top).get()
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, class: usize) -> *mut u8 {
        let supply = &self.supplies[class];
        if supply.bump.get() < supply.end.get() {
            let filled = self.lists[class].fill(supply, (class + 1) * UNIT);
            // (All of them are said to be in use until the next `show`. Most are, soon.)
            self.shown.store(self.shown.load(Relaxed).saturating_sub(filled), Relaxed);
            return self.alloc(class);
        }
        if let Some(full) = supply.spare.take().or_else(|| POOL.lock().magazines[class].pop()) {
            let first = full[MAGAZINE - 1].get();
            drop(self.lists[class].begin(full, MAGAZINE - 1));
            self.show();
            return first;
        }
        supply.new_chunk(class);
        self.show();
        self.refill(class)
    }

    /// Gives a record's memory back. `kind` says free from here on.
    ///
    /// # Safety
    /// `record` came from `alloc` (of any list) of this class, and is used no more but for looks at
    /// `state`.
    #[inline(always)]
    pub(crate) unsafe fn dealloc(&self, record: *mut u8, class: usize) {
        let list = &self.lists[class];
        let top = list.top.get();
        if top == list.full.get() {
            // SAFETY: this function's contract.
            return unsafe { self.dealloc_full(record, class) };
        }
        // SAFETY: the record is used no more (this function's contract), so it is ours. There is a
        // magazine with room, for `top` is below `full`.
        unsafe {
            // Atomic for `for_each_live`.
            AtomicU8::from_ptr((&raw mut (*record.cast::<Header>()).kind).cast()).store(Kind::FREE.0, Relaxed);
            (*top).set(record);
            list.top.set(top.add(1));
        }
    }

    /// The same where the magazine is full, or there is none. (To come back from here to the usual
    /// way costs that four instructions.)
    ///
    /// # Safety
    /// As for [`dealloc`](Self::dealloc).
    #[cold]
    #[inline(never)]
    unsafe fn dealloc_full(&self, record: *mut u8, class: usize) {
        self.put_aside(class);
        // SAFETY: this function's contract.
        unsafe { self.dealloc(record, class) }
    }

    /// Makes room in the magazine: the full one becomes the spare one.
    fn put_aside(&self, class: usize) {
        let empty = Box::new([const { Cell::new(null_mut()) }; MAGAZINE]);
        if let Some(full) = self.lists[class].begin(empty, 0)
            && let Some(older) = self.supplies[class].spare.replace(Some(full))
        {
            POOL.lock().magazines[class].push(older);
        }
        self.show();
    }

    /// Says how many free records there are, for who [counts](Memory::shown): by the owner, now and
    /// then. (To count each alloc and each free takes an instruction of the 130 of a spawn and a
    /// join, also if what is read is the list itself.)
    pub(crate) fn show(&self) {
        let of_class = |class: usize| {
            let (list, supply) = (&self.lists[class], &self.supplies[class]);
            let listed = (list.top.get().addr() - list.first.get().addr()) / size_of::<*mut u8>();
            let spare = supply.spare.take();
            let spares = usize::from(spare.is_some()) * MAGAZINE;
            supply.spare.set(spare);
            listed + spares + (supply.end.get().addr() - supply.bump.get().addr()) / ((class + 1) * UNIT)
        };
        self.shown.store((0..CLASSES).map(of_class).sum(), Relaxed);
    }

    /// How many free records are in the lists at this address, as it was said last. For any thread.
    ///
    /// # Safety
    /// The lists are there.
    pub(crate) unsafe fn shown(this: *const Memory) -> usize {
        // SAFETY: the lists are there (this function's contract). Only an atomic word is reached,
        // by a reference to that word.
        unsafe { (*this).shown.load(Relaxed) }
    }
}

impl Supply {
    /// Memory for more records.
    fn new_chunk(&self, class: usize) {
        let size = (class + 1) * UNIT;
        let records = self.chunk.get() / size;
        self.chunk.set((self.chunk.get() * 2).min(LARGEST_CHUNK));
        // One unit more, to align by hand: asking the allocator to align would make it touch (zero)
        // all pages now.
        let layout = Layout::from_size_align(records * size + UNIT, 16).expect("a small layout");
        // SAFETY: the layout is not empty.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        if memory.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        let start = memory.wrapping_add(memory.align_offset(UNIT));
        check_address(start.wrapping_add(records * size));
        self.bump.set(start);
        self.end.set(start.wrapping_add(records * size));
        POOL.lock().chunks.push(Chunk { start, records, class });
    }
}

impl List {
    /// Puts records of this size that were never used into the magazine, which is empty: the first
    /// one in memory on top. How many.
    fn fill(&self, supply: &Supply, size: usize) -> usize {
        if self.first.get().is_null() {
            drop(self.begin(Box::new([const { Cell::new(null_mut()) }; MAGAZINE]), 0));
        }
        let (bump, first) = (supply.bump.get(), self.first.get());
        let n = FIRST_USED.min((supply.end.get().addr() - bump.addr()) / size);
        for i in 0..n {
            // SAFETY: there is a magazine, which has more than `n` places.
            unsafe { (*first.add(i)).set(bump.wrapping_add((n - 1 - i) * size)) };
        }
        self.top.set(first.wrapping_add(n));
        supply.bump.set(bump.wrapping_add(n * size));
        n
    }

    /// Goes on with this magazine, of which so many places are filled. Returns the one before.
    fn begin(&self, magazine: Magazine, len: usize) -> Option<Magazine> {
        let first = Box::into_raw(magazine).cast::<Cell<*mut u8>>();
        let before = self.first.replace(first);
        self.top.set(first.wrapping_add(len));
        self.full.set(first.wrapping_add(MAGAZINE));
        // SAFETY: `before` came from `into_raw` here, and this list alone had it.
        (!before.is_null()).then(|| unsafe { Box::from_raw(before.cast()) })
    }
}

impl Drop for List {
    /// The records themselves live for ever: only tests make lists that end.
    fn drop(&mut self) {
        if !self.first.get().is_null() {
            // SAFETY: `first` came from `into_raw` in `begin`, and this list alone has it.
            drop(unsafe { Box::from_raw(self.first.get().cast::<[Cell<*mut u8>; MAGAZINE]>()) });
        }
    }
}

/// How many records there are, and how many of them are free and in no worker's lists.
pub(crate) fn count() -> (usize, usize) {
    let foreign = global_free_list();
    foreign.show();
    let pool = POOL.lock();
    let made = pool.chunks.iter().map(|chunk| chunk.records).sum();
    (made, foreign.shown.load(Relaxed) + pool.magazines.iter().map(Vec::len).sum::<usize>() * MAGAZINE)
}

/// Calls `visit` with every record of this runtime that is not free.
///
/// **The looks at records of others**, which their workers spawn and free meanwhile: `kind` and
/// `runtime` are read as one half word, and written atomically, so what we see was written at one
/// time; relaxed, for a foreign record's `runtime` is never ours. (Rust promises nothing about
/// atomics of different sizes on the same bytes, and a spawn writes four, a free one. LLVM defines
/// this byte by byte, and processors do what one expects. A second store in each spawn would be the
/// price of the letter.)
///
/// # Safety
/// What `visit` looks into beyond atomic words nobody spawns, runs or frees meanwhile: the
/// runtime's workers have stopped. Or `visit` allows for a record that becomes another task's while
/// `visit` looks.
pub(crate) unsafe fn for_each_live(runtime: u8, mut visit: impl FnMut(*mut Header)) {
    for_each(|_, record, owner| {
        if owner == runtime {
            visit(record.as_ptr());
        }
    });
}

/// Is this address in memory for records?
pub(crate) fn is_in_records(address: usize) -> bool {
    let holds = |chunk: &Chunk| (chunk.start.addr()..chunk.end()).contains(&address);
    POOL.lock().chunks.iter().any(holds)
}

/// Calls `visit` with every record that is not free, its number, and that of its runtime: always in
/// the same order, and a record has the same number each time.
pub(crate) fn for_each(mut visit: impl FnMut(usize, HeapRecord, u8)) {
    let chunks = POOL.lock().chunks.clone();
    let mut number = 0;
    for chunk in chunks {
        for i in 0..chunk.records {
            let record = chunk.start.wrapping_add(i * (chunk.class + 1) * UNIT).cast::<Header>();
            // SAFETY: record memory.
            let record = unsafe { HeapRecord::from_raw(record) };
            let (kind, owner) = look_at_kind(record);
            if kind != Kind::FREE {
                visit(number, record, owner);
            }
            number += 1;
        }
    }
}

/// What the record is at this moment, and of which runtime: see [`for_each_live`].
pub(crate) fn look_at_kind(record: HeapRecord) -> (Kind, u8) {
    const { assert!(offset_of!(Header, runtime) == offset_of!(Header, kind) + 1 || cfg!(loom)) };
    const { assert!(offset_of!(Header, kind).is_multiple_of(2) || cfg!(loom)) };
    // SAFETY: record memory is readable for ever; two bytes, aligned (checked above).
    let both = unsafe { AtomicU16::from_ptr((&raw mut (*record.as_ptr()).kind).cast()) };
    let [kind, owner] = both.load(Relaxed).to_ne_bytes();
    (Kind(kind), owner)
}
