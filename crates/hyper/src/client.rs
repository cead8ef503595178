//! Clients.

use crate::{Executor, Io, Timer};
use hyper::Uri;
use hyper::body::Body;
use hyper_util::client::legacy::Client;
use myriad_io::net::TcpStream;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// hyper's client over Myriad: it keeps connections, and uses them again. Its requests are futures;
/// a closure waits for one with `block_on`.
///
/// For settings, `hyper_util::client::legacy::Client::builder(Executor)` takes a [`Connector`].
/// Example: [`handler`](super::handler()).
pub fn client<B>() -> Client<Connector, B>
where
    B: Body + Send,
    B::Data: Send,
{
    Client::builder(Executor).timer(Timer).pool_timer(Timer).build(Connector::new())
}

/// Connects to servers for hyper's client: names are looked up beside the workers, and a name's
/// addresses race (RFC 8305), as in [`TcpStream::connect`].
///
/// For `http` only: TLS wraps it, as `hyper-rustls` does.
///
/// # Errors
/// Those of [`TcpStream::connect`]; `InvalidInput`: another scheme, or no host.
///
/// # Examples
/// ```
/// use http_body_util::Empty;
/// use hyper::body::Bytes;
/// use hyper_util::client::legacy::Client;
/// use myriad::hyper::{Connector, Executor};
/// use std::time::Duration;
/// let connector = Connector::new().timeout(Duration::from_secs(3));
/// let client: Client<_, Empty<Bytes>> = Client::builder(Executor).build(connector);
/// let error = myriad::block_on(client.get("https://localhost/".parse()?)).unwrap_err();
/// assert!(error.is_connect());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Connector {
    timeout: Option<Duration>,
}

impl Connector {
    /// One without a limit in time.
    pub fn new() -> Connector {
        Connector::default()
    }

    /// How long it may take to connect, a name's addresses together.
    pub fn timeout(self, timeout: Duration) -> Connector {
        Connector { timeout: Some(timeout) }
    }
}

impl Service<Uri> for Connector {
    type Response = Io<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Io<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let timeout = self.timeout;
        Box::pin(async move {
            let address = address(&uri)?;
            let stream = match timeout {
                Some(timeout) => TcpStream::connect_timeout_async(address, timeout).await?,
                None => TcpStream::connect_async(address).await?,
            };
            stream.set_nodelay(true)?;
            Ok(Io::new(stream))
        })
    }
}

/// Where the server of this address is.
fn address(uri: &Uri) -> io::Result<(String, u16)> {
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(wrong(format!("{uri}: `https` needs a connector that does TLS around this one"))),
        _ => return Err(wrong(format!("{uri}: a client takes an address as in \"http://localhost:80/path\""))),
    }
    let host = uri.host().ok_or_else(|| wrong(format!("{uri}: it has no host")))?;
    // (An address of IPv6 stands in brackets.)
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), uri.port_u16().unwrap_or(80)))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn where_servers_are() {
        let of = |text: &str| address(&text.parse().unwrap());
        assert_eq!(of("http://localhost/a").unwrap(), ("localhost".into(), 80));
        assert_eq!(of("http://[::1]:8080/").unwrap(), ("::1".into(), 8080));
        assert!(of("https://localhost/").unwrap_err().to_string().contains("TLS"));
        assert!(of("/path").unwrap_err().to_string().contains("takes an address"));
    }
}
