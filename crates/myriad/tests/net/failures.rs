//! What the network refuses, resets and forgets.

use crate::common::{assert_ok, in_child};
use crate::each_runtime;
use crate::ends::{each_form, half, listener, moment};
use myriad::net::{OperationError, TcpListener, TcpStream, UdpSocket};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net;
use std::time::Duration;

/// The peer resets the connection.
fn reset(peer: net::TcpStream) {
    TcpStream::from_std(peer).unwrap().set_linger(Some(Duration::ZERO)).unwrap();
}

/// Situation 19. A client that resets its connection before it is accepted harms no other.
#[test]
fn reset_before_it_is_accepted() {
    each_form(|form| {
        let (listener, address) = listener();
        reset(net::TcpStream::connect(address).unwrap());
        let mut good = net::TcpStream::connect(address).unwrap();
        good.write_all(b"x").unwrap();
        let mut served = 0;
        while served == 0 {
            let (stream, _) = form.accept(&listener).unwrap();
            match form.read(&stream, &mut [0; 4]) {
                Ok(n) => served += n,
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
        }
    });
}

/// Situation 20. A reset ends a read and a write that wait.
#[test]
fn reset_while_others_wait() {
    each_form(|form| {
        for round in 0..12 {
            let (stream, peer) = half();
            let reads = form.spawn({
                let stream = stream.try_clone().unwrap();
                move || form.read(&stream, &mut [0; 4])
            });
            moment(round);
            reset(peer);
            match reads.join() {
                Ok(n) => panic!("{n} bytes of a connection that was reset"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
            assert_eq!(form.read(&stream, &mut [0; 4]).unwrap(), 0, "an error is told once");

            let (stream, peer) = half();
            let writes = form.spawn(move || {
                let bytes = vec![0; 1 << 20];
                loop {
                    if let Err(error) = form.write(&stream, &bytes) {
                        return error.kind();
                    }
                }
            });
            moment(round);
            reset(peer);
            let kind = writes.join();
            assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&kind), "{kind}");
        }
    });
}

/// A write behind the end is an error, and no signal, also where the process has not switched that
/// off.
#[test]
fn no_signal_of_a_broken_pipe() {
    let output = in_child(&[], || {
        // SAFETY: the signal's default, as in a program that is not Rust's.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        each_form(|form| {
            let (stream, peer) = half();
            drop(peer);
            let error = loop {
                if let Err(error) = form.write(&stream, b"x") {
                    break error;
                }
            };
            assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind()), "{error}");
            assert_eq!(form.write(&stream, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
            let error = stream.write_vectored(&[IoSlice::new(b"x")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        });
    });
    assert_ok(&output);
}

/// Situation 37. A refused connection fails once, with the address; another attempt is a new one.
#[test]
fn refused_connections() {
    each_form(|form| {
        let free = net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for _ in 0..3 {
            let error = form.connect(free).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let inner = error.get_ref().unwrap().downcast_ref::<OperationError>().unwrap();
            assert_eq!((inner.operation(), inner.address()), ("connect to", Some(&*free.to_string())));
            assert_eq!(inner.reason().raw_os_error(), Some(libc::ECONNREFUSED));
        }
        // Of several addresses the one that answers.
        let (listener, address) = listener();
        let stream = TcpStream::connect(&[free, address][..]).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        assert!(stream.take_error().unwrap().is_none());
        assert_eq!(form.accept(&listener).unwrap().1, stream.local_addr().unwrap());
    });
}

/// The error of a datagram that nobody received is told once, and the socket goes on.
#[test]
fn a_refused_datagram() {
    each_form(|_| {
        let free = net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(free).unwrap();
        assert_eq!(socket.send(b"x").unwrap(), 1);
        assert_eq!(socket.recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert!(socket.take_error().unwrap().is_none());
        let peer = net::UdpSocket::bind(free).unwrap();
        socket.send(b"y").unwrap();
        assert_eq!(peer.recv_from(&mut [0; 4]).unwrap().0, 1);
    });
}

/// Situation 38. A connection to oneself; an address that is in use.
#[test]
fn odd_addresses() {
    each_form(|form| {
        // A socket that is bound to a port and connects to it reaches itself.
        let oneself = loop {
            let free = net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            if let Some(stream) = connect_to_itself(free) {
                break stream;
            }
        };
        let stream = TcpStream::from_std(oneself).unwrap();
        assert_eq!(stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        assert_eq!(form.write(&stream, b"echo").unwrap(), 4);
        assert_eq!(form.read_all(&stream, 4), b"echo");

        let (listener, address) = listener();
        let error = TcpListener::bind(address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().starts_with(&format!("listen at {address}: ")), "{error}");
        drop(listener);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = UdpSocket::bind(socket.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        for wrong in ["", "localhost", "127.0.0.1", "127.0.0.1:99999", ":80", "[::1]"] {
            let error = TcpStream::connect(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{wrong:?}: {error}");
        }
    });
}

/// `None`: the port was taken meanwhile.
fn connect_to_itself(address: net::SocketAddr) -> Option<net::TcpStream> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let net::SocketAddr::V4(v4) = address else { panic!("an address of IPv4") };
    let name = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: v4.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
        sin_zero: [0; 8],
    };
    let (at, len) = ((&raw const name).cast(), size_of_val(&name) as libc::socklen_t);
    // SAFETY: a new descriptor, which is ours; the address stands there.
    unsafe {
        let socket = OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0));
        let done = libc::bind(socket.as_raw_fd(), at, len) == 0 && libc::connect(socket.as_raw_fd(), at, len) == 0;
        done.then(|| socket.into())
    }
}

/// A look-up that finds nothing says what it looked for.
#[test]
fn names_that_are_none() {
    each_runtime(|| {
        let error = TcpStream::connect("no-such-name.invalid:80").unwrap_err();
        assert!(error.to_string().contains("no-such-name.invalid"), "{error}");
        let error = myriad::block_on(TcpStream::connect_async("no-such-name.invalid:80")).unwrap_err();
        assert!(error.to_string().contains("no-such-name.invalid"), "{error}");
        assert!(TcpStream::connect(&[][..] as &[net::SocketAddr]).is_err());
    });
}

/// The peer ends in the middle of what is to be read whole.
#[test]
fn an_end_in_the_middle() {
    each_form(|_| {
        let (stream, mut peer) = half();
        peer.write_all(b"abc").unwrap();
        drop(peer);
        let mut room = [0; 8];
        let error = myriad::block_on(stream.read_exact_async(&mut room)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(&room[..3], b"abc");
        assert_eq!((&stream).read_exact(&mut room).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    });
}
