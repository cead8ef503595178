//! Records for tests that move tasks about without workers.

use crate::record::header::{Ended, Header, Kind, Mode};
use crate::record::task::{Runnable, TaskRef, Unstarted};
use std::ops::Deref;
use std::ptr::null_mut;

/// A header in no memory for records.
#[repr(transparent)]
pub(crate) struct TestRecord(Header);

// SAFETY: nobody runs or completes these tasks, so the cells of the header keep what `record`
// wrote; its other words are atomic or never written.
unsafe impl Sync for TestRecord {}

impl TestRecord {
    pub(crate) fn set_kind(&mut self, kind: Kind) {
        self.0.set_kind_of_test(kind);
    }
}

impl Deref for TestRecord {
    type Target = Header;
    fn deref(&self) -> &Header {
        &self.0
    }
}

fn record() -> TestRecord {
    unsafe fn run(_: *mut Header, _: Mode) -> Ended {
        unreachable!("these tasks are only moved about")
    }
    TestRecord(Header::of_test(run))
}

pub(crate) fn records(n: usize) -> Vec<TestRecord> {
    (0..n).map(|_| record()).collect()
}

/// Futures that have been polled.
pub(crate) fn futures(n: usize) -> Vec<TestRecord> {
    let mut records = records(n);
    records.iter_mut().for_each(|record| record.set_kind(Kind::FUTURE));
    records
}

pub(crate) fn pointer(record: &TestRecord) -> *mut Header {
    std::ptr::from_ref(record).cast_mut().cast()
}

/// A task of these, which is in no queue.
pub(crate) fn runnable(record: &TestRecord) -> Runnable {
    // SAFETY: the records outlive the queues' use, and a test queues each once at a time.
    unsafe { Runnable::from_raw(pointer(record)) }
}

/// A reference to it.
pub(crate) fn task_ref(record: &TestRecord) -> TaskRef<'_> {
    // SAFETY: the record is borrowed.
    unsafe { TaskRef::from_raw(pointer(record)) }
}

/// The same as a closure.
pub(crate) fn unstarted(record: &TestRecord) -> Unstarted {
    runnable(record).into_unstarted().expect("a closure")
}

/// What was taken, as a pointer to compare; null if nothing was.
pub(crate) fn taken(task: Option<impl Into<Runnable>>) -> *mut Header {
    task.map_or(null_mut(), |task| task.into().into_raw())
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
