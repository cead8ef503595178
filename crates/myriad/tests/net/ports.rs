//! The behaviour that tests of tokio (1.54) and of Go's package `net` are about, as it reads here.
//! They were written after the names of those tests, and not line by line.
//!
//! | tokio | here |
//! |---|---|
//! | `tcp_accept` | [`accept_many`], [`no_poll_too_many`]; several addresses: `failures.rs` |
//! | `tcp_accept_ready` | [`a_new_connection_is_ready`], [`a_filled_buffer_goes_on`] |
//! | its `later_reads_after_runtime_drop` | differs: they work (`several_runtimes.rs`) |
//! | `tcp_connect` | [`connect_to_all_kinds_of_addresses`] |
//! | `tcp_echo` | [`echo_server`] |
//! | `tcp_split`, `tcp_into_split` | [`split`]; no halves to reunite |
//! | `tcp_peek`, `tcp_shutdown` | [`peek`], [`shutdown_more_than_once`], [`shutdown_after_a_reset`] |
//! | `tcp_stream` `buffer_not_included_in_future` | [`a_buffer_is_no_part_of_the_future`] |
//! | `tcp_stream` `read_closed`, `write_closed` | `edges.rs`, `given_up.rs` |
//! | `udp` send, receive, peek, split, options | [`udp_send_and_receive`], [`udp_split`], [`udp_options`] |
//! | `tcp_into_std`, `tcp_socket`; `try_*`, `*_buf*` | do not apply: there are no such calls. `poll_*`: `polled.rs` |
//!
//! | Go | here |
//! |---|---|
//! | `TestDialTimeout*` | [`connect_with_limits`] |
//! | `TestAcceptTimeout`, `TestReadTimeout`, `TestReadFromTimeout` | [`deadlines_in_the_past`] |
//! | the same | differs: a deadline ends waits, and what is there already is read |
//! | `TestWriteTimeout` | [`deadlines_in_the_past`], `given_up.rs` |
//! | `Test*MustReturn`, `Test*MustNotReturn` | [`deadlines_that_are_taken_back`] |
//! | `Test*Fluctuation`, `TestReadWriteProlongedTimeout` | [`a_limit_that_is_renewed`] |
//! | `TestVariousDeadlines*` | `given_up.rs` |
//! | `TestReadWriteDeadlineRace`, `TestConcurrentSetDeadline` | [`deadlines_set_beside_reads_and_writes`] |
//! | `TestReadTimeoutUnblocksRead` | [`a_deadline_ends_a_read`] |
//! | `TestCloseUnblocksRead*`, `TestConnClose`, `TestPacketConnClose` | [`close_ends_all`], `given_up.rs` |
//! | `TestListenerClose` | [`close_ends_all`]; differs: the port is free with the last handle |
//! | `TestCloseRead`, `TestCloseWrite`, `TestZeroByteRead` | `edges.rs` |
//! | `TestAcceptIgnoreAbortedConnRequest` | `failures.rs` |
//! | dials that are cancelled | `given_up.rs` |
//! | `TestDualStack*`, files, interfaces, look-ups by other servers | do not apply |

use crate::common::wait_until;
use crate::each_runtime;
use crate::ends::{at_once, each_form, half, listener, moment, pair};
use myriad::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use myriad::time;
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::{self, IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

#[test]
fn accept_many() {
    each_form(|form| {
        // Situation 7. A hundred accept at one listener.
        const N: usize = 100;
        let (listener, address) = listener();
        let accepts: Vec<_> = (0..N)
            .map(|_| {
                let listener = listener.try_clone().unwrap();
                form.spawn(move || form.accept(&listener).unwrap().1)
            })
            .collect();
        moment(2);
        let clients: Vec<_> = (0..N).map(|_| net::TcpStream::connect(address).unwrap()).collect();
        let mut accepted: Vec<_> = accepts.into_iter().map(|accept| accept.join()).collect();
        let mut expected: Vec<_> = clients.iter().map(|client| client.local_addr().unwrap()).collect();
        accepted.sort();
        expected.sort();
        assert_eq!(accepted, expected, "each once");
    });
}

/// A future that counts how often it is polled.
struct Counted<F>(F, Arc<AtomicUsize>);

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = F::Output;
    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, SeqCst);
        std::pin::Pin::new(&mut self.0).poll(cx)
    }
}

#[test]
fn no_poll_too_many() {
    each_runtime(|| {
        // Situation 7. Those who wait are let go by what is for them, and by nothing else.
        let (listener, address) = listener();
        let polls = [(); 4].map(|()| Arc::new(AtomicUsize::new(0)));
        let accepts = polls.each_ref().map(|count| {
            let listener = listener.try_clone().unwrap();
            let accept = Box::pin(async move { listener.accept_async().await.unwrap().1 });
            myriad::spawn_async(Counted(accept, count.clone()))
        });
        wait_until(|| polls.iter().all(|count| count.load(SeqCst) == 1));
        let clients = polls.each_ref().map(|_| {
            let client = net::TcpStream::connect(address).unwrap();
            time::sleep(Duration::from_micros(200));
            client
        });
        accepts.into_iter().for_each(|accept| _ = accept.join().unwrap());
        // Its first poll, and one or two more: who accepts lets the next one look for another.
        let n: usize = polls.iter().map(|count| count.load(SeqCst)).sum();
        assert!(n <= 4 * polls.len(), "{n} polls of {}", polls.len());
        drop(clients);
    });
}

#[test]
fn a_new_connection_is_ready() {
    each_runtime(|| {
        let (listener, address) = listener();
        let mut client = net::TcpStream::connect(address).unwrap();
        client.write_all(b"hello").unwrap();
        let (stream, _) = listener.accept().unwrap();
        let mut room = [0; 8];
        assert_eq!(at_once(stream.peek_async(&mut room)).unwrap().unwrap(), 5);
        assert_eq!(at_once(stream.read_async(&mut room)).unwrap().unwrap(), 5);
        assert!(at_once(stream.read_async(&mut room)).is_none(), "there is no more");
        assert_eq!(at_once(stream.write_async(b"answer")).unwrap().unwrap(), 6);
        let buffers = [std::io::IoSlice::new(b"and"), std::io::IoSlice::new(b"more")];
        assert_eq!(at_once(stream.write_vectored_async(&buffers)).unwrap().unwrap(), 7);
        client.read_exact(&mut [0; 13]).unwrap();
        // It waits, and is served later.
        let reads = myriad::spawn(move || stream.read(&mut [0; 8]).unwrap());
        client.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
    });
}

#[test]
fn a_filled_buffer_goes_on() {
    each_runtime(|| {
        let (stream, mut peer) = half();
        peer.write_all(&[1; 20]).unwrap();
        let mut room = [0; 4];
        for _ in 0..5 {
            assert_eq!(at_once(stream.read_async(&mut room)).unwrap().unwrap(), 4);
        }
        assert!(at_once(stream.read_async(&mut room)).is_none());
    });
}

#[test]
fn connect_to_all_kinds_of_addresses() {
    each_form(|form| {
        let (listener, address) = listener();
        let port = address.port();
        let connects: [fn(u16) -> std::io::Result<TcpStream>; 8] = [
            |port| TcpStream::connect((Ipv4Addr::LOCALHOST, port)),
            |port| TcpStream::connect((IpAddr::from(Ipv4Addr::LOCALHOST), port)),
            |port| TcpStream::connect(format!("127.0.0.1:{port}")),
            |port| TcpStream::connect(&*format!("127.0.0.1:{port}")),
            |port| TcpStream::connect(("127.0.0.1", port)),
            |port| TcpStream::connect(("127.0.0.1".to_owned(), port)),
            |port| TcpStream::connect(("localhost", port)),
            |port| myriad::block_on(TcpStream::connect_async(format!("localhost:{port}"))),
        ];
        for connect in connects {
            let stream = connect(port).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address);
            assert_eq!(form.accept(&listener).unwrap().1, stream.local_addr().unwrap());
        }
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let address = listener.local_addr().unwrap();
            let stream = form.connect(address).unwrap();
            assert_eq!(form.accept(&listener).unwrap().1, stream.local_addr().unwrap());
        }
    });
}

#[test]
fn echo_server() {
    each_form(|form| {
        const ROUNDS: usize = 256;
        let (listener, address) = listener();
        let client = form.spawn(move || {
            let (mut stream, message) = (form.connect(address).unwrap(), b"foo bar baz");
            for _ in 0..ROUNDS {
                stream.write_all(message).unwrap();
                assert_eq!(form.read_all(&stream, message.len()), message);
            }
        });
        let (stream, _) = form.accept(&listener).unwrap();
        assert_eq!(std::io::copy(&mut &stream, &mut &stream).unwrap(), (ROUNDS * 11) as u64);
        client.join();
    });
}

#[test]
fn split() {
    each_runtime(|| {
        // Situation 8. One reads, another one writes, both wait, and one message wakes both.
        let (stream, mut peer) = half();
        let fill = vec![0; 1 << 20];
        let stream = Arc::new(stream);
        let writes = myriad::spawn({
            let stream = stream.clone();
            move || (&*stream).write_all(&fill)
        });
        let reads = myriad::spawn({
            let stream = stream.clone();
            move || stream.read(&mut [0; 8]).unwrap()
        });
        let future = myriad::spawn_async({
            let stream = stream.try_clone().unwrap();
            async move { stream.read_async(&mut [0; 8]).await.unwrap() }
        });
        moment(1);
        peer.write_all(b"for one").unwrap();
        wait_until(|| reads.is_finished() || future.is_finished());
        peer.write_all(b"for the other").unwrap();
        peer.read_exact(&mut vec![0; 1 << 20]).unwrap();
        writes.join().unwrap().unwrap();
        assert!(reads.join().unwrap() + future.join().unwrap() <= 16);
        // A handle that goes ends nothing.
        drop(stream.try_clone().unwrap());
        (&*stream).write_all(b"x").unwrap();
        assert_eq!(peer.read(&mut [0; 8]).unwrap(), 1);
    });
}

#[test]
fn peek() {
    each_form(|form| {
        let (stream, mut peer) = half();
        let peeks = form.spawn(move || {
            let mut room = [0; 16];
            let n = form.peek(&stream, &mut room).unwrap();
            let all = form.read_all(&stream, 4);
            (room[..n].to_vec(), all)
        });
        moment(2);
        peer.write_all(&[1, 2, 3, 4]).unwrap();
        let (peeked, read) = peeks.join();
        assert!(read == [1, 2, 3, 4] && read.starts_with(&peeked) && !peeked.is_empty());
    });
}

#[test]
fn shutdown_more_than_once() {
    each_form(|form| {
        let (one, two) = pair();
        one.shutdown(Shutdown::Write).unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(form.read(&two, &mut [0; 4]).unwrap(), 0);
        two.shutdown(Shutdown::Both).unwrap();
        assert_eq!(form.read(&one, &mut [0; 4]).unwrap(), 0);
        // The system says whether the connection is over.
        if let Err(error) = two.shutdown(Shutdown::Both) {
            assert_eq!(error.kind(), ErrorKind::NotConnected);
        }
    });
}

#[test]
fn shutdown_after_a_reset() {
    each_form(|form| {
        let (one, two) = pair();
        two.set_linger(Some(Duration::ZERO)).unwrap();
        drop(two);
        assert_eq!(form.read(&one, &mut [0; 4]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(one.shutdown(Shutdown::Write).unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn a_buffer_is_no_part_of_the_future() {
    let (stream, _peer) = half();
    let mut room = [0; 8192];
    assert!(size_of_val(&stream.read_async(&mut room)) < 1000);
}

#[test]
fn udp_send_and_receive() {
    each_form(|form| {
        let [one, two] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let [a, b] = [&one, &two].map(|socket| socket.local_addr().unwrap());
        let mut room = [0; 32];
        assert_eq!(one.send_to(b"hello", b).unwrap(), 5);
        assert_eq!(myriad::block_on(two.peek_from_async(&mut room)).unwrap(), (5, a));
        assert_eq!(two.peek_from(&mut room).unwrap(), (5, a));
        assert_eq!((form.recv_from(&two, &mut room).unwrap(), &room[..5]), ((5, a), &b"hello"[..]));
        one.connect(b).unwrap();
        two.connect(a).unwrap();
        assert_eq!((one.peer_addr().unwrap(), two.peer_addr().unwrap()), (b, a));
        assert_eq!(one.send(b"connected").unwrap(), 9);
        assert_eq!(two.peek(&mut room).unwrap(), 9);
        assert_eq!(myriad::block_on(two.recv_async(&mut room)).unwrap(), 9);
        assert_eq!(myriad::block_on(two.send_async(b"back")).unwrap(), 4);
        assert_eq!(one.recv(&mut room).unwrap(), 4);
        // Who is not connected is not heard.
        let third = UdpSocket::bind("127.0.0.1:0").unwrap();
        third.send_to(b"no", a).unwrap();
        two.send(b"yes").unwrap();
        assert_eq!(one.recv(&mut room).unwrap(), 3);
    });
}

#[test]
fn udp_split() {
    each_runtime(|| {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = socket.local_addr().unwrap();
        let receives = [false, true].map(|future| {
            let socket = socket.clone();
            let mut room = [0; 16];
            match future {
                true => myriad::spawn_async(async move { socket.recv_from_async(&mut room).await.unwrap() }),
                false => myriad::spawn(move || socket.recv_from(&mut room).unwrap()),
            }
        });
        for message in [&b"hello"[..], b"world"] {
            assert_eq!(myriad::block_on(socket.send_to_async(message, address)).unwrap(), 5);
        }
        receives.into_iter().for_each(|receive| assert_eq!(receive.join().unwrap(), (5, address)));
    });
}

#[test]
fn udp_options() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(!socket.broadcast().unwrap());
    socket.set_broadcast(true).unwrap();
    assert!(socket.broadcast().unwrap());
    socket.set_ttl(7).unwrap();
    assert_eq!(socket.ttl().unwrap(), 7);
    assert_eq!(socket.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
    let group = Ipv4Addr::new(224, 0, 0, 123);
    let any = Ipv4Addr::UNSPECIFIED;
    // (Where there is a network for it.)
    if socket.join_multicast_v4(&group, &any).is_ok() {
        socket.leave_multicast_v4(&group, &any).unwrap();
    }
    assert!(socket.leave_multicast_v4(&group, &any).is_err(), "it is no member");
}

#[test]
fn connect_with_limits() {
    each_runtime(|| {
        let (listener, address, _held) = crate::given_up::full_listener();
        for limit in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(3)] {
            assert_eq!(TcpStream::connect_timeout(address, limit).unwrap_err().kind(), ErrorKind::TimedOut);
            let error = myriad::block_on(TcpStream::connect_timeout_async(address, limit)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
        drop(listener);
        let (listener, address) = crate::ends::listener();
        for limit in [Duration::from_nanos(u64::MAX), Duration::MAX] {
            TcpStream::connect_timeout(address, limit).unwrap();
            // None of it is left for the connection.
            let stream = myriad::block_on(TcpStream::connect_timeout_async(address, limit)).unwrap();
            assert_eq!(stream.write_timeout().unwrap(), None);
        }
        drop(listener);
    });
}

#[test]
fn deadlines_in_the_past() {
    each_form(|form| {
        let (listener, address) = listener();
        let past = time::now();
        listener.set_accept_deadline(Some(past));
        assert_eq!(form.accept(&listener).unwrap_err().kind(), ErrorKind::TimedOut);
        let client = net::TcpStream::connect(address).unwrap();
        let accepted = form.accept(&listener).unwrap();
        assert_eq!(accepted.1, client.local_addr().unwrap());

        let (stream, mut peer) = half();
        stream.set_read_deadline(Some(past));
        stream.set_write_deadline(Some(past));
        for _ in 0..3 {
            assert_eq!(form.read(&stream, &mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
        }
        assert_eq!(form.write(&stream, b"x").unwrap(), 1, "it need not wait");
        assert_eq!(peer.read(&mut [0; 4]).unwrap(), 1);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_deadline(Some(past));
        assert_eq!(form.recv_from(&socket, &mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
        peer.write_all(b"y").unwrap();
        stream.set_read_deadline(None);
        assert_eq!(form.read(&stream, &mut [0; 4]).unwrap(), 1);
    });
}

#[test]
fn deadlines_that_are_taken_back() {
    each_form(|form| {
        let (stream, mut peer) = half();
        stream.set_read_deadline(None);
        stream.set_read_deadline(Some(time::now() + Duration::from_millis(2)));
        assert_eq!(form.read(&stream, &mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
        stream.set_write_deadline(Some(time::now()));
        stream.set_read_deadline(None);
        let reads = form.spawn({
            let stream = stream.try_clone().unwrap();
            move || form.read(&stream, &mut [0; 4]).unwrap()
        });
        moment(2);
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join(), 1, "the limit of the other direction is none of its own");
        let reads = form.spawn({
            let stream = stream.try_clone().unwrap();
            move || form.read(&stream, &mut [0; 4]).unwrap_err().kind()
        });
        moment(3);
        stream.close();
        assert_eq!(reads.join(), ErrorKind::NotConnected, "a close is no limit");
    });
}

#[test]
fn a_limit_that_is_renewed() {
    each_form(|form| {
        let (stream, mut peer) = half();
        let writes = std::thread::spawn(move || {
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(1));
                peer.write_all(b"x").unwrap();
            }
            peer
        });
        let mut n = 0;
        // (A limit that is renewed each time, and long for what comes.)
        while n < 5 {
            stream.set_read_deadline(Some(time::now() + Duration::from_secs(60)));
            n += form.read(&stream, &mut [0; 4]).unwrap();
        }
        stream.set_read_deadline(Some(time::now() + Duration::from_millis(2)));
        assert_eq!(form.read(&stream, &mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(writes.join().unwrap());
        assert_eq!(form.read(&stream, &mut [0; 4]).unwrap(), 0, "the end is there after it");
    });
}

#[test]
fn deadlines_set_beside_reads_and_writes() {
    each_runtime(|| {
        let (one, two) = pair();
        let [one, two] = [one, two].map(Arc::new);
        let stop = Arc::new(AtomicBool::new(false));
        let sets = [(); 4].map(|()| {
            let (stream, stop) = (one.clone(), stop.clone());
            myriad::spawn(move || {
                while !stop.load(SeqCst) {
                    stream.set_read_deadline(Some(time::now() + Duration::from_micros(50)));
                    stream.set_write_deadline(Some(time::now() + Duration::from_micros(50)));
                    time::sleep(Duration::from_micros(20));
                }
            })
        });
        let writes = myriad::spawn({
            let stream = one.clone();
            move || {
                let (bytes, mut at) = (Vec::from_iter((0..100_000_u32).map(|i| i as u8)), 0);
                while at < bytes.len() {
                    match stream.write(&bytes[at..(at + 700).min(100_000)]) {
                        Ok(n) => at += n,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                    }
                }
            }
        });
        let echoes = myriad::spawn(move || _ = std::io::copy(&mut &*two, &mut &*two));
        let (mut at, mut room) = (0, [0; 512]);
        while at < 100_000 {
            match one.read(&mut room) {
                Ok(n) => {
                    room[..n].iter().enumerate().for_each(|(i, &byte)| assert_eq!(byte, (at + i) as u8));
                    at += n;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
        }
        stop.store(true, SeqCst);
        sets.into_iter().for_each(|task| task.join().unwrap());
        writes.join().unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        echoes.join().unwrap();
    });
}

#[test]
fn a_deadline_ends_a_read() {
    each_runtime(|| {
        let (stream, _peer) = half();
        let reads = myriad::spawn({
            let stream = stream.try_clone().unwrap();
            move || stream.read(&mut [0; 4]).unwrap_err().kind()
        });
        moment(2);
        stream.set_read_deadline(Some(time::now()));
        assert_eq!(reads.join().unwrap(), ErrorKind::TimedOut);
    });
}

#[test]
fn close_ends_all() {
    each_form(|form| {
        let (listener, address) = listener();
        let accepts = form.spawn({
            let listener = listener.try_clone().unwrap();
            move || form.accept(&listener).unwrap_err()
        });
        moment(2);
        listener.close();
        let error = accepts.join();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        assert!(error.to_string().starts_with(&format!("accept at {address}: ")), "{error}");
        drop(listener);
        assert_eq!(net::TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.close();
        assert_eq!(form.recv_from(&socket, &mut [0; 4]).unwrap_err().kind(), ErrorKind::NotConnected);
        let error = socket.send_to(b"x", socket.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
    });
}
