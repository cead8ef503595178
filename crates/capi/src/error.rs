//! What functions return, and the text that belongs to it.

use myriad_core::cancel::Cancelled;
use myriad_core::engine::unwind;
use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

/// What a function of Myriad returns: MYRIAD_OK is 0. myriad_error_message has a sentence for each,
/// myriad_last_error the details.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::upper_case_acronyms, reason = "the names are C's")]
pub enum myriad_status {
    /// Done.
    MYRIAD_OK = 0,
    /// A pointer that must not be NULL is NULL.
    MYRIAD_ERROR_NULL = 1,
    /// A number or a text that is not allowed; myriad_last_error says which ones are.
    MYRIAD_ERROR_INVALID = 2,
    /// There is no runtime: call myriad_start first.
    MYRIAD_ERROR_NOT_STARTED = 3,
    /// The runtime runs already.
    MYRIAD_ERROR_STARTED = 4,
    /// This cannot be done by a task: the call would wait for its own caller.
    MYRIAD_ERROR_IN_TASK = 5,
    /// After myriad_stop: tasks have not ended, or were dropped; myriad_last_error names them.
    MYRIAD_ERROR_UNFINISHED = 6,
    /// The task never ran, because the runtime was stopped.
    MYRIAD_ERROR_SHUTDOWN = 7,
    /// The channel is closed (and empty, for who receives).
    MYRIAD_ERROR_CLOSED = 8,
    /// A try to send: the channel is full, or nobody waits at the rendezvous.
    MYRIAD_ERROR_FULL = 9,
    /// A try to receive: nothing is there. A try of several cases: none is ready.
    MYRIAD_ERROR_EMPTY = 10,
    /// The time is over; the operation had no effect.
    MYRIAD_ERROR_TIMEOUT = 11,
    /// The lock is taken.
    MYRIAD_ERROR_LOCKED = 12,
    /// The lock is not locked.
    MYRIAD_ERROR_NOT_LOCKED = 13,
    /// A gang inside a job of a gang.
    MYRIAD_ERROR_NESTED = 14,
    /// The system refused: no memory, no threads; or this platform cannot do it. myriad_last_error
    /// says what.
    MYRIAD_ERROR_SYSTEM = 15,
    /// Something inside of Myriad failed; myriad_last_error says what.
    MYRIAD_ERROR_PANIC = 16,
    /// The calling task was cancelled: the wait has ended without an effect. For who joins: the
    /// task was cancelled before it began.
    MYRIAD_ERROR_CANCELLED = 17,
    /// A handle that is no longer valid: its task was joined or detached, its channel or lock was
    /// freed; or that never was one.
    MYRIAD_ERROR_STALE = 18,
}

use myriad_status::*;

const ALL: [(myriad_status, &CStr); 19] = [
    (MYRIAD_OK, c"no error"),
    (MYRIAD_ERROR_NULL, c"a pointer that must not be NULL is NULL"),
    (MYRIAD_ERROR_INVALID, c"a value that is not allowed"),
    (MYRIAD_ERROR_NOT_STARTED, c"there is no runtime: call myriad_start first"),
    (MYRIAD_ERROR_STARTED, c"the runtime runs already"),
    (MYRIAD_ERROR_IN_TASK, c"a task cannot do this: it would wait for itself"),
    (MYRIAD_ERROR_UNFINISHED, c"tasks have not ended"),
    (MYRIAD_ERROR_SHUTDOWN, c"the task never ran, because the runtime was stopped"),
    (MYRIAD_ERROR_CLOSED, c"the channel is closed"),
    (MYRIAD_ERROR_FULL, c"the channel is full"),
    (MYRIAD_ERROR_EMPTY, c"the channel is empty"),
    (MYRIAD_ERROR_TIMEOUT, c"the time is over"),
    (MYRIAD_ERROR_LOCKED, c"the lock is taken"),
    (MYRIAD_ERROR_NOT_LOCKED, c"the lock is not locked"),
    (MYRIAD_ERROR_NESTED, c"a gang inside a job of a gang would wait for itself"),
    (MYRIAD_ERROR_SYSTEM, c"the system refused"),
    (MYRIAD_ERROR_PANIC, c"something inside of Myriad failed"),
    (MYRIAD_ERROR_CANCELLED, c"the task was cancelled"),
    (MYRIAD_ERROR_STALE, c"a handle that is no longer valid, or never was one"),
];

/// Room for a text and the zero behind it.
const ROOM: usize = 4096;
/// The end of a text for which there was no room.
const MORE: &str = "...";

thread_local! {
    // Without a destructor, so it is there until the very end of its thread.
    static LAST: UnsafeCell<[u8; ROOM]> = const { UnsafeCell::new([0; ROOM]) };
}

/// A sentence for a status, in static memory: never NULL, also for a number that is none.
///
/// Never blocks. From any thread.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_error_message(status: i32) -> *const c_char {
    let known = ALL.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"not a status of Myriad", |(_, text)| text).as_ptr()
}

/// The text of the last function of Myriad that failed on the calling thread; "" if none has.
///
/// A buffer of the thread's own, always at the same address, which the next function that fails on
/// this thread writes anew. So printf("%d %s", myriad_stop(0), myriad_last_error()) is right,
/// whichever argument is first. A text longer than 4095 bytes is cut, between two characters, and
/// ends with "...".
///
/// Read it before anything that waits: another task of the same thread may fail meanwhile. The
/// buffer goes with its thread.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_last_error() -> *const c_char {
    LAST.with(UnsafeCell::get).cast()
}

/// Writes the text into the calling thread's buffer.
fn tell(text: &str) {
    let (mut end, mut more) = (text.len(), "");
    if end >= ROOM {
        (end, more) = (ROOM - 1 - MORE.len(), MORE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    // SAFETY: the thread's own, and nobody holds a reference to it: what C has is an address, and a
    // text that changes is its business.
    let last = unsafe { &mut *LAST.with(UnsafeCell::get) };
    let bytes = text[..end].bytes().chain(more.bytes());
    // (A zero would end the text.)
    bytes.map(|byte| if byte == 0 { b' ' } else { byte }).chain([0]).zip(last).for_each(|(byte, slot)| *slot = byte);
}

/// Why a function has no effect.
#[derive(Debug)]
pub(crate) struct Failure(myriad_status, String);

impl Failure {
    pub(crate) fn new(status: myriad_status, text: impl Into<String>) -> Failure {
        Failure(status, text.into())
    }
}

/// With the general sentence.
impl From<myriad_status> for Failure {
    fn from(status: myriad_status) -> Failure {
        let text = ALL.iter().find(|(known, _)| *known == status).map_or(c"", |(_, text)| text);
        Failure(status, text.to_string_lossy().into_owned())
    }
}

/// An argument that must not be NULL.
pub(crate) fn null(what: &str) -> Failure {
    Failure::new(MYRIAD_ERROR_NULL, format!("{what} is NULL"))
}

/// Runs the body of a function of the interface: nothing unwinds out of it.
pub(crate) fn guarded(f: impl FnOnce() -> Result<(), Failure>) -> myriad_status {
    let Failure(status, text) = match myriad_base::unwind::catch(f) {
        Ok(Ok(())) => return MYRIAD_OK,
        Ok(Err(failure)) => failure,
        // Of the calling task, which arrives again at its next wait: in C nothing unwinds, and the
        // task ends by returning.
        Err(payload) if payload.is::<Cancelled>() => MYRIAD_ERROR_CANCELLED.into(),
        Err(payload) => {
            let text = message(&*payload);
            // Its destructor is user code too, and may panic.
            unwind::discard(payload);
            Failure(MYRIAD_ERROR_PANIC, text)
        }
    };
    tell(&text);
    status
}

fn message(payload: &(dyn Any + Send)) -> String {
    match payload.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => (*payload.downcast_ref::<&str>().unwrap_or(&"a panic without a text")).to_owned(),
    }
}
