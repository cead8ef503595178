use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A number that counts when it is dropped.
struct Number(usize, Arc<AtomicUsize>);

impl Drop for Number {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

type Read = unsafe fn(*mut Word) -> usize;

unsafe fn read_small(at: *mut Word) -> usize {
    // SAFETY: payloads of this kind are numbers, each of which is read once.
    unsafe { at.cast::<Number>().read() }.0
}

unsafe fn read_large(at: *mut Word) -> usize {
    // SAFETY: payloads of this kind are such pairs, each of which is read once.
    unsafe { at.cast::<(Number, [usize; 17])>().read() }.1[16]
}

static SMALL: Kind<Read> = Kind::of::<Number>(read_small);
static LARGE: Kind<Read> = Kind::of::<(Number, [usize; 17])>(read_large);

fn push(queue: &mut Queue<Read>, n: usize, drops: &Arc<AtomicUsize>) {
    let number = Number(n, drops.clone());
    // SAFETY: each is of its kind.
    unsafe {
        match n % 3 {
            0 => queue.push(&LARGE, (number, [n; 17])),
            _ => queue.push(&SMALL, number),
        }
    }
}

/// Takes out the oldest one, and reads it.
fn pop(queue: &mut Queue<Read>) -> Option<usize> {
    // SAFETY: what has been taken out is read once.
    queue.pop().map(|taken| unsafe { (taken.kind.call)(taken.payload) })
}

#[test]
fn what_goes_in_comes_out_in_order_over_many_blocks() {
    let (mut queue, drops) = (Queue::new(), Arc::new(AtomicUsize::new(0)));
    for some in [1, 10, 1_000] {
        (0..some).for_each(|n| push(&mut queue, n, &drops));
        assert_eq!((queue.len(), queue.first().is_some()), (some, true));
        // As many are in it all the time.
        for n in some..10 * some {
            push(&mut queue, n, &drops);
            assert_eq!(pop(&mut queue), Some(n - some));
        }
        (9 * some..10 * some).for_each(|n| assert_eq!(pop(&mut queue), Some(n)));
        assert_eq!((pop(&mut queue), queue.len(), drops.swap(0, SeqCst)), (None, 0, 10 * some));
    }
}

#[test]
fn what_was_taken_out_stays_while_others_come() {
    let (mut queue, drops) = (Queue::new(), Arc::new(AtomicUsize::new(0)));
    (0..20).for_each(|n| push(&mut queue, n, &drops));
    for n in 0..20 {
        let taken = queue.pop().unwrap();
        (0..100).for_each(|n| push(&mut queue, n, &drops));
        // SAFETY: it was taken out last, and is read once.
        assert_eq!(unsafe { (taken.kind.call)(taken.payload) }, n);
    }
    while pop(&mut queue).is_some() {}
    assert_eq!(drops.load(SeqCst), 20 + 20 * 100);
}

#[test]
fn entries_move_to_another_queue_or_are_dropped() {
    let (mut from, mut to, drops) = (Queue::new(), Queue::new(), Arc::new(AtomicUsize::new(0)));
    (0..100).for_each(|n| push(&mut from, n, &drops));
    while let Some(taken) = from.pop() {
        // SAFETY: it was taken out last, and is not used afterwards.
        unsafe { to.put(taken) };
    }
    (0..50).for_each(|n| assert_eq!(pop(&mut to), Some(n)));
    while let Some(taken) = to.pop() {
        // SAFETY: it was taken out last, and is dropped once.
        unsafe { taken.drop() };
    }
    assert_eq!(drops.load(SeqCst), 100);
}

#[test]
fn what_does_not_fit_is_known() {
    assert!(fits::<()>() && fits::<u8>() && fits::<[usize; MOST_WORDS]>());
    assert!(!fits::<u128>() && !fits::<[usize; MOST_WORDS + 1]>());
    // (A payload without a size, which is a kind alone.)
    static NOTHING: Kind<()> = Kind::of::<()>(());
    let mut queue = Queue::new();
    // SAFETY: it is of that kind.
    (0..300).for_each(|_| unsafe { queue.push(&NOTHING, ()) });
    let mut count = 0;
    while queue.pop().is_some() {
        count += 1;
    }
    assert_eq!(count, 300);
}
