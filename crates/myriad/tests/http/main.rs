//! HTTP: servers whose handlers block or are futures, and clients that are kind, slow, or gone.
#![cfg(target_os = "linux")]

mod clients;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod requests;
mod served;

use crate::common::each_with;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use myriad::hyper::{BodyReader, Server, handler};
use myriad::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::net::SocketAddr;

/// A server at work, and its end.
struct Served {
    address: SocketAddr,
    listener: TcpListener,
    task: myriad::JoinHandle<std::io::Result<()>>,
}

impl Served {
    /// Serves in a task: `serve` gets the listener.
    fn by(serve: impl FnOnce(&TcpListener) -> std::io::Result<()> + Send + 'static) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, own) = (listener.local_addr().unwrap(), listener.try_clone().unwrap());
        Served { address, task: myriad::spawn(move || serve(&own)), listener }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Waits for what was begun.
    #[track_caller]
    fn end(self) {
        self.listener.close();
        self.task.join().unwrap().unwrap();
    }
}

/// The path, then the body, of a request.
fn echo(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let mut text = request.uri().path().to_owned();
    BodyReader::new(request.into_body()).read_to_string(&mut text).unwrap();
    Response::new(Full::from(text))
}

async fn echo_async(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::from([path.as_bytes(), &body].concat())))
}

/// In a runtime of each kind, with one worker and with two. (A build for tests takes large frames
/// in hyper.)
#[track_caller]
fn each_runtime(body: impl Fn() + Send + Sync) {
    each_with(&[1, 2], |builder| builder.stack_size(1 << 20), |_, rt| rt.run(&body));
}

/// With a server of each kind, that [`echo`]es, in a runtime of each kind.
#[track_caller]
fn each_server(body: impl Fn(Served) + Send + Sync) {
    each_runtime(|| {
        body(Served::by(|listener| Server::new(handler(echo)).serve(listener)));
        body(Served::by(|listener| Server::new(service_fn(echo_async)).serve(listener)));
        body(Served::by(|listener| myriad::block_on(Server::new(handler(echo)).serve_async(listener))));
    });
}

/// Sends this.
fn say(mut stream: &TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

/// Reads one answer with a length: its status, and its body. `None`: the connection has ended.
fn hear(mut stream: &TcpStream) -> Option<(u16, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            assert!(head.is_empty(), "half of an answer: {}", String::from_utf8_lossy(&head));
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0").parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Some((status, String::from_utf8(body).unwrap()))
}
