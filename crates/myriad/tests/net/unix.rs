//! Unix sockets: streams, datagrams, names, descriptors, credentials.

use crate::common::{self, in_child, wait_until};
use crate::{descriptors, each_runtime, is_waiting};
use myriad::net::Shutdown;
use myriad::net::unix::{SocketAddr, SocketAddrExt, UnixDatagram, UnixListener, UnixStream};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// An abstract name that nobody else has.
fn name() -> SocketAddr {
    let number = NUMBER.fetch_add(1, Relaxed);
    SocketAddr::from_abstract_name(format!("myriad-test-{}-{number}", std::process::id())).unwrap()
}

/// A path that nobody else has, and whose file goes with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        let number = NUMBER.fetch_add(1, Relaxed);
        Place(std::env::temp_dir().join(format!("myriad-test-{}-{number}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_server_at_a_path() {
    each_runtime(|| {
        let place = Place::new();
        let listener = UnixListener::bind(&place.0).unwrap();
        let clients: Vec<_> = (0..16_u8)
            .map(|i| {
                let path = place.0.clone();
                if i % 2 == 0 {
                    myriad::spawn(move || {
                        let mut stream = UnixStream::connect(path).unwrap();
                        stream.write_all(&[i; 100]).unwrap();
                        let mut answer = [0; 100];
                        stream.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, [i; 100]);
                    })
                } else {
                    myriad::spawn_async(async move {
                        let stream = UnixStream::connect_async(path).await.unwrap();
                        stream.write_all_async(&[i; 100]).await.unwrap();
                        let mut answer = [0; 100];
                        stream.read_exact_async(&mut answer).await.unwrap();
                        assert_eq!(answer, [i; 100]);
                    })
                }
            })
            .collect();
        for stream in listener.incoming().take(16) {
            let stream = stream.unwrap();
            assert_eq!(stream.local_addr().unwrap().as_pathname(), Some(&*place.0));
            assert!(stream.peer_addr().unwrap().is_unnamed());
            myriad::spawn(move || std::io::copy(&mut &stream, &mut &stream).unwrap());
        }
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
}

#[test]
fn abstract_names() {
    // (38.)
    each_runtime(|| {
        let name = name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let error = UnixListener::bind_addr(&name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().starts_with("listen at @myriad-test-"), "{error}");
        let client = UnixStream::connect_addr(&name).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(client.peer_addr().unwrap().as_abstract_name(), name.as_abstract_name());
        (&client).write_all(b"x").unwrap();
        assert_eq!(server.read(&mut [0; 8]).unwrap(), 1);
        drop((listener, server));
        wait_until(|| UnixStream::connect_addr(&name).is_err());
        let error = UnixStream::connect_addr(&name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().starts_with("connect to @myriad-test-"), "{error}");
    });
}

#[test]
fn paths_that_are_too_long() {
    // (38.)
    let fits = format!("/tmp/{}", "x".repeat(102));
    let long = format!("{fits}x");
    let errors = [
        UnixStream::connect(&long).unwrap_err(),
        UnixListener::bind(&long).unwrap_err(),
        UnixDatagram::bind(&long).unwrap_err(),
        UnixDatagram::unbound().unwrap().connect(&long).unwrap_err(),
        UnixDatagram::unbound().unwrap().send_to(b"x", &long).unwrap_err(),
        myriad::block_on(UnixStream::connect_async(&long)).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("the path has 108 bytes"), "{error}");
    }
    assert_eq!(UnixStream::connect(&fits).unwrap_err().kind(), ErrorKind::NotFound, "107 are not too many");
    assert_eq!(UnixStream::connect("").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(UnixStream::connect("a\0b").unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn two_messages_one_with_a_descriptor() {
    // (3: the first read is short, though there is more, and the system tells nothing.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let reader = myriad::spawn(move || {
            let (mut bytes, mut fds) = (Vec::new(), Vec::new());
            let mut buffer = [0; 64];
            loop {
                let received = two.recv_with_fds(&mut buffer).unwrap();
                assert!(received.len > 0 && !received.fds_lost);
                bytes.extend_from_slice(&buffer[..received.len]);
                fds.extend(received.fds);
                if bytes.len() == 9 {
                    return (bytes, fds);
                }
            }
        });
        // From here on it hears of events only.
        wait_until(|| is_waiting(&reader));
        let (mut out, in_) = std::io::pipe().unwrap();
        one.write(b"abc").unwrap();
        assert_eq!(one.send_with_fds(b"def", &[in_.as_fd(), in_.as_fd()]).unwrap(), 3);
        one.write(b"ghi").unwrap();
        // (The end of it would be an event, too.)
        let (bytes, fds) = reader.join().unwrap();
        drop((one, in_));
        assert_eq!((&*bytes, fds.len()), (&b"abcdefghi"[..], 2));
        for fd in fds {
            std::io::PipeWriter::from(fd).write_all(b"!").unwrap();
        }
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, "!!", "there are no more descriptors of it than those two");
    });
}

/// Returns when the reactor has seen all events that there were when it was called.
fn events_are_seen() {
    let (one, two) = UnixStream::pair().unwrap();
    let waits = myriad::spawn(move || two.read(&mut [0]));
    wait_until(|| is_waiting(&waits));
    one.write(b"x").unwrap();
    waits.join().unwrap().unwrap();
}

#[test]
fn plain_reads_over_descriptors() {
    // (3: for `read`, which closes them.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let (mut out, in_) = std::io::pipe().unwrap();
        let mut buffer = [0; 64];
        // From here on it hears of events only.
        let waits = two.try_clone().unwrap();
        let waits = myriad::spawn(move || waits.read(&mut [0]));
        wait_until(|| is_waiting(&waits));
        one.write(b"x").unwrap();
        assert_eq!(waits.join().unwrap().unwrap(), 1);
        one.send_with_fds(b"abc", &[in_.as_fd()]).unwrap();
        one.send_with_fds(b"def", &[in_.as_fd()]).unwrap();
        drop(in_);
        events_are_seen();
        assert_eq!(two.read(&mut buffer).unwrap(), 3);
        assert_eq!(myriad::block_on(two.read_async(&mut buffer)).unwrap(), 3);
        assert_eq!(out.read(&mut buffer).unwrap(), 0, "they are closed");
    });
}

#[test]
fn descriptors_that_cannot_be_sent() {
    let (one, two) = UnixStream::pair().unwrap();
    let many: Vec<_> = (0..254).map(|_| one.as_fd()).collect();
    let error = one.send_with_fds(b"x", &many).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("253 at most"), "{error}");
    assert_eq!(one.send_with_fds(b"x", &many[1..]).unwrap(), 1);
    assert_eq!(two.recv_with_fds(&mut [0; 2]).unwrap().fds.len(), 253);
    assert_eq!(one.send_with_fds(b"", &many[..1]).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(one.send_with_fds(b"y", &[]).unwrap(), 1);
    let received = myriad::block_on(two.recv_with_fds_async(&mut [0; 2])).unwrap();
    assert_eq!((received.len, received.fds.len(), received.fds_lost), (1, 0, false));
}

#[test]
fn descriptors_for_which_there_is_no_room() {
    let output = in_child(&[], || {
        each_runtime(|| {
            let (one, two) = UnixStream::pair().unwrap();
            let waits = two.try_clone().unwrap();
            let waits = myriad::spawn(move || waits.recv_with_fds(&mut [0; 8]).unwrap());
            wait_until(|| is_waiting(&waits));
            let before = descriptors::allow(descriptors::next());
            one.send_with_fds(b"abc", &[one.as_fd(), two.as_fd()]).unwrap();
            let received = waits.join().unwrap();
            descriptors::allow(before);
            assert_eq!((received.len, received.fds.len(), received.fds_lost), (3, 0, true));
            one.send_with_fds(b"abc", &[one.as_fd(), two.as_fd()]).unwrap();
            let received = two.recv_with_fds(&mut [0; 8]).unwrap();
            assert_eq!((received.len, received.fds.len(), received.fds_lost), (3, 2, false));
        });
    });
    common::assert_ok(&output);
}

#[test]
fn a_hundred_in_accept() {
    // (7.)
    each_runtime(|| {
        let name = name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let servers: Vec<_> = (0..100)
            .map(|i| {
                let listener = listener.try_clone().unwrap();
                if i % 2 == 0 {
                    myriad::spawn(move || listener.accept().map(drop))
                } else {
                    myriad::spawn_async(async move { listener.accept_async().await.map(drop) })
                }
            })
            .collect();
        let clients: Vec<_> = (0..100).map(|_| UnixStream::connect_addr(&name).unwrap()).collect();
        for server in servers {
            server.join().unwrap().unwrap();
        }
        for client in clients {
            assert_eq!(client.read(&mut [0]).unwrap(), 0, "it was accepted, and dropped");
        }
    });
}

#[test]
fn the_listener_goes_before_it_has_accepted() {
    each_runtime(|| {
        let name = name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let client = UnixStream::connect_addr(&name).unwrap();
        let reads = myriad::spawn(move || client.read(&mut [0]));
        wait_until(|| is_waiting(&reads));
        drop(listener);
        assert_eq!(reads.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_reader_and_a_writer_of_one_stream() {
    // (8, 12: both wait, and what is given up has read nothing.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let one = std::sync::Arc::new(one);
        one.set_write_deadline(Some(myriad::time::now() + Duration::from_millis(2)));
        let full: usize = std::iter::from_fn(|| one.write(&[1; 4096]).ok()).sum();
        one.set_write_deadline(None);
        let (reads, writes) = (one.clone(), one.clone());
        let (gives_up, given_up) = myriad::channel::bounded(1);
        let reads = myriad::spawn_async(async move {
            let mut byte = [0];
            for _ in 0..3 {
                let read = myriad::time::timeout_async(Duration::from_micros(100), reads.read_async(&mut byte));
                assert!(read.await.is_err());
            }
            gives_up.send_async(()).await.unwrap();
            reads.read_async(&mut byte).await.map(|n| (n, byte[0]))
        });
        let writes = myriad::spawn(move || writes.write(&[2]));
        wait_until(|| is_waiting(&writes));
        given_up.recv().unwrap();
        let mut bytes = vec![0; full];
        (&two).read_exact(&mut bytes).unwrap();
        assert_eq!(writes.join().unwrap().unwrap(), 1);
        assert_eq!((two.read(&mut bytes).unwrap(), bytes[0]), (1, 2));
        (&two).write_all(&[3]).unwrap();
        assert_eq!(reads.join().unwrap().unwrap(), (1, 3));
    });
}

#[test]
fn who_made_the_other_end() {
    let (one, _two) = UnixStream::pair().unwrap();
    let cred = one.peer_cred().unwrap();
    // SAFETY: these calls only return numbers.
    assert_eq!((cred.uid, cred.gid), unsafe { (libc::geteuid(), libc::getegid()) });
    assert_eq!(cred.pid, Some(std::process::id() as i32));
}

#[test]
fn a_queue_that_is_full() {
    // (13, 14: the system has no event for the end of it.)
    each_runtime(|| {
        let name = name();
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        let abstract_name = [&b"\0"[..], name.as_abstract_name().unwrap()].concat();
        let path = std::ffi::OsStr::new(std::str::from_utf8(&abstract_name).unwrap());
        socket.bind(&socket2::SockAddr::unix(path).unwrap()).unwrap();
        socket.listen(0).unwrap();
        let listener = UnixListener::from_std(socket.into()).unwrap();
        let _first = UnixStream::connect_addr(&name).unwrap();
        // A limit, a cancellation, a future that is dropped, and one that gets through.
        let waits = myriad::spawn({
            let name = name.clone();
            move || UnixStream::connect_addr(&name).map(drop)
        });
        let future = myriad::time::timeout_async(Duration::from_millis(5), UnixStream::connect_addr_async(&name));
        assert!(myriad::block_on(future).is_err());
        waits.cancel();
        assert!(waits.join().unwrap_err().is_cancelled());
        let waits = myriad::spawn({
            let name = name.clone();
            move || UnixStream::connect_addr(&name).map(drop)
        });
        listener.accept().unwrap();
        listener.accept().unwrap();
        waits.join().unwrap().unwrap();
    });
}

#[test]
fn connecting_with_a_limit() {
    each_runtime(|| {
        let place = Place::new();
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        socket.bind(&socket2::SockAddr::unix(&place.0).unwrap()).unwrap();
        socket.listen(0).unwrap();
        let limit = Duration::from_millis(5);
        let first = UnixStream::connect_timeout(&place.0, limit).unwrap();
        assert_eq!(UnixStream::connect_timeout(&place.0, limit).unwrap_err().kind(), ErrorKind::TimedOut);
        let error = myriad::block_on(UnixStream::connect_timeout_async(&place.0, limit)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // The limit was that of the connecting: this write would wait for ever.
        first.set_write_deadline(Some(myriad::time::now() + limit));
        while first.write(&[0; 4096]).is_ok() {}
        first.set_write_deadline(None);
        let waits = myriad::spawn(move || first.write(&[0; 4096]));
        wait_until(|| is_waiting(&waits));
        waits.cancel();
        assert!(waits.join().unwrap_err().is_cancelled());
    });
}

#[test]
fn closed_while_they_wait() {
    // (14.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let listener = UnixListener::bind_addr(&name()).unwrap();
        let datagram = UnixDatagram::bind_addr(&name()).unwrap();
        let all = || (one.try_clone().unwrap(), listener.try_clone().unwrap(), datagram.try_clone().unwrap());
        let [a, b, c, d, e, f] = [(); 6].map(|()| all());
        let waits = [
            myriad::spawn(move || a.0.read(&mut [0]).map(drop)),
            myriad::spawn(move || b.1.accept().map(drop)),
            myriad::spawn(move || c.2.recv(&mut [0]).map(drop)),
            myriad::spawn(move || myriad::block_on(d.0.read_async(&mut [0])).map(drop)),
            myriad::spawn(move || myriad::block_on(e.1.accept_async()).map(drop)),
            myriad::spawn(move || myriad::block_on(f.2.recv_with_fds_async(&mut [0])).map(drop)),
        ];
        wait_until(|| waits.iter().all(is_waiting));
        one.close();
        listener.close();
        datagram.close();
        for wait in waits {
            assert_eq!(wait.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
        }
        assert_eq!(listener.incoming().count(), 0);
        drop(two);
    });
}

#[test]
fn written_until_full() {
    // (9.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| i as u8).collect();
        let expected = bytes.clone();
        let writer = myriad::spawn(move || (&one).write_all(&bytes).unwrap());
        let mut read = Vec::new();
        let mut buffer = [0; 777];
        loop {
            match two.read(&mut buffer).unwrap() {
                0 => break,
                n => read.extend_from_slice(&buffer[..n]),
            }
        }
        writer.join().unwrap();
        assert!(read == expected);
    });
}

#[test]
fn more_buffers_than_the_system_takes() {
    let (one, two) = UnixStream::pair().unwrap();
    let buffers = vec![std::io::IoSlice::new(b"x"); 2000];
    assert_eq!(one.write_vectored(&buffers).unwrap(), 1024);
    let mut bytes = vec![[0; 1]; 2000];
    let mut buffers: Vec<_> = bytes.iter_mut().map(|byte| std::io::IoSliceMut::new(byte)).collect();
    assert_eq!(two.read_vectored(&mut buffers).unwrap(), 1024);
    let (reader, writer) = myriad::io::pipe().unwrap();
    let buffers = vec![std::io::IoSlice::new(b"x"); 2000];
    assert_eq!(writer.write_vectored(&buffers).unwrap(), 1024);
    let mut bytes = vec![[0; 1]; 2000];
    let mut buffers: Vec<_> = bytes.iter_mut().map(|byte| std::io::IoSliceMut::new(byte)).collect();
    assert_eq!(reader.read_vectored(&mut buffers).unwrap(), 1024);
}

#[test]
fn half_closed() {
    // (21.)
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(two.read(&mut [0]).unwrap(), 0);
        (&two).write_all(b"still").unwrap();
        assert_eq!(one.read(&mut [0; 8]).unwrap(), 5);
        drop(one);
        assert_eq!(two.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn datagrams() {
    // (4: two before the first look, one of no bytes, one that is larger than the buffer.)
    each_runtime(|| {
        let (name, place) = (name(), Place::new());
        let (one, two) = (UnixDatagram::bind_addr(&name).unwrap(), UnixDatagram::bind(&place.0).unwrap());
        one.send_to(b"hello", &place.0).unwrap();
        one.send_to(b"", &place.0).unwrap();
        one.send_to(b"longer than that", &place.0).unwrap();
        one.send_to(b"x", &place.0).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(two.peek(&mut buffer).unwrap(), 5);
        let (n, from) = two.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..n], from.as_abstract_name()), (&b"hello"[..], name.as_abstract_name()));
        assert_eq!(two.recv(&mut buffer).unwrap(), 0);
        let received = two.recv_with_fds(&mut buffer).unwrap();
        assert_eq!((&buffer, received.len, received.truncated), (b"longer t", 8, true));
        assert_eq!(received.from.unwrap().as_abstract_name(), name.as_abstract_name());
        assert_eq!(myriad::block_on(two.recv_async(&mut buffer)).unwrap(), 1);
        let waits = myriad::spawn(move || {
            let mut buffer = [0; 8];
            let n = two.recv(&mut buffer).unwrap();
            buffer[..n].to_vec()
        });
        one.connect(&place.0).unwrap();
        one.send(b"last").unwrap();
        assert_eq!(waits.join().unwrap(), b"last");
    });
}

#[test]
fn datagrams_to_a_full_queue() {
    // (The system has no event for a sender that is not connected.)
    each_runtime(|| {
        for connected in [false, true] {
            let to = name();
            let receiver = UnixDatagram::bind_addr(&to).unwrap();
            let sender = UnixDatagram::unbound().unwrap();
            if connected {
                sender.connect_addr(&to).unwrap();
            }
            let closure = myriad::spawn(move || {
                for i in 0..100_u8 {
                    let sent = match (i % 2, connected) {
                        (0, true) => sender.send(&[i]),
                        (_, true) => myriad::block_on(sender.send_async(&[i])),
                        (0, _) => sender.send_to_addr(&[i], &to),
                        _ => myriad::block_on(sender.send_to_addr_async(&[i], &to)),
                    };
                    assert_eq!(sent.unwrap(), 1);
                }
                sender
            });
            wait_until(|| is_waiting(&closure));
            for i in 0..100 {
                let mut byte = [0];
                receiver.recv(&mut byte).unwrap();
                assert_eq!(byte, [i]);
            }
            let sender = closure.join().unwrap();
            drop(receiver);
            if connected {
                // (It goes at once, or when the reactor has told it of its last event.)
                let refused = || sender.send(b"x").is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
                wait_until(refused);
            }
        }
    });
}

#[test]
fn a_datagram_for_which_there_is_no_room_has_a_limit() {
    each_runtime(|| {
        let to = name();
        let _receiver = UnixDatagram::bind_addr(&to).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.set_write_timeout(Some(Duration::from_millis(3))).unwrap();
        let error = (0..10_000).find_map(|_| sender.send_to_addr(b"x", &to).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        sender.set_write_timeout(None).unwrap();
        let other = sender.try_clone().unwrap();
        let waits = myriad::spawn(move || other.send_to_addr(b"x", &to));
        wait_until(|| is_waiting(&waits));
        sender.close();
        assert_eq!(waits.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn datagrams_with_descriptors() {
    each_runtime(|| {
        let (one, two) = UnixDatagram::pair().unwrap();
        let (mut out, in_) = std::io::pipe().unwrap();
        one.send_with_fds(b"", &[in_.as_fd()]).unwrap();
        drop(in_);
        let received = two.recv_with_fds(&mut []).unwrap();
        assert_eq!((received.len, received.fds.len()), (0, 1));
        drop(received);
        assert_eq!(out.read(&mut [0]).unwrap(), 0);
        one.shutdown(Shutdown::Both).unwrap();
        assert_eq!(two.send(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn plain_threads_need_no_runtime() {
    let (one, two) = UnixStream::pair().unwrap();
    let echo = std::thread::spawn(move || std::io::copy(&mut &two, &mut &two).unwrap());
    (&one).write_all(b"hello").unwrap();
    one.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    (&one).read_to_string(&mut text).unwrap();
    assert_eq!((&*text, echo.join().unwrap()), ("hello", 5));
}
