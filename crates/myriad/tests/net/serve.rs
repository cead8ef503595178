//! Servers: `serve`, `serve_async`, `incoming`.

use crate::common::{self, in_child, wait_until};
use crate::{descriptors, each_runtime};
use myriad::net::unix::{SocketAddr as Name, SocketAddrExt, UnixListener, UnixStream};
use myriad::net::{TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

fn listener() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Asks, and returns the answer of a server that echoes.
fn ask(address: std::net::SocketAddr, question: &[u8]) -> Vec<u8> {
    let stream = TcpStream::connect(address).unwrap();
    (&stream).write_all(question).unwrap();
    stream.shutdown(myriad::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    (&stream).read_to_end(&mut answer).unwrap();
    answer
}

fn echo(stream: TcpStream) {
    std::io::copy(&mut &stream, &mut &stream).unwrap();
}

async fn echo_async(stream: TcpStream) {
    let mut bytes = Vec::new();
    stream.read_to_end_async(&mut bytes).await.unwrap();
    stream.write_all_async(&bytes).await.unwrap();
}

#[test]
fn ends_when_the_listener_is_closed_and_waits_for_its_connections() {
    each_runtime(|| {
        let (listener, address) = listener();
        let (served, others) = (AtomicUsize::new(0), (listener.try_clone().unwrap(), listener.try_clone().unwrap()));
        let ended = AtomicBool::new(false);
        myriad::scope(|s| {
            let server = s.spawn(|| {
                let result = listener.serve(100, |stream| {
                    echo(stream);
                    served.fetch_add(1, SeqCst);
                });
                ended.store(true, SeqCst);
                result
            });
            let slow = TcpStream::connect(address).unwrap();
            let mut byte = [0];
            (&slow).write_all(b"x").unwrap();
            (&slow).read_exact(&mut byte).unwrap();
            assert_eq!(ask(address, b"hello"), b"hello");
            others.0.close();
            others.1.close();
            for _ in 0..100 {
                myriad::yield_now();
            }
            assert!(!ended.load(SeqCst), "one is alive");
            (&slow).write_all(b"y").unwrap();
            (&slow).read_exact(&mut byte).unwrap();
            drop(slow);
            server.join().unwrap().unwrap();
        });
        assert_eq!(served.load(SeqCst), 2);
    });
}

#[test]
fn ends_when_the_listener_is_closed_as_a_future() {
    each_runtime(|| {
        let (listener, address) = listener();
        let other = listener.try_clone().unwrap();
        let server = myriad::spawn_async(async move { listener.serve_async(100, echo_async).await });
        let slow = TcpStream::connect(address).unwrap();
        assert_eq!(ask(address, b"hello"), b"hello");
        other.close();
        for _ in 0..100 {
            myriad::yield_now();
        }
        assert!(!server.is_finished(), "one is alive");
        drop(slow);
        server.join().unwrap().unwrap();
    });
}

/// How many connections live, and how many did at most.
#[derive(Default)]
struct Live(AtomicUsize, AtomicUsize);

impl Live {
    fn enter(&self) -> Leave<'_> {
        self.1.fetch_max(self.0.fetch_add(1, SeqCst) + 1, SeqCst);
        Leave(self)
    }
}

struct Leave<'a>(&'a Live);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

/// Runs this server, to which so many clients come at the same time.
fn with_clients(clients: u8, server: impl FnOnce(&TcpListener) -> std::io::Result<()> + Send) {
    let (listener, address) = listener();
    myriad::scope(|s| {
        let server = s.spawn(|| server(&listener));
        let clients: Vec<_> = (0..clients).map(|i| s.spawn(move || assert_eq!(ask(address, &[i]), [i]))).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        listener.close();
        server.join().unwrap().unwrap();
    });
}

#[test]
fn no_more_at_a_time_than_the_limit() {
    each_runtime(|| {
        let live = Arc::new(Live::default());
        with_clients(20, |listener| {
            listener.serve(3, |stream| {
                let _live = live.enter();
                echo(stream);
            })
        });
        let for_futures = live.clone();
        with_clients(20, |listener| {
            myriad::block_on(listener.serve_async(3, move |stream| {
                let live = for_futures.clone();
                async move {
                    let _live = live.enter();
                    echo_async(stream).await;
                }
            }))
        });
        assert!((1..=3).contains(&live.1.load(SeqCst)), "{live:?}", live = live.1);
        assert_eq!(live.0.load(SeqCst), 0);
    });
}

#[test]
fn a_limit_of_zero() {
    let (listener, _) = listener();
    assert_eq!(listener.serve(0, drop).unwrap_err().kind(), ErrorKind::InvalidInput);
    let error = myriad::block_on(listener.serve_async(0, |_| std::future::ready(()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_panic_ends_its_connection_only_and_is_told() {
    for is_async in [false, true] {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let lines = told.clone();
        let hook = myriad::Unhandled::Hook(Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())));
        common::each_with(
            &[1, 2],
            |b| b.on_unhandled_panic(hook.clone()),
            |_, rt| {
                rt.run(|| {
                    let (listener, address) = listener();
                    let answer = |stream: &TcpStream| {
                        let mut byte = [0];
                        (&mut &*stream).read_exact(&mut byte).unwrap();
                        if byte == *b"!" {
                            common::plan("that client");
                        }
                        (&mut &*stream).write_all(&byte).unwrap();
                    };
                    myriad::scope(|s| {
                        let server = s.spawn(|| match is_async {
                            false => listener.serve(10, |stream| answer(&stream)),
                            true => myriad::block_on(listener.serve_async(10, move |stream| async move {
                                answer(&stream);
                            })),
                        });
                        let alive = TcpStream::connect(address).unwrap();
                        assert_eq!(ask(address, b"!"), b"");
                        assert_eq!(ask(address, b"?"), b"?");
                        (&alive).write_all(b"x").unwrap();
                        assert_eq!(alive.read(&mut [0]).unwrap(), 1);
                        wait_until(|| !told.lock().unwrap().is_empty());
                        listener.close();
                        server.join().unwrap().unwrap();
                    });
                });
                let lines = std::mem::take(&mut *told.lock().unwrap());
                assert_eq!(lines.len(), 1, "{lines:?}");
                assert!(lines[0].contains("planned: that client"), "{lines:?}");
            },
        );
    }
}

#[test]
fn a_server_that_is_cancelled_ends_its_connections() {
    each_runtime(|| {
        let (listener, address) = listener();
        let live = Arc::new(Live::default());
        let of_server = live.clone();
        let server = myriad::spawn(move || {
            listener.serve(10, |stream| {
                let _live = of_server.enter();
                echo(stream);
            })
        });
        let client = TcpStream::connect(address).unwrap();
        wait_until(|| live.0.load(SeqCst) == 1);
        server.cancel();
        assert!(server.join().unwrap_err().is_cancelled());
        assert_eq!(live.0.load(SeqCst), 0);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_server_that_is_dropped_ends_its_connections() {
    each_runtime(|| {
        let (listener, address) = listener();
        let live = Arc::new(Live::default());
        let of_server = live.clone();
        let server = myriad::spawn_async(async move {
            let serve = listener.serve_async(10, move |stream| {
                let live = of_server.clone();
                async move {
                    let _live = live.enter();
                    echo_async(stream).await;
                }
            });
            serve.await
        });
        let client = TcpStream::connect(address).unwrap();
        wait_until(|| live.0.load(SeqCst) == 1);
        server.cancel();
        assert!(server.join().unwrap_err().is_cancelled());
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        wait_until(|| live.0.load(SeqCst) == 0);
    });
}

#[test]
fn a_limit_in_time_of_the_listener_ends_the_server() {
    each_runtime(|| {
        let (listener, address) = listener();
        myriad::scope(|s| {
            let server = s.spawn(|| listener.serve(10, echo));
            assert_eq!(ask(address, b"hello"), b"hello");
            listener.set_accept_deadline(Some(myriad::time::now()));
            assert_eq!(server.join().unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
        });
    });
}

#[test]
fn on_a_plain_thread() {
    let (listener, address) = listener();
    let count = AtomicUsize::new(0);
    std::thread::scope(|s| {
        let server = s.spawn(|| {
            listener.serve(10, |stream| {
                echo(stream);
                count.fetch_add(1, SeqCst);
            })
        });
        assert_eq!(ask(address, b"hello"), b"hello");
        listener.close();
        server.join().unwrap().unwrap();
    });
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn of_unix_sockets() {
    each_runtime(|| {
        let name =
            format!("myriad-test-serve-{}-{:?}", std::process::id(), myriad::task::current().map(|task| task.id()));
        let name = Name::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let ask = |question: &[u8]| {
            let stream = UnixStream::connect_addr(&name).unwrap();
            (&stream).write_all(question).unwrap();
            stream.shutdown(myriad::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            (&stream).read_to_end(&mut answer).unwrap();
            answer
        };
        myriad::scope(|s| {
            let server = s.spawn(|| listener.serve(2, |stream| _ = std::io::copy(&mut &stream, &mut &stream).unwrap()));
            let clients: Vec<_> = (0..10).map(|i| s.spawn(move || assert_eq!(ask(&[i]), [i]))).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
            listener.close();
            server.join().unwrap().unwrap();
        });
    });
}

#[test]
fn without_a_descriptor_it_waits_for_one() {
    // (18: there is no event when a descriptor becomes free.)
    let output = in_child(&[], || {
        each_runtime(|| {
            for is_async in [false, true] {
                let (listener, address) = listener();
                let other = listener.try_clone().unwrap();
                let server = myriad::spawn(move || match is_async {
                    false => listener.serve(10, echo),
                    true => myriad::block_on(listener.serve_async(10, echo_async)),
                });
                assert_eq!(ask(address, b"first"), b"first");
                // Sockets of clients, and then there are no more descriptors.
                let clients = [(); 4].map(|()| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap());
                let before = descriptors::allow(descriptors::next());
                clients.iter().for_each(|client| client.connect(&address.into()).unwrap());
                let error = TcpStream::connect(address).unwrap_err();
                assert!(error.to_string().ends_with("(os error 24)"), "{error}");
                myriad::time::sleep(std::time::Duration::from_millis(15));
                descriptors::allow(before);
                for client in clients {
                    let mut client = std::net::TcpStream::from(client);
                    client.write_all(b"x").unwrap();
                    client.shutdown(std::net::Shutdown::Write).unwrap();
                    let mut answer = Vec::new();
                    myriad::blocking(|| client.read_to_end(&mut answer)).unwrap();
                    assert_eq!(answer, b"x");
                }
                other.close();
                server.join().unwrap().unwrap();
            }
        });
    });
    common::assert_ok(&output);
}
