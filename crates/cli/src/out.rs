//! Standard output: nothing that is printed is lost without a word.

use std::io::{ErrorKind, Write};
use std::process::exit;

/// Prints the text and ends the line.
///
/// Ends the program where that fails: in peace if nobody reads any more, as with `| head`, so that
/// nothing is measured for nobody; with an error if the text is lost, as on a full disk.
pub(crate) fn print_line(text: &str) {
    write(format!("{text}\n").as_bytes());
}

/// The same for bytes.
pub(crate) fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) => end(&error),
    }
}

/// Ends the program because of this error of standard output.
pub(crate) fn end(error: &std::io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit(0);
    }
    eprintln!("error: standard output cannot be written: {error}");
    exit(1)
}
