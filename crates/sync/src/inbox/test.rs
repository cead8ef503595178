//! Memory of the queue, and consumers that are one too many.

use super::{Inbox, Pushed};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn capacity<T>(inbox: &Inbox<T>) -> usize {
    inbox.0.locked(myriad_core::engine::wait::Caller::get(), |state| state.queue.capacity())
}

#[test]
fn the_first_memory_is_for_two() {
    let inbox = Inbox::new(false);
    assert_eq!(capacity(&inbox), 0);
    for n in 0..100_u8 {
        assert_eq!(inbox.push(n), Pushed::Done);
        assert_eq!((inbox.pop(), capacity(&inbox)), (Some(n), 2));
    }
    (0..100_u8).for_each(|n| assert_eq!(inbox.push(n), Pushed::Done));
    assert_eq!(capacity(&inbox), 128);
    (0..100_u8).for_each(|n| assert_eq!(inbox.pop(), Some(n)));
}

/// The memory of an inbox of messages of this size, at the begin, with a message that was
/// waited for, while the next one is, and when two more have come and gone.
fn memory<const SIZE: usize>() -> [usize; 4] {
    let inbox = Inbox::new(false);
    let mut cx = Context::from_waker(Waker::noop());
    let mut receive = pin!(inbox.receive_async());
    assert!(receive.as_mut().poll(&mut cx).is_pending());
    let begun = capacity(&inbox);
    assert_eq!(inbox.push([7_u8; SIZE]), Pushed::Done);
    let with_one = capacity(&inbox);
    assert_eq!(receive.as_mut().poll(&mut cx), Poll::Ready(Some([7_u8; SIZE])));
    assert!(receive.as_mut().poll(&mut cx).is_pending());
    let waiting = capacity(&inbox);
    (0..3).for_each(|_| assert_eq!(inbox.push([8_u8; SIZE]), Pushed::Done));
    (0..3).for_each(|_| assert_eq!(receive.as_mut().poll(&mut cx), Poll::Ready(Some([8_u8; SIZE]))));
    assert!(receive.as_mut().poll(&mut cx).is_pending());
    [begun, with_one, waiting, capacity(&inbox)]
}

#[test]
fn an_inbox_whose_future_waits_has_memory_only_for_what_was_more_or_large() {
    assert_eq!(memory::<16>(), [0, 2, 0, 4]);
    assert_eq!(memory::<500>(), [0, 1, 0, 4]);
    assert_eq!(memory::<1000>(), [0, 1, 1, 4]);
}

#[test]
fn who_blocks_takes_the_place_of_a_future_that_was_forgotten() {
    let inbox = Inbox::<u8>::new(false);
    let mut receive = Box::pin(inbox.receive_async());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(receive.as_mut().poll(&mut cx).is_pending() && inbox.is_at_rest());
    drop(receive);
    assert!(!inbox.is_at_rest(), "a future that was dropped waits");
    receive = Box::pin(inbox.receive_async());
    assert!(receive.as_mut().poll(&mut cx).is_pending());
    std::mem::forget(receive);
    assert!(inbox.is_at_rest());
    assert_eq!(inbox.receive(Some(myriad_core::time::now())), None);
    assert!(!inbox.is_at_rest());
}

#[test]
fn a_future_panics_where_another_one_blocks() {
    let inbox = Inbox::<u8>::new(false);
    std::thread::scope(|s| {
        let blocks = s.spawn(|| inbox.receive(None));
        while !inbox.is_at_rest() {
            std::thread::yield_now();
        }
        let second = || pin!(inbox.receive_async()).poll(&mut Context::from_waker(Waker::noop()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(second)).is_err());
        assert_eq!(inbox.push(7), Pushed::Done);
        assert_eq!(blocks.join().unwrap(), Some(7));
    });
}
