//! Where a scan's elements are.

use crate::raw::Parts;

/// Where elements come from, and where results go.
pub(super) trait Source: Sync {
    type T: Send + Sync;
    /// # Safety
    /// `i` is within the slices; the caller has the element.
    unsafe fn read(&self, i: usize) -> &Self::T;
    /// Drops what was there.
    ///
    /// # Safety
    /// `i` is within the slices; the caller has the element, and no reference to it.
    unsafe fn write(&self, i: usize, value: Self::T);
    /// The result that was written.
    ///
    /// # Safety
    /// `i` is within the slices, and was written for the last time.
    unsafe fn written(&self, i: usize) -> &Self::T;
    /// The first result: the element itself.
    ///
    /// # Safety
    /// `i` is within the slices; the caller has the element, and no reference to it.
    unsafe fn keep(&self, i: usize);
    /// Where element `i` is read from; for fetching.
    fn address(&self, i: usize) -> *const u8;
}

/// Results replace the elements.
pub(super) struct InPlace<'a, T>(pub(super) Parts<'a, T>);

impl<T: Send + Sync> Source for InPlace<'_, T> {
    type T = T;
    #[inline(always)]
    unsafe fn read(&self, i: usize) -> &T {
        // SAFETY: `i` is within the slices, and the element is the caller's (this method's
        // contract), so nobody writes it meanwhile.
        unsafe { &*self.0.at(i) }
    }
    #[inline(always)]
    unsafe fn write(&self, i: usize, value: T) {
        // SAFETY: `i` is within the slices, and the element is the caller's, without a reference to
        // it (this method's contract).
        unsafe { *self.0.at(i) = value };
    }
    #[inline(always)]
    unsafe fn written(&self, i: usize) -> &T {
        // SAFETY: `i` is within the slices, and was written for the last time (this method's
        // contract).
        unsafe { &*self.0.at(i) }
    }
    #[inline(always)]
    unsafe fn keep(&self, _: usize) {}
    #[inline(always)]
    fn address(&self, i: usize) -> *const u8 {
        self.0.at(i).cast_const().cast()
    }
}

/// Results go elsewhere.
pub(super) struct To<'a, T> {
    pub(super) from: &'a [T],
    pub(super) to: Parts<'a, T>,
}

impl<T: Clone + Send + Sync> Source for To<'_, T> {
    type T = T;
    #[inline(always)]
    unsafe fn read(&self, i: usize) -> &T {
        // SAFETY: `i` is within the slices (this method's contract), which have the same length.
        unsafe { self.from.get_unchecked(i) }
    }
    #[inline(always)]
    unsafe fn write(&self, i: usize, value: T) {
        // SAFETY: `i` is within the slices, and the element is the caller's, without a reference to
        // it (this method's contract).
        unsafe { *self.to.at(i) = value };
    }
    #[inline(always)]
    unsafe fn written(&self, i: usize) -> &T {
        // SAFETY: `i` is within the slices, and was written for the last time (this method's
        // contract).
        unsafe { &*self.to.at(i) }
    }
    #[inline(always)]
    unsafe fn keep(&self, i: usize) {
        // SAFETY: `i` is within the slices, and the element is the caller's, without a reference to
        // it (this method's contract); what is read is of the other slice.
        unsafe { self.write(i, self.read(i).clone()) };
    }
    #[inline(always)]
    fn address(&self, i: usize) -> *const u8 {
        self.from.as_ptr().wrapping_add(i).cast()
    }
}
