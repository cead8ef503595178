//! Connections over TCP.

use crate::each_runtime;
use crate::ends::{echo, echo_async, listener, pair};
use myriad::net::{Shutdown, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

#[test]
fn many_clients_of_an_echo() {
    each_runtime(|| {
        let (listener, address) = listener();
        let server = myriad::spawn(move || {
            for i in 0..64 {
                let stream = listener.accept().unwrap().0;
                if i % 2 == 0 {
                    myriad::spawn(|| echo(stream));
                } else {
                    myriad::spawn_async(echo_async(stream));
                }
            }
        });
        let clients: Vec<_> = (0..64_u8)
            .map(|i| {
                myriad::spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    for round in 0..20_u8 {
                        stream.write_all(&[i, round]).unwrap();
                        let mut answer = [0; 2];
                        stream.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, [i, round]);
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        server.join().unwrap();
    });
}

#[test]
fn plain_threads_need_no_runtime() {
    let (one, two) = pair();
    let server = std::thread::spawn(move || echo(two));
    (&one).write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    (&one).read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
    one.shutdown(Shutdown::Write).unwrap();
    assert_eq!(one.read(&mut answer).unwrap(), 0);
    server.join().unwrap();
}

#[test]
fn a_future_on_a_plain_thread() {
    let (one, two) = pair();
    let server = std::thread::spawn(move || echo(two));
    myriad::block_on(async {
        one.write_all_async(b"hello").await.unwrap();
        let mut answer = [0; 5];
        one.read_exact_async(&mut answer).await.unwrap();
        assert_eq!(&answer, b"hello");
        one.shutdown(Shutdown::Write).unwrap();
    });
    server.join().unwrap();
}

#[test]
fn nobody_listens() {
    each_runtime(|| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = TcpStream::connect(free).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&free.to_string()), "{error}");
    });
}

#[test]
fn a_read_with_a_limit() {
    each_runtime(|| {
        let (one, two) = pair();
        one.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut byte = [0];
        assert_eq!(one.read(&mut byte).unwrap_err().kind(), ErrorKind::TimedOut);
        let error = myriad::block_on(one.read_async(&mut byte)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        (&two).write_all(b"x").unwrap();
        one.set_read_timeout(None).unwrap();
        assert_eq!(one.read(&mut byte).unwrap(), 1, "nothing is lost");
    });
}
