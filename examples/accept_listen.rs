//! Prints: 10 clients were served: hello, client 0 ... hello, client 9
//!
//! The server of the paper on Julia's tasks, `accept(listen(port)) do client ... end`: no types of
//! its own, no callbacks, a closure for each client.

use myriad::net::{TcpListener, TcpStream};
use std::io::{self, BufRead, BufReader, Write};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    myriad::spawn(move || {
        listener.serve(100, |client| {
            let name = BufReader::new(&client).lines().next().expect("a line").expect("a connection");
            writeln!(&client, "hello, {name}").expect("a client that waits");
        })
    });

    let clients: Vec<_> = (0..10)
        .map(|number| {
            myriad::spawn(move || {
                let server = TcpStream::connect(address)?;
                writeln!(&server, "client {number}")?;
                BufReader::new(&server).lines().next().expect("an answer")
            })
        })
        .collect();
    let answers = clients.into_iter().map(|client| client.join().unwrap()).collect::<io::Result<Vec<_>>>()?;
    println!("{} clients were served: {} ... {}", answers.len(), answers[0], answers[9]);
    Ok(())
}
