//! Scoped values: bound for the time of a call, inherited by all that is spawned in it.

use crate::common::{Drops, catch_planned, each, full_length, in_both_modes, plan, watch};
use myriad::channel::{bounded, rendezvous};
use myriad::task::ScopedValue;
use myriad::{block_on, join, scope, spawn, spawn_async, yield_now};
use std::sync::Arc;

static LEVEL: ScopedValue<u32> = ScopedValue::new(1);
static USER: ScopedValue<Option<Arc<str>>> = ScopedValue::new(None);

fn user() -> String {
    USER.with(|user| user.as_deref().unwrap_or("nobody").to_owned())
}

fn as_user<R>(name: &str, f: impl FnOnce() -> R) -> R {
    USER.with_value(Some(name.into()), f)
}

#[test]
fn inner_ones_hide_outer_ones() {
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!(LEVEL.get(), 1);
            let result = LEVEL.with_value(2, || {
                assert_eq!((LEVEL.get(), user()), (2, "nobody".into()));
                as_user("ann", || {
                    LEVEL.with_value(3, || assert_eq!((LEVEL.get(), user()), (3, "ann".into())));
                    yield_now();
                    assert_eq!((LEVEL.get(), user()), (2, "ann".into()));
                });
                assert_eq!(user(), "nobody");
                "result"
            });
            assert_eq!((result, LEVEL.get()), ("result", 1));
        });
    });
}

#[test]
fn restored_after_a_panic() {
    in_both_modes(|rt| {
        rt.run(|| {
            LEVEL.with_value(2, || {
                catch_planned("inside", || LEVEL.with_value(3, || as_user("ann", || plan("inside"))));
                assert_eq!((LEVEL.get(), user()), (2, "nobody".into()));
                // On the second side of a `join`, called and stolen.
                catch_planned("side", || join(|| (), || LEVEL.with_value(4, || plan("side"))));
                catch_planned("side", || join(yield_now, || LEVEL.with_value(4, || plan("side"))));
                assert_eq!(LEVEL.get(), 2);
            });
            catch_planned("side", || join(|| (), || LEVEL.with_value(4, || plan("side"))));
            assert_eq!(LEVEL.get(), 1);
        });
    });
}

/// What a task sees whose closure has so many bytes.
#[inline(never)]
fn of_size<const N: usize>() -> (u32, String) {
    let bytes = [7_u8; N];
    let task = spawn(move || (std::hint::black_box(&bytes).len(), LEVEL.get(), user()));
    let (n, level, user) = task.join().unwrap();
    assert_eq!(n, N);
    (level, user)
}

/// What each kind of child sees.
fn children() -> Vec<(u32, String)> {
    let see = || (LEVEL.get(), user());
    let mut all = Vec::new();
    // On top of the joiner, and by the loop or a thief.
    all.push(spawn(see).join().unwrap());
    let task = spawn(see);
    yield_now();
    all.push(task.join().unwrap());
    // Large: in a box. Of the size of a record, which then has no room for more.
    all.extend([of_size::<600>(), of_size::<{ 512 - 40 - 8 }>(), of_size::<{ 512 - 40 - 16 }>(), of_size::<24>()]);
    all.push(myriad::task::Builder::new().name("named").spawn(see).join().unwrap());
    all.push(spawn_async(async move { see() }).join().unwrap());
    all.push(
        spawn_async(async move {
            myriad::time::sleep_async(std::time::Duration::from_micros(1)).await;
            see()
        })
        .join()
        .unwrap(),
    );
    scope(|s| {
        all.push(s.spawn(see).join().unwrap());
        let task = s.spawn(move || join(see, see));
        let (a, b) = task.join().unwrap();
        all.extend([a, b]);
    });
    let (a, b) = join(see, see);
    all.extend([a, b]);
    // Stolen, or on another stack: the first side waits for the second.
    let (tx, rx) = rendezvous();
    let (a, b) = join(|| rx.recv().unwrap(), || tx.send(see()).map(|()| see()).unwrap());
    all.extend([a, b]);
    // A child of a child.
    all.push(spawn(move || spawn(move || spawn(see).join().unwrap()).join().unwrap()).join().unwrap());
    all.push(block_on(async move { see() }));
    all.push(myriad::blocking(see));
    all.push(block_on(myriad::blocking_async(see)));
    all
}

#[test]
fn children_inherit() {
    in_both_modes(|rt| {
        rt.run(|| {
            let nothing = (1, "nobody".to_owned());
            assert!(children().iter().all(|seen| *seen == nothing));
            let all = LEVEL.with_value(5, || as_user("ann", children));
            assert_eq!(all.len(), 20);
            assert!(all.iter().all(|seen| *seen == (5, "ann".to_owned())), "{all:?}");
            assert!(children().iter().all(|seen| *seen == nothing));
        });
    });
}

#[test]
fn foreign_threads_bind_too() {
    in_both_modes(|rt| {
        LEVEL.with_value(6, || {
            as_user("bob", || {
                assert_eq!((LEVEL.get(), user()), (6, "bob".into()));
                let seen = rt.run(children);
                assert!(seen.iter().all(|seen| *seen == (6, "bob".to_owned())), "{seen:?}");
                assert_eq!(rt.spawn(user).join().unwrap(), "bob");
                assert_eq!(rt.handle().spawn(user).join().unwrap(), "bob");
            });
        });
        assert_eq!(rt.spawn(user).join().unwrap(), "nobody");
    });
    let _watch = watch("the global runtime");
    LEVEL.with_value(7, || {
        assert!(children().iter().all(|seen| seen.0 == 7));
        // Into another runtime from a task.
        let other = myriad::Builder::new().workers(1).build().unwrap();
        let seen = spawn(move || LEVEL.with_value(8, || other.spawn(|| LEVEL.get()).join().unwrap()));
        assert_eq!(seen.join().unwrap(), 8);
    });
}

#[test]
fn children_see_it_as_it_was_when_they_were_spawned() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous::<()>();
            let tasks: Vec<_> = (0..50)
                .map(|i| {
                    let (rx, again) = (rx.clone(), rx.clone());
                    LEVEL.with_value(i, || {
                        let closure = spawn(move || {
                            rx.recv().unwrap_err();
                            LEVEL.get()
                        });
                        let future = spawn_async(async move {
                            again.recv_async().await.unwrap_err();
                            LEVEL.get()
                        });
                        [closure, future]
                    })
                })
                .collect();
            // The calls that bound them are over; other bindings are in force.
            LEVEL.with_value(1000, || {
                drop(tx);
                for (i, two) in tasks.into_iter().enumerate() {
                    two.into_iter().for_each(|task| assert_eq!(task.join().unwrap(), i as u32));
                }
            });
        });
    });
}

#[test]
fn a_child_binds_for_itself() {
    in_both_modes(|rt| {
        rt.run(|| {
            LEVEL.with_value(2, || {
                let (tx, rx) = bounded(1);
                let child = spawn(move || LEVEL.with_value(3, || (rx.recv().unwrap(), LEVEL.get())));
                yield_now();
                assert_eq!(LEVEL.get(), 2);
                tx.send(()).unwrap();
                assert_eq!((child.join().unwrap(), LEVEL.get()), (((), 3), 2));
            });
        });
    });
}

#[test]
fn futures_are_bound_in_each_poll() {
    in_both_modes(|rt| {
        rt.run(|| {
            async fn look(n: u32) {
                for _ in 0..n {
                    assert_eq!(LEVEL.get(), 4);
                    // Pending, and woken at once.
                    let mut first = true;
                    std::future::poll_fn(|cx| {
                        cx.waker().wake_by_ref();
                        if std::mem::take(&mut first) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
                    })
                    .await;
                    assert_eq!(LEVEL.get(), 4);
                }
            }
            let bound = LEVEL.with_value_async(4, look(10));
            // Within other bindings than those where it was made.
            LEVEL.with_value(9, || block_on(bound));
            let tasks: Vec<_> = (0..20).map(|_| spawn_async(LEVEL.with_value_async(4, look(20)))).collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            // A poll that panics.
            catch_planned("poll", || block_on(LEVEL.with_value_async(4, async { plan("poll") })));
            assert_eq!(LEVEL.get(), 1);
        });
    });
}

#[test]
fn values_are_dropped_when_nobody_sees_them() {
    static HELD: ScopedValue<Option<Arc<crate::common::Counted>>> = ScopedValue::new(None);
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            HELD.with_value(Some(Arc::new(drops.one())), || assert_eq!(drops.dropped(), 0));
            drops.assert_all(1);
            let (tx, rx) = rendezvous::<()>();
            let child = HELD.with_value(Some(Arc::new(drops.one())), || spawn(move || rx.recv()));
            assert_eq!(drops.dropped(), 1);
            drop(tx);
            child.join().unwrap().unwrap_err();
            drops.assert_all(2);
            // Ten thousand bindings, each seen by a child.
            let children: Vec<_> = (0..10_000)
                .map(|_| HELD.with_value(Some(Arc::new(drops.one())), || spawn(|| HELD.with(Option::is_some))))
                .collect();
            assert!(children.into_iter().all(|child| child.join().unwrap()));
            drops.assert_all(10_002);
        });
    });
}

/// Dropping a list of a million bindings does not recurse.
#[test]
fn a_line_of_a_million_children() {
    each(&[1], |rt| {
        fn next(left: u32, done: myriad::channel::Sender<u32>) {
            LEVEL.with_value(left, || {
                if left == 0 {
                    done.send(LEVEL.get()).unwrap();
                } else {
                    spawn(move || next(left - 1, done));
                }
            });
        }
        let (tx, rx) = bounded(1);
        let children = if full_length() { 1_000_000 } else { 200_000 };
        rt.spawn(move || next(children, tx));
        assert_eq!(rx.recv(), Ok(0));
    });
}

#[test]
fn a_destructor_that_uses_it() {
    static OUTER: ScopedValue<Option<Arc<Looks>>> = ScopedValue::new(None);
    struct Looks(Arc<std::sync::Mutex<Vec<u32>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(LEVEL.with_value(LEVEL.get() + 1, || LEVEL.get()));
        }
    }
    in_both_modes(|rt| {
        let seen: Arc<std::sync::Mutex<Vec<u32>>> = Arc::default();
        rt.run(|| {
            LEVEL.with_value(10, || OUTER.with_value(Some(Arc::new(Looks(seen.clone()))), || ()));
            // By the child, at its end, when nothing is bound any more.
            OUTER.with_value(Some(Arc::new(Looks(seen.clone()))), || spawn(yield_now)).join().unwrap();
        });
        assert_eq!(*seen.lock().unwrap(), [11, 2]);
    });
}
