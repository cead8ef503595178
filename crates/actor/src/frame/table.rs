//! The frames of an OS thread, by their tasks: lists in the frames themselves.
//!
//! One list at first. A look that passes many frames makes a table of lists, which then grows
//! fourfold whenever a list has four on average, and goes when the last frame does: a thread on
//! which few actors wait counts nothing. In a list the newest of a task comes before its older
//! ones, always: whoever moves a list moves the oldest first.

use super::Frame;
use myriad_core::engine::running::UnderWay;
use std::cell::Cell;
use std::ptr::null;

type Lists = [Cell<*const Frame>];

thread_local! {
    pub(super) static FRAMES: Frames = const {
        Frames { one: Cell::new(null()), many: Cell::new(&[]), len: Cell::new(0) }
    };
}

/// See the module's header.
pub(super) struct Frames {
    /// The only list, while `many` is empty.
    one: Cell<*const Frame>,
    /// A box, if it is not empty; its length is a power of two.
    many: Cell<*const Lists>,
    /// How many frames are in `many`.
    len: Cell<usize>,
}

/// A look that has passed so many frames makes a table.
const MANY: usize = 16;

impl Frames {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.one.get().is_null() && self.many.get().is_empty()
    }

    #[inline(always)]
    fn list(&self, task: UnderWay) -> &Cell<*const Frame> {
        if self.many.get().is_empty() { &self.one } else { self.list_of_many(task) }
    }

    #[cold]
    fn list_of_many(&self, task: UnderWay) -> &Cell<*const Frame> {
        // SAFETY: the box is kept until the last frame is taken out, or `grow` replaces it.
        let many: &Lists = unsafe { &*self.many.get() };
        // (Records lie at multiples of a cache line, or more.)
        let hash = (task.number() >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS / 2);
        &many[hash & (many.len() - 1)]
    }

    /// Calls `f` with each frame of this task, the newest first, until that says so.
    ///
    /// # Safety
    /// `f` neither waits, nor enters or leaves a frame.
    #[inline]
    pub(super) unsafe fn find<R>(&self, task: UnderWay, mut f: impl FnMut(&Frame) -> Option<R>) -> Option<R> {
        let (mut at, mut passed) = (self.list(task).get(), 0);
        let found = loop {
            // SAFETY: what is in the table of this thread stands, and nothing leaves it here (this
            // function's contract).
            let Some(frame) = (unsafe { at.as_ref() }) else { break None };
            if frame.task == task
                && let Some(found) = f(frame)
            {
                break Some(found);
            }
            (at, passed) = (frame.older.get(), passed + 1);
        };
        if passed > MANY && self.many.get().is_empty() {
            self.grow();
        }
        found
    }

    /// # Safety
    /// The frame stands where it is until it is [taken out](Self::remove), by this thread.
    #[inline(always)]
    pub(super) unsafe fn insert(&self, frame: &Frame) {
        let is_one = self.many.get().is_empty();
        self.link(frame, if is_one { &self.one } else { self.list_for_one_more(frame.task) });
    }

    #[cold]
    #[inline(never)]
    fn list_for_one_more(&self, task: UnderWay) -> &Cell<*const Frame> {
        self.len.set(self.len.get() + 1);
        if self.len.get() > 4 * self.many.get().len() {
            self.grow();
        }
        self.list_of_many(task)
    }

    #[inline(always)]
    fn link(&self, frame: &Frame, list: &Cell<*const Frame>) {
        let older = list.replace(frame);
        frame.older.set(older);
        frame.newer.set(null());
        // SAFETY: it is null or in the table, so it stands.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(frame);
        }
    }

    /// # Safety
    /// The frame was put in, by this thread.
    #[inline(always)]
    pub(super) unsafe fn remove(&self, frame: &Frame) {
        let is_one = self.many.get().is_empty();
        self.unlink(frame, if is_one { &self.one } else { self.list_of_many(frame.task) });
        if !is_one {
            self.count_one_less();
        }
    }

    #[inline(always)]
    fn unlink(&self, frame: &Frame, list: &Cell<*const Frame>) {
        let (older, newer) = (frame.older.get(), frame.newer.get());
        // SAFETY: both are null or in the table, so they stand.
        unsafe {
            newer.as_ref().map_or(list, |newer| &newer.older).set(older);
            if let Some(older) = older.as_ref() {
                older.newer.set(newer);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn count_one_less(&self) {
        self.len.set(self.len.get() - 1);
        if self.len.get() == 0 {
            self.set_many(Box::default());
        }
    }

    /// Frees the table of before.
    fn set_many(&self, many: Box<Lists>) {
        let before = self.many.replace(if many.is_empty() { &[] } else { Box::into_raw(many) });
        if !before.is_empty() {
            // SAFETY: what is not empty is a box of this function; no reference to it is left.
            drop(unsafe { Box::from_raw(before.cast_mut()) });
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self) {
        // SAFETY: as in `list_of_many`.
        let before: &Lists = unsafe { &*self.many.get() };
        let (len, one) = ((4 * before.len()).max(4 * MANY), self.one.replace(null()));
        let lists: Vec<_> = before.iter().map(Cell::get).chain([one]).collect();
        self.set_many((0..len).map(|_| Cell::new(null())).collect());
        let mut count = 0;
        for mut at in lists {
            // SAFETY: what is in the table stands.
            unsafe {
                while let Some(older) = at.as_ref().and_then(|frame| frame.older.get().as_ref()) {
                    at = older;
                }
                while let Some(frame) = at.as_ref() {
                    at = frame.newer.get();
                    self.link(frame, self.list_of_many(frame.task));
                    count += 1;
                }
            }
        }
        // (The caller may have counted one that is not linked yet.)
        self.len.set(self.len.get().max(count));
    }
}

#[cfg(test)]
mod test {
    use crate::cell::Cell;
    use crate::frame::{current, enter};
    use crate::life::Life;
    use crate::pid::Process;
    use crate::shared::Shared;
    use myriad_core::engine::running::UnderWay;
    use std::panic::Location;

    /// So many tasks of one worker are set aside in frames of two actors each, and find the newer
    /// one; then the older one is back.
    #[test]
    fn each_task_finds_its_own_frames() {
        for tasks in [1, 15, 17, 3000] {
            // SAFETY: nothing here blocks in a thread-local's scope.
            let rt = unsafe { myriad_core::Builder::fibers() }.workers(1).build().unwrap();
            rt.run(|| {
                let go = myriad_sync::lock::Event::new();
                myriad_core::scope(|s| {
                    let all: Vec<_> = (0..tasks)
                        .map(|_| {
                            s.spawn(|| {
                                let cell = || Cell::<()>::new(Life::new(Location::caller()), false, None);
                                let ([outer], [inner]) = (Shared::several(cell()), Shared::several(cell()));
                                let here = UnderWay::here();
                                let is = |of: &Shared<Cell<()>>| current().unwrap().id() == of.life().id();
                                enter(&*outer, here, || {
                                    enter(&*inner, here, || {
                                        go.wait();
                                        assert!(is(&inner));
                                    });
                                    assert!(is(&outer));
                                });
                                assert!(current().is_none());
                            })
                        })
                        .collect();
                    (0..3).for_each(|_| myriad_core::yield_now());
                    assert!(current().is_none());
                    go.set();
                    all.into_iter().for_each(|task| task.join().unwrap());
                });
            });
        }
    }
}
