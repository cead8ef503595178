//! Dumps: a task that waits for a socket, and for which.

use crate::common::wait_until;
use crate::ends::{listener, pair};
use crate::{each_runtime, is_waiting};
use myriad::net::unix::UnixStream;
use myriad::net::{TcpStream, UdpSocket};
use myriad::spawn;

#[test]
fn whom_a_task_waits_for() {
    each_runtime(|| {
        let (client, server) = pair();
        let (port, at) = listener();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (unix, other) = UnixStream::pair().unwrap();
        let (pipe, full) = myriad::io::pipe().unwrap();
        let (peer, datagrams) = (server.peer_addr().unwrap(), udp.local_addr().unwrap());
        let tasks = [
            (spawn(move || drop(server.read(&mut [0]))), Some(peer.to_string())),
            (spawn(move || drop(port.accept())), Some(at.to_string())),
            (spawn(move || drop(udp.recv(&mut [0]))), Some(datagrams.to_string())),
            (spawn(move || drop(unix.read(&mut [0]))), None),
            (spawn(move || while full.write(&[0; 1 << 16]).is_ok() {}), None),
        ];
        wait_until(|| tasks.iter().all(|(task, _)| is_waiting(task)));
        for (task, socket) in &tasks {
            let why = task.why_waiting().unwrap();
            assert_eq!(why.chain()[0].socket(), socket.as_deref());
            let text = why.to_string();
            assert!(
                socket.as_ref().is_none_or(|socket| text.ends_with(&format!("waits for input: {socket}"))),
                "{text}"
            );
        }
        assert!(tasks[4].0.why_waiting().unwrap().to_string().ends_with("waits for room for output"));
        // The ends of those waits.
        drop((client, other, pipe, TcpStream::connect(at).unwrap()));
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0], datagrams).unwrap();
        tasks.into_iter().for_each(|(task, _)| task.join().unwrap());
    });
}
