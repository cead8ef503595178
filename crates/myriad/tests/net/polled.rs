//! Streams that are polled: for the traits of other crates.

use crate::common::wait_until;
use crate::ends::pair;
use crate::{each_runtime, is_waiting};
use myriad::io::Polled;
use myriad::net::Shutdown;
use myriad::net::unix::UnixStream;
use myriad::{block_on, spawn, spawn_async};
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

async fn read(stream: &mut Polled<impl myriad::io::PollRead>, buffer: &mut [u8]) -> std::io::Result<usize> {
    poll_fn(|cx| stream.poll_read(cx, buffer)).await
}

/// Counts its calls.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn there_and_back() {
    each_runtime(|| {
        let (client, server) = pair();
        let task = spawn_async(async move {
            let (mut server, mut bytes) = (Polled::new(server), [0; 7]);
            loop {
                match read(&mut server, &mut bytes).await.unwrap() {
                    0 => return poll_fn(|cx| server.poll_close(cx)).await.unwrap(),
                    n => assert_eq!(poll_fn(|cx| server.poll_write(cx, &bytes[..n])).await.unwrap(), n),
                }
            }
        });
        for length in [1, 6, 7, 8, 100] {
            let text: Vec<_> = (0..length).collect();
            client.write(&text).unwrap();
            let mut answer = vec![0; text.len()];
            block_on(client.read_exact_async(&mut answer)).unwrap();
            assert_eq!(answer, text);
        }
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "closed after the end");
        task.join().unwrap();
    });
}

/// Situation 45. Polled on two workers in turn, with two wakers, and a million times in vain.
#[test]
fn polled_in_vain_with_other_wakers() {
    each_runtime(|| {
        let (one, two) = UnixStream::pair().unwrap();
        let mut one = Polled::new(one);
        let counts = [(); 2].map(|()| Arc::new(Counts::default()));
        let rounds = if crate::common::full_length() { 1_000_000 } else { 10_000 };
        for round in 0..rounds {
            let waker = Waker::from(counts[round % 2].clone());
            assert!(one.poll_read(&mut Context::from_waker(&waker), &mut [0; 8]).is_pending());
            if round % 1000 == 0 {
                one = spawn(move || one).join().unwrap();
            }
        }
        two.write(b"abc").unwrap();
        wait_until(|| counts.iter().any(|counts| counts.0.load(SeqCst) > 0));
        let calls = counts.each_ref().map(|counts| counts.0.load(SeqCst));
        assert_eq!(calls, [0, 1], "the last one, once");
        assert_eq!(Arc::strong_count(&counts[0]), 1, "the wakers before are gone");
        assert_eq!(block_on(read(&mut one, &mut [0; 8])).unwrap(), 3);
    });
}

/// Two handles, each with its own wait: neither is forgotten.
#[test]
fn two_readers_that_poll() {
    each_runtime(|| {
        let (client, server) = pair();
        let readers = [server.try_clone().unwrap(), server]
            .map(|stream| spawn_async(async move { read(&mut Polled::new(stream), &mut [0]).await.unwrap() }));
        client.write(b"ab").unwrap();
        readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), 1));
    });
}

/// One that waits and is dropped, or gives the stream back, leaves the event to the next.
#[test]
fn given_up_between_two_polls() {
    each_runtime(|| {
        for round in 0..100 {
            let (client, server) = pair();
            let other = server.try_clone().unwrap();
            let mut polled = Polled::new(server);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(polled.poll_read(&mut cx, &mut [0]).is_pending());
            let reads = spawn(move || other.read(&mut [0; 4]).unwrap());
            wait_until(|| is_waiting(&reads));
            if round % 2 == 0 {
                client.write(b"abc").unwrap();
                drop(polled);
            } else {
                let stream = polled.into_inner();
                client.write(b"abc").unwrap();
                drop(stream);
            }
            assert_eq!(reads.join().unwrap(), 3);
        }
    });
}

/// One that was given up, and is not polled any more, keeps no event from others who wait, though
/// it has waited longest and is still there.
#[test]
fn whoever_is_given_up_keeps_nothing_from_others() {
    each_runtime(|| {
        let (client, server) = pair();
        let mut polled = Polled::new(server.try_clone().unwrap());
        let mut cx = Context::from_waker(Waker::noop());
        for round in 0..100 {
            assert!(polled.poll_read(&mut cx, &mut [0]).is_pending(), "round {round}: nothing is left");
            let other = server.try_clone().unwrap();
            let reads = spawn(move || other.read(&mut [0; 4]).unwrap());
            wait_until(|| is_waiting(&reads));
            client.write(b"abc").unwrap();
            assert_eq!(reads.join().unwrap(), 3, "round {round}");
        }
        client.write(b"d").unwrap();
        assert_eq!(block_on(read(&mut polled, &mut [0; 4])).unwrap(), 1);
    });
}

#[test]
fn limits_count_here_too() {
    each_runtime(|| {
        let (_client, server) = pair();
        server.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let mut server = Polled::new(server);
        let error = block_on(read(&mut server, &mut [0])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().starts_with("read from 127.0.0.1:"), "{error}");
        server.get_ref().close();
        assert_eq!(block_on(read(&mut server, &mut [0])).unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

/// Of pipes, with many buffers, and until there is no room.
#[test]
fn pipes_and_vectors() {
    each_runtime(|| {
        let (reader, writer) = myriad::io::pipe().unwrap();
        let (mut reader, mut writer) = (Polled::new(reader), Polled::new(writer));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(writer.poll_write(&mut cx, b""), Poll::Ready(Ok(0))));
        assert!(matches!(reader.poll_read(&mut cx, &mut []), Poll::Ready(Ok(0))));
        let buffers = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cde")];
        assert!(matches!(writer.poll_write_vectored(&mut cx, &buffers), Poll::Ready(Ok(5))));
        let (mut one, mut two) = ([0; 1], [0; 9]);
        let mut room = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert!(matches!(reader.poll_read_vectored(&mut cx, &mut room), Poll::Ready(Ok(5))));
        assert_eq!((&one, &two[..4]), (b"a", &b"bcde"[..]));
        let mut sent = 0;
        while let Poll::Ready(n) = writer.poll_write(&mut cx, &[1; 5000]) {
            sent += n.unwrap();
        }
        let writes = spawn_async(async move { poll_fn(|cx| writer.poll_write(cx, &[1; 5000])).await.unwrap() });
        let mut got = 0;
        block_on(async {
            while got < sent {
                got += read(&mut reader, &mut [0; 3000]).await.unwrap();
            }
        });
        assert!(writes.join().unwrap() > 0);
    });
}

/// Situation 9. A writer that has no room is woken when there is some to speak of, and not for
/// each byte that its peer reads.
#[test]
fn a_peer_that_reads_byte_by_byte() {
    each_runtime(|| {
        let (stream, mut peer) = crate::ends::half();
        let (mut stream, counts) = (Polled::new(stream), Arc::new(Counts::default()));
        let waker = Waker::from(counts.clone());
        let mut write = |polls: &mut usize| {
            *polls += 1;
            stream.poll_write(&mut Context::from_waker(&waker), &[1; 1 << 16]).is_ready()
        };
        let (mut polls, mut read, mut seen) = (0, 0, 0);
        while write(&mut polls) {}
        polls = 0;
        while read < 5_000 || seen == 0 {
            peer.read_exact(&mut [0]).unwrap();
            read += 1;
            let wakes = counts.0.load(SeqCst);
            if wakes != seen {
                seen = wakes;
                while write(&mut polls) {}
            }
            if read > 5_000 {
                // (Then in larger pieces: until there is room.)
                peer.read_exact(&mut [0; 1 << 14]).unwrap();
            }
        }
        assert!(polls < 50, "{polls} polls for {read} reads");
    });
}

/// By the traits, as codecs and TLS use them.
#[cfg(feature = "futures-io")]
#[test]
fn by_futures_io() {
    use futures_util::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    use futures_util::stream::StreamExt;
    each_runtime(|| {
        let (client, server) = pair();
        let task = spawn_async(async move {
            let (read, mut write) = Polled::new(server).split();
            let mut lines = BufReader::new(read).lines();
            while let Some(line) = lines.next().await {
                write.write_all(format!("{}!\n", line.unwrap()).as_bytes()).await.unwrap();
            }
            write.close().await.unwrap();
        });
        let text = block_on(async {
            let mut client = Polled::new(client);
            client.write_all(b"one\ntwo\n").await.unwrap();
            client.flush().await.unwrap();
            client.close().await.unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            text
        });
        assert_eq!(text, "one!\ntwo!\n");
        task.join().unwrap();
    });
}
