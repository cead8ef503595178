//! Messages on the standard error, from places where nothing may panic.
//!
//! `eprintln!` panics where the standard error is full or closed (`program 2>&1 | head -1`). A
//! panic at the places that have something to say would end a worker, or leave a frame from which
//! tasks still borrow. So a message that cannot be written is lost, and nothing else happens.

use std::fmt::{self, Write as _};
use std::io::Write as _;

/// Says a line, as `eprintln!` does; where that fails nothing is said.
#[doc(hidden)]
#[macro_export]
macro_rules! __say {
    ($($arg:tt)*) => {
        $crate::sys::say::line(format_args!($($arg)*))
    };
}
pub use __say as say;

/// Writes a line by one call, so that the lines of several threads do not mix.
///
/// What is formatted is the engine's own: numbers, names, places, the text of a panic. No code of
/// the user runs.
#[cold]
pub fn line(text: fmt::Arguments<'_>) {
    let mut line = String::new();
    _ = writeln!(line, "{text}");
    _ = std::io::stderr().write_all(line.as_bytes());
}
