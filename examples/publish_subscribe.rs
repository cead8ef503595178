//! Prints: news: 3 subscribers got 5 lines each; sport: 1 subscriber got 5
//!
//! Boost.Fiber's pair of publishers and subscribers over sockets: who connects and says `subscribe
//! TOPIC` gets each line that anybody `publish`es there, until the publisher has gone. A task for
//! each client, a broadcast channel for each topic, and no callback.

use myriad::channel::{BroadcastSender, broadcast};
use myriad::net::{TcpListener, TcpStream};
use myriad::sync::Mutex;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;

type Topics = Mutex<HashMap<String, BroadcastSender<String>>>;

/// What one client wants.
fn serve(topics: &Topics, client: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(&client).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    match first.split_once(' ') {
        Some(("subscribe", topic)) => {
            let mut lines = topics.lock().unwrap().entry(topic.into()).or_insert_with(|| broadcast(16).0).subscribe();
            writeln!(&client, "subscribed")?;
            while let Ok(heard) = lines.recv() {
                let line = heard.message().ok_or_else(|| io::Error::other("too slow: lines are lost"))?;
                writeln!(&client, "{line}")?;
            }
        }
        Some(("publish", topic)) => {
            let subscribers = topics.lock().unwrap().remove(topic);
            for line in lines {
                let line = line?;
                _ = subscribers.as_ref().map(|to| to.send(line)); // the error: there are none
            }
        }
        _ => writeln!(&client, "say: subscribe TOPIC, or publish TOPIC")?,
    }
    Ok(())
}

fn subscribe(server: SocketAddr, topic: &str) -> io::Result<Lines<BufReader<TcpStream>>> {
    let stream = TcpStream::connect(server)?;
    writeln!(&stream, "subscribe {topic}")?;
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next().expect("an answer")?, "subscribed");
    Ok(lines)
}

fn publish(server: SocketAddr, topic: &str) -> io::Result<()> {
    let stream = TcpStream::connect(server)?;
    writeln!(&stream, "publish {topic}")?;
    (1..=5).try_for_each(|number| writeln!(&stream, "{topic} {number}"))
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (server, topics) = (listener.local_addr()?, Topics::default());
    myriad::spawn(move || listener.serve(100, |client| _ = serve(&topics, client)));

    let subscribed = ["news", "news", "news", "sport"].map(|topic| subscribe(server, topic));
    publish(server, "news")?;
    publish(server, "sport")?;
    // Each has its lines, in order, and then the end.
    let counts =
        subscribed.map(|lines| lines.and_then(|lines| lines.collect::<io::Result<Vec<_>>>()).map(|all| all.len()));
    let counts = counts.into_iter().collect::<io::Result<Vec<_>>>()?;
    assert!(counts[..3].iter().all(|&count| count == counts[0]));
    println!("news: 3 subscribers got {} lines each; sport: 1 subscriber got {}", counts[0], counts[3]);
    Ok(())
}
