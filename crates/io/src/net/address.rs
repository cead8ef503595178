//! Addresses, and names that stand for them.

use super::error::operation;
use super::resolver::{resolve, resolve_async};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What stands for one or more addresses: an address, a pair of an IP address or a name and a port,
/// or a text `"name:port"`.
///
/// Std's trait of this name looks names up in the system, which holds the thread up for as long as
/// a server of names does not answer. Here that is done beside the workers. Example: [`lookup`].
pub trait ToSocketAddrs {
    /// What is to be looked up, if anything is.
    #[doc(hidden)]
    fn query(&self) -> Query;
}

/// Addresses, or what is to be looked up.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum Query {
    Known(Vec<SocketAddr>),
    Name(String, u16),
    Wrong(String),
}

macro_rules! known {
    ($($type:ty),*) => {
        $(impl ToSocketAddrs for $type {
            fn query(&self) -> Query {
                Query::Known(vec![SocketAddr::from(*self)])
            }
        })*
    };
}

known!(SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl ToSocketAddrs for [SocketAddr] {
    fn query(&self) -> Query {
        Query::Known(self.to_vec())
    }
}

impl ToSocketAddrs for (&str, u16) {
    fn query(&self) -> Query {
        match self.0.parse::<IpAddr>() {
            Ok(address) => (address, self.1).query(),
            Err(_) => Query::Name(self.0.to_owned(), self.1),
        }
    }
}

impl ToSocketAddrs for (String, u16) {
    fn query(&self) -> Query {
        (&*self.0, self.1).query()
    }
}

impl ToSocketAddrs for str {
    fn query(&self) -> Query {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return address.query();
        }
        match self.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>())) {
            Some((name, Ok(port))) if !name.is_empty() => (name, port).query(),
            _ => Query::Wrong(self.to_owned()),
        }
    }
}

impl ToSocketAddrs for String {
    fn query(&self) -> Query {
        (**self).query()
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    fn query(&self) -> Query {
        (**self).query()
    }
}

/// The addresses of a name, in the order in which they are to be tried. At least one.
///
/// # Blocking
/// Until the system's resolver answers, on a thread that is there for that; no worker is held up.
/// At most 64 look-ups of tasks are under way at a time, and others wait for their turn. An address
/// that is written as numbers is known at once.
///
/// # Cancellation
/// The caller goes on at once; the thread ends when the resolver answers.
///
/// # Errors
/// What the resolver says; `InvalidInput`: that is no address, nor a name with a port.
///
/// # Examples
/// ```
/// use myriad::net::{ToSocketAddrs, lookup};
/// assert_eq!(lookup("127.0.0.1:80")?, ["127.0.0.1:80".parse().unwrap()]);
/// assert!(lookup("localhost:80")?.iter().all(|address| address.ip().is_loopback()));
/// assert!(lookup("no port").is_err());
/// # std::io::Result::Ok(())
/// ```
pub fn lookup(address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match address.query() {
        Query::Name(name, port) if myriad_core::engine::wait::Caller::get().is_worker() => {
            // (A future, whose call owns the name: one that is cancelled does not wait for it.)
            myriad_core::block_on(resolve_async(name, port))
        }
        Query::Name(name, port) => resolve(&name, port),
        query => known(query),
    }
}

/// [`lookup`] as a future.
///
/// # Errors
/// As [`lookup`].
///
/// # Cancellation
/// As [`lookup`].
pub fn lookup_async(address: impl ToSocketAddrs) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send {
    let query = address.query();
    async move {
        match query {
            Query::Name(name, port) => resolve_async(name, port).await,
            query => known(query),
        }
    }
}

fn known(query: Query) -> io::Result<Vec<SocketAddr>> {
    let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text);
    match query {
        Query::Known(addresses) if addresses.is_empty() => Err(wrong("no address to try")),
        Query::Known(addresses) => Ok(addresses),
        Query::Wrong(text) | Query::Name(text, _) => {
            let reason = wrong("it takes a name or an IP address, a colon and a port, as in \"localhost:80\"");
            Err(operation("look up", Some(text), reason))
        }
    }
}
