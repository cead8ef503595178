//! Dumps: a task that waits for a socket, and for which.

use crate::common::wait_until;
use crate::ends::{listener, pair};
use crate::{each_runtime, is_waiting};
use myriad::net::unix::UnixStream;
use myriad::net::{TcpStream, UdpSocket};
use myriad::{JoinHandle, spawn, spawn_async};

/// Five waits, each by a closure (false) or by a future.
fn five(futures: bool) {
    let (client, server) = pair();
    let (port, at) = listener();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (unix, other) = UnixStream::pair().unwrap();
    let (pipe, full) = myriad::io::pipe().unwrap();
    let (peer, datagrams) = (server.peer_addr().unwrap(), udp.local_addr().unwrap());
    let tasks: [JoinHandle<()>; 5] = match futures {
        false => [
            spawn(move || drop(server.read(&mut [0]))),
            spawn(move || drop(port.accept())),
            spawn(move || drop(udp.recv(&mut [0]))),
            spawn(move || drop(unix.read(&mut [0]))),
            spawn(move || while full.write(&[0; 1 << 16]).is_ok() {}),
        ],
        true => [
            spawn_async(async move { drop(server.read_async(&mut [0]).await) }),
            spawn_async(async move { drop(port.accept_async().await) }),
            spawn_async(async move { drop(udp.recv_async(&mut [0]).await) }),
            spawn_async(async move { drop(unix.read_async(&mut [0]).await) }),
            spawn_async(async move { while full.write_async(&[0; 1 << 16]).await.is_ok() {} }),
        ],
    };
    let sockets = [Some(peer.to_string()), Some(at.to_string()), Some(datagrams.to_string()), None, None];
    wait_until(|| tasks.iter().all(is_waiting));
    for (task, socket) in tasks.iter().zip(&sockets) {
        let why = task.why_waiting().unwrap();
        assert_eq!((why.chain()[0].socket(), why.chain()[0].is_future()), (socket.as_deref(), futures));
        let text = why.to_string();
        assert!(socket.as_ref().is_none_or(|socket| text.ends_with(&format!("waits for input: {socket}"))), "{text}");
    }
    assert!(tasks[4].why_waiting().unwrap().to_string().ends_with("waits for room for output"));
    // The ends of those waits.
    drop((client, other, pipe, TcpStream::connect(at).unwrap()));
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0], datagrams).unwrap();
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn whom_a_task_waits_for() {
    each_runtime(|| [false, true].into_iter().for_each(five));
}
