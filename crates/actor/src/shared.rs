//! References that are counted, for the records of actors.
//!
//! As `Arc`, but that the only reference is taken without a read-modify-write ([`RefCount`]), that
//! the record comes from a free list ([`blocks`]), and that it may begin with several references.

use myriad_base::blocks;
use myriad_base::ref_count::RefCount;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

#[repr(C)]
pub(crate) struct Counted<T: ?Sized> {
    count: RefCount,
    /// Dropped with the last reference that is not weak.
    value: ManuallyDrop<T>,
}

/// See the module's header.
pub(crate) struct Shared<T: ?Sized>(NonNull<Counted<T>>, PhantomData<T>);

/// One that does not keep the value.
pub(crate) struct WeakShared<T: ?Sized>(NonNull<Counted<T>>);

// SAFETY: as of `Arc`: the value is reached from all threads that have a reference, and dropped on
// any of them.
unsafe impl<T: ?Sized + Send + Sync> Send for Shared<T> {}
// SAFETY: a shared reference gives what a clone on another thread does.
unsafe impl<T: ?Sized + Send + Sync> Sync for Shared<T> {}
// SAFETY: of the value it gives what a reference does, once it is upgraded.
unsafe impl<T: ?Sized + Send + Sync> Send for WeakShared<T> {}
// SAFETY: a shared reference gives what a clone on another thread does.
unsafe impl<T: ?Sized + Send + Sync> Sync for WeakShared<T> {}

impl<T> Shared<T> {
    /// A value with so many references.
    #[inline(always)]
    pub(crate) fn several<const N: usize>(value: T) -> [Shared<T>; N] {
        let record = blocks::alloc(Layout::new::<Counted<T>>()).cast::<Counted<T>>();
        const { assert!(N > 0) };
        let count = RefCount::new(N as u32);
        // SAFETY: memory of this layout, which nobody else uses.
        unsafe { record.write(Counted { count, value: ManuallyDrop::new(value) }) };
        [(); N].map(|()| Shared(record, PhantomData))
    }
}

impl<T: ?Sized> Shared<T> {
    #[inline(always)]
    fn record(&self) -> &Counted<T> {
        // SAFETY: it is freed when no reference is left; this is one.
        unsafe { self.0.as_ref() }
    }

    /// The same reference, to a trait that the type has.
    ///
    /// # Safety
    /// `erase` returns what it is given, unsized.
    #[inline(always)]
    pub(crate) unsafe fn erased<U: ?Sized>(self, erase: fn(*mut Counted<T>) -> *mut Counted<U>) -> Shared<U> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the record's address (this function's contract), with the reference of `this`.
        Shared(unsafe { NonNull::new_unchecked(erase(this.0.as_ptr())) }, PhantomData)
    }

    /// One more reference to a value.
    ///
    /// # Safety
    /// It lies in a record of this module, and somebody keeps it meanwhile.
    #[inline]
    pub(crate) unsafe fn of(value: &T) -> Shared<T> {
        // SAFETY: it lies in a record that is kept (this function's contract).
        unsafe {
            let record = Shared::record_of(value);
            record.as_ref().count.add();
            Shared(record, PhantomData)
        }
    }

    /// # Safety
    /// As for [`of`](Self::of).
    #[inline]
    unsafe fn record_of(value: &T) -> NonNull<Counted<T>> {
        let offset = size_of::<RefCount>().next_multiple_of(align_of_val(value));
        let record = std::ptr::from_ref(value).wrapping_byte_sub(offset) as *mut Counted<T>;
        // SAFETY: the value stands behind the counts, at the first address that its alignment
        // allows (`repr(C)`).
        unsafe { NonNull::new_unchecked(record) }
    }

    /// A reference that is kept for nobody: until [`kept`](Self::kept).
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }

    /// The reference that was [kept](Self::keep) to this value.
    ///
    /// # Safety
    /// There is one, which is taken up once.
    pub(crate) unsafe fn kept(value: NonNull<T>) -> Shared<T> {
        // SAFETY: it counts that reference, which keeps the value (this function's contract).
        Shared(unsafe { Shared::record_of(value.as_ref()) }, PhantomData)
    }

    pub(crate) fn downgrade(&self) -> WeakShared<T> {
        self.record().count.add_weak();
        WeakShared(self.0)
    }

    /// # Safety
    /// No reference is left, and the weak one that all had together is the caller's.
    #[inline]
    unsafe fn end(record: NonNull<Counted<T>>) {
        // SAFETY: the weak one keeps the record; the value is dropped once, for nobody else has it
        // (this function's contract).
        unsafe { ManuallyDrop::drop(&mut (*record.as_ptr()).value) };
        drop(WeakShared(record));
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        self.record().count.add();
        Shared(self.0, PhantomData)
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        if self.record().count.end() {
            // SAFETY: this was the last one.
            unsafe { Shared::end(self.0) };
        }
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.record().value
    }
}

impl<T: ?Sized> WeakShared<T> {
    #[inline(always)]
    fn count(&self) -> &RefCount {
        // SAFETY: the record is freed when no weak one is left; this is one.
        unsafe { &(*self.0.as_ptr()).count }
    }

    /// Is the value dropped, or about to be?
    pub(crate) fn is_gone(&self) -> bool {
        self.count().is_gone()
    }

    pub(crate) fn upgrade(&self) -> Option<Shared<T>> {
        self.count().upgrade().then(|| Shared(self.0, PhantomData))
    }
}

impl<T: ?Sized> Clone for WeakShared<T> {
    fn clone(&self) -> Self {
        self.count().add_weak();
        WeakShared(self.0)
    }
}

impl<T: ?Sized> Drop for WeakShared<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.count().end_weak() {
            return;
        }
        let record = self.0.as_ptr();
        // SAFETY: nobody has the record any more, and its value was dropped with the last
        // reference. Its memory is of `several`, which has asked for such a layout.
        unsafe {
            let layout = Layout::for_value(&*record);
            blocks::free(self.0.cast(), layout);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_value_goes_with_the_last_reference_and_the_record_with_the_last_weak_one() {
        let value = Arc::new(());
        let [a, b] = Shared::several(value.clone());
        let weak = a.downgrade();
        drop(a);
        assert_eq!(Arc::strong_count(&value), 2);
        // SAFETY: `b` keeps it.
        let c = unsafe { Shared::of(&*b) };
        drop(b);
        assert!(!weak.is_gone());
        assert!(weak.upgrade().is_some_and(|again| Arc::ptr_eq(&again, &value)));
        drop(c);
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(weak.is_gone() && weak.clone().upgrade().is_none());
    }

    #[test]
    fn a_value_that_is_aligned_to_more_than_the_counts_is_found() {
        #[repr(align(64))]
        struct Aligned(u8);
        let [a] = Shared::several(Aligned(7));
        // SAFETY: `a` keeps it.
        let again = unsafe { Shared::of(&*a) };
        assert_eq!(((*again).0, (&raw const *again).addr() % 64), (7, 0));
    }

    #[test]
    fn threads_that_drop_at_the_same_time_drop_the_value_once() {
        for _ in 0..1000 {
            let value = Arc::new(());
            let [a, b, c] = Shared::several(value.clone());
            let weak = c.downgrade();
            std::thread::scope(|s| {
                s.spawn(move || drop(a));
                s.spawn(move || drop((weak.upgrade(), weak)));
                s.spawn(move || drop(b.clone()));
                drop(c);
            });
            assert_eq!(Arc::strong_count(&value), 1);
        }
    }
}
