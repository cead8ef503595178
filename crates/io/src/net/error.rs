//! Errors that say what failed, and where.

use std::fmt::{self, Display};
use std::io;
use std::net::SocketAddr;

/// What failed: the operation, the address, and why. It is the inner error of an [`io::Error`] of
/// this module, whose kind is that of the reason.
///
/// # Examples
/// ```
/// use myriad::net::{OperationError, TcpStream};
/// let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?; // and nobody listens there
/// let error = TcpStream::connect(free).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
/// assert!(error.to_string().starts_with(&format!("connect to {free}: ")));
/// let inner = error.get_ref().unwrap().downcast_ref::<OperationError>().unwrap();
/// assert_eq!(inner.operation(), "connect to");
/// assert!(inner.reason().raw_os_error().is_some());
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct OperationError {
    operation: &'static str,
    address: Option<String>,
    reason: io::Error,
}

impl OperationError {
    /// What was tried: `"read from"`, for example.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Of the peer, or of the socket itself; `None`: it is not known.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Why: with the number of the system, if it has one.
    pub fn reason(&self) -> &io::Error {
        &self.reason
    }
}

impl Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.as_deref().unwrap_or("a socket");
        write!(f, "{} {address}: {}", self.operation, self.reason)
    }
}

impl std::error::Error for OperationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}

/// Why several addresses failed, in the order in which they did.
#[derive(Debug)]
pub(super) struct Failures(pub(super) Vec<(SocketAddr, io::Error)>);

impl Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (address, reason)) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{address}: {reason}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failures {}

/// This error, with what failed.
#[cold]
pub(crate) fn operation(operation: &'static str, address: Option<impl Display>, reason: io::Error) -> io::Error {
    let address = address.map(|address| address.to_string());
    io::Error::new(reason.kind(), OperationError { operation, address, reason })
}
