//! Units: the ring, the lists of waiters, the state's invariants.

#![allow(clippy::vec_box)] // entries and waits must not move

use super::chan::{Chan, Received, Sent, Side, WhenFull};
use super::entry::{CLOSED, DONE, Entry, IDLE, LINKED, List, SKIPPED};
use super::ring::{Messages, Ring};
use myriad_core::engine::wait::{Caller, Wait, WaitReason, Waiter};
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::rc::Rc;
use std::task::Waker;

impl<T> Ring<T> {
    fn add(&mut self, value: T) {
        let value = ManuallyDrop::new(value);
        // SAFETY: it is there, and moved out once.
        unsafe { self.push(&raw const *value) };
    }
    fn add_front(&mut self, value: T) {
        let value = ManuallyDrop::new(value);
        // SAFETY: the value is there, and moved out once.
        unsafe { self.push_front(&raw const *value) };
    }
    fn get(&mut self) -> Option<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: not empty: a message is moved in.
        (self.len() > 0).then(|| unsafe {
            self.pop(value.as_mut_ptr());
            value.assume_init()
        })
    }
}

/// Xorshift, always the same numbers.
fn random() -> impl FnMut(usize) -> usize {
    let mut x = 0x9E37_79B9_7F4A_7C15u64;
    move |n| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 33) as usize % n
    }
}

#[test]
fn ring_is_a_queue() {
    let mut random = random();
    for most in [1, 3, 17, 200] {
        let (mut ring, mut model) = (Ring::new(), VecDeque::new());
        for i in 0..3_000 {
            let message = Rc::new(i);
            match random(8) {
                0..4 if model.len() < most => {
                    ring.add(message.clone());
                    model.push_back(message);
                }
                4 if model.len() < most => {
                    ring.add_front(message.clone());
                    model.push_front(message);
                }
                5 if !model.is_empty() && ring.len() < ring.capacity() => {
                    // SAFETY: there is room, and a first message.
                    let first = unsafe {
                        ring.push_value(ManuallyDrop::new(message.clone()));
                        ring.pop_value()
                    };
                    model.push_back(message);
                    assert_eq!(Some(first), model.pop_front());
                }
                _ => assert_eq!(ring.get(), model.pop_front()),
            }
            assert_eq!(ring.len(), model.len());
            assert!(ring.len() <= ring.capacity() && (ring.capacity() == 0 || ring.capacity().is_power_of_two()));
        }
        drop(Messages(ring));
        assert!(model.iter().all(|message| Rc::strong_count(message) == 1));
    }
}

#[test]
fn ring_takes_memory_as_it_is_used() {
    fn first<T: Default>() -> usize {
        let mut ring = Ring::<T>::new();
        assert_eq!(ring.capacity(), 0);
        ring.add(T::default());
        let capacity = ring.capacity();
        drop(Messages(ring));
        capacity
    }
    assert_eq!((first::<u8>(), first::<u64>(), first::<[u64; 8]>()), (16, 16, 2));
    assert!(first::<()>() > 0);
}

#[test]
fn ring_of_nothing() {
    let mut ring = Ring::new();
    for _ in 0..1_000 {
        ring.add(());
    }
    assert_eq!(ring.len(), 1_000);
    ring.add_front(());
    assert_eq!(std::iter::from_fn(|| ring.get()).count(), 1_001);
    drop(Messages(ring));
}

#[test]
fn ring_keeps_alignment() {
    #[repr(align(512))]
    struct Aligned(u8);
    let mut ring = Ring::new();
    for i in 0..9 {
        ring.add(Aligned(i));
        ring.add(Aligned(i));
        let message = ring.get().unwrap();
        assert_eq!(std::ptr::from_ref(&message).addr() % 512, 0);
        assert_eq!(message.0, i / 2);
    }
    drop(Messages(ring));
}

/// Entries of so many waits: futures, or (odd ones) timed waits whose time can be over.
struct Waiters {
    entries: Vec<Box<Entry<usize>>>,
    waits: Vec<Box<Wait>>,
}

impl Waiters {
    fn new(n: usize) -> Waiters {
        Waiters {
            entries: (0..n).map(|_| Box::new(Entry::new())).collect(),
            waits: (0..n).map(|_| Box::new(Caller::get().timed_wait(WaitReason::Other))).collect(),
        }
    }
    fn at(&self, i: usize) -> *mut Entry<usize> {
        std::ptr::from_ref(&*self.entries[i]).cast_mut()
    }
    fn waiter(&self, i: usize) -> Waiter {
        if i % 2 == 1 { self.waits[i].waiter() } else { Waiter::future(Waker::noop()) }
    }
    fn push(&self, list: &mut List<usize>, i: usize) {
        // SAFETY: in a box, in no list; these tests have the list for themselves.
        unsafe { list.push(self.at(i), self.waiter(i)) };
    }
}

fn claim(list: &mut List<usize>) -> Option<*mut Entry<usize>> {
    // SAFETY: the test has the list for itself.
    unsafe { list.claim_first().map(|(entry, _)| entry) }
}

#[test]
fn list_is_first_come_first_served() {
    let waiters = Waiters::new(5);
    let mut list = List::new();
    assert!(list.is_empty());
    let order = [3, 0, 4, 1, 2];
    order.iter().for_each(|&i| waiters.push(&mut list, i));
    assert!(order.iter().all(|&i| waiters.entries[i].state() == LINKED));
    // In between one comes back.
    assert_eq!(claim(&mut list), Some(waiters.at(3)));
    assert_eq!(claim(&mut list), Some(waiters.at(0)));
    waiters.push(&mut list, 0);
    for i in [4, 1, 2, 0] {
        assert_eq!(claim(&mut list), Some(waiters.at(i)));
    }
    assert!(list.is_empty() && claim(&mut list).is_none());
}

#[test]
fn list_removes_anywhere() {
    for n in 1..5 {
        for gone in 0..n {
            for second in (0..n).filter(|i| *i != gone) {
                let waiters = Waiters::new(n);
                let mut list = List::new();
                (0..n).for_each(|i| waiters.push(&mut list, i));
                // SAFETY: both are in the list, and the test has it for itself.
                unsafe {
                    list.remove(waiters.at(gone)).discard();
                    list.remove(waiters.at(second)).discard();
                }
                for i in (0..n).filter(|i| ![gone, second].contains(i)) {
                    assert_eq!(claim(&mut list), Some(waiters.at(i)));
                }
                assert!(list.is_empty());
                waiters.push(&mut list, gone);
                assert!(!list.is_empty());
            }
        }
    }
}

#[test]
fn list_skips_those_whose_time_is_over() {
    let waiters = Waiters::new(6);
    let mut list = List::new();
    (0..6).for_each(|i| waiters.push(&mut list, i));
    for i in [1, 3, 5] {
        assert!(waiters.waits[i].retract(), "nobody has claimed it");
        assert!(!waiters.waits[i].retract());
    }
    for i in [0, 2, 4] {
        assert_eq!(claim(&mut list), Some(waiters.at(i)));
    }
    assert_eq!(claim(&mut list), None);
    assert!(list.is_empty());
    let states: Vec<_> = waiters.entries.iter().map(|entry| entry.state()).collect();
    assert_eq!(states, [LINKED, SKIPPED, LINKED, SKIPPED, LINKED, SKIPPED]);
    // And the other way round: claimed, it cannot be given up.
    let waiters = Waiters::new(2);
    waiters.push(&mut list, 1);
    assert_eq!(claim(&mut list), Some(waiters.at(1)));
    assert!(!waiters.waits[1].retract());
}

#[test]
fn an_entry_keeps_its_newest_target() {
    struct Flag(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let flag = std::sync::Arc::new(Flag(false.into()));
    let waiters = Waiters::new(1);
    let mut list = List::new();
    waiters.push(&mut list, 0);
    // SAFETY: linked, in a list that the test has for itself; claimed, and woken once.
    unsafe {
        let old = waiters.entries[0].replace_waiter(Waiter::future(&flag.clone().into()));
        assert!(old.is_future());
        old.discard();
        let (_, waiter) = list.claim_first().unwrap();
        waiter.wake();
    }
    assert!(flag.0.load(std::sync::atomic::Ordering::SeqCst));
}

/// A channel whose waiters are entries in boxes.
struct Bench {
    chan: Chan<usize>,
    waiters: Waiters,
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.chan.locked(Caller::get(), |state| state.drain()));
    }
}

impl Bench {
    fn new(limit: usize) -> Bench {
        Bench { chan: Chan::new(limit, WhenFull::Wait), waiters: Waiters::new(8) }
    }
    fn send(&self, mut value: usize) -> &'static str {
        // SAFETY: a number may be copied.
        match unsafe { self.chan.lock(Caller::get()).try_send(&raw mut value) } {
            Sent::Done(None) => "buffered",
            Sent::Done(Some(_)) => "handed over",
            Sent::Dropped => "dropped",
            Sent::Full => "full",
            Sent::Closed => "closed",
        }
    }
    fn recv(&self) -> Result<(usize, bool), &'static str> {
        let mut value = 0;
        // SAFETY: a number may be overwritten.
        match unsafe { self.chan.lock(Caller::get()).try_recv(&mut value) } {
            Received::Done(waiter) => Ok((value, waiter.is_some())),
            Received::Empty => Err("empty"),
            Received::Closed => Err("closed"),
        }
    }
    /// Waiter `i` begins to wait; a sender with the message `i`.
    fn wait(&self, of: Side, i: usize) {
        // SAFETY: in a box, in no list; the slot is its own.
        unsafe {
            self.waiters.entries[i].put(&i);
            self.chan.lock(Caller::get()).wait(of, self.waiters.at(i), self.waiters.waiter(i));
        }
    }
    fn state(&self, i: usize) -> u8 {
        self.waiters.entries[i].state()
    }
    fn got(&self, i: usize) -> usize {
        assert_eq!(self.state(i), DONE);
        // SAFETY: done: a number stands there.
        unsafe { self.waiters.entries[i].take() }
    }
    fn give_up(&self, of: Side, i: usize) -> bool {
        // SAFETY: in a box; in this channel's list, or in none.
        unsafe { self.chan.give_up(Caller::get(), self.waiters.at(i), of).is_some() }
    }
    fn give_back(&self, value: usize) {
        // SAFETY: a number may be copied.
        unsafe { self.chan.give_back(Caller::get(), &value) };
    }
}

#[test]
fn a_send_goes_to_the_first_receiver() {
    for limit in [0, 1, usize::MAX] {
        let b = Bench::new(limit);
        (0..4).for_each(|i| b.wait(Side::Receive, i));
        assert!(b.waiters.waits[1].retract());
        assert_eq!((b.send(10), b.send(12)), ("handed over", "handed over"));
        assert_eq!((b.got(0), b.state(1), b.got(2), b.state(3)), (10, SKIPPED, 12, LINKED));
        assert!(b.give_up(Side::Receive, 3) && !b.give_up(Side::Receive, 3));
        assert_eq!(b.state(3), IDLE);
        assert_eq!(b.send(13), if limit == 0 { "full" } else { "buffered" });
        assert_eq!(b.recv(), if limit == 0 { Err("empty") } else { Ok((13, false)) });
    }
}

#[test]
fn a_receive_lets_the_first_sender_in() {
    for limit in [0, 1, 3] {
        let b = Bench::new(limit);
        (0..limit).for_each(|i| assert_eq!(b.send(100 + i), "buffered"));
        assert_eq!(b.send(0), "full");
        (0..4).for_each(|i| b.wait(Side::Send, i));
        assert!(b.waiters.waits[1].retract());
        let mut got = Vec::new();
        while let Ok((value, woke)) = b.recv() {
            got.push(value);
            // As long as there are two more.
            assert_eq!(woke, got.len() <= 3, "{got:?}");
        }
        let expected: Vec<usize> = (100..100 + limit).chain([0, 2, 3]).collect();
        assert_eq!(got, expected);
        assert_eq!([0, 1, 2, 3].map(|i| b.state(i)), [DONE, SKIPPED, DONE, DONE]);
    }
}

#[test]
fn a_message_given_back() {
    for limit in [0, 1, 2] {
        let b = Bench::new(limit);
        (0..limit).for_each(|i| assert_eq!(b.send(10 + i), "buffered"));
        b.wait(Side::Send, 5);
        // One more than there is room for: the sender waits on.
        b.give_back(9);
        assert_eq!(b.chan.len(), limit + 1);
        assert_eq!(b.send(0), "full");
        assert_eq!(b.recv(), Ok((9, false)));
        assert_eq!(b.state(5), LINKED);
        let rest: Vec<_> = std::iter::from_fn(|| b.recv().ok()).map(|(value, _)| value).collect();
        assert!(rest.into_iter().eq((10..10 + limit).chain([5])));
        b.wait(Side::Receive, 6);
        b.give_back(3);
        assert_eq!((b.got(6), b.chan.len()), (3, 0));
    }
}

#[test]
fn close_ends_all_waits() {
    for limit in [0, 1] {
        let b = Bench::new(limit);
        (0..limit).for_each(|i| assert_eq!(b.send(10 + i), "buffered"));
        (0..4).for_each(|i| b.wait(Side::Send, i));
        // The last one's time is over: claimed, it would be woken, and nobody blocks in this test.
        assert!(b.waiters.waits[1].retract() && b.waiters.waits[3].retract());
        assert!(b.chan.close() && !b.chan.close());
        assert_eq!([0, 1, 2, 3].map(|i| b.state(i)), [CLOSED, SKIPPED, CLOSED, SKIPPED]);
        // SAFETY: the message is as it was.
        assert_eq!(unsafe { b.waiters.entries[2].take() }, 2);
        assert_eq!(b.send(0), "closed");
        (0..limit).for_each(|i| assert_eq!(b.recv(), Ok((10 + i, false))));
        assert_eq!(b.recv(), Err("closed"));
        b.give_back(7);
        assert_eq!((b.recv(), b.recv()), (Ok((7, false)), Err("closed")));
    }
    let b = Bench::new(5);
    b.wait(Side::Receive, 0);
    b.wait(Side::Receive, 2);
    assert!(b.chan.close());
    assert_eq!((b.state(0), b.state(2)), (CLOSED, CLOSED));
}

/// The short way of a send is open only while it is the right one.
#[test]
fn fast_sends_keep_to_the_limit() {
    for limit in [0, 1, 3, 20, usize::MAX] {
        let b = Bench::new(limit);
        let quick = |value| b.chan.lock(Caller::get()).fast_send(ManuallyDrop::new(value)).is_ok();
        assert!(!quick(0), "no memory yet");
        for i in 0..limit.min(40) {
            assert!(quick(i) || b.send(i) == "buffered");
        }
        assert!(limit > 40 || !quick(99));
        for i in 0..limit.min(40) {
            assert_eq!(b.recv(), Ok((i, false)));
        }
        assert_eq!(quick(7), limit > 0);
        b.chan.close();
        assert!(!quick(8));
    }
}
