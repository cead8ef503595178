//! Several channel operations, of which one is done.

use crate::Pointer;
use crate::channel::{Bytes, CHANNELS, Ends, Item, Kind, myriad_channel};
use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::runtime::patience;
use myriad_sync::select::Select;
use std::ffi::c_void;

/// What a case of myriad_select does.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::upper_case_acronyms, reason = "the names are C's")]
pub enum myriad_operation {
    /// Receives, into `item`.
    MYRIAD_RECV = 0,
    /// Sends a copy of `item`.
    MYRIAD_SEND = 1,
}

/// An operation on a channel, one of several: see myriad_select.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct myriad_case {
    /// NULL: this case is never ready. (So a loop can switch one off.)
    pub channel: *const myriad_channel,
    /// An item of the channel's size, or room for one; NULL only for items of no bytes.
    pub item: *mut c_void,
    /// MYRIAD_RECV or MYRIAD_SEND.
    pub operation: i32,
}

/// What the winner brings: its number, and whether its channel was closed.
type Outcome = (usize, bool);

/// # Safety
/// `case.item` points to an item of `size` bytes, if the case sends, or to room for one, until the
/// select is done; `ends` are those of a channel with items of that size.
unsafe fn add<'a, T: Item + 'a>(
    select: &mut Select<'a, Outcome>,
    number: usize,
    ends: &'a Ends<T>,
    size: usize,
    case: &myriad_case,
) {
    let pointer = Pointer(case.item);
    if case.operation == myriad_operation::MYRIAD_SEND as i32 {
        // SAFETY: the item of a case that sends has its channel's size, by the contract of
        // `myriad_select`: there are `size` bytes.
        let item = unsafe { T::read(pointer.0.cast::<Bytes>(), size) };
        select.send(&ends.tx, item, move |sent| (number, sent.is_err()));
        return;
    }
    select.recv(&ends.rx, move |received| {
        let pointer = pointer;
        if let Ok(item) = &received {
            // SAFETY: the item of a case that receives is room for one of its channel's size, by
            // the contract of `myriad_select`; the call waits, so it is room still.
            unsafe { item.bytes().copy_to_nonoverlapping(pointer.0.cast::<Bytes>(), size) };
        }
        (number, received.is_err())
    });
}

/// # Safety
/// `cases` points to `count` of them, each with an item of its channel's size, or room for one.
/// `chosen` is NULL or points to room for a number.
unsafe fn run(
    cases: *const myriad_case,
    count: usize,
    chosen: *mut usize,
    none: myriad_status,
    wait: impl FnOnce(&mut Select<Outcome>) -> Option<Outcome>,
) -> myriad_status {
    guarded(|| {
        if cases.is_null() && count > 0 {
            return Err(null("the cases"));
        }
        if count > isize::MAX as usize / size_of::<myriad_case>() {
            return Err(Failure::new(MYRIAD_ERROR_INVALID, format!("{count} cases are more than any memory holds")));
        }
        // SAFETY: `cases` points to `count` of them, by the contract of `myriad_select`; it is not
        // NULL, and their size was looked at above.
        let cases = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(cases, count) } };
        // Used until the end of the wait, which refers to them.
        let channel = |case: &myriad_case| match case.channel.is_null() {
            true => Ok(None),
            false => CHANNELS.get(case.channel).map(Some),
        };
        let channels = cases.iter().map(channel).collect::<Result<Vec<_>, _>>()?;
        let mut select = Select::new();
        for (number, case) in cases.iter().enumerate() {
            if !(0..=1).contains(&case.operation) {
                let text = format!("case {number} has the operation {}: MYRIAD_RECV or MYRIAD_SEND", case.operation);
                return Err(Failure::new(MYRIAD_ERROR_INVALID, text));
            }
            let Some(channel) = &channels[number] else { continue };
            if case.item.is_null() && channel.size > 0 {
                return Err(null(&format!("the item of case {number}")));
            }
            let item = if case.item.is_null() { std::ptr::dangling_mut() } else { case.item };
            let case = myriad_case { item, ..*case };
            // SAFETY: the case's item is as `myriad_select` asks, or has no bytes; the kind of the
            // ends was chosen by the channel's size.
            unsafe {
                match &channel.kind {
                    Kind::Small(ends) => add(&mut select, number, ends, channel.size, &case),
                    Kind::Large(ends) => add(&mut select, number, ends, channel.size, &case),
                }
            }
        }
        if select.is_empty() && none == MYRIAD_OK {
            let text = "no case has a channel, so this would wait for ever";
            return Err(Failure::new(MYRIAD_ERROR_INVALID, text));
        }
        let Some((number, was_closed)) = wait(&mut select) else { return Err(none.into()) };
        if !chosen.is_null() {
            // SAFETY: `chosen` is NULL (looked at) or points to room for a number, by the contract
            // of `myriad_select`.
            unsafe { chosen.write(number) };
        }
        if was_closed { Err(MYRIAD_ERROR_CLOSED.into()) } else { Ok(()) }
    })
}

/// Waits until one of the cases can be done, does that one and no other, and tells its number by
/// `chosen` (unless that is NULL). Of several that are ready each has the same chance.
///
/// A case whose channel is closed (and empty, if it receives) is ready: it is chosen, with
/// MYRIAD_ERROR_CLOSED. Set its channel to NULL to go on with the others.
///
/// Blocks until a case is ready: the calling task is set aside, a thread that is no worker sleeps.
///
/// Errors: MYRIAD_ERROR_CLOSED, with `chosen`. Without: MYRIAD_ERROR_CANCELLED; MYRIAD_ERROR_NULL;
/// MYRIAD_ERROR_INVALID: an operation that is none, or no case has a channel. Nothing was sent or
/// received then.
///
/// # Safety
/// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
/// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_select(cases: *const myriad_case, count: usize, chosen: *mut usize) -> myriad_status {
    // SAFETY: the contract is `run`'s: that of `myriad_select`.
    unsafe { run(cases, count, chosen, MYRIAD_OK, |select| Some(select.wait())) }
}

/// As myriad_select, but never blocks.
///
/// Errors: as myriad_select; MYRIAD_ERROR_EMPTY: no case is ready.
///
/// # Safety
/// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
/// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_try_select(
    cases: *const myriad_case,
    count: usize,
    chosen: *mut usize,
) -> myriad_status {
    // SAFETY: the contract is `run`'s: that of `myriad_select`.
    unsafe { run(cases, count, chosen, MYRIAD_ERROR_EMPTY, |select| select.try_wait()) }
}

/// As myriad_select, but blocks for at most so many nanoseconds.
///
/// Errors: as myriad_select; MYRIAD_ERROR_TIMEOUT: no case was ready in that time.
///
/// # Safety
/// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
/// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_select_timeout(
    cases: *const myriad_case,
    count: usize,
    chosen: *mut usize,
    timeout_ns: u64,
) -> myriad_status {
    let wait = |select: &mut Select<Outcome>| select.wait_timeout(patience(timeout_ns));
    // SAFETY: the contract is `run`'s: that of `myriad_select`.
    unsafe { run(cases, count, chosen, MYRIAD_ERROR_TIMEOUT, wait) }
}
