//! A reference to a body: a pointer with a count.
//!
//! It is std's `Arc`, without weak references, and with three differences that each job feels: the
//! memory is a block of a slab ([`slabs`]), the second reference costs no read-modify-write
//! ([`twin`](Counted::twin)), and neither does the end of the last one ([`RefCount`]).
//!
//! **Invariant.** `count` is that of the references, so the block is there as long as one is.

use super::cell::{Body, Slot};
use myriad_base::pieces::slabs;
use myriad_base::ref_count::RefCount;
use myriad_base::sys::prefetch::prefetch;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{NonNull, drop_in_place};

/// See the module's header.
pub(crate) struct Counted<T: ?Sized> {
    block: NonNull<Block<T>>,
    _has: PhantomData<Block<T>>,
}

#[repr(C)]
struct Block<T: ?Sized> {
    count: RefCount,
    value: T,
}

// SAFETY: a reference is one to the value, and the last one drops that: as `Arc`.
unsafe impl<T: ?Sized + Send + Sync> Send for Counted<T> {}
// SAFETY: who shares a reference can make another one, and take that to another thread.
unsafe impl<T: ?Sized + Send + Sync> Sync for Counted<T> {}

impl<T: 'static> Counted<dyn Slot<T>> {
    #[inline]
    pub(crate) fn new<B: Slot<T> + 'static>(body: B) -> Counted<dyn Slot<T>> {
        let block = slabs::take(Layout::new::<Block<B>>()).cast::<Block<B>>();
        // SAFETY: `take` gives memory for a value of this layout, which nobody else has.
        unsafe { block.write(Block { count: RefCount::new(1), value: body }) };
        Counted { block, _has: PhantomData }
    }
}

impl<T> Counted<dyn Slot<T>> {
    /// The same body, without its type.
    #[inline]
    pub(crate) fn into_body(self) -> Counted<dyn Body> {
        let block = std::mem::ManuallyDrop::new(self).block;
        Counted { block, _has: PhantomData }
    }
}

impl<T: ?Sized> Counted<T> {
    /// Another reference, as `clone` makes. Of the only one it is cheaper.
    #[inline]
    pub(crate) fn twin(&mut self) -> Counted<T> {
        // (Nobody else can use this reference: it is borrowed.)
        self.inside().count.add_beside_own();
        Counted { block: self.block, _has: PhantomData }
    }
    /// The value is to be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self.inside());
    }
    #[inline]
    fn inside(&self) -> &Block<T> {
        // SAFETY: the block is there as long as a reference is.
        unsafe { self.block.as_ref() }
    }
    /// The last reference ends.
    #[inline(never)]
    fn free(&mut self) {
        let block = self.block;
        let layout = Layout::for_value(self.inside());
        // SAFETY: only the last reference comes here, once: nobody uses the value any more, and the
        // block was taken for what has this layout.
        unsafe {
            drop_in_place(block.as_ptr());
            slabs::give(block.cast(), layout);
        }
    }
}

impl<T: ?Sized> Deref for Counted<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inside().value
    }
}

impl<T: ?Sized> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Counted<T> {
        self.inside().count.add();
        Counted { block: self.block, _has: PhantomData }
    }
}

impl<T: ?Sized> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        // (There are no weak references, so the last one frees the block.)
        if self.inside().count.end() {
            self.free();
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::local::{Call, Cell, Wakers, body_of_one};
    use crate::machine::{JobId, Outcome, Report, State};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};
    use std::thread;

    /// A body of some size, which counts its end.
    struct Ends<const N: usize> {
        ended: Arc<AtomicUsize>,
        bytes: [u8; N],
        cell: Cell<()>,
    }

    impl<const N: usize> Drop for Ends<N> {
        fn drop(&mut self) {
            assert!(self.bytes.iter().all(|byte| *byte == self.bytes[0]), "another body's memory");
            self.ended.fetch_add(1, Relaxed);
        }
    }
    impl<const N: usize> Body for Ends<N> {
        body_of_one!();
        fn run(&self, _: Call) -> (Outcome, Option<Box<Report>>) {
            (Outcome::Done, None)
        }
    }
    impl<const N: usize> Slot<()> for Ends<N> {
        fn cell(&self) -> &Cell<()> {
            &self.cell
        }
    }
    fn body<const N: usize>(ended: &Arc<AtomicUsize>, byte: u8) -> Counted<dyn Slot<()>> {
        Counted::new(Ends { ended: ended.clone(), bytes: [byte; N], cell: Cell::new() })
    }

    /// The value ends with the last reference, whichever that is and however it was made.
    #[test]
    fn the_last_reference_ends_the_value() {
        let ended = Arc::new(AtomicUsize::new(0));
        for order in 0..3 {
            let mut first = body::<40>(&ended, 1);
            let (twin, third) = (first.twin(), first.clone());
            let fourth = first.twin().into_body();
            let mut all = [Some(first), Some(twin), Some(third)];
            all.rotate_left(order);
            all.iter_mut().for_each(|reference| *reference = None);
            assert_eq!((ended.load(Relaxed), fourth.ended()), (order, None));
            drop(fourth);
            assert_eq!(ended.load(Relaxed), order + 1);
        }
    }

    /// Bodies of all sizes, made by two threads and dropped by the other one, in and out of order;
    /// the threads end before their bodies.
    #[test]
    fn blocks_are_nobody_elses() {
        let (ended, n) = (Arc::new(AtomicUsize::new(0)), if cfg!(miri) { 30 } else { 3000 });
        let meet = Barrier::new(2);
        let made = thread::scope(|s| {
            let make = |from: usize| {
                meet.wait();
                let mut kept = Vec::new();
                for at in from..from + n {
                    let byte = at as u8;
                    kept.push(match at % 4 {
                        0 => body::<3>(&ended, byte),
                        1 => body::<200>(&ended, byte),
                        2 => body::<1000>(&ended, byte),
                        _ => body::<5000>(&ended, byte),
                    });
                    if at % 3 == 0 {
                        kept.swap_remove(at % 7 % kept.len());
                    }
                }
                kept
            };
            let threads = [0, n].map(|from| s.spawn(move || make(from)));
            threads.map(|thread| thread.join().unwrap())
        });
        thread::scope(|s| made.into_iter().for_each(|kept| _ = s.spawn(|| drop(kept))));
        assert_eq!(ended.load(Relaxed), 2 * n);
    }
}
