//! A system that has no more threads.

use super::{GangError, try_gang};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// So many more threads the system has.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

pub(super) fn may_start() -> io::Result<()> {
    let one_less = LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
    one_less.map(|_| ()).map_err(|_| io::Error::from_raw_os_error(11))
}

fn meet(n: usize) {
    let here = AtomicUsize::new(0);
    let meeting = try_gang(n, |_| {
        here.fetch_add(1, SeqCst);
        while here.load(SeqCst) < n {
            std::thread::yield_now();
        }
    });
    meeting.unwrap();
}

/// All or none, and an error that says what to do; the threads that there were are for others.
#[test]
fn without_threads_no_job_begins() {
    LEFT.store(5, SeqCst);
    for _ in 0..3 {
        let error = try_gang(8, |_| unreachable!("not all have a thread")).unwrap_err();
        assert!(matches!(error, GangError::NoThread(_)), "{error:?}");
        assert!(error.to_string().contains("ask for fewer jobs"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    // With the five that were started then, although there are no more.
    assert_eq!(LEFT.load(SeqCst), 0);
    meet(6);
    LEFT.store(usize::MAX, SeqCst);
    meet(8);
}
