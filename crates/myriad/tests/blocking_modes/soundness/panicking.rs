//! A destructor that waits while a panic is under way. The count of panics belongs to the thread,
//! so in fiber mode other tasks on it seem to be panicking: they leave `std`'s locks poisoned, or
//! do not poison them.

use crate::common::{MODES, Mode, case, catch_planned, plan, quiet};
use myriad::channel::{Receiver, rendezvous};
use myriad::spawn;
use std::sync::Mutex;
use std::thread::panicking;

struct Waits(Receiver<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.recv().unwrap();
    }
}

/// Whether another task seems to panic while a destructor waits, and whether its lock is poisoned
/// by that.
fn seen_by_another(rt: &myriad::Runtime) -> (bool, bool) {
    quiet();
    rt.run(|| {
        let (tx, rx) = rendezvous();
        let panics = spawn(move || {
            let _waits = Waits(rx);
            plan("with a destructor that waits")
        });
        let lock = Mutex::new(());
        let mut seen = false;
        for _ in 0..500 {
            let guard = lock.lock();
            myriad::yield_now();
            seen |= panicking();
            drop(guard);
        }
        tx.send(()).unwrap();
        catch_planned("with a destructor that waits", || panics.join().unwrap_err().resume());
        (seen, lock.is_poisoned())
    })
}

#[test]
fn a_destructor_that_waits() {
    case(Mode::Threads, 1, |b| b, |rt| assert_eq!(seen_by_another(rt), (false, false)));
    // The hole. No memory is harmed; but a lock that nobody misused is poisoned.
    case(Mode::Fibers, 1, |b| b, |rt| assert_eq!(seen_by_another(rt), (true, true)));
}

/// Afterwards all counts are right again, in both modes.
#[test]
fn afterwards_nobody_panics() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                seen_by_another(rt);
                assert!(!rt.run(panicking));
            },
        );
    }
}
