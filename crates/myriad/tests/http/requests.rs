//! Requests of all shapes.

use crate::common::wait_until;
use crate::{Served, each_runtime, each_server, hear, say};
use http_body_util::{Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::{Request, Response};
use myriad::hyper::{BodyReader, Server, handler};
use myriad::net::{Shutdown, TcpStream};
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};

#[test]
fn many_on_one_connection() {
    each_server(|served| {
        let stream = served.connect();
        for i in 0..20 {
            say(&stream, &format!("POST /{i} HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"));
            assert_eq!(hear(&stream), Some((200, format!("/{i}abc"))));
        }
        drop(stream);
        served.end();
    });
}

#[test]
fn sent_before_the_first_answer() {
    each_server(|served| {
        let stream = served.connect();
        say(&stream, &"GET /a HTTP/1.1\r\nhost: a\r\n\r\n".repeat(50));
        for _ in 0..50 {
            assert_eq!(hear(&stream), Some((200, "/a".into())));
        }
        drop(stream);
        served.end();
    });
}

#[test]
fn a_body_in_pieces_of_any_size() {
    each_server(|served| {
        let stream = served.connect();
        say(&stream, "POST /p HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
        let pieces = ["a", "bcd", &"e".repeat(70_000), "f"];
        for piece in pieces {
            say(&stream, &format!("{:x}\r\n{piece}\r\n", piece.len()));
            myriad::yield_now();
        }
        say(&stream, "0\r\n\r\n");
        assert_eq!(hear(&stream), Some((200, format!("/p{}", pieces.concat()))));
        drop(stream);
        served.end();
    });
}

/// A byte at a time.
#[test]
fn a_slow_client() {
    each_server(|served| {
        let stream = served.connect();
        stream.set_nodelay(true).unwrap();
        for byte in "POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody".as_bytes().chunks(1) {
            (&stream).write_all(byte).unwrap();
            myriad::yield_now();
        }
        assert_eq!(hear(&stream), Some((200, "/slowbody".into())));
        drop(stream);
        served.end();
    });
}

#[test]
fn nonsense() {
    each_server(|served| {
        let stream = served.connect();
        say(&stream, "what is this\r\n\r\n");
        assert_eq!(hear(&stream).unwrap().0, 400);
        assert_eq!(hear(&stream), None, "and the connection ends");
        served.end();
    });
}

/// A large answer to a client that reads it late: the server waits for room.
#[test]
fn an_answer_of_many_megabytes() {
    each_runtime(|| {
        const LEN: usize = 8 << 20;
        let large = |_: Request<Incoming>| Response::new(Full::<Bytes>::from(vec![7; LEN]));
        let served = Served::by(move |listener| Server::new(handler(large)).serve(listener));
        let mut stream = served.connect();
        say(&stream, "GET / HTTP/1.0\r\n\r\n");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let head = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert!(all.len() - head == LEN && all[head..].iter().all(|&byte| byte == 7));
        served.end();
    });
}

/// Bodies are read in lines, as they come.
#[test]
fn lines_of_a_body() {
    each_runtime(|| {
        let (line, lines) = myriad::channel::bounded(1);
        let count = move |request: Request<Incoming>| {
            for text in BodyReader::new(request.into_body()).lines() {
                line.send(text.unwrap()).unwrap();
            }
            Response::new(Full::<Bytes>::default())
        };
        let served = Served::by(move |listener| Server::new(handler(count)).serve(listener));
        let stream = served.connect();
        say(&stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n");
        for text in ["one\n", "two\n"] {
            say(&stream, text);
            assert_eq!(lines.recv().unwrap(), text.trim());
        }
        say(&stream, "half");
        assert_eq!(lines.recv().unwrap(), "half");
        assert_eq!(hear(&stream).unwrap().0, 200);
        drop(stream);
        served.end();
    });
}

/// An answer whose pieces a task sends one after the other; its sender hears when the client goes.
#[test]
fn an_answer_in_pieces_as_they_come() {
    each_runtime(|| {
        let (go, goes) = myriad::channel::unbounded::<()>();
        let (sent, sends) = myriad::channel::unbounded();
        let pieces = move |_: Request<Incoming>| {
            let (piece, pieces) = myriad::channel::bounded::<Result<Frame<Bytes>, Infallible>>(1);
            let (goes, sent) = (goes.clone(), sent.clone());
            myriad::spawn(move || {
                for number in 0_u32.. {
                    goes.recv().unwrap();
                    if piece.send(Ok(Frame::data(format!("data: {number}\n\n").into()))).is_err() {
                        return sent.send(number).unwrap();
                    }
                }
            });
            Response::new(StreamBody::new(pieces.into_stream()))
        };
        let served = Served::by(move |listener| Server::new(handler(pieces)).serve(listener));
        let stream = served.connect();
        say(&stream, "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap).filter(|line| line.starts_with("data"));
        for number in 0..5 {
            go.send(()).unwrap();
            assert_eq!(lines.next().unwrap(), format!("data: {number}"), "before the next one is made");
        }
        drop(lines);
        drop(stream);
        wait_until(|| {
            go.send(()).unwrap();
            sends.try_recv().is_ok_and(|number| number >= 5)
        });
        served.end();
    });
}

/// The connection becomes something else: what was sent behind the request is not lost.
#[test]
fn an_upgrade() {
    each_runtime(|| {
        let upgrade = |mut request: Request<Incoming>| {
            let upgraded = hyper::upgrade::on(&mut request);
            myriad::spawn_async(async move {
                let (stream, first) = myriad::hyper::downcast::<TcpStream>(upgraded.await.unwrap()).unwrap();
                assert!(stream.nodelay().unwrap(), "pieces of answers do not wait for each other");
                let mut bytes = first.to_vec();
                stream.read_to_end_async(&mut bytes).await.unwrap();
                bytes.reverse();
                stream.write_all_async(&bytes).await.unwrap();
            });
            let answer = Response::builder().status(101).header("connection", "upgrade").header("upgrade", "back");
            answer.body(Full::<Bytes>::default()).unwrap()
        };
        let served = Served::by(move |listener| Server::new(handler(upgrade)).serve(listener));
        let mut stream = served.connect();
        say(&stream, "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: back\r\n\r\nabc");
        assert_eq!(hear(&stream).unwrap().0, 101);
        say(&stream, "def");
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "fedcba");
        served.end();
    });
}
