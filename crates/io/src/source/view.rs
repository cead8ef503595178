//! A descriptor that is borrowed, as a type of std's.

use super::Socket;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// See the module's header.
pub(crate) struct View<'a, S> {
    socket: ManuallyDrop<S>,
    _borrowed: PhantomData<BorrowedFd<'a>>,
}

impl<'a, S: Socket> View<'a, S> {
    #[inline]
    pub(super) fn new(fd: BorrowedFd<'a>) -> View<'a, S> {
        // SAFETY: the descriptor is open as long as it is borrowed. It is not closed here: this
        // `OwnedFd` goes into what is never dropped.
        let owned = unsafe { OwnedFd::from_raw_fd(fd.as_raw_fd()) };
        View { socket: ManuallyDrop::new(S::from(owned)), _borrowed: PhantomData }
    }
}

impl<S> Deref for View<'_, S> {
    type Target = S;
    #[inline]
    fn deref(&self) -> &S {
        &self.socket
    }
}
