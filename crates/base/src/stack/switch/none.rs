//! Where stacks cannot be switched: nothing calls this, see [`super::FIBERS_SUPPORTED`].

pub(super) const SUPPORTED: bool = false;

/// # Safety
/// Must not be called.
pub(super) unsafe fn switch(_save: *mut *mut u8, _to: *mut u8) {
    unreachable!("no fibers on this platform");
}

/// # Safety
/// Must not be called.
pub(super) unsafe fn prepare(_top: *mut u8, _entry: extern "C" fn() -> !) -> *mut u8 {
    unreachable!("no fibers on this platform");
}

/// The address of a local is near enough.
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let here = 0u8;
    std::hint::black_box(&raw const here).addr()
}
