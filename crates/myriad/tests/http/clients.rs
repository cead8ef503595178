//! hyper's client.

use crate::{Served, each_runtime, each_server, echo_async};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use myriad::block_on;
use myriad::hyper::{Executor, Io, Server, Timer, client};
use myriad::net::unix::{UnixListener, UnixStream};
use std::os::linux::net::SocketAddrExt;

fn uri(served: &Served, path: &str) -> Uri {
    format!("http://{}{path}", served.address).parse().unwrap()
}

#[test]
fn a_client_uses_its_connections_again() {
    each_server(|served| {
        let client = client::<Full<Bytes>>();
        for i in 0..10 {
            let request = Request::post(uri(&served, "/a")).body(Full::from(i.to_string())).unwrap();
            let answer = block_on(client.request(request)).unwrap();
            assert_eq!(block_on(answer.into_body().collect()).unwrap().to_bytes(), format!("/a{i}"));
        }
        let many: Vec<_> = (0..20)
            .map(|i| {
                let answer = client.get(uri(&served, &format!("/{i}")));
                myriad::spawn_async(
                    async move { answer.await.unwrap().into_body().collect().await.unwrap().to_bytes() },
                )
            })
            .collect();
        for (i, answer) in many.into_iter().enumerate() {
            assert_eq!(answer.join().unwrap(), format!("/{i}"));
        }
        served.end();
    });
}

#[test]
fn nobody_listens() {
    each_runtime(|| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = block_on(client::<Full<Bytes>>().get(format!("http://{free}/").parse().unwrap())).unwrap_err();
        assert!(error.is_connect());
    });
}

/// A server at a path, and HTTP/2 over one connection: many requests at once.
#[test]
fn http_2_over_a_unix_socket() {
    each_runtime(|| {
        let name = std::os::unix::net::SocketAddr::from_abstract_name(format!(
            "myriad-http-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ))
        .unwrap();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let end = listener.try_clone().unwrap();
        let server = myriad::spawn(move || Server::new(service_fn(echo_async)).serve(&listener));
        let stream = UnixStream::connect_addr(&name).unwrap();
        block_on(async {
            let mut builder = hyper::client::conn::http2::Builder::new(Executor);
            let (sender, connection) = builder.timer(Timer).handshake(Io::new(stream)).await.unwrap();
            let connection = myriad::spawn_async(connection);
            let answers: Vec<_> = (0..50)
                .map(|i| {
                    let request = Request::post(format!("http://a/{i}")).body(Full::<Bytes>::from("x")).unwrap();
                    let answer = sender.clone().send_request(request);
                    myriad::spawn_async(async move { answer.await.unwrap().into_body().collect().await.unwrap() })
                })
                .collect();
            for (i, answer) in answers.into_iter().enumerate() {
                assert_eq!(answer.await.unwrap().to_bytes(), format!("/{i}x"));
            }
            drop(sender);
            connection.await.unwrap().unwrap();
        });
        end.close();
        server.join().unwrap().unwrap();
    });
}
