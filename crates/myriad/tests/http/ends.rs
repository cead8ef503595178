//! Ends: of servers, of clients in the middle, of handlers that panic.

use crate::common::{each_with, wait_until};
use crate::{Served, each_runtime, each_server, echo, hear, say};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, ReadBuf, Write as _};
use hyper::service::service_fn;
use hyper::{Request, Response};
use myriad::channel::unbounded;
use myriad::hyper::{Io, Server, handler};
use myriad::net::unix::UnixStream;
use myriad::{Builder, Unhandled};
use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const GET: &str = "GET /a HTTP/1.1\r\nhost: a\r\n\r\n";

/// What was begun is answered; idle connections end; nobody is accepted any more.
#[test]
fn closed_with_a_request_under_way() {
    each_runtime(|| {
        let (began, begins) = unbounded();
        let (go, goes) = unbounded::<()>();
        let waits = move |request: Request<Incoming>| {
            if request.uri().path() == "/wait" {
                began.send(()).unwrap();
                goes.recv().unwrap();
            }
            echo(request)
        };
        let served = Served::by(move |listener| Server::new(handler(waits)).serve(listener));
        let (idle, new, busy) = (served.connect(), served.connect(), served.connect());
        say(&idle, GET);
        assert_eq!(hear(&idle), Some((200, "/a".into())));
        say(&busy, "GET /wait HTTP/1.1\r\nhost: a\r\n\r\n");
        begins.recv().unwrap();
        served.listener.close();
        assert_eq!(hear(&idle), None);
        assert_eq!(hear(&new), None);
        assert!(!served.task.is_finished());
        go.send(()).unwrap();
        assert_eq!(hear(&busy), Some((200, "/wait".into())));
        assert_eq!(hear(&busy), None);
        served.end();
    });
}

/// Clients that go at each place: nothing is left of them.
#[test]
fn clients_that_go_in_the_middle() {
    each_server(|served| {
        let whole = "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc";
        for end in (0..whole.len()).step_by(7) {
            let stream = served.connect();
            say(&stream, &whole[..end]);
            if end % 2 == 0 {
                stream.set_linger(Some(Duration::ZERO)).unwrap();
            }
        }
        let stream = served.connect();
        say(&stream, whole);
        assert_eq!(hear(&stream), Some((200, "/aabc".into())));
        drop(stream);
        served.end();
    });
}

/// A handler that waits for ever, whose client has gone.
#[test]
fn a_handler_ends_with_its_client() {
    struct Gone(Arc<AtomicUsize>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    each_runtime(|| {
        let (began, begins) = unbounded();
        let (_never, nothing) = unbounded::<()>();
        let gone = Arc::new(AtomicUsize::new(0));
        let count = gone.clone();
        let waits = move |_: Request<Incoming>| {
            let _gone = Gone(count.clone());
            began.send(()).unwrap();
            _ = nothing.recv();
            Response::new(Full::<Bytes>::default())
        };
        let served = Served::by(move |listener| Server::new(handler(waits)).serve(listener));
        let stream = served.connect();
        say(&stream, GET);
        begins.recv().unwrap();
        assert_eq!(gone.load(SeqCst), 0);
        drop(stream);
        wait_until(|| gone.load(SeqCst) == 1);
        served.end();
    });
}

/// Faults of a service end its connection, and are told; the server goes on.
#[test]
fn services_that_panic_or_fail() {
    async fn fails(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, String> {
        match request.uri().path() {
            "/panic" => panic!("planned: a service of HTTP"),
            "/fail" => Err("planned: an error".into()),
            path => Ok(Response::new(Full::from(path.to_owned()))),
        }
    }
    let panics = |request: Request<Incoming>| {
        assert!(request.uri().path() != "/panic", "planned: a handler of HTTP");
        echo(request)
    };
    let (tell, told) = unbounded();
    let hook = Unhandled::Hook(Arc::new(move |line: &str| tell.send(line.to_owned()).unwrap()));
    let tweak = |builder: Builder| builder.stack_size(1 << 20).on_unhandled_panic(hook.clone());
    let check = |served: Served, faults: &[(&str, &str)]| {
        for (path, says) in faults {
            let (other, stream) = (served.connect(), served.connect());
            say(&stream, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n"));
            assert_eq!(hear(&stream), None);
            say(&other, GET);
            assert_eq!(hear(&other), Some((200, "/a".into())));
            let line = told.recv().unwrap();
            assert!(line.contains(says), "{line}");
        }
        // That a client has gone is no fault.
        say(&served.connect(), "GET /a HTT");
        served.end();
        assert!(told.try_recv().is_err());
    };
    each_with(&[1, 2], tweak, |_, rt| {
        rt.run(|| {
            let server = Server::new(service_fn(fails));
            let served = Served::by(move |listener| server.serve(listener));
            check(served, &[("/panic", "planned: a service of HTTP"), ("/fail", "planned: an error")]);
            let served = Served::by(move |listener| Server::new(handler(panics)).serve(listener));
            check(served, &[("/panic", "planned: a handler of HTTP")]);
        });
    });
}

/// A client that says nothing, or stops in the middle of a head.
#[test]
fn heads_that_do_not_end() {
    each_runtime(|| {
        let server = Server::new(handler(echo)).header_timeout(Some(Duration::from_millis(30)));
        let served = Served::by(move |listener| server.serve(listener));
        let (silent, half) = (served.connect(), served.connect());
        (&half).write_all(b"GET / HT").unwrap();
        _ = hear(&half);
        assert_eq!(hear(&half), None);
        assert_eq!(hear(&silent), None);
        served.end();
    });
}

/// A server that is cancelled drops its connections.
#[test]
fn a_server_that_is_cancelled() {
    each_server(|served| {
        let stream = served.connect();
        say(&stream, GET);
        assert_eq!(hear(&stream), Some((200, "/a".into())));
        served.task.cancel();
        assert!(served.task.join().unwrap_err().is_cancelled());
        assert_eq!(hear(&stream), None);
    });
}

/// What hyper does at the end of a connection: the peer hears the end, and may still say something.
#[test]
fn a_half_that_is_shut_down() {
    each_runtime(|| {
        let (one, peer) = UnixStream::pair().unwrap();
        let mut io = Io::new(one);
        myriad::block_on(poll_fn(|cx| Pin::new(&mut io).poll_shutdown(cx))).unwrap();
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
        Write::write_all(&mut &peer, b"late").unwrap();
        let mut bytes = [0; 8];
        let mut buffer = ReadBuf::new(&mut bytes);
        myriad::block_on(poll_fn(|cx| Pin::new(&mut io).poll_read(cx, buffer.unfilled()))).unwrap();
        assert_eq!(buffer.filled(), b"late");
    });
}

/// At its limit a server sees that its listener is closed, and tells its connections.
#[test]
fn closed_at_its_limit() {
    each_runtime(|| {
        let server = Server::new(handler(echo)).limit(1).header_timeout(None);
        let served = Served::by(move |listener| server.serve(listener));
        let stream = served.connect();
        say(&stream, GET);
        assert_eq!(hear(&stream), Some((200, "/a".into())));
        served.listener.close();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let end = stream.read(&mut [0]).map_err(|error| error.kind());
        drop(stream);
        served.end();
        assert_eq!(end, Ok(0));
    });
}
