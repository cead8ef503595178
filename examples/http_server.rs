//! Prints: 7 visits; the server has answered what was under way, and ended
//!
//! An HTTP server whose handler is a closure that blocks: each request is a task, and waits for a
//! lock, a time, a body as in a program with threads. A client beside it asks, also while the
//! server ends.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use myriad::hyper::{BodyReader, Server, handler};
use myriad::net::TcpListener;
use myriad::sync::Mutex;
use std::io::{self, Read};
use std::time::Duration;

fn answer(visits: &Mutex<u32>, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let text = match (request.method(), request.uri().path()) {
        (&Method::GET, "/visits") => {
            let mut visits = visits.lock().unwrap();
            *visits += 1;
            visits.to_string()
        }
        (&Method::GET, "/slow") => {
            myriad::time::sleep(Duration::from_millis(50)); // no other request waits for this one
            "done".to_owned()
        }
        (&Method::POST, "/shout") => {
            let mut text = String::new();
            BodyReader::new(request.into_body()).read_to_string(&mut text)?;
            text.to_uppercase()
        }
        _ => {
            let mut nothing = Response::new(Full::default());
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return Ok(nothing);
        }
    };
    Ok(Response::new(Full::from(text)))
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, port) = (listener.local_addr()?, listener.try_clone()?);
    let visits = Mutex::new(0);
    let service = handler(move |request| answer(&visits, request).expect("the client has gone"));
    let server = myriad::spawn(move || Server::new(service).limit(1000).serve(&listener));

    let client = myriad::hyper::client::<Full<Bytes>>();
    let ask = |method: Method, path: &str, body: &str| {
        let request = Request::builder().method(method).uri(format!("http://{address}{path}"));
        let answer = client.request(request.body(Full::from(body.to_owned())).expect("a request"));
        // An answer is a future, and so is a task: each goes on beside this.
        myriad::spawn(move || {
            let mut text = String::new();
            BodyReader::new(myriad::block_on(answer).map_err(io::Error::other)?.into_body())
                .read_to_string(&mut text)?;
            io::Result::Ok(text)
        })
    };
    assert_eq!(ask(Method::POST, "/shout", "hello").join().unwrap()?, "HELLO");
    assert_eq!(ask(Method::GET, "/nowhere", "").join().unwrap()?, "");
    let visits: Vec<_> = (0..7).map(|_| ask(Method::GET, "/visits", "")).collect();
    let visits: Vec<u32> = visits
        .into_iter()
        .map(|visit| visit.join().unwrap()?.parse().map_err(io::Error::other))
        .collect::<Result<_, _>>()?;
    let slow = ask(Method::GET, "/slow", "");
    myriad::time::sleep(Duration::from_millis(20));
    port.close(); // what is under way is answered first
    assert_eq!(slow.join().unwrap()?, "done");
    server.join().unwrap()?;
    let most = visits.iter().max().expect("seven");
    println!("{most} visits; the server has answered what was under way, and ended");
    Ok(())
}
