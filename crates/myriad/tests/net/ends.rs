//! What the tests of sockets share: ends of connections, and who uses them.

use crate::each_runtime;
use myriad::net::{TcpListener, TcpStream, UdpSocket};
use std::future::Future;
use std::io::{self, Write};
use std::net::{self, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A listener at a free port, and where it is.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both ends of a connection.
pub(crate) fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let client = TcpStream::connect(address).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Both ends of a connection, the second one as std has it: it waits for nobody's runtime.
pub(crate) fn half() -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_nodelay(true).unwrap();
    (TcpStream::from_std(listener.accept().unwrap().0).unwrap(), peer)
}

/// What a server does in all of these: it sends back what it reads, until the end.
pub(crate) fn echo(stream: TcpStream) {
    let mut bytes = [0; 256];
    loop {
        match stream.read(&mut bytes).unwrap() {
            0 => return,
            n => (&stream).write_all(&bytes[..n]).unwrap(),
        }
    }
}

pub(crate) async fn echo_async(stream: TcpStream) {
    let mut bytes = [0; 256];
    loop {
        match stream.read_async(&mut bytes).await.unwrap() {
            0 => return,
            n => stream.write_all_async(&bytes[..n]).await.unwrap(),
        }
    }
}

/// Who waits: a closure in a task, a future in a task, a plain thread, a future on a plain thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    future: bool,
    plain: bool,
}

/// In each form: in a runtime of each kind, with one worker and with two, and outside.
#[track_caller]
pub(crate) fn each_form(body: impl Fn(Form) + Send + Sync) {
    for future in [false, true] {
        each_runtime(|| body(Form { future, plain: false }));
        let _watch = crate::common::watch("on a plain thread");
        body(Form { future, plain: true });
    }
}

/// What [`Form::spawn`] has begun.
pub(crate) enum Begun<T> {
    Task(myriad::JoinHandle<T>),
    Thread(std::thread::JoinHandle<T>),
}

impl<T> Begun<T> {
    #[track_caller]
    pub(crate) fn join(self) -> T {
        match self {
            Begun::Task(task) => task.join().unwrap(),
            Begun::Thread(thread) => thread.join().unwrap(),
        }
    }
}

impl Form {
    /// Beside the caller, as a task or a thread.
    pub(crate) fn spawn<T: Send + 'static>(self, body: impl FnOnce() -> T + Send + 'static) -> Begun<T> {
        if self.plain { Begun::Thread(std::thread::spawn(body)) } else { Begun::Task(myriad::spawn(body)) }
    }

    pub(crate) fn read(self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        if self.future { myriad::block_on(stream.read_async(buffer)) } else { stream.read(buffer) }
    }

    pub(crate) fn peek(self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        if self.future { myriad::block_on(stream.peek_async(buffer)) } else { stream.peek(buffer) }
    }

    pub(crate) fn write(self, stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        if self.future { myriad::block_on(stream.write_async(bytes)) } else { stream.write(bytes) }
    }

    pub(crate) fn accept(self, listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        if self.future { myriad::block_on(listener.accept_async()) } else { listener.accept() }
    }

    pub(crate) fn connect(self, address: SocketAddr) -> io::Result<TcpStream> {
        if self.future { myriad::block_on(TcpStream::connect_async(address)) } else { TcpStream::connect(address) }
    }

    pub(crate) fn recv_from(self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        if self.future { myriad::block_on(socket.recv_from_async(buffer)) } else { socket.recv_from(buffer) }
    }

    /// Reads so many bytes; fails at an end before.
    #[track_caller]
    pub(crate) fn read_all(self, stream: &TcpStream, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        let mut at = 0;
        while at < n {
            match self.read(stream, &mut bytes[at..]).unwrap() {
                0 => panic!("the end after {at} bytes of {n}"),
                read => at += read,
            }
        }
        bytes
    }
}

/// A moment for others: so that what is to wait does so, mostly.
pub(crate) fn moment(round: u32) {
    match round % 4 {
        0 => {}
        1 if myriad::Handle::current().is_some() => (0..3).for_each(|_| myriad::yield_now()),
        2 => std::thread::sleep(Duration::from_micros(50)),
        _ => myriad::time::sleep(Duration::from_micros(u64::from(round) * 37 % 500)),
    }
}

/// A socket option that std does not know.
pub(crate) fn set_option(socket: &impl std::os::fd::AsRawFd, level: i32, name: i32, value: i32) {
    let (at, len) = ((&raw const value).cast(), size_of::<i32>() as u32);
    // SAFETY: the descriptor is open, and the value stands there.
    assert_eq!(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, at, len) }, 0);
}

/// The same, asked for.
pub(crate) fn option(socket: &impl std::os::fd::AsRawFd, level: i32, name: i32) -> i32 {
    let (mut value, mut len) = (0, size_of::<i32>() as u32);
    // SAFETY: the descriptor is open, and there is room for the value.
    assert_eq!(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &mut len) }, 0);
    value
}

/// Sends one urgent byte.
pub(crate) fn send_urgent(socket: &net::TcpStream, byte: u8) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open, and the byte stands there.
    let sent = unsafe { libc::send(socket.as_raw_fd(), (&raw const byte).cast(), 1, libc::MSG_OOB) };
    assert_eq!(sent, 1);
}

/// How many descriptors this process has.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// What the first poll of a future brings, if anything; then it is dropped.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}
