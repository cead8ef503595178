//! What the destructors of thread-locals may call, on plain threads and on those of workers.

use crate::common::{Mode, assert_ok, in_child, wait_until, watch};
use myriad::cancel::Token;
use myriad::task::{self, JoinSet};
use myriad::{spawn, time};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Calls a function when its thread's thread-locals go.
struct Last(fn());

impl Drop for Last {
    fn drop(&mut self) {
        self.0();
        ENDED.fetch_add(1, SeqCst);
    }
}

static ENDED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Registered first, so dropped last.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// All that the engine keeps in thread-locals is in use before the thread ends.
fn use_all() {
    let h = spawn(|| time::sleep(HOUR));
    h.cancel();
    assert!(h.join().unwrap_err().is_cancelled());
    task::gang(2, |_| ());
    assert!(time::timeout(Duration::from_millis(1), || time::sleep(HOUR)).is_err());
    _ = myriad::rng();
}

fn begin(last: fn()) {
    LAST.with_borrow_mut(|place| *place = Some(Last(last)));
}

fn cancels() {
    let h = spawn(|| time::sleep(HOUR));
    h.cancel();
    assert!(h.join().unwrap_err().is_cancelled());
}

fn drops_a_set() {
    let mut set = JoinSet::new();
    (0..4).for_each(|_| set.spawn(|| time::sleep(HOUR)));
    drop(set);
    let mut set = JoinSet::new();
    (0..4).for_each(|_| set.spawn(|| time::sleep(HOUR)));
    set.cancel_all();
    while set.join_next().is_some() {}
}

fn cancels_scopes_and_tokens() {
    myriad::scope(|s| {
        (0..4).for_each(|_| drop(s.spawn(|| time::sleep(HOUR))));
        s.cancel();
    });
    let token = Token::new();
    let h = task::Builder::new().token(&token).spawn(|| time::sleep(HOUR));
    token.cancel();
    assert!(h.join().unwrap_err().is_cancelled());
    assert!(time::timeout(Duration::from_millis(1), || time::sleep(HOUR)).is_err());
}

fn cancels_a_chain() {
    // A join passes its cancellation on.
    let h = spawn(|| {
        let inner = spawn(|| time::sleep(HOUR));
        task::keep_thread(|| ());
        inner.join()
    });
    h.cancel();
    _ = h.join();
}

fn gangs() {
    let count = AtomicUsize::new(0);
    task::gang(2, |_| _ = count.fetch_add(1, SeqCst));
    assert_eq!(count.load(SeqCst), 2);
}

fn calls() {
    assert_eq!(myriad::blocking(|| 1) + myriad::compute(|| 2), 3);
    assert_eq!(task::keep_thread(|| 4), 4);
    assert_eq!(myriad::block_on(myriad::blocking_async(|| 5)), 5);
}

const ALL: [(&str, fn()); 6] = [
    ("cancel", cancels),
    ("JoinSet", drops_a_set),
    ("scopes and tokens", cancels_scopes_and_tokens),
    ("a chain", cancels_a_chain),
    ("gang", gangs),
    ("calls", calls),
];

#[test]
fn of_plain_threads() {
    let output = in_child(&[], || {
        for (what, last) in ALL {
            let _watch = watch(what);
            for used in [true, false] {
                let ended = ENDED.load(SeqCst);
                let thread = std::thread::spawn(move || {
                    begin(last);
                    if used {
                        use_all();
                    }
                });
                thread.join().unwrap();
                assert_eq!(ENDED.load(SeqCst), ended + 1, "{what}");
            }
        }
    });
    assert_ok(&output);
}

#[test]
fn of_threads_of_workers() {
    let output = in_child(&[], || {
        for mode in [Mode::Threads, Mode::Fibers] {
            for (what, last) in ALL {
                let _watch = watch(what);
                let ended = ENDED.load(SeqCst);
                let rt = mode.runtime(1);
                rt.run(|| {
                    begin(last);
                    use_all();
                });
                assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
                wait_until(|| ENDED.load(SeqCst) > ended);
            }
        }
    });
    assert_ok(&output);
}
