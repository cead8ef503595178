//! Pieces of memory, 16 KiB each and aligned to that, which go back to the system.
//!
//! A program's allocator may keep what a backlog took: glibc gives back the end of an arena alone,
//! and whatever is kept there keeps all below it (228 MB after a million jobs). Here free pieces go
//! back that nobody has needed for a while.
//!
//! ```text
//!  region: 1 MiB of address space, 64 pieces.     a piece: taken, free and used before, or free and clean
//!  new    a used piece of the lowest region that has one, so that the upper ones become empty; else a
//!         clean one
//!  look   once in a second: as many used pieces as have been free since the look before go back,
//!         the upper ones first; a region whose pieces are all free and clean is unmapped
//! ```
//! Who looks is the monitor of the floor above ([`look`]), in parts of a region. So a queue that
//! fills and empties again and again keeps its memory: to give a piece back and to touch its pages
//! anew takes 8 to 10 µs on a virtual machine.
//!
//! **One lock**, a thread's lock: a piece holds a hundred of what is kept in it.
//!
//! **Invariant.** The bytes of a piece are those of the one [`Piece`] at its address. While its bit
//! in `free` is set there is none; then the region has it. A look clears that bit while it gives
//! the memory back, and has the piece meanwhile.
//!
//! **Rejected.** To give each piece back as it is dropped: that costs a sixth of the time of a job.
//! The allocator's own pieces and `malloc_trim`: it leaves the end of an arena that is not the
//! main one, up to 64 MB, and is there in one allocator.

use crate::sys::clock::Instant;
use crate::sys::map::{self, UnusedRange};
use crate::sys::mutex::{Mutex, MutexGuard};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::forget;
use std::ptr::NonNull;
// Std's own, not `sys::atomic`: a hint that no model covers.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of a piece.
pub const SIZE: usize = 16 << 10;
const REGION: usize = 64 * SIZE;
pub(super) const ALL: u64 = u64::MAX;
const LAYOUT: Layout = match Layout::from_size_align(SIZE, SIZE) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

/// What nobody has needed for so long goes back.
pub(super) const REST: Duration = Duration::from_secs(1);

/// A piece of memory, whose bytes are its owner's. Dropping it gives it back.
#[derive(Debug)]
pub struct Piece(pub(super) NonNull<u8>);

// SAFETY: memory has no ties to a thread.
unsafe impl Send for Piece {}
// SAFETY: a shared piece tells its address and no more.
unsafe impl Sync for Piece {}

/// 64 pieces in a row.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    /// A bit for each piece that nobody has.
    pub(super) free: u64,
    /// Those of them that hold memory.
    used: u64,
}

pub(super) struct Pieces {
    /// By address.
    pub(super) regions: Vec<Region>,
    /// The regions before this one have no free piece.
    first: usize,
    /// How many free pieces hold memory; and the fewest since the last look.
    pub(super) used: usize,
    fewest: usize,
    /// The time of the last look, in nanoseconds.
    looked: u64,
}

// SAFETY: the regions own their memory, which has no ties to a thread.
unsafe impl Send for Pieces {}

pub(super) static PIECES: Mutex<Pieces> =
    Mutex::new(Pieces { regions: Vec::new(), first: 0, used: 0, fewest: 0, looked: 0 });
/// Is a free piece there that holds memory?
static ANY: AtomicBool = AtomicBool::new(false);

/// For `fork`.
pub(crate) fn lock() -> MutexGuard<'static, impl Sized> {
    PIECES.lock()
}

/// Are pieces the allocator's? Under address sanitizer, which tells a use after the end; and where
/// there are no memory maps.
fn are_allocated() -> bool {
    cfg!(myriad_asan) || map::guard_kind() == map::GuardKind::None
}

impl Piece {
    /// A piece, of bytes that say nothing.
    #[expect(clippy::new_without_default, reason = "it takes memory")]
    pub fn new() -> Piece {
        if are_allocated() {
            // SAFETY: a piece has a size.
            return Piece(NonNull::new(unsafe { alloc(LAYOUT) }).unwrap_or_else(|| handle_alloc_error(LAYOUT)));
        }
        PIECES.lock().take()
    }

    /// Where it begins. Whoever takes that owns its bytes, until it is a piece again.
    pub fn into_start(self) -> NonNull<u8> {
        let start = self.0;
        forget(self);
        start
    }

    /// The piece that begins here.
    ///
    /// # Safety
    /// That is what [`into_start`](Piece::into_start) has returned, and there is no other piece of
    /// it.
    pub unsafe fn at(start: NonNull<u8>) -> Piece {
        Piece(start)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if are_allocated() {
            // SAFETY: `new` has allocated it so, and its owner lets go of it.
            return unsafe { dealloc(self.0.as_ptr(), LAYOUT) };
        }
        PIECES.lock().put(self.0);
    }
}

impl Region {
    /// The first one of these pieces, which are free.
    fn take(&mut self, of: u64) -> Piece {
        let bit = of & of.wrapping_neg();
        self.used &= !bit;
        self.free &= !bit;
        // SAFETY: the region has 64 pieces. Nobody had this one, as its bit was set.
        Piece(unsafe { self.start.add(bit.trailing_zeros() as usize * SIZE) })
    }
}

impl Pieces {
    fn take(&mut self) -> Piece {
        while self.regions.get(self.first).is_some_and(|region| region.free == 0) {
            self.first += 1;
        }
        if self.first == self.regions.len() {
            self.add_region();
        }
        // (Whose pages are there already.)
        if let Some(region) = self.regions[self.first..].iter_mut().find(|region| region.used != 0) {
            self.used -= 1;
            self.fewest = self.fewest.min(self.used);
            return region.take(region.used);
        }
        let region = &mut self.regions[self.first];
        region.take(region.free)
    }

    #[cold]
    fn add_region(&mut self) {
        let start = map::reserve(REGION, REGION).unwrap_or_else(|_| handle_alloc_error(LAYOUT)).into_start();
        self.first = self.place_of(start.as_ptr().addr());
        self.regions.insert(self.first, Region { start, free: ALL, used: 0 });
    }

    /// The number of the region of this address, or of where it would stand.
    fn place_of(&self, address: usize) -> usize {
        self.regions.partition_point(|region| region.start.as_ptr().addr() + REGION <= address)
    }

    fn put(&mut self, start: NonNull<u8>) {
        let (place, address) = (self.place_of(start.as_ptr().addr()), start.as_ptr().addr());
        let region = &mut self.regions[place];
        let bit = 1 << ((address - region.start.as_ptr().addr()) / SIZE);
        region.free |= bit;
        region.used |= bit;
        self.used += 1;
        self.first = self.first.min(place);
        ANY.store(true, Relaxed);
    }

    /// The used free pieces of the uppermost region that has some, at most so many: they are nobody
    /// else's until [`return_clean`](Pieces::return_clean).
    fn take_used(&mut self, most: usize) -> Option<(NonNull<u8>, u64)> {
        let region = self.regions.iter_mut().rev().find(|region| region.used != 0)?;
        let mut bits = region.used;
        while bits.count_ones() as usize > most {
            bits &= bits - 1;
        }
        region.free &= !bits;
        region.used &= !bits;
        self.used -= bits.count_ones() as usize;
        self.fewest = self.fewest.min(self.used);
        Some((region.start, bits))
    }

    /// These pieces of the region that begins here hold no memory any more. Returns the region, if
    /// all its pieces are free and clean.
    fn return_clean(&mut self, start: NonNull<u8>, bits: u64) -> Option<UnusedRange> {
        let place = self.place_of(start.as_ptr().addr());
        let region = &mut self.regions[place];
        region.free |= bits;
        self.first = self.first.min(place);
        let is_empty = region.free == ALL && region.used == 0;
        // SAFETY: it was reserved as a region, whose pieces nobody has, and is none any more.
        is_empty.then(|| unsafe { UnusedRange::at(self.regions.remove(place).start, REGION) })
    }
}

/// Gives the memory of those pieces back that nobody has needed for a second, if the last look was
/// so long ago. `goes_on` is asked between the regions. Returns
/// when the next look is due; `None`: there is nothing to give back.
pub fn look(now: Instant, goes_on: impl Fn() -> bool) -> Option<Duration> {
    if !ANY.load(Relaxed) {
        return None;
    }
    let mut most = {
        let mut pieces = PIECES.lock();
        let rest = REST.saturating_sub(Duration::from_nanos(now.as_nanos().saturating_sub(pieces.looked)));
        if !rest.is_zero() {
            return Some(rest);
        }
        pieces.looked = now.as_nanos();
        let fewest = pieces.fewest;
        pieces.fewest = pieces.used;
        fewest
    };
    while most > 0 && goes_on() {
        let taken = PIECES.lock().take_used(most);
        let Some((start, bits)) = taken else { break };
        most -= bits.count_ones() as usize;
        runs_of(bits).for_each(|(first, len)| {
            // SAFETY: pieces of a region of ours that `take_used` has given to this look alone, and
            // in which nothing stands that anybody needs.
            unsafe { UnusedRange::at(start.add(first * SIZE), len * SIZE) }.discard();
        });
        let empty = PIECES.lock().return_clean(start, bits);
        empty.into_iter().for_each(UnusedRange::release);
    }
    let pieces = PIECES.lock();
    ANY.store(pieces.used > 0, Relaxed);
    (pieces.used > 0).then_some(REST)
}

/// The runs of ones: where each begins, and how long it is.
pub(super) fn runs_of(mut bits: u64) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        let first = bits.trailing_zeros();
        let len = bits.checked_shr(first)?.trailing_ones();
        bits &= !(u64::MAX.checked_shr(64 - len)? << first);
        Some((first as usize, len as usize))
    })
}
