//! Scopes with so many blocked tasks that they are cancelled a portion at a time.

use crate::common::{Drops, Mode, case, in_both_modes};
use myriad::channel::{Receiver, bounded, unbounded};
use myriad::{Scope, scope, yield_now};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Several portions.
const MANY: usize = 250;

/// Waits until so many have said that they are about to block, and then until they surely have.
fn until_blocked(count: &AtomicUsize, n: usize) {
    while count.load(Acquire) < n {
        yield_now();
    }
    for _ in 0..10 {
        yield_now();
    }
}

/// Blocks for ever.
fn block(blocked: &AtomicUsize, rx: &Receiver<()>) {
    blocked.fetch_add(1, AcqRel);
    _ = rx.recv();
}

/// Does something when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_scope_is_cancelled_while_another_one_is() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (_tx, rx) = unbounded::<()>();
            let (rx, blocked, drops) = (&rx, &AtomicUsize::new(0), &Drops::new());
            scope(|outer| {
                scope(|inner| {
                    // The first to unwind cancels the tasks that have blocked later: those have
                    // been passed over by then.
                    for _ in 0..MANY {
                        let held = drops.one();
                        inner.spawn(move || {
                            let _held = held;
                            let _then = AtEnd(|| outer.cancel());
                            block(blocked, rx);
                        });
                    }
                    until_blocked(blocked, MANY);
                    for _ in 0..MANY {
                        let held = drops.one();
                        outer.spawn(move || {
                            let _held = held;
                            block(blocked, rx);
                        });
                    }
                    until_blocked(blocked, 2 * MANY);
                    inner.cancel();
                });
            });
            drops.assert_all(2 * MANY);
        });
    });
}

#[test]
fn others_end_meanwhile_and_stay() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (_tx, rx) = unbounded::<()>();
            let (rx, blocked, drops) = (&rx, &AtomicUsize::new(0), &Drops::new());
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..2 * MANY).map(|_| bounded::<usize>(1)).unzip();
            let (senders, sum) = (&Mutex::new(senders), &AtomicUsize::new(0));
            scope(|stay| {
                scope(|go| {
                    for (i, receiver) in receivers.into_iter().enumerate() {
                        let stays = drops.one();
                        stay.spawn(move || {
                            let _held = stays;
                            blocked.fetch_add(1, AcqRel);
                            sum.fetch_add(receiver.recv().unwrap(), AcqRel);
                        });
                        // Its neighbours are of the other scope.
                        if i % 2 == 0 {
                            let goes = drops.one();
                            go.spawn(move || {
                                let _held = goes;
                                // The first one lets the others end: wherever the canceller is,
                                // that is where a task ends.
                                let _then = AtEnd(|| {
                                    let senders = std::mem::take(&mut *senders.lock().unwrap());
                                    senders.into_iter().for_each(|tx| tx.send(1).unwrap());
                                });
                                block(blocked, rx);
                            });
                        }
                    }
                    until_blocked(blocked, 3 * MANY);
                    go.cancel();
                });
            });
            assert_eq!(sum.load(Acquire), 2 * MANY, "a task was cancelled that is of another scope");
            drops.assert_all(3 * MANY);
        });
    });
}

#[test]
fn others_have_their_turns() {
    turns_beside(|s, blocks| drop(s.spawn(blocks)));
}

/// The same where each of the many waits in a scope of its own, which it cancels in turn.
#[test]
fn others_have_their_turns_beside_nested_scopes() {
    turns_beside(|s, blocks| drop(s.spawn(move || scope(|inner| drop(inner.spawn(blocks))))));
}

/// `begin` spawns a task of the scope that does this.
fn turns_beside(begin: impl for<'s> Fn(&'s Scope<'s, '_>, &'s (dyn Fn() + Sync)) + Sync) {
    const N: usize = 2000;
    case(
        Mode::Fibers,
        1,
        // (A spare worker, while this one's thread has no processor, would have turns of its own.)
        |b| b.spare_workers(0),
        |rt| {
            rt.run(|| {
                let (_tx, rx) = unbounded::<()>();
                let (rx, blocked, ended) = (&rx, &AtomicUsize::new(0), &AtomicUsize::new(0));
                let seen = &Mutex::new(Vec::new());
                scope(|s| {
                    let other = s.spawn(|| {
                        // It cannot be cancelled.
                        myriad::cancel::shield(|| {
                            while ended.load(Acquire) < N {
                                seen.lock().unwrap().push(ended.load(Acquire));
                                yield_now();
                            }
                        });
                    });
                    let blocks = || {
                        let _then = AtEnd(|| _ = ended.fetch_add(1, AcqRel));
                        block(blocked, rx);
                    };
                    scope(|s| {
                        for _ in 0..N {
                            begin(s, &blocks);
                        }
                        until_blocked(blocked, N);
                        s.cancel();
                    });
                    other.join().unwrap();
                });
                let seen = seen.lock().unwrap();
                assert!(seen.iter().any(|&ended| (1..N / 4).contains(&ended)), "all were unwound at one stroke");
            });
        },
    );
}
