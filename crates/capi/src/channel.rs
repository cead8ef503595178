//! Channels of items of a fixed size.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::handle::Table;
use crate::runtime::patience;
use myriad_sync::channel::{
    Receiver, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError, TrySendError, bounded, rendezvous, unbounded,
};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// For myriad_channel_new: a channel that is never full.
pub const MYRIAD_UNBOUNDED: usize = usize::MAX;

/// A channel of items of a fixed size, for any number of senders and receivers: tasks and threads.
#[derive(Debug)]
pub struct myriad_channel(());

pub(crate) static CHANNELS: Table<Channel> = Table::new(0xa6, "the channel", "freed");

/// What a handle stands for.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) size: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Small(Ends<Small>),
    Large(Ends<Large>),
}

#[derive(Debug)]
pub(crate) struct Ends<T> {
    pub(crate) tx: Sender<T>,
    pub(crate) rx: Receiver<T>,
}

/// Bytes of C, of which some may be padding.
pub(crate) type Bytes = MaybeUninit<u8>;
/// Items up to this size travel in the channel itself, others in boxes.
const SMALL: usize = 32;

/// The bytes of an item, or the first ones of its array.
pub(crate) trait Item: Sized + Send {
    /// # Safety
    /// There are `size` bytes at `data`; for a [`Small`] item no more than [`SMALL`].
    unsafe fn read(data: *const Bytes, size: usize) -> Self;
    fn bytes(&self) -> *const Bytes;
}

#[derive(Debug)]
pub(crate) struct Small([Bytes; SMALL]);

impl Item for Small {
    unsafe fn read(data: *const Bytes, size: usize) -> Small {
        let mut item = Small([Bytes::uninit(); SMALL]);
        // SAFETY: there are `size` bytes at `data`, by the contract, and no more than `SMALL`: so a
        // small item has room.
        unsafe { data.copy_to_nonoverlapping(item.0.as_mut_ptr(), size) };
        item
    }
    fn bytes(&self) -> *const Bytes {
        self.0.as_ptr()
    }
}

#[derive(Debug)]
pub(crate) struct Large(Box<[Bytes]>);

impl Item for Large {
    unsafe fn read(data: *const Bytes, size: usize) -> Large {
        // SAFETY: there are `size` bytes at `data`, by the contract.
        Large(unsafe { std::slice::from_raw_parts(data, size) }.into())
    }
    fn bytes(&self) -> *const Bytes {
        self.0.as_ptr()
    }
}

/// How long an operation may wait.
#[derive(Clone, Copy)]
enum Wait {
    Ever,
    Never,
    For(u64),
}

impl<T: Item> Ends<T> {
    fn new(capacity: usize) -> Ends<T> {
        let (tx, rx) = match capacity {
            0 => rendezvous(),
            MYRIAD_UNBOUNDED => unbounded(),
            n => bounded(n),
        };
        Ends { tx, rx }
    }

    /// # Safety
    /// There are `size` bytes at `data`.
    unsafe fn send(&self, data: *const c_void, size: usize, wait: Wait) -> Result<(), Failure> {
        // SAFETY: there are `size` bytes at `data`, by the contract; `Ends` of small items are made
        // only for sizes up to `SMALL`.
        let item = unsafe { T::read(data.cast(), size) };
        match wait {
            Wait::Ever => self.tx.send(item).map_err(|_| MYRIAD_ERROR_CLOSED.into()),
            Wait::Never => self.tx.try_send(item).map_err(|error| match error {
                TrySendError::Full(_) => MYRIAD_ERROR_FULL.into(),
                TrySendError::Closed(_) => MYRIAD_ERROR_CLOSED.into(),
            }),
            Wait::For(time) => self.tx.send_timeout(item, patience(time)).map_err(|error| match error {
                SendTimeoutError::Timeout(_) => MYRIAD_ERROR_TIMEOUT.into(),
                SendTimeoutError::Closed(_) => MYRIAD_ERROR_CLOSED.into(),
            }),
        }
    }

    /// # Safety
    /// There is room for `size` bytes at `data`.
    unsafe fn receive(&self, data: *mut c_void, size: usize, wait: Wait) -> Result<(), Failure> {
        let item = match wait {
            Wait::Ever => self.rx.recv().map_err(|_| MYRIAD_ERROR_CLOSED)?,
            Wait::Never => self.rx.try_recv().map_err(|error| match error {
                TryRecvError::Empty => MYRIAD_ERROR_EMPTY,
                TryRecvError::Closed => MYRIAD_ERROR_CLOSED,
            })?,
            Wait::For(time) => self.rx.recv_timeout(patience(time)).map_err(|error| match error {
                RecvTimeoutError::Timeout => MYRIAD_ERROR_TIMEOUT,
                RecvTimeoutError::Closed => MYRIAD_ERROR_CLOSED,
            })?,
        };
        // SAFETY: there is room for `size` bytes at `data`, by the contract; an item has its
        // channel's size.
        unsafe { item.bytes().copy_to_nonoverlapping(data.cast(), size) };
        Ok(())
    }
}

impl Channel {
    fn close(&self) {
        match &self.kind {
            Kind::Small(ends) => ends.tx.close(),
            Kind::Large(ends) => ends.tx.close(),
        };
    }

    /// # Safety
    /// There are as many bytes at `data` as an item has.
    unsafe fn send(&self, data: *const c_void, wait: Wait) -> Result<(), Failure> {
        // SAFETY: there are as many bytes at `data` as an item has, by the contract: `self.size`.
        // The kind was chosen by that size.
        unsafe {
            match &self.kind {
                Kind::Small(ends) => ends.send(data, self.size, wait),
                Kind::Large(ends) => ends.send(data, self.size, wait),
            }
        }
    }

    /// # Safety
    /// There is room for an item at `data`.
    unsafe fn receive(&self, data: *mut c_void, wait: Wait) -> Result<(), Failure> {
        // SAFETY: there is room for an item at `data`, by the contract: for `self.size` bytes.
        unsafe {
            match &self.kind {
                Kind::Small(ends) => ends.receive(data, self.size, wait),
                Kind::Large(ends) => ends.receive(data, self.size, wait),
            }
        }
    }
}

/// # Safety
/// `item` is NULL or points to an item of the channel's size.
unsafe fn send(channel: *const myriad_channel, item: *const c_void, wait: Wait) -> myriad_status {
    guarded(|| {
        let channel = CHANNELS.get(channel)?;
        if item.is_null() && channel.size > 0 {
            return Err(null("the item"));
        }
        // (An item of no bytes may be NULL, and a copy of none from NULL is one from any address.)
        let item = if item.is_null() { std::ptr::dangling() } else { item };
        // SAFETY: `item` points to an item of the channel's size, as `myriad_send` asks; one of no
        // bytes may be anywhere.
        unsafe { channel.send(item, wait) }
    })
}

/// # Safety
/// `item` is NULL or points to room for an item of the channel's size.
unsafe fn receive(channel: *const myriad_channel, item: *mut c_void, wait: Wait) -> myriad_status {
    guarded(|| {
        let channel = CHANNELS.get(channel)?;
        if item.is_null() && channel.size > 0 {
            return Err(null("the pointer to the item"));
        }
        let item = if item.is_null() { std::ptr::dangling_mut() } else { item };
        // SAFETY: `item` points to room for an item, as `myriad_recv` asks; one of no bytes may be
        // anywhere.
        unsafe { channel.receive(item, wait) }
    })
}

/// Makes a channel of items of `item_size` bytes (which may be 0: then only that something was sent
/// is known). `capacity`: so many may wait in it; 0: none, senders and receivers meet;
/// MYRIAD_UNBOUNDED. `channel` gets it, for myriad_channel_free.
///
/// Items are copied as memcpy does: in C++ they are trivially copyable. What is larger or has an
/// owner goes by a pointer to it.
///
/// Never blocks. Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_INVALID: items larger than 1 MiB, or a
/// capacity of which there is no memory.
///
/// # Safety
/// `channel` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_channel_new(
    item_size: usize,
    capacity: usize,
    channel: *mut *mut myriad_channel,
) -> myriad_status {
    guarded(|| {
        if channel.is_null() {
            return Err(null("the pointer to the new channel"));
        }
        if item_size > 1 << 20 {
            let text = format!(
                "items of {item_size} bytes are too large to be copied, the most is 1 MiB: send pointers to them"
            );
            return Err(Failure::new(MYRIAD_ERROR_INVALID, text));
        }
        if capacity != MYRIAD_UNBOUNDED && capacity > 1 << 32 {
            let text = format!("a capacity of {capacity} items is too large: MYRIAD_UNBOUNDED has no limit");
            return Err(Failure::new(MYRIAD_ERROR_INVALID, text));
        }
        let kind = if item_size <= SMALL { Kind::Small(Ends::new(capacity)) } else { Kind::Large(Ends::new(capacity)) };
        // SAFETY: not NULL (looked at above), so there is room for a pointer, by the contract.
        unsafe { channel.write(CHANNELS.insert(Channel { size: item_size, kind })) };
        Ok(())
    })
}

/// Sends a copy of the item.
///
/// Blocks while the channel is full (at a rendezvous: until somebody receives): the calling task is
/// set aside, a thread that is no worker sleeps.
///
/// Errors: MYRIAD_ERROR_CLOSED, also if it is closed meanwhile; MYRIAD_ERROR_CANCELLED;
/// MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE: the item was not sent.
///
/// # Safety
/// `item` points to an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_send(channel: *const myriad_channel, item: *const c_void) -> myriad_status {
    // SAFETY: the contract is `send`'s: the item has its channel's size.
    unsafe { send(channel, item, Wait::Ever) }
}

/// As myriad_send, but never blocks.
///
/// Errors: MYRIAD_ERROR_FULL, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_NULL: the item was not sent.
///
/// # Safety
/// `item` points to an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_try_send(channel: *const myriad_channel, item: *const c_void) -> myriad_status {
    // SAFETY: the contract is `send`'s: the item has its channel's size.
    unsafe { send(channel, item, Wait::Never) }
}

/// As myriad_send, but blocks for at most so many nanoseconds.
///
/// Errors: MYRIAD_ERROR_TIMEOUT, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL:
/// the item was not sent.
///
/// # Safety
/// `item` points to an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_send_timeout(
    channel: *const myriad_channel,
    item: *const c_void,
    timeout_ns: u64,
) -> myriad_status {
    // SAFETY: the contract is `send`'s: the item has its channel's size.
    unsafe { send(channel, item, Wait::For(timeout_ns)) }
}

/// Receives an item, into `item`.
///
/// Blocks while the channel is empty: the calling task is set aside, a thread that is no worker
/// sleeps.
///
/// Errors: MYRIAD_ERROR_CLOSED, when it is closed and what was in it has been received;
/// MYRIAD_ERROR_CANCELLED; MYRIAD_ERROR_NULL. `item` is unchanged then, and nothing was received.
///
/// # Safety
/// `item` points to room for an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_recv(channel: *const myriad_channel, item: *mut c_void) -> myriad_status {
    // SAFETY: the contract is `receive`'s: there is room for an item.
    unsafe { receive(channel, item, Wait::Ever) }
}

/// As myriad_recv, but never blocks.
///
/// Errors: MYRIAD_ERROR_EMPTY, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_NULL: `item` is unchanged.
///
/// # Safety
/// `item` points to room for an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_try_recv(channel: *const myriad_channel, item: *mut c_void) -> myriad_status {
    // SAFETY: the contract is `receive`'s: there is room for an item.
    unsafe { receive(channel, item, Wait::Never) }
}

/// As myriad_recv, but blocks for at most so many nanoseconds.
///
/// Errors: MYRIAD_ERROR_TIMEOUT, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL:
/// `item` is unchanged, and nothing was received.
///
/// # Safety
/// `item` points to room for an item of the channel's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_recv_timeout(
    channel: *const myriad_channel,
    item: *mut c_void,
    timeout_ns: u64,
) -> myriad_status {
    // SAFETY: the contract is `receive`'s: there is room for an item.
    unsafe { receive(channel, item, Wait::For(timeout_ns)) }
}

/// Closes it: from now on nothing is sent; what is in it can be received. Who waits to send is told
/// now, who waits to receive when it is empty. Again: nothing happens.
///
/// Never blocks. Errors: MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_channel_close(channel: *const myriad_channel) -> myriad_status {
    guarded(|| {
        let channel = CHANNELS.get(channel)?;
        channel.close();
        Ok(())
    })
}

/// How many items are in it just now; 0 for NULL, and for one that was freed.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_channel_length(channel: *const myriad_channel) -> usize {
    match CHANNELS.get(channel).as_ref().map(|channel| &channel.kind) {
        Ok(Kind::Small(ends)) => ends.rx.len(),
        Ok(Kind::Large(ends)) => ends.rx.len(),
        Err(_) => 0,
    }
}

/// Frees a channel, with what is in it. NULL: nothing. Who waits in it is told that it is closed;
/// who uses it later gets MYRIAD_ERROR_STALE, as does who frees it again (in myriad_last_error).
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_channel_free(channel: *mut myriad_channel) {
    guarded(|| {
        if channel.is_null() {
            return Ok(());
        }
        CHANNELS.remove(channel, |channel, _| {
            channel.close();
            Ok(())
        })
    });
}
