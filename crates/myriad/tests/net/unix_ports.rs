//! The behaviour that tests of tokio's Unix sockets and pipes (1.54), of async-io (2.6) and of
//! polling (3.11) are about, as it reads here. They were written after the names of those tests.
//!
//! | tokio | here |
//! |---|---|
//! | `uds_cred` | `unix.rs`: `who_made_the_other_end` |
//! | `uds_datagram` `echo`, `echo_from`, `split`, `pair_starts_writable` | [`datagrams_there_and_back`] |
//! | `uds_stream` `accept_read_write*`, `abstract_socket_name` | `unix.rs` |
//! | `uds_stream` `pair_starts_writable`, `uds_split` | [`a_new_pair`], `unix.rs` |
//! | `uds_stream` `epollhup` | `unix.rs`: `the_listener_goes_before_it_has_accepted` |
//! | `unix_shutdown`, `uds_stream` `shutdown` | [`shutdown_more_than_once`] |
//! | `uds_socket` | does not apply: a socket is made as what it is |
//! | `net_unix_pipe` `anon_pipe_*` | [`a_pipe_of_a_program`], [`a_pipe_takes_a_mode`], `polled.rs` |
//! | its `fifo_*`, `from_file*` | do not apply: files come later |
//! | `try_*`, `*_buf*`, `poll_*_ready` | do not apply; `poll_read`, `poll_write`: `polled.rs` |
//!
//! | async-io | here |
//! |---|---|
//! | `tcp_connect`, `tcp_peek_read`, `tcp_duplex`, `shutdown` | `ports.rs`, `edges.rs` |
//! | `tcp_reader_hangup`, `tcp_writer_hangup`, `uds_reader_hangup`, `uds_writer_hangup` | [`the_other_end_goes`] |
//! | `udp_*`, `uds_*`, `abstract_socket` | `ports.rs`, `unix.rs` |
//! | `duplicate_socket_insert` | differs: a second descriptor of a socket may wait too (`edges.rs`) |
//! | `block_on`, `timer` | the tests of tasks and of timers |
//!
//! | polling | here |
//! |---|---|
//! | `many_connections` | `served.rs` |
//! | `precision`, `timeout` | `served.rs`: `timers_while_in_the_reactor` |
//! | `notify` | `served.rs`: `woken_from_outside_while_in_the_reactor` |
//! | `concurrent_modification` | [`sockets_come_while_others_wait`] |
//! | `io`, `multiple_pollers`, `other_modes` | do not apply: nobody has the set but the pool |

use crate::common::wait_until;
use crate::ends::{each_form, half};
use crate::{each_runtime, is_waiting};
use myriad::io::PipeReader;
use myriad::net::Shutdown;
use myriad::net::unix::{UnixDatagram, UnixStream};
use std::io::{ErrorKind, Read, Write};
use std::process::Command;

#[test]
fn datagrams_there_and_back() {
    each_runtime(|| {
        let (one, two) = UnixDatagram::pair().unwrap();
        let echo = myriad::spawn_async(async move {
            let mut bytes = [0; 16];
            for _ in 0..50 {
                let n = two.recv_async(&mut bytes).await.unwrap();
                two.send_async(&bytes[..n]).await.unwrap();
            }
        });
        // One task sends while another one receives.
        let other = one.try_clone().unwrap();
        let sends = myriad::spawn(move || (0..50_u8).for_each(|i| assert_eq!(one.send(&[i; 3]).unwrap(), 3)));
        let mut bytes = [0; 16];
        for i in 0..50 {
            let n = other.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..n], [i; 3]);
        }
        sends.join().unwrap();
        echo.join().unwrap();
    });
}

#[test]
fn a_new_pair() {
    each_form(|_| {
        let (one, two) = UnixStream::pair().unwrap();
        assert_eq!(one.write(b"at once").unwrap(), 7);
        assert_eq!(two.read(&mut [0; 16]).unwrap(), 7);
    });
}

#[test]
fn shutdown_more_than_once() {
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(two.read(&mut [0]).unwrap(), 0);
        two.write(b"x").unwrap();
        assert_eq!(one.read(&mut [0]).unwrap(), 1, "the other direction is open");
        drop(two);
        one.shutdown(Shutdown::Write).unwrap();
        one.shutdown(Shutdown::Both).unwrap();
        assert_eq!(one.read(&mut [0]).unwrap(), 0);
    });
}

/// Who writes to one that has gone hears of it, also while it waits; who reads gets the end.
#[test]
fn the_other_end_goes() {
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let writes = myriad::spawn(move || {
            loop {
                if let Err(error) = one.write(&[0; 1 << 16]) {
                    return error.kind();
                }
            }
        });
        wait_until(|| is_waiting(&writes));
        drop(two);
        assert!(matches!(writes.join().unwrap(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset));

        let (stream, peer) = half();
        let writes = myriad::spawn_async(async move {
            loop {
                if let Err(error) = stream.write_async(&[0; 1 << 16]).await {
                    return error.kind();
                }
            }
        });
        wait_until(|| writes.why_waiting().is_some());
        drop(peer);
        assert!(matches!(writes.join().unwrap(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset));

        let (one, two) = UnixStream::pair().unwrap();
        let reads = myriad::spawn(move || one.read(&mut [0]).unwrap());
        wait_until(|| is_waiting(&reads));
        drop(two);
        assert_eq!(reads.join().unwrap(), 0);
    });
}

/// A program writes into a pipe, and its end is seen.
#[test]
fn a_pipe_of_a_program() {
    each_runtime(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut child = Command::new("echo").arg("-n").arg("some words").stdout(writer).spawn().unwrap();
        let mut text = String::new();
        PipeReader::from_std(reader).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "some words");
        assert!(child.wait().unwrap().success());
    });
}

/// An end that is taken over does not block from then on; the other end keeps its mode.
#[test]
fn a_pipe_takes_a_mode() {
    each_runtime(|| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let blocks = |fd: &dyn std::os::fd::AsRawFd| {
            // SAFETY: takes no pointers.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK == 0 }
        };
        assert!(blocks(&reader) && blocks(&writer));
        let reader = PipeReader::from_std(reader).unwrap();
        assert!(!blocks(&reader) && blocks(&writer));
        let reads = myriad::spawn(move || reader.read(&mut [0; 8]).unwrap());
        wait_until(|| is_waiting(&reads));
        writer.write_all(b"abc").unwrap();
        assert_eq!(reads.join().unwrap(), 3);
    });
}

/// Sockets come and go while a worker sleeps in the reactor.
#[test]
fn sockets_come_while_others_wait() {
    each_runtime(|| {
        let (kept, peer) = UnixStream::pair().unwrap();
        let waits = myriad::spawn(move || kept.read(&mut [0]).unwrap());
        wait_until(|| is_waiting(&waits));
        let others: Vec<_> = (0..4)
            .map(|_| {
                myriad::spawn(|| {
                    for _ in 0..50 {
                        let (one, two) = UnixStream::pair().unwrap();
                        let reads = myriad::spawn(move || one.read(&mut [0; 4]).unwrap());
                        wait_until(|| is_waiting(&reads));
                        two.write(b"ab").unwrap();
                        assert_eq!(reads.join().unwrap(), 2);
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!waits.is_finished());
        peer.write(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), 1);
    });
}
