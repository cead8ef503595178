//! Situations 16 and 17. Forks in a program with connections: each in a process of its own, which
//! forks.

use crate::common::{MODES, Mode, assert_ok, in_child};
use crate::ends::{descriptors, echo, half, listener, pair};
use myriad::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Runs this in a forked child, which has to end well.
#[track_caller]
fn in_fork(body: impl FnOnce()) {
    // SAFETY: the child does what these tests are about; it ends after 20 s at the latest, and
    // leaves by `_exit`. The parent waits for its own child.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(20);
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            libc::_exit(i32::from(ended.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0, "the child hangs (14), or has failed (256)");
    }
}

/// A connection whose reader waits in a runtime; another one, and its peer.
fn wait_in(rt: &myriad::Runtime) -> (myriad::JoinHandle<usize>, Arc<TcpStream>, std::net::TcpStream) {
    let (stream, peer) = half();
    let stream = Arc::new(stream);
    let of = stream.clone();
    let reads = rt.spawn(move || of.read(&mut [0; 8]).unwrap());
    // It is known to the reactor.
    crate::common::wait_until(|| {
        rt.run(|| (0..3).for_each(|_| myriad::yield_now()));
        myriad::dump().to_string().contains("input")
    });
    (reads, stream, peer)
}

/// Each test for both modes, in a process of its own.
#[track_caller]
fn each_mode(body: impl Fn(Mode)) {
    let output = in_child(&[], || MODES.into_iter().for_each(&body));
    assert_ok(&output);
}

/// The child drops all that it has: the parent's connections live.
#[test]
fn a_child_that_drops_all() {
    each_mode(|mode| {
        let rt = mode.runtime(2);
        let (reads, stream, mut peer) = wait_in(&rt);
        in_fork(|| {
            // SAFETY: the parent's copies are another process's.
            unsafe {
                drop(std::ptr::read(&stream));
                drop(std::ptr::read(&rt));
            }
            // (All handles, whatever tasks have.)
            // SAFETY: nobody else is in this process.
            unsafe { std::ptr::drop_in_place(Arc::as_ptr(&stream).cast_mut()) };
        });
        peer.write_all(b"hello").unwrap();
        assert_eq!(reads.join().unwrap(), 5);
        rt.run(|| {
            let (one, two) = pair();
            myriad::spawn(|| echo(two));
            (&one).write_all(b"hello").unwrap();
            (&one).read_exact(&mut [0; 5]).unwrap();
        });
    });
}

/// The child uses what it has inherited: as a plain thread, and in a runtime of its own.
#[test]
fn a_child_that_goes_on() {
    each_mode(|mode| {
        let rt = mode.runtime(2);
        let (listener, address) = listener();
        let (stream, mut peer) = half();
        rt.run(|| {
            // Both are known to the parent's reactor.
            listener.set_accept_timeout(Some(Duration::from_millis(1))).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::TimedOut);
            listener.set_accept_timeout(None).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            stream.set_read_timeout(None).unwrap();
        });
        in_fork(|| {
            let writes = |peer: &std::net::TcpStream| {
                let mut peer = peer.try_clone().unwrap();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(5));
                    peer.write_all(b"x").unwrap();
                })
            };
            let writer = writes(&peer);
            assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
            writer.join().unwrap();
            let own = mode.runtime(1);
            let writer = writes(&peer);
            let connects = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                std::net::TcpStream::connect(address).unwrap()
            });
            own.run(|| {
                assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
                let mut served = listener.accept().unwrap().0;
                served.write_all(b"y").unwrap();
            });
            assert_eq!(connects.join().unwrap().read(&mut [0; 8]).unwrap(), 1);
            writer.join().unwrap();
            assert!(own.shutdown(Duration::from_secs(20)).is_clean());
        });
        // And so does the parent.
        rt.run(|| {
            peer.write_all(b"z").unwrap();
            assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
        });
    });
}

/// The child reads in its own runtime what a task of the parent waits for.
#[test]
fn a_child_that_reads_beside_its_parent() {
    each_mode(|mode| {
        let rt = mode.runtime(1);
        let (reads, stream, mut peer) = wait_in(&rt);
        in_fork(|| {
            let own = mode.runtime(1);
            let (of, late) = (stream.clone(), Arc::new(AtomicBool::new(false)));
            let says = late.clone();
            let reads = own.spawn(move || {
                of.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                assert_eq!(of.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
                of.set_read_timeout(None).unwrap();
                says.store(true, SeqCst);
                of.read(&mut [0; 8])
            });
            crate::common::wait_until(|| late.load(SeqCst));
            std::thread::sleep(Duration::from_millis(5));
            stream.shutdown(myriad::net::Shutdown::Read).unwrap();
            assert_eq!(reads.join().unwrap().unwrap(), 0);
        });
        _ = peer.write_all(b"x");
        assert!(reads.join().unwrap() <= 1);
    });
}

/// A future on the child's thread, where the parent had a global runtime: it is told, or goes on;
/// it does not hang.
#[test]
fn a_future_in_a_child_without_a_runtime() {
    let output = in_child(&[], || {
        let (stream, mut peer) = half();
        myriad::spawn(|| ()).join().unwrap();
        in_fork(|| {
            let writer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                peer.write_all(b"x").unwrap();
                peer
            });
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                myriad::block_on(stream.read_async(&mut [0; 8]))
            }));
            match read {
                Ok(read) => assert_eq!(read.unwrap(), 1),
                Err(payload) => {
                    let says = crate::common::text(&*payload).to_string();
                    assert!(says.contains("forked"), "{says}");
                }
            }
            drop(writer.join().unwrap());
        });
    });
    assert_ok(&output);
}

/// A close in the child is none in the parent: its thread that waits for the socket goes on
/// waiting, without burning its processor.
#[test]
fn a_child_that_closes() {
    let output = in_child(&[], || {
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        let of = stream.clone();
        let before = descriptors();
        let reads = std::thread::spawn(move || of.read(&mut [0; 8]).unwrap());
        // (It has the descriptor by which a close wakes it.)
        crate::common::wait_until(|| descriptors() > before);
        std::thread::sleep(Duration::from_millis(5));
        in_fork(|| stream.close());
        let before = processor_time();
        std::thread::sleep(Duration::from_millis(200));
        let burnt = processor_time() - before;
        assert!(burnt < Duration::from_millis(100), "{burnt:?} of 200 ms");
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
    });
    assert_ok(&output);
}

/// How long this process has had a processor.
pub(crate) fn processor_time() -> Duration {
    // SAFETY: zero is a value of it; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let of = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Situation 16. The last handle goes while a child has the file: no event comes any more, and the
/// number is free for another socket.
#[test]
fn dropped_while_a_child_has_it() {
    each_mode(|mode| {
        let rt = mode.runtime(1);
        let (reads, stream, mut peer) = wait_in(&rt);
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
        // A child keeps the file, and ends when its parent closes the pipe.
        let (mut held, holds) = std::io::pipe().unwrap();
        // SAFETY: the child only waits, and leaves by `_exit`.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                drop(holds);
                libc::alarm(20);
                _ = held.read(&mut [0]);
                libc::_exit(0);
            }
            child
        };
        drop(stream);
        for i in 0..20_u8 {
            // Traffic for the old one, and a new one that has its number.
            _ = peer.write_all(b"x");
            let (one, mut other) = half();
            let reads = rt.spawn(move || {
                let mut room = [0; 8];
                let n = one.read(&mut room).unwrap();
                room[..n].to_vec()
            });
            other.write_all(&[i; 3]).unwrap();
            assert_eq!(reads.join().unwrap(), [i; 3]);
        }
        let before = processor_time();
        std::thread::sleep(Duration::from_millis(100));
        let burnt = processor_time() - before;
        assert!(burnt < Duration::from_millis(60), "{burnt:?} of 100 ms");
        drop((held, holds));
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    });
}
