//! Messages of all sorts: of no size, large, over-aligned, with destructors that panic; what a
//! channel says of itself.

use crate::channel_common::*;
use myriad::channel::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Through every kind of channel, between every pair of partners; `check` looks at each message.
fn through_all<T: Send + 'static>(make: impl Fn(usize) -> T + Copy + Send + 'static, check: impl Fn(usize, &T)) {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for sender in KINDS {
                for receiver in KINDS {
                    let (tx, rx) = channel(capacity);
                    let receiving = receive_all(rt, receiver, rx);
                    send_all(rt, sender, tx, (0..20).map(make)).join();
                    let all = receiving.join();
                    assert_eq!(all.len(), 20);
                    all.iter().enumerate().for_each(|(i, message)| check(i, message));
                }
            }
        }
    });
}

#[test]
fn of_no_size() {
    through_all(|_| (), |_, ()| ());
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let (tx, rx) = unbounded();
    for _ in 0..1000 {
        assert!(tx.send(Nothing).is_ok());
    }
    assert_eq!(rx.try_iter().take(300).count(), 300);
    assert_eq!(DROPPED.load(SeqCst), 300);
    assert_eq!(tx.len(), 700);
    drop((tx, rx));
    assert_eq!(DROPPED.load(SeqCst), 1000);
}

#[test]
fn large() {
    through_all(|i| [i as u8; 256], |i, message| assert!(message.iter().all(|&byte| byte == i as u8)));
    // The copies of a message must leave room on a stack of 64 KiB; unoptimised there are some
    // fifteen.
    const LARGE: usize = if cfg!(debug_assertions) { 2048 } else { 4096 };
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let (tx, rx) = channel::<[u8; LARGE]>(capacity);
            let sender = rt.spawn(move || {
                for i in 0..20 {
                    assert!(tx.send([i; LARGE]).is_ok());
                    let limit = Duration::from_secs(100);
                    assert!(tx.send_timeout([i; LARGE], limit).is_ok());
                }
            });
            let receiver = rt.spawn(move || {
                for i in 0..20 {
                    assert!(rx.recv().is_ok_and(|message| message[LARGE - 1] == i));
                    let limit = Duration::from_secs(100);
                    assert!(rx.recv_timeout(limit).is_ok_and(|message| message[LARGE - 1] == i));
                }
            });
            sender.join().unwrap();
            receiver.join().unwrap();
        }
    });
}

#[test]
fn over_aligned() {
    #[derive(Debug)]
    #[repr(align(128))]
    struct Aligned(usize, [u8; 100]);
    through_all(
        |i| Aligned(i, [i as u8; 100]),
        |i, message| {
            assert_eq!((message.0, message.1), (i, [i as u8; 100]));
            assert_eq!(std::ptr::from_ref(message).addr() % 128, 0);
        },
    );
    #[repr(align(256))]
    struct Nothing;
    through_all(|_| Nothing, |_, message| assert_eq!(std::ptr::from_ref(message).addr() % 256, 0));
}

#[test]
fn boxed_and_borrowed() {
    through_all(|i| vec![i.to_string(); i], |i, message| assert_eq!(*message, vec![i.to_string(); i]));
    let text = String::from("one two three");
    let (tx, rx) = bounded(2);
    std::thread::scope(|scope| {
        scope.spawn(|| text.split(' ').for_each(|word| tx.send(word).unwrap()));
        assert_eq!(rx.iter().take(3).collect::<Vec<_>>(), ["one", "two", "three"]);
    });
}

/// A channel of channels.
#[test]
fn ends_as_messages() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous::<(u32, Sender<u32>)>();
        let server = rt.spawn(move || {
            for (n, answer) in rx {
                answer.send(2 * n).unwrap();
            }
        });
        for n in 0..50 {
            let (answer_to, answer) = rendezvous();
            tx.send((n, answer_to)).unwrap();
            assert_eq!(answer.recv(), Ok(2 * n));
            assert_eq!(answer.recv(), Err(RecvError));
        }
        drop(tx);
        server.join().unwrap();
    });
}

#[derive(Debug)]
struct Bomb(Counted, bool);
impl Drop for Bomb {
    fn drop(&mut self) {
        if self.1 {
            panic!("bomb {}", self.0.id);
        }
    }
}

/// One of the messages that are left panics in its destructor: the others are dropped all the same,
/// and nothing leaks.
#[test]
fn a_destructor_that_panics_when_the_channel_goes() {
    for last in [true, false] {
        for bomb in 0..5 {
            let count = Arc::new(Count::default());
            let (tx, rx) = unbounded();
            for id in 0..5 {
                tx.send(Bomb(Counted::new(id, &count), id == bomb)).unwrap();
            }
            let ends: (Option<Sender<_>>, Option<Receiver<_>>) = match last {
                // The receiver goes last, or first.
                true => {
                    drop(tx);
                    (None, Some(rx))
                }
                false => (Some(tx), Some(rx)),
            };
            let (tx, rx) = ends;
            assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
            assert_eq!(count.alive(), 0);
            drop(tx);
        }
    }
}

/// Several panic: the first panic comes out, and can be caught, and the others are dropped all the
/// same. So also where a panic unwinds already.
#[test]
fn destructors_that_all_panic() {
    let all = || {
        for (sender_last, unwinds) in [(false, false), (true, false), (false, true), (true, true)] {
            let count = Arc::new(Count::default());
            let (tx, rx) = bounded(3);
            (0..3).for_each(|id| tx.send(Bomb(Counted::new(id, &count), true)).unwrap());
            let mut tx = Some(tx);
            if !sender_last {
                drop(tx.take());
            }
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _rx = rx;
                if unwinds {
                    crate::common::plan("first");
                }
            }));
            let text = crate::common::text(&*caught.unwrap_err()).to_owned();
            assert_eq!(text, if unwinds { format!("{}first", crate::common::PLANNED) } else { "bomb 0".into() });
            assert_eq!(count.alive(), 0);
            drop(tx);
        }
    };
    crate::common::quiet();
    all();
    each_runtime(|rt| rt.run(all));
}

/// The same of a message that comes back, or that a future still has.
#[test]
fn a_destructor_that_panics_elsewhere() {
    let count = Arc::new(Count::default());
    let (tx, rx) = rendezvous();
    let sending = Box::pin(tx.send_async(Bomb(Counted::new(1, &count), true)));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(sending))).is_err());
    let mut sending = Box::pin(tx.send_async(Bomb(Counted::new(2, &count), true)));
    assert!(poll_once(sending.as_mut()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(sending))).is_err());
    assert_eq!(count.alive(), 0);
    let failed = tx.send_timeout(Bomb(Counted::new(3, &count), true), Duration::ZERO);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(failed))).is_err());
    assert_eq!(count.alive(), 0);
    // The channel is as it was.
    let mut sending = Box::pin(tx.send_async(Bomb(Counted::new(4, &count), false)));
    assert!(poll_once(sending.as_mut()).is_pending());
    assert_eq!(rx.recv().unwrap().0.id, 4);
    assert!(poll_once(sending.as_mut()).is_ready());
}

/// A huge capacity takes no memory, and is a limit like any other; `usize::MAX` is none.
#[test]
fn huge_capacities() {
    let (tx, rx) = bounded::<[u8; 1024]>(usize::MAX - 1);
    assert_eq!(tx.capacity(), Some(usize::MAX - 1));
    tx.send([1; 1024]).unwrap();
    assert!(!tx.is_full());
    assert_eq!(rx.recv().unwrap()[1023], 1);
    let (tx, rx) = bounded::<u8>(usize::MAX);
    assert_eq!((tx.capacity(), rx.capacity()), (None, None));
    let (tx2, _rx2) = unbounded::<u8>();
    assert_eq!(tx2.capacity(), None);
    for i in 0..1000 {
        tx.send(i as u8).unwrap();
    }
    assert!(!tx.is_full() && tx.len() == 1000);
    assert!(rx.try_iter().eq((0..1000).map(|i| i as u8)));
}

#[test]
fn what_it_says_of_itself() {
    let (tx, rx) = bounded(3);
    assert!(tx.is_empty() && rx.is_empty() && !tx.is_full() && !tx.is_closed());
    for n in 1..=3 {
        tx.send(n).unwrap();
        assert_eq!((tx.len(), rx.len()), (n, n));
    }
    assert!(tx.is_full() && !rx.is_empty());
    assert_eq!((tx.capacity(), rx.capacity()), (Some(3), Some(3)));
    assert_eq!(format!("{tx:?}"), "Sender { len: 3, capacity: Some(3), .. }");
    assert_eq!(format!("{rx:?}"), "Receiver { len: 3, capacity: Some(3), .. }");
    let (tx2, rx2) = (tx.clone(), rx.clone());
    assert!(tx2.same_channel(&tx) && rx2.same_channel(&rx));
    let (other_tx, other_rx) = bounded::<usize>(3);
    assert!(!other_tx.same_channel(&tx) && !other_rx.same_channel(&rx));
    let (sender, receiver) = rendezvous::<u8>();
    assert!(sender.is_full() && sender.is_empty());
    assert_eq!(receiver.capacity(), Some(0));
    assert!(!format!("{:?} {:?} {:?}", receiver.iter(), receiver.try_iter(), receiver.recv_async()).is_empty());
}

/// What may go to, or be used from, another thread; what must be allowed of it without anything of
/// `T`.
#[test]
fn send_and_sync() {
    fn send_sync<T: Send + Sync>() {}
    fn unpin<T: Unpin>() {}
    // Send, and not Sync.
    type Message = std::cell::Cell<u8>;
    send_sync::<Sender<Message>>();
    send_sync::<Receiver<Message>>();
    send_sync::<SendFuture<'_, Message>>();
    send_sync::<RecvFuture<'_, Message>>();
    send_sync::<Iter<'_, Message>>();
    send_sync::<TryIter<'_, Message>>();
    send_sync::<IntoIter<Message>>();
    send_sync::<RecvError>();
    send_sync::<SendError<u8>>();
    // Not Send: usable on one thread.
    type Local = std::rc::Rc<std::marker::PhantomPinned>;
    unpin::<Sender<Local>>();
    let (tx, rx) = unbounded();
    tx.send(std::rc::Rc::new(5)).unwrap();
    assert_eq!(*rx.recv().unwrap(), 5);
}

/// Ten thousand receivers at one rendezvous: in line, and each gets one.
#[test]
fn ten_thousand_receivers() {
    const ALL: usize = 10_000;
    // Fibers and futures; ten thousand threads are too many for a test.
    let Some(mode) = modes().find(|mode| *mode == Mode::Fibers) else { return };
    let rt = mode.builder().workers(2).pin_workers(false).build().unwrap();
    let (tx, rx) = rendezvous::<usize>();
    for kind in [Kind::Closure, Kind::Future] {
        let begun = Arc::new(AtomicUsize::new(0));
        let receiving: Vec<_> = rt.run(|| {
            let spawn = |_| {
                let (rx, begun) = (rx.clone(), begun.clone());
                match kind {
                    Kind::Closure => myriad::spawn(move || {
                        begun.fetch_add(1, SeqCst);
                        rx.recv().unwrap()
                    }),
                    _ => myriad::spawn_async(async move {
                        begun.fetch_add(1, SeqCst);
                        rx.recv_async().await.unwrap()
                    }),
                }
            };
            (0..ALL).map(spawn).collect()
        });
        wait_until(|| begun.load(SeqCst) == ALL);
        let tx = tx.clone();
        rt.spawn(move || (0..ALL).for_each(|i| tx.send(i).unwrap())).join().unwrap();
        let mut all: Vec<usize> = receiving.into_iter().map(|task| task.join().unwrap()).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..ALL));
    }
    // And all at once, by a close.
    let begun = Arc::new(AtomicUsize::new(0));
    let (rx2, begun2) = (rx.clone(), begun.clone());
    let closed: Vec<_> = rt.run(|| {
        let spawn = |_| {
            let (rx, begun) = (rx2.clone(), begun2.clone());
            myriad::spawn(move || {
                begun.fetch_add(1, SeqCst);
                rx.recv()
            })
        };
        (0..ALL).map(spawn).collect()
    });
    wait_until(|| begun.load(SeqCst) == ALL);
    assert!(tx.close());
    assert!(closed.into_iter().all(|task| task.join().unwrap() == Err(RecvError)));
    assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
}
