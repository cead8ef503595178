//! Scripts of counted references: the value is dropped once, after its last use, and its memory is
//! freed once, after that.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_base::ref_count::RefCount;
use myriad_base::sys::cell::UnsafeCell;
use std::sync::Arc;

/// A value that is shared. (The `Arc` around it is the memory of the model.)
struct Value {
    count: RefCount,
    /// How often the value was dropped, and its memory freed.
    dropped: UnsafeCell<u32>,
    freed: UnsafeCell<u32>,
}

// SAFETY: the cells are watched by loom.
unsafe impl Sync for Value {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for Value {}

impl Value {
    fn new(references: u32) -> Arc<Value> {
        Arc::new(Value { count: RefCount::new(references), dropped: UnsafeCell::new(0), freed: UnsafeCell::new(0) })
    }

    /// By who has a reference.
    fn is_used(&self) {
        // SAFETY: loom has checked that nobody drops the value meanwhile.
        assert_eq!(self.dropped.with(|dropped| unsafe { *dropped }), 0);
    }
    fn end(&self) {
        self.is_used();
        if self.count.end() {
            // SAFETY: loom has checked that nobody uses the value.
            self.dropped.with_mut(|dropped| unsafe { *dropped += 1 });
            self.end_weak();
        }
    }
    fn end_weak(&self) {
        // SAFETY: loom has checked that nobody frees the memory meanwhile.
        assert_eq!(self.freed.with(|freed| unsafe { *freed }), 0);
        if self.count.end_weak() {
            // SAFETY: loom has checked that nobody uses the memory.
            self.freed.with_mut(|freed| unsafe { *freed += 1 });
        }
    }

    /// All threads are joined, and no reference is left.
    fn has_gone(&self) {
        // SAFETY: all threads are joined.
        assert_eq!([&self.dropped, &self.freed].map(|cell| cell.with(|count| unsafe { *count })), [1, 1]);
    }
}

/// Two threads do this with one value.
fn both(value: Arc<Value>, one: fn(&Value), other: fn(&Value)) {
    let with = value.clone();
    let thread = thread::spawn(move || one(&with));
    other(&value);
    thread.join().unwrap();
    value.has_gone();
}

/// Two references end at the same time.
fn both_end() {
    both(Value::new(2), Value::end, Value::end);
}

/// One makes another one of its own, by a store where it is alone, while the other one ends.
fn beside_own() {
    let own = |value: &Value| {
        value.count.add_beside_own();
        value.end();
        value.end();
    };
    both(Value::new(2), own, Value::end);
}

/// The last reference ends while a weak one becomes a reference, or is too late.
fn upgrade() {
    let value = Value::new(1);
    value.count.add_weak();
    let upgrades = |value: &Value| {
        if value.count.upgrade() {
            value.end();
        }
        value.end_weak();
    };
    both(value, upgrades, Value::end);
}

/// The last reference ends with a weak one; another weak one is made meanwhile.
fn weak() {
    let value = Value::new(1);
    value.count.add_weak();
    let end_weak = |value: &Value| {
        value.count.add_weak();
        value.end_weak();
        value.end_weak();
    };
    both(value, end_weak, Value::end);
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, owners: 0, mutants, ..SCRIPT }
}

pub const SCRIPTS: &[Script] = &[
    script("ref_count.both_end", both_end, &["refs-alone", "refs-end", "refs-fence"]),
    script("ref_count.beside_own", beside_own, &["refs-own", "refs-alone", "refs-end", "refs-fence"]),
    script("ref_count.upgrade", upgrade, &["refs-weak-forgotten", "refs-upgrade-gone"]),
    script("ref_count.weak", weak, &["refs-weak-alone", "refs-weak-end", "refs-weak-fence"]),
];
