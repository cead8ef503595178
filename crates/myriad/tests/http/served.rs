//! Many at once.

use crate::{Served, each_runtime, each_server, echo, hear, say};
use hyper::Request;
use hyper::body::Incoming;
use myriad::channel::unbounded;
use myriad::hyper::{Server, handler};

#[test]
fn many_connections_at_once() {
    each_server(|served| {
        let streams: Vec<_> = (0..200).map(|_| served.connect()).collect();
        myriad::scope(|s| {
            for (i, stream) in streams.iter().enumerate() {
                s.spawn(move || {
                    for round in 0..3 {
                        say(stream, &format!("GET /{i}/{round} HTTP/1.1\r\nhost: a\r\n\r\n"));
                        assert_eq!(hear(stream), Some((200, format!("/{i}/{round}"))));
                    }
                });
            }
        });
        drop(streams);
        served.end();
    });
}

/// One handler blocks; the others go on, on as many workers as there are.
#[test]
fn a_handler_that_waits_holds_up_nobody() {
    each_runtime(|| {
        let (go, goes) = unbounded::<()>();
        let waits = move |request: Request<Incoming>| {
            if request.uri().path() == "/wait" {
                goes.recv().unwrap();
            }
            echo(request)
        };
        let served = Served::by(move |listener| Server::new(handler(waits)).serve(listener));
        let waiting: Vec<_> = (0..8).map(|_| served.connect()).collect();
        waiting.iter().for_each(|stream| say(stream, "GET /wait HTTP/1.1\r\nhost: a\r\n\r\n"));
        let stream = served.connect();
        for _ in 0..100 {
            say(&stream, "GET /a HTTP/1.1\r\nhost: a\r\n\r\n");
            assert_eq!(hear(&stream), Some((200, "/a".into())));
        }
        waiting.iter().for_each(|_| go.send(()).unwrap());
        waiting.iter().for_each(|stream| assert_eq!(hear(stream), Some((200, "/wait".into()))));
        drop((stream, waiting));
        served.end();
    });
}

/// A router of axum is a service: its handlers are futures, which wait for tasks and times of
/// Myriad.
#[test]
fn a_router_of_axum() {
    use axum::Router;
    use axum::extract::{Path, State};
    use axum::routing::{get, post};
    use hyper_util::service::TowerToHyperService;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    async fn visit(State(visits): State<Arc<AtomicU32>>, Path(name): Path<String>) -> String {
        myriad::time::sleep_async(std::time::Duration::from_micros(100)).await;
        let number = myriad::spawn(move || visits.fetch_add(1, SeqCst)).await.unwrap();
        format!("{name} {number}")
    }
    each_runtime(|| {
        let router = Router::new()
            .route("/visit/{name}", get(visit))
            .route("/shout", post(async |text: String| text.to_uppercase()))
            .with_state(Arc::new(AtomicU32::new(0)));
        let served = Served::by(move |listener| Server::new(TowerToHyperService::new(router)).serve(listener));
        let stream = served.connect();
        for number in 0..5 {
            say(&stream, "GET /visit/ada HTTP/1.1\r\nhost: a\r\n\r\n");
            assert_eq!(hear(&stream), Some((200, format!("ada {number}"))));
        }
        say(&stream, "POST /shout HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello");
        assert_eq!(hear(&stream), Some((200, "HELLO".into())));
        say(&stream, "GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n");
        assert_eq!(hear(&stream).unwrap().0, 404);
        drop(stream);
        served.end();
    });
}

/// More clients than may be: they wait for their turn.
#[test]
fn more_clients_than_places() {
    each_runtime(|| {
        let served = Served::by(|listener| Server::new(handler(echo)).limit(2).serve(listener));
        let [one, two, three] = [(); 3].map(|()| served.connect());
        for stream in [&one, &two, &three] {
            say(stream, "GET /a HTTP/1.1\r\nhost: a\r\n\r\n");
        }
        assert_eq!(hear(&one), Some((200, "/a".into())));
        assert_eq!(hear(&two), Some((200, "/a".into())));
        drop(one);
        assert_eq!(hear(&three), Some((200, "/a".into())));
        drop((two, three));
        served.end();
    });
    let listener = myriad::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Server::new(handler(echo)).limit(0).serve(&listener).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}
