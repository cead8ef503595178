//! Records for tests that move tasks about without workers.

use crate::record::header::{Ended, Header, Kind, Mode, Outcome};
use crate::record::position::UNCLAIMED;
use myriad_base::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize};
use std::panic::Location;
use std::ptr::null_mut;

fn record() -> Header {
    unsafe fn run(_: *mut Header, _: Mode) -> Ended {
        unreachable!("these tasks are only moved about")
    }
    Header {
        run,
        waiter: AtomicPtr::new(null_mut()),
        place: Location::caller(),
        kind: Kind::CLOSURE,
        runtime: 0,
        outcome: Outcome::Returned,
        marks: AtomicU8::new(0),
        state: AtomicU32::new(0),
        idx: AtomicUsize::new(UNCLAIMED),
    }
}

pub(crate) fn records(n: usize) -> Vec<Header> {
    (0..n).map(|_| record()).collect()
}

pub(crate) fn pointer(record: &Header) -> *mut Header {
    std::ptr::from_ref(record).cast_mut()
}

/// xorshift64*: the same at each run.
pub(crate) struct Random(pub(super) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}
