//! Waits that are given up: by a cancellation, a limit in time, a drop, a close. Nothing is lost or
//! doubled.

use crate::common::{Rng, full_length, wait_until};
use crate::each_runtime;
use crate::ends::{each_form, half, listener, moment};
use myriad::net::{TcpListener, TcpStream, UdpSocket};
use myriad::time;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How often a race is run.
fn rounds(full: u32) -> u32 {
    if full_length() { full } else { (full / 50).max(100) }
}

/// A peer that writes the numbers of 0 to 255, over and over, so many bytes, with moving pauses.
fn counts(mut peer: std::net::TcpStream, bytes: u32) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut random = Rng(u64::from(bytes));
        let mut at = 0_u32;
        while at < bytes {
            let n = (1 + random.below(3) as u32).min(bytes - at);
            let piece: Vec<u8> = (at..at + n).map(|i| i as u8).collect();
            peer.write_all(&piece).unwrap();
            at += n;
            let began = std::time::Instant::now();
            let pause = Duration::from_nanos(random.below(60_000));
            while began.elapsed() < pause {
                std::thread::yield_now();
            }
        }
    })
}

/// Checks that bytes come in their order.
#[derive(Default)]
struct Order(u32);

impl Order {
    #[track_caller]
    fn check(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            assert_eq!(byte, self.0 as u8, "byte {} of the stream", self.0);
            self.0 += 1;
        }
    }
}

/// Situation 10. A read is cancelled at each moment around the arrival of the data.
#[test]
fn cancelled_around_the_arrival() {
    each_runtime(|| {
        let (stream, peer) = half();
        let stream = Arc::new(stream);
        let n = rounds(20_000);
        let peer = counts(peer, n);
        let (mut order, mut random, mut cancelled) = (Order::default(), Rng(10), 0);
        while order.0 < n {
            let of = stream.clone();
            let read = myriad::spawn(move || {
                let mut room = [0; 4];
                let n = of.read(&mut room).unwrap();
                (room, n)
            });
            let pause = random.below(40);
            (0..pause % 5).for_each(|_| myriad::yield_now());
            if pause >= 20 {
                time::sleep(Duration::from_micros(pause));
            }
            read.cancel();
            match read.join() {
                Ok((room, n)) => order.check(&room[..n]),
                Err(error) => {
                    assert!(error.is_cancelled(), "{error}");
                    cancelled += 1;
                }
            }
        }
        assert!(cancelled > 0, "none was cancelled in time");
        peer.join().unwrap();
        assert_eq!(stream.read(&mut [0; 4]).unwrap(), 0);
    });
}

/// Situation 11. The same with limits in time, of each kind.
#[test]
fn out_of_time_around_the_arrival() {
    each_form(|form| {
        let (stream, peer) = half();
        let n = rounds(20_000);
        let peer = counts(peer, n);
        let (mut order, mut random) = (Order::default(), Rng(11));
        let mut room = [0; 4];
        while order.0 < n {
            let limit = Duration::from_nanos(1 + random.below(60_000));
            let by_deadline = random.below(2) == 0;
            stream.set_read_timeout((!by_deadline).then_some(limit)).unwrap();
            stream.set_read_deadline(by_deadline.then(|| time::now() + limit));
            match form.read(&stream, &mut room) {
                Ok(n) => order.check(&room[..n]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
        }
        peer.join().unwrap();
    });
}

/// The same by a limit around the read.
#[test]
fn a_time_limit_around_the_read() {
    each_runtime(|| {
        let (stream, peer) = half();
        let n = rounds(20_000);
        let peer = counts(peer, n);
        let (mut order, mut random) = (Order::default(), Rng(12));
        while order.0 < n {
            let limit = Duration::from_nanos(1 + random.below(60_000));
            let mut room = [0; 4];
            let read = if random.below(2) == 0 {
                time::timeout(limit, || stream.read(&mut room))
            } else {
                myriad::block_on(time::timeout_async(limit, stream.read_async(&mut room)))
            };
            if let Ok(read) = read {
                let read = read.unwrap();
                order.check(&room[..read]);
            }
        }
        peer.join().unwrap();
    });
}

/// Situation 12. A read as one arm of a choice: it loses, and is dropped, also when it was let go
/// already.
#[test]
fn a_read_that_loses_a_choice() {
    each_runtime(|| {
        let (stream, peer) = half();
        let n = rounds(5_000);
        let peer = counts(peer, n);
        let (mut order, mut lost) = (Order::default(), 0);
        while order.0 < n {
            let (tx, rx) = myriad::channel::bounded::<()>(1);
            let sends = myriad::spawn(move || {
                myriad::yield_now();
                _ = tx.send(());
            });
            let mut room = [0; 4];
            let read = myriad::block_on(async {
                let (read, message) = (pin!(stream.read_async(&mut room)), pin!(rx.recv_async()));
                match futures_util::future::select(message, read).await {
                    futures_util::future::Either::Left(_) => None,
                    futures_util::future::Either::Right((read, _)) => Some(read.unwrap()),
                }
            });
            match read {
                Some(read) => order.check(&room[..read]),
                None => lost += 1,
            }
            sends.join().unwrap();
        }
        assert!(lost > 0, "no read was dropped");
        peer.join().unwrap();
    });
}

/// A future that was let go and is dropped before it is polled again: another reader goes on.
#[test]
fn dropped_after_it_was_let_go() {
    each_runtime(|| {
        for round in 0..40 {
            let (stream, mut peer) = half();
            let stream = Arc::new(stream);
            let woken = Arc::new(AtomicBool::new(false));
            struct Says(Arc<AtomicBool>);
            impl std::task::Wake for Says {
                fn wake(self: Arc<Self>) {
                    self.0.store(true, SeqCst);
                }
            }
            let waker = Waker::from(Arc::new(Says(woken.clone())));
            let of = stream.clone();
            let mut first = Box::pin(async move { of.read_async(&mut [0; 4]).await.unwrap() });
            assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let of = stream.clone();
            let second = myriad::spawn(move || of.read(&mut [0; 4]).unwrap());
            moment(round);
            peer.write_all(b"x").unwrap();
            wait_until(|| woken.load(SeqCst) || second.is_finished());
            drop(first);
            assert_eq!(second.join().unwrap(), 1);
        }
    });
}

/// Situation 46. One socket in two arms of the same choice.
#[test]
fn twice_in_one_choice() {
    each_runtime(|| {
        let (stream, peer) = half();
        let n = rounds(20_000);
        let peer = counts(peer, n);
        let mut order = Order::default();
        while order.0 < n {
            let (mut one, mut two) = ([0; 4], [0; 4]);
            let read = myriad::block_on(async {
                let arms = (pin!(stream.read_async(&mut one)), pin!(stream.read_async(&mut two)));
                match futures_util::future::select(arms.0, arms.1).await {
                    futures_util::future::Either::Left((read, _)) => (true, read.unwrap()),
                    futures_util::future::Either::Right((read, _)) => (false, read.unwrap()),
                }
            });
            let (first, n) = read;
            order.check(if first { &one[..n] } else { &two[..n] });
        }
        peer.join().unwrap();
    });
}

/// Deadlines that another task moves while one waits, at each moment: earlier ones end the wait,
/// later ones lengthen it. With several who wait.
#[test]
fn a_deadline_that_is_moved_while_they_wait() {
    each_runtime(|| {
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        for round in 0..rounds(5_000) {
            stream.set_read_deadline(None);
            let readers = [(); 3].map(|()| {
                let of = stream.clone();
                myriad::spawn(move || of.read(&mut [0; 4]).unwrap_err().kind())
            });
            let of = stream.clone();
            let future = myriad::spawn_async(async move { of.read_async(&mut [0; 4]).await.unwrap_err().kind() });
            moment(round);
            stream.set_read_deadline(Some(time::now() + Duration::from_secs(3600)));
            moment(round / 4);
            stream.set_read_deadline(Some(time::now()));
            readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), ErrorKind::TimedOut));
            assert_eq!(future.join().unwrap(), ErrorKind::TimedOut);
        }
        // A deadline that has passed does not keep from what is there.
        peer.write_all(b"x").unwrap();
        wait_until(|| stream.read(&mut [0; 4]).is_ok());
        stream.set_read_deadline(None);
        peer.write_all(b"y").unwrap();
        assert_eq!(stream.read(&mut [0; 4]).unwrap(), 1);
    });
}

/// Limits of the other direction, of writing: nothing of the piece is written twice.
#[test]
fn a_write_with_a_limit() {
    each_form(|form| {
        let (stream, mut peer) = half();
        stream.set_write_timeout(Some(Duration::from_millis(2))).unwrap();
        let piece = vec![1; 100_000];
        let mut written = 0_usize;
        let error = loop {
            match form.write(&stream, &piece) {
                Ok(n) => written += n,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(stream);
        assert_eq!(io::copy(&mut peer, &mut io::sink()).unwrap(), written as u64);
    });
}

/// The longest limits there are, and none at all.
#[test]
fn limits_at_the_ends() {
    each_form(|form| {
        let (stream, mut peer) = half();
        assert_eq!(stream.set_read_timeout(Some(Duration::ZERO)).unwrap_err().kind(), ErrorKind::InvalidInput);
        for long in [Duration::MAX, Duration::from_nanos(u64::MAX - 1)] {
            stream.set_read_timeout(Some(long)).unwrap();
            stream.set_read_deadline(Some(time::now() + long));
            let peer = &mut peer;
            std::thread::scope(|s| {
                s.spawn(move || {
                    std::thread::sleep(Duration::from_millis(1));
                    peer.write_all(b"x").unwrap();
                });
                assert_eq!(form.read(&stream, &mut [0; 4]).unwrap(), 1);
            });
        }
        let (listener, address) = listener();
        drop(TcpStream::connect_timeout(address, Duration::MAX).unwrap());
        drop(listener);
    });
}

/// Situation 14. A close by another one ends reads, writes and accepts, each once; later ones too.
#[test]
fn closed_while_others_wait() {
    each_form(|form| {
        for round in 0..12 {
            let (stream, peer) = half();
            let fill = vec![0; 1 << 20];
            let begin = |write: bool| {
                let (stream, fill) = (stream.try_clone().unwrap(), fill.clone());
                form.spawn(move || {
                    loop {
                        let done = if write { form.write(&stream, &fill) } else { form.read(&stream, &mut [0; 4]) };
                        if let Err(error) = done {
                            return error;
                        }
                    }
                })
            };
            let all = [begin(false), begin(false), begin(true), begin(true)];
            moment(round);
            stream.close();
            stream.close();
            for one in all {
                let error = one.join();
                assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
                assert!(error.to_string().contains("closed by this program"), "{error}");
            }
            assert_eq!(form.read(&stream, &mut [0; 4]).unwrap_err().kind(), ErrorKind::NotConnected);
            assert_eq!(form.write(&stream, b"x").unwrap_err().kind(), ErrorKind::NotConnected);
            drop((stream, peer));

            let (listener, _) = listener();
            let accepts = [(); 3].map(|()| {
                let listener = listener.try_clone().unwrap();
                form.spawn(move || form.accept(&listener).unwrap_err().kind())
            });
            let iterates = form.spawn({
                let listener = listener.try_clone().unwrap();
                move || listener.incoming().count()
            });
            let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
            let receives = form.spawn({
                let socket = socket.clone();
                move || form.recv_from(&socket, &mut [0; 4]).unwrap_err().kind()
            });
            moment(round);
            listener.close();
            socket.close();
            accepts.into_iter().for_each(|accept| assert_eq!(accept.join(), ErrorKind::NotConnected));
            assert_eq!(iterates.join(), 0);
            assert_eq!(receives.join(), ErrorKind::NotConnected);
        }
    });
}

/// A listener that takes no more connections: its queue is full, and who comes next hangs in the
/// system.
pub(crate) fn full_listener() -> (TcpListener, std::net::SocketAddr, Vec<std::net::TcpStream>) {
    let (listener, address) = listener();
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 0) }, 0);
    let mut held = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
        held.push(stream);
    }
    (listener, address, held)
}

/// Situation 13. A connect that hangs is cancelled, dropped, and out of time; its socket goes.
#[test]
fn a_connect_that_is_given_up() {
    each_runtime(|| {
        let (_listener, address, _held) = full_listener();
        for round in 0..8 {
            let connects = myriad::spawn(move || TcpStream::connect(address).map(drop));
            moment(round);
            connects.cancel();
            assert!(connects.join().unwrap_err().is_cancelled());

            let connects = myriad::spawn_async(async move { TcpStream::connect_async(address).await.map(drop) });
            moment(round);
            connects.cancel();
            assert!(connects.join().unwrap_err().is_cancelled());

            let mut connect = pin!(TcpStream::connect_async(address));
            assert!(matches!(connect.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        }
        let limit = Duration::from_millis(2);
        assert_eq!(TcpStream::connect_timeout(address, limit).unwrap_err().kind(), ErrorKind::TimedOut);
        let error = myriad::block_on(TcpStream::connect_timeout_async(address, limit)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        let thread = std::thread::spawn(move || TcpStream::connect_timeout(address, limit).unwrap_err().kind());
        assert_eq!(thread.join().unwrap(), ErrorKind::TimedOut);
    });
}

/// Who looks a name up can be cancelled at once.
#[test]
fn a_look_up_that_is_given_up() {
    each_runtime(|| {
        for round in 0..4 {
            let looks = myriad::spawn(|| myriad::net::lookup("localhost:80"));
            moment(round);
            looks.cancel();
            match looks.join() {
                Ok(found) => assert!(!found.unwrap().is_empty()),
                Err(error) => assert!(error.is_cancelled()),
            }
        }
        let found = myriad::block_on(myriad::net::lookup_async("localhost:80")).unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()));
    });
}

/// Datagrams in the same races: each comes once, or is still there.
#[test]
fn datagrams_around_a_limit() {
    each_form(|form| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let n = rounds(10_000).min(2_000);
        let sends = std::thread::spawn(move || {
            let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            // (As many as fit into the socket's buffer before anybody looks.)
            for i in 0..n {
                peer.send_to(&i.to_ne_bytes(), to).unwrap();
                if i % 50 == 49 {
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
        });
        let (mut next, mut random) = (0, Rng(13));
        while next < n {
            socket.set_read_timeout(Some(Duration::from_nanos(1 + random.below(50_000)))).unwrap();
            let mut room = [0; 4];
            match form.recv_from(&socket, &mut room) {
                Ok((4, _)) => {
                    let i = u32::from_ne_bytes(room);
                    assert!(i >= next, "datagram {i} comes twice");
                    next = i + 1;
                }
                Ok(other) => panic!("a datagram of {} bytes", other.0),
                Err(error) if sends.is_finished() && next > 0 => {
                    // (The system may have dropped the last ones.)
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    break;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
        }
        sends.join().unwrap();
    });
}
