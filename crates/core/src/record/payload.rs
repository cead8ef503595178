//! Closure, result and panic payload in a record.
//!
//! They share the space behind the header, at one offset whatever their type: so a handle, which
//! knows only the result's type, finds it. What does not fit (too large, or aligned to more than 8
//! bytes) stands there as a box.

use super::header::{Header, Kind};
use super::memory::{CLASSES, UNIT, class_of};

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

/// Stores a value.
///
/// # Safety
/// The record has a class for a `T`, its payload is empty, and it is the caller's.
#[inline(always)]
pub(crate) unsafe fn put<T>(record: *mut Header, value: T) {
    // SAFETY: the caller: there is room for a T, or for a box.
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
    // SAFETY: the caller.
    unsafe { if fits::<T>() { payload(record).cast::<T>().read() } else { *payload(record).cast::<Box<T>>().read() } }
}

/// The value in place.
///
/// # Safety
/// As for [`take`]; the value stays there, unmoved, as long as the pointer is used.
#[inline(always)]
pub(crate) unsafe fn get<T>(record: *mut Header) -> *mut T {
    if fits::<T>() {
        payload(record).cast()
    } else {
        // SAFETY: the caller: a box stands there.
        unsafe { &raw mut **payload(record).cast::<Box<T>>() }
    }
}

/// Drops the value in place.
///
/// # Safety
/// As for [`take`].
#[inline(always)]
pub(crate) unsafe fn drop_in_place<T>(record: *mut Header) {
    // SAFETY: the caller.
    unsafe {
        if fits::<T>() {
            payload(record).cast::<T>().drop_in_place();
        } else {
            payload(record).cast::<Box<T>>().drop_in_place();
        }
    }
}
