//! Destructors of messages and of values that this library keeps: they panic, wait, and use what
//! they come from.

use crate::common::{Counted, Drops, catch_planned, each_with, in_both_modes, plan, wait_until};
use myriad::channel::{self, Receiver, Sender};
use myriad::sync::{Map, OnceLock, Pool};
use myriad::{Runtime, Unhandled, spawn, time, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

type Does = Box<dyn FnOnce() + Send + Sync>;

/// A value that is counted, and whose destructor does something.
struct Value {
    does: Option<Does>,
    _counted: Counted,
}

impl Value {
    fn new(drops: &Drops, does: Option<Does>) -> Value {
        Value { does, _counted: drops.one() }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(does) = self.does.take() {
            does();
        }
    }
}

/// Something that keeps values: puts so many in, of which the second does something, and throws
/// them out, one way or another.
type Keeper = fn(&mut dyn FnMut() -> Value) -> Box<dyn FnOnce()>;

const VALUES: usize = 8;

fn channel_dropped(value: &mut dyn FnMut() -> Value, (tx, rx): (Sender<Value>, Receiver<Value>)) -> Box<dyn FnOnce()> {
    (0..VALUES).for_each(|_| assert!(tx.send(value()).is_ok()));
    Box::new(move || {
        drop(rx);
        assert!(tx.is_closed());
    })
}

const KEEPERS: &[(&str, Keeper)] = &[
    ("a channel whose receiver goes first", |value| channel_dropped(value, channel::unbounded())),
    ("a channel whose sender goes first", |value| {
        let (tx, rx) = channel::bounded(VALUES);
        (0..VALUES).for_each(|_| assert!(tx.send(value()).is_ok()));
        drop(tx);
        Box::new(|| drop(rx))
    }),
    ("a stream", |value| {
        let (tx, rx) = channel::bounded(VALUES);
        (0..VALUES).for_each(|_| assert!(tx.send(value()).is_ok()));
        Box::new(|| drop(rx.into_stream()))
    }),
    ("a broadcast", |value| {
        let (tx, rx) = channel::broadcast(VALUES);
        (0..VALUES).for_each(|_| assert!(tx.send(value()).is_ok()));
        drop(tx);
        Box::new(|| drop(rx))
    }),
    ("a pool that is cleared", |value| {
        let pool = Pool::new(|| panic!("nobody asks"));
        // Some are in the shards of other threads.
        let pool = Arc::new(pool);
        for _ in 0..VALUES {
            let (value, pool) = (value(), pool.clone());
            std::thread::spawn(move || pool.put(value)).join().unwrap();
        }
        Box::new(move || {
            struct Check(Arc<Pool<Value>>);
            impl Drop for Check {
                fn drop(&mut self) {
                    assert_eq!(self.0.try_get().is_none() as usize + self.0.len(), 1);
                }
            }
            let check = Check(pool);
            check.0.clear();
        })
    }),
    ("a pool", |value| {
        let pool = Pool::new(|| panic!("nobody asks"));
        (0..VALUES).for_each(|_| pool.put(value()));
        Box::new(|| drop(pool))
    }),
    ("a map that is cleared", |value| {
        let map = Map::new();
        (0..VALUES).for_each(|i| assert!(map.insert(i, value()).is_none()));
        Box::new(move || {
            struct Check(Map<usize, Value>);
            impl Drop for Check {
                fn drop(&mut self) {
                    assert!(self.0.is_empty());
                }
            }
            let check = Check(map);
            check.0.clear();
        })
    }),
    ("a map", |value| {
        let map = Map::new();
        (0..VALUES).for_each(|i| assert!(map.insert(i, value()).is_none()));
        Box::new(|| drop(map))
    }),
    ("a map's values that are replaced", |value| {
        let map = Map::new();
        (0..VALUES - 1).for_each(|i| assert!(map.insert(i, value()).is_none()));
        let last = value();
        Box::new(move || {
            assert!(map.insert(1, last).is_some());
            assert_eq!(map.len(), VALUES - 1);
        })
    }),
    ("a watch", |value| {
        let (tx, rx) = channel::watch(value());
        let mut next: Vec<_> = (1..VALUES).map(|_| value()).collect();
        next.reverse();
        Box::new(move || {
            struct Rest(Vec<Value>, channel::WatchSender<Value>, channel::WatchReceiver<Value>);
            impl Drop for Rest {
                fn drop(&mut self) {
                    while let Some(value) = self.0.pop() {
                        assert!(self.1.send(value).is_ok() && self.2.has_changed());
                    }
                }
            }
            let mut rest = Rest(next, tx, rx);
            while let Some(value) = rest.0.pop() {
                assert!(rest.1.send(value).is_ok());
            }
        })
    }),
    ("promises", |value| {
        let promises: Vec<_> = (0..VALUES)
            .map(|_| {
                let (tx, rx) = channel::promise();
                assert!(tx.send(value()).is_ok());
                rx
            })
            .collect();
        Box::new(|| drop(promises))
    }),
    ("cells that are written once", |value| {
        let cells: Vec<_> = (0..VALUES).map(|_| OnceLock::from(value())).collect();
        Box::new(|| drop(cells))
    }),
    ("a channel that drops its oldest", |value| {
        let (tx, rx) = channel::bounded_drop_oldest(1);
        let values: Vec<_> = (0..VALUES).map(|_| value()).collect();
        Box::new(move || {
            let rx = rx;
            values.into_iter().for_each(|value| assert!(tx.send(value).is_ok()));
            assert_eq!(rx.len(), 1);
        })
    }),
    ("a channel that drops its newest", |value| {
        let (tx, rx) = channel::bounded_drop_newest(1);
        let values: Vec<_> = (0..VALUES).map(|_| value()).collect();
        Box::new(move || {
            values.into_iter().for_each(|value| assert!(tx.send(value).is_ok()));
            assert_eq!(rx.len(), 1);
        })
    }),
];

/// In both modes; what panics without anybody to hear it is not printed.
fn in_silence(body: impl Fn(&Runtime)) {
    each_with(&[1, 2, 4], |builder| builder.on_unhandled_panic(Unhandled::Ignore), |_, rt| body(rt));
}

/// For each keeper, with a second value that does this. Whatever comes of it, all values are
/// dropped, each once.
fn each_keeper(rt: &Runtime, does: fn() -> Does, check: fn(&str, Box<dyn FnOnce()>)) {
    rt.run(|| {
        for &(name, keeper) in KEEPERS {
            let (drops, mut number) = (Drops::new(), 0);
            let go = keeper(&mut || {
                number += 1;
                Value::new(&drops, (number == 2).then(does))
            });
            check(name, go);
            assert_eq!((name, drops.made(), drops.dropped()), (name, VALUES, VALUES));
        }
    });
}

#[test]
fn one_panics() {
    in_both_modes(|rt| {
        each_keeper(rt, || Box::new(|| plan("a value")), |_, go| catch_planned("a value", go));
    });
}

#[test]
fn one_waits() {
    fn waits() {
        yield_now();
        time::sleep(Duration::from_millis(1));
        spawn(yield_now).join().unwrap();
    }
    in_both_modes(|rt| each_keeper(rt, || Box::new(waits), |_, go| go()));
}

/// A message that has the other end, and sends into the channel that it was in.
#[test]
fn a_message_with_the_other_end() {
    struct Message(Option<Sender<Message>>, Arc<AtomicUsize>);
    impl Drop for Message {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
            if let Some(tx) = self.0.take() {
                assert!(tx.is_closed() && tx.is_empty());
                assert!(tx.send(Message(None, self.1.clone())).is_err());
            }
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (tx, rx) = channel::unbounded();
            for _ in 0..3 {
                assert!(tx.send(Message(Some(tx.clone()), dropped.clone())).is_ok());
            }
            drop(tx);
            drop(rx);
            assert_eq!(dropped.load(SeqCst), 6);
        });
    });
}

/// A closure that looks panics, and so does the destructor of the message, which was pushed out
/// meanwhile.
#[test]
fn a_look_and_its_message_panic() {
    in_silence(|rt| {
        rt.run(|| {
            let (drops, (tx, rx)) = (Drops::new(), channel::bounded_drop_oldest(1));
            assert!(tx.send(Value::new(&drops, Some(Box::new(|| plan("a message"))))).is_ok());
            catch_planned("a look", || {
                rx.peek_with(|_| {
                    assert!(tx.send(Value::new(&drops, None)).is_ok());
                    plan("a look");
                })
            });
            assert_eq!((rx.len(), drops.dropped()), (1, 1));
            drop(rx.recv());
            drops.assert_all(2);
        });
    });
}

/// The last receiving end is that of a callback: what is buffered goes with it, and the callback is
/// called all the same.
#[test]
fn the_rest_of_a_channel_panics_before_a_callback() {
    in_silence(|rt| {
        rt.run(|| {
            let (drops, called) = (Drops::new(), Arc::new(AtomicUsize::new(0)));
            let (tx, rx) = channel::unbounded();
            let mark = called.clone();
            rx.recv_then(move |value| mark.store(1 + usize::from(value.is_ok()), SeqCst));
            drop(rx);
            assert!(tx.send(Value::new(&drops, None)).is_ok());
            if let Err(late) = tx.send(Value::new(&drops, Some(Box::new(|| plan("a message"))))) {
                // (The callback has come before it, with the end of the channel.)
                catch_planned("a message", || drop(late));
            }
            wait_until(|| called.load(SeqCst) == 2);
            drop(tx);
            drops.wait_all(2);
        });
    });
}

/// An object goes back to its pool because of a panic, and what the pool does with it panics too.
#[test]
fn a_pool_panics_in_a_panic() {
    in_silence(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let theirs = drops.clone();
            let pool = Pool::new(move || theirs.one()).on_return(|_| plan("a return"));
            catch_planned("a user", || {
                let _object = pool.get();
                plan("a user");
            });
            drops.assert_all(1);
            catch_planned("a return", || drop(pool.get()));
            drops.assert_all(2);
        });
    });
}
