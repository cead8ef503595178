//! What is left of a socket when its last handle is gone: nothing, for the next one.

use crate::each_runtime;
use crate::ends::{each_form, half};
use myriad::net::{TcpListener, TcpStream};
use std::io::{ErrorKind, Write};
use std::net;
use std::time::Duration;

/// The next sockets, one of which has the place of the one before, have none of its limits.
#[test]
fn the_next_socket_is_as_new() {
    each_form(|form| {
        for _ in 0..8 {
            let (stream, mut peer) = half();
            stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            stream.set_write_deadline(Some(myriad::time::now()));
            assert_eq!(form.read(&stream, &mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            peer.write_all(b"x").unwrap();
            stream.close();
            assert_eq!(form.read(&stream, &mut [0]).unwrap_err().kind(), ErrorKind::NotConnected);
            drop(stream);
            let next: Vec<_> = (0..4).map(|_| half()).collect();
            for (stream, mut peer) in next {
                assert_eq!((stream.read_timeout().unwrap(), stream.write_timeout().unwrap()), (None, None));
                stream.write(b"abc").unwrap();
                peer.write_all(b"abc").unwrap();
                let mut bytes = [0; 3];
                assert_eq!(form.read(&stream, &mut bytes).unwrap(), 3);
            }
        }
    });
}

/// The errors of a socket name its own peer, be its address short or long.
#[test]
fn errors_name_the_own_peer() {
    let pair = |at: &str| {
        let listener = TcpListener::bind(at)?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        listener.accept().map(|(server, peer)| (client, server, peer))
    };
    let Ok(long) = pair("[::1]:0") else { return eprintln!("this machine has no IPv6") };
    for _ in 0..40 {
        for (client, server, peer) in [pair("127.0.0.1:0").unwrap(), pair("[::1]:0").unwrap()] {
            assert_eq!(server.peer_addr().unwrap(), peer);
            client.set_linger(Some(Duration::ZERO)).unwrap();
            drop(client);
            let error = server.read(&mut [0]).unwrap_err();
            assert!(error.to_string().contains(&peer.to_string()), "{error} of {peer}");
        }
    }
    assert_eq!(long.1.peer_addr().unwrap(), long.2);
}

/// A port is free as soon as the last handle of its listener is gone, also while the reactor tells
/// the listener of connections.
#[test]
fn a_port_is_free_at_once() {
    each_runtime(|| {
        let mut port = 0;
        for round in 0..100 {
            let listener = TcpListener::bind(("127.0.0.1", port)).unwrap_or_else(|error| panic!("{round}: {error}"));
            let address = listener.local_addr().unwrap();
            port = address.port();
            let clients = std::thread::spawn(move || {
                let mut open = Vec::new();
                while let Ok(client) = net::TcpStream::connect(address) {
                    open.push(client);
                    if open.len() == 64 {
                        return;
                    }
                }
            });
            for _ in 0..4 {
                listener.accept().unwrap();
            }
            drop(listener);
            clients.join().unwrap();
        }
    });
}
