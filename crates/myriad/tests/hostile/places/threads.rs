//! Destructors and initialisers of thread-locals.

use crate::behaviours::{Behaviour, Value};
use crate::cell::{Cx, Seen};
use std::cell::RefCell;
use std::sync::Mutex;

thread_local! {
    static SET: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

fn leave(value: Value) {
    SET.with_borrow_mut(|set| set.push(value));
}

/// A thread of std ends.
pub(crate) fn thread_local(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = SET.try_with(|set| set.try_borrow().is_ok()));
    let (value, wait) = (cx.value(), cx.last_sender());
    myriad::blocking(move || _ = std::thread::spawn(move || leave(value)).join());
    wait();
    Seen::Well
}

/// A worker ends.
pub(crate) fn thread_local_of_worker(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = SET.try_with(|set| set.try_borrow().is_ok()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let rt = cx.mode.builder().workers(1).build().unwrap();
    rt.run(move || leave(value));
    let report = myriad::blocking(move || rt.shutdown(std::time::Duration::from_secs(60)));
    assert!(report.is_clean(), "{report}");
    wait();
    Seen::Well
}

/// A dedicated task's thread ends.
pub(crate) fn thread_local_of_dedicated(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = SET.try_with(|set| set.try_borrow().is_ok()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::joined(myriad::task::dedicated(move || leave(value)).join());
    wait();
    // Its thread ends a moment after its task.
    crate::cell::until("the thread does not end", || cx.foe.counts().0 == cx.foe.counts().1);
    if cx.is(Behaviour::Panics) {
        // The value is counted, its panic is under way there, and ends the process.
        crate::cell::until("the process does not end", || false);
    }
    seen
}

static NEXT: Mutex<Option<Cx>> = Mutex::new(None);

thread_local! {
    static MADE: u32 = made();
}

fn made() -> u32 {
    let cx = NEXT.lock().unwrap().take();
    cx.map_or(0, |cx| {
        cx.act();
        1
    })
}

/// The initialiser of a thread-local, on a thread of std. (On a worker in fiber mode it must not
/// wait.)
pub(crate) fn initialiser(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = SET.try_with(|set| set.try_borrow().is_ok()));
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = myriad::blocking(move || {
        let thread = std::thread::spawn(move || {
            *NEXT.lock().unwrap() = Some(inner);
            MADE.with(|made| assert_eq!(*made, 1));
        });
        match thread.join() {
            Ok(()) => Seen::Well,
            Err(payload) => Seen::caught(&*payload),
        }
    });
    wait();
    seen
}
