//! Prints: ann heard 2 others, bob heard 2 others, eve heard 2 others
//!
//! A chat: what one sends as a line, all hear. Each client has two tasks, one that reads from it
//! and one that writes to it; a broadcast channel lies between. Who is so slow that the channel
//! has forgotten lines is told how many.
//!
//! With an address it runs for ever: `line_chat 127.0.0.1:7777`, and `nc 127.0.0.1 7777`.

use myriad::channel::{BroadcastSender, Heard, broadcast};
use myriad::net::{Shutdown, TcpListener, TcpStream};
use std::io::{self, BufRead, BufReader, Write};

/// One client: its first line is its name.
fn talk(stream: &TcpStream, room: &BroadcastSender<String>) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let Some(name) = lines.next().transpose()? else { return Ok(()) };
    let mut heard = room.subscribe();
    writeln!(&mut &*stream, "welcome")?;
    myriad::scope(|s| {
        let writes = s.spawn(|| {
            while let Ok(heard) = heard.recv() {
                match heard {
                    Heard::Message(line) => writeln!(&mut &*stream, "{line}")?,
                    Heard::Missed(n) => writeln!(&mut &*stream, "({n} lines are lost)")?,
                }
            }
            io::Result::Ok(())
        });
        for line in lines.map_while(Result::ok) {
            _ = room.send(format!("{name}: {line}"));
        }
        writes.cancel(); // the client has gone
    });
    Ok(())
}

/// Says a line, and listens until two others have.
fn client(name: &str, stream: &TcpStream, all_are_here: &std::sync::Barrier) -> io::Result<usize> {
    let mut lines = BufReader::new(stream).lines();
    writeln!(&mut &*stream, "{name}")?;
    assert_eq!(lines.next().expect("a line")?, "welcome");
    myriad::blocking(|| all_are_here.wait());
    writeln!(&mut &*stream, "hello")?;
    let own = format!("{name}: ");
    let heard = lines.map_while(Result::ok).filter(|line| !line.starts_with(&own)).take(2).count();
    stream.shutdown(Shutdown::Both)?;
    Ok(heard)
}

fn main() -> io::Result<()> {
    let (room, _) = broadcast(1_000);
    if let Some(address) = std::env::args().nth(1) {
        return TcpListener::bind(address)?.serve(1_000, |stream| _ = talk(&stream, &room));
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, all_are_here) = (listener.local_addr()?, std::sync::Barrier::new(3));
    let heard: Vec<String> = myriad::scope(|s| {
        s.spawn(|| listener.serve(1_000, |stream| _ = talk(&stream, &room)));
        let names = ["ann", "bob", "eve"];
        let clients = names.map(|name| {
            let all_are_here = &all_are_here;
            s.spawn(move || client(name, &TcpStream::connect(address)?, all_are_here))
        });
        let heard = names.into_iter().zip(clients).map(|(name, client)| {
            let heard = client.join().unwrap()?;
            Ok(format!("{name} heard {heard} others"))
        });
        let heard = heard.collect::<io::Result<_>>();
        listener.close();
        heard
    })?;
    println!("{}", heard.join(", "));
    Ok(())
}
