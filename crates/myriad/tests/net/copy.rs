//! Copying from one connection to another, and pipes.

use crate::common::{self, Rng, in_child, wait_until};
use crate::{descriptors, each_runtime, is_waiting};
use myriad::io::{PipeReader, PipeWriter, copy_both, copy_both_async, pipe};
use myriad::net::unix::UnixStream;
use myriad::net::{Shutdown, TcpListener, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;

/// Both ends of a connection.
fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Copies as a closure, or as a future, until the end: of what kind the connections are does not
/// matter.
macro_rules! proxy {
    ($is_async:expr, $a:ident, $b:ident) => {
        if $is_async {
            myriad::spawn_async(async move { copy_both_async(&$a, &$b).await.map(|c| (c.there, c.back)) })
        } else {
            myriad::spawn(move || copy_both(&$a, &$b).map(|c| (c.there, c.back)))
        }
    };
}

#[test]
fn until_both_ends_are_closed() {
    // (21.)
    each_runtime(|| {
        for is_async in [false, true] {
            let ((client, a), (b, server)) = (tcp_pair(), UnixStream::pair().unwrap());
            let proxy = proxy!(is_async, a, b);
            let mut bytes = [0; 16];
            (&client).write_all(b"one").unwrap();
            assert_eq!(server.read(&mut bytes).unwrap(), 3);
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(server.read(&mut bytes).unwrap(), 0, "the end was passed on");
            (&server).write_all(b"three").unwrap();
            assert_eq!(client.read(&mut bytes).unwrap(), 5);
            assert!(!proxy.is_finished());
            server.shutdown(Shutdown::Write).unwrap();
            assert_eq!(client.read(&mut bytes).unwrap(), 0);
            assert_eq!(proxy.join().unwrap().unwrap(), (3, 5));
        }
    });
}

/// Much in both directions at the same time, in pieces of random length; it arrives as it was sent.
fn much<A, B>(client: A, server: B, rng: &mut Rng, total: usize)
where
    A: Send + Sync + 'static,
    B: Send + Sync + 'static,
    for<'a> &'a A: Read + Write,
    for<'a> &'a B: Read + Write,
{
    fn byte(at: usize) -> u8 {
        (at * 7 + at / 251) as u8
    }
    fn send(mut to: impl Write, mut rng: Rng, total: usize, largest: u64) {
        let mut at = 0;
        while at < total {
            let n = (1 + rng.below(largest) as usize).min(total - at);
            let piece: Vec<u8> = (at..at + n).map(byte).collect();
            to.write_all(&piece).unwrap();
            at += n;
        }
    }
    fn receive(mut from: impl Read, total: usize) {
        let mut buffer = vec![0; 100_000];
        let mut at = 0;
        while at < total {
            let n = from.read(&mut buffer).unwrap();
            assert!(n > 0, "the end after {at} bytes");
            assert!(buffer[..n].iter().enumerate().all(|(i, &b)| b == byte(at + i)), "near {at}");
            at += n;
        }
        assert_eq!(at, total);
    }
    let seeds = [rng.fork(), rng.fork()];
    let [one, two] = seeds;
    myriad::scope(|s| {
        let (client, server) = (&client, &server);
        s.spawn(move || send(client, one, total, 300_000));
        s.spawn(move || receive(server, total));
        s.spawn(move || send(server, two, total / 4, 2_000));
        s.spawn(move || receive(client, total / 4));
    });
}

#[test]
fn much_arrives_as_it_was_sent() {
    // (Large pieces go by `splice` after a while, and small ones by buffers again.)
    let total = if common::full_length() { 32 << 20 } else { 4 << 20 };
    each_runtime(|| {
        let mut rng = Rng(7);
        let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
        let tcp = proxy!(false, a, b);
        much(client, server, &mut rng, total);
        assert_eq!(tcp.join().unwrap().unwrap(), (total as u64, total as u64 / 4));
        let ((client, a), (b, server)) = (UnixStream::pair().unwrap(), tcp_pair());
        let mixed = proxy!(true, a, b);
        much(client, server, &mut rng, total / 4);
        assert_eq!(mixed.join().unwrap().unwrap(), (total as u64 / 4, total as u64 / 16));
    });
}

#[test]
fn descriptors_are_left_out_and_all_bytes_arrive() {
    // (3: a read ends where descriptors were sent, though there is more.)
    each_runtime(|| {
        let ((client, a), (b, server)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let copies = proxy!(false, a, b);
        (&client).write_all(b"x").unwrap();
        (&server).read_exact(&mut [0]).unwrap();
        wait_until(|| is_waiting(&copies));
        for _ in 0..4 {
            client.send_with_fds(b"abc", &[client.as_fd()]).unwrap();
        }
        (&server).read_exact(&mut [0; 12]).unwrap();
        drop((client, server));
        copies.join().unwrap().unwrap();
    });
}

#[test]
fn an_error_ends_both_directions() {
    each_runtime(|| {
        for is_async in [false, true] {
            let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
            let copies = proxy!(is_async, a, b);
            (&client).write_all(b"x").unwrap();
            server.read(&mut [0]).unwrap();
            client.set_linger(Some(std::time::Duration::ZERO)).unwrap();
            drop(client); // a reset
            let error = copies.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            assert!(error.to_string().starts_with("copy from 127.0.0.1:"), "{error}");
            assert_eq!(server.read(&mut [0]).unwrap(), 0, "its connections were dropped");
        }
    });
}

#[test]
fn closed_and_cancelled() {
    // (14.)
    each_runtime(|| {
        for is_async in [false, true] {
            let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
            let closes = b.try_clone().unwrap();
            let copies = proxy!(is_async, a, b);
            wait_until(|| is_waiting(&copies) || is_async);
            closes.close();
            assert_eq!(copies.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
            drop((client, server, closes));

            // One whose end of reading has been seen: nothing is written to it any more.
            let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
            let closes = b.try_clone().unwrap();
            let copies = proxy!(is_async, a, b);
            server.shutdown(Shutdown::Write).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
            closes.close();
            (&client).write_all(b"x").unwrap();
            let error = copies.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotConnected);
            assert!(error.to_string().starts_with("copy to 127.0.0.1:"), "{error}");
            drop((server, closes));

            let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
            let copies = proxy!(is_async, a, b);
            (&client).write_all(b"x").unwrap();
            server.read(&mut [0]).unwrap();
            copies.cancel();
            assert!(copies.join().unwrap_err().is_cancelled());
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        }
    });
}

#[test]
fn on_a_plain_thread() {
    let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
    let copies = std::thread::spawn(move || copy_both(&a, &b).unwrap());
    (&client).write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    (&server).read_to_string(&mut text).unwrap();
    drop(server);
    assert_eq!(text, "question");
    let copied = copies.join().unwrap();
    assert_eq!((copied.there, copied.back), (8, 0));
}

#[test]
fn no_descriptor_is_left() {
    let output = in_child(&[], || {
        each_runtime(|| {
            drop((tcp_pair(), myriad::io::pipe().unwrap()));
            {
                // (The reactor.)
                let (one, two) = pipe().unwrap();
                let reads = myriad::spawn(move || one.read(&mut [0]));
                wait_until(|| is_waiting(&reads));
                drop(two);
                assert_eq!(reads.join().unwrap().unwrap(), 0);
            }
            let before = descriptors::count();
            for is_async in [false, true] {
                let ((client, a), (b, server)) = (tcp_pair(), tcp_pair());
                let copies = proxy!(is_async, a, b);
                let sends = myriad::spawn(move || {
                    let bytes = vec![0; 1 << 20];
                    while (&client).write_all(&bytes).is_ok() {}
                });
                // In the middle of it, with a pipe perhaps.
                (&server).read_exact(&mut vec![0; 4 << 20]).unwrap();
                copies.cancel();
                assert!(copies.join().unwrap_err().is_cancelled());
                drop(server);
                sends.join().unwrap();
                wait_until(|| descriptors::count() == before);
            }
        });
    });
    common::assert_ok(&output);
}

// ---------------------------------------------------------------------------------------------------------
// pipes

#[test]
fn through_a_pipe() {
    each_runtime(|| {
        let (mut reader, mut writer) = pipe().unwrap();
        let total = 1_000_000;
        let writes = myriad::spawn(move || {
            let bytes: Vec<u8> = (0..total).map(|i| i as u8).collect();
            writer.write_all(&bytes[..total / 2]).unwrap();
            myriad::block_on(writer.write_all_async(&bytes[total / 2..])).unwrap();
        });
        let mut first = vec![0; total / 3];
        reader.read_exact(&mut first).unwrap();
        let mut rest = Vec::new();
        myriad::block_on(reader.read_to_end_async(&mut rest)).unwrap();
        writes.join().unwrap();
        assert_eq!(rest.len(), total - total / 3);
        assert!(first.iter().chain(&rest).enumerate().all(|(i, &byte)| byte == i as u8));
    });
}

#[test]
fn the_other_end_has_gone() {
    each_runtime(|| {
        let (reader, writer) = pipe().unwrap();
        // One that waits sees it, and one that comes later.
        let waits = myriad::spawn(move || {
            loop {
                if let Err(error) = writer.write(&[0; 4096]) {
                    return (error, writer);
                }
            }
        });
        wait_until(|| is_waiting(&waits));
        drop(reader);
        let (error, writer) = waits.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(error.to_string().starts_with("write to a pipe: "), "{error}");
        assert_eq!(myriad::block_on(writer.write_async(b"x")).unwrap_err().kind(), ErrorKind::BrokenPipe);
        let (reader, writer) = pipe().unwrap();
        let other = writer.try_clone().unwrap();
        let waits = myriad::spawn(move || reader.read(&mut [0]));
        wait_until(|| is_waiting(&waits));
        drop(writer);
        assert!(!waits.is_finished(), "there is another handle");
        drop(other);
        assert_eq!(waits.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn pipes_have_limits_and_can_be_closed() {
    each_runtime(|| {
        let (reader, writer) = pipe().unwrap();
        reader.set_read_timeout(Some(std::time::Duration::from_millis(2))).unwrap();
        assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(myriad::block_on(reader.read_async(&mut [0])).unwrap_err().kind(), ErrorKind::TimedOut);
        reader.set_read_timeout(None).unwrap();
        let other = reader.try_clone().unwrap();
        let waits = myriad::spawn(move || other.read(&mut [0]));
        wait_until(|| is_waiting(&waits));
        waits.cancel();
        assert!(waits.join().unwrap_err().is_cancelled());
        writer.write(b"x").unwrap();
        assert_eq!(reader.read(&mut [0; 2]).unwrap(), 1, "nothing is lost");
        let other = reader.try_clone().unwrap();
        let waits = myriad::spawn(move || other.read(&mut [0]));
        wait_until(|| is_waiting(&waits));
        reader.close();
        assert_eq!(waits.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn pipes_of_a_child_process() {
    each_runtime(|| {
        let (input, to_child) = std::io::pipe().unwrap();
        let (from_child, output) = std::io::pipe().unwrap();
        let mut child = std::process::Command::new("cat").stdin(input).stdout(output).spawn().unwrap();
        let (mut to_child, mut from_child) =
            (PipeWriter::from_std(to_child).unwrap(), PipeReader::try_from(from_child).unwrap());
        let writes = myriad::spawn(move || to_child.write_all(&[b'x'; 200_000]).unwrap());
        let mut text = String::new();
        from_child.read_to_string(&mut text).unwrap();
        writes.join().unwrap();
        assert_eq!(text.len(), 200_000);
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn pipes_on_plain_threads() {
    let (mut reader, mut writer) = pipe().unwrap();
    let reads = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    writer.write_all(b"hello").unwrap();
    drop(writer);
    assert_eq!(reads.join().unwrap(), "hello");
}
