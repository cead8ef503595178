//! Short reads and edges: what is there is found, whatever the kernel tells once only.

use crate::each_runtime;
use crate::ends::{Form, each_form, half, moment, option, pair, send_urgent, set_option};
use myriad::net::{Shutdown, TcpStream, UdpSocket};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net;
use std::time::Duration;

/// Situation 1. Data and the end before the first look: one event, if any, for both.
#[test]
fn data_and_the_end_before_the_first_look() {
    each_form(|form| {
        let (stream, mut peer) = half();
        peer.write_all(b"abc").unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        let mut room = [0; 16];
        assert_eq!(form.read(&stream, &mut room).unwrap(), 3);
        for _ in 0..3 {
            assert_eq!(form.read(&stream, &mut room).unwrap(), 0, "the end stays");
        }
    });
}

/// The same while somebody waits already.
#[test]
fn data_and_the_end_while_one_waits() {
    each_form(|form| {
        for round in 0..40 {
            let (stream, mut peer) = half();
            let reads = form.spawn(move || {
                let mut room = [0; 16];
                let mut all = Vec::new();
                loop {
                    match form.read(&stream, &mut room).unwrap() {
                        0 => return all,
                        n => all.extend_from_slice(&room[..n]),
                    }
                }
            });
            moment(round);
            peer.write_all(b"abc").unwrap();
            moment(round / 4);
            drop(peer);
            assert_eq!(reads.join(), b"abc");
        }
    });
}

/// Situation 2. The reader is let go at the urgent byte, with more behind it.
#[test]
fn an_urgent_byte_between_two_segments() {
    each_form(|form| {
        for round in 0..8 {
            let (stream, mut peer) = half();
            if round % 2 == 1 {
                // It is registered, and has found nothing.
                stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                assert_eq!(form.read(&stream, &mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
                stream.set_read_timeout(None).unwrap();
            }
            let reads = form.spawn(move || {
                let all = form.read_all(&stream, 6);
                (all, stream)
            });
            moment(round / 2);
            peer.write_all(b"abc").unwrap();
            send_urgent(&peer, b'!');
            peer.write_all(b"efg").unwrap();
            let (all, stream) = reads.join();
            assert_eq!(all, b"abcefg");
            // From then on, too.
            peer.write_all(b"hij").unwrap();
            assert_eq!(form.read_all(&stream, 3), b"hij");
        }
    });
}

/// Situation 5. A peek into a small buffer leaves all for the reads.
#[test]
fn a_peek_before_a_read() {
    each_form(|form| {
        let (stream, mut peer) = half();
        peer.write_all(b"abcdef").unwrap();
        let mut room = [0; 16];
        assert_eq!((form.peek(&stream, &mut room[..2]).unwrap(), &room[..2]), (2, &b"ab"[..]));
        assert_eq!((form.peek(&stream, &mut room).unwrap(), &room[..6]), (6, &b"abcdef"[..]));
        assert_eq!(form.peek(&stream, &mut room).unwrap(), 6);
        assert_eq!(form.read_all(&stream, 6), b"abcdef");
        drop(peer);
        assert_eq!(form.peek(&stream, &mut room).unwrap(), 0);
        assert_eq!(form.read(&stream, &mut room).unwrap(), 0);
    });
}

/// Situation 6. The last bytes before the end fill the buffer; a read into nothing takes nothing.
#[test]
fn a_buffer_that_is_just_filled() {
    each_form(|form| {
        let (stream, mut peer) = half();
        assert_eq!(form.read(&stream, &mut []).unwrap(), 0, "at once, and no end");
        peer.write_all(b"abcd").unwrap();
        drop(peer);
        let mut room = [0; 4];
        assert_eq!(form.read(&stream, &mut []).unwrap(), 0);
        assert_eq!(form.read(&stream, &mut room).unwrap(), 4);
        assert_eq!(form.read(&stream, &mut []).unwrap(), 0);
        assert_eq!(form.read(&stream, &mut room).unwrap(), 0);
    });
}

/// Situation 9. The peer takes it byte by byte: the writer goes on each time, and all arrives.
#[test]
fn a_writer_of_whom_the_peer_reads_little() {
    each_form(|form| {
        let (stream, mut peer) = half();
        set_option(&stream, libc::SOL_SOCKET, libc::SO_SNDBUF, 4096);
        set_option(&peer, libc::SOL_SOCKET, libc::SO_RCVBUF, 4096);
        let writes = form.spawn(move || {
            let bytes: Vec<u8> = (0..=255).collect();
            for _ in 0..256 {
                let mut at = 0;
                while at < bytes.len() {
                    at += form.write(&stream, &bytes[at..]).unwrap();
                }
            }
        });
        let (mut room, mut n) = ([0; 512], 0_usize);
        loop {
            // One by one at first, while the writer is held up.
            let most = if n < 300 { 1 } else { room.len() };
            match peer.read(&mut room[..most]).unwrap() {
                0 => break,
                read => {
                    room[..read].iter().enumerate().for_each(|(i, &byte)| assert_eq!(usize::from(byte), (n + i) % 256));
                    n += read;
                }
            }
        }
        assert_eq!(n, 256 * 256);
        writes.join();
    });
}

/// Situation 21. Each direction ends by itself.
#[test]
fn half_closed_each_way() {
    each_form(|form| {
        let (stream, mut peer) = half();
        let mut room = [0; 8];
        peer.shutdown(Shutdown::Write).unwrap();
        assert_eq!(form.read(&stream, &mut room).unwrap(), 0);
        assert_eq!(form.write(&stream, b"after").unwrap(), 5);
        peer.read_exact(&mut room[..5]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(peer.read(&mut room).unwrap(), 0);
        let error = form.write(&stream, b"more").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);

        let (stream, mut peer) = half();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(peer.read(&mut room).unwrap(), 0);
        peer.write_all(b"after").unwrap();
        assert_eq!(form.read_all(&stream, 5), b"after");
    });
}

/// A read that waits sees that this end stops reading.
#[test]
fn shut_down_for_reading_while_one_reads() {
    each_form(|form| {
        for round in 0..8 {
            let (stream, _peer) = half();
            let other = stream.try_clone().unwrap();
            let reads = form.spawn(move || form.read(&other, &mut [0; 8]).unwrap());
            moment(round);
            stream.shutdown(Shutdown::Read).unwrap();
            assert_eq!(reads.join(), 0);
        }
    });
}

/// Situation 4. Datagrams of before the first look, empty ones, and ones that are too long.
#[test]
fn datagrams_of_each_length() {
    each_form(|form| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let peer = net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let from = peer.local_addr().unwrap();
        for bytes in [&b"one"[..], b"two", b"", b"a long one", b"last"] {
            peer.send_to(bytes, to).unwrap();
        }
        let mut room = [0; 4];
        assert_eq!((form.recv_from(&socket, &mut room).unwrap(), &room[..3]), ((3, from), &b"one"[..]));
        assert_eq!((form.recv_from(&socket, &mut room).unwrap(), &room[..3]), ((3, from), &b"two"[..]));
        assert_eq!(form.recv_from(&socket, &mut room).unwrap(), (0, from), "an empty one is no end");
        assert_eq!((form.recv_from(&socket, &mut room).unwrap(), &room), ((4, from), b"a lo"), "the rest is lost");
        assert_eq!((form.recv_from(&socket, &mut room).unwrap(), &room), ((4, from), b"last"));
        // And while one waits.
        let waits = form.spawn(move || {
            let mut room = [0; 8];
            (0..3).map(|_| form.recv_from(&socket, &mut room).unwrap().0).collect::<Vec<_>>()
        });
        moment(2);
        for bytes in [&b"1"[..], b"", b"333"] {
            peer.send_to(bytes, to).unwrap();
        }
        assert_eq!(waits.join(), [1, 0, 3]);
    });
}

/// Situation 36. Options of the socket stay as they were set.
#[test]
fn options_survive() {
    each_form(|form| {
        let (stream, mut peer) = half();
        stream.set_nodelay(true).unwrap();
        stream.set_ttl(42).unwrap();
        set_option(&stream, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
        set_option(&stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 100);
        // Below the mark no event comes; all of it is read at once.
        let reads = form.spawn({
            let stream = stream.try_clone().unwrap();
            move || form.read_all(&stream, 150)
        });
        moment(2);
        peer.write_all(&[1; 50]).unwrap();
        moment(3);
        peer.write_all(&[1; 100]).unwrap();
        assert_eq!(reads.join(), [1; 150]);
        // Below it, with the end behind.
        peer.write_all(&[2; 50]).unwrap();
        drop(peer);
        assert_eq!(form.read_all(&stream, 50), [2; 50]);
        assert_eq!(form.read(&stream, &mut [0; 8]).unwrap(), 0);
        assert!(stream.nodelay().unwrap());
        assert_eq!(stream.ttl().unwrap(), 42);
        assert_eq!(option(&stream, libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
        assert_eq!(option(&stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT), 100);
    });
    // Without a linger the connection is reset.
    each_form(|form| {
        let (stream, peer) = half();
        let peer = TcpStream::from_std(peer).unwrap();
        stream.set_linger(Some(Duration::ZERO)).unwrap();
        assert_eq!(stream.linger().unwrap(), Some(Duration::ZERO));
        drop(stream);
        assert_eq!(form.read(&peer, &mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

/// More buffers than the system takes in one call.
#[test]
fn more_buffers_than_one_call_takes() {
    fn check(form: Form, future: bool) {
        let (stream, peer) = pair();
        let bytes = [7; 2];
        let buffers: Vec<_> = (0..3000).map(|_| IoSlice::new(&bytes)).collect();
        let n = if future {
            myriad::block_on(stream.write_vectored_async(&buffers)).unwrap()
        } else {
            stream.write_vectored(&buffers).unwrap()
        };
        assert!(n > 0);
        assert_eq!(form.read_all(&peer, n), vec![7; n]);
        (&stream).write_all(&[9; 100]).unwrap();
        let mut room = vec![[0; 1]; 3000];
        let mut buffers: Vec<_> = room.iter_mut().map(|byte| IoSliceMut::new(byte)).collect();
        let mut read = 0;
        while read < 100 {
            let rest = &mut buffers[read..];
            read += if future {
                myriad::block_on(peer.read_vectored_async(rest)).unwrap()
            } else {
                peer.read_vectored(rest).unwrap()
            };
        }
        assert_eq!(room.iter().filter(|byte| byte[0] == 9).count(), 100);
    }
    each_form(|form| [false, true].into_iter().for_each(|future| check(form, future)));
}

/// Both directions at once, each more than the system holds: nobody waits for the other.
#[test]
fn both_directions_at_once() {
    each_runtime(|| {
        const N: usize = 300_000;
        let (one, two) = pair();
        let both = |stream: TcpStream| {
            let other = stream.try_clone().unwrap();
            let writes = myriad::spawn(move || {
                (&other).write_all(&vec![5; N]).unwrap();
                other.shutdown(Shutdown::Write).unwrap();
            });
            let reads = myriad::spawn_async(async move {
                let mut bytes = Vec::new();
                assert_eq!(stream.read_to_end_async(&mut bytes).await.unwrap(), N);
                assert!(bytes.iter().all(|&byte| byte == 5));
            });
            (writes, reads)
        };
        let all = [both(one), both(two)];
        all.into_iter().for_each(|(writes, reads)| {
            writes.join().unwrap();
            reads.join().unwrap();
        });
    });
}

/// Situation 7. Two readers of one stream: each byte comes to one of them, and both see the end.
#[test]
fn two_readers() {
    each_form(|form| {
        let (stream, mut peer) = half();
        let readers = [(); 2].map(|()| {
            let stream = stream.try_clone().unwrap();
            form.spawn(move || {
                let mut n = 0;
                loop {
                    match form.read(&stream, &mut [0; 3]).unwrap() {
                        0 => return n,
                        read => n += read,
                    }
                }
            })
        });
        for round in 0..40 {
            peer.write_all(&[0; 5]).unwrap();
            moment(round);
        }
        drop(peer);
        assert_eq!(readers.into_iter().map(|reader| reader.join()).sum::<usize>(), 200);
    });
}

/// Situation 16. Two descriptors of one socket, and one of them goes, after it was waited for: the
/// other one is told of all that comes.
#[test]
fn two_descriptors_of_one_socket() {
    each_form(|form| {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let both = [stream.try_clone().unwrap(), stream].map(|stream| TcpStream::from_std(stream).unwrap());
        for stream in &both {
            stream.set_read_timeout(Some(Duration::from_micros(100))).unwrap();
            assert_eq!(form.read(stream, &mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
            stream.set_read_timeout(None).unwrap();
        }
        let [one, two] = both;
        drop(one);
        for round in 0..4 {
            let reads = form.spawn({
                let two = two.try_clone().unwrap();
                move || form.read(&two, &mut [0; 8]).unwrap()
            });
            moment(round);
            peer.write_all(b"x").unwrap();
            assert_eq!(reads.join(), 1);
        }
        // A handle is no descriptor: what one of them does is true of both.
        let other = two.try_clone().unwrap();
        drop(two);
        assert_eq!(form.write(&other, b"y").unwrap(), 1);
        assert_eq!(peer.read(&mut [0; 8]).unwrap(), 1);
    });
}

/// An idle connection is a task that waits to read: each byte of that future is one of each
/// connection.
#[test]
#[cfg(target_pointer_width = "64")]
fn futures_are_small() {
    let (one, _other) = pair();
    let mut buffer = [0];
    let read = size_of_val(&one.read_async(&mut buffer));
    let write = size_of_val(&one.write_all_async(&[0]));
    assert!(read <= 112 && write <= 112, "{read}, {write}");
}
