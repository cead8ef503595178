//! What all sockets have: an operation as a call and as a future, and limits in time.

/// Each operation once: as a call that blocks, and as a future. The literals say whether it is
/// output, and what it is called in errors. After `=` stands the call on the socket itself, which
/// returns its result, and whether another one may find something at once. (What follows `unless`
/// is known without a call.)
macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident, $name_async:ident: $output:literal $what:literal
        ($($arg:ident: $type:ty),*) -> $result:ty = |$io:ident| $call:expr $(, unless $known:expr => $value:expr)?;)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Blocking
            /// Until it is possible, or a limit in time has come. The calling task is set aside
            /// meanwhile; a plain thread waits in the system.
            ///
            /// # Errors
            /// Those of the system, with the operation and the address; `TimedOut`; `NotConnected`
            /// after `close`.
            pub fn $name(&self, $($arg: $type),*) -> std::io::Result<$result> {
                $(if $known { return Ok($value); })?
                self.source.block::<$output, _>($what, |$io| $call)
            }

            #[doc = concat!("[`", stringify!($name), "`](Self::", stringify!($name), ") as a future.")]
            ///
            /// # Cancellation
            /// Dropped before it is ready, it has moved nothing.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            pub fn $name_async(&self, $($arg: $type),*) -> impl Future<Output = std::io::Result<$result>> {
                let free = false $(|| $known)?;
                $crate::source::Operation::<$output, _, _>::new(&self.source, &$what, free, move |$io| {
                    $(if $known { return Ok((Some($value), false)); })?
                    let done: std::io::Result<($result, bool)> = $call;
                    let (result, more) = done?;
                    Ok((Some(result), more))
                })
            }
        )*
    };
}

/// How long operations of a direction may take.
macro_rules! limits {
    ($($output:literal $timeout:ident $set_timeout:ident $set_deadline:ident;)*) => {
        $(
            /// Sets how long each such operation may take; `None`: for ever. One that waits already
            /// keeps the limit that it began with.
            ///
            /// # Errors
            /// The time-out is zero.
            pub fn $set_timeout(&self, timeout: Option<std::time::Duration>) -> std::io::Result<()> {
                self.source.set_timeout($output, timeout)
            }

            /// How long each such operation may take; `None`: for ever.
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn $timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.source.timeout($output))
            }

            /// Sets until when all such operations may take; `None`: for ever. Tasks and futures
            /// that wait already have the new limit, too: so another task may end their wait. (A
            /// plain thread that waits in the system keeps the limit that it began with.)
            pub fn $set_deadline(&self, deadline: Option<myriad_core::time::Instant>) {
                self.source.set_deadline($output, deadline);
            }
        )*
    };
}

/// What all sockets have: `close`, `take_error`, descriptors. `$type` is made of std's `$std`.
macro_rules! socket {
    ($type:ty, $std:ty) => {
        impl $type {
            /// Ends all operations of this socket, of all its handles, also those that wait: they
            /// fail with `NotConnected`. Never blocks. The descriptor is closed with the last
            /// handle.
            pub fn close(&self) {
                self.source.close();
            }

            /// Takes the error that the system keeps for this socket, if there is one.
            ///
            /// # Errors
            /// Those of the system.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.source.socket().take_error()
            }
        }

        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(&self.source)
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&self.source))
            }
        }

        /// Takes the socket over: as `from_std`.
        impl TryFrom<$std> for $type {
            type Error = std::io::Error;
            fn try_from(socket: $std) -> std::io::Result<$type> {
                <$type>::from_std(socket)
            }
        }
    };
}

/// A stream of bytes: std's traits, for the stream and for a reference to it; and what consists of
/// many reads or writes, as futures.
macro_rules! bytes {
    ($type:ident) => {
        $crate::net::macros::reads!($type);
        $crate::net::macros::writes!($type);
    };
}

/// The half of [`bytes`] that reads.
macro_rules! reads {
    ($type:ident) => {
        impl $type {
            /// Reads until the buffer is full, as a future.
            ///
            /// # Cancellation
            /// Dropped before it is ready, it may have read some bytes, which are in the buffer.
            ///
            /// # Errors
            /// As [`read`](Self::read); `UnexpectedEof`.
            pub fn read_exact_async(&self, buffer: &mut [u8]) -> impl Future<Output = std::io::Result<()>> {
                self.source.read_exact(buffer)
            }

            /// Reads all that comes until the end, behind what is in `bytes`, as a future. Returns
            /// how many bytes.
            ///
            /// # Cancellation
            /// Dropped before it is ready, `bytes` has what was read.
            ///
            /// # Errors
            /// As [`read`](Self::read).
            pub async fn read_to_end_async(&self, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
                let before = bytes.len();
                let mut room = vec![0; 16 << 10];
                loop {
                    match self.read_async(&mut room).await? {
                        0 => return Ok(bytes.len() - before),
                        n => bytes.extend_from_slice(&room[..n]),
                    }
                }
            }
        }

        impl $crate::io::PollRead for $type {
            fn poll_read_some(
                &self,
                attempts: std::pin::Pin<&mut $crate::source::Attempts<false>>,
                cx: &mut std::task::Context<'_>,
                buffer: &mut [std::mem::MaybeUninit<u8>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                attempts.poll_named(&self.source, cx, "read from", |socket| socket.receive_uninit(buffer))
            }

            fn poll_read_vectored_some(
                &self,
                attempts: std::pin::Pin<&mut $crate::source::Attempts<false>>,
                cx: &mut std::task::Context<'_>,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                attempts.poll_named(&self.source, cx, "read from", |socket| socket.receive_vectored(buffers))
            }

            fn read_until(&self, deadline: Option<myriad_core::time::Instant>) {
                self.source.set_deadline(false, deadline);
            }

            fn another(&self) -> $type {
                $type { source: self.source.clone() }
            }
        }

        $crate::net::macros::reads!(impl $type, $type);
        $crate::net::macros::reads!(impl $type, &$type);
    };
    (impl $type:ident, $for:ty) => {
        impl std::io::Read for $for {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                $type::read(self, buffer)
            }

            fn read_vectored(&mut self, buffers: &mut [std::io::IoSliceMut<'_>]) -> std::io::Result<usize> {
                $type::read_vectored(self, buffers)
            }
        }
    };
}

/// The half of [`bytes`] that writes.
macro_rules! writes {
    ($type:ident) => {
        impl $type {
            /// Writes all of these bytes, as a future.
            ///
            /// # Cancellation
            /// Dropped before it is ready, it may have written some of them.
            ///
            /// # Errors
            /// As [`write`](Self::write); `WriteZero`.
            pub fn write_all_async(&self, bytes: &[u8]) -> impl Future<Output = std::io::Result<()>> {
                self.source.write_all(bytes)
            }
        }

        impl $crate::io::PollWrite for $type {
            fn poll_write_some(
                &self,
                attempts: std::pin::Pin<&mut $crate::source::Attempts<true>>,
                cx: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                attempts.poll_named(&self.source, cx, "write to", |socket| socket.send(bytes))
            }

            fn poll_write_vectored_some(
                &self,
                attempts: std::pin::Pin<&mut $crate::source::Attempts<true>>,
                cx: &mut std::task::Context<'_>,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                attempts.poll_named(&self.source, cx, "write to", |socket| socket.send_vectored(buffers))
            }

            fn end_output(&self) -> std::io::Result<()> {
                $type::end_output(self)
            }
        }

        $crate::net::macros::writes!(impl $type, $type);
        $crate::net::macros::writes!(impl $type, &$type);
    };
    (impl $type:ident, $for:ty) => {
        impl std::io::Write for $for {
            fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
                $type::write(self, buffer)
            }

            fn write_vectored(&mut self, buffers: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                $type::write_vectored(self, buffers)
            }

            /// What is written is the system's at once.
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
    };
}

pub(crate) use {bytes, limits, operations, reads, socket, writes};
