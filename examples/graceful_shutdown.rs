//! Prints: 3 requests were answered after the stop; the client that stayed was cut off: true
//!
//! A server that ends in good order: first it takes no new clients, then those that are under way
//! get some time to end, and what is left then is cancelled. Nothing of it goes on afterwards.

use myriad::net::{TcpListener, TcpStream};
use std::io::{self, Read, Write};
use std::time::Duration;

/// Answers requests of one byte.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0];
    while stream.read(&mut request)? == 1 {
        stream.write_all(&request)?;
    }
    Ok(())
}

/// A request and its answer.
fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"?")?;
    stream.read_exact(&mut [0])
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, port) = (listener.local_addr()?, listener.try_clone()?);
    let server = myriad::spawn(move || listener.serve(100, |stream| _ = answer(stream)));

    let mut clients: Vec<_> = (0..4).map(|_| TcpStream::connect(address)).collect::<io::Result<_>>()?;
    clients.iter_mut().try_for_each(ask)?;
    let stays = clients.pop().expect("four clients");

    port.close(); // 1. no new clients: here, or in a task that waits for a signal
    let after = clients.len();
    clients.iter_mut().try_for_each(ask)?;
    drop(clients);
    let cancelled = match server.join_timeout(Duration::from_millis(100)) {
        Ok(ended) => {
            ended.unwrap()?; // 2. all of them have ended
            false
        }
        Err(server) => {
            server.cancel(); // 3. the rest is cancelled, and has ended when `join` returns
            server.join().is_err_and(|error| error.is_cancelled())
        }
    };
    let cut_off = cancelled && stays.read(&mut [0])? == 0;
    println!("{after} requests were answered after the stop; the client that stayed was cut off: {cut_off}");
    Ok(())
}
