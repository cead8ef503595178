//! Sockets that are used from several runtimes, and beyond their ends.

use crate::common::{MODES, PATIENCE, each_owned, ended_at_rest, full_length, wait_until};
use crate::ends::{echo, half, moment, pair};
use myriad::net::TcpStream;
use myriad::{State, WaitReason};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Waits in vain, so that the socket is known to the calling task's reactor.
fn register(stream: &TcpStream) {
    stream.set_read_timeout(Some(Duration::from_micros(1))).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    stream.set_read_timeout(None).unwrap();
}

/// Situation 34. From one runtime to another one and to a plain thread, after the first has ended.
#[test]
fn used_after_its_runtime_has_ended() {
    each_owned(|mode, first| {
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        let of = stream.clone();
        first.run(move || register(&of));
        assert!(first.shutdown(PATIENCE).is_clean());
        // Another runtime, which perhaps has the first one's pool.
        let second = mode.runtime(2);
        let of = stream.clone();
        let reads = second.spawn(move || of.read(&mut [0; 4]).unwrap());
        moment(2);
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
        let of = stream.clone();
        let reads = second.spawn_async(async move { of.read_async(&mut [0; 4]).await.unwrap() });
        moment(2);
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
        assert!(second.shutdown(PATIENCE).is_clean());
        // A plain thread, and a future there.
        std::thread::scope(|s| {
            let reads = s.spawn(|| stream.read(&mut [0; 4]).unwrap());
            moment(2);
            peer.write_all(b"x").unwrap();
            assert_eq!(reads.join().unwrap(), 1);
            let reads = s.spawn(|| myriad::block_on(stream.read_async(&mut [0; 4])).unwrap());
            moment(2);
            peer.write_all(b"x").unwrap();
            assert_eq!(reads.join().unwrap(), 1);
        });
    });
}

/// A socket that one runtime has registered and another one waits for, at each moment while the
/// first ends: who waits is not forgotten.
#[test]
fn waited_for_while_its_runtime_ends() {
    for mode in MODES {
        let _watch = crate::common::watch(&mode.to_string());
        let second = mode.runtime(2);
        for round in 0..if full_length() { 2000 } else { 60 } {
            let first = mode.runtime(1);
            let (stream, mut peer) = half();
            let stream = Arc::new(stream);
            let of = stream.clone();
            first.run(move || register(&of));
            let go = Arc::new(AtomicBool::new(false));
            let readers = [(); 2].map(|()| {
                let (of, go) = (stream.clone(), go.clone());
                second.spawn(move || {
                    while !go.load(SeqCst) {
                        std::hint::spin_loop();
                    }
                    (0..round % 5).for_each(|_| myriad::yield_now());
                    of.read(&mut [0; 1]).unwrap()
                })
            });
            go.store(true, SeqCst);
            drop(first);
            moment(round);
            peer.write_all(b"xy").unwrap();
            readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), 1));
        }
        assert!(second.shutdown(PATIENCE).is_clean());
    }
}

/// Two runtimes read from one connection, by turns and at the same time.
#[test]
fn read_by_two_runtimes() {
    each_owned(|mode, first| {
        let second = mode.runtime(1);
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        let readers = [&first, &second].map(|rt| {
            let of = stream.clone();
            rt.spawn(move || {
                let mut n = 0;
                loop {
                    match of.read(&mut [0; 1]).unwrap() {
                        0 => return n,
                        read => n += read,
                    }
                }
            })
        });
        for round in 0..100 {
            peer.write_all(b"x").unwrap();
            moment(round);
        }
        drop(peer);
        let n: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert_eq!(n, 100);
        assert!(first.shutdown(PATIENCE).is_clean() && second.shutdown(PATIENCE).is_clean());
    });
}

/// Situation 33. A runtime ends while its tasks wait for sockets: it names them. Futures are
/// dropped, and their sockets with them. Another runtime works.
#[test]
fn a_runtime_ends_while_a_thousand_read() {
    const TASKS: usize = if cfg!(debug_assertions) { 100 } else { 1000 };
    ended_at_rest(
        |rt| {
            let begun = Arc::new(AtomicUsize::new(0));
            let peers = (0..TASKS).map(|i| {
                let ((stream, peer), begun) = (half(), begun.clone());
                let begin = move || _ = begun.fetch_add(1, SeqCst);
                if i % 2 == 0 {
                    drop(rt.spawn(move || {
                        begin();
                        stream.read(&mut [0; 4])
                    }));
                } else {
                    drop(rt.spawn_async(async move {
                        begin();
                        stream.read_async(&mut [0; 4]).await
                    }));
                }
                peer
            });
            let peers = Vec::from_iter(peers);
            wait_until(|| begun.load(SeqCst) == TASKS);
            peers
        },
        |mode, report, peers| {
            assert_eq!(report.unfinished().len(), TASKS / 2, "{mode}: {report}");
            for task in report.unfinished() {
                assert_eq!((task.state(), task.waits_for()), (State::Blocked, Some(WaitReason::Input)), "{mode}");
            }
            // Of the dropped futures the peers see the end.
            for mut peer in peers.into_iter().skip(1).step_by(2) {
                assert_eq!(peer.read(&mut [0; 4]).unwrap(), 0);
            }
            let (one, two) = pair();
            let rt = mode.runtime(1);
            let served = rt.spawn(move || echo(two));
            rt.run(|| {
                (&one).write_all(b"hello").unwrap();
                (&one).read_exact(&mut [0; 5]).unwrap();
                drop(one);
            });
            served.join().unwrap();
            assert!(rt.shutdown(PATIENCE).is_clean());
        },
    );
}

/// A socket whose waiting task was left behind by the runtime that had registered it: others that
/// wait for it go on.
#[test]
fn a_reader_that_was_left_behind() {
    each_owned(|mode, second| {
        let first = mode.runtime(1);
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        let of = stream.clone();
        drop(first.spawn(move || of.read(&mut [0; 4])));
        let report = first.shutdown(Duration::from_millis(20));
        assert_eq!(report.unfinished().len(), 1, "{mode}: {report}");
        let of = stream.clone();
        let reads = second.spawn(move || of.read(&mut [0; 4]).unwrap());
        moment(2);
        peer.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
        assert!(second.shutdown(PATIENCE).is_clean());
    });
}

/// Situation 47. Made outside of any runtime, used inside, and the other way round.
#[test]
fn made_outside_and_used_inside() {
    each_owned(|mode, rt| {
        let (one, two) = pair();
        let served = rt.spawn(move || echo(two));
        (&one).write_all(b"out").unwrap();
        (&one).read_exact(&mut [0; 3]).unwrap();
        let one = rt.run(move || {
            (&one).write_all(b"in").unwrap();
            (&one).read_exact(&mut [0; 2]).unwrap();
            one
        });
        drop(one);
        served.join().unwrap();
        let (one, two) = rt.run(pair);
        let served = std::thread::spawn(move || echo(two));
        (&one).write_all(b"out").unwrap();
        (&one).read_exact(&mut [0; 3]).unwrap();
        drop(one);
        served.join().unwrap();
        assert!(rt.shutdown(PATIENCE).is_clean(), "{mode}");
    });
}

/// A plain thread and a task wait for one socket: each byte comes to one of them, none is left.
#[test]
fn a_plain_thread_and_a_task_read_together() {
    each_owned(|mode, rt| {
        let (stream, mut peer) = half();
        let stream = Arc::new(stream);
        let reads = |stream: Arc<TcpStream>| {
            move || {
                let mut n = 0;
                loop {
                    match stream.read(&mut [0; 2]).unwrap() {
                        0 => return n,
                        read => n += read,
                    }
                }
            }
        };
        let task = rt.spawn(reads(stream.clone()));
        let thread = std::thread::spawn(reads(stream.clone()));
        let mut sent = 0;
        for round in 0..200 {
            let n = 1 + round as usize % 7;
            peer.write_all(&vec![0; n]).unwrap();
            sent += n;
            moment(round);
        }
        drop(peer);
        assert_eq!(task.join().unwrap() + thread.join().unwrap(), sent);
        assert!(rt.shutdown(PATIENCE).is_clean(), "{mode}");
    });
}
