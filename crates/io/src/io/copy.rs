//! Copying between two connections, in both directions.
//!
//! ```text
//!  read into a buffer that is lent, write that at once     no wait between: nothing is kept
//!  not all of it was written: keep the rest, and wait      a Vec of its length
//! ```
//! So a connection that is idle has no buffer, neither on a stack nor on the heap.
//!
//! **Splice.** What comes in full buffers, as a large file does, goes on by a pipe, to which the
//! system moves its pages: two calls for each 64 KiB, as before, but no copy in this process. (A
//! proxy took 0.38 s of the processor a gigabyte, from and to loopback, in place of 0.53.) What is
//! small gains nothing, and a pipe is two more descriptors.

use crate::net::TcpStream;
use crate::net::unix::UnixStream;
use crate::source::{Socket, Source};
use myriad_base::sys::mutex::Mutex;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::pin;
use std::ptr::null;
use std::task::Poll;

/// How many bytes were copied. Example: [`copy_both`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Copied {
    /// From the first connection to the second.
    pub there: u64,
    /// From the second to the first.
    pub back: u64,
}

/// A connection that can be copied from and to.
#[doc(hidden)]
pub trait Duplex: AsFd + Sync {
    /// A short read says that there is no more, and a short write that there is no more room.
    const SHORT_IS_ALL: bool;

    /// Makes this call as soon as there may be input. It says whether it was short.
    fn input<R>(
        &self,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<(R, bool)> + Send,
    ) -> impl Future<Output = io::Result<R>> + Send;

    /// Makes this call as soon as there may be room for output. It says whether it was short.
    fn output<R>(
        &self,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<(R, bool)> + Send,
    ) -> impl Future<Output = io::Result<R>> + Send;

    /// Nothing is to be done with it any more.
    fn is_closed(&self) -> bool;

    /// There is no more output.
    fn end_output(&self) -> io::Result<()>;
}

async fn run<const OUTPUT: bool, S, R>(
    source: &Source<S>,
    short_is_all: bool,
    mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<(R, bool)> + Send,
) -> io::Result<R>
where
    S: Socket,
{
    source
        .run::<OUTPUT, _>(|socket| call(socket.as_fd()).map(|(result, short)| (result, !(short && short_is_all))))
        .await
}

macro_rules! duplex {
    ($($type:ty: $short_is_all:literal),*) => {
        $(impl Duplex for $type {
            const SHORT_IS_ALL: bool = $short_is_all;

            async fn input<R>(&self, call: impl FnMut(BorrowedFd<'_>) -> io::Result<(R, bool)> + Send) -> io::Result<R> {
                let done = run::<false, _, _>(&self.source, Self::SHORT_IS_ALL, call).await;
                done.map_err(|reason| self.source.failed("copy from", reason))
            }

            async fn output<R>(&self, call: impl FnMut(BorrowedFd<'_>) -> io::Result<(R, bool)> + Send) -> io::Result<R> {
                let done = run::<true, _, _>(&self.source, Self::SHORT_IS_ALL, call).await;
                done.map_err(|reason| self.source.failed("copy to", reason))
            }

            fn is_closed(&self) -> bool {
                self.source.is_closed()
            }

            fn end_output(&self) -> io::Result<()> {
                <$type>::end_output(self)
            }
        })*
    };
}

// (Of a Unix socket, a read ends where descriptors were sent.)
duplex!(TcpStream: true, UnixStream: false);

/// Copies what comes from each of two connections ([`TcpStream`], [`UnixStream`]) to the other,
/// until both have ended: what a proxy does.
///
/// When one of them has no more to say, the other is told so (`shutdown(Write)`), and goes on
/// until it ends, too. Neither is closed: that is the caller's. Descriptors that come over Unix
/// sockets are not passed on.
///
/// # Blocking
/// Until both have ended. The calling task is set aside meanwhile, and holds no buffer. A plain
/// thread sleeps, and the global runtime waits for the connections.
///
/// # Cancellation
/// It ends at once. What was read and not yet written is lost: close both.
///
/// # Errors
/// The first of either direction; that ends the other one, too. Errors name the connection.
///
/// # Examples
/// ```
/// use myriad::net::{Shutdown, unix::UnixStream};
/// use std::io::{Read, Write};
/// let ((client, a), (b, server)) = (UnixStream::pair()?, UnixStream::pair()?);
/// let proxy = myriad::spawn(move || myriad::io::copy_both(&a, &b));
/// (&client).write_all(b"question")?;
/// client.shutdown(Shutdown::Write)?;
/// let mut text = String::new();
/// (&server).read_to_string(&mut text)?; // until the end, which was passed on
/// assert_eq!(text, "question");
/// (&server).write_all(b"yes")?;
/// drop(server);
/// (&client).read_to_string(&mut text)?;
/// assert_eq!(text, "questionyes");
/// let copied = proxy.join().unwrap()?;
/// assert_eq!((copied.there, copied.back), (8, 3));
/// # std::io::Result::Ok(())
/// ```
#[doc(alias = "copy_bidirectional")]
pub fn copy_both(one: &impl Duplex, two: &impl Duplex) -> io::Result<Copied> {
    myriad_core::block_on(copy_both_async(one, two))
}

/// [`copy_both`] as a future.
///
/// # Cancellation
/// Dropped before it is ready, what was read and not yet written is lost: close both.
///
/// # Errors
/// As [`copy_both`].
pub async fn copy_both_async(one: &impl Duplex, two: &impl Duplex) -> io::Result<Copied> {
    let (mut there, mut back) = (pin!(copy(one, two)), pin!(copy(two, one)));
    let (mut there_ended, mut back_ended) = (None, None);
    poll_fn(|cx| {
        if there_ended.is_none()
            && let Poll::Ready(ended) = there.as_mut().poll(cx)
        {
            there_ended = Some(ended?);
        }
        if back_ended.is_none()
            && let Poll::Ready(ended) = back.as_mut().poll(cx)
        {
            back_ended = Some(ended?);
        }
        match (there_ended, back_ended) {
            (Some(there), Some(back)) => Poll::Ready(Ok(Copied { there, back })),
            _ => Poll::Pending,
        }
    })
    .await
}

/// One direction.
async fn copy(from: &impl Duplex, to: &impl Duplex) -> io::Result<u64> {
    let (mut copied, mut full) = (0, 0);
    loop {
        let (n, rest) = from.input(|from| pass(from, to)).await?;
        if n == 0 {
            to.end_output()?;
            return Ok(copied);
        }
        copied += n as u64;
        let mut left = &*rest;
        while !left.is_empty() {
            let sent = to
                .output(|to| send(to, left, SendFlags::NOSIGNAL).map(|n| (n, n < left.len())).map_err(Into::into))
                .await?;
            left = &left[sent..];
        }
        full = if n == LENT { full + 1 } else { 0 };
        if full == MANY {
            full = 0;
            if let Some(pipe) = Pipe::new() {
                copied += pipe.splice(from, to).await?;
            }
        }
    }
}

/// So much is read at a time.
const LENT: usize = 64 << 10;

/// Buffers that nobody uses; they are lent for calls between which nobody waits.
static BUFFERS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
/// So many are kept.
const KEPT: usize = 16;

/// Reads what is there and writes it at once. Returns how much was read, what could not be written
/// (the next write says why), and whether the read was short.
fn pass(from: BorrowedFd<'_>, to: &impl Duplex) -> io::Result<((usize, Vec<u8>), bool)> {
    let free = BUFFERS.lock().pop();
    let mut buffer = free.unwrap_or_else(|| vec![0; LENT]);
    let passed = recv(from, &mut buffer[..], RecvFlags::empty()).map(|(n, _)| {
        let sent = if n == 0 || to.is_closed() { 0 } else { send(to, &buffer[..n], SendFlags::NOSIGNAL).unwrap_or(0) };
        // (At the end, too: each read finds it.)
        ((n, buffer[sent..n].to_vec()), 0 < n && n < LENT)
    });
    let mut buffers = BUFFERS.lock();
    if buffers.len() < KEPT {
        buffers.push(buffer);
    }
    Ok(passed?)
}

/// After so many full buffers, one after the other, bytes go by a pipe; after so many pieces that
/// are not large, by buffers again.
const MANY: u32 = 8;
/// What is large.
const LARGE: usize = 16 << 10;

/// Through which the system moves pages from one socket to the other, and copies nothing.
struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Pipe {
    /// `None`: there is none, or it is better not to use it. A write by `splice` to a connection
    /// that is over raises SIGPIPE, which ends a process that has not switched it off.
    fn new() -> Option<Pipe> {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: it asks only, and the system fills the structure in where it says 0.
        let is_off = unsafe {
            libc::sigaction(libc::SIGPIPE, null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction != libc::SIG_DFL
        };
        let (reader, writer) = is_off.then(|| pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok())??;
        Some(Pipe { reader, writer })
    }

    /// Copies for as long as it pays. What it leaves in the pipe is nothing.
    async fn splice(self, from: &impl Duplex, to: &impl Duplex) -> io::Result<u64> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let (mut copied, mut small) = (0, 0);
        while small < MANY {
            let read = match from.input(|from| Ok((splice(from, None, &self.writer, None, LENT, flags)?, false))).await
            {
                // It is no socket that can do that.
                Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(copied),
                read => read?,
            };
            let mut left = read;
            while left > 0 {
                left -= to.output(|to| Ok((splice(&self.reader, None, to, None, left, flags)?, false))).await?;
            }
            copied += read as u64;
            small = match read {
                // (The end, which the next read finds as well.)
                0 => return Ok(copied),
                LARGE.. => 0,
                _ => small + 1,
            };
        }
        Ok(copied)
    }
}
