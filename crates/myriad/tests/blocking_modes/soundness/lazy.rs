//! The initialiser of a thread-local waits. Meanwhile a second task on that thread finds the
//! variable uninitialised, and initialises it; then the first one puts its value over that. With
//! `std` alone, the second value may be dropped while a reference to it is alive.

use crate::common::{Mode, assert_ok, case, fibers_supported, in_child, stderr};
use myriad::channel::{Receiver, bounded};
use myriad::spawn;
use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

static INITIALISED: AtomicUsize = AtomicUsize::new(0);
static GO: Mutex<Option<Receiver<()>>> = Mutex::new(None);

thread_local! {
    // A plain number, so that nothing is dropped under a reference here.
    static LAZY: RefCell<usize> = RefCell::new({
        let n = INITIALISED.fetch_add(1, SeqCst);
        let go = if n == 0 { GO.lock().unwrap().take() } else { None };
        if let Some(go) = go {
            go.recv().unwrap();
        }
        n
    });
}

/// Two tasks look at the variable; the first one's look waits in the initialiser until the second
/// has looked.
fn two_looks(rt: &myriad::Runtime) -> (usize, usize) {
    INITIALISED.store(0, SeqCst);
    let (tx, rx) = bounded(1);
    *GO.lock().unwrap() = Some(rx);
    rt.run(|| {
        let first = spawn(|| LAZY.with(|n| *n.borrow()));
        crate::common::wait_until(|| INITIALISED.load(SeqCst) == 1);
        let second = spawn(|| LAZY.with(|n| *n.borrow())).join().unwrap();
        tx.send(()).unwrap();
        (first.join().unwrap(), second)
    })
}

/// A thread for each task: each has its own variable. And a program in fiber mode that breaks the
/// contract.
#[test]
fn an_initialiser_that_waits() {
    case(Mode::Threads, 1, |b| b, |rt| assert_eq!(two_looks(rt), (0, 1)));
    let output = in_child(&[], || {
        if fibers_supported() {
            // One variable, initialised twice. Both looks were at the same place; what the first
            // one sees depends on `std`.
            let rt = Mode::Fibers.runtime(1);
            two_looks(&rt);
        }
        eprintln!("initialised {} times on one thread", if fibers_supported() { INITIALISED.load(SeqCst) } else { 2 });
    });
    assert_ok(&output);
    assert!(stderr(&output).contains("initialised 2 times on one thread"), "{}", stderr(&output));
}
