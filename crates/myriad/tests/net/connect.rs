//! Connecting to one of several addresses.

use crate::common::{in_child, wait_until};
use crate::{common, descriptors, each_runtime};
use myriad::net::{OperationError, TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// An address at which connections neither come about nor fail: the queue of its listener is full.
struct Silent {
    address: SocketAddr,
    _listener: Socket,
    _clients: Vec<Socket>,
}

impl Silent {
    fn new() -> Silent {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let clients = [(); 4].map(|()| {
            let client = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            _ = client.connect(&address.into());
            client
        });
        Silent { address, _listener: listener, _clients: clients.into() }
    }
}

fn listener(at: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address where nobody listens.
fn refusing() -> SocketAddr {
    listener("127.0.0.1:0").1
}

/// Connects from a closure, and from a future.
fn connect(addresses: &[SocketAddr]) -> [std::io::Result<TcpStream>; 2] {
    [TcpStream::connect(addresses), myriad::block_on(TcpStream::connect_async(addresses))]
}

#[test]
fn the_next_one_comes_at_once_after_a_failure() {
    each_runtime(|| {
        let (_listener, answers) = listener("127.0.0.1:0");
        for stream in connect(&[refusing(), refusing(), answers]) {
            assert_eq!(stream.unwrap().peer_addr().unwrap(), answers);
        }
    });
}

#[test]
fn the_next_one_comes_beside_one_that_is_silent() {
    each_runtime(|| {
        let (silent, (_listener, answers)) = (Silent::new(), listener("127.0.0.1:0"));
        for stream in connect(&[silent.address, answers]) {
            assert_eq!(stream.unwrap().peer_addr().unwrap(), answers);
        }
        // (The failure of the second one starts the third.)
        let began = Instant::now();
        let stream = TcpStream::connect(&[silent.address, refusing(), silent.address, answers][..]).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), answers);
        assert!(began.elapsed() >= Duration::from_millis(500), "two were silent for 250 ms each");
    });
}

#[test]
fn failures_do_not_cost_a_delay_each() {
    each_runtime(|| {
        let (silent, (_listener, answers)) = (Silent::new(), listener("127.0.0.1:0"));
        let addresses = [vec![silent.address], vec![refusing(); 100], vec![answers]].concat();
        let began = Instant::now();
        assert_eq!(TcpStream::connect(&addresses[..]).unwrap().peer_addr().unwrap(), answers);
        // (25 s, if each had to wait for its turn beside the silent one.)
        assert!(began.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn families_take_turns() {
    let Ok(six) = TcpListener::bind("[::1]:0") else { return };
    let six = six.local_addr().map(|address| (six, address)).unwrap();
    each_runtime(|| {
        let silent = [Silent::new(), Silent::new()];
        let [a, b] = [silent[0].address, silent[1].address];
        // (That it is the second and not the third is tested beside the code.)
        let stream = TcpStream::connect_timeout(&[a, b, six.1][..], common::PATIENCE).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), six.1);
    });
}

#[test]
fn errors_name_all() {
    each_runtime(|| {
        let (a, b) = (refusing(), refusing());
        for stream in connect(&[a, b]) {
            let error = stream.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let text = error.to_string();
            assert!(text.starts_with(&format!("connect to any of 2 addresses: {a}: ")), "{text}");
            assert!(text.contains(&format!("; {b}: ")), "{text}");
            let inner = error.get_ref().unwrap().downcast_ref::<OperationError>().unwrap();
            assert_eq!(inner.operation(), "connect to");
        }
    });
    let (a, b) = (refusing(), refusing());
    let error = TcpStream::connect(&[a, b][..]).unwrap_err().to_string();
    assert!(error.contains(&a.to_string()) && error.contains(&b.to_string()), "(on a plain thread) {error}");
}

#[test]
fn a_limit_in_time_is_for_all() {
    each_runtime(|| {
        let (silent, (_listener, answers)) = (Silent::new(), listener("127.0.0.1:0"));
        let limit = Duration::from_millis(20);
        let both = [silent.address, silent.address];
        for error in [
            TcpStream::connect_timeout(&both[..], limit).unwrap_err(),
            myriad::block_on(TcpStream::connect_timeout_async(&both[..], limit)).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(error.to_string().matches(&silent.address.to_string()).count(), 2, "{error}");
        }
        // Each has its share: the second comes before 250 ms.
        let began = Instant::now();
        let limit = Duration::from_millis(200);
        match TcpStream::connect_timeout(&[silent.address, answers][..], limit) {
            Ok(stream) => assert_eq!(stream.peer_addr().unwrap(), answers),
            Err(error) => assert!(began.elapsed() >= limit, "(the machine stood still) {error}"),
        }
    });
    let silent = Silent::new();
    let limit = Duration::from_millis(10);
    let both = [silent.address, silent.address];
    let error = TcpStream::connect_timeout(&both[..], limit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "on a plain thread");
}

#[test]
fn a_name_with_two_addresses() {
    each_runtime(|| {
        let (_listener, address) = listener("127.0.0.1:0");
        let name = format!("localhost:{}", address.port());
        TcpStream::connect(&name).unwrap();
        myriad::block_on(TcpStream::connect_async(&name)).unwrap();
    });
}

#[test]
fn the_others_are_closed() {
    // (13. In a process of its own, whose descriptors are counted.)
    let output = in_child(&[], || {
        each_runtime(|| {
            let (silent, (listener, answers)) = (Silent::new(), listener("127.0.0.1:0"));
            let addresses = [silent.address, silent.address, answers];
            // What is made once: the reactor.
            drop((TcpStream::connect(answers).unwrap(), listener.accept().unwrap()));
            let before = descriptors::count();
            drop((TcpStream::connect(&addresses[..]).unwrap(), listener.accept().unwrap()));
            wait_until(|| descriptors::count() == before); // one has won
            let waits = myriad::spawn(move || TcpStream::connect(&addresses[..2]).map(drop));
            wait_until(|| descriptors::count() == before + 2);
            waits.cancel();
            assert!(waits.join().unwrap_err().is_cancelled());
            wait_until(|| descriptors::count() == before); // a closure was cancelled
            let future = TcpStream::connect_async(&addresses[..2]);
            assert!(myriad::block_on(myriad::time::timeout_async(Duration::from_millis(5), future)).is_err());
            wait_until(|| descriptors::count() == before); // a future was dropped
        });
    });
    common::assert_ok(&output);
}
