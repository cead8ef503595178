//! Closure, result and panic payload in a record.
//!
//! They share the space behind the header, at one offset whatever their type: so a handle, which
//! knows only the result's type, finds it. What does not fit (too large, or aligned to more than 8
//! bytes) stands there as a box.

use super::header::{Header, Kind};
use super::memory::{CLASSES, UNIT, class_of};
use super::peek;

/// Where the payload begins.
const PAYLOAD: usize = size_of::<Header>();
const _: () = assert!(PAYLOAD == 40 || cfg!(loom));
/// The most bytes of payload. The last word of the largest class is left free, for what a task
/// inherits.
const ROOM: usize = CLASSES * UNIT - PAYLOAD - 8;

const fn fits<T>() -> bool {
    size_of::<T>() <= ROOM && align_of::<T>() <= 8
}

const fn stored_size<T>() -> usize {
    if fits::<T>() { size_of::<T>() } else { size_of::<Box<T>>() }
}

/// The size class of a record that holds an `F` first, then a `T` or a panic's payload.
pub(crate) const fn class<F, T>() -> usize {
    let (f, t, panic) = (stored_size::<F>(), stored_size::<T>(), size_of::<myriad_base::unwind::Payload>());
    let most = if f > t { f } else { t };
    class_of(PAYLOAD + if most > panic { most } else { panic })
}

/// A record's kind, with its class.
pub(crate) const fn kind<F, T>(kind: Kind) -> Kind {
    kind.of_class(class::<F, T>())
}

#[inline(always)]
fn payload(record: *mut Header) -> *mut u8 {
    record.cast::<u8>().wrapping_add(PAYLOAD)
}

/// The first word of a payload that may be another task's meanwhile, or somebody's who runs: of a
/// closure of a scope the scope's address, unless the closure stands in a box.
///
/// # Safety
/// The record is readable, and has a payload.
pub(crate) unsafe fn look_at_first_word(record: *const Header) -> usize {
    // SAFETY: a payload begins with a word's alignment, and is readable as the record is (this
    // function's contract).
    unsafe { peek::word(payload(record.cast_mut()).cast()) }
}

/// Stores a value.
///
/// # Safety
/// The record has a class for a `T`, its payload is empty, and it is the caller's.
#[inline(always)]
pub(crate) unsafe fn put<T>(record: *mut Header, value: T) {
    // SAFETY: the record is the caller's, and its class is one for a `T` (this function's
    // contract): it has room for a `T` that fits, and for a box in place of one that does not.
    unsafe {
        if fits::<T>() {
            payload(record).cast::<T>().write(value);
        } else {
            payload(record).cast::<Box<T>>().write(Box::new(value));
        }
    }
}

/// Takes the value out.
///
/// # Safety
/// The payload is a `T` put there, and the record is the caller's.
#[inline(always)]
pub(crate) unsafe fn take<T>(record: *mut Header) -> T {
    // SAFETY: a `T` was put into the payload (this function's contract): `put` has left the value
    // itself if it fits, else a box of it. The record is the caller's, so it is read out once.
    unsafe { if fits::<T>() { payload(record).cast::<T>().read() } else { *payload(record).cast::<Box<T>>().read() } }
}

/// The value in place.
///
/// # Safety
/// The payload of `record` is a `T` put there, and the record is the caller's; the value stays
/// there, unmoved, as long as the pointer is used.
#[inline(always)]
pub(crate) unsafe fn get<T>(record: *mut Header) -> *mut T {
    if fits::<T>() {
        payload(record).cast()
    } else {
        // SAFETY: a `T` was put into the payload (this function's contract), and it does not fit,
        // so `put` has left a box of it.
        unsafe { &raw mut **payload(record).cast::<Box<T>>() }
    }
}

/// Drops the value in place.
///
/// # Safety
/// The payload of `record` is a `T` put there, and the record is the caller's. The payload is empty
/// afterwards, also after a panic.
#[inline(always)]
pub(crate) unsafe fn drop_in_place<T>(record: *mut Header) {
    // SAFETY: a `T` was put into the payload (this function's contract): `put` has left the value
    // itself if it fits, else a box of it. The record is the caller's, so it is dropped once.
    unsafe {
        if fits::<T>() {
            payload(record).cast::<T>().drop_in_place();
        } else {
            payload(record).cast::<Box<T>>().drop_in_place();
        }
    }
}
