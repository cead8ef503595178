//! What belongs to a runtime that has ended never reaches a later one, however alike the two are.

use crate::common::{MODES, Mode, catch, quiet, text, watch};
use myriad::cancel::Token;
use myriad::task::{self, Group};
use myriad::{Handle, JoinHandle, Runtime, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Two alike, one after the other: `before` takes what it wants from the first, `after` has it when
/// only the second is there.
fn one_after_the_other<T>(before: impl Fn(&Runtime) -> T, after: impl Fn(Mode, &Runtime, T)) {
    quiet();
    let build = |mode: Mode, name| mode.builder().workers(2).pool("side", 1).name(name).build().unwrap();
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let first = build(mode, "first");
        let kept = before(&first);
        let report = first.shutdown(Duration::ZERO);
        assert!(report.unfinished().is_empty(), "{report}");
        let second = build(mode, "second");
        after(mode, &second, kept);
        let report = second.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
    }
}

fn here() -> Option<String> {
    std::thread::current().name().map(str::to_string)
}

#[track_caller]
fn assert_refused(h: JoinHandle<Option<String>>) {
    match h.join() {
        Ok(where_it_ran) => panic!("it ran on {where_it_ran:?}"),
        Err(error) => assert!(error.is_shutdown(), "{error}"),
    }
}

/// Every way by which a handle spawns, from a foreign thread and from a task of the later runtime.
#[test]
fn handles() {
    type Way = fn(Handle) -> JoinHandle<Option<String>>;
    let ways: [Way; 8] = [
        |old| old.spawn(here),
        |old| old.spawn_async(async { here() }),
        |old| task::Builder::new().on(old).name("named").spawn(here),
        |old| task::Builder::new().on(old).spawn_async(async { here() }),
        |old| task::Builder::new().on(old).priority(task::Priority::Interactive).spawn(here),
        |old| task::Builder::new().on(old).dispatch(here),
        |old| task::Builder::new().on(old).dedicated(here).unwrap(),
        |old| Group::on(old, ()).spawn(|_| here()),
    ];
    one_after_the_other(Runtime::handle, |_, second, old| {
        for way in ways {
            assert_refused(way(old));
            assert_refused(second.run(|| way(old)));
            // The handle is what is wanted here, not its result.
            let spawned = async move { Some(way(old)) };
            assert_refused(second.spawn_async(spawned).join().unwrap().unwrap());
        }
        for run in [|old: Handle| catch(|| old.run(here)), |old: Handle| catch(|| myriad::run(move || old.run(here)))] {
            assert!(text(&*run(old)).contains("has been shut down"));
        }
        let inside = second.run(|| text(&*catch(|| old.run(here))).to_string());
        assert!(inside.contains("has been shut down"), "{inside}");
    });
}

/// Its pools are none, and not those of the later one, nor those that it had.
#[test]
fn pools() {
    one_after_the_other(
        |first| (first.handle(), first.handle().pool("side").unwrap()),
        |_, _, (main, side)| {
            assert_refused(side.spawn(here));
            let error = main.pool("side").unwrap_err();
            assert!(error.pools().is_empty() && error.to_string().contains("has ended"), "{error}");
            for pool in main.pools() {
                assert_refused(pool.spawn(here));
            }
            assert!(catch(|| task::Builder::new().on(main).pool("side").spawn(|| ())).is::<String>());
        },
    );
}

/// Also where no later one has its place.
#[test]
fn pools_of_none() {
    for mode in MODES {
        let rt = mode.builder().workers(1).pool("side", 1).build().unwrap();
        let main = rt.handle();
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        let error = main.pool("side").unwrap_err();
        assert!(error.pools().is_empty() && error.to_string().contains("has ended"), "{error}");
    }
}

#[test]
fn groups() {
    one_after_the_other(
        |first| {
            let group = Group::on(first.handle(), 5);
            assert_eq!(group.spawn(|local| local.with(|n| *n)).join().unwrap(), 5);
            group
        },
        |_, second, group| {
            assert_refused(group.spawn(|_| here()));
            assert_refused(second.run(|| group.spawn(|_| here())));
        },
    );
}

/// A timer that is set anew, and what is to be called when a token is cancelled.
#[test]
fn timers_and_tokens() {
    one_after_the_other(
        |first| {
            let called = Arc::new(AtomicUsize::new(0));
            let (by_timer, by_token) = (called.clone(), called.clone());
            let token = Token::new();
            let timer = first.run(|| {
                _ = token.on_cancel(move || _ = by_token.fetch_add(1, SeqCst));
                time::call_later(Duration::from_secs(3600), move || _ = by_timer.fetch_add(1, SeqCst))
            });
            (called, timer, token)
        },
        |_, second, (called, timer, token)| {
            timer.reset(Duration::ZERO);
            second.run(|| timer.reset(Duration::ZERO));
            token.cancel();
            let report = std::iter::repeat_with(|| second.spawn(|| time::sleep(Duration::from_millis(1))).join());
            report.take(20).for_each(|r| r.unwrap());
            assert_eq!(called.load(SeqCst), 0, "called in the later runtime");
        },
    );
}

/// A call that was begun by a task of the first goes on when that has ended, and spawns.
#[test]
fn calls_that_outlive_their_runtime() {
    one_after_the_other(
        |first| {
            let (go, goes) = std::sync::mpsc::channel::<()>();
            let (tx, rx) = std::sync::mpsc::channel();
            let call = move || {
                goes.recv().unwrap();
                tx.send(myriad::spawn(here).join()).unwrap();
            };
            first.run(|| drop(myriad::blocking_async(call)));
            (go, rx)
        },
        |_, _, (go, rx)| {
            go.send(()).unwrap();
            let error = rx.recv().unwrap().expect_err("it ran");
            assert!(error.is_shutdown(), "{error}");
        },
    );
}

/// The later one is not hurt by what was refused: no names, no counts, no tasks are left of it.
#[test]
fn a_thousand_refusals() {
    one_after_the_other(Runtime::handle, |_, second, old| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                std::thread::spawn(move || {
                    (0..500)
                        .for_each(|i| assert_refused(task::Builder::new().on(old).name(format!("{i}")).spawn(here)));
                })
            })
            .collect();
        (0..500).for_each(|i| assert_eq!(second.spawn(move || i).join().unwrap(), i));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
