//! Descriptors: none is left, none is leaked, their numbers come again. What counts those of the
//! process runs in a process of its own.

use crate::common::{MODES, Rng, assert_ok, full_length, in_child, wait_until};
use crate::each_runtime;
use crate::ends::{at_once, descriptors, each_form, half, listener, pair};
use crate::forked::processor_time;
use myriad::net::{Shutdown, TcpStream};
use std::cell::OnceCell;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many sockets its reactors know: without the descriptors that interrupt them.
fn registered() -> usize {
    let mut n = 0;
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        n += text.lines().filter(|line| line.starts_with("tfd:")).count().saturating_sub(1);
    }
    n
}

/// Kilobytes of memory.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// No descriptor is left in this process, until these go.
fn take_all_descriptors() -> Vec<File> {
    let limit = libc::rlimit { rlim_cur: descriptors() as u64 + 20, rlim_max: 4096 };
    // SAFETY: the limit stands there.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Situation 18. Clients wait, and no descriptor is left to accept them: the listener waits without
/// burning its processor, and goes on when there are some, though no client comes any more.
#[test]
fn no_descriptor_to_accept_with() {
    let output = in_child(&[], || {
        for mode in MODES {
            let rt = mode.runtime(1);
            let (listener, address) = listener();
            let accepts = rt.spawn(move || {
                for stream in listener.incoming().take(5) {
                    (&mut &stream.unwrap()).write_all(b"x").unwrap();
                }
            });
            // One is served: all that a server needs is there.
            let (mut clients, mut held) = (vec![std::net::TcpStream::connect(address).unwrap()], Vec::new());
            net_read(&mut clients[0]);
            // Each of the others takes the last descriptor that there is.
            held.extend(take_all_descriptors());
            for _ in 0..4 {
                drop(held.pop());
                clients.push(connected(address));
            }
            let before = processor_time();
            std::thread::sleep(Duration::from_millis(100));
            let burnt = processor_time() - before;
            assert!(burnt < Duration::from_millis(40), "{burnt:?} of 100 ms");
            drop(held);
            clients.iter_mut().skip(1).for_each(net_read);
            accepts.join().unwrap();
        }
    });
    assert_ok(&output);
}

/// With the only descriptor that is free. Two others may take it for a moment: the server, which
/// tries again and serves the client before, and the monitor, which reads what a worker does that
/// has not moved.
fn connected(address: SocketAddr) -> std::net::TcpStream {
    let client = OnceCell::new();
    wait_until(|| match std::net::TcpStream::connect(address) {
        Err(error) if error.raw_os_error() == Some(libc::EMFILE) => false,
        connected => client.set(connected.unwrap()).is_ok(),
    });
    client.into_inner().unwrap()
}

fn net_read(client: &mut std::net::TcpStream) {
    assert_eq!(client.read(&mut [0; 4]).unwrap(), 1);
}

/// The error itself, for who accepts one by one; and a plain thread's read, which needs none.
#[test]
fn an_error_that_goes() {
    let output = in_child(&[], || {
        each_form(|form| {
            let (listener, address) = listener();
            let (stream, mut peer) = half();
            let client = std::net::TcpStream::connect(address).unwrap();
            // (A reactor has its own descriptors.)
            stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            assert_eq!(form.read(&stream, &mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
            stream.set_read_timeout(None).unwrap();
            let (other, mut other_peer) = half();
            let held = take_all_descriptors();
            for _ in 0..2 {
                let error = form.accept(&listener).unwrap_err();
                assert!(error.to_string().contains("Too many open files"), "{error}");
            }
            let writes = form.spawn(move || {
                myriad::time::sleep(Duration::from_millis(2));
                peer.write_all(b"x").unwrap();
                other_peer.write_all(b"x").unwrap();
                (peer, other_peer)
            });
            assert_eq!(form.read(&stream, &mut [0; 4]).unwrap(), 1);
            assert_eq!(form.read(&other, &mut [0; 4]).unwrap(), 1);
            let ends = writes.join();
            drop(held);
            assert_eq!(form.accept(&listener).unwrap().1, client.local_addr().unwrap());
            drop(ends);
        });
    });
    assert_ok(&output);
}

/// Situation 15. A number of a descriptor that comes again at once, with events of the old socket
/// under way: what is read is the new one's.
#[test]
fn a_number_that_comes_again() {
    each_runtime(|| {
        let rounds = if full_length() { 1000_u32 } else { 200 };
        for round in 0..rounds {
            let (old, mut old_peer) = half();
            let old = Arc::new(old);
            let of = old.clone();
            let reads = myriad::spawn(move || of.read(&mut [0; 4]));
            if round % 3 == 0 {
                myriad::yield_now();
            }
            old_peer.write_all(b"old").unwrap();
            if round % 2 == 0 {
                reads.cancel();
            }
            _ = reads.join();
            drop((old, old_peer));
            let (new, mut new_peer) = half();
            assert!(at_once(new.read_async(&mut [0; 4])).is_none());
            new_peer.write_all(&round.to_ne_bytes()).unwrap();
            let mut room = [0; 4];
            (&new).read_exact(&mut room).unwrap();
            assert_eq!(u32::from_ne_bytes(room), round);
        }
    });
}

/// Situation 48. One place in the reactor is used 65,537 times.
#[test]
fn one_place_used_very_often() {
    each_runtime(|| {
        let times = if full_length() { 65_537 } else { 1000 };
        let (kept, mut peer) = half();
        for _ in 0..times {
            let socket = myriad::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            assert!(at_once(socket.recv_async(&mut [0; 4])).is_none());
        }
        let reads = myriad::spawn(move || kept.read(&mut [0; 4]).unwrap());
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
    });
}

/// One connection of a random kind; its tasks end by themselves, or are cancelled.
fn one_at_random(random: &mut Rng) {
    let (one, two) = pair();
    let [mut a, b] = [random.fork(), random.fork()];
    let end = move |stream: TcpStream, mut random: Rng, cancel: bool| {
        let task = myriad::spawn(move || {
            let mut room = vec![0; 4096];
            for _ in 0..1 + random.below(6) {
                let limit = Duration::from_micros(1 + random.below(300));
                _ = stream.set_read_timeout(Some(limit));
                _ = stream.set_write_timeout(Some(limit));
                match random.below(8) {
                    0 | 1 => _ = stream.read(&mut room),
                    2 => _ = myriad::block_on(stream.read_async(&mut room)),
                    3 => _ = (&stream).write_all(&room[..random.below(4096) as usize]),
                    4 => _ = stream.write(&vec![0; 300_000]),
                    5 => _ = stream.shutdown(Shutdown::Write),
                    6 => _ = stream.set_linger((random.below(2) == 0).then_some(Duration::ZERO)),
                    _ => {
                        let of = stream.try_clone().unwrap();
                        let reads = myriad::spawn_async(async move { of.read_async(&mut [0; 64]).await.map(drop) });
                        myriad::yield_now();
                        if random.below(2) == 0 {
                            stream.close();
                        } else {
                            reads.cancel();
                        }
                        _ = reads.join();
                    }
                }
            }
        });
        if cancel {
            task.cancel();
        }
        task
    };
    let ends = [end(one, a.fork(), a.below(4) == 0), end(two, b, a.below(4) == 0)];
    for task in ends {
        if let Err(error) = task.join() {
            assert!(error.is_cancelled(), "{error}");
        }
    }
}

/// Situation 35. Connections that are opened, half closed, reset and abandoned at random, for a
/// while: afterwards descriptors, registered sockets, tasks and memory are as before.
#[test]
fn connections_at_random() {
    let seed = std::env::var("MYRIAD_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64);
    let output = in_child(&[("MYRIAD_TEST_SEED", &seed.to_string())], || {
        let time = if full_length() { Duration::from_secs(15) } else { Duration::from_millis(700) };
        for mode in MODES {
            let rt = mode.runtime(2);
            let before = rt.run(|| {
                // Whatever is made once.
                let mut random = Rng(seed);
                (0..200).for_each(|_| one_at_random(&mut random));
                (descriptors(), registered())
            });
            let (before_kb, before_reset) = (memory(), Instant::now());
            let lines: Vec<_> = (0..8_u64)
                .map(|i| {
                    let mut random = Rng(seed ^ i);
                    rt.spawn(move || {
                        let mut n = 0;
                        while before_reset.elapsed() < time {
                            one_at_random(&mut random);
                            n += 1;
                        }
                        n
                    })
                })
                .collect();
            let n: usize = lines.into_iter().map(|line| line.join().unwrap()).sum();
            // (The last handle of a socket may be in the hands of a worker that fires its event.)
            wait_until(|| (descriptors(), registered()) == before);
            let kb = memory();
            // (AddressSanitizer keeps freed memory for a while, up to 256 MB.)
            let fits = cfg!(myriad_asan) || kb < before_kb + 20_000;
            assert!(fits, "{before_kb} KB, then {kb} KB after {n} connections");
            let report = rt.shutdown(Duration::from_secs(20));
            assert!(report.is_clean(), "{mode}: {report}");
        }
    });
    assert!(output.status.success(), "seed {seed} (MYRIAD_TEST_SEED): {}", crate::common::stderr(&output));
}

/// A thousand runtimes that used sockets, one after the other, leave no descriptor behind.
#[test]
fn runtimes_that_come_and_go() {
    let output = in_child(&[], || {
        for mode in MODES {
            let round = |workers: usize| {
                // (A spare would be one more worker, and its pool no match for the next runtime.)
                let rt = mode.builder().workers(workers).spare_workers(0).build().unwrap();
                let (stream, mut peer) = half();
                // (It waits, so the pool has a reactor from the first time on.)
                stream.set_read_timeout(Some(Duration::from_nanos(1))).unwrap();
                let stream = rt.run(move || {
                    assert_eq!(stream.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
                    stream.set_read_timeout(None).unwrap();
                    stream
                });
                let reads = rt.spawn(move || stream.read(&mut [0; 4]).unwrap());
                peer.write_all(b"x").unwrap();
                assert_eq!(reads.join().unwrap(), 1);
                let report = rt.shutdown(Duration::from_secs(20));
                assert!(report.is_clean(), "{report}");
            };
            (0..20).for_each(|i| round(1 + i % 2));
            let before = descriptors();
            (0..if full_length() { 1000 } else { 100 }).for_each(|i| round(1 + i % 2));
            assert_eq!(descriptors(), before, "{mode}");
        }
    });
    assert_ok(&output);
}
