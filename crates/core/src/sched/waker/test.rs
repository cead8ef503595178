//! Which wakers are known as ours, and that a signal's references are counted.

use super::{OwnTable, Signal, WakerWord, drop_waiter, is_ours, is_same, signal_of, to_waiter, waker_of_signal};
use crate::sched::priority::Priority;
use crate::sched::user_code::StoredWaker;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// The waker with which it is polled.
fn own_waker() -> impl Future<Output = Waker> + Send {
    poll_fn(|cx| Poll::Ready(cx.waker().clone()))
}

/// Passes a wake on.
struct Around(Waker);

impl Wake for Around {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[test]
fn wakers_of_ours_are_known() {
    let spawned = |priority| {
        crate::run(move || crate::task::Builder::new().priority(priority).spawn_async(own_waker()).join().unwrap())
    };
    for (waker, own) in [
        (crate::run(|| crate::spawn_async(own_waker()).join().unwrap()), OwnTable::Task),
        (spawned(Priority::Default), OwnTable::Task),
        (spawned(Priority::Interactive), OwnTable::Interactive),
        (spawned(Priority::Background), OwnTable::Background),
        (crate::run(|| crate::block_on(own_waker())), OwnTable::Signal),
        (crate::block_on(own_waker()), OwnTable::Signal),
    ] {
        assert!(is_ours(&waker) && own.is(&waker), "{own:?}");
        assert!(is_ours(&waker.clone()) && own.is(&waker.clone()), "a clone: {own:?}");
        assert_eq!(signal_of(&waker).is_some(), own == OwnTable::Signal);
        let around = Waker::from(Arc::new(Around(waker)));
        assert!(!is_ours(&around) && !own.is(&around), "around: {own:?}");
        assert!(signal_of(&around).is_none());
    }
    assert!(!is_ours(Waker::noop()));
}

/// So many wakers and waiter words have the signal.
fn references(waker: &Waker) -> usize {
    assert!(signal_of(waker).is_some());
    // SAFETY: the data of this table's wakers is a reference of an `Arc`, which `waker` keeps: the
    // `ManuallyDrop` gives none up.
    Arc::strong_count(&*ManuallyDrop::new(unsafe { Arc::from_raw(waker.data().cast::<Signal>()) }))
}

#[test]
fn a_signal_has_a_reference_for_each_that_wakes_it() {
    let waker = waker_of_signal();
    let clone = waker.clone();
    let waiter = to_waiter(&waker);
    let word = waiter.addr();
    assert!(is_same(word, &waker) && is_same(word, &clone) && !is_same(word, &waker_of_signal()));
    assert_eq!(references(&waker), 3);
    clone.wake();
    drop_waiter(waiter);
    waker.wake_by_ref();
    assert_eq!(references(&waker), 1);
    let [kept, woken, discarded] = [(); 3].map(|()| StoredWaker::clone_of(&waker));
    assert_eq!(references(&waker), 4);
    woken.wake();
    discarded.discard();
    assert_eq!(references(&waker), 2);
    drop(kept.give());
    assert_eq!(references(&waker), 1);
}

#[test]
fn a_waker_in_a_word_is_a_tasks_own_or_counts_or_stands_in_a_box() {
    let task = crate::run(|| crate::spawn_async(own_waker()).join().unwrap());
    let [word, same] = [(); 2].map(|()| WakerWord::of_task(&task).expect("a task's"));
    assert!(word.will_wake(&task) && !word.will_wake(Waker::noop()));
    let raw = word.into_raw();
    assert!(WakerWord::is_raw(raw) && !WakerWord::is_raw(std::ptr::null()));
    // SAFETY: it came from `into_raw`.
    unsafe { WakerWord::from_raw(raw) }.discard();
    same.wake(); // (It has ended.)

    let signal = waker_of_signal();
    assert!(WakerWord::of_task(&signal).is_none());
    let [woken, discarded] = [(); 2].map(|()| WakerWord::clone_of(&signal));
    assert!(woken.will_wake(&signal) && !woken.will_wake(&task));
    assert_eq!(references(&signal), 3);
    woken.wake();
    discarded.discard();
    assert_eq!(references(&signal), 1);

    let around = Arc::new(Around(signal));
    let foreign = Waker::from(around.clone());
    assert!(WakerWord::of_task(&foreign).is_none());
    let [woken, discarded] = [(); 2].map(|()| WakerWord::clone_of(&foreign));
    assert!(woken.will_wake(&foreign) && !woken.will_wake(&task) && !woken.will_wake(&around.0));
    assert_eq!(Arc::strong_count(&around), 4);
    woken.wake();
    discarded.discard();
    assert_eq!(Arc::strong_count(&around), 2);
}
