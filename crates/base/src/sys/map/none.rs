//! Systems without `mmap`: no fibers there, so nobody asks for memory.

use super::*;

pub(super) const MAPS: bool = false;

pub(super) fn page_size() -> usize {
    4096
}
pub(super) fn map(_len: usize) -> io::Result<UnusedRange> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) fn unmap(_range: UnusedRange) {}
pub(super) fn each(_what: Each, _pages: &[UnusedRange]) -> bool {
    false
}
pub(super) fn protect(_range: &UnusedRange) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) fn discard(_range: &UnusedRange) {}
pub(super) fn guard_install(_range: &UnusedRange) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) fn guard_remove(_range: &UnusedRange) {}
pub(super) fn guard_install_works() -> bool {
    false
}
