//! Prints: 1000000 bytes there, 1000000 back
//!
//! A proxy: for each client it connects to a server, and copies both ways until both have ended.
//! Large transfers go by `splice`, without a copy in this process.
//!
//! With two arguments it runs for ever: `tcp_proxy 127.0.0.1:8080 example.org:80`.

use myriad::io::copy_both;
use myriad::net::{Shutdown, TcpListener, TcpStream};
use std::io::{self, Read, Write};
use std::time::Duration;

/// One client's connection.
fn forward(client: &TcpStream, to: &str) -> io::Result<myriad::io::Copied> {
    let server = TcpStream::connect_timeout(to, Duration::from_secs(10))?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    copy_both(client, &server)
}

/// Sends much, and reads as much back.
fn client(proxy: &TcpStream) -> io::Result<usize> {
    myriad::scope(|s| {
        let sends = s.spawn(|| {
            (&mut &*proxy).write_all(&[b'x'; 1_000_000])?;
            proxy.shutdown(Shutdown::Write)
        });
        let mut bytes = Vec::new();
        (&mut &*proxy).read_to_end(&mut bytes)?;
        sends.join().unwrap()?;
        Ok(bytes.len())
    })
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [at, to] = &arguments[..] {
        return TcpListener::bind(at)?.serve(10_000, |client| {
            if let Err(error) = forward(&client, to) {
                eprintln!("{error}");
            }
        });
    }
    let (server, proxy) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    let (to, at) = (server.local_addr()?.to_string(), proxy.local_addr()?);
    myriad::scope(|s| {
        s.spawn(|| server.serve(10, |stream| _ = io::copy(&mut &stream, &mut &stream)));
        let copied = s.spawn(|| forward(&proxy.accept()?.0, &to));
        let read = client(&TcpStream::connect(at)?);
        let copied = copied.join().unwrap()?;
        server.close();
        assert_eq!(read?, 1_000_000);
        println!("{} bytes there, {} back", copied.there, copied.back);
        Ok(())
    })
}
