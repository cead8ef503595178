//! Handles that C code holds: numbers that look like pointers, and tables of what they stand for.
//!
//! ```text
//!  handle:  kind (8 bits) | generation (24) | index of a slot (32)
//!
//!  slot:    free ── insert ──> live ── remove ──> leaving ── the last user has gone ──> free, of the next generation
//!                               └─ take ─> taken ─ put back ─> live, or release ─> free, of the next generation
//! ```
//! C code can use a handle twice, or after its end, and nobody sees that beforehand. So a handle is
//! looked up: one that is stale meets another generation in its slot, and the function returns an
//! error. No handle is an address, and the slots' memory stays until the process ends.
//!
//! **What is not detected:** a handle that is as old as 2^24 later uses of its slot may be taken
//! for a new one.
//!
//! **Invariants.** A slot's value is there while the slot is live or leaving. A [`User`] counts
//! itself before it touches the value; a slot that is live or has users is not emptied by anybody
//! else than its last user. Who takes a value finds no users, and none comes until it is put back.
//!
//! **Ordering.** The state's Release of who has written the value, or has used it, with the Acquire
//! of who uses it, or empties it, next.

use crate::error::{Failure, myriad_status::*, null};
use crate::fork;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};

const _: () = assert!(size_of::<usize>() == 8, "a handle has 64 bits");

/// A slot's state: the generation above, then this flag, then the number of users.
const LIVE: u64 = 1 << 31;
const USERS: u64 = LIVE - 1;
const GENERATION: u64 = (1 << 24) - 1;
/// Free slots are in so many lists, so that threads seldom want the same one.
const LISTS: usize = 16;
/// The first chunk has so many slots; each one after it has twice as many as the one before.
const FIRST: usize = 64;
const CHUNKS: usize = 26;

/// What handles of one kind stand for.
pub(crate) struct Table<T> {
    kind: u64,
    /// For the error's text: "the task", and how its handle ends: "joined or detached".
    name: &'static str,
    end: &'static str,
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: [Mutex<Free>; LISTS],
}

struct Slot<T> {
    state: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

pub(crate) struct Free {
    list: Vec<u32>,
    /// So many slots of this list have been made.
    made: usize,
}

/// For `fork`: all of a table's.
pub(crate) type Locks = [MutexGuard<'static, Free>; LISTS];

// SAFETY: a value is used by several threads at a time and dropped by any of them, which
// `T: Send + Sync` allows; who may touch it says the slot's state.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

fn generation(state: u64) -> u64 {
    state >> 32
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: u8, name: &'static str, end: &'static str) -> Table<T> {
        Table {
            kind: kind as u64,
            name,
            end,
            chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
            free: [const { Mutex::new(Free { list: Vec::new(), made: 0 }) }; LISTS],
        }
    }

    /// The handle of a value that is new.
    pub(crate) fn insert<H>(&'static self, value: T) -> *mut H {
        let index = self.free_index();
        let slot = self.slot(index);
        // SAFETY: the slot was free, and its index was in the list once: ours alone.
        unsafe { (*slot.value.get()).write(value) };
        let generation = generation(slot.state.load(Relaxed));
        slot.state.store(generation << 32 | LIVE, Release);
        std::ptr::without_provenance_mut((self.kind << 56 | generation << 32 | index as u64) as usize)
    }

    /// For `fork`: nobody else changes the lists meanwhile.
    pub(crate) fn lock_all(&'static self) -> Locks {
        std::array::from_fn(|i| self.free[i].lock())
    }

    fn free_index(&'static self) -> usize {
        fork::watch();
        let number = list_of_thread();
        let mut free = self.free[number].lock();
        if let Some(index) = free.list.pop() {
            return index as usize;
        }
        let index = free.made * LISTS + number;
        assert!(index < FIRST * ((1 << CHUNKS) - 1) && index <= u32::MAX as usize, "too many handles");
        free.made += 1;
        drop(free);
        self.make_chunk(chunk_of(index).0);
        index
    }

    /// Makes a chunk, if it is not there.
    fn make_chunk(&'static self, number: usize) {
        let chunk = &self.chunks[number];
        if !chunk.load(Acquire).is_null() {
            return;
        }
        let slot = || Slot { state: AtomicU64::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) };
        let slots: Box<[Slot<T>]> = (0..FIRST << number).map(|_| slot()).collect();
        let slots = Box::into_raw(slots);
        if chunk.compare_exchange(null_mut(), slots.cast(), AcqRel, Acquire).is_err() {
            // SAFETY: ours, and nobody has seen it.
            drop(unsafe { Box::from_raw(slots) });
        }
    }

    /// A slot that has been made.
    fn slot(&'static self, index: usize) -> &'static Slot<T> {
        let (chunk, at) = chunk_of(index);
        // SAFETY: chunks stay for ever, and the index is within this one.
        unsafe { &*self.chunks[chunk].load(Acquire).add(at) }
    }

    /// The slot and the generation that a handle names.
    fn find<H>(&'static self, handle: *const H) -> Result<(usize, &'static Slot<T>, u64), Failure> {
        if handle.is_null() {
            return Err(null(self.name));
        }
        let bits = handle.addr() as u64;
        let index = (bits & u64::from(u32::MAX)) as usize;
        let (chunk, _) = chunk_of(index);
        if bits >> 56 != self.kind || self.chunks.get(chunk).is_none_or(|chunk| chunk.load(Acquire).is_null()) {
            let text = format!("{} is not one: the pointer never came from the function that makes them", self.name);
            return Err(Failure::new(MYRIAD_ERROR_STALE, text));
        }
        Ok((index, self.slot(index), bits >> 32 & GENERATION))
    }

    fn stale(&self) -> Failure {
        Failure::new(
            MYRIAD_ERROR_STALE,
            format!("{} was {} already: its handle is no longer valid", self.name, self.end),
        )
    }

    /// What the handle stands for; it stays while it is used.
    pub(crate) fn get<H>(&'static self, handle: *const H) -> Result<User<T>, Failure> {
        let (index, slot, wanted) = self.find(handle)?;
        let mut state = slot.state.load(Relaxed);
        loop {
            if generation(state) != wanted || state & LIVE == 0 {
                return Err(self.stale());
            }
            assert!(state & USERS < USERS, "too many users of {}", self.name);
            match slot.state.compare_exchange_weak(state, state + 1, Acquire, Relaxed) {
                Ok(_) => return Ok(User { table: self, index, slot }),
                Err(now) => state = now,
            }
        }
    }

    /// Takes the value out, for one that alone may have it: waits for those who use it just now,
    /// which they do for a moment.
    pub(crate) fn take<H>(&'static self, handle: *const H) -> Result<Taken<T>, Failure> {
        let (index, slot, wanted) = self.find(handle)?;
        let live = wanted << 32 | LIVE;
        while let Err(state) = slot.state.compare_exchange_weak(live, wanted << 32, Acquire, Relaxed) {
            if generation(state) != wanted || state & LIVE == 0 {
                return Err(self.stale());
            }
            std::thread::yield_now();
        }
        // SAFETY: live until now and without users: the value is there, and ours.
        let value = unsafe { (*slot.value.get()).assume_init_read() };
        Ok(Taken { value, slot: EmptySlot { table: self, index, slot } })
    }

    /// The handle ends. The value does when nobody uses it any more. `may`: asked before, with how
    /// many others use it.
    pub(crate) fn remove<H>(
        &'static self,
        handle: *const H,
        may: impl Fn(&T, u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let user = self.get(handle)?;
        let mut state = user.slot.state.load(Relaxed);
        while state & LIVE != 0 {
            may(&user, (state & USERS) - 1)?;
            // AcqRel: as every user. (The last one empties the slot: this one, if there is no
            // other.)
            match user.slot.state.compare_exchange_weak(state, state & !LIVE, AcqRel, Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => state = now,
            }
        }
        Err(self.stale())
    }

    /// The slot is empty, and its next handle is another one.
    fn release(&'static self, index: usize, slot: &Slot<T>) {
        let next = (generation(slot.state.load(Relaxed)) + 1) & GENERATION;
        // Before it is in the list: who takes it from there reads it (under the list's lock).
        slot.state.store(next << 32, Release);
        self.free[index % LISTS].lock().list.push(index as u32);
    }
}

/// The chunk of a slot, and its index there.
fn chunk_of(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

/// Which list the calling thread takes free slots from.
fn list_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! { static LIST: usize = NEXT.fetch_add(1, Relaxed) % LISTS }
    LIST.try_with(|list| *list).unwrap_or(0)
}

/// One who uses a value.
pub(crate) struct User<T: 'static> {
    table: &'static Table<T>,
    index: usize,
    slot: &'static Slot<T>,
}

impl<T> Deref for User<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: counted, so the value stays.
        unsafe { (*self.slot.value.get()).assume_init_ref() }
    }
}

impl<T> Drop for User<T> {
    fn drop(&mut self) {
        let before = self.slot.state.fetch_sub(1, AcqRel);
        if before & (LIVE | USERS) == 1 {
            // SAFETY: no longer live, and the last user: nobody else comes to it.
            let value = unsafe { (*self.slot.value.get()).assume_init_read() };
            self.table.release(self.index, self.slot);
            drop(value);
        }
    }
}

/// A value that was taken out, and the slot where it was, which is free when that is dropped.
pub(crate) struct Taken<T: 'static> {
    pub(crate) value: T,
    pub(crate) slot: EmptySlot<T>,
}

pub(crate) struct EmptySlot<T: 'static> {
    table: &'static Table<T>,
    index: usize,
    slot: &'static Slot<T>,
}

impl<T> EmptySlot<T> {
    /// The handle is valid again.
    pub(crate) fn put_back(self, value: T) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: taken, and not live: nobody else comes to it.
        unsafe { (*this.slot.value.get()).write(value) };
        this.slot.state.fetch_or(LIVE, Release);
    }
}

impl<T> Drop for EmptySlot<T> {
    fn drop(&mut self) {
        self.table.release(self.index, self.slot);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn each_index_has_a_slot_of_its_own() {
        let mut next = (0, 0);
        for index in 0..100_000 {
            assert_eq!(chunk_of(index), next);
            next.1 += 1;
            if next.1 == FIRST << next.0 {
                next = (next.0 + 1, 0);
            }
        }
        assert!(chunk_of(u32::MAX as usize).0 <= CHUNKS);
    }

    #[test]
    fn many_at_a_time() {
        static TABLE: Table<Box<usize>> = Table::new(9, "the number", "removed");
        let handles: Vec<*mut u8> = (0..10_000).map(|i| TABLE.insert(Box::new(i))).collect();
        for (i, handle) in handles.iter().enumerate() {
            assert_eq!(**TABLE.get(*handle).unwrap(), i);
            TABLE.remove(*handle, |_, _| Ok(())).unwrap();
            assert!(TABLE.get(*handle).is_err());
        }
    }

    /// Who uses a value keeps it, and who comes after its end does not.
    #[test]
    fn a_value_stays_while_it_is_used() {
        static TABLE: Table<std::sync::Arc<()>> = Table::new(9, "the thing", "removed");
        let value = std::sync::Arc::new(());
        let handle: *mut u8 = TABLE.insert(value.clone());
        let user = TABLE.get(handle).unwrap();
        TABLE.remove(handle, |_, users| if users == 1 { Ok(()) } else { panic!("{users}") }).unwrap();
        assert!(TABLE.get(handle).is_err() && std::sync::Arc::strong_count(&user) == 2);
        drop(user);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        let new: *mut u8 = TABLE.insert(value);
        assert!(new != handle && TABLE.get(handle).is_err() && TABLE.get(new).is_ok());
        TABLE.remove(new, |_, _| Ok(())).unwrap();
    }
}
