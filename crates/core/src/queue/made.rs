//! Where what tasks wait for was made, for dumps: a table of the channels of the process, by their
//! addresses.
//!
//! It is kept in debug builds, and from the moment on that somebody asks for dumps by a signal:
//! then a channel costs a look at a lock and a table when it is made and when it goes, and some 40
//! bytes. Where it is not kept, two instructions at either time, and no memory.
//!
//! **Rejected.** The place in the channel: 8 bytes of each, for all. Locks: their constructors are
//! `const`, so nobody runs when a lock is made.

use myriad_base::hash::Numbers;
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::panic::Location;
// Not through `sys`: a switch, and no protocol's part.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(cfg!(debug_assertions));

/// Is the table kept?
#[inline(always)]
pub fn is_on() -> bool {
    !cfg!(loom) && ON.load(Relaxed)
}

/// From now on it is.
pub(crate) fn switch_on() {
    ON.store(true, Relaxed);
}

/// What can be asked of a channel, by its address. Each answer is for the side that sends, and for
/// the one that receives.
#[derive(Debug, Clone, Copy)]
pub struct Questions {
    /// How many ends are there? Asked for a dump, at any moment: no lock is taken.
    ///
    /// # Safety
    /// The channel is there, of the type that the function is for.
    pub ends: unsafe fn(*const ()) -> (usize, usize),
    /// Has no message been sent, and none been received? Asked by code that may lock the channel.
    ///
    /// # Safety
    /// As for `ends`.
    pub idle: unsafe fn(*const ()) -> (bool, bool),
}

/// What is known of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) location: &'static Location<'static>,
    /// How many ends send, and how many receive.
    pub(crate) ends: Option<(usize, usize)>,
}

struct Noted {
    location: &'static Location<'static>,
    /// With the channel's address. (Exposed: the table's keys are numbers.)
    questions: Option<Questions>,
}

impl Noted {
    /// # Safety
    /// It was noted for this address, and is not forgotten yet.
    unsafe fn made(&self, object: usize) -> Made {
        // SAFETY: noted and not forgotten (this function's contract), so the channel is there
        // (`note`).
        let ends = self.questions.map(|ask| unsafe { (ask.ends)(std::ptr::with_exposed_provenance(object)) });
        Made { location: self.location, ends }
    }
}

static TABLE: Mutex<Option<Numbers<usize, Noted>>> = Mutex::new(None);

fn table() -> MutexGuard<'static, Option<Numbers<usize, Noted>>> {
    fork::hold(Rank::Made, || {
        let held = TABLE.lock();
        Box::new(|_| drop(held))
    });
    TABLE.lock()
}

/// A channel was made, or another object that tasks wait for.
///
/// # Safety
/// Until [`forget`] was called with this address, the questions may be asked of it, on any thread.
#[cold]
pub unsafe fn note(object: *const (), location: &'static Location<'static>, questions: Option<Questions>) {
    table().get_or_insert_default().insert(object.expose_provenance(), Noted { location, questions });
}

/// It goes: nobody looks at it any more when this returns.
#[cold]
pub fn forget(object: *const ()) {
    if let Some(table) = &mut *table() {
        table.remove(&object.addr());
    }
}

/// What is known of what stands at these addresses.
pub(crate) fn look_up(objects: impl Iterator<Item = usize>) -> Numbers<usize, Made> {
    if !is_on() {
        return Numbers::default();
    }
    let table = table();
    let Some(table) = &*table else { return Numbers::default() };
    let known = objects.filter_map(|object| {
        // SAFETY: it has not been forgotten, and nobody forgets it while the table is locked.
        Some((object, unsafe { table.get(&object)?.made(object) }))
    });
    known.collect()
}

/// What is known of what stands at this address, and of a channel whether no message was sent, and
/// none received. (May wait for the channel's lock, under which nobody asks for the table.)
pub(crate) fn look_closely(object: usize) -> Option<(Made, Option<(bool, bool)>)> {
    if !is_on() {
        return None;
    }
    let table = table();
    let noted = table.as_ref()?.get(&object)?;
    // SAFETY: it has not been forgotten, and nobody forgets it while the table is locked; so the
    // channel is there (`note`).
    let idle = noted.questions.map(|ask| unsafe { (ask.idle)(std::ptr::with_exposed_provenance(object)) });
    // SAFETY: it has not been forgotten, and nobody forgets it while the table is locked.
    Some((unsafe { noted.made(object) }, idle))
}
