//! Values that can be written to a file and read again.

mod error;
pub(crate) mod file;
mod values;

pub use error::StoreError;

use std::io::{self, Read, Write};

/// A value that can be written to a file, and read again: for
/// [checkpoints](crate::dataflow::Checkpoints) and [budgets](crate::dataflow::Budget).
///
/// Numbers, `bool`, `char`, `()`, `String`, and a `Vec`, an `Option` or a pair of such values are
/// `Stored`. For a type of another crate there is a type of the program's around that.
///
/// # Blocking
/// Both functions run on a thread that may block in the system. A function that waits for a node
/// may wait for ever, for that node may wait for the file.
///
/// # Panics
/// A panic of either function fails the node that has called it.
///
/// # Errors
/// The error of a function is the error of the node. `read` returns an error where it does not know
/// what it reads; what `read` leaves unread is an error, too.
///
/// # Examples
/// ```
/// use myriad::flow::Stored;
/// use std::io::{self, Read, Write};
///
/// #[derive(Debug, PartialEq)]
/// struct Picture {
///     width: u32,
///     pixels: Vec<f32>,
/// }
///
/// impl Stored for Picture {
///     fn write(&self, to: &mut dyn Write) -> io::Result<()> {
///         self.width.write(to)?;
///         self.pixels.write(to)
///     }
///     fn read(from: &mut dyn Read) -> io::Result<Self> {
///         Ok(Picture { width: Stored::read(from)?, pixels: Stored::read(from)? })
///     }
///     fn bytes(&self) -> usize {
///         self.pixels.bytes() + 8
///     }
/// }
///
/// let (picture, mut file) = (Picture { width: 2, pixels: vec![0.5; 8] }, Vec::new());
/// picture.write(&mut file)?;
/// assert_eq!(Picture::read(&mut &file[..])?, picture);
/// # Ok::<(), io::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a file",
    note = "implement `myriad::flow::Stored` for it, or for a type of yours around it"
)]
pub trait Stored: Sized {
    /// Writes the value. (What is written is buffered already.)
    ///
    /// # Errors
    /// Those of the file.
    fn write(&self, to: &mut dyn Write) -> io::Result<()>;

    /// Reads what [`write`](Self::write) has written.
    ///
    /// # Errors
    /// Those of the file; and `InvalidData` for what cannot be read.
    fn read(from: &mut dyn Read) -> io::Result<Self>;

    /// So many bytes the value takes in memory, with what it points to.
    fn bytes(&self) -> usize;

    /// Of a list, which numbers do in blocks.
    #[doc(hidden)]
    fn write_list(list: &[Self], to: &mut dyn Write) -> io::Result<()> {
        list.iter().try_for_each(|value| value.write(to))
    }

    #[doc(hidden)]
    fn read_list(n: usize, from: &mut dyn Read) -> io::Result<Vec<Self>> {
        // Not all at once: the number may be wrong.
        let mut list = Vec::with_capacity(n.min(1024));
        for _ in 0..n {
            list.push(Self::read(from)?);
        }
        Ok(list)
    }
}
