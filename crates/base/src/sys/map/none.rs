//! Systems without `mmap`: no fibers there, so nobody asks for memory.

use super::*;

pub(super) const MAPS: bool = false;

pub(super) fn page_size() -> usize {
    4096
}
pub(super) fn map(_len: usize) -> io::Result<NonNull<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) unsafe fn unmap(_start: NonNull<u8>, _len: usize) {}
pub(super) unsafe fn each(_what: Each, _first: NonNull<u8>, _stride: usize, _n: usize) -> bool {
    false
}
pub(super) unsafe fn protect(_start: NonNull<u8>, _len: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) unsafe fn discard(_start: NonNull<u8>, _len: usize) {}
pub(super) unsafe fn guard_install(_start: NonNull<u8>, _len: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
pub(super) fn guard_install_works() -> bool {
    false
}
