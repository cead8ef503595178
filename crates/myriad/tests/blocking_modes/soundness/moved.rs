//! Compilers keep the address of a thread-local in a register. A task that went on on another
//! thread would then write to the first thread's variable: a data race without `unsafe`. So a task
//! that has blocked goes on on its thread, in both modes.

use crate::common::in_both_modes;
use myriad::spawn;
use std::cell::Cell;
use std::hint::black_box;
use std::thread;

thread_local! {
    static X: Cell<u64> = const { Cell::new(0) };
}

#[inline(never)]
fn body(i: u64) {
    let id = thread::current().id();
    let here = X.with(|x| black_box((&raw const *x).addr()));
    X.with(|x| x.set(x.get() + 1));
    if i.is_multiple_of(3) {
        myriad::time::sleep(std::time::Duration::from_micros(i))
    } else {
        myriad::yield_now()
    }
    X.with(|x| x.set(x.get() + 1));
    assert_eq!(X.with(|x| black_box((&raw const *x).addr())), here);
    assert_eq!(thread::current().id(), id);
}

#[test]
fn a_thread_local_before_and_after_a_wait() {
    in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..300).map(|i| spawn(move || body(i))).collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}
