//! A crate sets a thread-local for the time of a closure, and puts the old value back afterwards:
//! in stack order, it believes. Two tasks that wait inside such closures on one thread, and end in
//! the other order, leave a pointer to a frame that is gone.

use crate::common::{Mode, assert_ok, case, in_child, stderr};
use myriad::channel::{bounded, rendezvous};
use myriad::spawn;

scoped_tls::scoped_thread_local!(static WORD: String);

/// Two tasks, `a` and `b`: set, wait, unset; `a` begins first and ends first. Returns whether
/// something is set afterwards, on the thread on which they ran if it is one.
fn two_scopes(rt: &myriad::Runtime) -> Vec<bool> {
    rt.run(|| {
        let (a_tx, a_rx) = rendezvous::<()>();
        let (b_tx, b_rx) = rendezvous::<()>();
        let (inside_tx, inside_rx) = bounded(2);
        let task = |go: myriad::channel::Receiver<()>, inside: myriad::channel::Sender<()>| {
            spawn(move || {
                let s = String::from("of this task");
                WORD.set(&s, || {
                    inside.send(()).unwrap();
                    go.recv().unwrap();
                });
                WORD.is_set()
            })
        };
        let a = task(a_rx, inside_tx.clone());
        inside_rx.recv().unwrap();
        let b = task(b_rx, inside_tx);
        inside_rx.recv().unwrap();
        a_tx.send(()).unwrap();
        let a = a.join().unwrap();
        b_tx.send(()).unwrap();
        vec![a, b.join().unwrap(), spawn(|| WORD.is_set()).join().unwrap()]
    })
}

/// Each task has a thread for itself.
#[test]
fn threads_mode_keeps_scopes_apart() {
    for workers in [1, 2, 4] {
        case(Mode::Threads, workers, |b| b, |rt| assert_eq!(two_scopes(rt), [false; 3]));
    }
}

/// The hole: after both have ended, the thread-local is still set, to `a`'s string, which is gone.
/// Reading it would be undefined behaviour, so this asks only whether something is there. In a
/// process of its own, for that thread is spoilt.
#[test]
fn fiber_mode_needs_the_contract() {
    let output = in_child(&[], || {
        if !crate::common::fibers_supported() {
            return eprintln!("still set: true");
        }
        let rt = Mode::Fibers.runtime(1);
        let set = two_scopes(&rt);
        eprintln!("still set: {}", set[2]);
    });
    assert_ok(&output);
    let said = stderr(&output);
    assert!(said.contains("still set: true"), "the hole is closed? Then say so in docs/SOUNDNESS.md. {said}");
}

/// What the contract allows: the scope ends before the task waits.
#[test]
fn scopes_without_a_wait_inside() {
    crate::common::in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..100)
                .map(|i| {
                    spawn(move || {
                        for k in 0..10 {
                            let s = format!("{i} {k}");
                            let read = WORD.set(&s, || WORD.with(String::clone));
                            assert_eq!(read, s);
                            myriad::yield_now();
                            assert!(!WORD.is_set());
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}
