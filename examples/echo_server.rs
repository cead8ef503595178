//! Prints: 20 clients, 2000 lines
//!
//! A server that sends back what it gets, as a closure that blocks: a task for each connection, and
//! at most eight at a time. Its clients run beside it, and then it is closed.

use myriad::net::{Shutdown, TcpListener, TcpStream};
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;

/// Asks a hundred times, and counts the answers.
fn client(address: SocketAddr, number: usize) -> io::Result<usize> {
    let stream = TcpStream::connect(address)?;
    let mut answers = BufReader::new(&stream).lines();
    for round in 0..100 {
        let line = format!("client {number}, round {round}");
        writeln!(&stream, "{line}")?;
        assert_eq!(answers.next().expect("an answer")?, line);
    }
    stream.shutdown(Shutdown::Write)?;
    assert!(answers.next().is_none(), "the server ends when the client has ended");
    Ok(100)
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let lines: usize = myriad::scope(|s| {
        let server = s.spawn(|| {
            listener.serve(8, |stream| {
                if let Err(error) = io::copy(&mut &stream, &mut &stream) {
                    eprintln!("{error}"); // names the operation and the peer
                }
            })
        });
        let clients: Vec<_> = (0..20).map(|number| s.spawn(move || client(address, number))).collect();
        let lines = clients.into_iter().map(|client| client.join().unwrap()).sum::<io::Result<usize>>();
        listener.close(); // `serve` waits for its connections, and returns
        server.join().unwrap().and(lines)
    })?;
    println!("20 clients, {lines} lines");
    Ok(())
}
