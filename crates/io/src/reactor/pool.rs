//! The entries that no socket has.

use super::{Entry, Epoll};
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::mutex::Mutex;

struct Pool {
    free: Vec<&'static Entry>,
    all: Vec<&'static [Entry]>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), all: Vec::new() });

/// So many are made at a time.
const CHUNK: usize = 32;

/// One that nobody has.
pub(super) fn take() -> &'static Entry {
    fork::hold(Rank::Sockets, hold);
    let mut pool = POOL.lock();
    if pool.free.is_empty() {
        let chunk = Box::leak((0..CHUNK).map(|_| Entry::free()).collect::<Box<[_]>>());
        pool.all.push(chunk);
        pool.free.extend(chunk.iter());
    }
    pool.free.pop().expect("a chunk was made")
}

/// It is as new.
pub(super) fn give_back(entry: &'static Entry) {
    POOL.lock().free.push(entry);
}

/// For `fork`.
fn hold() -> GiveBack {
    let mut pool = POOL.lock();
    Box::new(move |in_child| {
        if in_child {
            // A late event of the parent's may be in the middle of one.
            pool.free.clear();
        }
    })
}

/// The entry in which this address is.
pub(super) fn find(address: usize) -> Option<&'static Entry> {
    let pool = POOL.lock();
    let begins = |chunk: &[Entry]| chunk.as_ptr().addr();
    let has = |chunk: &&&[Entry]| (begins(chunk)..begins(chunk) + size_of_val(**chunk)).contains(&address);
    let chunk = pool.all.iter().find(has)?;
    chunk.get((address - begins(chunk)) / size_of::<Entry>())
}

/// Takes all sockets out of this reactor.
pub(super) fn forget_all(reactor: &Epoll) {
    let all = POOL.lock().all.clone();
    all.into_iter().flatten().for_each(|entry| entry.forget(reactor));
}
