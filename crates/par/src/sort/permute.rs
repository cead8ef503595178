//! Putting elements where an order says that they go.

use super::buffer::Buffer;
use super::fork::{self, Shared};
use super::sample::Moved;

/// Moves the element that `from(i)` points to to index `i`, for all `i`. False: there is no memory
/// for it, and nothing has happened.
///
/// # Safety
/// `slice` has so many elements, to which the caller has the only unique reference; `from` is a
/// permutation of their addresses, and does not panic.
pub(super) unsafe fn permute<T: Send>(
    slice: *mut T,
    len: usize,
    from: &(impl Fn(usize) -> *const T + Sync),
    workers: usize,
) -> bool {
    let Some(mut buffer) = Buffer::<T>::new(len) else { return false };
    let grain = fork::grain(len, workers, 1 << 10);
    let (buffer, slice) = (Shared::new(buffer.slots().as_mut_ptr().cast::<T>()), Shared::new(slice));
    fork::ranges(0..len, grain, &|part| {
        for i in part {
            // SAFETY: an element of the slice, to a slot that no other goes to.
            unsafe { buffer.get().add(i).copy_from_nonoverlapping(from(i), 1) };
        }
    });
    // All are copied, each once. A cancellation may come between these two lines and their ends,
    // but no code of the caller's.
    let moved = Moved { from: buffer.get(), to: slice.get(), len };
    fork::ranges(0..len, grain, &|part| {
        let at = part.start;
        // SAFETY: part by part what `Moved` would do.
        unsafe { buffer.get().add(at).copy_to_nonoverlapping(slice.get().add(at), part.len()) };
    });
    std::mem::forget(moved);
    true
}
